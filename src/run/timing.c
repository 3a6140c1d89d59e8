/* timing.c - how fast this machine is, for forecasts: products of matrices and entries of the kernel, timed for some
 * milliseconds; and one network, trained for a small share of what all of them will take.
 */
#include "run/run.h"

#include <math.h>
#include <string.h>

enum {
    LARGE = 4000,       /* rows from which on the machine is timed whatever is asked: below, everything takes seconds */
    SIDE = 384,         /* of the products that are timed */
    TRIES = 4,          /* of each */
    FEWEST_TIMED = 16,  /* rows that entries of the kernel are timed with */
    PILOT_ROWS = 2048,  /* that a network is trained on to time it, of more rows, */
    FEWEST_PILOT = 512, /* and fewer where that would take too long */
    LEAST_ROWS = 64,    /* that a gradient is timed with */
    PILOTS = 8          /* networks of each thread that are timed, at most */
};
static const double FLOPS = 5e10, ENTRIES = 1e8; /* two cores of today, where nothing is timed */
/* Operations that may be spent on timing networks: some 50 ms at least and a second at most. */
static const double PILOT_LEAST = 4e9, PILOT_MOST = 3e10;
/* A gradient costs as much for each row as so many weights do. */
static const double WEIGHTS_OF_ROW = 800;
/* What training takes over its gradients and products: vectors of weights, most with few rows. */
static const double BESIDE = 1.08, BESIDE_ROWS = 50;
/* Gradients of optimizer flow over those of training to the minimum: FLOW_BEGIN + FLOW_ON sqrt(t), t the time in units of 1/lambda,
 * FLOW_MOST at the end. Three of the five tables at 5, 50, 500 and 3000 with lambda 1e-3 took 0.9 to 1.3 times that. */
static const double FLOW_BEGIN = 0.4, FLOW_ON = 2.7, FLOW_MOST = 3;

/* The forecast is the time on a machine that does nothing else, and a moment in which it does tells nothing about the rest of
 * the run: all is timed by epiqp_worked. */

/* The best of TRIES, the first of which is slow: about 20 ms in all. */
static int time_machine(const epiqp_problem *pb, const epiq_options *o, epiqp_rates *out)
{
    double *a = epiqp_alloc(pb->e.c, 3 * SIDE * SIDE, sizeof *a);
    if (!a) return EPIQ_E_NOMEM;
    const epiqp_net net = epiqp_net_of(o, pb->data->d);
    const epiqp_arch arch = epiqp_arch_of(&net);
    const ptrdiff_t side = epiqp_min(EPIQP_BLOCK, pb->n / 2);
    epiqp_rows rows = {0};
    int s = epiqp_rows_new(pb->e.c, 2 * side, pb->data->d, pb->data->x, &rows);
    memset(a, 0, 3 * SIDE * SIDE * sizeof *a);
    *out = (epiqp_rates){0};
    for (int k = 0; !s && k < TRIES; k++) {
        double start = epiqp_worked();
        pb->e.la->gemm('N', 'T', SIDE, SIDE, SIDE, 1, a, SIDE, a + SIDE * SIDE, SIDE, 0, a + 2 * SIDE * SIDE, SIDE);
        out->flops = fmax(out->flops, 2.0 * SIDE * SIDE * SIDE * pb->e.threads / fmax(epiqp_worked() - start, 1e-6));
    }
    if (side < FEWEST_TIMED) out->entries = ENTRIES;
    for (int k = 0; !s && side >= FEWEST_TIMED && k < TRIES; k++) {
        double start = epiqp_worked();
        epiqp_kernel_block(&arch, &rows, 0, side, &rows, side, side, a, NULL, side);
        out->entries = fmax(out->entries, (double)(side * side) * pb->e.threads / fmax(epiqp_worked() - start, 1e-7));
    }
    epiqp_rows_free(pb->e.c, &rows);
    epiqp_free(pb->e.c, a);
    return s;
}

int epiqp_rates_of(const epiqp_problem *pb, const epiqp_request *request, const epiq_options *o, epiqp_rates *out)
{
    const epiq_cluster *k = pb->e.cluster;
    const int size = k ? k->ranks : 1;
    *out = (epiqp_rates){.flops = FLOPS, .entries = ENTRIES};
    const bool timed = pb->n >= LARGE || (request->forecast_only && !request->untimed);
    int s = timed ? time_machine(pb, o, out) : EPIQ_OK;
    *out = (epiqp_rates){.flops = out->flops * size, .entries = out->entries * size};
    return s;
}

/* ---- networks ---- */

