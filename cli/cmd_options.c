/* cmd_options.c - epiq options: every flag of epiq estimate; with --markdown those of every verb, which is
 * docs/options.md, and with --warnings the table of docs/json.md (a test compares both); with --man and --completion
 * what the build makes of the same tables. */
#include "cli/cli.h"

#include <string.h>

/* A bar would end the cell. */
static void cell(const char *text)
{
    putchar(' ');
    for (; *text; text++) {
        fputs(*text == '|' ? "\\" : "", stdout);
        putchar(*text);
    }
    fputs(" |", stdout);
}

static void code_cell(const char *text)
{
    char quoted[256];
    snprintf(quoted, sizeof quoted, *text ? "`%s`" : "", text);
    cell(quoted);
}

static void row(const flag *f)
{
    char name[64];
    snprintf(name, sizeof name, "--%s", f->name);
    putchar('|');
    code_cell(name);
    code_cell(f->default_text);
    code_cell(f->metavar ? f->metavar : "");
    cell(f->help);
    putchar('\n');
}

#define HEAD "\n| flag | default | values | meaning |\n|---|---|---|---|\n"

/* Its own flags, and what it takes of estimate's. */
static void other_verb(const verb *v)
{
    printf("\n## epiq %s\n\n%s.\n%s", v->name, v->summary, v->flags ? HEAD : "");
    for (const flag *f = v->flags; f && f->name; f++) {
        row(f);
    }
    if (v->takes) printf("\n%s\n", verb_rest(v, "`"));
}

static void markdown(void)
{
    puts("# Options\n\nEvery flag of `epiq estimate`, then those of the other verbs.\n"
         "This page is the output of `epiq options --markdown`.");
    each_flag(&VERB_ESTIMATE, "\n## ", "\n" HEAD, row);
    for (const verb *const *v = VERBS; *v; v++) {
        if (*v != &VERB_ESTIMATE) other_verb(*v);
    }
}

static void warnings(void)
{
    static const char *const ABOUT[] = {[EPIQ_ABOUT_DATA] = "data",
                                        [EPIQ_ABOUT_RUN] = "run",
                                        [EPIQ_ABOUT_POINT] = "point",
                                        [EPIQ_ABOUT_COMPARE] = "compare",
                                        [EPIQ_ABOUT_COMBINE] = "combine"};
    puts("| code | about | when |\n|---|---|---|");
    const epiq_warning_info *w;
    for (int kind = 0; (w = epiq_warning_describe(kind)); kind++) {
        printf("| `%s` | %s%s |", w->code, ABOUT[w->scope], w->note ? " (note)" : "");
        cell(w->meaning);
        putchar('\n');
    }
}

static int run(cli *c)
{
    int shell = -1, code = args_choice(c, "completion", &shell);
    if (code) return code;
    if (shell >= 0) {
        completion(shell);
    } else if (args_value(c, "markdown")) {
        markdown();
    } else if (args_value(c, "warnings")) {
        warnings();
    } else if (args_value(c, "man")) {
        man_page();
    } else {
        help_verb(&VERB_ESTIMATE);
    }
    return CODE_OK;
}

static const flag FLAGS[] = {
    FLAG("markdown", "Output", NULL, "", "as docs/options.md"),
    FLAG("warnings", "Output", NULL, "", "every warning, as in docs/json.md"),
    FLAG("man", "Output", NULL, "", "as the man page of epiq"),
    FLAG("completion", "Output", "bash|zsh|fish", "", "what completes epiq in this shell"),
    {0},
};

const verb VERB_OPTIONS = {
    .name = "options",
    .usage = "[--markdown | --warnings | --man | --completion bash|zsh|fish]",
    .summary = "every flag of epiq estimate",
    .flags = FLAGS,
    .run = run,
};
