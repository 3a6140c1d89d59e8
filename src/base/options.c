/* options.c - the one table behind epiq_options: names, defaults, ranges, help. A new option is a field and a row. */
#include "base.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { KIND_TEXT, KIND_COUNT, KIND_REAL, KIND_SEED, KIND_CHOICE, KIND_METHODS, KIND_BYTES } kind;

typedef struct {
    epiq_option_info info;
    kind kind;
    size_t offset;
    double lo, hi; /* of a count or a real */
} row;

#define AT(field) offsetof(epiq_options, field)
#define TEXT(field, name, metavar, help)                                                                               \
    {                                                                                                                  \
        {name, SECTION, help, NULL, "", metavar}, KIND_TEXT, AT(field), 0, 0                                           \
    }
#define COUNT(field, name, value, lo, hi, help)                                                                        \
    {                                                                                                                  \
        {name, SECTION, help, NULL, value, "N"}, KIND_COUNT, AT(field), lo, hi                                         \
    }
#define REAL(field, name, value, lo, hi, help)                                                                         \
    {                                                                                                                  \
        {name, SECTION, help, NULL, value, "X"}, KIND_REAL, AT(field), lo, hi                                          \
    }
#define CHOICE(field, name, value, choices, help)                                                                      \
    {                                                                                                                  \
        {name, SECTION, help, choices, value, choices}, KIND_CHOICE, AT(field), 0, 0                                   \
    }

/* A level of 0 or 1 has no interval; 1e-9 off either end is as near as chi-squared quantiles stay finite and useful. */
#define LEVEL_EDGE 1e-9

