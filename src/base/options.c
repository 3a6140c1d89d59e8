/* options.c - the one table behind epiq_options: names, defaults, ranges, help. A new option is a field and a row. */
#include "base.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
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
    unsigned scope; /* epiq_option_scope, or-ed together */
    double lo, hi;  /* of a count or a real */
} row;

#define AT(field) offsetof(epiq_options, field)
#define ROW(kind, field, name, scope, value, choices, metavar, lo, hi, help)                                           \
    {                                                                                                                  \
        {name, SECTION, help, choices, value, metavar}, kind, AT(field), scope, lo, hi                                 \
    }
#define TEXT(field, name, scope, metavar, help) ROW(KIND_TEXT, field, name, scope, "", NULL, metavar, 0, 0, help)
#define COUNT(field, name, scope, value, lo, hi, help)                                                                 \
    ROW(KIND_COUNT, field, name, scope, value, NULL, "N", lo, hi, help)
#define REAL(field, name, scope, value, lo, hi, help) ROW(KIND_REAL, field, name, scope, value, NULL, "X", lo, hi, help)
#define CHOICE(field, name, scope, value, choices, help)                                                               \
    ROW(KIND_CHOICE, field, name, scope, value, choices, choices, 0, 0, help)

/* Scopes, by short names. */
enum {
    COLUMNS = EPIQ_OPTION_COLUMNS,
    MEMBER = EPIQ_OPTION_MEMBER,
    MODEL = EPIQ_OPTION_MODEL,
    WRITES = EPIQ_OPTION_FILE,
    PROCESS = EPIQ_OPTION_PROCESS,
    SILENT = EPIQ_OPTION_SILENT,
    PLAN = EPIQ_FOR_PLAN,
    COMPARE = EPIQ_FOR_COMPARE,
    EXPLORE = EPIQ_FOR_EXPLORE,
    FIT = EPIQ_FOR_FIT,
    KERNEL = EPIQ_FOR_KERNEL,
    COMBINE = EPIQ_FOR_COMBINE,
    STUDY = EPIQ_FOR_STUDY,
    ESTIMATE = EPIQ_FOR_ESTIMATE | EPIQ_FOR_DEMO,                         /* a demo is an estimate, of data it makes */
    TABLES = EPIQ_FOR_ESTIMATE | PLAN | COMPARE | EXPLORE | FIT | KERNEL, /* what reads a table */
    NETWORKS = ESTIMATE | PLAN | COMPARE | EXPLORE | FIT | STUDY,         /* what may train networks */
    SOLVES = NETWORKS & ~FIT,                                             /* a model keeps the exact factor */
    CHOOSES = COLUMNS | MODEL | TABLES,
    TRAINED = MEMBER | MODEL | NETWORKS,
    BY_NAME = 1 << 30,    /* a choice that stands in the key of a member by its name, before all numbers */
    MAY_BE_AUTO = 1 << 29 /* a number above 0, or "auto", which is stored as 0 */
};

/* A level of 0 or 1 has no interval; 1e-9 off either end is as near as chi-squared quantiles stay finite and useful. */
#define LEVEL_EDGE 1e-9

