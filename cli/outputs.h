/* outputs.h - what a verb writes: --json, --csv, --report and --pictures are opened before the work, so that one that cannot
 * be written costs none, and get their names after it together or not at all. Then the text is printed, unless --quiet
 * asks for none or an output has taken standard output.
 *
 *     outputs o;
 *     int code = outputs_open(&o, c, NULL);
 *     ... the work ...
 *     code = code ? code : outputs_write(&o, &(answer){.self = &found, .json = write_json, .text = print_text});
 *     outputs_drop(&o);
 */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include "cli/cli.h"

/* --pictures: every picture that the page draws, whether or not there is a page, as a file in a folder. */
typedef struct {
    svg_album album; /* first, so that what is handed to it arrives here */
    const cli *cli;
    const char *folder; /* NULL: not asked for */
    bool made, png;     /* the folder is ours and nothing is in it yet; PNG files too */
    output *files;      /* SVG, or SVG and PNG in turn */
    int count;
    int code; /* of what went wrong while they were drawn */
} picture_files;
int pictures_prepare(picture_files *f, const cli *c); /* before the work: the folder, and what makes PNG of SVG */
int pictures_finish(picture_files *f);                /* when the page is written; not yet committed */
void pictures_end(picture_files *f);                  /* drops what was not committed */

typedef enum { OUTPUT_JSON, OUTPUT_CSV, OUTPUT_PAGE, OUTPUT_KINDS } output_kind;

typedef struct {
    output file[OUTPUT_KINDS]; /* open where asked for */
    picture_files pictures;
    bool quiet, text; /* text: it will be printed */
} outputs;

/* What was found, for those that were asked for. */
typedef struct {
    void *self;
    void (*json)(void *self, FILE *out);
    void (*csv)(void *self, FILE *out);
    void (*page)(void *self, FILE *out, svg_album *album);
    void (*text)(void *self);     /* on standard output */
    const epiq_warning *warnings; /* which the text shows; said apart where there is none */
    ptrdiff_t warning_count;
    bool partial; /* it is told, but no file is written: that would look like one of the whole */
} answer;

int outputs_open(outputs *o, const cli *c,
                 const char *page);                /* page: where --report does not name another; may be NULL */
bool outputs_draw(const cli *c, const char *page); /* there is a page or there are pictures to draw */
int outputs_write(outputs *o, const answer *a);
void outputs_drop(outputs *o); /* what was not written */

#endif
