/* cmd_options.c - epiq options: every flag of epiq estimate; with --markdown it is docs/options.md, and a test
 * compares. */
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

static void markdown(void)
{
    puts("# Options\n\nEvery flag of `epiq estimate`; the other verbs that read DATA take the same, from Columns on.\n"
         "This page is the output of `epiq options --markdown`.");
    const flag *f;
    const char *section = "";
    for (ptrdiff_t i = 0; (f = verb_flag(&VERB_ESTIMATE, i)); i++) {
        if (strcmp(section, f->section) != 0) {
            printf("\n## %s\n\n| flag | default | values | meaning |\n|---|---|---|---|\n", section = f->section);
        }
        char name[64];
        snprintf(name, sizeof name, "--%s", f->name);
        putchar('|');
        code_cell(name);
        code_cell(f->default_text);
        code_cell(f->metavar ? f->metavar : "");
        cell(f->help);
        putchar('\n');
    }
}

static int run(cli *c)
{
    if (args_value(c, "markdown")) {
        markdown();
    } else {
        help_verb(&VERB_ESTIMATE);
    }
    return CODE_OK;
}

static const flag FLAGS[] = {{"markdown", "Output", "as docs/options.md", NULL, "", NULL}, {0}};

const verb VERB_OPTIONS = {
    .name = "options",
    .usage = "[--markdown]",
    .summary = "every flag of epiq estimate",
    .flags = FLAGS,
    .hidden = true,
    .run = run,
};