static const row TABLE[] = {
#define SECTION "Columns"
    TEXT(target, "target", CHOOSES, "COL", "the column to predict"),
    TEXT(features, "features", CHOOSES, "A,B", "predict from these columns only (default: all others)"),
    TEXT(drop, "drop", CHOOSES, "COL", "leave this column out; repeatable"),
    TEXT(onehot, "onehot", CHOOSES, "COL", "turn a text column into 0/1 columns; repeatable"),
    TEXT(group, "group", CHOOSES, "COL|same-features",
         "rows with the same value here, or with the same features, are repeated measurements of one thing"),
    TEXT(na, "na", CHOOSES, "A,B",
         "texts that mean a missing cell, besides empty ones, NA, N/A, NaN and null; repeatable"),
    CHOICE(missing, "missing", CHOOSES, "refuse", "refuse|drop", "rows that lack a cell"),
    CHOICE(scale, "scale", MODEL | TABLES, "standard", "standard|minmax|none", "scaling of features and target"),
#undef SECTION
#define SECTION "Estimates"
    ROW(KIND_METHODS, methods, "methods", MODEL | ESTIMATE | PLAN | FIT, "auto", NULL, "if,ev,ba|auto", 0, 0,
        "any of if, ev, ba in a list; auto chooses two and says why"),
    CHOICE(data_by, "data-by", MODEL | (NETWORKS & ~COMPARE), "auto", "auto|if|retrain",
           "the data part: if, of infinitely wide networks; retrain, of the networks trained, by retraining some on "
           "changed targets; auto: retrain where networks are trained, and if where none are or with correction none"),
    COUNT(replicates, "replicates", MODEL | (NETWORKS & ~COMPARE), "5", 4, 100000,
          "retrain: ways to change the targets; each retrains four networks"),
    COUNT(members, "members", MODEL | NETWORKS, "50", 2, 1000000, "networks trained on all rows, for EV"),
    COUNT(batches, "batches", MODEL | ESTIMATE | PLAN | FIT | STUDY, "5", 2, 1000000,
          "networks trained on one batch of rows each, for BA"),
    COUNT(ensemble_size, "ensemble-size", MODEL | (NETWORKS & ~STUDY) | COMBINE, "0", 0, 1e9,
          "networks in the ensemble whose variance is wanted (0: as many as batches)"),
    COUNT(folds, "folds", MODEL | ESTIMATE | FIT, "5", 2, 100, "parts of the rows, each left out once"),
    COUNT(fold_members, "fold-members", MODEL | ESTIMATE | FIT, "4", 0, 1000,
          "networks trained without each part of the rows: for their own error on rows they have not seen (0: none)"),
    REAL(level, "level", (SOLVES & ~STUDY) | COMBINE, "0.95", LEVEL_EDGE, 1 - LEVEL_EDGE,
         "confidence level of the intervals"),
    CHOICE(
        confidence, "confidence", MODEL | ESTIMATE | FIT | COMBINE | EXPLORE, "none",
        "none|batching|bootstrap|retrain|jackknife|halves",
        "interval of the expected prediction, from networks on batches of the rows; from networks on rows drawn with "
        "replacement; from the variance of the prediction, data part and procedural part; from networks without parts "
        "of the rows; or from networks on halves of the rows, beside kernel regression"),
    COUNT(
        resamples, "resamples", ESTIMATE | EXPLORE, "8", 2, 100000,
        "bootstrap, jackknife and halves: networks trained on rows drawn with replacement, on all rows but a part, or "
        "on half of them"),
    COUNT(budget_networks, "budget-networks", ESTIMATE | EXPLORE, "0", 0, 1e6,
          "trainings that all of it may take, 4 or more: the interval of the expected prediction that they buy (0: as "
          "many as "
          "the other options say)"),
    COUNT(influential, "influential", ESTIMATE | COMBINE, "5", 0, 1000000, "training rows listed for each point"),
    COUNT(sweep, "sweep", ESTIMATE, "0", 0, 200,
          "values of each feature to estimate at, the others as at the first point (0: none)"),
#undef SECTION
#define SECTION "Network"
    CHOICE(
        preset, "preset", NETWORKS & ~COMPARE, "none", "none|paper",
        "paper: the published setting, which is width 1024, lambda 1e-3, bias-sd 0, correction none, methods "
        "if,ev,ba, optimizer flow, lr 1e-2 and steps 50000 (chosen to fit, as the paper has no number), but for those "
        "that are given"),
    CHOICE(engine, "engine", TRAINED | BY_NAME, "network", "network|linear|infinite",
           "train networks, solve linearised ones, or use the infinite-width formula"),
    ROW(KIND_COUNT, width, "width", TRAINED | MAY_BE_AUTO, "auto", NULL, "N|auto", 1, 1e7,
        "units in each hidden layer; auto chooses by the error on rows that networks have not seen"),
    COUNT(depth, "depth", TRAINED | KERNEL, "1", 1, 1000, "hidden layers"),
    ROW(KIND_REAL, lambda, "lambda", TRAINED | COMBINE | MAY_BE_AUTO, "auto", NULL, "X|auto", 1e-16, 1e16,
        "weight of |theta - theta0|^2 in the loss; auto chooses as that of the width does"),
    REAL(bias, "bias", TRAINED | KERNEL, "1", 0, 1e6, "scale of the biases (0: none)"),
    REAL(bias_sd, "bias-sd", TRAINED | KERNEL, "1", 0, 1e6, "standard deviation of the initial biases"),
#undef SECTION
#define SECTION "Training"
    CHOICE(
        optimizer, "optimizer", TRAINED, "auto", "auto|gd|sgd|flow",
        "auto: to the minimum; gd: plain full-batch descent; sgd: in mini-batches; flow: what gd comes to as its steps "
        "get smaller, gradient flow for a time of steps times lr, in far fewer gradients"),
    REAL(lr, "lr", TRAINED, "1e-2", 1e-12, 1e6, "step size of gd and sgd; flow: time of a step"),
    COUNT(steps, "steps", TRAINED, "0", 0, 1e12, "most iterations; flow: of a time of lr each (0: until converged)"),
    COUNT(batch_size, "batch-size", TRAINED, "32", 1, 1e9, "rows in a step of sgd"),
    CHOICE(vary, "vary", TRAINED, "both", "init|order|both", "what differs between networks trained by sgd"),
    CHOICE(
        predictor, "predictor", TRAINED, "usual", "ensemble|pnc|shifted|auto|usual",
        "what a network predicts: ensemble, its output; shifted, its output less that of its start, trained on targets "
        "to match; pnc, its output less that of a second network from the same start; auto: by measuring what each "
        "leaves of the procedural variance; usual: ensemble, but shifted where the width is chosen and starts would be "
        "more than a tenth of the squared error"),
    REAL(time, "time", MODEL | SOLVES, "0", 0, 1e16,
         "engine infinite: stop gradient flow at this time (0: run it to the end)"),
#undef SECTION
#define SECTION "Influence function"
    CHOICE(kernel, "kernel", MODEL | (SOLVES & ~COMPARE), "population", "population|empirical",
           "tangent kernel: its expectation, or from drawn networks"),
    CHOICE(hbar, "hbar", MODEL | (NETWORKS & ~COMPARE), "kernel", "kernel|ensemble",
           "mean prediction: kernel regression, or the mean of the networks"),
    CHOICE(
        correction, "correction", MODEL | (NETWORKS & ~STUDY) | COMBINE, "moderated",
        "moderated|rowwise|unbiased|jackknife|none",
        "for leverage: moderated smooths the noise over rows near each other as far as they agree, rowwise takes each "
        "row's from its own residual, unbiased takes it to be equal everywhere; none is the "
        "formula as published"),
    COUNT(
        probes, "probes", MODEL | NETWORKS | COMBINE, "0", 0, 1e6,
        "estimate what corrections need from so many random vectors, 16 or more, but for rows that decide a point; as "
        "many as rows: exactly, which takes 3 times as long (0: exactly up to 10,000 rows, above that 64)"),
    CHOICE(linear_kernel, "linear-kernel", TRAINED, "population", "population|own", "kernel of engine linear"),
#undef SECTION
#define SECTION "Solver"
    CHOICE(solver, "solver", MODEL | NETWORKS, "exact", "exact|iterative|divided|auto|subset",
           "exact: factorise the kernel matrix; iterative: conjugate gradients without it; divided: the mean of "
           "solutions on parts of the rows; auto: exact if it fits, else iterative; subset: no kernel matrix of all "
           "rows, which methods auto takes above 10,000 rows"),
    COUNT(rank, "rank", MODEL | SOLVES, "1000", 1, 1e6, "iterative: rows of the data the preconditioner is made of"),
    REAL(tolerance, "tolerance", MODEL | SOLVES, "1e-6", 1e-14, 0.1,
         "iterative: largest relative residual; solutions go on to less where the answer needs it"),
    COUNT(parts, "parts", MODEL | SOLVES, "0", 0, 1e6,
          "divided: parts of the rows (0: 2, or as many as keep each at 8000 rows)"),
    ROW(KIND_BYTES, mem_limit, "mem-limit", PROCESS | NETWORKS | KERNEL | COMBINE, "0", NULL, "BYTES", 0, 9.2e18,
        "memory that may be used, in bytes or with K, M or G (0: all there is)"),
    TEXT(scratch, "scratch", WRITES | SOLVES, "DIR",
         "exact: keep the factor in a file there where it does not fit into memory"),
#undef SECTION
#define SECTION "Running"
    ROW(KIND_SEED, seed, "seed", TRAINED | COMBINE, "1", NULL, "S", 0, 0, "of all random numbers"),
    COUNT(threads, "threads", PROCESS | SILENT | NETWORKS | KERNEL | COMBINE, "0", 0, 4096,
          "worker threads (0: all cores)"),
    TEXT(state, "state", WRITES | SILENT | (NETWORKS & ~COMPARE) | COMBINE, "FILE",
         "keep finished networks here; the same command continues"),
    CHOICE(backend, "backend", TRAINED | BY_NAME | KERNEL | COMBINE, "blas", "blas|ref",
           "linear algebra: OpenBLAS, or plain C to compare with"),
    CHOICE(device, "device", PROCESS | NETWORKS, "auto", "auto|gpu|cpu",
           "where networks are trained and kernel matrices solved with: a GPU where there is one and it saves time, "
           "always, or never (docs/gpu.md)"),
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

ptrdiff_t epiq_options_index(const char *name)
{
    ptrdiff_t i = 0;
    while (i < ROWS && strcmp(TABLE[i].info.name, name) != 0) {
        i++;
    }
    return i < ROWS ? i : -1;
}

unsigned epiq_options_scope(ptrdiff_t index)
{
    return index >= 0 && index < ROWS ? TABLE[index].scope & ~(unsigned)(BY_NAME | MAY_BE_AUTO) : 0;
}

static const size_t SIZE[] = {
    [KIND_TEXT] = sizeof(const char *), [KIND_COUNT] = sizeof(ptrdiff_t), [KIND_REAL] = sizeof(double),
    [KIND_SEED] = sizeof(uint64_t),     [KIND_CHOICE] = sizeof(int),      [KIND_METHODS] = sizeof(int),
    [KIND_BYTES] = sizeof(ptrdiff_t)};

static void *field(const epiq_options *o, const row *r)
{
    return (char *)(uintptr_t)o + r->offset;
}

/* A program compiled against an older header has a shorter struct, without the last options. */
static bool has(const epiq_options *o, const row *r)
{
    return r->offset + SIZE[r->kind] <= o->size;
}

const char *epiq_options_string(const epiq_options *o, ptrdiff_t index)
{
    bool text = index >= 0 && index < ROWS && TABLE[index].kind == KIND_TEXT && has(o, &TABLE[index]);
    return text ? *(const char **)field(o, &TABLE[index]) : NULL;
}

/* ---- checking ---- */

static bool may_be_auto(const row *r)
{
    return r->scope & MAY_BE_AUTO;
}

/* A number in C's notation whatever the host program's locale, and nothing after it. */
static bool parse_real(const char *text, double *v)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain) return false;
    char *end;
    *v = strtod_l(text, &end, plain);
    freelocale(plain);
    return end != text && !*end && !isspace((unsigned char)text[0]);
}

