/* believe.c - the update rule of explore.h. A column F(x,x*) before any pick is one product of all c with an n-vector;
 * the picks since then are applied to it in O(picks) per candidate. So a pick costs O(points (n + m + picks)), and for
 * infinitely wide networks also n (n + points) values of Q, which are cheaper to compute than to store.
 */
#include "decide/explore.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { BLOCK = EPIQP_BLOCK }; /* candidates of one product: their c stays in the cache for all forms */

/* ---- IF's V as a form: V(w) = w'Phi w with w the weights of the rows' targets, which a pick changes as it changes c; Phi = U C G'G C U + diag(excess), U the residuals used, C centring, G sums
 * over groups ---- */

static double centre(ptrdiff_t n, double *v)
{
    double mean = epiqp_mean(v, n);
    for (ptrdiff_t i = 0; i < n; i++) {
        v[i] -= mean;
    }
    return mean;
}

/* out = Phi b; excess: with its term. sums: as many doubles as there are groups. */
static void apply_form(const epiqp_estimated *e, bool excess, const double *b, double *sums, double *out)
{
    const epiqp_if_findings *f = &e->found->influence;
    const ptrdiff_t n = e->problem->n, *group = e->problem->data->group;
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = f->r_std[i] * b[i];
    }
    centre(n, out);
    memset(sums, 0, (size_t)e->problem->data->groups * sizeof *sums);
    for (ptrdiff_t i = 0; i < n; i++) {
        sums[group[i]] += out[i];
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = sums[group[i]];
    }
    centre(n, out);
    for (ptrdiff_t i = 0; i < n; i++) {
        bool more = excess && f->noise_excess;
        out[i] = f->r_std[i] * out[i] + (more ? f->noise_unit * f->noise_excess[i] * f->noise_unit * b[i] : 0);
    }
}

/* The smoothed V of moderated is c'diag(m) c. */
static void apply_smoothed(const epiqp_estimated *e, const double *b, double *out)
{
    for (ptrdiff_t i = 0; i < e->problem->n; i++) {
        out[i] = e->found->influence.share ? e->found->influence.smoothed[i] * b[i] : 0;
    }
}

/* ---- before any pick ---- */

double epiqp_belief_bytes(ptrdiff_t n, ptrdiff_t points, ptrdiff_t picks)
{
    double columns = (EPIQP_BELIEFS + 1) * (double)picks + EPIQP_BELIEFS;
    return 8 * (columns * (double)points + EPIQP_BELIEFS * (double)n);
}

static void fill_own(epiqp_belief *b, double *room)
{
    const epiqp_estimated *e = b->e;
    const epiqp_findings *found = e->found;
    const ptrdiff_t n = e->problem->n, each = 2 * n + e->problem->data->groups;
#pragma omp parallel for schedule(static) num_threads(e->problem->e.threads)
    for (ptrdiff_t p = 0; p < e->problem->points; p++) {
        double *v = room + each * omp_get_thread_num();
        const double *c = epiqp_target_weights(&e->problem->plan->ran, n, e->fit->ridge.c + p * n, v + each - n);
        apply_form(e, true, c, v + n, v);
        b->form[EPIQP_BELIEF_DATA].own[p] = epiqp_dot(n, c, v);
        apply_form(e, false, c, v + n, v);
        b->form[EPIQP_BELIEF_UNBIASED].own[p] = epiqp_dot(n, c, v);
        apply_smoothed(e, c, v);
        b->form[EPIQP_BELIEF_SMOOTHED].own[p] = epiqp_dot(n, c, v);
        b->form[EPIQP_BELIEF_PROCEDURAL].own[p] = found->ev.h ? found->ev.part[p].variance : found->closed[p].variance;
    }
}

/* The present data variance, its parts in the shares they had before any pick. */
static double mix(const epiqp_belief *b, ptrdiff_t p)
{
    const epiqp_if_findings *f = &b->e->found->influence;
    double least = f->noise_excess ? EPIQP_ROWWISE_FLOOR * b->form[EPIQP_BELIEF_UNBIASED].own[p] : 0;
    double own = fmax(b->form[EPIQP_BELIEF_DATA].own[p], fmax(least, 0)), share = f->share ? f->share[p] : 1;
    return share * own + (1 - share) * fmax(b->form[EPIQP_BELIEF_SMOOTHED].own[p], 0);
}

