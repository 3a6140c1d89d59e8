/* foresee.c - what a job will take in memory and time, before it takes any: counted from its sizes, and timed by two
 * short products. What does not fit is refused with the alternatives; solver auto chooses among them.
 */
#include "est/est.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    LARGE = 4000,    /* rows from which on the machine is timed: below, everything takes seconds */
    ITERATIONS = 14, /* of conjugate gradients, as usual with the default rank; */
    ROUGHLY = 8,     /* to the residual that does for probes */
    GRADIENTS = 400, /* of a training, as usual */
    SIDE = 384,      /* of the products that are timed */
    FEW = 128,       /* rows that are solved with exactly whatever was asked */
    PROBES = 64,     /* for leverages where there is no inverse */
};
static const double PROCESS = 8.5e6; /* bytes of a run that does nothing: libraries and their threads, */
static const double RANK = 18e6;     /* and those of MPI and ScaLAPACK too, */
static const double NEIGHBOUR = 1.5e6,
                    MESSAGES = 800; /* memory shared with each on the machine; a row of panels sent */

/* ---- memory ---- */

/* Rows that are solved with at a time. */
static ptrdiff_t rows_at_once(const epiqp_job *j, const epiq_options *o)
{
    return o->solver == EPIQ_SOLVER_DIVIDED ? (j->n + o->parts - 1) / o->parts : j->n;
}

/* Whether the factor of n rows gives way to its inverse: for IF, or for few rows to judge BA. */
static bool inverse_wanted(const epiqp_job *j, const epiq_options *o, ptrdiff_t n)
{
    bool few = n <= EPIQP_CHEAP_ROWS,
         leverage = o->correction != EPIQ_CORRECTION_NONE || o->influential > 0 || j->more->leverage || few;
    return o->methods & EPIQ_IF ? (!o->probes || j->more->keep) && leverage : o->methods & EPIQ_BA && few;
}

/* The factor, then the inverse in its place: here, or a rank's part. */
static double matrix_bytes(const epiqp_job *j, const epiq_options *o, ptrdiff_t n)
{
    bool inverse = inverse_wanted(j, o, n);
    return j->e.cluster ? epiqp_spread_bytes(j->e.cluster, n, inverse)
                        : (double)(epiqp_tri_bytes(n) + (inverse ? epiqp_inverse_bytes(n, j->e.threads) : 0));
}

/* A part with its triangle and its points' columns; before or after them a batch of engine linear with its own. */
static double divided_bytes(const epiqp_job *j, const epiq_options *o)
{
    ptrdiff_t rows = rows_at_once(j, o);
    bool batches = j->engine->needs_solve(o) && o->methods & EPIQ_BA;
    double part = matrix_bytes(j, o, rows) + 8 * (double)rows * (double)(j->points + 2 * j->data->d + 24);
    return 8 * 8 * (double)j->n + fmax(part, batches ? (double)epiqp_tri_bytes(j->n / o->batches) : 0);
}

static double networks_bytes(const epiqp_job *j, const epiq_options *o)
{
    const double n = (double)j->n, points = (double)j->points;
    if (!j->engine->member || !(o->methods & (EPIQ_EV | EPIQ_BA) || epiqp_retrain_networks(j))) {
        return 0;
    }
    epiqp_net net = epiqp_net_of(o, j->data->d);
    bool own = o->engine == EPIQ_ENGINE_LINEAR && o->linear_kernel == EPIQ_KERNEL_EMPIRICAL;
    double at_work = 22 * 8 * (double)epiqp_net_params(&net); /* train/flow.c takes 20, and 2 */
    if (own) {
        at_work += (double)epiqp_tri_bytes(j->n) + 8 * n * points + 16 * n * (double)o->width * (double)o->depth;
    }
    return (double)j->e.threads * at_work + epiqp_retrain_bytes(j) +
           8 * (double)o->members * (2 * points + (o->hbar == EPIQ_HBAR_ENSEMBLE ? n : 0));
}

