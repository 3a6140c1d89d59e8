/* fake_device.h - a device without a GPU: an epiq_device (epiq_device.h) whose memory is this process's and whose kernels are
 * cuda/pair.h on the processor. It counts its matrices and calls, has as much memory as a test gives it, and fails at the call a
 * test names.
 *
 *     epiq_ctx_on_device(c, fake_open, NULL);     fake.opened tells whether it was asked for
 */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include "cuda/pair.h"
#include "kernel/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct epiq_device_matrix {
    ptrdiff_t n;
    double *a; /* n by n, column-major */
};

static struct {
    epiq_device table;
    double free;          /* bytes that it says are free */
    const char *why;      /* if not NULL: there is no device, because */
    int opened, matrices; /* how often; alive now */
    int calls, fail_at;   /* the call of this number fails, from 1; 0: none does */
    int fail_with;        /* its status; 0: EPIQ_E_NUMERIC */
    int memories;         /* blocks of memory, alive now */
    int losses, together; /* gradients computed; the most networks that were run at once */
    int runs;             /* of programs */
    int kernels;          /* empirical ones */
} fake;

static int fake_call(void)
{
    const int status = fake.fail_with ? fake.fail_with : EPIQ_E_NUMERIC;
    return ++fake.calls == fake.fail_at ? status : EPIQ_OK;
}

static const char *fake_message(void *user)
{
    (void)user;
    return "a failure that the test asked for";
}

static double fake_free(void *user)
{
    (void)user;
    return fake.free;
}

static int fake_new(void *user, ptrdiff_t n, epiq_device_matrix **out)
{
    (void)user;
    int status = fake_call();
    *out = NULL;
    if (status) return status;
    *out = malloc(sizeof **out);
    (*out)->n = n;
    (*out)->a = malloc((size_t)(n * n) * sizeof(double));
    for (ptrdiff_t k = 0; k < n * n; k++) {
        (*out)->a[k] = NAN; /* what is read without having been written is seen */
    }
    fake.matrices++;
    return EPIQ_OK;
}

static void fake_free_matrix(void *user, epiq_device_matrix *m)
{
    (void)user;
    if (!m) return;
    free(m->a);
    free(m);
    fake.matrices--;
}

static double fake_dot(ptrdiff_t d, const double *x, const double *y)
{
    double sum = 0;
    for (ptrdiff_t f = 0; f < d; f++) {
        sum += x[f] * y[f];
    }
    return sum;
}

static double fake_pair(const epiq_device_kernel *k, const double *x, const double *y, bool nngp)
{
    const pair_arch arch = {k->depth, k->beta * k->beta, k->v};
    double K, Q;
    pair_kernels(&arch, k->d, x, y, fake_dot(k->d, x, x), fake_dot(k->d, y, y), fake_dot(k->d, x, y), x == y, &K, &Q);
    return nngp ? Q : K;
}

static int fake_fill(void *user, epiq_device_matrix *m, const epiq_device_kernel *k, int nngp)
{
    (void)user;
    for (ptrdiff_t j = 0; j < m->n; j++) {
        for (ptrdiff_t i = j; i < m->n; i++) {
            m->a[i + j * m->n] = fake_pair(k, k->x + i * k->d, k->x + j * k->d, nngp);
        }
    }
    return fake_call();
}

static int fake_put(void *user, epiq_device_matrix *m, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols,
                    const double *a, ptrdiff_t ld)
{
    (void)user;
    for (ptrdiff_t j = 0; j < cols; j++) {
        memcpy(m->a + i0 + (j0 + j) * m->n, a + j * ld, (size_t)rows * sizeof *a);
    }
    return fake_call();
}

static int fake_get(void *user, const epiq_device_matrix *m, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols,
                    double *a, ptrdiff_t ld)
{
    (void)user;
    for (ptrdiff_t j = 0; j < cols; j++) {
        memcpy(a + j * ld, m->a + i0 + (j0 + j) * m->n, (size_t)rows * sizeof *a);
    }
    return fake_call();
}

static int fake_diagonal(void *user, epiq_device_matrix *m, double add, double *out)
{
    (void)user;
    for (ptrdiff_t i = 0; i < m->n; i++) {
        out[i] = m->a[i + i * m->n] += add;
    }
    return fake_call();
}

static int fake_factor(void *user, epiq_device_matrix *m, ptrdiff_t *pivot)
{
    (void)user;
    *pivot = epiqp_la_ref.potrf(m->n, m->a, m->n);
    return fake_call();
}

static int fake_solve(void *user, const epiq_device_matrix *m, ptrdiff_t cols, double *b)
{
    (void)user;
    epiqp_la_solve(&epiqp_la_ref, m->n, m->a, cols, b);
    int status;
#pragma omp critical(fake)
    status = fake_call();
    return status;
}

static int fake_invert(void *user, epiq_device_matrix *m)
{
    (void)user;
    const ptrdiff_t n = m->n;
    double *b = calloc((size_t)(n * n), sizeof *b);
    for (ptrdiff_t i = 0; i < n; i++) {
        b[i + i * n] = 1;
    }
    epiqp_la_solve(&epiqp_la_ref, n, m->a, n, b);
    free(m->a);
    m->a = b;
    return fake_call();
}

