/* args.c - from argv to a filled-in cli: flags in any order, the library's table for all it knows, one sentence if
 * wrong. */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lists of columns: typing the flag again adds to the list. */
static const char *const LISTS[] = {"features", "drop", "onehot"};

static ptrdiff_t own_count(const verb *v)
{
    ptrdiff_t count = 0;
    while (v->flags && v->flags[count].name) {
        count++;
    }
    return count;
}

/* One of the library's that the verb does without, or has a flag of its own for. */
static bool left_out(const verb *v, const flag *f)
{
    for (const char *const *name = v->without; name && *name; name++) {
        if (strcmp(f->section, *name) == 0 || strcmp(f->name, *name) == 0) {
            return true;
        }
    }
    for (const flag *own = v->flags; own && own->name; own++) {
        if (strcmp(f->name, own->name) == 0) {
            return true;
        }
    }
    return false;
}

const flag *verb_flag(const verb *v, ptrdiff_t index)
{
    ptrdiff_t own = own_count(v);
    if (index < own) {
        return &v->flags[index];
    }
    const flag *f = NULL;
    for (ptrdiff_t i = 0, left = index - own; v->model && left >= 0 && (f = epiq_options_info(i)); i++) {
        left -= !left_out(v, f);
    }
    return f;
}

/* ---- near misses ---- */

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Edits from a to b; typing only the beginning of b counts as one. */
static int distance(const char *a, const char *b)
{
    enum { MOST = 64 };
    int row[MOST + 1], n = (int)strlen(b);
    if (n > MOST || strlen(a) > MOST) {
        return MOST;
    }
    if (*a && strncmp(a, b, strlen(a)) == 0) {
        return 1;
    }
    for (int j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (int i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(replaced, 1 + least(row[j], row[j - 1]));
        }
    }
    return row[n];
}

const char *closest(const char *name, const char *(*candidate)(const void *from, ptrdiff_t index), const void *from)
{
    const char *best = NULL, *other;
    int fewest = 2 + (int)strlen(name) / 3; /* farther than that it is a guess */
    for (ptrdiff_t i = 0; (other = candidate(from, i)); i++) {
        int edits = distance(name, other);
        if (edits < fewest) {
            fewest = edits;
            best = other;
        }
    }
    return best;
}

static const char *flag_name(const void *from, ptrdiff_t index)
{
    const flag *f = verb_flag(from, index);
    return f ? f->name : NULL;
}

static int unknown_flag(const verb *v, const char *typed)
{
    const char *near = closest(typed + strspn(typed, "-"), flag_name, v);
    if (near) {
        return complain(CODE_USAGE, "epiq %s has no flag %s; did you mean --%s?", v->name, typed, near);
    }
    return complain(CODE_USAGE, "epiq %s has no flag %s; epiq %s --help lists them", v->name, typed, v->name);
}

/* ---- values ---- */

static int no_memory(void)
{
    return complain(CODE_NUMERIC, "no memory for the command line");
}

/* The library keeps the pointer it is given, so a joined list lives as long as the cli. */
static int join(cli *c, const char *name, const char **value)
{
    bool list = false;
    for (size_t i = 0; i < sizeof LISTS / sizeof *LISTS; i++) {
        list |= strcmp(name, LISTS[i]) == 0;
    }
    if (!list || !**value) {
        return CODE_OK;
    }
    report_value room;
    const char *before = report_option(&c->options, name, &room);
    if (!before) {
        return CODE_OK;
    }
    size_t size = strlen(before) + strlen(*value) + 2;
    char *text = malloc(size);
    if (!text) {
        return no_memory();
    }
    snprintf(text, size, "%s,%s", before, *value);
    *value = c->joined[c->joined_count++] = text;
    return CODE_OK;
}

int args_option(cli *c, const char *name, const char *value)
{
    if (epiq_options_set(c->ctx, &c->options, name, value) >= 0) {
        return CODE_OK;
    }
    const char *message = epiq_message(c->ctx); /* "members is 1; ...": on the command line it is called --members */
    return complain(CODE_USAGE, "%s%s", strncmp(message, name, strlen(name)) == 0 ? "--" : "", message);
}

static int one_flag(cli *c, char **argv, int argc, int *at)
{
    char *typed = argv[*at];
    const char *value = NULL, *name = typed + 2;
    size_t length = strcspn(name, "=");
    const flag *f = NULL;
    ptrdiff_t i = 0;
    if (c->verb->o && strcmp(typed, "-o") == 0) {
        name = c->verb->o;
        length = strlen(name);
    }
    if (name != typed + 2 || typed[1] == '-') {
        while ((f = verb_flag(c->verb, i)) && (strlen(f->name) != length || strncmp(f->name, name, length) != 0)) {
            i++;
        }
    }
    if (!f) {
        typed[2 + (typed[1] == '-' ? length : 0)] = '\0';
        return unknown_flag(c->verb, typed);
    }
    if (!f->metavar) {
        if (name[length]) {
            return complain(CODE_USAGE, "--%s takes no value", f->name);
        }
        value = "";
    } else if (name[length]) {
        value = name + length + 1;
    } else if (*at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0) { /* --name=--value says it where it is meant */
        value = argv[++*at];
    } else {
        return complain(CODE_USAGE, "--%s needs a value: %s", f->name, f->metavar);
    }
    if (i >= own_count(c->verb)) {
        int code = join(c, f->name, &value);
        return code ? code : args_option(c, f->name, value);
    }
    if (f->metavar && !*value) {
        return complain(CODE_USAGE, "--%s is empty; give %s", f->name, f->metavar);
    }
    c->given[c->given_count].name = f->name;
    c->given[c->given_count++].value = value;
    return CODE_OK;
}