/* A batch that is solved with, beside the factor of all rows unless IF is done with it; and what is kept of each. */
static double batches_bytes(const epiqp_job *j, const epiq_options *o)
{
    bool inverse = inverse_wanted(j, o, j->n);
    if (!(o->methods & EPIQ_BA) || !(inverse || j->engine->needs_solve(o))) {
        return 0;
    }
    double batch = (double)epiqp_tri_bytes(j->n / o->batches),
           later = inverse ? (double)epiqp_inverse_bytes(j->n, j->e.threads) : 0; /* counted with the inverse */
    return 8 * (double)j->n * (double)j->points + (inverse && o->methods & EPIQ_IF ? 0 : fmax(batch - later, 0));
}

static double foresee_bytes(const epiqp_job *j, const epiq_options *o)
{
    const double n = (double)j->n, d = (double)j->data->d, points = (double)j->points,
                 triangle = matrix_bytes(j, o, j->n), cross = 8 * n * points;
    const epiq_cluster *k = j->e.cluster;
    double need = (k ? RANK + NEIGHBOUR * k->neighbours + MESSAGES * n : PROCESS) + j->more->bytes +
                  8 * n * (4 * d + (epiqp_factor_wanted(j) ? 24 : 12)) + networks_bytes(j, o);
    bool influence = o->methods & EPIQ_IF;
    if (epiqp_factor_wanted(j)) {
        bool strip = !j->engine->member || o->methods & (EPIQ_EV | EPIQ_BA); /* of the closed form */
        double columns = fmax(points + 1, influence ? 2 * (double)o->probes : 0);
        need += cross + (strip ? 8 * n * 256 : 0);
        need += o->solver == EPIQ_SOLVER_ITERATIVE ? 16 * n * fmin(points + 1, 32) : 0; /* of going on, settle.c */
        need +=
            o->solver == EPIQ_SOLVER_ITERATIVE
                ? epiqp_operator_bytes(j->n, epiqp_min(o->rank, j->n), (ptrdiff_t)columns, o->probes ? j->e.threads : 0)
            : o->solver == EPIQ_SOLVER_DIVIDED
                ? divided_bytes(j, o)
                : triangle + batches_bytes(j, o); /* the inverse takes the factor's place */
    }
    if (influence && inverse_wanted(j, o, rows_at_once(j, o))) {
        need += epiqp_groups_bytes(j);
    }
    if (influence && o->probes < j->n) {
        double rows = (double)rows_at_once(j, o);
        bool asked = o->probes && (o->correction != EPIQ_CORRECTION_NONE || o->influential > 0);
        double decide = asked ? (double)epiqp_deciding_most(j->points, (ptrdiff_t)rows) : 0;
        need += 17 * rows * (double)o->probes + (o->probes ? 8 * rows * 8 * EPIQP_PROBE_GROUPS : 0);
        need += rows * (4 * decide + 8 * fmin(decide, 2 * (double)o->probes) +
                        (asked ? 40 : 0)); /* their columns, and choosing them */
    }
    if (o->kernel == EPIQ_KERNEL_EMPIRICAL && influence) {
        need += 2 * triangle + 2 * cross + 16 * n * (double)(o->width * o->depth);
    }
    if (o->time > 0) {
        need += 40 * n * n + 2 * cross;
    }
    if (j->more->keep) { /* the factor beside the inverse, and every network */
        epiqp_net net = epiqp_net_of(o, j->data->d);
        double again = epiqp_keeps_retrained(o) ? 2 * EPIQP_STARTS * (double)o->replicates : 0,
               networks = (double)(o->members + o->batches) + again;
        need +=
            triangle + 8 * networks * (n + 1.5 * (double)epiqp_net_params(&net)); /* half: in single precision too */
    }
    return need;
}

/* ---- time ---- */

typedef struct {
    double flops, entries; /* of products and of the kernel, a second, by all threads */
} rates;

