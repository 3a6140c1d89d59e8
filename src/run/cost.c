/* cost.c - what a plan will take in memory and time, before it takes any: counted from its sizes, with the rates of timing.c. */
#include "run/run.h"

#include <math.h>
#include <stdio.h>

enum {
    ITERATIONS = 14,     /* of conjugate gradients, as usual with the default rank; */
    ROUGHLY = 8,         /* to the residual that does for probes */
    LIMIT_SOLUTIONS = 4, /* with inverses, of the limit of many rows */
    AT_ONCE = 32         /* columns that are iterated further together: settle.c */
};
/* Bytes: of a run that does nothing, libraries and their threads; with those of MPI and ScaLAPACK; of memory shared with each
 * rank on the machine; of a row of panels sent. */
static const double PROCESS = 8.5e6, RANK = 18e6, NEIGHBOUR = 1.5e6, MESSAGES = 800;

/* Seconds of one thread: for each row and point, where rows are left out; for each pair of rows that are solved with together, of
 * products that are slower than those that were timed; and for each pair of rows, of the noise as it varies over them. Fitted with
 * 4000 and 8000 rows, by each solver, with and without noise by row; bench/run growth goes to 24,000. */
static const double LEAVING_OUT = 2.5e-7, OF_PAIR = 1e-8, NOISE_OF_PAIR = 1.2e-8;
/* And of the interval of y: for each row, row near it that is looked at, and feature; features cost so many besides. */
static const double OF_NEAR = 1e-9, BESIDE_FEATURES = 5;

/* ---- memory ---- */

/* Rows that are solved with at a time. */
static ptrdiff_t rows_at_once(const epiqp_problem *pb, const epiqp_plan *plan)
{
    const ptrdiff_t parts = plan->ran.parts;
    return plan->ran.solver == EPIQ_SOLVER_DIVIDED ? (pb->n + parts - 1) / parts : pb->n;
}

/* Whether the factor of all rows, or of a part, is inverted. */
static bool inverts(const epiqp_plan *plan)
{
    return epiqp_plan_inverse(plan) || (plan->phi && !plan->probes);
}

static double triangle_bytes(const epiqp_problem *pb, const epiqp_plan *plan, ptrdiff_t n)
{
    return pb->e.cluster ? epiqp_dmat_bytes(pb->e.cluster, n, inverts(plan))
                         : (double)(epiqp_tri_bytes(n) + (inverts(plan) ? epiqp_inverse_bytes(n, pb->e.threads) : 0));
}

double epiqp_cost_matrix_bytes(const epiqp_problem *pb, const epiqp_plan *plan, ptrdiff_t n)
{
    return epiqp_gmat_takes(&pb->e, n) ? epiqp_gmat_host_bytes(n) : triangle_bytes(pb, plan, n);
}

/* A part with its triangle and its points' columns; before or after them a batch of engine linear with its own. */
static double divided_bytes(const epiqp_problem *pb, const epiqp_plan *plan)
{
    const ptrdiff_t rows = rows_at_once(pb, plan);
    bool batches = plan->batches && epiqp_needs_solve(&plan->ran);
    double part =
        epiqp_cost_matrix_bytes(pb, plan, rows) + 8 * (double)rows * (double)(pb->points + 2 * pb->data->d + 24);
    return 8 * 8 * (double)pb->n + fmax(part, batches ? (double)epiqp_tri_bytes(pb->n / plan->ran.batches) : 0);
}

/* What training takes beside the weights: the most of what all rows, those without a fold, a batch or a resample take. */
static double training_rows_bytes(const epiqp_problem *pb, const epiqp_plan *plan, const epiqp_net *net)
{
    const epiq_options *o = &plan->ran;
    const ptrdiff_t n = pb->n, folds = epiqp_max(2, epiqp_fold_count(pb, o));
    if (!pb->engine->trains) return 0;
    double most = epiqp_minimise_rows_bytes(net, n);
    if (plan->fold_starts) most = fmax(most, epiqp_minimise_rows_bytes(net, n - n / folds));
    if (plan->batches) most = fmax(most, epiqp_minimise_rows_bytes(net, (n + o->batches - 1) / o->batches));
    if (plan->resamples) { /* halves; the jackknife's are all but a part of the rows */
        most = fmax(most, epiqp_minimise_rows_bytes(net, (n + 1) / 2));
        most = fmax(most, epiqp_minimise_rows_bytes(net, n - n / epiqp_max(2, plan->resamples)));
    }
    return most;
}

