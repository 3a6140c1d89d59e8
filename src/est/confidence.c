/* confidence.c - the interval of the expected prediction at every point, from what the estimators found: centre -+ t sqrt(variance)
 * (docs/method.md section 3).
 */
#include "est/assemble.h"

#include "common/student.h"
#include "est/variance.h"

#include <float.h>
#include <math.h>

/* Of a sum of independent variances: Satterthwaite's degrees of freedom; df 0: exact. */
static double joined_df(double a, double df_a, double b, double df_b)
{
    if (!(a + b > 0)) return 0;
    const double share_a = a / (a + b), share_b = b / (a + b),
                 inverse = (df_a > 0 ? share_a * share_a / df_a : 0) + (df_b > 0 ? share_b * share_b / df_b : 0);
    return inverse > 0 ? 1 / inverse : 0;
}

/* Networks on batches. Those whose batch has the row that is left out are not asked. */
static epiq_confidence by_batches(const epiqp_problem *pb, const epiqp_ba_findings *f, ptrdiff_t p)
{
    const ptrdiff_t row = pb->left_out ? pb->left_out[p] : -1;
    epiq_confidence out = {0};
    double mean = 0, square = 0, m = 0;
    for (int pass = 0; f->h && pass < 2; pass++) {
        m = 0;
        for (ptrdiff_t b = 0; b < f->batches; b++) {
            if (row >= 0 && f->batch_of[row] == b) continue;
            const double h = f->h[b * pb->points + p];
            m++;
            if (pass == 0) mean += h;
            if (pass == 1) square += (h - mean) * (h - mean);
        }
        if (pass == 0) mean = m > 0 ? mean / m : 0;
    }
    if (m < 2) return out;
    out = (epiq_confidence){.known = 1, .centre = mean, .variance = square / (m - 1) / m, .df = m - 1};
    out.networks = (ptrdiff_t)m * epiqp_trainings_each(&pb->plan->ran);
    return out;
}

/* What is left of the procedural part in the mean of the networks on all rows. */
static double rest_of(const epiqp_ev_findings *ev, ptrdiff_t p)
{
    return ev->part[p].variance / (double)ev->members;
}

/* Networks on rows drawn anew tell what the data part does to one, those on all rows what is left of the procedural part of
 * their mean. Without a part of the rows they tell both what rows do, and what the number of rows does. */
static epiq_confidence by_resamples(const epiqp_problem *pb, const epiqp_findings *f, ptrdiff_t p)
{
    const epiqp_ev_findings *ev = &f->ev;
    const bool jackknife = pb->plan->ran.confidence == EPIQ_CONFIDENCE_JACKKNIFE;
    const ptrdiff_t count = f->resampled.resamples;
    const double *off = f->resampled.off + p, R = (double)count, rest = rest_of(ev, p);
    double squares = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        squares += off[k * pb->points] * off[k * pb->points];
    }
    const double data = jackknife ? (R - 1) * (R - 1) / R * fmax(epiqp_variance_of(off, count, pb->points), 0)
                                  : squares / R,
                 bias = jackknife ? (R - 1) * epiqp_mean_of(off, count, pb->points) : 0;
    return (epiq_confidence){
        .known = 1,
        .centre = f->prediction[p] - bias,
        .variance = data + rest,
        .df = joined_df(data, jackknife ? R - 1 : R, rest, (double)(ev->members - 1)),
    };
}

/* Of the way from n rows to the limit of many: what may be wrong with it, as a standard deviation. */
static const double ALLOWED = 0.25;

/* How far kernel regression is from its limit, and the square of what may be wrong with that. */
static double way_to_limit(const epiqp_limit *l, ptrdiff_t p, double *error2)
{
    const double way = l->prediction[p] - l->now[p];
    *error2 = ALLOWED * way * (ALLOWED * way);
    return way;
}

/* Networks are expected to follow the data here as they do between rows, as if so many pairs of halves had said so. */
static const double EXPECTED = 2;

/* Half the differences of networks on two halves of the rows, of kernel regression on the same, and their products: sums over
 * the pairs. */
typedef struct {
    double squares, own, both;
} differences;

static differences differences_at(const epiqp_problem *pb, const epiqp_resampled *r, ptrdiff_t p)
{
    const double *off = r->off + p, *kernel = r->kernel ? r->kernel + p : NULL;
    differences out = {0};
    for (ptrdiff_t k = 0; k + 1 < r->resamples; k += 2) {
        const ptrdiff_t a = k * pb->points, b = a + pb->points;
        const double d = (off[a] - off[b]) / 2, c = kernel ? (kernel[a] - kernel[b]) / 2 : 0;
        out.both += d * c;
        out.own += c * c;
        out.squares += d * d;
    }
    return out;
}

/* How far networks follow the data, kernel regression being 1: from points between rows, each in units of its data variance. */
static double followed_between(const epiqp_problem *pb, const epiqp_findings *f)
{
    double both = 0, own = 0;
    for (ptrdiff_t p = pb->points - pb->between; p < pb->points; p++) {
        const epiq_part *part = &f->limit.part[p];
        if (!part->known || !(part->variance > 0)) continue;
        const differences here = differences_at(pb, &f->resampled, p);
        both += here.both / part->variance;
        own += here.own / part->variance;
    }
    return own > 0 && isfinite(both / own) ? fmax(both / own, 0) : 1;
}