static int out_of_range(epiq_ctx *c, const row *r, const char *value)
{
    double percent;
    const double share = parse_real(value, &percent) ? percent / 100 : 0;
    if (r->hi < 1 && share >= 0.5 && share <= r->hi) {
        return epiqp_fail(c, EPIQ_E_USAGE, "{--%s} is %s; write %g for %s %%", r->info.name, value, share, value);
    }
    return epiqp_fail(c, EPIQ_E_USAGE, "{--%s} is %s; it must lie in [%.12g, %.12g]%s (the default is %s)",
                      r->info.name, value, r->lo, r->hi, may_be_auto(r) ? " or be auto" : "", r->info.default_text);
}

static bool in_range(const row *r, double v)
{
    return (v >= r->lo && v <= r->hi) || (may_be_auto(r) && v == 0); /* NaN fails both */
}

/* The choice of that number, which ends at `length`; NULL: there is none. */
static const char *choice(const row *r, int number, size_t *length)
{
    const char *s = r->info.choices;
    for (; s && number > 0; number--) {
        s = strchr(s, '|');
        s = s ? s + 1 : NULL; /* no arithmetic on null */
    }
    *length = s ? strcspn(s, "|") : 0;
    return s;
}

static int row_check(epiq_ctx *c, const epiq_options *o, const row *r)
{
    char text[64];
    size_t length;
    switch (r->kind) {
    case KIND_BYTES:
    case KIND_COUNT: {
        ptrdiff_t v = *(ptrdiff_t *)field(o, r);
        snprintf(text, sizeof text, "%td", v);
        return in_range(r, (double)v) ? EPIQ_OK : out_of_range(c, r, text);
    }
    case KIND_REAL: {
        double v = *(double *)field(o, r);
        snprintf(text, sizeof text, "%.12g", v);
        return in_range(r, v) ? EPIQ_OK : out_of_range(c, r, text);
    }
    case KIND_CHOICE: {
        int v = *(int *)field(o, r);
        if (v >= 0 && choice(r, v, &length)) return EPIQ_OK;
        return epiqp_fail(c, EPIQ_E_USAGE, "{--%s} is %d; it must be one of %s", r->info.name, v, r->info.choices);
    }
    case KIND_METHODS: {
        int v = *(int *)field(o, r);
        if (v > 0 && v <= EPIQ_AUTO) return EPIQ_OK;
        if (!v) return epiqp_fail(c, EPIQ_E_USAGE, "{--methods} is empty; name any of if, ev, ba, or auto alone");
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "{--methods} is %d; it must be made of EPIQ_IF, EPIQ_EV and EPIQ_BA, or EPIQ_AUTO alone", v);
    }
    default:
        return EPIQ_OK;
    }
}