static const row TABLE[] = {
#define SECTION "Columns"
    TEXT(target, "target", "COL", "the column to predict"),
    TEXT(features, "features", "A,B", "predict from these columns only (default: all others)"),
    TEXT(drop, "drop", "COL", "leave this column out; repeatable"),
    TEXT(onehot, "onehot", "COL", "turn a text column into 0/1 columns; repeatable"),
    TEXT(group, "group", "COL|same-features",
         "rows with the same value here, or with the same features, are repeated measurements of one thing"),
    CHOICE(missing, "missing", "refuse", "refuse|drop", "rows that lack a cell"),
    CHOICE(scale, "scale", "standard", "standard|minmax|none", "scaling of features and target"),
#undef SECTION
#define SECTION "Estimates"
    {{"methods", SECTION, "any of if, ev, ba in a list; auto chooses two and says why", NULL, "if,ev,ba",
      "if,ev,ba|auto"},
     KIND_METHODS,
     AT(methods),
     0,
     0},
    CHOICE(data_by, "data-by", "auto", "auto|if|retrain",
           "the data part: if, of infinitely wide networks; retrain, of the networks trained, by retraining some on "
           "changed targets; auto: retrain where networks are trained"),
    COUNT(replicates, "replicates", "5", 4, 100000, "retrain: ways to change the targets; each retrains four networks"),
    COUNT(members, "members", "50", 2, 1000000, "networks trained on all rows, for EV"),
    COUNT(batches, "batches", "5", 2, 1000000, "networks trained on one batch of rows each, for BA"),
    COUNT(ensemble_size, "ensemble-size", "0", 0, 1e9,
          "networks in the ensemble whose variance is wanted (0: as many as batches)"),
    REAL(level, "level", "0.95", LEVEL_EDGE, 1 - LEVEL_EDGE, "confidence level of the intervals"),
    COUNT(influential, "influential", "5", 0, 1000000, "training rows listed for each point"),
    COUNT(sweep, "sweep", "0", 0, 200,
          "values of each feature to estimate at, the others as at the first point (0: none)"),
#undef SECTION
#define SECTION "Network"
    CHOICE(engine, "engine", "network", "network|linear|infinite",
           "train networks, solve linearised ones, or use the infinite-width formula"),
    COUNT(width, "width", "1024", 1, 1e7, "units in each hidden layer"),
    COUNT(depth, "depth", "1", 1, 1000, "hidden layers"),
    REAL(lambda, "lambda", "1e-3", 1e-16, 1e16, "weight of |theta - theta0|^2 in the loss"),
    REAL(bias, "bias", "1", 0, 1e6, "scale of the biases (0: none)"),
    REAL(bias_sd, "bias-sd", "1", 0, 1e6, "standard deviation of the initial biases"),
#undef SECTION
#define SECTION "Training"
    CHOICE(optimizer, "optimizer", "auto", "auto|gd|sgd",
           "auto: to the minimum; gd: plain full-batch descent; sgd: in mini-batches"),
    REAL(lr, "lr", "1e-2", 1e-12, 1e6, "step size of gd and sgd"),
    COUNT(steps, "steps", "0", 0, 1e12, "most iterations (0: until converged)"),
    COUNT(batch_size, "batch-size", "32", 1, 1e9, "rows in a step of sgd"),
    CHOICE(vary, "vary", "both", "init|order|both", "what differs between members trained by sgd"),
    REAL(time, "time", "0", 0, 1e16, "engine infinite: stop gradient flow at this time (0: run it to the end)"),
#undef SECTION
#define SECTION "Influence function"
    CHOICE(kernel, "kernel", "population", "population|empirical",
           "tangent kernel: its expectation, or from drawn networks"),
    CHOICE(hbar, "hbar", "kernel", "kernel|ensemble", "mean prediction: kernel regression, or the mean of the members"),
    CHOICE(
        correction, "correction", "moderated", "moderated|rowwise|unbiased|jackknife|none",
        "for leverage: moderated smooths the noise over rows near each other as far as they agree, rowwise takes each "
        "row's from its own residual, unbiased takes it to be equal everywhere; none is the "
        "formula as published"),
    COUNT(
        probes, "probes", "0", 0, 1e6,
        "estimate what corrections need from so many random vectors, 16 or more, but for rows that decide a point (0: "
        "exactly, which takes 3 times as long)"),
    CHOICE(linear_kernel, "linear-kernel", "population", "population|own", "kernel of engine linear"),
#undef SECTION
#define SECTION "Solver"
    CHOICE(solver, "solver", "exact", "exact|iterative|divided|auto",
           "exact: factorise the kernel matrix; iterative: conjugate gradients without it; divided: the mean of "
           "solutions on parts of the rows; auto: exact if it fits, else iterative"),
    COUNT(rank, "rank", "1000", 1, 1e6, "iterative: rows of the data the preconditioner is made of"),
    REAL(tolerance, "tolerance", "1e-6", 1e-14, 0.1,
         "iterative: largest relative residual; solutions go on to less where the answer needs it"),
    COUNT(parts, "parts", "0", 0, 1e6, "divided: parts of the rows (0: 2, or as many as keep each at 8000 rows)"),
    {{"mem-limit", SECTION, "memory that may be used, in bytes or with K, M or G (0: all there is)", NULL, "0",
      "BYTES"},
     KIND_BYTES,
     AT(mem_limit),
     0,
     9.2e18},
    TEXT(scratch, "scratch", "DIR", "exact: keep the factor in a file there where it does not fit into memory"),
#undef SECTION
#define SECTION "Running"
    {{"seed", SECTION, "of all random numbers", NULL, "1", "S"}, KIND_SEED, AT(seed), 0, 0},
    COUNT(threads, "threads", "0", 0, 4096, "worker threads (0: all cores)"),
    TEXT(state, "state", "FILE", "keep finished members here; the same command continues"),
    CHOICE(backend, "backend", "blas", "blas|ref", "linear algebra: OpenBLAS, or plain C to compare with"),
#undef SECTION
};
#define ROWS ((ptrdiff_t)(sizeof TABLE / sizeof *TABLE))

