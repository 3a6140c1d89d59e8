/* args.c - from argv to a filled-in cli: flags in any order, the library's by its table, one sentence if wrong. */
#include "cli/cli.h"
#include "common/utf8.h"
#include "report/format.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Lists of columns: typing the flag again adds to the list. */
static const char *const LISTS[] = {"features", "drop", "onehot", "na", NULL};

bool listed(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name) != 0) {
        list++;
    }
    return *list;
}

static const flag *own_flag(const verb *v, const char *name)
{
    const flag *f = v->flags;
    while (f && f->name && strcmp(f->name, name) != 0) {
        f++;
    }
    return f && f->name ? f : NULL;
}

/* The library's option of this index, which the verb has no flag of its own for. */
static bool takes(const verb *v, ptrdiff_t index)
{
    const char *name = epiq_options_info(index)->name;
    return epiq_options_scope(index) & v->takes && !(v->renamed && strcmp(v->renamed, name) == 0) && !own_flag(v, name);
}

/* Nothing of the section is for the verb. */
static bool lacks_section(const verb *v, const char *section)
{
    bool lacks = true;
    for (ptrdiff_t i = 0; epiq_options_info(i); i++) {
        lacks = lacks && (strcmp(epiq_options_info(i)->section, section) != 0 || !takes(v, i));
    }
    return lacks;
}

const char *verb_rest(const verb *v, const char *quote)
{
    static char text[4096]; /* all names together are shorter by far */
    const flag *f;
    const char *section = "", *before = ", except";
    char *end = text + sprintf(text, "Also all flags of %sepiq estimate%s from Columns on that are not named here",
                               quote, quote);
    for (ptrdiff_t i = 0; (f = epiq_options_info(i)); i++) {
        const bool first = strcmp(section, f->section) != 0, whole = lacks_section(v, section = f->section);
        if (whole ? !first : takes(v, i) || own_flag(v, f->name)) continue;
        end += sprintf(end, "%s %s%s%s", before, quote, whole ? f->section : f->name, quote);
        before = ",";
    }
    sprintf(end, ".");
    return text;
}

const flag *verb_flag(const verb *v, ptrdiff_t index)
{
    ptrdiff_t own = 0;
    for (; v->flags && v->flags[own].name; own++) {
        if (own == index) return &v->flags[own];
    }
    const flag *f = NULL;
    for (ptrdiff_t i = 0; index >= own && (f = epiq_options_info(i)); i++) {
        index -= takes(v, i);
    }
    return f;
}

/* ---- near misses ---- */

static const char *without_dashes(const char *name)
{
    return name + strspn(name, "-");
}

const char *near_miss(const char *name, const char *(*candidate)(const void *from, ptrdiff_t index), const void *from,
                      const char *dashes, const char *otherwise)
{
    static char text[128];
    const char *best = NULL, *other, *typed = without_dashes(name);
    int fewest = epiqp_edits_likely(typed) + 1;
    for (ptrdiff_t i = 0; (other = candidate(from, i)); i++) {
        /* typing only the beginning is as near as can be */
        const char *whole = without_dashes(other);
        int edits = *typed && strncasecmp(typed, whole, strlen(typed)) == 0 ? 0 : epiqp_edit_distance(typed, whole);
        if (edits < fewest) {
            fewest = edits;
            best = other;
        }
    }
    snprintf(text, sizeof text, best ? "did you mean %s%s?" : "%s%s", best ? dashes : otherwise, best ? best : "");
    return text;
}

/* Those of the table, and --help, which every verb has. */
static const char *flag_name(const void *from, ptrdiff_t index)
{
    const flag *f = verb_flag(from, index);
    return f ? f->name : !index || verb_flag(from, index - 1) ? "help" : NULL;
}

/* ---- values ---- */

static int no_memory(void)
{
    return complain(CODE_NUMERIC, "no memory for the command line");
}

/* What was given is shown again in reports, so a joined list lives as long as the cli. */
static int join(cli *c, const char *name, const char **value)
{
    option_buffer room;
    const char *before = listed(name, LISTS) && **value ? option_text(&c->options, name, &room) : NULL;
    char *text;
    if (!before) return CODE_OK;
    if (asprintf(&text, "%s,%s", before, *value) < 0) return no_memory();
    *value = c->joined[c->joined_count++] = text;
    return CODE_OK;
}

int args_option(cli *c, const char *name, const char *value)
{
    int status = epiq_options_set(c->ctx, &c->options, name, value);
    return status < 0 ? failed(c, status) : CODE_OK;
}

