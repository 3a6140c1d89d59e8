/* empirical_kernel.c - IF from the mean empirical kernel of the networks' starts, instead of the kernel of infinitely wide ones
 * (docs/method.md section 3).
 */
#include "est/if.h"

#include <string.h>

typedef struct {
    epiqp_empirical kernel;
    double weight;
} accumulating;

static void accumulate(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                       ptrdiff_t ld)
{
    const accumulating *a = self;
    double block[EPIQP_BLOCK * EPIQP_BLOCK];
    epiqp_empirical_block(a->kernel.la, a->kernel.f, i0, rows, a->kernel.f, j0, cols, block, rows);
    for (ptrdiff_t k = 0; k < cols; k++) {
        epiqp_axpy(rows, a->weight, block + k * rows, out + k * ld);
    }
}

typedef struct {
    ptrdiff_t n;
    const double *lower; /* n by n, column-major: its lower triangle */
} whole_matrix;

static double whole_at(const void *self, ptrdiff_t i, ptrdiff_t k)
{
    const whole_matrix *m = self;
    return m->lower[epiqp_max(i, k) + epiqp_min(i, k) * m->n];
}

/* Neighbours by this kernel; of many rows they are those of the population kernel, since on a cluster no rank holds the
 * columns that this would take. */
static int empirical_near(const epiqp_problem *pb, const epiqp_tri *sum, const epiqp_dmat *spread,
                          const epiqp_near **near)
{
    const ptrdiff_t n = pb->n;
    if (n > EPIQP_NEAR_ROWS) return EPIQ_OK;
    if (!spread->a) return epiqp_near_stored(pb, epiqp_tri_near, sum, near);
    double *lower = epiqp_alloc(pb->e.c, n * n, sizeof *lower);
    ptrdiff_t *rows = epiqp_alloc(pb->e.c, n, sizeof *rows);
    int s = lower && rows ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; !s && i < n; i++) {
        rows[i] = i;
    }
    if (!s && !(s = epiqp_dmat_part(&pb->e, spread, 0, n, NULL, n, rows, lower))) {
        s = epiqp_near_stored(pb, whole_at, &(whole_matrix){n, lower}, near);
    }
    epiqp_free(pb->e.c, lower);
    epiqp_free(pb->e.c, rows);
    return s;
}

/* The sum, stored in this process or distributed over the ranks of a cluster; the other is empty. */
typedef struct {
    epiqp_tri here;
    epiqp_dmat ranks;
} matrix;

static int matrix_new(const epiqp_env *e, ptrdiff_t n, matrix *m)
{
    int s = e->cluster ? epiqp_dmat_new(e, n, &m->ranks) : epiqp_tri_new(e->c, n, &m->here);
    if (s) return s;
    memset(e->cluster ? m->ranks.a : m->here.a, 0,
           e->cluster ? (size_t)(m->ranks.rows.size * m->ranks.cols.size) * sizeof *m->ranks.a
                      : (size_t)epiqp_tri_bytes(n));
    return EPIQ_OK;
}

static void draw_start(const epiqp_problem *pb, const epiqp_fit *fit, ptrdiff_t k, double *theta)
{
    epiqp_net_init(&fit->net, (epiqp_stream){pb->plan->ran.seed, EPIQP_FOR_MEMBER, (uint64_t)k}, theta);
}

/* The kernel of one start, times weight, added to the sums. one: n by points of scratch. */
static int add_start(const epiqp_problem *pb, const epiqp_fit *fit, const double *theta, double weight, matrix *sum,
                     double *k0, double *one)
{
    const epiqp_env *e = &pb->e;
    const ptrdiff_t n = pb->n;
    epiqp_features rows = {0}, at = {0};
    int s = epiqp_features_new(e, &fit->net, theta, n, fit->rows.x, &rows);
    if (!s && !(s = epiqp_features_new(e, &fit->net, theta, pb->points, pb->at, &at))) {
        accumulating a = {{e->la, &rows}, weight};
        epiqp_source source = {.block = accumulate, .self = &a};
        if (e->cluster) {
            epiqp_dmat_fill(e, &source, &sum->ranks);
        } else {
            epiqp_tri_fill(e, &source, &sum->here);
        }
        epiqp_empirical_block(e->la, &rows, 0, n, &at, 0, pb->points, one, n);
        epiqp_axpy(n * pb->points, weight, one, k0);
    }
    epiqp_features_free(e->c, &rows);
    epiqp_features_free(e->c, &at);
    return s;
}