static const struct {
    const char *name;
    int bit;
} METHODS[] = {{"if", EPIQ_IF}, {"ev", EPIQ_EV}, {"ba", EPIQ_BA}, {"auto", EPIQ_AUTO}};

const epiq_option_info *epiq_options_info(ptrdiff_t index)
{
    return index >= 0 && index < ROWS ? &TABLE[index].info : NULL;
}

static void *field(const epiq_options *o, const row *r)
{
    return (char *)(uintptr_t)o + r->offset;
}

/* ---- checking ---- */

static int out_of_range(epiq_ctx *c, const row *r, const char *value)
{
    return epiqp_fail(c, EPIQ_E_USAGE, "%s is %s; it must lie in [%.12g, %.12g] (the default is %s)", r->info.name,
                      value, r->lo, r->hi, r->info.default_text);
}

static ptrdiff_t choices(const row *r)
{
    ptrdiff_t count = 1;
    for (const char *s = r->info.choices; *s; s++) {
        count += *s == '|';
    }
    return count;
}

static int row_check(epiq_ctx *c, const epiq_options *o, const row *r)
{
    char text[64];
    switch (r->kind) {
    case KIND_BYTES:
    case KIND_COUNT: {
        ptrdiff_t v = *(ptrdiff_t *)field(o, r);
        snprintf(text, sizeof text, "%td", v);
        return (double)v >= r->lo && (double)v <= r->hi ? EPIQ_OK : out_of_range(c, r, text);
    }
    case KIND_REAL: {
        double v = *(double *)field(o, r);
        snprintf(text, sizeof text, "%.12g", v);
        return v >= r->lo && v <= r->hi ? EPIQ_OK : out_of_range(c, r, text); /* NaN fails both */
    }
    case KIND_CHOICE: {
        int v = *(int *)field(o, r);
        return v >= 0 && v < choices(r)
                   ? EPIQ_OK
                   : epiqp_fail(c, EPIQ_E_USAGE, "%s is %d; it must be one of %s", r->info.name, v, r->info.choices);
    }
    case KIND_METHODS: {
        int v = *(int *)field(o, r);
        return v == EPIQ_AUTO || (v > 0 && v < EPIQ_AUTO)
                   ? EPIQ_OK
                   : epiqp_fail(c, EPIQ_E_USAGE, "methods is empty; name any of if, ev, ba, or auto alone");
    }
    default:
        return EPIQ_OK;
    }
}

const char *epiqp_needs_factor(const epiq_options *o)
{
    return o->time > 0                                                                ? "--time"
           : o->kernel == EPIQ_KERNEL_EMPIRICAL && o->methods & (EPIQ_IF | EPIQ_AUTO) ? "--kernel empirical"
           : o->hbar == EPIQ_HBAR_ENSEMBLE && o->engine == EPIQ_ENGINE_LINEAR         ? "--hbar ensemble"
                                                                                      : NULL;
}

int epiqp_options_check(epiq_ctx *c, const epiq_options *o)
{
    for (ptrdiff_t i = 0; i < ROWS; i++) {
        int s = row_check(c, o, &TABLE[i]);
        if (s) {
            return s;
        }
    }
    if (o->probes > 0 && o->probes < 16) {
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "probes is %td; it must be 0 for an exact answer, or at least 16 to tell the error",
                          o->probes);
    }
    if (o->sweep == 1) {
        return epiqp_fail(c, EPIQ_E_USAGE, "sweep is 1; it must be 0 for none, or at least 2 values");
    }
    if (o->time > 0 && o->engine != EPIQ_ENGINE_INFINITE) {
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "time is a stopping time of engine infinite; for trained networks use --optimizer gd with "
                          "--lr and --steps");
    }
    if (o->hbar == EPIQ_HBAR_ENSEMBLE && (o->engine == EPIQ_ENGINE_INFINITE || !(o->methods & (EPIQ_EV | EPIQ_AUTO)))) {
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "hbar ensemble needs trained members; add ev to --methods with engine network or linear");
    }
    bool apart = o->solver == EPIQ_SOLVER_ITERATIVE || o->solver == EPIQ_SOLVER_DIVIDED;
    if (apart && epiqp_needs_factor(o)) {
        return epiqp_fail(c, EPIQ_E_USAGE, "solver %s has no factor of all rows, which %s needs; leave out one of them",
                          o->solver == EPIQ_SOLVER_DIVIDED ? "divided" : "iterative", epiqp_needs_factor(o));
    }
    if (o->time > 0 && o->kernel == EPIQ_KERNEL_EMPIRICAL) {
        return epiqp_fail(c, EPIQ_E_USAGE, "time needs the population kernel; leave out --kernel empirical");
    }
    return EPIQ_OK;
}

