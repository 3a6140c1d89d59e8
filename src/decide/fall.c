/* fall.c - how both parts fall as rows are added: closed forms of infinitely wide networks on halves of the table against all
 * of it (docs/method.md section 10). Half the rows are to all of them what these are to twice as many.
 */
#include "decide/decide.h"

#include <math.h>
#include <string.h>

enum {
    SPLITS = 4,       /* into two halves each */
    MOST_ROWS = 4000, /* above, a factor of all rows costs too much for this, and a sample of */
    SAMPLE = 2000,    /* rows does */
    STOPPED = 1000,   /* with --time, which takes all eigenvectors */
    MOST_POINTS = 256,
    LEAST_GROUPS = 8 /* in a table: four to a half */
};

typedef struct {
    ptrdiff_t n, groups;
    double *x;        /* n by d */
    double *zeros;    /* n: nothing depends on the targets */
    ptrdiff_t *group; /* n: 0 .. groups-1 */
} table;

typedef struct {
    epiqp_env e;
    epiq_options o;
    ptrdiff_t d, points;
    double *at; /* points by d, scaled */
    epiqp_arena arena;
} job;

/* Sums over the points: of |c|^2, which the data part is proportional to, and of tau^2. */
typedef struct {
    double data, procedural;
} sums;

/* The rows of t whose part is `number`, groups numbered anew. */
static int take(job *j, const table *t, const ptrdiff_t *part_of_row, ptrdiff_t number, ptrdiff_t size, table *out)
{
    ptrdiff_t *renamed = epiqp_arena_alloc(j->e.c, &j->arena, t->groups, sizeof *renamed);
    *out = (table){.x = epiqp_arena_alloc(j->e.c, &j->arena, size * (j->d + 1), sizeof *out->x),
                   .group = epiqp_arena_alloc(j->e.c, &j->arena, size, sizeof *out->group)};
    if (!renamed || !out->x || !out->group) {
        return EPIQ_E_NOMEM;
    }
    memset(renamed, 0xff, (size_t)t->groups * sizeof *renamed);
    for (ptrdiff_t i = 0; i < t->n; i++) {
        if (part_of_row[i] == number) {
            ptrdiff_t *name = &renamed[t->group[i]];
            *name = *name < 0 ? out->groups++ : *name;
            memcpy(out->x + out->n * j->d, t->x + i * j->d, (size_t)j->d * sizeof *t->x);
            out->group[out->n++] = *name;
        }
    }
    out->zeros = out->x + size * j->d;
    memset(out->zeros, 0, (size_t)size * sizeof *out->zeros);
    return EPIQ_OK;
}

static int deal(job *j, const table *t, uint64_t stream, ptrdiff_t parts, ptrdiff_t *part_of_row, ptrdiff_t *sizes)
{
    const epiq_data rows = {.n = t->n, .groups = t->groups, .group = t->group};
    return epiqp_deal(j->e.c, &rows, (epiqp_stream){j->o.seed, EPIQP_FOR_HALVES, stream}, parts, part_of_row, sizes);
}

static int closed_form(job *j, const table *t, sums *out)
{
    epiqp_fit f;
    double loss, *c = NULL, *tau2 = epiqp_alloc(j->e.c, j->points, sizeof *tau2);
    int s = tau2 ? epiqp_fit_new(&j->e, &j->o, t->n, j->d, t->x, t->zeros, j->points, j->at, &f) : EPIQ_E_NOMEM;
    if (s) {
        epiqp_free(j->e.c, tau2);
        return s;
    }
    if (j->o.time > 0) {
        c = epiqp_alloc(j->e.c, t->n * j->points, sizeof *c);
        s = c ? epiqp_stopped(&j->e, &f, j->o.time, c, NULL, &loss) : EPIQ_E_NOMEM;
    } else {
        s = epiqp_fit_solve(&j->e, &f);
    }
    const double *solved = c ? c : f.ridge.c;
    s = s ? s : epiqp_infinite_variance(&j->e, &f, solved, tau2);
    *out = (sums){0};
    for (ptrdiff_t p = 0; !s && p < j->points; p++) {
        out->data += epiqp_dot(t->n, solved + p * t->n, solved + p * t->n);
        out->procedural += fmax(tau2[p], 0);
    }
    epiqp_fit_free(j->e.c, &f);
    epiqp_free(j->e.c, c);
    epiqp_free(j->e.c, tau2);
    return s;
}

