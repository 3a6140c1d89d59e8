/* fuzz_options.c - any lines as the arguments of the command. One sentence on standard error if they are refused, none if
 * they are taken; the line as it will be reported gives the same arguments again; every option's text sets the same value.
 */
#include "cli/cli.h"
#include "data/table.h"
#include "epiq_options.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 64 };

/* Splits at line ends, in place. */
static int split(char *text, char **argv)
{
    int argc = 0;
    argv[argc++] = text; /* what the program was called: nothing looks at it */
    for (char *p = text; p && argc < MOST_ARGUMENTS; argc++) {
        argv[argc] = p;
        p = strchr(p, '\n');
        if (p) *p++ = '\0';
    }
    argv[argc] = NULL;
    return argc;
}

static const verb *verb_named(const char *name)
{
    const verb *const *v = VERBS;
    while (*v && strcmp((*v)->name, name) != 0) {
        v++;
    }
    return *v;
}

/* The line as a shell reads it: words apart by spaces, and all between two ' as it stands. */
static void check_command(const char *line, const char *before)
{
    const char *want = before; /* the arguments after the first, each ended by a zero byte */
    EXPECT(strncmp(line, "epiq", 4) == 0);
    line += 4;
    while (*line) {
        EXPECT(*line == ' ');
        for (line++; *line && *line != ' ';) {
            if (*line == '\'') {
                for (line++; *line != '\''; line++) {
                    EXPECT(*line && *line == *want++);
                }
                line++;
            } else if (*line == '\\') {
                EXPECT(line[1] == *want++);
                line += 2;
            } else {
                EXPECT(*line++ == *want++);
            }
        }
        EXPECT(*want++ == '\0');
    }
}

static void check_options(cli *c)
{
    epiq_ctx *own = fuzz_ctx(), *texts; /* which keeps copies of the texts until it ends */
    EXPECT(epiq_ctx_new(&texts) == EPIQ_OK);
    for (ptrdiff_t i = 0; epiq_options_info(i); i++) {
        char text[4096], again[4096];
        epiq_options set = c->options;
        if (epiq_options_text(&c->options, i, text, sizeof text) != EPIQ_OK || !*text) {
            continue; /* longer than that, or not given */
        }
        EXPECT(epiq_options_set(texts, &set, epiq_options_info(i)->name, text) == EPIQ_OK && !*epiq_message(texts));
        EXPECT(epiq_options_text(&set, i, again, sizeof again) == EPIQ_OK && strcmp(text, again) == 0);
    }
    epiq_ctx_free(texts);
    epiqp_clear(own);
    fuzz_status(epiqp_options_check(own, &c->options));
    const char *const lists[] = {c->options.features, c->options.drop, c->options.onehot};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        epiqp_keys names = {0};
        epiqp_clear(own);
        fuzz_status(lists[k] ? epiqp_csv_names(own, "--drop", lists[k], &names) : EPIQ_OK);
        EXPECT(names.count <= (lists[k] ? (ptrdiff_t)strlen(lists[k]) : 0));
        epiqp_keys_free(own, &names);
    }
}

/* Numbers as the verbs take them: a code of 0 means a number in range. Returns how many sentences were said. */
static int check_numbers(const cli *c)
{
    int said = 0;
    for (ptrdiff_t i = 0; i < c->given_count; i++) {
        ptrdiff_t count = 7;
        double real = 7;
        EXPECT(args_value(c, c->given[i].name));
        said += args_count(c, c->given[i].name, -5, 1000, &count) != CODE_OK;
        said += args_real(c, c->given[i].name, -5, 1000, &real) != CODE_OK;
        EXPECT(count >= -5 && count <= 1000 && real >= -5 && real <= 1000);
        args_input(c, i);
        args_points(c, i);
    }
    return said;
}

/* "epiq: " and a sentence, a line each. */
static void check_said(char *text, int lines)
{
    for (; lines > 0; lines--) {
        char *end = strchr(text, '\n');
        EXPECT(end && strncmp(text, "epiq: ", 6) == 0);
        *end = '\0';
        fuzz_text(text + 6);
        text = end + 1;
    }
    EXPECT(!*text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char text[1 << 16], before[1 << 16];
    static ptrdiff_t verbs;
    char *argv[MOST_ARGUMENTS + 1], *said = NULL;
    size_t length = 0;
    if (size >= sizeof text || memchr(bytes, 0, size)) {
        return 0; /* no argument has a zero byte inside */
    }
    while (!verbs || VERBS[verbs]) {
        verbs++;
    }
    memcpy(text, bytes, size);
    text[size] = '\0';
    int argc = split(text, argv);
    memcpy(before, text, size + 1); /* parsing may cut what it refuses */
    const verb *v = verb_named(argv[1]);
    const uint64_t h = fuzz_hash(bytes, size);
    v = v ? v : VERBS[h % (uint64_t)verbs];
    FILE *screen = stderr;
    stderr = open_memstream(&said, &length);
    EXPECT(stderr);
    cli c;
    int lines = args_parse(&c, v, argc, argv) != CODE_OK;
    check_command(c.command, before);
    if (!lines) {
        if (h >> 8 & 7) {
            lines = check_numbers(&c);
        } else { /* all of them there and back: as long as eight lines take otherwise */
            check_options(&c);
        }
    }
    args_free(&c);
    fclose(stderr);
    stderr = screen;
    check_said(said, lines);
    free(said);
    fuzz_ctx();
    fuzz_end();
    return 0;
}