/* ---- from text ---- */

static int not_a_value(epiq_ctx *c, const row *r, const char *value, const char *wanted)
{
    return epiqp_fail(c, EPIQ_E_USAGE, "%s is \"%.200s\"; it must be %s (the default is %s)", r->info.name, value,
                      wanted, r->info.default_text);
}

/* A number in C's notation whatever the host program's locale, and nothing after it. */
static bool parse_real(const char *text, double *v)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain) {
        return false;
    }
    char *end;
    *v = strtod_l(text, &end, plain);
    freelocale(plain);
    return end != text && !*end && !isspace((unsigned char)text[0]);
}

static int set_methods(epiq_ctx *c, const row *r, const char *value, int *methods)
{
    int found = 0;
    for (const char *s = value;; s++) {
        size_t length = strcspn(s, ","), i = 0;
        while (i < 4 && (strlen(METHODS[i].name) != length || strncmp(METHODS[i].name, s, length) != 0)) {
            i++;
        }
        if (i == 4) {
            return not_a_value(c, r, value, "a list of if, ev, ba, or auto alone");
        }
        found |= METHODS[i].bit;
        s += length;
        if (!*s) {
            break;
        }
    }
    if (found > EPIQ_AUTO) {
        return not_a_value(c, r, value, "a list of if, ev, ba, or auto alone");
    }
    *methods = found;
    return EPIQ_OK;
}

static int set_choice(epiq_ctx *c, const row *r, const char *value, int *v)
{
    size_t wanted = strlen(value);
    int index = 0;
    for (const char *s = r->info.choices; *s; index++) {
        size_t length = strcspn(s, "|");
        if (length == wanted && strncmp(s, value, length) == 0) {
            *v = index;
            return EPIQ_OK;
        }
        s += length + (s[length] == '|');
    }
    char list[128];
    snprintf(list, sizeof list, "one of %s", r->info.choices);
    return not_a_value(c, r, value, list);
}

/* A whole number of bytes, or of K, M or G of them: powers of 1024. */
static int set_bytes(epiq_ctx *c, const row *r, const char *value, ptrdiff_t *v)
{
    static const char UNITS[] = "KMG";
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    const char *unit = *end ? strchr(UNITS, toupper((unsigned char)*end)) : NULL;
    int shift = unit ? 10 * (int)(unit - UNITS + 1) : 0;
    if (!isdigit((unsigned char)*value) || errno || (*end && (!unit || end[1])) ||
        number > (unsigned long long)PTRDIFF_MAX >> shift) {
        return not_a_value(c, r, value, "a number of bytes, such as 2000000000, 512M or 16G");
    }
    *v = (ptrdiff_t)number << shift;
    return EPIQ_OK;
}

