/* believe.c - the rule of explore.h carried out. A column F(x,x*) as it was before any pick is one product of all c
 * with an n-vector; the picks since then are caught up on in O(picks) a candidate. So a pick costs
 * O(points (n + m + picks)), and for infinitely wide networks n (n + points) values of Q besides, which are cheaper
 * made than kept.
 */
#include "decide/explore.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { BLOCK = EPIQP_BLOCK }; /* candidates of one product: c of them stays in the cache for all forms */

/* ---- IF's V as a form: V(c) = c'Phi c, Phi = U C G'G C U + diag(excess), U the residuals used, C centring, G sums
 * over groups ---- */

static void centre(ptrdiff_t n, double *v)
{
    double mean = epiqp_mean(v, n);
    for (ptrdiff_t i = 0; i < n; i++) {
        v[i] -= mean;
    }
}

/* out = Phi b. sums: as many doubles as there are groups. */
static void apply_form(const epiqp_job *j, const double *used, const double *excess, const double *b, double *sums,
                       double *out)
{
    const ptrdiff_t n = j->n, *group = j->data->group;
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = used[i] * b[i];
    }
    centre(n, out);
    memset(sums, 0, (size_t)j->data->groups * sizeof *sums);
    for (ptrdiff_t i = 0; i < n; i++) {
        sums[group[i]] += out[i];
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = sums[group[i]];
    }
    centre(n, out);
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = used[i] * out[i] + (excess ? j->excess_unit * excess[i] * j->excess_unit * b[i] : 0);
    }
}

