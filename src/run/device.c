/* device.c - whether an estimate is large enough for a GPU, judged before the plan, which counts on it (docs/gpu.md). */
#include "run/run.h"

/* Starting and ending CUDA with its libraries takes about 0.35 s on an H200; a factor or an inverse must save more than
 * that. On one core a good BLAS does some 3e10 operations per second. */
static const double SECONDS = 3, PER_CORE = 3e10;

/* Whether a kernel matrix of all rows is factorised; methods that are left open take one up to 10,000 rows. */
static bool factorises(const epiqp_problem *pb, const epiq_options *o)
{
    const bool exact = o->solver == EPIQ_SOLVER_EXACT || o->solver == EPIQ_SOLVER_AUTO;
    const bool open = o->methods & EPIQ_AUTO && pb->engine->trains && pb->n > EPIQP_INVERSE_ROWS;
    return exact && !open && o->time == 0 && (o->methods & (EPIQ_IF | EPIQ_AUTO) || !pb->engine->trains);
}

/* Operations of the ensemble's training: three products of all rows with all weights in a gradient. What else is trained
 * takes about as long again. */
static double training(const epiqp_problem *pb, const epiq_options *o)
{
    if (pb->engine != &epiqp_engine_network || o->optimizer != EPIQ_OPTIMIZER_AUTO) return 0;
    epiqp_net net = epiqp_net_of(o, pb->data->d);
    if (net.width < 1) net.width = EPIQ_USUAL_WIDTH; /* to be chosen */
    const epiqp_effort effort = epiqp_usual_effort(&net, pb->n, o->lambda > 0 ? o->lambda : EPIQ_USUAL_LAMBDA);
    return 6 * (double)epiqp_net_params(&net) * (double)pb->n * (effort.gradients + effort.products) *
           (double)o->members;
}

/* Operations of the empirical kernels of all starts: two products of a triangle's rows for each layer. */
static double kernels(const epiqp_problem *pb, const epiq_options *o)
{
    const double n = (double)pb->n, width = o->width > 0 ? (double)o->width : EPIQ_USUAL_WIDTH;
    const bool empirical = o->kernel == EPIQ_KERNEL_EMPIRICAL && factorises(pb, o);
    return empirical ? 2 * n * n * width * (double)o->depth * (double)o->members : 0;
}

bool epiqp_device_worth(const epiqp_problem *pb, const epiq_options *o)
{
    const double n = (double)pb->n, most = SECONDS * PER_CORE * pb->e.threads;
    if (o->mem_limit > 0 && (double)o->mem_limit < 2 * EPIQP_DEVICE_BYTES) return false;
    return (factorises(pb, o) && n * n * n > most) || training(pb, o) > most || kernels(pb, o) > most;
}