static int row_set(epiq_ctx *c, epiq_options *o, const row *r, const char *value)
{
    void *v = field(o, r);
    double real;
    char *end;
    switch (r->kind) {
    case KIND_TEXT:
        *(const char **)v = value;
        return *value ? EPIQ_OK : epiqp_fail(c, EPIQ_E_USAGE, "%s is empty; give a name", r->info.name);
    case KIND_CHOICE:
        return set_choice(c, r, value, v);
    case KIND_METHODS:
        return set_methods(c, r, value, v);
    case KIND_BYTES:
        return set_bytes(c, r, value, v);
    case KIND_SEED:
        errno = 0;
        *(uint64_t *)v = strtoull(value, &end, 10);
        return isdigit((unsigned char)*value) && !*end && !errno
                   ? EPIQ_OK
                   : not_a_value(c, r, value, "a whole number from 0 to 2^64 - 1");
    case KIND_COUNT:
        if (!parse_real(value, &real) || real != floor(real)) {
            return not_a_value(c, r, value, "a whole number");
        }
        if (!(real >= r->lo && real <= r->hi)) {
            return out_of_range(c, r, value);
        }
        *(ptrdiff_t *)v = (ptrdiff_t)real;
        return EPIQ_OK;
    default:
        if (!parse_real(value, v)) {
            return not_a_value(c, r, value, "a number");
        }
        return row_check(c, o, r);
    }
}

int epiq_options_set(epiq_ctx *c, epiq_options *o, const char *name, const char *value)
{
    epiqp_clear(c);
    for (ptrdiff_t i = 0; i < ROWS; i++) {
        if (strcmp(TABLE[i].info.name, name) == 0) {
            epiq_options changed = *o;
            int s = row_set(c, &changed, &TABLE[i], value);
            if (!s) {
                *o = changed;
            }
            return s;
        }
    }
    return epiqp_fail(c, EPIQ_E_USAGE, "there is no option \"%s\"", name);
}

epiq_options epiq_options_default(void)
{
    epiq_options o = {0};
    epiq_ctx quiet = {0}; /* the table's own defaults pass its own checks: a test walks them */
    for (ptrdiff_t i = 0; i < ROWS; i++) {
        if (TABLE[i].kind != KIND_TEXT) {
            row_set(&quiet, &o, &TABLE[i], TABLE[i].info.default_text);
        }
    }
    return o;
}

/* ---- to text ---- */

int epiq_options_text(const epiq_options *o, ptrdiff_t index, char *buffer, size_t size)
{
    if (index < 0 || index >= ROWS) {
        return EPIQ_E_USAGE;
    }
    const row *r = &TABLE[index];
    const void *v = field(o, r);
    char number[32]; /* of 17 digits */
    int length = 0;
    switch (r->kind) {
    case KIND_TEXT: {
        const char *text = *(const char *const *)v;
        length = snprintf(buffer, size, "%s", text ? text : "");
        break;
    }
    case KIND_BYTES:
    case KIND_COUNT:
        length = snprintf(buffer, size, "%td", *(const ptrdiff_t *)v);
        break;
    case KIND_SEED:
        length = snprintf(buffer, size, "%llu", (unsigned long long)*(const uint64_t *)v);
        break;
    case KIND_REAL:
        snprintf(number, sizeof number, "%.17g", *(const double *)v);
        epiqp_plain_numbers(number);
        length = snprintf(buffer, size, "%s", number);
        break;
    case KIND_CHOICE: {
        const char *s = r->info.choices;
        for (int k = *(const int *)v; k > 0 && *s; k--) {
            s += strcspn(s, "|");
            s += *s == '|';
        }
        length = snprintf(buffer, size, "%.*s", (int)strcspn(s, "|"), s);
        break;
    }
    case KIND_METHODS: {
        char list[32] = "";
        int used = 0;
        for (size_t i = 0; i < 4; i++) {
            if (*(const int *)v & METHODS[i].bit) {
                used += snprintf(list + used, sizeof list - (size_t)used, "%s%s", used ? "," : "", METHODS[i].name);
            }
        }
        length = snprintf(buffer, size, "%s", list);
        break;
    }
    }
    return length >= 0 && (size_t)length < size ? EPIQ_OK : EPIQ_E_USAGE;
}
