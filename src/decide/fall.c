/* fall.c - how both parts fall as rows are added: closed forms of infinitely wide networks on halves of the table
 * against all of it (docs/method.md section 10). Half the rows are to all of them what these are to twice as many.
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
    LEAST_GROUPS = 8, /* in a table: four to a half */
    FIFTHS = 5        /* one of them is held out where rows left out are asked about */
};

typedef struct {
    epiqp_env e;
    epiq_options o;
    ptrdiff_t d, points;
    double *at; /* points by d, scaled */
    epiqp_arena arena;
} job;

/* The rows of t dealt into parts at random; taken: those of the first parts, each with groups of its own. Nothing here
 * depends on the targets. */
static int deal(job *j, const epiq_data *t, uint64_t split, ptrdiff_t parts, int taken, epiq_data *out)
{
    const epiqp_problem pb = {.e = j->e, .data = t, .n = t->n, .scratch = &j->arena};
    epiqp_listed of;
    int s = epiqp_deal_rows(&pb, (epiqp_stream){j->o.seed, EPIQP_FOR_HALVES, split}, parts, &of);
    for (int k = 0; !s && k < taken; k++) {
        s = epiqp_take_data(j->e.c, &j->arena, t, &of, k, &out[k]);
    }
    return s;
}

/* Sums over the points: of |w|^2, w what the rows' targets weigh, which the data part is proportional to, and of tau^2. */
static int closed_form(job *j, const epiq_data *t, double *data, double *procedural)
{
    epiqp_fit f;
    double loss, *tau2 = epiqp_arena_alloc(j->e.c, &j->arena, j->points, sizeof *tau2),
                 *c = epiqp_arena_alloc(j->e.c, &j->arena, j->o.time > 0 ? t->n * j->points : 0, sizeof *c);
    double *weight = epiqp_arena_alloc(j->e.c, &j->arena, t->n, sizeof *weight);
    int s =
        tau2 && c && weight ? epiqp_fit_new(&j->e, &j->o, t->n, j->d, t->x, t->y, j->points, j->at, &f) : EPIQ_E_NOMEM;
    if (s) return s;
    s = j->o.time > 0 ? epiqp_stopped(&j->e, &f, j->o.time, c, NULL, &loss) : epiqp_fit_solve(&j->e, &f);
    const double *solved = j->o.time > 0 ? c : f.ridge.c;
    if (!s) s = epiqp_infinite_variance(&j->e, &f, solved, tau2);
    *data = *procedural = 0;
    for (ptrdiff_t p = 0; !s && p < j->points; p++) {
        const double *w = epiqp_target_weights(&j->o, t->n, solved + p * t->n, weight);
        *data += epiqp_dot(t->n, w, w);
        *procedural += fmax(tau2[p], 0);
    }
    epiqp_fit_free(j->e.c, &f);
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

static int measure(job *j, const epiq_data *t, epiqp_fall *out)
{
    double all[2], half[2][2] = {{0}}, data[SPLITS], procedural[SPLITS];
    epiq_data rows[2];
    int s = closed_form(j, t, &all[0], &all[1]);
    for (int k = 0; !s && k < SPLITS; k++) {
        s = deal(j, t, (uint64_t)k, 2, 2, rows);
        for (int h = 0; !s && h < 2; h++) {
            s = closed_form(j, &rows[h], &half[h][0], &half[h][1]);
        }
        data[k] = half[0][0] / 2 + half[1][0] / 2;
        procedural[k] = half[0][1] / 2 + half[1][1] / 2;
    }
    if (s) return s;
    *out = (epiqp_fall){
        .known = true, .rows = t->n, .data = exponent_of(data, all[0]), .procedural = exponent_of(procedural, all[1])};
    return EPIQ_OK;
}

/* Evenly from those there are (count by d, scaled), settled as an estimate's are. */
static int take_points(job *j, const epiq_data *data, ptrdiff_t count, const double *at)
{
    double longest = 0;
    j->points = epiqp_min(count, MOST_POINTS);
    j->at = epiqp_arena_alloc(j->e.c, &j->arena, j->points * j->d, sizeof *j->at);
    if (!j->at) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < data->n; i++) {
        longest = fmax(longest, epiqp_dot(j->d, data->x + i * j->d, data->x + i * j->d));
    }
    for (ptrdiff_t p = 0; p < j->points; p++) {
        double *x = j->at + p * j->d;
        memcpy(x, at + p * count / j->points * j->d, (size_t)j->d * sizeof *x);
        epiqp_point_settle(&j->o, longest, j->d, x);
    }
    return EPIQ_OK;
}