int epiqp_belief_new(const epiqp_estimated *e, ptrdiff_t picks, epiqp_belief *out)
{
    const epiqp_problem *pb = e->problem;
    const ptrdiff_t n = pb->n, points = pb->points;
    *out = (epiqp_belief){.e = e};
    out->picked = epiqp_room(pb, picks, sizeof *out->picked);
    out->gain = epiqp_room(pb, picks * points, sizeof *out->gain);
    out->right = epiqp_room(pb, EPIQP_BELIEFS * n, sizeof *out->right);
    out->groups = epiqp_room(pb, pb->data->groups, sizeof *out->groups);
    out->weights = epiqp_room(pb, n, sizeof *out->weights);
    out->scale = epiqp_room(pb, points, sizeof *out->scale);
    double *room = epiqp_room(pb, (2 * n + pb->data->groups) * pb->e.threads, sizeof *room);
    bool whole = out->scale && out->picked && out->gain && out->right && out->groups && out->weights && room;
    for (int k = 0; k < EPIQP_BELIEFS && whole; k++) {
        epiqp_form *f = &out->form[k];
        f->own = epiqp_room(pb, k == EPIQP_BELIEF_KERNEL ? 0 : points, sizeof *f->own);
        f->past = epiqp_room(pb, picks * points, sizeof *f->past);
        whole = f->own && f->past;
    }
    if (!whole) return EPIQ_E_NOMEM;
    out->form[EPIQP_BELIEF_KERNEL].w = e->fit->ridge.shift;
    fill_own(out, room);
    for (ptrdiff_t p = 0; p < points; p++) {
        double mixed = mix(out, p);
        bool scaled = mixed > 0 && (e->found->influence.share || e->found->retrain.known);
        out->scale[p] = scaled ? epiqp_data_part(e->found, p).variance / mixed : 1;
    }
    return EPIQ_OK;
}

/* ---- a column F(x,x*) before any pick ---- */

/* The covariance over starts of infinitely wide networks is F(x,x*) = Q(x,x*) - c*'Q(X,x) + c'(Q c* - Q(X,x*)). This
 * makes the last bracket. */
static void infinite_right(const epiqp_belief *b, ptrdiff_t p, double *right)
{
    const epiqp_estimated *e = b->e;
    const epiqp_fit *f = e->fit;
    const double *star = f->ridge.c + p * e->problem->n;
#pragma omp parallel for schedule(dynamic) num_threads(e->problem->e.threads)
    for (ptrdiff_t i = 0; i < e->problem->n; i += BLOCK) {
        double q[BLOCK * BLOCK], *out = right + i;
        ptrdiff_t rows = epiqp_min(BLOCK, e->problem->n - i);
        epiqp_kernel_block(&f->arch, &f->rows, i, rows, &f->at, p, 1, NULL, out, rows);
        for (ptrdiff_t k = 0; k < rows; k++) {
            out[k] = -out[k];
        }
        for (ptrdiff_t from = 0; from < e->problem->n; from += BLOCK) {
            ptrdiff_t some = epiqp_min(BLOCK, e->problem->n - from);
            epiqp_kernel_block(&f->arch, &f->rows, i, rows, &f->rows, from, some, NULL, q, rows);
            e->problem->e.la->gemv('N', rows, some, 1, q, rows, star + from, 1, out);
        }
    }
}

/* Adds the other two terms to the columns of some candidates. */
static void infinite_rest(const epiqp_belief *b, ptrdiff_t p, ptrdiff_t from, ptrdiff_t some, double *column)
{
    const epiqp_estimated *e = b->e;
    const epiqp_fit *f = e->fit;
    double q[BLOCK * BLOCK];
    for (ptrdiff_t i = 0; i < e->problem->n; i += BLOCK) {
        ptrdiff_t rows = epiqp_min(BLOCK, e->problem->n - i);
        epiqp_kernel_block(&f->arch, &f->rows, i, rows, &f->at, from, some, NULL, q, rows);
        e->problem->e.la->gemv('T', rows, some, -1, q, rows, f->ridge.c + p * e->problem->n + i, 1, column);
    }
    epiqp_kernel_block(&f->arch, &f->at, from, some, &f->at, p, 1, NULL, q, some);
    epiqp_axpy(some, 1, q, column);
}

/* The covariance over starts of trained networks: their sample covariance. */
static void member_column(const epiqp_belief *b, ptrdiff_t p, ptrdiff_t from, ptrdiff_t some, double *column)
{
    const epiqp_estimated *e = b->e;
    const double *mean = e->found->prediction;
    memset(column, 0, (size_t)some * sizeof *column);
    for (ptrdiff_t k = 0; k < e->found->ev.members; k++) {
        const double *h = e->found->ev.h + k * e->problem->points;
        double star = (h[p] - mean[p]) / (double)(e->found->ev.members - 1);
        for (ptrdiff_t x = 0; x < some; x++) {
            column[x] += star * (h[from + x] - mean[from + x]);
        }
    }
}