int epiqp_options_check(epiq_ctx *c, const epiq_options *o)
{
    int s = EPIQ_OK;
    for (const row *r = TABLE; !s && r < TABLE + ROWS; r++) {
        s = row_check(c, o, r);
    }
    return s ? s : epiqp_options_conflict(c, o, EPIQP_ALWAYS);
}

/* ---- from text ---- */

static int not_a_value(epiq_ctx *c, const row *r, const char *value, const char *wanted)
{
    return epiqp_fail(c, EPIQ_E_USAGE, "{--%s} is \"%.200s\"; it must be %s (the default is %s)", r->info.name, value,
                      wanted, r->info.default_text);
}

static int set_methods(epiq_ctx *c, const row *r, const char *value, int *methods)
{
    int found = 0;
    for (const char *s = value;; s++) {
        size_t length = strcspn(s, ","), i = 0;
        while (i < 4 && (strlen(METHODS[i].name) != length || strncmp(METHODS[i].name, s, length) != 0)) {
            i++;
        }
        found |= i < 4 ? METHODS[i].bit : 2 * EPIQ_AUTO; /* refused below, as auto with others is */
        s += length;
        if (!*s) break;
    }
    if (found > EPIQ_AUTO) return not_a_value(c, r, value, "a list of if, ev, ba, or auto alone");
    *methods = found;
    return EPIQ_OK;
}

