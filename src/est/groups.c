/* groups.c - rows that are repeated measurements of one thing: residuals corrected for the leverage of a whole group, and
 * each row predicted without its group (docs/method.md section 3). With B = A^-1, s the ridge and g the rows of a group,
 *     M = s B,   (M^2)_gg = s^2 B_g. B_.g = E diag(w) E'
 *     unbiased:   E diag(w^(-1/2)) E' r_g          (CR2 of Bell and McCaffrey: variance s_e^2 I where the noise has that)
 *     jackknife:  (M_gg)^-1 r_g                    (what r_g is when the fit has not seen the group)
 * A group that fits itself has a small w in the direction of its mean, which single rows' leverages do not show.
 */
#include "est/if.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STRIP = 256 };             /* rows of B that are taken at a time */
static const double SMALL = 1e-6; /* an eigenvalue so much smaller than the largest has ten digits left */

double epiqp_groups_bytes(const epiqp_problem *pb)
{
    const ptrdiff_t largest = pb->data->largest_group;
    if (largest < 2 || largest > EPIQP_LARGEST_GROUP) return 0;
    double at_once = (double)epiqp_min(pb->e.threads, pb->n / largest);
    return 8 * at_once * (double)largest * (double)(5 * largest + STRIP); /* 2 of these are LAPACK's */
}

typedef struct {
    const epiqp_problem *pb;
    const epiqp_ridge *r;
    const double *residual; /* n: as IF takes them */
    epiqp_grouped *out;
} correcting;

/* Sums of squares over the rows of B_.g, taken a strip at a time: out becomes the lower triangle of B_g. B_.g (size by size)
 * or, with vectors e_k, |B_.g e_k|^2 (size). strip: STRIP by size + 1. */
static int sum_squares(const correcting *w, ptrdiff_t size, const ptrdiff_t *rows, const double *vectors, double *strip,
                       double *out)
{
    const epiqp_la *la = w->pb->e.la;
    double *turned = strip + STRIP * size;
    memset(out, 0, (size_t)(vectors ? size : size * size) * sizeof *out);
    for (ptrdiff_t i = 0; i < w->pb->n; i += STRIP) {
        ptrdiff_t some = epiqp_min(STRIP, w->pb->n - i);
        int s = epiqp_inverse_part(&w->pb->e, &w->r->inverse, i, some, NULL, size, rows, strip);
        if (s) return s;
        if (!vectors) la->syrk('T', size, some, 1, strip, some, out, size);
        for (ptrdiff_t k = 0; vectors && k < size; k++) {
            la->gemv('N', some, size, 1, strip, some, vectors + k * size, 0, turned);
            out[k] += epiqp_dot(some, turned, turned);
        }
    }
    return EPIQ_OK;
}

/* The upper triangle from the lower; swap: and the lower from the upper. */
static void mirror(ptrdiff_t size, bool swap, double *a)
{
    for (ptrdiff_t k = 0; k < size; k++) {
        for (ptrdiff_t i = 0; i < k; i++) {
            double upper = a[i + k * size];
            a[i + k * size] = a[k + i * size];
            a[k + i * size] = swap ? upper : a[k + i * size];
        }
    }
}

/* out_g = E diag(w^(-1/2)) E' x_g / scale. a: size by 2, scratch. */
static void standardise(const epiqp_la *la, ptrdiff_t size, const ptrdiff_t *rows, const double *vectors,
                        const double *values, double scale, const double *x, double *a, double *out)
{
    double *turned = a + size;
    for (ptrdiff_t k = 0; k < size; k++) {
        a[k] = x[rows[k]];
    }
    la->gemv('T', size, size, 1, vectors, size, a, 0, turned);
    for (ptrdiff_t k = 0; k < size; k++) {
        turned[k] = values[k] > 0 ? turned[k] / (sqrt(values[k]) * scale) : 0;
    }
    la->gemv('N', size, size, 1, vectors, size, turned, 0, a);
    for (ptrdiff_t k = 0; k < size; k++) {
        out[rows[k]] = a[k];
    }
}

/* Without the group: its rows' residuals, B_gg^-1 x_g/scale, and how much wider they are than the noise,
 * (B_gg^-1 (B^2)_gg B_gg^-1)_ii. block becomes its factor, square is overwritten; a: size. Returns false where B_gg is not
 * positive definite to rounding. */