/* The second of two runs of each: about 10 ms in all. */
static int time_machine(const epiqp_job *j, rates *out)
{
    double *a = epiqp_alloc(j->e.c, 3 * SIDE * SIDE, sizeof *a), start = 0;
    if (!a) {
        return EPIQ_E_NOMEM;
    }
    memset(a, 0, 3 * SIDE * SIDE * sizeof *a);
    for (int k = 0; k < 2; k++) {
        start = epiqp_now();
        j->e.la->gemm('N', 'T', SIDE, SIDE, SIDE, 1, a, SIDE, a + SIDE * SIDE, SIDE, 0, a + 2 * SIDE * SIDE, SIDE);
        out->flops = 2.0 * SIDE * SIDE * SIDE * j->e.threads / fmax(epiqp_now() - start, 1e-6);
    }
    for (int k = 0; k < 2; k++) {
        start = epiqp_now();
        epiqp_kernel_block(&j->fit.arch, &j->fit.rows, 0, EPIQP_BLOCK, &j->fit.rows, EPIQP_BLOCK, EPIQP_BLOCK, a, NULL,
                           EPIQP_BLOCK);
        out->entries = (double)EPIQP_BLOCK * EPIQP_BLOCK * j->e.threads / fmax(epiqp_now() - start, 1e-7);
    }
    epiqp_free(j->e.c, a);
    return EPIQ_OK;
}

static double foresee_seconds(const epiqp_job *j, const epiq_options *o, const rates *rate)
{
    const double n = (double)j->n, points = (double)j->points, d = (double)j->data->d, width = (double)o->width;
    double seconds = 0;
    if (epiqp_factor_wanted(j)) {
        bool corrected = o->methods & EPIQ_IF && o->correction != EPIQ_CORRECTION_NONE,
             rowwise = o->correction == EPIQ_CORRECTION_ROWWISE || o->correction == EPIQ_CORRECTION_MODERATED;
        double columns = points + 1, probed = corrected && !j->more->keep ? (double)o->probes : 0,
               decide = probed > 0 ? (double)epiqp_deciding_most(j->points, rows_at_once(j, o)) : 0;
        if (o->solver == EPIQ_SOLVER_ITERATIVE) {
            double entries = n * n / 2 / rate->entries, rank = (double)epiqp_min(o->rank, j->n),
                   column = (2 * n * n + 4 * n * rank) / rate->flops;
            seconds += ITERATIONS * (entries + columns * column) + 2 * n * rank * rank / rate->flops;
            if (probed > 0) { /* and the preconditioner's squares */
                seconds += ROUGHLY * (2 * entries + (2 * probed + decide) * column) +
                           (rowwise ? 16 : 0) * n * rank * rank / rate->flops;
            }
        } else { /* all rows, or every part; there each also predicts the rows of the others */
            double cubes = corrected && !(probed > 0) ? 1 : 1.0 / 3, rows = (double)rows_at_once(j, o),
                   squares = n * rows;
            seconds +=
                squares / 2 / rate->entries +
                (cubes * squares * rows + 2 * squares * (columns + (rowwise ? 4 : 1) * probed + decide)) / rate->flops;
            bool others = o->solver == EPIQ_SOLVER_DIVIDED && o->methods & EPIQ_IF && (corrected || o->influential > 0);
            seconds += others ? n * n / rate->entries : 0;
        }
        if (!j->engine->member || o->methods & (EPIQ_EV | EPIQ_BA)) {
            seconds += n * n / 2 / rate->entries + n * n * points / rate->flops;
        }
    }
    if (j->engine->trains) { /* in single precision where they are thin: half the time */
        double gradient = 6 * n * width * (d + 1 + (double)(o->depth - 1) * width) / rate->flops;
        double networks = (o->methods & EPIQ_EV ? (double)o->members : 0) + (o->methods & EPIQ_BA ? 1 : 0) +
                          0.8 * (double)epiqp_retrain_networks(j); /* on four fifths of the rows */
        seconds += GRADIENTS * networks * gradient * (o->depth == 1 && d <= 64 ? 0.5 : 1);
    }
    return seconds;
}

/* ---- the choice, and the refusal ---- */

/* The options with another solver, and what that asks for. Few rows are solved with exactly whatever was asked. */
static epiq_options with_solver(const epiqp_job *j, int solver)
{
    epiq_options o = j->o;
    ptrdiff_t probes = o.probes ? o.probes : PROBES;
    o.solver = solver == EPIQ_SOLVER_ITERATIVE && j->n <= epiqp_max(FEW, probes) ? EPIQ_SOLVER_EXACT : solver;
    o.parts = epiqp_parts(&o, j->n);
    if (o.solver == EPIQ_SOLVER_ITERATIVE && (o.correction != EPIQ_CORRECTION_NONE || o.influential > 0)) {
        o.probes = probes; /* there is no inverse to take them from */
    }
    return o;
}

