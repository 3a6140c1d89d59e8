/* combine.c - from what the estimators found to the answer at each point: any two give both parts, differences that
 * come out negative are withheld, sums carry Satterthwaite's degrees of freedom (docs/method.md section 3).
 */
#include "est/est.h"

#include <float.h>
#include <math.h>

epiq_part epiqp_sum_of(epiq_part a, epiq_part b, double m, double level, epiq_method method)
{
    if (!a.known || !b.known) {
        return (epiq_part){0};
    }
    double x = a.variance, y = b.variance / m, total = x + y, wobble = 0;
    bool exact_b = b.method == EPIQ_BY_INFINITE;
    if ((!a.has_interval && x > 0) || (!b.has_interval && y > 0 && !exact_b)) {
        return (epiq_part){.known = 1, .variance = total, .method = method};
    }
    wobble += a.has_interval ? x / total * (x / total) / a.df : 0; /* shares: squares of variances may not be doubles */
    wobble += b.has_interval ? y / total * (y / total) / b.df : 0;
    return epiq_part_of(total, wobble > 0 ? 1 / wobble : 0, level, method);
}

epiq_part epiqp_in_units(epiq_part part, double unit2)
{
    if (part.variance == 0) {
        return part; /* in any units, those whose square no double holds as well */
    }
    double value = part.variance * unit2;
    if (!part.known || !(value >= DBL_MIN && value <= DBL_MAX)) {
        return (epiq_part){.method = part.method};
    }
    part.variance = value;
    part.lo *= unit2;
    part.hi *= unit2;
    part.has_interval = part.has_interval && part.lo >= DBL_MIN && part.hi <= DBL_MAX;
    if (!part.has_interval) {
        part.lo = part.hi = part.open = 0;
    }
    return part;
}

/* A difference has no interval, and none of it is left when it is negative. */
static epiq_part difference(double value, epiq_method method)
{
    return (epiq_part){.known = value >= 0, .variance = value >= 0 ? value : 0, .method = method};
}

epiqp_split epiqp_split_of(epiq_part procedural, epiq_part data, epiq_part ba, double batches)
{
    epiqp_split s = {.procedural = procedural, .data = data, .method = EPIQ_BY_IF_EV};
    double value = 0;
    if (!procedural.known && data.known && ba.known) {
        value = batches * (ba.variance - data.variance);
        s.method = data.method == EPIQ_BY_RETRAIN ? EPIQ_BY_BA_RETRAIN : EPIQ_BY_BA_IF;
        s.procedural = difference(value, s.method);
    } else if (!data.known && procedural.known && ba.known) {
        value = ba.variance - procedural.variance / batches;
        s.method = EPIQ_BY_BA_EV;
        s.data = difference(value, s.method);
    } else if (procedural.method == EPIQ_BY_INFINITE) {
        s.method = EPIQ_BY_INFINITE;
    } else if (data.method == EPIQ_BY_RETRAIN) {
        s.method = EPIQ_BY_RETRAIN_EV;
    }
    s.negative = fmin(value, 0);
    return s;
}

static bool direct(const epiq_part *part)
{
    return part->known && part->method != EPIQ_BY_BA_IF && part->method != EPIQ_BY_BA_EV &&
           part->method != EPIQ_BY_BA_RETRAIN;
}

epiq_part epiqp_ensemble_of(const epiqp_split *s, epiq_part ba, const epiq_options *o)
{
    bool by_ba = ba.known && o->ensemble_size == o->batches && !(direct(&s->data) && direct(&s->procedural));
    return by_ba ? ba : epiqp_sum_of(s->data, s->procedural, (double)o->ensemble_size, o->level, s->method);
}

epiq_part epiqp_ba_corrected(epiq_part ba, double phi)
{
    return phi > 0 ? epiqp_in_units(ba, phi) : ba;
}

static int too_large(const epiqp_job *j, ptrdiff_t p)
{
    return epiqp_fail(j->e.c, EPIQ_E_NUMERIC,
                      "the prediction at %s is too large for a double in units of the target; check the point's units, "
                      "or express the target in others",
                      j->name[p]);
}

