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

void help_verb(const verb *v)
{
    printf("usage: epiq %s %s\n\n", v->name, v->usage);
    wrap(v->summary, 0, 0);
    const flag *f;
    const char *section = "";
    for (ptrdiff_t i = 0; (f = verb_flag(v, i)); i++) {
        if (strcmp(section, f->section) != 0) {
            printf("\n%s\n", section = f->section);
        }
        help_flag(f);
    }
}

void help_all(const verb *const *verbs)
{
    puts("epiq: how sure is a neural network's regression prediction, why is it unsure,\n"
         "what would help?\n");
    for (; *verbs; verbs++) {
        if (!(*verbs)->hidden) {
            printf("  epiq %-10s", (*verbs)->name);
            wrap((*verbs)->summary, 17, 17);
        }
    }
    puts("\n  epiq VERB --help   flags of a verb\n"
         "  epiq --version\n"
         "\n"
         "Start with: epiq demo");
}
