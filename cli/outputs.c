/* outputs.c - the outputs of a verb: no two to one place, opened first, written together, then the text. */
#include "cli/question.h"
#include "report/format.h"

#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

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

/* ".pdf" and the like, in any case. */
static bool ends_in(const char *path, const char *ending)
{
    const char *own = path ? strrchr(path, '.') : NULL;
    return own && strcasecmp(own, ending) == 0;
}

int outputs_open(outputs *o, const cli *c, const char *page)
{
    const char *path[OUTPUT_KINDS];
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        path[k] = args_value(c, FLAG_OF[k]);
    }
    path[OUTPUT_PAGE] = path[OUTPUT_PAGE] ? path[OUTPUT_PAGE] : page;
    *o = (outputs){.cli = c, .quiet = args_value(c, "quiet"), .files = calloc(OUTPUT_KINDS, sizeof *o->files)};
    if (!o->files) return complain(CODE_NUMERIC, "no memory for the names of the files");
    o->count = OUTPUT_KINDS;
    o->text = !o->quiet;
    int code = check_paths(path);
    if (!code && ends_in(path[OUTPUT_PAGE], ".pdf")) {
        code = complain(CODE_USAGE,
                        "--report writes an HTML page, and programs would not open %s as one; name a file that "
                        "ends in .html (a browser can print it to PDF)",
                        path[OUTPUT_PAGE]);
    }
    for (int k = 0; !code && k < OUTPUT_KINDS; k++) {
        code = path[k] ? output_open(&o->files[k], path[k], c) : CODE_OK;
        o->text = o->text && o->files[k].file != stdout;
    }
    code = code ? code : pictures_prepare(o);
    for (int k = 0; !code && o->folder && k < OUTPUT_KINDS; k++) {
        if ((ends_in(path[k], ".svg") || ends_in(path[k], ".png")) && lies_in(path[k], o->folder)) {
            code = complain(CODE_USAGE, "--%s names %s, where --pictures may put a picture; name another file",
                            FLAG_OF[k], path[k]);
        }
    }
    return code;
}

/* The pictures are those that the page draws: without one it is drawn to nowhere. */
static int write_page(outputs *o, const answer *a)
{
    FILE *page = o->files[OUTPUT_PAGE].file, *nowhere = NULL;
    if (!page && o->folder && !(page = nowhere = fopen("/dev/null", "we"))) {
        return complain(CODE_FILE, "cannot write /dev/null: %s", strerror(errno));
    }
    if (page) doc_html(page, a->writers, &a->found, &a->run, &o->album);
    if (nowhere) fclose(nowhere);
    return pictures_finish(o);
}

static int write_files(outputs *o, const answer *a)
{
    int code = write_page(o, a); /* first: it takes memory, and what has gone to standard output stays there */
    if (!code && o->files[OUTPUT_JSON].file) a->writers->json(o->files[OUTPUT_JSON].file, &a->found, &a->run);
    if (!code && o->files[OUTPUT_CSV].file) a->writers->csv(o->files[OUTPUT_CSV].file, &a->found);
    if (!code) {
        code = output_end(o->files, o->count, code);
        o->made = o->made && code;
    }
    return code;
}

static report_style terminal_style(void)
{
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return (report_style){
        .colour = isatty(STDOUT_FILENO) && !(no_colour && *no_colour) && terminal && strcmp(terminal, "dumb") != 0,
        .blocks = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
    };
}

static void print_text(const answer *a)
{
    if (a->before) printf("%s\n\n", a->before);
    doc_text(stdout, a->writers, &a->found, &a->run, terminal_style());
    if (a->page && !a->partial) {
        fputs("\nThe same with pictures is in ", stdout);
        put_sanitized(stdout, a->page);
        puts(", for any browser.");
    }
    if (a->after) printf("\n%s\n", a->after);
}

int outputs_write(outputs *o, const answer *a)
{
    const epiq_warning *w;
    int code = a->partial ? CODE_OK : write_files(o, a); /* before the text: a pager that was closed costs no file */
    if (!code && o->text) {
        print_text(a);
        code = output_stdout();
    }
    for (ptrdiff_t i = 0; !code && !o->quiet && !o->text && (w = report_warning(&a->found, i)); i++) {
        warn(w->message);
    }
    return code;
}

void outputs_drop(outputs *o)
{
    output_drop(o->files, o->count);
    for (int i = OUTPUT_KINDS; i < o->count; i++) {
        free((char *)(uintptr_t)o->files[i].path);
    }
    free(o->files);
    if (o->made) {
        rmdir(o->folder); /* stays if someone else put something there */
    }
    if (o->folder) output_folder(o->folder, false);
}