/* The factor could lie in a scratch file: it is wanted, and nothing needs its inverse. */
static bool may_spill(const epiqp_job *j, const epiq_options *o)
{
    bool whole = o->correction != EPIQ_CORRECTION_NONE || o->influential > 0;
    return o->solver == EPIQ_SOLVER_EXACT && epiqp_factor_wanted(j) && !j->more->keep && !j->more->leverage &&
           (!(o->methods & EPIQ_IF) || !whole || (o->probes > 0 && o->probes < j->n));
}

/* Memory for a factor in a scratch file, beside everything else: four of its panels at least. 0: there is none. */
static double spilled(const epiqp_job *j, const epiq_options *o, double have)
{
    double left = have - (foresee_bytes(j, o) - matrix_bytes(j, o, j->n)); /* no inverse then */
    return left >= 4 * 8 * (double)epiqp_tri_shape(j->n).height * (double)j->n ? left : 0;
}

typedef struct {
    char text[24];
} duration;

static duration duration_of(double seconds)
{
    duration d;
    double minutes = seconds / 60;
    if (seconds < 90) {
        snprintf(d.text, sizeof d.text, "%.0f s", fmax(seconds, 1));
    } else if (minutes < 90) {
        snprintf(d.text, sizeof d.text, "%.0f min", minutes);
    } else {
        snprintf(d.text, sizeof d.text, "%.1f h", minutes / 60);
    }
    return d;
}

/* One way to have it within `have` bytes, after those said before: "--solver iterative (0.2 GB and about 3 min)". */
static void offer(const epiqp_job *j, const char *flags, const epiq_options *o, double bytes, double have,
                  const rates *rate, const char *error, char *text, size_t size)
{
    size_t used = strlen(text);
    if (bytes <= have) {
        snprintf(text + used, size - used, "%s (%.2f GB, about %s%s%s), ", flags, bytes / 1e9,
                 duration_of(foresee_seconds(j, o, rate)).text, *error ? ", " : "", error);
    }
}

static int refuse(const epiqp_job *j, double have, const rates *rate)
{
    const epiq_options *o = &j->o;
    epiq_options iterative = with_solver(j, EPIQ_SOLVER_ITERATIVE), divided = with_solver(j, EPIQ_SOLVER_DIVIDED),
                 disk = *o, trained = *o;
    double need = foresee_bytes(j, o);
    char instead[640] = "", residual[48], parts[96];
    snprintf(parts, sizeof parts, "more --parts than %td, or fewer rows or points", o->parts);
    snprintf(residual, sizeof residual, "relative residual %.0e", o->tolerance);
    const bool cluster = j->e.cluster, whole = cluster || epiqp_needs_factor(o);
    const int digits = have < 1e7 ? 4 : 2;
    if (o->solver == EPIQ_SOLVER_EXACT && !whole && iterative.solver == EPIQ_SOLVER_ITERATIVE) {
        offer(j, "--solver iterative", &iterative, foresee_bytes(j, &iterative), have, rate, residual, instead,
              sizeof instead);
    }
    if (o->solver != EPIQ_SOLVER_DIVIDED && !whole && !j->more->keep && !j->more->then) { /* who need one factor */
        offer(j, "--solver divided", &divided, foresee_bytes(j, &divided), have, rate,
              "another predictor; data variance 0.9 to 1.1 of exact in 2 to 4 parts", instead, sizeof instead);
    }
    disk.probes = o->probes ? o->probes : PROBES;
    if (!o->scratch && !cluster && may_spill(j, &disk) && spilled(j, &disk, have) > 0) {
        offer(j, may_spill(j, o) ? "--scratch DIR" : "--scratch DIR --probes 64", &disk, have, have, rate,
              "a file there", instead, sizeof instead);
    }
    trained.methods = EPIQ_EV | EPIQ_BA;
    if (o->methods & EPIQ_IF && j->engine->trains && !j->more->keep && !j->more->then) {
        offer(j, "--methods ev,ba", &trained,
              PROCESS + networks_bytes(j, &trained) + 8 * (double)j->n * (double)j->data->d * 4, have, rate,
              "no kernel matrix", instead, sizeof instead);
    }
    return epiqp_fail(j->e.c, EPIQ_E_NOMEM,
                      "%td rows, %td points and networks of width %td and depth %td need about %.*f GB%s and %.*f may "
                      "be used; use %s%s%s%s",
                      j->n, j->points, o->width, o->depth, digits, need / 1e9, cluster ? " on each rank" : "", digits,
                      have / 1e9, cluster ? "more ranks on more machines, " : "", instead,
                      cluster || *instead ? "or " : "",
                      j->more->bytes > need / 2          ? j->more->less
                      : o->solver == EPIQ_SOLVER_DIVIDED ? parts
                                                         : "fewer rows or points");
}

