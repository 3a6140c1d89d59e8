/* points.c - the points of an estimate, those asked for, then those of its sweeps and those between rows, as the kernel can take
 * them; points that deserve a warning.
 */
#include "run/run.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double SMALLEST_SQUARE = 1e-290; /* of the longest row: below, kernels of shorter ones lose digits */

/* The result has its points' names for longer than the points may live. */
static int copy_names(const epiqp_problem *pb, const epiq_points *where, const char **name)
{
    ptrdiff_t size = 0;
    for (ptrdiff_t p = 0; p < pb->asked; p++) {
        size += (ptrdiff_t)strlen(where->at[p]) + 1;
    }
    char *text = epiqp_arena_alloc(pb->e.c, pb->lasting, size, 1);
    for (ptrdiff_t p = 0; text && p < pb->asked; p++) {
        name[p] = text;
        text = stpcpy(text, where->at[p]) + 1;
    }
    return text ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* The largest |x|^2 of a row, and whether squares of the rows are doubles. */
static int check_rows(const epiqp_problem *pb, const epiq_options *o, double *longest2)
{
    const ptrdiff_t d = pb->table->d;
    bool any = false;
    *longest2 = 0;
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        const double *x = pb->table->x + i * d;
        *longest2 = fmax(*longest2, epiqp_dot(d, x, x));
        if (!(*longest2 <= EPIQP_LARGEST_SQUARE)) {
            return epiqp_fail(pb->e.c, EPIQ_E_NUMERIC,
                              "row %td is too large to be squared; use {--scale} standard, or other units",
                              pb->table->row[i]);
        }
        for (ptrdiff_t f = 0; f < d; f++) {
            any |= x[f] != 0;
        }
    }
    return o->bias == 0 && any && *longest2 < SMALLEST_SQUARE
               ? epiqp_fail(pb->e.c, EPIQ_E_NUMERIC,
                            "the rows are too small to be squared; use {--scale} standard, or other units")
               : EPIQ_OK;
}

typedef struct {
    ptrdiff_t point, feature;
    double value;
} outside;
/* Of the points asked for. */
typedef struct {
    ptrdiff_t at_origin, outside;
    outside first;
} counted;

/* given: scratch of d. */
static int settle(const epiqp_problem *pb, const epiq_options *o, double longest2, double *at, double *given,
                  counted *out)
{
    const ptrdiff_t d = pb->table->d;
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        double *x = at + p * d;
        epiqp_point_kind kind = epiqp_point_settle(o, longest2, d, x);
        if (kind == EPIQP_POINT_TOO_FAR) {
            return epiqp_fail(pb->e.c, EPIQ_E_NUMERIC,
                              "the point %s is too far from the rows to be squared; check its units", pb->name[p]);
        }
        if (p >= pb->asked) continue;
        out->at_origin += kind == EPIQP_POINT_AT_ORIGIN;
        for (ptrdiff_t f = 0; f < d; f++) { /* before scaling; rounding may take the largest of doubles beyond them */
            given[f] = fmax(-DBL_MAX, fmin(pb->table->shift[f] + pb->table->factor[f] * x[f], DBL_MAX));
        }
        ptrdiff_t f = epiqp_point_outside(d, given, pb->table->least, pb->table->most);
        if (f >= 0 && !out->outside++) out->first = (outside){p, f, given[f]};
    }
    return EPIQ_OK;
}

static int warn(const epiqp_problem *pb, const epiq_options *o, const counted *w)
{
    const outside *first = &w->first;
    int s = EPIQ_OK;
    if (w->at_origin) {
        s = o->bias != 0
                ? epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_JUMP,
                             "networks whose biases start at 0 jump at the scaled origin (%td of %td points): a step "
                             "to any side of it gives another answer; use {--bias-sd} 1, or ask beside it",
                             w->at_origin, pb->asked)
                : epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_ZERO_BY_CONSTRUCTION,
                             "without bias every network is exactly 0 at the scaled origin, so that networks have no "
                             "variance there (%td of %td points); use {--bias} 1",
                             w->at_origin, pb->asked);
    }
    if (s || !w->outside) return s;
    const char *feature = pb->table->feature[first->feature];
    const double least = pb->table->least[first->feature], most = pb->table->most[first->feature];
#define FAR "networks extrapolate there, and far outside no prediction interval is given"
    return pb->asked == 1
               ? epiqp_warn(
                     pb->e.c, pb->warnings, EPIQ_W_OUTSIDE_RANGE,
                     "the point %s lies outside the range of the rows (its %s is %.6g and not in [%.6g, %.6g]): " FAR,
                     pb->name[first->point], feature, first->value, least, most)
               : epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_OUTSIDE_RANGE,
                            "%td of %td points lie outside the range of the rows (first: %s, whose %s is %.6g and not "
                            "in [%.6g, %.6g]): " FAR,
                            w->outside, pb->asked, pb->name[first->point], feature, first->value, least, most);
}

/* Halfway between two rows drawn at random: places like those of the rows, which no network has seen. u: scratch. */
static void fill_between(const epiqp_problem *pb, uint64_t seed, double *u, double *at, const char **name)
{
    const ptrdiff_t d = pb->table->d, first = pb->points - pb->between;
    epiqp_uniforms((epiqp_stream){seed, EPIQP_FOR_BETWEEN, 0}, 2 * pb->between, u);
    for (ptrdiff_t k = 0; k < pb->between; k++) {
        const double *pair[2];
        for (int side = 0; side < 2; side++) {
            const ptrdiff_t row = (ptrdiff_t)(u[2 * k + side] * (double)pb->n);
            pair[side] = pb->table->x + epiqp_min(row, pb->n - 1) * d;
        }
        for (ptrdiff_t f = 0; f < d; f++) {
            at[(first + k) * d + f] = pair[0][f] / 2 + pair[1][f] / 2;
        }
        name[first + k] = "between rows";
    }
}

int epiqp_points_settle(epiqp_problem *pb, const epiq_options *o, const epiq_points *where, const epiqp_sweeps *sweeps)
{
    const ptrdiff_t d = pb->table->d;
    double u[2 * EPIQP_BETWEEN];
    pb->between = o->confidence == EPIQ_CONFIDENCE_HALVES && o->engine == EPIQ_ENGINE_NETWORK ? EPIQP_BETWEEN : 0;
    pb->points = pb->asked + sweeps->points + pb->between;
    double *at = epiqp_room(pb, (pb->points + 1) * d, sizeof *at), longest2;
    const char **name = epiqp_room(pb, pb->points, sizeof *name);
    ptrdiff_t *left_out = epiqp_room(pb, pb->points, sizeof *left_out);
    if (!at || !name || !left_out) return EPIQ_E_NOMEM;
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        left_out[p] = p < pb->asked ? where->left_out[p] : -1;
        if (left_out[p] >= 0) pb->left_out = left_out;
    }
    memcpy(at, where->x, (size_t)(pb->asked * d) * sizeof *at);
    pb->at_table = at;
    pb->name = name;
    fill_between(pb, o->seed, u, at, name);
    counted w = {0};
    int s = copy_names(pb, where, name);
    if (s || (s = epiqp_sweeps_fill(pb, sweeps, at, name)) || (s = check_rows(pb, o, &longest2)) ||
        (s = settle(pb, o, longest2, at, at + pb->points * d, &w)) || (s = epiqp_wide_points(pb))) {
        return s;
    }
    return warn(pb, o, &w);
}