/* Where rows are asked about that are left out: one part of the rows is, and the others, or the first of many, are learned
 * from. */
static int hold_out(job *j, const epiq_data *data, ptrdiff_t parts, epiq_data *used)
{
    const epiqp_problem pb = {.e = j->e, .data = data, .n = data->n, .scratch = &j->arena};
    const ptrdiff_t all = parts > 1 ? parts : epiqp_min(FIFTHS, data->groups);
    enum { LEARN, ASK, NEITHER, USES };
    epiqp_listed of, by_use;
    epiq_data asked;
    ptrdiff_t *use = epiqp_arena_alloc(j->e.c, &j->arena, data->n, sizeof *use);
    int s = use ? epiqp_deal_rows(&pb, (epiqp_stream){j->o.seed, EPIQP_FOR_HALVES, SPLITS}, all, &of) : EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; !s && i < data->n; i++) {
        use[i] = of.label[i] == all - 1 ? ASK : parts == 1 || of.label[i] == 0 ? LEARN : NEITHER;
    }
    if (s || (s = epiqp_list_rows(&pb, USES, use, &by_use)) ||
        (s = epiqp_take_data(j->e.c, &j->arena, data, &by_use, ASK, &asked)) ||
        (s = take_points(j, data, asked.n, asked.x))) {
        return s;
    }
    return epiqp_take_data(j->e.c, &j->arena, data, &by_use, LEARN, used);
}

static int run(job *j, const epiq_data *data, const epiq_points *at, epiqp_fall *out)
{
    const ptrdiff_t most = j->o.time > 0 ? STOPPED : MOST_ROWS, sample = j->o.time > 0 ? STOPPED : SAMPLE;
    epiq_data used;
    ptrdiff_t parts = data->n > most ? epiqp_min((data->n + sample - 1) / sample, data->groups) : 1;
    if (data->groups < LEAST_GROUPS) return EPIQ_OK;
    int s = EPIQ_OK;
    if (at->left_out[0] >= 0) {
        s = hold_out(j, data, parts, &used);
    } else if (!(s = take_points(j, data, at->count, at->x))) {
        s = deal(j, data, SPLITS, parts, 1, &used);
    }
    return s || used.groups < LEAST_GROUPS || used.n > 2 * most ? s : measure(j, &used, out);
}

/* A factor and the solutions at the points of all rows used, then of their halves; of the entries each costs as much as some 50
 * operations. With --time all eigenvectors take the place of the factor. */
double epiqp_fall_operations(const epiq_data *data, const epiq_points *at, const epiq_options *o)
{
    const ptrdiff_t most = o->time > 0 ? STOPPED : MOST_ROWS, sample = o->time > 0 ? STOPPED : SAMPLE;
    const double points = (double)epiqp_min(at->count, MOST_POINTS),
                 whole = data->n > most ? (double)sample : (double)data->n,
                 n = data->n <= most && at->left_out[0] >= 0 ? whole * (FIFTHS - 1) / FIFTHS : whole,
                 cube = o->time > 0 ? 10 : 1.0 / 3;
    double sum = 0;
    for (int k = 0; k <= 2 * SPLITS && data->groups >= LEAST_GROUPS; k++) {
        const double rows = k ? n / 2 : n;
        sum += rows * rows * (cube * rows + 25 + 4 * points);
    }
    return sum;
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