static bool leave_out(const correcting *w, ptrdiff_t size, const ptrdiff_t *rows, double *block, double *square,
                      double *a)
{
    const epiqp_la *la = w->pb->e.la;
    if (la->potrf(size, block, size)) return false;
    const double *from[] = {w->r->alpha, w->residual};
    double *to[] = {w->out->left_out, w->out->jackknife};
    for (int what = 0; what < 2; what++) {
        for (ptrdiff_t k = 0; k < size; k++) {
            a[k] = from[what][rows[k]] / (what ? w->r->shift : 1);
        }
        epiqp_la_solve(la, size, block, 1, a);
        for (ptrdiff_t k = 0; k < size; k++) {
            to[what][rows[k]] = a[k];
        }
    }
    epiqp_la_solve(la, size, block, size, square);
    mirror(size, true, square);
    epiqp_la_solve(la, size, block, size, square);
    for (ptrdiff_t k = 0; k < size; k++) {
        w->out->wider[rows[k]] = sqrt(fmax(square[k + k * size], 1));
    }
    return true;
}

static void correct_single(const correcting *w, ptrdiff_t i)
{
    const epiqp_ridge *r = w->r;
    double norm = sqrt(r->norm2[i]), residual = w->residual[i] / r->shift;
    w->out->standard[i] = residual / norm;
    w->out->jackknife[i] = residual / r->diagonal[i];
    w->out->noise[i] = r->alpha[i] / norm;
    w->out->left_out[i] = r->alpha[i] / r->diagonal[i];
    w->out->wider[i] = norm / r->diagonal[i];
}

/* All ranks of a cluster work on one group together and agree on the status. */
static int agreed(const correcting *w, int status)
{
    return w->r->inverse.ranks.a ? epiq_ctx_agree(w->pb->e.c, status) : status;
}

static int correct_group(const correcting *w, ptrdiff_t size, const ptrdiff_t *rows, bool *known)
{
    const epiqp_la *la = w->pb->e.la;
    double *block = epiqp_alloc(w->pb->e.c, size * (3 * size + STRIP + 3) + STRIP, sizeof *block);
    int s = agreed(w, block ? EPIQ_OK : EPIQ_E_NOMEM);
    if (s || !block) {
        epiqp_free(w->pb->e.c, block);
        return s;
    }
    double *square = block + size * size, *vectors = square + size * size, *values = vectors + size * size,
           *a = values + size, *strip = a + 2 * size;
    if ((s = sum_squares(w, size, rows, NULL, strip, square)) ||
        (s = epiqp_inverse_part(&w->pb->e, &w->r->inverse, 0, size, rows, size, rows, block))) {
        goto end;
    }
    mirror(size, false, square);
    memcpy(vectors, square, (size_t)(size * size) * sizeof *vectors);
    if ((s = agreed(w, la->syev(w->pb->e.c, size, vectors, values)))) goto end;
    /* a small eigenvalue has lost its digits beside the largest; the vectors have theirs */
    if (!(values[0] > SMALL * values[size - 1]) && (s = sum_squares(w, size, rows, vectors, strip, values))) goto end;
    standardise(la, size, rows, vectors, values, w->r->shift, w->residual, a, w->out->standard);
    standardise(la, size, rows, vectors, values, 1, w->r->alpha, a, w->out->noise);
    *known = leave_out(w, size, rows, block, square, a);
end:
    epiqp_free(w->pb->e.c, block);
    return s;
}

/* Of the groups' mean residuals, standardised: the mean fourth power over the mean square's square, 3 at least. */
static double kurtosis_of(const epiqp_listed *of, ptrdiff_t groups, const double *standard)
{
    double largest = 0, sum2 = 0, sum4 = 0;
    for (int pass = 0; pass < 2; pass++) { /* in units of the largest: nothing overflows or vanishes */
        for (ptrdiff_t g = 0; g < groups; g++) {
            double sum = 0;
            for (ptrdiff_t k = of->start[g]; k < of->start[g + 1]; k++) {
                sum += standard[of->rows[k]];
            }
            double b = sum / sqrt((double)epiqp_listed_size(of, g));
            if (!pass) {
                largest = fmax(largest, fabs(b));
            } else if (largest > 0) {
                double z = b / largest * (b / largest);
                sum2 += z;
                sum4 += z * z;
            }
        }
    }
    return sum2 > 0 ? fmax(3, (double)groups * sum4 / (sum2 * sum2)) : 3;
}