double epiqp_may_use(const epiq_options *o, int sharers)
{
    double have = epiqp_memory() / sharers;
    return o->mem_limit > 0 ? fmin((double)o->mem_limit, have) : have;
}

int epiqp_foresee(epiqp_job *j)
{
    const epiq_cluster *k = j->e.cluster;
    epiq_options *o = &j->o, exact = with_solver(j, EPIQ_SOLVER_EXACT);
    epiq_result *r = &j->answer->result;
    rates rate = {5e10, 1e8};
    double have = epiqp_may_use(o, k ? k->neighbours : 1), whole = foresee_bytes(j, &exact);
    int s = j->n >= LARGE ? time_machine(j, &rate) : EPIQ_OK;
    if (k) {
        rate = (rates){rate.flops * k->size, rate.entries * k->size};
    }
    bool iterate = o->solver == EPIQ_SOLVER_ITERATIVE, divide = o->solver == EPIQ_SOLVER_DIVIDED;
    if (o->solver == EPIQ_SOLVER_AUTO && !k && whole > have && epiqp_factor_wanted(j) && !epiqp_needs_factor(o)) {
        iterate = true;
        s = s ? s
              : epiqp_warn(j->e.c, j->warnings, "approximated",
                           "the exact solution would need %.2f GB and %.2f may be used, so the kernel matrix is solved "
                           "with by iteration, to a relative residual of %.0e",
                           whole / 1e9, have / 1e9, o->tolerance);
    }
    *o = with_solver(j, divide ? EPIQ_SOLVER_DIVIDED : iterate ? EPIQ_SOLVER_ITERATIVE : EPIQ_SOLVER_EXACT);
    r->solver = o->solver;
    r->parts = divide ? o->parts : 0;
    r->foreseen.bytes = foresee_bytes(j, o);
    r->foreseen.seconds = foresee_seconds(j, o, &rate);
    r->foreseen.limit = have;
    double room = o->scratch && !k && may_spill(j, o) ? spilled(j, o, have) : 0;
    if (!s && r->foreseen.bytes > have && room > 0) {
        j->fit.resident = (ptrdiff_t)room;
        r->foreseen.bytes = have - room + (double)epiqp_tri_most(j->n, j->fit.resident);
        s = epiqp_warn(
            j->e.c, j->warnings, "scratch",
            "the factor does not fit into the %.2f GB that may be used, so its %.2f GB lie in a file in %s while "
            "this runs",
            have / 1e9, (double)epiqp_tri_bytes(j->n) / 1e9, o->scratch);
    }
    return s || r->foreseen.bytes <= have ? s : refuse(j, have, &rate);
}

int epiqp_tell_foreseen(epiqp_job *j)
{
    epiq_result *r = &j->answer->result;
    r->advice.text = epiqp_arena_printf(
        j->e.c, &j->answer->arena, "this would take about %s%s and %.2f GB%s of the %.2f that may be used",
        duration_of(r->foreseen.seconds).text, j->n < LARGE ? " on a usual machine" : "", r->foreseen.bytes / 1e9,
        j->e.cluster ? " on each rank" : "", r->foreseen.limit / 1e9);
    return r->advice.text ? EPIQ_OK : EPIQ_E_NOMEM;
}

int epiq_foresee(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o, epiq_result **out)
{
    epiqp_clear(c);
    return epiqp_estimate(c, data, at, o, &(epiqp_more){.predictive = true, .only_foresee = true}, out);
}