static double networks_bytes(const epiqp_problem *pb, const epiqp_plan *plan)
{
    const epiq_options *o = &plan->ran;
    const double n = (double)pb->n, points = (double)pb->points;
    if (!plan->members && !plan->batches && !plan->fold_starts) return 0;
    epiqp_net net = epiqp_net_of(o, pb->data->d);
    bool own = o->engine == EPIQ_ENGINE_LINEAR && o->linear_kernel == EPIQ_KERNEL_EMPIRICAL;
    double at_work = epiqp_network_bytes(&net) + training_rows_bytes(pb, plan, &net);
    if (epiqp_start_removed(o)) at_work += 8 * ((double)epiqp_net_params(&net) + n + points);
    if (own) {
        at_work += (double)epiqp_tri_bytes(pb->n) + 8 * n * points + 16 * n * (double)o->width * (double)o->depth;
    }
    return (double)pb->e.threads * at_work + epiqp_retrain_bytes(pb, plan) +
           (plan->fold_starts ? epiqp_folds_bytes(pb, plan) : 0) + epiqp_resampled_bytes(pb, plan) +
           8 * (double)o->members * (2 * points + (plan->members_at_rows ? n : 0));
}

/* A batch that is solved with, beside the factor of all rows unless IF is done with it; and what is kept of each. */
static double batches_bytes(const epiqp_problem *pb, const epiqp_plan *plan)
{
    if (!plan->batches || !(inverts(plan) || epiqp_needs_solve(&plan->ran))) return 0;
    double batch = (double)epiqp_tri_bytes(pb->n / plan->ran.batches),
           later = inverts(plan) ? (double)epiqp_inverse_bytes(pb->n, pb->e.threads) : 0; /* counted with the inverse */
    return 8 * (double)pb->n * (double)pb->points + (epiqp_plan_inverse(plan) ? 0 : fmax(batch - later, 0));
}

static double kernel_bytes(const epiqp_problem *pb, const epiqp_plan *plan)
{
    const epiq_options *o = &plan->ran;
    const double n = (double)pb->n, points = (double)pb->points,
                 columns = fmax(points + 1, plan->influence ? 2 * (double)plan->probes : 0),
                 need = 8 * n * points + (plan->closed_form ? epiqp_infinite_bytes(pb->n) : 0);
    switch (o->solver) {
    case EPIQ_SOLVER_ITERATIVE:
        return need + 16 * n * fmin(points + 1, AT_ONCE) +
               epiqp_operator_bytes(pb->n, epiqp_min(o->rank, pb->n), (ptrdiff_t)columns,
                                    plan->probes ? pb->e.threads : 0);
    case EPIQ_SOLVER_DIVIDED:
        return need + divided_bytes(pb, plan);
    default:
        return need + epiqp_cost_matrix_bytes(pb, plan, pb->n) +
               batches_bytes(pb, plan); /* the inverse overwrites the factor */
    }
}

/* Probes, the columns of rows that decide, and choosing these. */
static double probes_bytes(const epiqp_problem *pb, const epiqp_plan *plan)
{
    const ptrdiff_t rows = rows_at_once(pb, plan);
    const double n = (double)rows, probes = (double)plan->probes,
                 decide = (double)epiqp_deciding_most(pb->points, rows);
    if (!plan->probes) return 0;
    return n * (17 * probes + 8 * 8 * EPIQP_PROBE_GROUPS + 4 * decide + 8 * fmin(decide, 2 * probes) + 40);
}

