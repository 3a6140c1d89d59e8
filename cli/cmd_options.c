/* cmd_options.c - epiq options: every flag of epiq estimate; with --markdown every flag of every verb, which is
 * docs/options.md, and a test compares; with --man and --completion what the build makes of the same tables. */
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

static const char *const HEAD = "\n| flag | default | values | meaning |\n|---|---|---|---|\n";

/* Its own flags, and what it takes of estimate's. */
static void other_verb(const verb *v)
{
    printf("\n## epiq %s\n\n%s.\n%s", v->name, v->summary, v->flags ? HEAD : "");
    for (const flag *f = v->flags; f && f->name; f++) {
        row(f);
    }
    if (v->model) {
        printf("\nAnd those of `epiq estimate` from Columns on that are not named here");
        for (const char *const *name = v->without; name && *name; name++) {
            printf("%s `%s`", name == v->without ? ", but for" : ",", *name);
        }
        puts(".");
    }
}

static void markdown(void)
{
    puts("# Options\n\nEvery flag of `epiq estimate`, then those of the other verbs.\n"
         "This page is the output of `epiq options --markdown`.");
    const flag *f;
    const char *section = "";
    for (ptrdiff_t i = 0; (f = verb_flag(&VERB_ESTIMATE, i)); i++) {
        if (strcmp(section, f->section) != 0) {
            printf("\n## %s\n%s", section = f->section, HEAD);
        }
        row(f);
    }
    for (const verb *const *v = VERBS; *v; v++) {
        if (*v != &VERB_ESTIMATE && !(*v)->hidden) {
            other_verb(*v);
        }
    }
}

static int run(cli *c)
{
    const char *shell = args_value(c, "completion");
    if (shell) {
        return completion(shell);
    }
    if (args_value(c, "markdown")) {
        markdown();
    } else if (args_value(c, "man")) {
        man_page();
    } else {
        help_verb(&VERB_ESTIMATE);
    }
    return CODE_OK;
}

static const flag FLAGS[] = {
    {"markdown", "Output", "as docs/options.md", NULL, "", NULL},
    {"man", "Output", "as the man page of epiq", NULL, "", NULL},
    {"completion", "Output", "what completes epiq in this shell", "bash|zsh|fish", "", "bash|zsh|fish"},
    {0},
};

const verb VERB_OPTIONS = {
    .name = "options",
    .usage = "[--markdown | --man | --completion bash|zsh|fish]",
    .summary = "every flag of epiq estimate",
    .flags = FLAGS,
    .hidden = true,
    .run = run,
};
