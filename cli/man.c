/* man.c - the man page epiq.1, from the tables of verbs and flags that --help prints (epiq options --man). */
#include "cli/cli.h"

#include <string.h>

static const char *const DATE = "2026-11-19"; /* of the release */

/* ---- roff ---- */

static void put(char ch)
{
    static const char SPECIAL[] = "\\-'`^~";
    static const char *const ROFF[] = {"\\e", "\\-", "\\(aq", "\\(ga", "\\(ha", "\\(ti"};
    const char *found = strchr(SPECIAL, ch);
    if (found) {
        fputs(ROFF[found - SPECIAL], stdout);
    } else {
        putchar(ch);
    }
}

static void put_all(const char *text)
{
    for (; *text; text++) {
        put(*text);
    }
}

/* A paragraph's words in lines that are not too long; none begins as a request would. */
static void put_words(const char *text)
{
    enum { WIDTH = 70 };
    for (int column = 0; *text;) {
        int length = (int)strcspn(text, " ");
        if (column && column + 1 + length > WIDTH) {
            putchar('\n');
            column = 0;
        }
        fputs(column ? " " : *text == '.' ? "\\&" : "", stdout);
        for (int i = 0; i < length; i++) {
            put(text[i]);
        }
        column += length + 1;
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void paragraph(const char *text)
{
    puts(".PP");
    put_words(text);
}

/* name in bold and what follows it in italics, then what it is */
static void item(const char *name, const char *value, const char *text)
{
    fputs(".TP\n\\fB", stdout);
    put_all(name);
    fputs("\\fR", stdout);
    if (value) {
        fputs(" \\fI", stdout);
        put_all(value);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    put_words(text);
}

static void put_example(const char *command, const char *text)
{
    paragraph(text);
    fputs(".PP\n.RS 4\n.nf\n", stdout);
    put_all(command);
    puts("\n.fi\n.RE");
}

/* ---- what the tables say ---- */

static void put_flag(const flag *f)
{
    char name[64], text[512];
    snprintf(name, sizeof name, "--%s", f->name);
    snprintf(text, sizeof text, *f->default_text ? "%s (default: %s)" : "%s", f->help, f->default_text);
    item(name, f->metavar, text);
}

static void put_synopsis(void)
{
    puts(".SH SYNOPSIS\n.nf");
    for (const verb *const *v = VERBS; *v; v++) {
        printf("\\fBepiq %s\\fR ", (*v)->name);
        put_all((*v)->usage);
        putchar('\n');
    }
    puts("\\fBepiq help\\fR [VERB]\n\\fBepiq \\-\\-version\\fR [\\fB\\-\\-verbose\\fR]\n.fi");
}

static void put_verb(const verb *v)
{
    char text[512];
    printf(".SS epiq %s\n", v->name);
    snprintf(text, sizeof text, "%s.", v->summary);
    put_words(text);
    for (const flag *f = v->flags; f && f->name && v != &VERB_ESTIMATE; f++) {
        put_flag(f);
    }
    if (v->takes && v != &VERB_ESTIMATE) paragraph(verb_rest(v, ""));
}

/* ---- the page ---- */

static void put_description(void)
{
    puts(".SH DESCRIPTION");
    put_words("A neural network that predicts a number would have predicted another one had it been started "
              "differently, or shown other rows. epiq measures both: from a plain table it trains networks, splits the "
              "variance of a prediction into procedural (retraining) and data (other rows), puts an interval on each, "
              "and says in one line whether training more networks or collecting more rows would help.");
    paragraph("Results go to standard output or to the files that flags name; everything said to a person goes to "
              "standard error. Output files appear whole or not at all.");
}

static void put_rest(void)
{
    puts(".SH \"EXIT STATUS\"");
    item("0", NULL, "done, perhaps with warnings");
    item("1", NULL, "a flag is wrong by itself");
    item("2", NULL, "a file or its content does not allow what was asked");
    item("3", NULL, "the computation failed, or does not fit in memory");
    item("129, 130, 143", NULL, "stopped by SIGHUP, by SIGINT, by SIGTERM");
    item("141", NULL, "the reader of standard output has gone");
    puts(".SH FILES");
    item("epiq-report.html", NULL,
         "the page that epiq demo writes into the current folder, unless --report names another");
    item("epiq-study-NAME.state", NULL,
         "what a study that is not finished has found so far, in the current folder, unless --state names another");
    item(".epiq-XXXXXXXXXXXXXXXX", NULL,
         "16 hexadecimal digits that cannot be guessed. An output has no name until it is finished; it has this one, "
         "in the folder where it will be, for an instant where it replaces another file, and all the while where the "
         "file system knows no files without a name. It is gone when epiq ends, unless it was killed");
    puts(".SH ENVIRONMENT");
    item("NO_COLOR", NULL, "if it is not empty: no colours, also on a terminal");
    item("TERM", NULL, "dumb, or not set: no colours and no line of progress");
    item("LC_ALL, LC_CTYPE, LANG", NULL,
         "whether text is UTF-8, for the bars in it; numbers look the same in all of them");
    item("EPIQ_DATA", NULL, "the folder with the real tables of epiq study, where --data-dir does not name it");
    item("PATH", NULL, "where rsvg-convert is looked for, which makes PNG of --pictures");
    item("OPENBLAS_NUM_THREADS", NULL,
         "where the address space is limited (ulimit -v) and this is not set, epiq sets it to 1 and starts itself "
         "anew: each of OpenBLAS's own threads takes 128 MB of it. How many threads work is for --threads to say");
    item(
        "OPENBLAS_CORETYPE", NULL,
        "the type of processor whose kernels OpenBLAS uses. Where it is not set and OpenBLAS has chosen kernels far "
        "older than the processor, epiq sets it and starts itself anew; epiq --version --verbose tells which are used");
    puts(".SH EXAMPLES");
    put_words("In the order in which they are usually met.");
    put_example("epiq estimate boston.csv --target medv --report boston.html",
                "How far to trust predictions for rows like those of a table, as text and as a page:");
    put_example(
        "epiq estimate rows.csv --target y --at new.csv --state rows.state --json answer.json",
        "At every row of another file; what is finished is kept, and the same command goes on after an interruption:");
    put_example("epiq plan rows.csv --target y --price-row 50 --price-training 0.05 --goal 0.5",
                "More rows or more networks?");
    put_example("epiq fit rows.csv --target y -o rows.epiq\nepiq predict rows.epiq new.csv > answers.csv",
                "Train once, ask often:");
    puts(".SH \"SEE ALSO\"\n.BR epiq (3),\n.BR rsvg\\-convert (1)");
}

void man_page(void)
{
    printf(".\\\" Made by epiq options \\-\\-man from the tables behind \\-\\-help.\n"
           ".TH EPIQ 1 %s \"epiq %s\" \"User Commands\"\n.SH NAME\nepiq \\- ",
           DATE, epiq_version());
    put_words("how sure is a neural network's regression prediction, and why");
    put_synopsis();
    put_description();
    puts(".SH OPTIONS");
    put_words("Of epiq estimate; the other verbs take most of them too. --name value and --name=value are the same.");
    each_flag(&VERB_ESTIMATE, ".SS ", "\n", put_flag);
    puts(".SH VERBS");
    for (const verb *const *v = VERBS; *v; v++) {
        put_verb(*v);
    }
    put_rest();
}