static int set_choice(epiq_ctx *c, const row *r, const char *value, int *v)
{
    const char *s;
    size_t wanted = strlen(value), length;
    for (int k = 0; (s = choice(r, k, &length)); k++) {
        if (length == wanted && strncmp(s, value, length) == 0) {
            *v = k;
            return EPIQ_OK;
        }
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

static int row_set(epiq_ctx *c, epiq_options *o, const row *r, const char *value);

/* The published setting (docs/method.md section 4) in place of what the options were. */
static int set_preset(epiq_ctx *c, epiq_options *o)
{
    static const char *const PAPER[][2] = {{"width", "1024"},      {"lambda", "1e-3"},      {"bias-sd", "0"},
                                           {"correction", "none"}, {"methods", "if,ev,ba"}, {"optimizer", "flow"},
                                           {"lr", "1e-2"},         {"steps", "50000"}};
    int s = EPIQ_OK;
    for (size_t k = 0; !s && o->preset == EPIQ_PRESET_PAPER && k < sizeof PAPER / sizeof *PAPER; k++) {
        s = row_set(c, o, &TABLE[epiq_options_index(PAPER[k][0])], PAPER[k][1]);
    }
    return s;
}

static int row_set(epiq_ctx *c, epiq_options *o, const row *r, const char *value)
{
    void *v = field(o, r);
    double real;
    char *end;
    if (may_be_auto(r) && strcmp(value, "auto") == 0) {
        memset(v, 0, SIZE[r->kind]);
        return EPIQ_OK;
    }
    switch (r->kind) {
    case KIND_TEXT:
        *(const char **)v = value;
        return *value ? EPIQ_OK : epiqp_fail(c, EPIQ_E_USAGE, "{--%s} is empty; give a name", r->info.name);
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
            return not_a_value(c, r, value, may_be_auto(r) ? "a whole number or auto" : "a whole number");
        }
        if (!(real >= r->lo && real <= r->hi)) return out_of_range(c, r, value);
        *(ptrdiff_t *)v = (ptrdiff_t)real;
        return EPIQ_OK;
    default:
        if (!parse_real(value, &real)) {
            return not_a_value(c, r, value, may_be_auto(r) ? "a number or auto" : "a number");
        }
        if (!(real >= r->lo && real <= r->hi)) return out_of_range(c, r, value);
        *(double *)v = real;
        return EPIQ_OK;
    }
}

int epiqp_options_set(epiq_ctx *c, epiqp_arena *texts, epiq_options *o, const char *name, const char *value)
{
    epiq_options own;
    int s = epiqp_options_take(c, o, &own);
    if (s) return s;
    const ptrdiff_t i = epiq_options_index(name);
    if (i < 0 || !has(o, &TABLE[i])) {
        return epiqp_fail(c, EPIQ_E_USAGE, "there is no option \"%s\"; docs/options.md lists them", name);
    }
    if ((s = row_set(c, &own, &TABLE[i], value))) return s;
    const char **text = TABLE[i].kind == KIND_TEXT ? field(&own, &TABLE[i]) : NULL;
    if (text && !(*text = epiqp_arena_printf(c, texts, "%s", value))) return EPIQ_E_NOMEM;
    if (TABLE[i].offset == AT(preset)) { /* it sets others, all of which o has */
        if ((s = set_preset(c, &own))) return s;
        epiqp_give(&own, sizeof own, o, o->size);
    }
    memcpy(field(o, &TABLE[i]), field(&own, &TABLE[i]), SIZE[TABLE[i].kind]);
    return EPIQ_OK;
}

int epiq_options_set(epiq_ctx *c, epiq_options *o, const char *name, const char *value)
{
    epiqp_clear(c);
    return epiqp_options_set(c, &c->texts, o, name, value);
}

static epiq_options defaults(void)
{
    epiq_options o = {.size = sizeof o};
    epiq_ctx quiet = {0}; /* the table's own defaults pass its own checks: a test walks them */
    for (ptrdiff_t i = 0; i < ROWS; i++) {
        if (TABLE[i].kind != KIND_TEXT) row_set(&quiet, &o, &TABLE[i], TABLE[i].info.default_text);
    }
    return o;
}

void epiq_options_init(epiq_options *o, size_t size)
{
    const epiq_options own = defaults();
    epiqp_give(&own, sizeof own, o, size);
    o->size = size;
}

int epiqp_options_take(epiq_ctx *c, const epiq_options *o, epiq_options *own)
{
    *own = defaults();
    return epiqp_take(c, "epiq_options", o, own, sizeof *own);
}

/* ---- to text ---- */

static bool is_auto(const epiq_options *o, const row *r)
{
    return r->kind == KIND_COUNT ? *(const ptrdiff_t *)field(o, r) == 0 : *(const double *)field(o, r) == 0;
}

int epiq_options_text(const epiq_options *o, ptrdiff_t index, char *buffer, size_t size)
{
    if (index < 0 || index >= ROWS) return EPIQ_E_USAGE;
    const row *r = &TABLE[index];
    const void *v = field(o, r);
    char own[32] = ""; /* of 17 digits, or of all methods */
    const char *text = own;
    size_t most = INT_MAX; /* bytes of the text that count */
    if (!has(o, r)) {
        text = r->info.default_text;
    } else if (r->kind == KIND_TEXT) {
        text = *(const char *const *)v;
    } else if (r->kind == KIND_CHOICE) {
        text = choice(r, *(const int *)v, &most);
    } else if (may_be_auto(r) && is_auto(o, r)) {
        text = "auto";
    } else if (r->kind == KIND_SEED) {
        snprintf(own, sizeof own, "%llu", (unsigned long long)*(const uint64_t *)v);
    } else if (r->kind == KIND_REAL) {
        snprintf(own, sizeof own, "%.17g", *(const double *)v);
        epiqp_plain_numbers(own);
    } else if (r->kind == KIND_METHODS) {
        for (size_t i = 0, used = 0; i < 4; i++) {
            if (!(*(const int *)v & METHODS[i].bit)) continue;
            used += (size_t)snprintf(own + used, sizeof own - used, "%s%s", used ? "," : "", METHODS[i].name);
        }
    } else { /* a count, of bytes too */
        snprintf(own, sizeof own, "%td", *(const ptrdiff_t *)v);
    }
    const int length = snprintf(buffer, size, "%.*s", (int)most, text ? text : "");
    return length >= 0 && (size_t)length < size ? EPIQ_OK : EPIQ_E_USAGE;
}

/* ---- by scope ---- */

void epiqp_options_copy(epiq_options *to, const epiq_options *from, unsigned scope)
{
    for (const row *r = TABLE; r < TABLE + ROWS; r++) {
        if (r->scope & scope) memcpy(field(to, r), field(from, r), SIZE[r->kind]);
    }
}

int epiqp_options_keep_texts(epiq_ctx *c, epiqp_arena *a, epiq_options *o)
{
    for (const row *r = TABLE; r < TABLE + ROWS; r++) {
        const char **text = r->kind == KIND_TEXT ? field(o, r) : NULL;
        if (text && *text && !(*text = epiqp_arena_printf(c, a, "%s", *text))) return EPIQ_E_NOMEM;
    }
    return EPIQ_OK;
}

/* State files are found again by these bytes: " network blas width 1024 .. bias 0x1p+0 0x1p+0 .. batch 32 ..". Names
 * come first. A number stands after the first word of its option's name, unless the number before it has the same. */
void epiqp_options_member_key(const epiq_options *o, char *text, size_t size)
{
    char value[64];
    size_t used = 0, last = 0;
    const char *before = "";
    for (ptrdiff_t i = 0; i < ROWS; i++) {
        if (TABLE[i].scope & BY_NAME) {
            epiq_options_text(o, i, value, sizeof value);
            used += (size_t)snprintf(text + used, size - used, " %s", value);
        }
    }
    for (ptrdiff_t i = 0; i < ROWS; i++) {
        const row *r = &TABLE[i];
        if (!(r->scope & MEMBER) || r->scope & BY_NAME) continue;
        /* came later: state files of before are found again */
        if (r->offset == AT(predictor) &&
            (o->predictor == EPIQ_PREDICTOR_ENSEMBLE || o->predictor == EPIQ_PREDICTOR_USUAL)) {
            continue;
        }
        const size_t word = strcspn(r->info.name, "-");
        if (word != last || strncmp(before, r->info.name, word) != 0) {
            used += (size_t)snprintf(text + used, size - used, " %.*s", (int)word, r->info.name);
        }
        epiq_options_text(o, i, value, sizeof value);
        if (r->kind == KIND_REAL) {
            snprintf(value, sizeof value, "%a", *(const double *)field(o, r));
        } else if (r->kind == KIND_CHOICE) {
            snprintf(value, sizeof value, "%d", *(const int *)field(o, r));
        }
        used += (size_t)snprintf(text + used, size - used, " %s", value);
        before = r->info.name;
        last = word;
    }
    epiqp_plain_numbers(text);
}

unsigned epiqp_options_bit(const epiq_options *o, ptrdiff_t index)
{
    enum { LAST = 31 };
    const row *r = &TABLE[index];
    const void *v = field(o, r);
    const double value = r->kind == KIND_REAL    ? (*(const double *)v > 0 ? LAST : 0)
                         : r->kind == KIND_COUNT ? (double)*(const ptrdiff_t *)v
                                                 : *(const int *)v;
    return 1U << (int)fmax(0, fmin(value, LAST));
}