static int split(job *j, const table *t, uint64_t number, sums *out)
{
    ptrdiff_t sizes[2], *half = epiqp_arena_alloc(j->e.c, &j->arena, t->n, sizeof *half);
    int s = half ? deal(j, t, number, 2, half, sizes) : EPIQ_E_NOMEM;
    *out = (sums){0};
    for (int k = 0; !s && k < 2; k++) {
        table rows;
        sums one;
        s = take(j, t, half, k, sizes[k], &rows);
        s = s ? s : closed_form(j, &rows, &one);
        if (!s) {
            out->data += one.data / 2;
            out->procedural += one.procedural / 2;
        }
    }
    return s;
}

/* log2 of the mean of `halves` over `all`, and its standard error from the spread between splits. */
static epiqp_exponent exponent_of(const double halves[SPLITS], double all)
{
    double mean = epiqp_mean(halves, SPLITS), log2e = 1 / log(2.0);
    epiqp_exponent out = {.measured = log2e * log(mean / all),
                          .se = log2e * sqrt(epiqp_variance(halves, SPLITS) / SPLITS) / mean};
    return isfinite(out.measured) && isfinite(out.se) ? out : (epiqp_exponent){0};
}

static int measure(job *j, const table *t, epiqp_fall *out)
{
    sums all, halves[SPLITS];
    double data[SPLITS], procedural[SPLITS];
    int s = closed_form(j, t, &all);
    for (int k = 0; !s && k < SPLITS; k++) {
        s = split(j, t, (uint64_t)k, &halves[k]);
        data[k] = halves[k].data;
        procedural[k] = halves[k].procedural;
    }
    if (!s) {
        *out = (epiqp_fall){.known = true,
                            .rows = t->n,
                            .data = exponent_of(data, all.data),
                            .procedural = exponent_of(procedural, all.procedural)};
    }
    return s;
}

/* Evenly from those there are; where biases start at 0, what is 0 but for rounding is 0, as in est/estimate.c. */
static int take_points(job *j, const epiq_data *data, const epiq_points *at)
{
    double longest = 0;
    j->points = epiqp_min(at->count, MOST_POINTS);
    j->at = epiqp_arena_alloc(j->e.c, &j->arena, j->points * j->d, sizeof *j->at);
    if (!j->at) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t i = 0; i < data->n; i++) {
        longest = fmax(longest, epiqp_dot(j->d, data->x + i * j->d, data->x + i * j->d));
    }
    for (ptrdiff_t p = 0; p < j->points; p++) {
        double *x = j->at + p * j->d;
        memcpy(x, at->x + p * at->count / j->points * j->d, (size_t)j->d * sizeof *x);
        if (j->o.bias * j->o.bias_sd == 0 && epiqp_dot(j->d, x, x) <= EPIQP_ZERO_SQUARE * longest) {
            memset(x, 0, (size_t)j->d * sizeof *x);
        }
    }
    return EPIQ_OK;
}

static int run(job *j, const epiq_data *data, const epiq_points *at, epiqp_fall *out)
{
    const ptrdiff_t most = j->o.time > 0 ? STOPPED : MOST_ROWS, sample = j->o.time > 0 ? STOPPED : SAMPLE;
    table t = {.n = data->n, .groups = data->groups, .x = data->x, .group = data->group};
    int s = take_points(j, data, at);
    ptrdiff_t parts = data->n > most ? epiqp_min((data->n + sample - 1) / sample, data->groups) : 1;
    ptrdiff_t *part = epiqp_arena_alloc(j->e.c, &j->arena, data->n + parts, sizeof *part);
    s = s ? s : part ? deal(j, &t, SPLITS, parts, part, part + data->n) : EPIQ_E_NOMEM;
    table used;
    s = s ? s : take(j, &t, part, 0, part[data->n], &used);
    return s ? s : used.groups < LEAST_GROUPS || used.n > 2 * most ? EPIQ_OK : measure(j, &used, out);
}

int epiqp_fall_measure(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                       epiqp_fall *out)
{
    *out = (epiqp_fall){0};
    const epiqp_env e = epiqp_run_begin(c, o); /* every rank of a cluster does all of it: it is quick */
    job j = {.e = epiqp_alone(&e), .o = *o, .d = data->d};
    j.o.solver = EPIQ_SOLVER_EXACT;
    int s = run(&j, data, at, out);
    epiqp_arena_free(c, &j.arena);
    epiqp_run_end();
    return s;
}