/* Operations, without what is the same for all sizes: of a gradient 4 for each weight and row with one hidden layer, and 6
 * with more. */
static double operations(const epiqp_net *net, double passes, ptrdiff_t rows)
{
    return passes * ((double)rows + EPIQP_ROWS_OF_WEIGHT) * ((double)epiqp_net_params(net) + WEIGHTS_OF_ROW) *
           (net->depth == 1 ? 4 : 6);
}

/* Passes over n rows: gradients and products J'J v. Only training to the minimum begins with a part of many. */
static double passes_of(const epiq_options *o, const epiqp_net *net, ptrdiff_t n)
{
    const bool whole = o->optimizer != EPIQ_OPTIMIZER_AUTO || o->steps;
    const epiqp_effort usual = epiqp_usual_effort(net, whole ? epiqp_part_rows(n) : n, o->lambda);
    if (o->optimizer == EPIQ_OPTIMIZER_AUTO) {
        return usual.products + (o->steps ? fmin((double)o->steps, usual.gradients) : usual.gradients);
    }
    if (o->optimizer == EPIQ_OPTIMIZER_FLOW) {
        const double time = fmin(epiqp_flow_time(o) * o->lambda, FLOW_MOST);
        return usual.products + usual.gradients * (FLOW_BEGIN + FLOW_ON * sqrt(time));
    }
    const double share = o->optimizer == EPIQ_OPTIMIZER_SGD ? (double)epiqp_min(o->batch_size, n) / (double)n : 1;
    return share * (o->steps ? (double)o->steps : 10 * usual.gradients);
}

double epiqp_usual_seconds(const epiqp_problem *pb, const epiq_options *o, const epiqp_rates *rate)
{
    const epiqp_net net = epiqp_net_of(o, pb->data->d);
    const double of_thread = rate->flops / (pb->e.cluster ? pb->e.cluster->ranks : 1) / pb->e.threads;
    return operations(&net, passes_of(o, &net, pb->n), pb->n) / (2 * of_thread); /* in single precision */
}

/* Some rows, evenly from all, to train on: x and y in one block. */
typedef struct {
    epiqp_net net;
    epiqp_left left; /* of the rows: the networks of a run share it */
    epiqp_task task;
    double *block;
    double seconds;     /* of training to the end; 0: not timed */
    double gradients;   /* that it took */
    double gradient[2]; /* seconds of a gradient of all these rows, and of half of them */
} pilot;

static int pilot_new(const epiqp_problem *pb, const epiq_options *o, ptrdiff_t rows, pilot *p)
{
    const ptrdiff_t n = pb->n, d = pb->data->d;
    *p = (pilot){.net = epiqp_net_of(o, d), .block = epiqp_alloc(pb->e.c, rows * (d + 1), sizeof *p->block)};
    if (!p->block) return EPIQ_E_NOMEM;
    double *y = p->block + rows * d;
    for (ptrdiff_t i = 0; i < rows; i++) {
        const ptrdiff_t from = (ptrdiff_t)((double)i / (double)rows * (double)n);
        memcpy(p->block + i * d, pb->data->x + from * d, (size_t)d * sizeof *p->block);
        y[i] = pb->data->y[from];
    }
    p->task = (epiqp_task){.net = &p->net, .n = rows, .x = p->block, .y = y, .lambda = o->lambda};
    const epiqp_env alone = epiqp_alone(&pb->e);
    int s = epiqp_left_new(&alone, &p->net, rows, p->block, &p->left);
    if (s) epiqp_free(pb->e.c, p->block);
    p->task.left = &p->left;
    return s;
}

/* Seconds of a gradient: the less of two. */
static double gradient_seconds(const epiqp_task *t, const double *theta, double *grad, epiqp_pass *pass)
{
    double least = INFINITY;
    for (int k = 0; k < 2; k++) {
        const double start = epiqp_worked();
        epiqp_loss(t, theta, grad, NULL, pass);
        least = fmin(least, epiqp_worked() - start);
    }
    return fmax(least, 1e-7);
}