/* Every network's prediction, point by point, in target units. */
static int list_predictions(epiqp_job *j)
{
    const struct {
        const double *h;
        ptrdiff_t count;
        size_t list, length;
    } kinds[] = {
        {j->member_h, j->o.members, offsetof(epiq_point, members), offsetof(epiq_point, member_count)},
        {j->batch_h, j->o.batches, offsetof(epiq_point, batches), offsetof(epiq_point, batch_count)},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        ptrdiff_t count = kinds[k].h ? kinds[k].count : 0;
        double *all = count ? epiqp_arena_alloc(j->e.c, &j->answer->arena, count * j->points, sizeof *all) : NULL;
        if (count && !all) {
            return EPIQ_E_NOMEM;
        }
        for (ptrdiff_t p = 0; all && p < j->points; p++) {
            double *own = all + p * count;
            for (ptrdiff_t i = 0; i < count; i++) {
                own[i] = j->data->y_shift + j->data->y_factor * kinds[k].h[i * j->points + p];
            }
            for (ptrdiff_t i = 0; i < count; i++) {
                if (!isfinite(own[i])) {
                    return too_large(j, p);
                }
            }
            *(const double **)((char *)&j->answer->points[p] + kinds[k].list) = own;
            *(ptrdiff_t *)((char *)&j->answer->points[p] + kinds[k].length) = count;
        }
    }
    return EPIQ_OK;
}

/* What could not be given, to be counted and said. */
typedef struct {
    ptrdiff_t negative, lost, apart, first_apart; /* apart: BA and the other two */
    ptrdiff_t narrow, first_narrow;               /* data variances that rest on a row or two */
    double raw;                                   /* the first negative difference */
} withheld;

static epiq_part in_units(epiq_part part, double unit2, withheld *w)
{
    epiq_part out = epiqp_in_units(part, unit2);
    w->lost += part.known && !out.known;
    return out;
}

/* What was measured, and what corrected it. */
static void tell_ba(const epiqp_job *j, ptrdiff_t p, epiq_part ba, double unit2, withheld *w)
{
    epiq_point *out = &j->answer->points[p];
    const epiq_part measured = in_units(j->ba[p], unit2, w);
    out->ba.part = measured.known ? epiqp_in_units(ba, unit2) : measured;
    out->ba.uncorrected = measured.variance;
    out->ba.corrected = out->ba.part.known && j->phi && j->phi[p] > 0;
    out->ba.factor = out->ba.corrected ? j->phi[p] : 1;
}

static void combine_point(epiqp_job *j, ptrdiff_t p, withheld *w)
{
    const epiq_options *o = &j->o;
    const double unit = j->data->y_factor, unit2 = unit * unit, m = (double)o->batches;
    bool infinite = o->engine == EPIQ_ENGINE_INFINITE && o->methods & EPIQ_EV;
    const epiq_part ba = epiqp_ba_corrected(j->ba[p], j->phi ? j->phi[p] : 0);
    const epiqp_split both = epiqp_split_of(infinite ? j->infinite[p] : j->ev[p], j->inf[p], ba, m);
    const epiq_part procedural = both.procedural, data = both.data;
    if (both.negative < 0) {
        w->raw = w->negative++ ? w->raw : both.negative;
    }
    epiq_point *out = &j->answer->points[p];
    out->at = j->name[p];
    out->prediction = j->data->y_shift + unit * j->prediction[p];
    if (j->kernel_prediction) {
        out->kernel_prediction.known = 1;
        out->kernel_prediction.value = j->data->y_shift + unit * j->kernel_prediction[p];
    }
    out->procedural = in_units(procedural, unit2, w);
    out->data = in_units(data, unit2, w);
    w->lost += o->methods & EPIQ_IF && !j->inf[p].known; /* even the scaled square was too large */
    w->lost += o->methods & EPIQ_EV && j->member_h && !j->ev[p].known;
    bool given = out->data.method == EPIQ_BY_RETRAIN && !j->engine; /* where no rows are known */
    if (out->data.has_interval && out->data.df < EPIQP_NARROW && !given) {
        w->first_narrow = w->narrow++ ? w->first_narrow : p;
    }
    out->single = in_units(epiqp_sum_of(data, procedural, 1, o->level, both.method), unit2, w);
    out->ensemble = in_units(epiqp_ensemble_of(&both, ba, o), unit2, w);
    out->prediction_variance = j->members_trained
                                   ? epiqp_sum_of(data, procedural, (double)o->members, o->level, both.method)
                               : j->batches_mean ? ba
                                                 : data;
    out->prediction_variance = in_units(out->prediction_variance, unit2, w);
    for (int how = 0; how < EPIQ_CORRECTIONS; how++) {
        out->corrected[how] = in_units(j->corrected[p * EPIQ_CORRECTIONS + how], unit2, w);
    }
    out->infinite = in_units(j->infinite[p], unit2, w);
    tell_ba(j, p, ba, unit2, w);
    const double sum = data.variance + procedural.variance / m;
    const epiq_part together = {.known = j->inf[p].known && j->ev[p].known && ba.known, .variance = sum};
    const epiq_part both_ways[] = {in_units(ba, unit2, w), in_units(together, unit2, w)};
    if (both_ways[0].known && both_ways[1].known) {
        out->check.known = 1;
        out->check.inside = ba.has_interval ? sum >= ba.lo && (ba.open || sum <= ba.hi) : sum == ba.variance;
        out->check.ba = both_ways[0].variance;
        out->check.if_plus_ev = both_ways[1].variance;
        w->first_apart = out->check.inside || w->apart ? w->first_apart : p;
        w->apart += !out->check.inside;
    }
    for (ptrdiff_t i = 0; i < out->influential_count; i++) {
        if (!isfinite(out->influential[i].influence)) {
            out->influential_count = 0;
            w->lost++;
        }
    }
}