/* Networks on both halves of the rows, over and over: half their difference varies as the prediction of all rows does. With kernel
 * regression on the same halves as control variate, whose data variance is known, and which tells the way to the limit of many
 * rows; as far as networks do not follow the data like it, that way is not theirs. between: how far they follow it between rows. */
static epiq_confidence by_halves(const epiqp_problem *pb, const epiqp_findings *f, double between, ptrdiff_t p)
{
    const epiq_part *part = f->limit.known ? &f->limit.part[p] : NULL;
    const double P = (double)(f->resampled.resamples / 2), rest = rest_of(&f->ev, p),
                 rest_df = (double)(f->ev.members - 1);
    const differences here = differences_at(pb, &f->resampled, p);
    if (!(here.own > 0) || !part || !part->known || P < 2) {
        return (epiq_confidence){.known = 1,
                                 .centre = f->prediction[p],
                                 .variance = here.squares / P + rest,
                                 .df = joined_df(here.squares / P, P, rest, rest_df)};
    }
    double error2;
    const double V = part->variance, df = P + EXPECTED, weight = here.own + EXPECTED * V,
                 b = (here.both + EXPECTED * V * between) / weight,
                 beside = fmax(here.squares - 2 * b * here.both + b * b * here.own, 0) / P,
                 known = (b * b + (1 - b) * (1 - b)) * V, slope = (4 * b - 2) * V,
                 way = way_to_limit(&f->limit, p, &error2), sum = known + beside + rest + error2;
    /* twice the variance of their sum: b has the variance beside/weight */
    const double spread = known * known * (part->df > 0 ? 2 / part->df : 0) + slope * slope * (beside / weight) +
                          2 * beside * beside / df + 2 * rest * rest / rest_df;
    return (epiq_confidence){.known = 1,
                             .centre = f->prediction[p] + way,
                             .variance = sum,
                             .df = spread > 0 ? fmax(2 * sum * sum / spread, df) : 0};
}

/* The variance of the prediction, as it stands beside it; as it would be in the limit of many rows where that is known. */
static epiq_confidence by_parts(const epiqp_problem *pb, const epiqp_findings *f, const epiq_point *point, ptrdiff_t p)
{
    const double unit2 = pb->data->y_factor * pb->data->y_factor;
    const epiq_part *part = &point->prediction_variance, data = epiqp_data_part(f, p),
                    *now = f->influence.part ? &f->influence.part[p] : NULL;
    if (!part->known || (part->variance > 0 && !(part->df > 0))) return (epiq_confidence){0};
    const ptrdiff_t members = f->ev.h ? f->ev.members : 0, others = !f->retrain.part ? 0
                                                                    : pb->engine     ? epiqp_fold_networks(pb, pb->plan)
                                                                                     : f->retrain.networks;
    epiq_confidence out = {.known = 1,
                           .centre = f->prediction[p],
                           .variance = part->variance / unit2,
                           .df = part->df,
                           .networks = (members + others) * epiqp_trainings_each(&pb->plan->ran)};
    if (f->limit.known && f->limit.part[p].known && data.known && now && now->variance > 0) {
        double error2;
        out.centre += way_to_limit(&f->limit, p, &error2);
        out.variance += data.variance * (f->limit.part[p].variance / now->variance - 1) + error2;
    }
    return out;
}

static void write_confidence(const epiqp_problem *pb, const epiqp_findings *f, double between, ptrdiff_t p,
                             epiq_point *out)
{
    const epiq_options *o = &pb->plan->ran;
    const double unit = pb->data->y_factor;
    epiq_confidence c = {0};
    switch (o->confidence) {
    case EPIQ_CONFIDENCE_BATCHING:
        c = by_batches(pb, &f->ba, p);
        break;
    case EPIQ_CONFIDENCE_BOOTSTRAP:
    case EPIQ_CONFIDENCE_JACKKNIFE:
    case EPIQ_CONFIDENCE_HALVES:
        if (!f->resampled.off || !f->ev.part[p].known) break;
        c = o->confidence == EPIQ_CONFIDENCE_HALVES ? by_halves(pb, f, between, p) : by_resamples(pb, f, p);
        c.networks = (f->resampled.resamples + f->ev.members) * epiqp_trainings_each(o);
        break;
    case EPIQ_CONFIDENCE_RETRAIN:
        c = by_parts(pb, f, out, p);
        break;
    default:
        return;
    }
    c.method = o->confidence;
    const double half = c.known && c.variance > 0
                            ? epiqp_student_quantile(c.df > 0 ? c.df : DBL_MAX, o->level) * sqrt(c.variance) * unit
                            : 0;
    c.centre = pb->data->y_shift + unit * c.centre;
    c.variance *= unit * unit;
    c.lo = c.centre - half;
    c.hi = c.centre + half;
    /* few degrees of freedom at a high level have ends that no double holds, or that say nothing */
    c.known = c.known && isfinite(c.lo) && isfinite(c.hi) && c.variance <= DBL_MAX;
    out->confidence = c.known ? c : (epiq_confidence){.method = o->confidence};
}

void epiqp_write_confidence(const epiqp_problem *pb, const epiqp_findings *f, epiq_point *points)
{
    const bool halves = pb->plan->ran.confidence == EPIQ_CONFIDENCE_HALVES && f->resampled.off && f->limit.known;
    const double between = halves ? followed_between(pb, f) : 1;
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        write_confidence(pb, f, between, p, &points[p]);
    }
}