static double fake_at(const epiq_device_matrix *m, ptrdiff_t i, ptrdiff_t j)
{
    return i >= j ? m->a[i + j * m->n] : m->a[j + i * m->n];
}

static int fake_times(void *user, const epiq_device_matrix *m, int squared, ptrdiff_t cols, const double *s,
                      double *out)
{
    (void)user;
    for (ptrdiff_t c = 0; c < cols; c++) {
        for (ptrdiff_t i = 0; i < m->n; i++) {
            double sum = 0;
            for (ptrdiff_t j = 0; j < m->n; j++) {
                double a = fake_at(m, i, j);
                sum += (squared ? a * a : a) * s[j + c * m->n];
            }
            out[i + c * m->n] = sum;
        }
    }
    return fake_call();
}

static int fake_part(void *user, const epiq_device_matrix *m, ptrdiff_t rows, const ptrdiff_t *row, ptrdiff_t cols,
                     const ptrdiff_t *col, double *out)
{
    (void)user;
    for (ptrdiff_t k = 0; k < rows * cols; k++) {
        out[k] = fake_at(m, row[k % rows], col[k / rows]);
    }
    int failed;
#pragma omp critical(fake)
    failed = fake_call();
    return failed;
}

static int fake_variance(void *user, const epiq_device_kernel *k, ptrdiff_t points, const double *at, const double *c,
                         double *tau2)
{
    (void)user;
    for (ptrdiff_t p = 0; p < points; p++) {
        const double *x0 = at + p * k->d, *own = c + p * k->n;
        tau2[p] = fake_pair(k, x0, x0, true);
        for (ptrdiff_t i = 0; i < k->n; i++) {
            double sum = -2 * fake_pair(k, k->x + i * k->d, x0, true);
            for (ptrdiff_t j = 0; j < k->n; j++) {
                sum += fake_pair(k, k->x + i * k->d, k->x + j * k->d, true) * own[j];
            }
            tau2[p] += own[i] * sum;
        }
    }
    return fake_call();
}

static epiq_ctx *fake_ctx(void) /* counts what networks allocate, apart from the caller's */
{
    static epiq_ctx own;
    own.fail_after = -1;
    return &own;
}

static int fake_empirical(void *user, epiq_device_matrix *m, const epiq_device_network *f, double by, int first,
                          double *k0)
{
    (void)user;
    const epiqp_env e = {.c = fake_ctx(), .la = &epiqp_la_ref, .threads = 1};
    const epiqp_net net = {f->d, f->width, f->depth, f->beta, 0};
    epiqp_features rows = {0}, at = {0};
    const ptrdiff_t n = f->n, most = n > f->points ? n : f->points;
    double *one = malloc((size_t)(n * most) * sizeof *one);
    epiqp_features_new(&e, &net, f->theta, n, f->x, &rows);
    epiqp_features_new(&e, &net, f->theta, f->points, f->at, &at);
    epiqp_empirical_block(e.la, &rows, 0, n, &rows, 0, n, one, n);
    for (ptrdiff_t k = 0; k < n * n; k++) {
        m->a[k] = (first ? 0 : m->a[k]) + by * one[k];
    }
    epiqp_empirical_block(e.la, &rows, 0, n, &at, 0, f->points, one, n);
    for (ptrdiff_t k = 0; k < n * f->points; k++) {
        k0[k] += by * one[k];
    }
    epiqp_features_free(e.c, &rows);
    epiqp_features_free(e.c, &at);
    free(one);
    fake.kernels++;
    return fake_call();
}

/* ---- training ---- */

static int fake_memory_new(void *user, double bytes, void **out)
{
    (void)user;
    int status;
#pragma omp critical(fake)
    {
        status = fake_call();
        fake.memories += !status;
    }
    *out = status ? NULL : malloc((size_t)bytes + 1);
    if (*out) memset(*out, 0xff, (size_t)bytes); /* numbers that are read without having been written are NAN */
    return status;
}

static void fake_memory_free(void *user, void *memory)
{
    (void)user;
    if (!memory) return;
    free(memory);
#pragma omp critical(fake)
    fake.memories--;
}

static double fake_term(const epiq_device_term *t, ptrdiff_t k)
{
    return t->single ? (double)((const float *)t->at)[k] : ((const double *)t->at)[k];
}

static double fake_product(ptrdiff_t p, const epiq_device_term *t, const double *v)
{
    double sum = 0;
    for (ptrdiff_t k = 0; k < p; k++) {
        sum += fake_term(t, k) * v[k];
    }
    return sum;
}

static void fake_combine(ptrdiff_t p, const epiq_device_do *s)
{
    for (ptrdiff_t k = 0; k < p; k++) {
        double sum = 0;
        for (ptrdiff_t j = 0; j < s->count; j++) {
            sum += s->terms[j].by * fake_term(&s->terms[j], k);
        }
        if (s->single) {
            ((float *)s->to)[k] = (float)sum;
        } else {
            ((double *)s->to)[k] = sum;
        }
    }
}