static int correct_all(const correcting *w, const epiqp_listed *of, bool *known)
{
    const ptrdiff_t groups = w->pb->data->groups;
    atomic_int failed = EPIQ_OK;
    int unknown = 0;
#pragma omp parallel for schedule(dynamic) num_threads(w->pb->e.threads)                                                \
    reduction(+ : unknown) if (!w->r->inverse.ranks.a && w->pb->n > EPIQP_ALONE)
    for (ptrdiff_t g = 0; g < groups; g++) {
        ptrdiff_t size = epiqp_listed_size(of, g);
        bool fine = true;
        int s = atomic_load(&failed);
        if (size == 1) {
            correct_single(w, of->rows[of->start[g]]);
        } else if (!s && ((s = agreed(w, epiqp_cancel_requested(w->pb->e.c) ? EPIQ_E_STOPPED : EPIQ_OK)) ||
                          (s = correct_group(w, size, of->rows + of->start[g], &fine)))) {
            atomic_store(&failed, s);
        }
        unknown += !fine;
    }
    int status = atomic_load(&failed);
    *known = !status && !unknown;
    return status == EPIQ_E_STOPPED ? epiqp_report(w->pb->e.c, "points", 0, w->pb->points) : status;
}

static int by_row(const epiqp_problem *pb, const char *why)
{
    return epiqp_warn(
        pb->e.c, pb->warnings, EPIQ_W_GROUPS_BY_ROW,
        "leverage is corrected row by row and not for whole groups, so the data variance may be far too small: %s",
        why);
}

int epiqp_groups_new(const epiqp_problem *pb, const epiqp_ridge *r, const double *residual, epiqp_grouped *out)
{
    const ptrdiff_t n = pb->n;
    epiqp_listed of;
    *out = (epiqp_grouped){0};
    if (!epiqp_plan_inverse(pb->plan)) {
        return pb->plan->ran.correction == EPIQ_CORRECTION_NONE
                   ? EPIQ_OK
                   : by_row(pb, "that takes the inverse; use {--solver} exact and {--probes} 0");
    }
    double *block = epiqp_room(pb, 5 * n, sizeof *block);
    if (!block || epiqp_list_rows(pb, pb->data->groups, pb->data->group, &of)) return EPIQ_E_NOMEM;
    *out = (epiqp_grouped){.largest = of.largest,
                           .standard = block,
                           .jackknife = block + n,
                           .noise = block + 2 * n,
                           .left_out = block + 3 * n,
                           .wider = block + 4 * n};
    if (of.largest > EPIQP_LARGEST_GROUP) {
        char why[120];
        snprintf(why, sizeof why, "a group has %td rows, the most that are taken together are %td; use smaller groups",
                 of.largest, (ptrdiff_t)EPIQP_LARGEST_GROUP);
        return by_row(pb, why);
    }
    int s = correct_all(&(correcting){pb, r, residual, out}, &of, &out->known);
    if (!s && !out->known) return by_row(pb, "some group cannot be left out numerically; use a larger {--lambda}");
    out->kurtosis = kurtosis_of(&of, pb->data->groups, out->standard);
    return s;
}

epiq_part epiqp_if_groups(const epiqp_problem *pb, double kurtosis, const double *v, const double *c, double *sums)
{
    const ptrdiff_t n = pb->n, groups = pb->data->groups;
    epiq_part part = epiqp_if(v, n, pb->data->group, groups, sums, 0);
    double largest = epiqp_largest(c, n), total = 0, squares = 0;
    memset(sums, 0, (size_t)groups * sizeof *sums);
    for (ptrdiff_t i = 0; largest > 0 && i < n; i++) {
        sums[pb->data->group[i]] += c[i] / largest * (c[i] / largest);
    }
    for (ptrdiff_t g = 0; g < groups; g++) {
        total += sums[g];
        squares += sums[g] * sums[g];
    }
    const double most = (double)(groups - 1);
    double df = squares > 0 ? 2 / (kurtosis - 1) * (total / squares * total) : most;
    df = fmin(fmax(df, 1), most);
    return epiq_part_of(part.known ? part.variance : -1, df, pb->plan->ran.level, EPIQ_BY_IF);
}
