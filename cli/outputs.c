/* outputs.c - the outputs of a verb: no two to one place, opened first, written together, then the text. */
#include "cli/outputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const FLAG_OF[OUTPUT_KINDS] = {"json", "csv", "report"};

static int check_paths(const char *const *path)
{
    for (int a = 0; a < OUTPUT_KINDS; a++) {
        for (int b = a + 1; b < OUTPUT_KINDS; b++) {
            if (path[a] && path[b] && (strcmp(path[a], path[b]) == 0 || same_output(path[a], path[b]))) {
                return complain(CODE_USAGE, "--%s and --%s both name %s; only one can be written there", FLAG_OF[a],
                                FLAG_OF[b], names_stdout(path[a]) ? "standard output" : path[a]);
            }
        }
    }
    return CODE_OK;
}

int outputs_open(outputs *o, const cli *c, const char *page)
{
    const char *path[OUTPUT_KINDS];
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        path[k] = args_value(c, FLAG_OF[k]);
    }
    path[OUTPUT_PAGE] = path[OUTPUT_PAGE] ? path[OUTPUT_PAGE] : page;
    *o = (outputs){.quiet = args_value(c, "quiet")};
    o->text = !o->quiet;
    int code = check_paths(path);
    for (int k = 0; !code && k < OUTPUT_KINDS; k++) {
        code = path[k] ? output_open(&o->file[k], path[k], c) : CODE_OK;
        o->text = o->text && o->file[k].file != stdout;
    }
    code = code ? code : pictures_prepare(&o->pictures, c);
    for (int k = 0; !code && o->pictures.folder && k < OUTPUT_KINDS; k++) {
        const char *ending = path[k] ? strrchr(path[k], '.') : NULL;
        if (ending && (!strcasecmp(ending, ".svg") || !strcasecmp(ending, ".png")) &&
            lies_in(path[k], o->pictures.folder)) {
            code = complain(CODE_USAGE, "--%s names %s, where --pictures may put a picture; name another file", FLAG_OF[k],
                            path[k]);
        }
    }
    return code;
}

bool outputs_draw(const cli *c, const char *page)
{
    return page || args_value(c, FLAG_OF[OUTPUT_PAGE]) || args_value(c, "pictures");
}

/* The pictures are those that the page draws: without one it is drawn to nowhere. */
static int write_page(outputs *o, const answer *a)
{
    FILE *page = o->file[OUTPUT_PAGE].file, *nowhere = NULL;
    if (!page && o->pictures.folder && !(page = nowhere = fopen("/dev/null", "we"))) {
        return complain(CODE_FILE, "cannot write /dev/null: %s", strerror(errno));
    }
    if (page) {
        a->page(a->self, page, &o->pictures.album);
    }
    if (nowhere) {
        fclose(nowhere);
    }
    return pictures_finish(&o->pictures);
}

/* Everything is settled before anything gets its name. */
static int commit(outputs *o)
{
    int count = 0;
    output *list = calloc(OUTPUT_KINDS + (size_t)o->pictures.count, sizeof *list);
    if (!list) {
        return complain(CODE_NUMERIC, "no memory for the names of the files");
    }
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        if (o->file[k].file) {
            list[count++] = o->file[k];
            o->file[k] = (output){0};
        }
    }
    for (int k = 0; k < o->pictures.count; k++) {
        list[count++] = o->pictures.files[k];
        o->pictures.files[k] = (output){.path = o->pictures.files[k].path};
    }
    int code = output_commit(list, count);
    o->pictures.made = o->pictures.made && code;
    free(list);
    return code;
}

static int write_files(outputs *o, const answer *a)
{
    int code = write_page(o, a); /* first: it takes memory, and what has gone to standard output stays there */
    if (!code && o->file[OUTPUT_JSON].file) {
        a->json(a->self, o->file[OUTPUT_JSON].file);
    }
    if (!code && o->file[OUTPUT_CSV].file) {
        a->csv(a->self, o->file[OUTPUT_CSV].file);
    }
    return code ? code : commit(o);
}

int outputs_write(outputs *o, const answer *a)
{
    int code = a->partial ? CODE_OK : write_files(o, a); /* before the text: a pager that was closed costs no file */
    if (!code && o->text) {
        a->text(a->self);
        code = output_stdout();
    }
    for (ptrdiff_t i = 0; !code && !o->quiet && !o->text && i < a->warning_count; i++) {
        warn(a->warnings[i].message);
    }
    return code;
}

void outputs_drop(outputs *o)
{
    output_drop(o->file, OUTPUT_KINDS);
    pictures_end(&o->pictures);
}