/* The smoothed V of moderated is c'diag(m) c. */
static void apply_smoothed(const epiqp_job *j, const double *b, double *out)
{
    for (ptrdiff_t i = 0; i < j->n; i++) {
        out[i] = j->share ? j->smoothed[i] * b[i] : 0;
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
    const epiqp_job *j = b->j;
    const ptrdiff_t n = j->n, each = n + j->data->groups;
#pragma omp parallel for schedule(static) num_threads(j->e.threads)
    for (ptrdiff_t p = 0; p < j->points; p++) {
        const double *c = j->fit.ridge.c + p * n;
        double *v = room + each * omp_get_thread_num();
        apply_form(j, j->used, j->excess, c, v + n, v);
        b->form[EPIQP_BELIEF_DATA].own[p] = epiqp_dot(n, c, v);
        apply_form(j, j->used, NULL, c, v + n, v);
        b->form[EPIQP_BELIEF_UNBIASED].own[p] = epiqp_dot(n, c, v);
        apply_smoothed(j, c, v);
        b->form[EPIQP_BELIEF_SMOOTHED].own[p] = epiqp_dot(n, c, v);
        b->form[EPIQP_BELIEF_PROCEDURAL].own[p] = j->member_h ? j->ev[p].variance : j->infinite[p].variance;
    }
}

/* The data variance as things stand, its parts in the shares they had before any pick. */
static double mix(const epiqp_belief *b, ptrdiff_t p)
{
    double least = b->j->excess ? EPIQP_ROWWISE_FLOOR * b->form[EPIQP_BELIEF_UNBIASED].own[p] : 0;
    double own = fmax(b->form[EPIQP_BELIEF_DATA].own[p], fmax(least, 0)), share = b->j->share ? b->j->share[p] : 1;
    return share * own + (1 - share) * fmax(b->form[EPIQP_BELIEF_SMOOTHED].own[p], 0);
}

int epiqp_belief_new(epiqp_job *j, ptrdiff_t picks, epiqp_belief *out)
{
    epiq_ctx *c = j->e.c;
    const ptrdiff_t n = j->n, points = j->points, each = n + j->data->groups;
    *out = (epiqp_belief){.j = j};
    out->picked = epiqp_arena_alloc(c, &j->scratch, picks, sizeof *out->picked);
    out->gain = epiqp_arena_alloc(c, &j->scratch, picks * points, sizeof *out->gain);
    out->right = epiqp_arena_alloc(c, &j->scratch, EPIQP_BELIEFS * n, sizeof *out->right);
    out->groups = epiqp_arena_alloc(c, &j->scratch, j->data->groups, sizeof *out->groups);
    out->scale = epiqp_arena_alloc(c, &j->scratch, points, sizeof *out->scale);
    double *room = epiqp_arena_alloc(c, &j->scratch, each * j->e.threads, sizeof *room);
    bool whole = out->scale && out->picked && out->gain && out->right && out->groups && room;
    for (int k = 0; k < EPIQP_BELIEFS && whole; k++) {
        epiqp_form *f = &out->form[k];
        f->own = epiqp_arena_alloc(c, &j->scratch, k == EPIQP_BELIEF_KERNEL ? 0 : points, sizeof *f->own);
        f->past = epiqp_arena_alloc(c, &j->scratch, picks * points, sizeof *f->past);
        whole = f->own && f->past;
    }
    if (!whole) {
        return EPIQ_E_NOMEM;
    }
    out->form[EPIQP_BELIEF_KERNEL].w = j->fit.ridge.shift;
    fill_own(out, room);
    for (ptrdiff_t p = 0; p < points; p++) {
        double mixed = mix(out, p);
        out->scale[p] = (j->share || j->retrain.found.left_out.kappa > 0) && mixed > 0 ? j->inf[p].variance / mixed : 1;
    }
    return EPIQ_OK;
}

/* ---- a column F(x,x*) as it was before any pick ---- */

/* Over starts, of infinitely wide networks: F(x,x*) = Q(x,x*) - c*'Q(X,x) + c'(Q c* - Q(X,x*)). Here the last
 * bracket alone. */
static void infinite_right(const epiqp_belief *b, ptrdiff_t p, double *right)
{
    const epiqp_job *j = b->j;
    const epiqp_fit *f = &j->fit;
    const double *star = f->ridge.c + p * j->n;
#pragma omp parallel for schedule(dynamic) num_threads(j->e.threads)
    for (ptrdiff_t i = 0; i < j->n; i += BLOCK) {
        double q[BLOCK * BLOCK], *out = right + i;
        ptrdiff_t rows = epiqp_min(BLOCK, j->n - i);
        epiqp_kernel_block(&f->arch, &f->rows, i, rows, &f->at, p, 1, NULL, out, rows);
        for (ptrdiff_t k = 0; k < rows; k++) {
            out[k] = -out[k];
        }
        for (ptrdiff_t from = 0; from < j->n; from += BLOCK) {
            ptrdiff_t some = epiqp_min(BLOCK, j->n - from);
            epiqp_kernel_block(&f->arch, &f->rows, i, rows, &f->rows, from, some, NULL, q, rows);
            j->e.la->gemv('N', rows, some, 1, q, rows, star + from, 1, out);
        }
    }
}

/* And the rest of it, added to some candidates' columns. */
static void infinite_rest(const epiqp_belief *b, ptrdiff_t p, ptrdiff_t from, ptrdiff_t some, double *column)
{
    const epiqp_job *j = b->j;
    const epiqp_fit *f = &j->fit;
    double q[BLOCK * BLOCK];
    for (ptrdiff_t i = 0; i < j->n; i += BLOCK) {
        ptrdiff_t rows = epiqp_min(BLOCK, j->n - i);
        epiqp_kernel_block(&f->arch, &f->rows, i, rows, &f->at, from, some, NULL, q, rows);
        j->e.la->gemv('T', rows, some, -1, q, rows, f->ridge.c + p * j->n + i, 1, column);
    }
    epiqp_kernel_block(&f->arch, &f->at, from, some, &f->at, p, 1, NULL, q, some);
    epiqp_axpy(some, 1, q, column);
}

/* Over starts, of members: their sample covariance. */
static void member_column(const epiqp_belief *b, ptrdiff_t p, ptrdiff_t from, ptrdiff_t some, double *column)
{
    const epiqp_job *j = b->j;
    const double *mean = j->prediction;
    memset(column, 0, (size_t)some * sizeof *column);
    for (ptrdiff_t k = 0; k < j->o.members; k++) {
        const double *h = j->member_h + k * j->points;
        double star = (h[p] - mean[p]) / (double)(j->o.members - 1);
        for (ptrdiff_t x = 0; x < some; x++) {
            column[x] += star * (h[from + x] - mean[from + x]);
        }
    }
}

static void make_columns(epiqp_belief *b, ptrdiff_t p)
{
    const epiqp_job *j = b->j;
    const epiqp_fit *f = &j->fit;
    const ptrdiff_t n = j->n, points = j->points;
    const double *star = f->ridge.c + p * n;
    double *right[EPIQP_BELIEFS];
    for (int k = 0; k < EPIQP_BELIEFS; k++) {
        right[k] = b->right + k * n;
    }
    epiqp_kernel_block(&f->arch, &f->rows, 0, n, &f->at, p, 1, right[EPIQP_BELIEF_KERNEL], NULL, n);
    apply_form(j, j->used, j->excess, star, b->groups, right[EPIQP_BELIEF_DATA]);
    apply_form(j, j->used, NULL, star, b->groups, right[EPIQP_BELIEF_UNBIASED]);
    apply_smoothed(j, star, right[EPIQP_BELIEF_SMOOTHED]);
    bool infinite = !j->member_h && j->infinite[p].known;
    if (infinite) {
        infinite_right(b, p, right[EPIQP_BELIEF_PROCEDURAL]);
    }
#pragma omp parallel for schedule(dynamic) num_threads(j->e.threads)
    for (ptrdiff_t from = 0; from < points; from += BLOCK) {
        ptrdiff_t some = epiqp_min(BLOCK, points - from);
        double product[BLOCK * EPIQP_BELIEFS], kernel[BLOCK], *column[EPIQP_BELIEFS];
        j->e.la->gemm('T', 'N', some, EPIQP_BELIEFS, n, 1, f->ridge.c + from * n, n, b->right, n, 0, product, some);
        for (int k = 0; k < EPIQP_BELIEFS; k++) {
            column[k] = b->form[k].past + b->picks * points + from;
            memcpy(column[k], product + k * some, (size_t)some * sizeof *product);
        }
        epiqp_kernel_block(&f->arch, &f->at, from, some, &f->at, p, 1, kernel, NULL, some);
        for (ptrdiff_t x = 0; x < some; x++) { /* P = K(x,x*) - c'k(x*) */
            column[EPIQP_BELIEF_KERNEL][x] = kernel[x] - column[EPIQP_BELIEF_KERNEL][x];
        }
        if (j->member_h) {
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
        const double *past = f->past + t * b->j->points, *g = b->gain + t * b->j->points;
        value += ((past[b->picked[t]] + f->w) * g[p] - past[p]) * g[x] - past[x] * g[p];
    }
    return value;
}

void epiqp_belief_observe(epiqp_belief *b, ptrdiff_t p)
{
    const ptrdiff_t points = b->j->points, now = b->picks * points;
    double *gain = b->gain + now, whole;
    make_columns(b, p);
    epiqp_kernel_diagonal(&b->j->fit.arch, &(epiqp_rows){.n = 1, .norm2 = b->j->fit.at.norm2 + p}, &whole, NULL);
#pragma omp parallel for schedule(static) num_threads(b->j->e.threads)
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