double epiqp_cost_bytes(const epiqp_problem *pb, const epiqp_request *request, const epiqp_plan *plan)
{
    const epiq_options *o = &plan->ran;
    const double n = (double)pb->n, d = (double)pb->data->d, triangle = triangle_bytes(pb, plan, pb->n),
                 cross = 8 * n * (double)pb->points;
    const epiq_cluster *k = pb->e.cluster;
    double need = (k ? RANK + NEIGHBOUR * k->ranks_on_node + MESSAGES * n : PROCESS) + request->extra_bytes +
                  8 * n * (4 * d + (plan->solve ? 24 : 12)) + networks_bytes(pb, plan);
    if (pb->e.device) need += EPIQP_DEVICE_BYTES;
    if (pb->data != pb->table) { /* rows and points by their features, a basis, and rows for the interval of y */
        need += 8 * (double)pb->table->d * (4 * n + 2 * (double)pb->points);
    }
    need += plan->solve ? kernel_bytes(pb, plan) : 0;
    need += epiqp_plan_inverse(plan) ? epiqp_groups_bytes(pb) : 0;
    if (plan->limit) {
        need += (double)epiqp_tri_bytes(pb->n) + (double)epiqp_inverse_bytes(pb->n, pb->e.threads) + 2 * cross;
    }
    need += probes_bytes(pb, plan);
    if (plan->influence == EPIQP_IF_EMPIRICAL) {
        need += 2 * triangle + 2 * cross + 16 * n * (double)(o->width * o->depth);
    }
    if (o->time > 0) need += 40 * n * n + 2 * cross;
    if (plan->keep) { /* the factor beside the inverse, and every network, half of it in single precision too */
        epiqp_net net = epiqp_net_of(o, pb->data->d);
        double again = plan->answers_at_points ? 2 * EPIQP_STARTS * (double)o->replicates : 0,
               networks = (double)(o->members + o->batches) + again;
        need += triangle + 8 * networks * (n + (epiqp_start_removed(o) ? 2 : 1.5) * (double)epiqp_net_params(&net));
    }
    return need;
}

double epiqp_may_use(const epiq_options *o, int sharers)
{
    double have = epiqp_memory() / sharers;
    return o->mem_limit > 0 ? fmin((double)o->mem_limit, have) : have;
}

/* ---- time ---- */

/* Of a GPU: half of what an H200 does, since others do less; but no slower than the processor. */
static const epiqp_rates ON_DEVICE = {.flops = 2e13, .entries = 2e10};

static double kernel_seconds(const epiqp_problem *pb, const epiqp_plan *plan, const epiqp_rates *rate)
{
    const epiq_options *o = &plan->ran;
    if (o->solver != EPIQ_SOLVER_ITERATIVE && epiqp_gmat_takes(&pb->e, rows_at_once(pb, plan))) rate = &ON_DEVICE;
    const bool by_row = epiqp_noise_by_row(o->correction);
    const double n = (double)pb->n, points = (double)pb->points, columns = points + 1, probed = (double)plan->probes,
                 decide = plan->probes ? (double)epiqp_deciding_most(pb->points, rows_at_once(pb, plan)) : 0;
    double seconds = plan->closed_form ? n * n / 2 / rate->entries + n * n * points / rate->flops : 0;
    if (o->solver == EPIQ_SOLVER_ITERATIVE) {
        double entries = n * n / 2 / rate->entries, rank = (double)epiqp_min(o->rank, pb->n),
               column = (2 * n * n + 4 * n * rank) / rate->flops;
        seconds += ITERATIONS * (entries + columns * column) + 2 * n * rank * rank / rate->flops;
        if (probed > 0) { /* and the preconditioner's squares */
            seconds += ROUGHLY * (2 * entries + (2 * probed + decide) * column) +
                       (by_row ? 16 : 0) * n * rank * rank / rate->flops;
        }
        return seconds;
    }
    /* all rows, or every part, which also predicts the rows of the others */
    double cubes = inverts(plan) ? 1 : 1.0 / 3, rows = (double)rows_at_once(pb, plan), squares = n * rows;
    bool others = plan->influence == EPIQP_IF_DIVIDED && plan->leverage;
    return seconds + squares / 2 / rate->entries +
           (cubes * squares * rows + 2 * squares * (columns + (by_row ? 4 : 1) * probed + decide)) / rate->flops +
           (others ? n * n / rate->entries : 0);
}

/* Networks of one list, which threads take from it one by one, in units of the time of one. */
static double rounds(const epiqp_problem *pb, ptrdiff_t networks)
{
    const double at_once = (double)pb->e.threads * (pb->e.cluster ? pb->e.cluster->ranks : 1);
    return networks ? fmax(1, (double)networks / at_once) : 0;
}