static int one_flag(cli *c, char **argv, int argc, int *at)
{
    char *typed = argv[*at];
    const char *value = NULL, *name = typed + 2;
    size_t length = strcspn(name, "=");
    const flag *f = NULL;
    ptrdiff_t i = 0;
    if (c->verb->o_flag && strcmp(typed, "-o") == 0) {
        name = c->verb->o_flag;
        length = strlen(name);
    }
    if (own_flag(c->verb, "verbose") && strcmp(typed, "-v") == 0) {
        name = "verbose";
        length = strlen(name);
    }
    if (name != typed + 2 || typed[1] == '-') {
        while ((f = verb_flag(c->verb, i)) && (strlen(f->name) != length || strncmp(f->name, name, length) != 0)) {
            i++;
        }
    }
    if (!f) {
        typed[2 + (typed[1] == '-' ? length : 0)] = '\0';
        return complain(
            CODE_USAGE, "epiq %s has no flag %s; %s", c->verb->name, typed,
            near_miss(typed, flag_name, c->verb, "--", phrase_of("epiq %s --help lists them", c->verb->name).text));
    }
    if (!f->metavar) {
        if (name[length]) return complain(CODE_USAGE, "--%s takes no value", f->name);
        value = "";
    } else if (name[length]) {
        value = name + length + 1;
    } else if (*at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0) { /* --name=--value is possible */
        value = argv[++*at];
    } else {
        return complain(CODE_USAGE, "--%s needs a value: %s", f->name, f->metavar);
    }
    if (f != own_flag(c->verb, f->name)) {
        int code = join(c, f->name, &value);
        return code ? code : args_option(c, f->name, value);
    }
    if (f->metavar && !*value) return complain(CODE_USAGE, "--%s is empty; give %s", f->name, f->metavar);
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

/* Standard input can be read once: by an operand or by a flag. */
static int check_stdin(const cli *c)
{
    const char *operands[] = {c->verb->reads ? c->operand : NULL, c->operand2}, *first = NULL, *dashes = "";
    const char *names[] = {c->verb->operand, c->verb->operand2};
    for (ptrdiff_t i = -2; i < c->given_count; i++) {
        const char *name = i < 0 ? names[i + 2] : c->given[i].name,
                   *value = i < 0 ? operands[i + 2] : c->given[i].value;
        bool file = i < 0 || args_points(c, i) || (args_input(c, i) && strcmp(name, "merge") != 0); /* a database */
        if (!value || !file || strcmp(value, "-") != 0) continue;
        if (first) {
            return complain(CODE_USAGE, "%s%s and %s%s both read standard input; put one of them into a file", dashes,
                            first, i < 0 ? "" : "--", name);
        }
        first = name;
        dashes = i < 0 ? "" : "--";
    }
    return CODE_OK;
}

/* Moves --preset before the other flags, which change what it sets. */
static void put_preset_first(int argc, char **argv)
{
    static const char NAME[] = "--preset";
    const size_t length = sizeof NAME - 1;
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], NAME, length) != 0 || (argv[i][length] && argv[i][length] != '=')) continue;
        const int words = argv[i][length] || i + 1 == argc ? 1 : 2;
        char *const moved[] = {argv[i], words > 1 ? argv[i + 1] : NULL};
        memmove(argv + 2 + words, argv + 2, (size_t)(i - 2) * sizeof *argv);
        memcpy(argv + 2, moved, (size_t)words * sizeof *argv);
        return;
    }
}

int args_parse(cli *c, const verb *v, int argc, char **argv)
{
    *c = (cli){.verb = v, .options = epiq_options_default()};
    c->command = quoted(argc, argv);
    c->given = calloc((size_t)argc, sizeof *c->given);
    c->joined = calloc((size_t)argc, sizeof *c->joined);
    if (!c->command || !c->given || !c->joined || epiq_ctx_new(&c->ctx) < 0) return no_memory();
    epiq_ctx_spelling(c->ctx, EPIQ_SPELL_FLAG);
    put_preset_first(argc, argv);
    bool flags_end = false;
    for (int i = 2; i < argc; i++) {
        if (!flags_end && argv[i][0] == '-' && argv[i][1]) {
            flags_end = strcmp(argv[i], "--") == 0;
            int code = flags_end ? CODE_OK : one_flag(c, argv, argc, &i);
            if (code) return code;
        } else if (v->operand && !c->operand) {
            c->operand = argv[i];
        } else if (v->operand2 && !c->operand2) {
            c->operand2 = argv[i];
        } else {
            return complain(CODE_USAGE, "\"%s\" is one argument too many; usage: epiq %s %s", argv[i], v->name,
                            v->usage);
        }
    }
    const char *missing = v->operand && !c->operand && !v->operand_optional ? v->operand
                          : v->operand2 && !c->operand2                     ? v->operand2
                                                                            : NULL;
    if (missing) return complain(CODE_USAGE, "%s is missing; usage: epiq %s %s", missing, v->name, v->usage);
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
        if (strcmp(c->given[i].name, name) == 0) return c->given[i].value;
    }
    return NULL;
}

const char *args_text(const cli *c, const char *name)
{
    const char *typed = args_value(c, name);
    const flag *f = own_flag(c->verb, name);
    return typed ? typed : f ? f->default_text : "";
}

int args_own_option(cli *c, const char *name)
{
    const char *text = args_text(c, name);
    return *text ? args_option(c, name, text) : CODE_OK;
}

int args_choice(const cli *c, const char *name, int *value)
{
    const flag *f = own_flag(c->verb, name);
    const char *text = f ? args_value(c, name) : NULL, *rest = f ? f->metavar : "";
    char list[64] = "";
    for (int k = 0; text && *rest; k++) {
        size_t length = strcspn(rest, "|"), used = strlen(list);
        bool last = !rest[length];
        if (strlen(text) == length && strncmp(text, rest, length) == 0) {
            *value = k;
            return CODE_OK;
        }
        snprintf(list + used, sizeof list - used, "%s%.*s", !k ? "" : last ? " or " : ", ", (int)length, rest);
        rest += length + !last;
    }
    return text ? complain(CODE_USAGE, "--%s is \"%s\"; it must be %s", name, text, list) : CODE_OK;
}

int args_count(const cli *c, const char *name, ptrdiff_t lo, ptrdiff_t hi, ptrdiff_t *value)
{
    const char *text = args_value(c, name);
    if (!text) return CODE_OK;
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end || isspace((unsigned char)*text) || errno || v < lo || v > hi) {
        return complain(CODE_USAGE, "--%s is \"%s\"; it must be a whole number from %td to %td", name, text, lo, hi);
    }
    *value = (ptrdiff_t)v;
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
    return c->verb->inputs && listed(c->given[i].name, c->verb->inputs);
}

bool args_points(const cli *c, ptrdiff_t i)
{
    return strcmp(c->given[i].name, "at") == 0 || strcmp(c->given[i].name, "candidates") == 0;
}