/* ---- the whole line ---- */

static char *quoted(int argc, char **argv)
{
    size_t size = sizeof "epiq"; /* its name, whatever path it was called by */
    for (int i = 0; i < argc; i++) {
        size += 4 * strlen(argv[i]) + 3; /* each byte at most '\'' */
    }
    char *line = malloc(size), *s = line;
    for (int i = 0; s && i < argc; i++) {
        const char *word = i ? argv[i] : "epiq";
        bool plain =
            *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,@%+-")];
        s += sprintf(s, "%s%s", i ? " " : "", plain ? word : "'");
        for (; !plain && *word; word++) {
            s += sprintf(s, *word == '\'' ? "'\\''" : "%c", *word);
        }
        s += sprintf(s, "%s", plain ? "" : "'");
    }
    return line;
}

typedef struct {
    const char *dashes, *name;
} reader;

/* Standard input can be read once: by the first. */
static int also_reads(reader *first, const char *value, const char *dashes, const char *name)
{
    if (!value || strcmp(value, "-") != 0) {
        return CODE_OK;
    }
    if (first->name) {
        return complain(CODE_USAGE, "%s%s and %s%s both read standard input; put one of them into a file",
                        first->dashes, first->name, dashes, name);
    }
    *first = (reader){dashes, name};
    return CODE_OK;
}

static int check_stdin(const cli *c)
{
    reader first = {0};
    int code = also_reads(&first, c->verb->reads ? c->operand : NULL, "", c->verb->operand);
    code = code ? code : also_reads(&first, c->second, "", c->verb->second);
    for (ptrdiff_t i = 0; !code && i < c->given_count; i++) {
        if (args_points(c, i) ||
            (args_input(c, i) && strcmp(c->given[i].name, "merge") != 0)) { /* which is a database */
            code = also_reads(&first, c->given[i].value, "--", c->given[i].name);
        }
    }
    return code;
}

int args_parse(cli *c, const verb *v, int argc, char **argv)
{
    *c = (cli){.verb = v, .options = epiq_options_default()};
    c->command = quoted(argc, argv);
    c->given = calloc((size_t)argc, sizeof *c->given);
    c->joined = calloc((size_t)argc, sizeof *c->joined);
    if (!c->command || !c->given || !c->joined || epiq_ctx_new(&c->ctx) < 0) {
        return no_memory();
    }
    bool flags_end = false;
    for (int i = 2; i < argc; i++) {
        if (!flags_end && argv[i][0] == '-' && argv[i][1]) {
            flags_end = strcmp(argv[i], "--") == 0;
            int code = flags_end ? CODE_OK : one_flag(c, argv, argc, &i);
            if (code) {
                return code;
            }
        } else if (v->operand && !c->operand) {
            c->operand = argv[i];
        } else if (v->second && !c->second) {
            c->second = argv[i];
        } else {
            return complain(CODE_USAGE, "\"%s\" is one argument too many; usage: epiq %s %s", argv[i], v->name,
                            v->usage);
        }
    }
    const char *missing = v->operand && !c->operand && !v->may_lack ? v->operand
                          : v->second && !c->second                 ? v->second
                                                                    : NULL;
    if (missing) {
        return complain(CODE_USAGE, "%s is missing; usage: epiq %s %s", missing, v->name, v->usage);
    }
    return check_stdin(c);
}

void args_free(cli *c)
{
    for (ptrdiff_t i = 0; i < c->joined_count; i++) {
        free(c->joined[i]);
    }
    free(c->joined);
    free(c->given);
    free(c->command);
    epiq_ctx_free(c->ctx);
}

const char *args_value(const cli *c, const char *name)
{
    for (ptrdiff_t i = c->given_count; i-- > 0;) {
        if (strcmp(c->given[i].name, name) == 0) {
            return c->given[i].value;
        }
    }
    return NULL;
}

int args_count(const cli *c, const char *name, long long lo, long long hi, long long *value)
{
    const char *text = args_value(c, name);
    if (!text) {
        return CODE_OK;
    }
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end || isspace((unsigned char)*text) || errno || v < lo || v > hi) {
        return complain(CODE_USAGE, "--%s is \"%s\"; it must be a whole number from %lld to %lld", name, text, lo, hi);
    }
    *value = v;
    return CODE_OK;
}

int args_real(const cli *c, const char *name, double lo, double hi, double *value)
{
    const char *text = args_value(c, name);
    bool bounded = isfinite(lo) || isfinite(hi);
    char *end;
    double v = text ? strtod(text, &end) : *value;
    if (text && (end == text || *end || isspace((unsigned char)*text) || (bounded && !(v >= lo && v <= hi)))) {
        return bounded ? complain(CODE_USAGE, "--%s is \"%s\"; it must be a number from %g to %g", name, text, lo, hi)
                       : complain(CODE_USAGE, "--%s is \"%s\"; it must be a number", name, text);
    }
    *value = v;
    return CODE_OK;
}

bool args_input(const cli *c, ptrdiff_t i)
{
    const char *const *name = c->verb->inputs;
    while (name && *name && strcmp(c->given[i].name, *name) != 0) {
        name++;
    }
    return name && *name;
}

bool args_points(const cli *c, ptrdiff_t i)
{
    return strcmp(c->given[i].name, "at") == 0 || strcmp(c->given[i].name, "candidates") == 0;
}