/* What a network takes on a share of the rows, of that on all: less than that share is saved. */
static double on_share(const epiqp_problem *pb, double share)
{
    const double n = (double)pb->n, beside = pb->engine->trains ? EPIQP_ROWS_OF_WEIGHT : 0;
    return (share * n + beside) / (n + beside);
}

/* Those on all rows, those without a fold, and of these the ones trained again; each batch has its part of the rows. */
static double all_rounds(const epiqp_problem *pb, const epiqp_plan *plan)
{
    const ptrdiff_t folds = epiqp_fold_count(pb, &plan->ran), first = plan->fold_starts * folds,
                    again = epiqp_fold_networks(pb, plan) - first;
    const double share = on_share(pb, 1 - 1 / fmax(2, (double)folds)),
                 batch = on_share(pb, 1 / (double)epiqp_max(1, plan->ran.batches)),
                 each = (double)epiqp_trainings_each(&plan->ran);
    return each * ((plan->members ? rounds(pb, plan->ran.members) : 0) + rounds(pb, plan->resamples) +
                   share * (rounds(pb, first) + rounds(pb, again)) +
                   (plan->batches ? batch * rounds(pb, plan->ran.batches) : 0));
}

double epiqp_cost_networks(const epiqp_problem *pb, const epiqp_plan *plan)
{
    const double at_once = (double)pb->e.threads * (pb->e.cluster ? pb->e.cluster->ranks : 1);
    return pb->engine->trains ? at_once * all_rounds(pb, plan) : 0;
}

/* Engine linear: a network's output at the rows, and where its own kernel is solved that matrix and its factor. */
static double linear_seconds(const epiqp_problem *pb, const epiqp_plan *plan, const epiqp_rates *rate)
{
    const epiq_options *o = &plan->ran;
    const epiqp_net net = epiqp_net_of(o, pb->data->d);
    const double n = (double)pb->n, points = (double)pb->points, weights = (double)epiqp_net_params(&net),
                 units = (double)(o->width * o->depth);
    double one =
        2 * (2 * (n + points) * weights + 2 * n * points); /* products with a vector are half as fast, or slower */
    if (o->linear_kernel == EPIQ_KERNEL_EMPIRICAL) {
        one += n * n * (n / 3 + 2 * units + 2 * points) + 2 * n * points * units;
    }
    return all_rounds(pb, plan) * one / rate->flops * pb->e.threads;
}

double epiqp_cost_seconds(const epiqp_problem *pb, const epiqp_plan *plan, const epiqp_rates *rate)
{
    const bool linear = pb->engine->member && !pb->engine->trains;
    double seconds = EPIQP_STARTING + (plan->solve ? kernel_seconds(pb, plan, rate) : 0);
    if (pb->left_out && plan->solve) {
        seconds += LEAVING_OUT * (double)pb->n * (double)pb->points / pb->e.threads;
    }
    if (plan->influence && plan->solve) {
        const double n = (double)pb->n, noise = epiqp_noise_by_row(plan->ran.correction) ? NOISE_OF_PAIR * n : 0;
        seconds += n * (OF_PAIR * (double)rows_at_once(pb, plan) + noise) / pb->e.threads;
    }
    if (plan->wants_predictive) {
        seconds += OF_NEAR * ((double)pb->data->d + BESIDE_FEATURES) * (double)pb->n *
                   (double)epiqp_min(pb->n, EPIQP_SPREAD_ROWS) / pb->e.threads;
    }
    if (plan->limit) { /* Newton's method, and each half of the rows */
        const double n = (double)pb->n;
        seconds += n * n * n * (LIMIT_SOLUTIONS + (double)plan->resamples / 24) / rate->flops;
    }
    if (linear) seconds += linear_seconds(pb, plan, rate);
    if (pb->engine->trains) {
        const double one = rate->network > 0 ? rate->network : epiqp_usual_seconds(pb, &plan->ran, rate);
        seconds += all_rounds(pb, plan) * one;
    }
    return seconds;
}

epiqp_duration epiqp_duration_of(double seconds)
{
    epiqp_duration d;
    const double minutes = seconds / 60;
    const bool few = seconds < 90, hours = !(minutes < 90);
    snprintf(d.text, sizeof d.text, "%.*f %s", !few && hours,
             few     ? fmax(seconds, 1)
             : hours ? minutes / 60
                     : minutes,
             few     ? "s"
             : hours ? "h"
                     : "min");
    return d;
}