static void fake_slow(ptrdiff_t p, const epiq_device_do *s)
{
    double along[64], *to = s->to;
    for (ptrdiff_t j = 0; j < s->count; j++) {
        along[j] = fake_product(p, &s->terms[j], to);
    }
    for (ptrdiff_t j = 0; j < s->count; j++) {
        for (ptrdiff_t k = 0; k < p; k++) {
            to[k] -= s->terms[j].by * along[j] * fake_term(&s->terms[j], k);
        }
    }
}

static void fake_loss(ptrdiff_t p, epiqp_pass *pass, const epiq_device_do *s)
{
    double *to = s->to;
    memset(to, 0, (size_t)p * sizeof *to);
    const double squares = epiqp_net_squares(pass, s->at, s->n, s->x, s->y, 2 / (double)s->n, NULL, to);
    const double data = epiqp_dot(p, to, to), moved = epiqp_pull(p, 2 * s->lambda, s->at, s->start, to);
    const double out[4] = {squares, data, moved, epiqp_dot(p, to, to)};
    if (s->own) memcpy(s->own, out, sizeof out);
}

static void fake_do(const epiqp_env *e, const epiqp_net *net, const epiq_device_do *s)
{
    const ptrdiff_t p = epiqp_net_params(net);
    epiqp_pass pass = {0};
    double *scratch = malloc((size_t)p * sizeof *scratch);
    epiqp_pass_new(e, net, &pass);
    if (s->single) epiqp_pass_single(e->c, &pass);
    switch (s->op) {
    case EPIQ_DEVICE_PUT:
        memcpy(s->to, s->own, (size_t)s->count * sizeof *s->own);
        break;
    case EPIQ_DEVICE_FETCH:
        memcpy(s->own, s->at, (size_t)s->count * sizeof *s->own);
        break;
    case EPIQ_DEVICE_COMBINE:
        fake_combine(p, s);
        break;
    case EPIQ_DEVICE_SLOW:
        fake_slow(p, s);
        break;
    case EPIQ_DEVICE_PRODUCTS:
        for (ptrdiff_t j = 0; j < s->count; j++) {
            s->own[j] = fake_product(p, &s->terms[j], s->at);
        }
        break;
    case EPIQ_DEVICE_LOSS:
        fake_loss(p, &pass, s);
        fake.losses++;
        break;
    case EPIQ_DEVICE_NORMAL:
        epiqp_net_normal(&pass, s->at, s->n, s->x, s->terms[0].at, s->to, scratch);
        break;
    case EPIQ_DEVICE_PULLS:
        epiqp_net_pulls(&pass, s->at, s->n, s->x, s->count, s->y, s->to);
        break;
    default:
        epiqp_net_forward(&pass, s->at, s->n, s->x, s->own);
    }
    epiqp_pass_free(e->c, &pass);
    free(scratch);
}

static int fake_run(void *user, ptrdiff_t count, const epiq_device_program *programs)
{
    (void)user;
    int status;
#pragma omp critical(fake)
    {
        const epiqp_env e = {.c = fake_ctx(), .la = &epiqp_la_blas, .threads = 1};
        for (ptrdiff_t k = 0; k < count; k++) {
            const epiq_device_program *one = &programs[k];
            const epiqp_net net = {one->d, one->width, one->depth, one->beta, 0};
            for (ptrdiff_t i = 0; i < one->count; i++) {
                fake_do(&e, &net, &one->list[i]);
            }
        }
        fake.together = count > fake.together ? (int)count : fake.together;
        fake.runs++;
        status = fake_call();
    }
    return status;
}

__attribute__((unused)) static const epiq_device *fake_open(void *user, char *why, size_t room)
{
    (void)user;
    fake.opened++;
    snprintf(why, room, "%s", fake.why ? fake.why : "");
    if (fake.why) return NULL;
    fake.table = (epiq_device){.size = sizeof fake.table,
                               .name = "fake",
                               .model = "a fake",
                               .bytes = fake.free,
                               .split = 1,
                               .message = fake_message,
                               .bytes_free = fake_free,
                               .matrix_new = fake_new,
                               .matrix_free = fake_free_matrix,
                               .fill = fake_fill,
                               .put = fake_put,
                               .get = fake_get,
                               .diagonal = fake_diagonal,
                               .factor = fake_factor,
                               .solve = fake_solve,
                               .invert = fake_invert,
                               .times = fake_times,
                               .part = fake_part,
                               .variance = fake_variance,
                               .empirical = fake_empirical,
                               .memory_new = fake_memory_new,
                               .memory_free = fake_memory_free,
                               .run = fake_run};
    return &fake.table;
}

/* As if there had been none: this much memory, nothing counted. */
__attribute__((unused)) static void fake_reset(double bytes)
{
    memset(&fake, 0, sizeof fake);
    fake.free = bytes;
}

#endif
