/* help.c - what --help prints, all of it from the tables of verbs and flags. */
#include "cli/cli.h"

#include <string.h>

enum { INDENT = 28, WIDTH = 80 };

/* Words of text from the current column on, later lines indented. */
static void wrap(const char *text, int column, int indent)
{
    for (bool first = true; *text; first = false) {
        int length = (int)strcspn(text, " ");
        if (!first && column + 1 + length > WIDTH) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            putchar(' ');
            column++;
        }
        printf("%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void help_flag(const flag *f)
{
    char text[256];
    int used = printf("  --%s%s%s", f->name, f->metavar ? " " : "", f->metavar ? f->metavar : "");
    printf("%s%*s", used + 2 > INDENT ? "\n" : "", used + 2 > INDENT ? INDENT : INDENT - used, "");
    snprintf(text, sizeof text, *f->default_text ? "%s (default: %s)" : "%s", f->help, f->default_text);
    wrap(text, INDENT, INDENT);
}

void each_flag(const verb *v, const char *before, const char *after, void (*row)(const flag *f))
{
    const flag *f;
    const char *section = "";
    for (ptrdiff_t i = 0; (f = verb_flag(v, i)); i++) {
        if (strcmp(section, f->section) != 0) printf("%s%s%s", before, section = f->section, after);
        row(f);
    }
}

void help_verb(const verb *v)
{
    printf("usage: epiq %s %s\n\n", v->name, v->usage);
    wrap(v->summary, 0, 0);
    each_flag(v, "\n", "\n", help_flag);
}

void help_all(void)
{
    puts("epiq: how sure is a neural network's regression prediction, why is it unsure,\n"
         "what would help?\n");
    for (const verb *const *v = VERBS; *v; v++) {
        printf("  epiq %-10s", (*v)->name);
        wrap((*v)->summary, 17, 17);
    }
    puts("\n  epiq VERB --help   flags of a verb\n"
         "  epiq --version [--verbose]\n"
         "\n"
         "Start with: epiq demo");
}