static void make_columns(epiqp_belief *b, ptrdiff_t p)
{
    const epiqp_estimated *e = b->e;
    const epiqp_fit *f = e->fit;
    const ptrdiff_t n = e->problem->n, points = e->problem->points;
    const epiq_options *o = &e->problem->plan->ran;
    const double *star = epiqp_target_weights(o, n, f->ridge.c + p * n, b->weights);
    double *right = b->right, mean[EPIQP_BELIEFS] = {0};
    epiqp_kernel_block(&f->arch, &f->rows, 0, n, &f->at, p, 1, right + EPIQP_BELIEF_KERNEL * n, NULL, n);
    apply_form(e, true, star, b->groups, right + EPIQP_BELIEF_DATA * n);
    apply_form(e, false, star, b->groups, right + EPIQP_BELIEF_UNBIASED * n);
    apply_smoothed(e, star, right + EPIQP_BELIEF_SMOOTHED * n);
    /* with targets centred w(x)'z = c(x)'(z - mean z) + mean z */
    for (int k = EPIQP_BELIEF_DATA; o->scale == EPIQ_SCALE_STANDARD && k <= EPIQP_BELIEF_SMOOTHED; k++) {
        mean[k] = centre(n, right + k * n);
    }
    bool infinite = !e->found->ev.h && e->found->closed[p].known;
    if (infinite) infinite_right(b, p, right + EPIQP_BELIEF_PROCEDURAL * n);
#pragma omp parallel for schedule(dynamic) num_threads(e->problem->e.threads)
    for (ptrdiff_t from = 0; from < points; from += BLOCK) {
        ptrdiff_t some = epiqp_min(BLOCK, points - from);
        double product[BLOCK * EPIQP_BELIEFS], kernel[BLOCK], *column[EPIQP_BELIEFS];
        e->problem->e.la->gemm('T', 'N', some, EPIQP_BELIEFS, n, 1, f->ridge.c + from * n, n, b->right, n, 0, product,
                               some);
        for (int k = 0; k < EPIQP_BELIEFS; k++) {
            column[k] = b->form[k].past + b->picks * points + from;
            for (ptrdiff_t x = 0; x < some; x++) {
                column[k][x] = product[k * some + x] + mean[k];
            }
        }
        epiqp_kernel_block(&f->arch, &f->at, from, some, &f->at, p, 1, kernel, NULL, some);
        for (ptrdiff_t x = 0; x < some; x++) { /* P = K(x,x*) - c'k(x*) */
            column[EPIQP_BELIEF_KERNEL][x] = kernel[x] - column[EPIQP_BELIEF_KERNEL][x];
        }
        if (e->found->ev.h) {
            member_column(b, p, from, some, column[EPIQP_BELIEF_PROCEDURAL]);
        } else if (infinite) {
            infinite_rest(b, p, from, some, column[EPIQP_BELIEF_PROCEDURAL]);
        }
    }
}

/* ---- picks ---- */

/* F(x,x*), x* = p, from before any pick to after all of them. */
static double caught_up(const epiqp_belief *b, const epiqp_form *f, ptrdiff_t x, ptrdiff_t p, double value)
{
    for (ptrdiff_t t = 0; t < b->picks; t++) {
        const double *past = f->past + t * b->e->problem->points, *g = b->gain + t * b->e->problem->points;
        value += ((past[b->picked[t]] + f->w) * g[p] - past[p]) * g[x] - past[x] * g[p];
    }
    return value;
}

void epiqp_belief_observe(epiqp_belief *b, ptrdiff_t p)
{
    const ptrdiff_t points = b->e->problem->points, now = b->picks * points;
    double *gain = b->gain + now, whole;
    make_columns(b, p);
    epiqp_kernel_diagonal(&b->e->fit->arch, &(epiqp_rows){.n = 1, .norm2 = b->e->fit->at.norm2 + p}, &whole, NULL);
#pragma omp parallel for schedule(static) num_threads(b->e->problem->e.threads)
    for (ptrdiff_t x = 0; x < points; x++) {
        for (int k = 0; k < EPIQP_BELIEFS; k++) {
            b->form[k].past[now + x] = caught_up(b, &b->form[k], x, p, b->form[k].past[now + x]);
        }
    }
    const double *kernel = b->form[EPIQP_BELIEF_KERNEL].past + now;
    double divisor = kernel[p] + b->form[EPIQP_BELIEF_KERNEL].w;
    bool known = divisor <= 1e-12 * whole; /* without a ridge, at a row: what is left of P is rounding, nothing moves */
    for (ptrdiff_t x = 0; x < points; x++) {
        gain[x] = known ? 0 : kernel[x] / divisor;
    }
    for (int k = EPIQP_BELIEF_KERNEL + 1; k < EPIQP_BELIEFS; k++) {
        const epiqp_form *f = &b->form[k];
        const double *column = f->past + now;
        for (ptrdiff_t x = 0; x < points; x++) {
            f->own[x] += ((column[p] + f->w) * gain[x] - 2 * column[x]) * gain[x];
        }
    }
    b->picked[b->picks++] = p;
}

double epiqp_belief_data(const epiqp_belief *b, ptrdiff_t p)
{
    return b->scale[p] * mix(b, p);
}

double epiqp_belief_procedural(const epiqp_belief *b, ptrdiff_t p)
{
    return fmax(b->form[EPIQP_BELIEF_PROCEDURAL].own[p], 0); /* below 0 is rounding */
}