/* One thread's part: from a start of its own, the seconds of gradients and, if `whole`, of training to the end. */
static int run_pilot(const epiqp_env *e, const pilot *p, const epiq_options *o, uint64_t number, bool whole, pilot *out)
{
    const ptrdiff_t params = epiqp_net_params(&p->net);
    double *theta0 = epiqp_alloc(e->c, 3 * params, sizeof *theta0);
    *out = *p;
    if (!theta0) return EPIQ_E_NOMEM;
    double *theta = theta0 + params, *grad = theta + params;
    epiqp_task task = p->task, half = p->task;
    epiqp_pass pass = {0};
    epiqp_training report;
    epiqp_net_init(&p->net, (epiqp_stream){o->seed, EPIQP_FOR_MEMBER, number}, theta0);
    memcpy(theta, theta0, (size_t)params * sizeof *theta);
    task.theta0 = half.theta0 = theta0;
    half.n = (task.n + 1) / 2;
    int s = epiqp_task_pass(e, &task, &pass);
    if (!s) {
        out->gradient[0] = gradient_seconds(&task, theta, grad, &pass);
        out->gradient[1] = gradient_seconds(&half, theta, grad, &pass);
    }
    const double start = epiqp_worked();
    if (!s && whole) s = epiqp_minimise(e, &task, o->steps, theta, &report);
    out->seconds = whole ? epiqp_worked() - start : 0;
    out->gradients = whole && !s ? (double)report.iterations : 1;
    epiqp_pass_free(e->c, &pass);
    epiqp_free(e->c, theta0);
    return s;
}

/* A gradient of n rows, from those of fewer: its time grows with the rows from what it takes without any. */
static double extrapolated(const pilot *p, ptrdiff_t n)
{
    const double rows = (double)p->task.n, half = (double)((p->task.n + 1) / 2),
                 slope = fmax(p->gradient[0] - p->gradient[1], p->gradient[0] / 4) / fmax(rows - half, 1);
    return p->gradient[0] + slope * ((double)n - rows);
}

/* Gradients on all rows over those on some of them, which were taken. Deep networks, of more weights than these are, take two or three
 * times as many on 1024 rows as on 5000: half way to the usual number, in logarithms. */
static double fewer_gradients(const pilot *p, ptrdiff_t n)
{
    const double usual = epiqp_usual_effort(&p->net, p->task.n, p->task.lambda).gradients;
    return p->net.depth > 1 && p->task.n < n ? fmin(1, sqrt(usual / p->gradients)) : 1;
}

int epiqp_time_network(const epiqp_problem *pb, const epiq_options *o, double share, double *seconds)
{
    const epiqp_env alone = epiqp_alone(&pb->e);
    const epiqp_net net = epiqp_net_of(o, pb->data->d);
    const double passes = passes_of(o, &net, pb->n), work = operations(&net, passes, pb->n),
                 most = fmin(fmax(share * work, PILOT_LEAST), PILOT_MOST);
    ptrdiff_t rows = epiqp_min(pb->n, PILOT_ROWS);
    const double of_pilot = passes_of(o, &net, rows);
    while (rows > FEWEST_PILOT && operations(&net, of_pilot, rows) > most) {
        rows = epiqp_max(rows / 2, FEWEST_PILOT);
    }
    const bool whole = o->optimizer == EPIQ_OPTIMIZER_AUTO && operations(&net, of_pilot, rows) <= most;
    while (!whole && rows > LEAST_ROWS && operations(&net, 4, rows) > PILOT_LEAST) {
        rows = epiqp_max(rows / 2, LEAST_ROWS);
    }
    pilot p;
    int status = pilot_new(pb, o, rows, &p);
    if (status) return status;
    const double more = whole ? most / operations(&net, of_pilot, rows) : 1; /* starts differ in what they take */
    const int pilots = pb->e.threads * (int)fmin(fmax(more, 1), PILOTS);
    double sum = 0;
#pragma omp parallel for schedule(static) num_threads(pb->e.threads) reduction(+ : sum)
    for (int k = 0; k < pilots; k++) {
        pilot mine;
        int s = run_pilot(&alone, &p, o, (uint64_t)k, whole, &mine);
        const double all = extrapolated(&mine, pb->n);
        sum += whole ? mine.seconds * all / mine.gradient[0] * passes / of_pilot * fewer_gradients(&mine, pb->n)
                     : passes * all * (BESIDE + BESIDE_ROWS / (double)pb->n);
        if (s) {
#pragma omp atomic write
            status = s;
        }
    }
    epiqp_left_free(pb->e.c, &p.left);
    epiqp_free(pb->e.c, p.block);
    if (status == EPIQ_E_NUMERIC || status == EPIQ_E_STOPPED) { /* which the run itself will find out */
        epiqp_clear(pb->e.c);
        return EPIQ_OK;
    }
    *seconds = sum / pilots;
    return status;
}

int epiqp_report_forecast(const epiqp_problem *pb, double seconds)
{
    return epiqp_report(pb->e.c, "forecast", 0, (ptrdiff_t)fmin(ceil(seconds), 1e15));
}