/* What is the answer itself; variances that no double holds are withheld instead. */
static bool finite_point(const epiq_point *p)
{
    bool finite = isfinite(p->prediction) && isfinite(p->kernel_prediction.value);
    for (ptrdiff_t k = 0; k < p->member_count; k++) {
        finite = finite && isfinite(p->members[k]);
    }
    for (ptrdiff_t k = 0; k < p->batch_count; k++) {
        finite = finite && isfinite(p->batches[k]);
    }
    return finite;
}

int epiqp_combine(epiqp_job *j)
{
    const epiq_options *o = &j->o;
    withheld asked = {0}, swept = {0}; /* nobody asked for the latter one by one */
    for (ptrdiff_t p = 0; p < j->points; p++) {
        combine_point(j, p, p < j->asked ? &asked : &swept);
    }
    int s = list_predictions(j);
    for (ptrdiff_t p = 0; !s && p < j->points; p++) {
        s = finite_point(&j->answer->points[p]) ? EPIQ_OK : too_large(j, p);
    }
    if (!s && asked.negative) {
        s = epiqp_warn(
            j->e.c, j->warnings, "negative_difference",
            "the %s variance came out as a negative difference at %td of %td points (the first: %.4g), so it is "
            "withheld; measure it directly %s",
            o->methods & EPIQ_IF ? "procedural" : "data", asked.negative, j->asked,
            fmax(j->data->y_factor * j->data->y_factor * asked.raw, -DBL_MAX),
            o->methods & EPIQ_IF ? j->remedy->procedural : j->remedy->data);
    }
    if (!s && (asked.lost || j->out_of_range)) {
        s = epiqp_warn(j->e.c, j->warnings, "out_of_range",
                       "some numbers are too large or too small for a double in units, or squared units of the target, "
                       "so they are "
                       "withheld; express the target in other units");
    }
    if (!s && asked.narrow) {
        const epiq_point *first = &j->answer->points[asked.first_narrow];
        s = epiqp_warn(
            j->e.c, j->warnings, "few_rows_decide",
            "at %td of %td points the data variance rests on one or two rows (first: %s, %.2g degrees of freedom), so "
            "its interval is very wide, or has no upper end; points at training rows are often so",
            asked.narrow, j->asked, first->at, first->data.df);
    }
    if (!s && (double)asked.apart > 2 * (1 - o->level) * (double)j->asked) { /* more than chance explains */
        const epiq_point *first = &j->answer->points[asked.first_apart];
        s = epiqp_warn(
            j->e.c, j->warnings, "check",
            "at %td of %td points BA and %s + EV/%td differ by more than BA's interval allows (first: %s, %.3g "
            "and %.3g): batches too small, networks too narrow, or bad luck; %s",
            asked.apart, j->asked, first->data.method == EPIQ_BY_RETRAIN ? "retraining" : "IF", o->batches, first->at,
            first->check.ba, first->check.if_plus_ev, j->remedy->sum);
    }
    const int direct_methods = EPIQ_IF | EPIQ_EV;
    if (!s && j->engine && o->methods & EPIQ_BA && !j->phi && (o->methods & direct_methods) != direct_methods) {
        s = epiqp_warn(
            j->e.c, j->warnings, "ba_uncorrected",
            "what small batches add to the spread of their networks is not taken out here, as that takes the "
            "kernel of all rows, so that BA, and a part made of it, tends to be too large; %s",
            o->methods & EPIQ_IF   ? "add ev to --methods"
            : o->methods & EPIQ_EV ? "add if to --methods"
                                   : "use --methods if,ev");
    }
    if (!s && o->methods == EPIQ_BA && o->ensemble_size != o->batches) {
        s = epiqp_warn(
            j->e.c, j->warnings, "ensemble_size",
            "BA alone tells the variance of an ensemble of %td only, as many as there are batches; %s for one of %td",
            o->batches, j->remedy->either, o->ensemble_size);
    }
    return s;
}