/* The sums over all starts by the device, then copied to this process. theta: room for a start. */
static int sum_there(const epiqp_problem *pb, const epiq_device_network *net, const epiqp_fit *fit, ptrdiff_t draws,
                     double *theta, epiqp_tri *sum, double *k0)
{
    const epiqp_env *e = &pb->e;
    epiqp_gmat there = {0};
    int s = epiqp_gmat_new(e, net->n, &there);
    for (ptrdiff_t k = 0; !s && k < draws; k++) {
        draw_start(pb, fit, k, theta);
        s = epiqp_gmat_add(e, &there, net, 1 / (double)draws, k == 0, k0);
        if (!s) s = epiqp_report(e->c, "kernel", k + 1, draws);
    }
    if (!s) s = epiqp_gmat_copy(e, &there, sum);
    epiqp_gmat_free(&there);
    return s;
}

/* The mean kernel of `draws` starts, and its ridge solution. */
static int empirical_ridge(const epiqp_problem *pb, const epiqp_fit *fit, ptrdiff_t draws, epiqp_ridge *out,
                           const epiqp_near **near)
{
    const epiqp_env *e = &pb->e;
    const ptrdiff_t n = pb->n, size = n * pb->points;
    double *theta = epiqp_room(pb, epiqp_net_params(&fit->net), sizeof *theta);
    double *k0 = epiqp_alloc(e->c, size, sizeof *k0), *one = epiqp_alloc(e->c, size, sizeof *one);
    matrix sum = {0};
    int s = theta && k0 && one ? matrix_new(e, n, &sum) : EPIQ_E_NOMEM;
    if (s) goto end;
    memset(k0, 0, (size_t)size * sizeof *k0);
    const epiqp_net *net = &fit->net;
    const epiq_device_network asked = {net->d, net->width, net->depth,  net->beta, theta,
                                       n,      pb->points, fit->rows.x, pb->at};
    const bool far = epiqp_gmat_sums(e, &asked);
    if (far && (s = sum_there(pb, &asked, fit, draws, theta, &sum.here, k0))) goto end;
    for (ptrdiff_t k = 0; !far && k < draws; k++) {
        draw_start(pb, fit, k, theta);
        if ((s = add_start(pb, fit, theta, 1 / (double)draws, &sum, k0, one)) ||
            (s = epiqp_report(e->c, "kernel", k + 1, draws))) {
            goto end;
        }
    }
    if ((s = empirical_near(pb, &sum.here, &sum.ranks, near))) goto end;
    epiqp_source stored = e->cluster ? epiqp_dmat_source(&sum.ranks) : epiqp_source_stored(&sum.here);
    epiqp_env here = *e;
    if (fit->ridge.factor.device.a) here.device = NULL; /* where there is room for that one, but perhaps not for two */
    s = epiqp_ridge_new(&here, n, &stored, pb->plan->ran.lambda, pb->data->y, pb->points, k0, out); /* takes k0 over */
    k0 = NULL;
end:
    epiqp_tri_free(e->c, &sum.here);
    epiqp_dmat_free(e->c, &sum.ranks);
    epiqp_free(e->c, one);
    epiqp_free(e->c, k0);
    return s;
}

int epiqp_if_empirical(const epiqp_problem *pb, const epiqp_fit *fit, const epiqp_ev_findings *ev,
                       epiqp_if_findings *found)
{
    const ptrdiff_t draws = ev->h ? ev->members : 1;
    epiqp_ridge own = {0};
    epiqp_solution sol = {.fit = fit, .ridge = &own, .hbar = ev->at_rows};
    int s = empirical_ridge(pb, fit, draws, &own, &sol.near);
    if (!s && !(s = epiqp_if_from_ridge(pb, &sol, found)) && !(s = epiqp_warn_factor(pb, own.jitter, own.loss))) {
        s = epiqp_kernel_predictions(pb, own.c, NULL, &found->prediction);
    }
    epiqp_ridge_free(pb->e.c, &own);
    if (s) return s;
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_EMPIRICAL_KERNEL,
                      "the empirical kernel of %td networks of width %td is noisy: IF tends to come out 1.2 to 2.6 "
                      "times too large; compare with {--kernel} population",
                      draws, pb->plan->ran.width);
}
