/* predict.c - a model's answer at many points: blocks of points, of which every thread takes chunks to all members, and
 * all threads together the kernel and the two triangular solves c = A^-1 k0 that the data variance is bound by (2 n^2
 * operations per point). The formulas are those of est/: this only brings other points to them. On a device (ask_device.c)
 * all networks are asked about a block at once, and the solves are done there.
 */
#include "base/text.h"
#include "common/student.h"
#include "est/variance.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum {
    CHUNK = EPIQP_SHALLOW32_ROWS,
    MOST_THREADS = 4096,   /* as of an estimate */
    MOST_POINTS = 4096,    /* of a block: enough chunks for many threads */
    MOST_KERNEL = 1 << 22, /* numbers of a block's kernel, 32 MiB */
    LEAST_POINTS = 256,    /* fewer make the solves slow */
    /* with a device, which needs more work at a time; FAR: numbers that come from its networks, 128 MiB */
    POINTS_THERE = 65536,
    KERNEL_THERE = 1 << 25,
    FAR = 1 << 24
};

/* A variance from outputs whose rounding errors have size e is right to 2 e/tau if they all go the same way: a
 * thousandth from here on. */
static const double CLEAR = 2000;

typedef struct {
    epiqp_env *e;
    const epiq_model *m;
    epiq_predictions *out;
    epiqp_asked *there; /* what is done on a device; NULL: all is done here */
    epiqp_arena arena;
    bool full;                        /* an allocation has failed */
    bool use[EPIQP_ENSEMBLES];        /* networks that are asked */
    bool influence, infinite, kernel; /* what has to be computed */
    bool correct;                     /* BA, for small batches */
    bool own;                         /* the variance of the prediction itself, */
    bool interval;                    /* and where a new observation falls, */
    bool look;                        /* for either of which the rows near a point are asked, */
    bool enough;                      /* for which there are rows enough at the level, */
    double factor;                    /* half its width being this times its standard deviation */
    bool batching;                    /* the expected prediction, by networks on batches, */
    bool by_parts;                    /* or by the variance of the prediction, at this level */
    double level;
    double part_level; /* of parts: 0 where only their variances matter, not their degrees of freedom */
    bool exact;        /* in double */
    bool single;       /* networks can be asked in single precision */
    /* of some blocks: one, or as many as a device's networks are asked about at once */
    ptrdiff_t span;
    double *span_x;     /* span by d, scaled */
    double *span_input; /* span by inputs, as networks have them: span_x itself, or coordinates */
    double *far;        /* outputs of networks that came from the device: epiqp_asked_outputs */
    /* of the block */
    ptrdiff_t points, before, room; /* room: points of the largest block */
    ptrdiff_t in_span;              /* points of the span before it */
    const double *x, *input;        /* in those of the span */
    double *k0;                     /* points by n: the kernel, then c */
    epiqp_rows at;                  /* the points laid out, if kernel */
    double *tau2, *q00;             /* points each */
    double *prediction;             /* points, scaled */
    double *phi;                    /* points; 0: BA is not corrected */
    double *batch_mean;             /* points: prediction of the networks on batches */
    epiq_part *ev, *inf, *ba;
    epiq_part *of_mean;        /* points: variance of the prediction, in squared units of the target */
    epiqp_spread_place *place; /* points */
    epiqp_answers *answers;    /* points by replicates */
    epiqp_expected *expected;  /* points */
    /* of each thread */
    epiqp_pass *pass;
    epiqp_shallow32 *thin;
    double *h;       /* most networks by CHUNK, twice, and CHUNK points */
    double *scratch; /* epiqp_expected_room(n) */
    ptrdiff_t most;
} asking;

/* What is needed for what is wanted. */
static void plan(asking *a)
{
    const epiq_model *m = a->m;
    const epiq_predictions *w = a->out;
    const bool ev = m->o.methods & EPIQ_EV, influence = m->has.influence, members = m->ensemble[EPIQP_MEMBERS].count,
               ba = m->ensemble[EPIQP_BATCHES].count, ba_itself = ba && m->o.ensemble_size == m->o.batches;
    const bool sum = w->ensemble && ((ev && influence) || !ba_itself);
    a->interval = (w->lo || w->hi || w->noise) && m->kept.has_spread;
    const bool expected = w->confidence_lo || w->confidence_hi;
    a->batching = expected && ba && m->o.confidence == EPIQ_CONFIDENCE_BATCHING;
    a->by_parts = expected && m->o.confidence == EPIQ_CONFIDENCE_RETRAIN;
    a->own = w->sd || a->interval || a->by_parts;
    const bool any_data = w->data || a->own,
               procedural = w->procedural || sum || (any_data && !influence) || (a->own && members);
    const bool data = any_data || sum || (w->procedural && !ev);
    a->influence = influence && data;
    a->infinite = m->o.engine == EPIQ_ENGINE_INFINITE && ev && procedural;
    a->look = m->kept.has_spread && (a->interval || (a->influence && m->kept.retrain));
    a->use[EPIQP_MEMBERS] = members && (w->prediction || procedural || a->look || a->by_parts);
    a->use[EPIQP_BATCHES] = ba && (a->batching || (w->ensemble && !sum) || (procedural && !ev) || (data && !influence));
    a->use[EPIQP_RETRAINED] = a->influence && m->ensemble[EPIQP_RETRAINED].count;
    a->correct = a->use[EPIQP_BATCHES] && m->small.batch;
    const bool by_row = m->o.engine == EPIQ_ENGINE_LINEAR && m->o.linear_kernel == EPIQ_KERNEL_POPULATION;
    a->kernel = a->influence || a->infinite || a->correct ||
                ((w->prediction || a->interval || a->by_parts) && !members) ||
                (by_row && (a->use[EPIQP_MEMBERS] || a->use[EPIQP_BATCHES]));
    /* a difference of two variances may lose every digit that single precision has */
    a->exact = w->exact || (data && !influence) || (procedural && !ev && !a->infinite);
    for (int k = 0; k < EPIQP_ENSEMBLES; k++) {
        a->most = epiqp_max(a->most, a->use[k] ? m->ensemble[k].count : 0);
        a->single = a->single || m->ensemble[k].single.w;
    }
}

static void *room_of(asking *a, ptrdiff_t count, size_t size)
{
    void *room = epiqp_arena_alloc(a->e->c, &a->arena, count, size);
    a->full = a->full || !room;
    return room;
}

/* Networks that are asked on a device, each with what is taken off it. */
static ptrdiff_t far_rows(const asking *a)
{
    ptrdiff_t count = 0;
    for (int k = 0; k < EPIQP_ENSEMBLES; k++) {
        count += a->use[k] ? a->m->ensemble[k].count : 0;
    }
    return epiqp_start_removed(&a->m->o) ? 2 * count : count;
}

static int make_room(asking *a, ptrdiff_t points, ptrdiff_t span)
{
    const epiq_model *m = a->m;
    const ptrdiff_t threads = a->e->threads, retrained = a->use[EPIQP_RETRAINED] ? points : 0;
    a->room = points;
    a->span_x = room_of(a, span * m->d, sizeof *a->span_x);
    a->span_input = epiqp_model_wide(m) ? room_of(a, span * m->inputs, sizeof *a->span_input) : a->span_x;
    a->k0 = room_of(a, a->kernel ? points * m->n : 0, sizeof *a->k0);
    a->far = room_of(a, epiqp_asked_networks(a->there) ? far_rows(a) * span : 0, sizeof *a->far);
    a->tau2 = room_of(a, 5 * points, sizeof *a->tau2);
    a->ev = room_of(a, 4 * points, sizeof *a->ev);
    a->place = room_of(a, a->interval ? points : 0, sizeof *a->place);
    a->pass = room_of(a, threads, sizeof *a->pass);
    a->thin = room_of(a, threads, sizeof *a->thin);
    a->h = room_of(a, threads * (2 * a->most + m->inputs) * CHUNK, sizeof *a->h);
    a->scratch = room_of(a, a->influence ? threads * epiqp_expected_room(m->n) : 0, sizeof *a->scratch);
    a->answers = room_of(a, retrained * m->o.replicates, sizeof *a->answers);
    a->expected = epiqp_expected_new(a->e->c, &a->arena, retrained, m->o.replicates);
    if (a->full || !a->expected) return EPIQ_E_NOMEM;
    a->q00 = a->tau2 + points;
    a->prediction = a->q00 + points;
    a->phi = a->prediction + points;
    a->batch_mean = a->phi + points;
    a->inf = a->ev + points;
    a->ba = a->inf + points;
    a->of_mean = a->ba + points;
    int s = EPIQ_OK;
    for (ptrdiff_t t = 0; !s && a->most && t < threads; t++) {
        s = epiqp_pass_new(a->e, &m->fit.net, &a->pass[t]);
        if (!s && a->single) s = epiqp_shallow32_new(a->e->c, m->inputs, m->o.width, &a->thin[t]);
    }
    return s;
}

static int refuse(const asking *a, ptrdiff_t p, const double *given, const double *x)
{
    ptrdiff_t worst = 0; /* the first that is no number after scaling, or the farthest */
    for (ptrdiff_t k = 1; k < a->m->d && isfinite(x[worst]); k++) {
        worst = fabs(x[k]) <= fabs(x[worst]) ? worst : k;
    }
    const char *why = isnan(given[worst]) ? "not a number; leave that row out"
                                          : "too far from the data to be scaled and squared; check its units";
    return epiqp_fail(a->e->c, EPIQ_E_DATA, "row %td: %s = %g is %s", a->out->first + a->before + p + 1,
                      epiqp_show(a->m->feature[worst]).text, given[worst], why);
}

/* Those of the span, scaled, and settled as an estimate's are. */
static int settle(asking *a, const double *given)
{
    const epiq_model *m = a->m;
    const ptrdiff_t d = m->d;
    for (ptrdiff_t p = 0; p < a->span; p++) {
        double *x = a->span_x + p * d;
        for (ptrdiff_t k = 0; k < d; k++) {
            x[k] = epiqp_scaled(given[p * d + k], m->shift[k], m->factor[k]);
        }
        a->out->outside += epiqp_point_outside(d, x, m->least, m->most) >= 0;
        if (epiqp_point_settle(&m->o, m->norm2, d, x) == EPIQP_POINT_TOO_FAR) return refuse(a, p, given + p * d, x);
    }
    return epiqp_model_wide(m) ? epiqp_span_enter(a->e, &m->kept.span, a->span, a->span_x, a->span_input) : EPIQ_OK;
}

/* ---- networks ---- */

static void ask_in_double(const asking *a, const epiqp_ensemble *of, ptrdiff_t points, const double *x,
                          const double *k0, double *h, epiqp_pass *pass)
{
    const epiqp_fit *f = &a->m->fit;
    const epiqp_engine *engine = epiqp_engine_of(&a->m->o);
    ptrdiff_t p = epiqp_net_params(&f->net), extra = engine->extra(&a->m->o, &f->net, a->m->n);
    for (ptrdiff_t k = 0; k < of->count; k++) {
        epiqp_kept one = {of->weights->theta + k * p, extra ? of->weights->extra + k * extra : NULL};
        engine->predict(f, &one, points, x, k0, h + k * CHUNK, pass);
    }
}

/* Points of the chunk whose spread is not clear of single precision's rounding are asked again in double, together. */
static void ask_again(const asking *a, const epiqp_ensemble *of, ptrdiff_t points, const double *x, double *h,
                      double *again, epiqp_pass *pass)
{
    const epiqp_shallow32_ensemble *single = &of->single;
    const ptrdiff_t d = a->m->inputs;
    ptrdiff_t which[CHUNK], some = 0;
    for (ptrdiff_t p = 0; p < points; p++) {
        double error = CLEAR * epiqp_shallow32_ensemble_error(single, &a->m->fit.net, x + p * d);
        if (!(epiqp_ev(h + p, single->count, CHUNK, 0).variance >= error * error)) which[some++] = p;
    }
    if (!some) return;
    double *gathered = again + single->count * CHUNK;
    for (ptrdiff_t i = 0; i < some; i++) {
        memcpy(gathered + i * d, x + which[i] * d, (size_t)d * sizeof *x);
    }
    ask_in_double(a, of, some, gathered, NULL, again, pass);
    for (ptrdiff_t k = 0; k < single->count; k++) {
        for (ptrdiff_t i = 0; i < some; i++) {
            h[k * CHUNK + which[i]] = again[k * CHUNK + i];
        }
    }
}

/* h: networks by CHUNK, with room for as many behind them. */
static void ask(const asking *a, const epiqp_ensemble *of, ptrdiff_t from, ptrdiff_t points, double *h)
{
    const double *x = a->input + from * a->m->inputs, *k0 = a->kernel ? a->k0 + from * a->m->n : NULL;
    int thread = omp_get_thread_num();
    if (!of->single.w || a->exact) {
        ask_in_double(a, of, points, x, k0, h, &a->pass[thread]);
        return;
    }
    for (ptrdiff_t k = 0; k < of->count; k++) {
        epiqp_shallow32_ensemble_forward(&of->single, k, &a->thin[thread], points, x, h + k * CHUNK);
    }
    ask_again(a, of, points, x, h, h + of->count * CHUNK, &a->pass[thread]);
}

static void take_answers(const asking *a, epiqp_ensemble_kind kind, ptrdiff_t p, const double *h)
{
    const ptrdiff_t count = a->m->ensemble[kind].count, replicates = a->m->o.replicates;
    if (kind == EPIQP_MEMBERS) {
        a->ev[p] = epiqp_ev(h, count, CHUNK, a->part_level);
        a->prediction[p] = epiqp_mean_of(h, count, CHUNK);
    } else if (kind == EPIQP_BATCHES) {
        a->ba[p] = epiqp_ba(h, count, CHUNK, 0);
        a->batch_mean[p] = epiqp_mean_of(h, count, CHUNK);
    } else {
        for (ptrdiff_t r = 0; r < replicates; r++) {
            const double *plus = h + 2 * EPIQP_STARTS * r * CHUNK, *minus = plus + EPIQP_STARTS * CHUNK;
            a->answers[p * replicates + r] = epiqp_answers_of(plus, minus, CHUNK, a->m->kept.retrain->step);
        }
    }
}

/* What came from the device for this chunk. */
static void take_far(const asking *a, const double *far, ptrdiff_t count, ptrdiff_t points, double *h)
{
    const bool removed = epiqp_start_removed(&a->m->o);
    for (ptrdiff_t k = 0; k < count; k++, far += a->span) {
        memcpy(h + k * CHUNK, far, (size_t)points * sizeof *h);
        if (removed) epiqp_axpy(points, -1, far += a->span, h + k * CHUNK);
    }
}

static void networks(const asking *a, ptrdiff_t from)
{
    const ptrdiff_t points = epiqp_min(CHUNK, a->points - from), each = epiqp_start_removed(&a->m->o) ? 2 : 1;
    const double *far = epiqp_asked_networks(a->there) ? a->far + a->in_span + from : NULL;
    double *h = a->h + omp_get_thread_num() * (2 * a->most + a->m->inputs) * CHUNK;
    for (int k = 0; k < EPIQP_ENSEMBLES; k++) {
        if (!a->use[k]) continue;
        if (far) {
            take_far(a, far, a->m->ensemble[k].count, points, h);
            far += a->m->ensemble[k].count * each * a->span;
        } else {
            ask(a, &a->m->ensemble[k], from, points, h);
        }
        for (ptrdiff_t p = 0; p < points; p++) {
            take_answers(a, (epiqp_ensemble_kind)k, from + p, h + p);
        }
    }
}

/* ---- the influence function ---- */

static epiq_part influence_alone(const asking *a, ptrdiff_t p, double *v)
{
    const epiq_model *m = a->m;
    const epiqp_model_parts *k = &m->kept;
    const ptrdiff_t n = m->n;
    const double *c = epiqp_target_weights(&m->o, n, a->k0 + p * n, v + 2 * n);
    for (ptrdiff_t i = 0; i < n; i++) {
        v[i] = c[i] * k->r_std[i];
    }
    if (!k->noise_excess) return epiqp_if(v, n, m->group, m->groups, v + n, a->part_level);
    epiqp_rowwise rows = {
        .excess = k->noise_excess, .unit = k->noise_unit, .kurtosis = k->smoothed ? k->law[0] : m->kurtosis};
    if (!k->smoothed) {
        bool floored;
        return epiqp_if_rowwise(&rows, v, c, n, v + n, a->part_level, &floored);
    }
    epiqp_smoothed smooth = {.noise = k->smoothed, .sd = k->smoothed_sd, .varies = k->law[1], .mean = k->law[2]};
    epiqp_moderation how;
    return epiqp_if_moderated(&rows, &smooth, v, c, n, v + n, a->part_level, &how);
}

/* The data part: that of the trained networks, if some were retrained. */
static epiq_part influence_at(const asking *a, ptrdiff_t p)
{
    const epiq_model *m = a->m;
    const epiqp_followed *found = m->kept.retrain;
    const double *x = a->input + p * m->inputs;
    double *scratch = a->scratch + omp_get_thread_num() * epiqp_expected_room(m->n);
    epiq_part part = influence_alone(a, p, scratch);
    if (!found) return part;
    epiqp_expected *expected = a->use[EPIQP_RETRAINED] ? &a->expected[p] : NULL;
    if (expected) epiqp_expect(a->e, &m->steps, a->k0 + p * m->n, x, scratch, expected);
    double kappa = epiqp_kappa_at(found, &m->steps, x, -1, expected, a->answers + p * m->o.replicates);
    return epiqp_retrained_part(found, kappa, expected, part, a->part_level);
}

/* The kernel between rows and points, and kernel regression's prediction. */
static int kernel_block(asking *a)
{
    const epiq_model *m = a->m;
    int s = epiqp_rows_new(a->e->c, a->points, m->inputs, a->input, &a->at);
    if (s) return s;
    epiqp_kernel_cross(a->e, &m->fit.arch, &m->fit.rows, &a->at, a->k0, NULL);
    for (ptrdiff_t p = 0; m->kept.alpha && !a->use[EPIQP_MEMBERS] && p < a->points; p++) {
        a->prediction[p] = epiqp_dot(m->n, a->k0 + p * m->n, m->kept.alpha);
    }
    return EPIQ_OK;
}

static const epiqp_tri *factor_of(const epiq_model *m)
{
    return m->kept.factor.a ? &m->kept.factor : &m->small.all;
}

/* c = A^-1 k0, the closed form of tau^2, what corrects BA, and the data variance. */
static int solve_block(asking *a)
{
    const epiq_model *m = a->m;
    int s = EPIQ_OK;
    if (epiqp_asked_solves(a->there)) {
        s = epiqp_asked_solve(a->there, a->points, a->k0);
    } else {
        epiqp_chol_solve(a->e, factor_of(m), a->points, a->k0);
    }
    if (!s && a->infinite) {
        epiqp_fit here = m->fit;
        here.at = a->at;
        epiqp_kernel_diagonal(&here.arch, &here.at, NULL, a->q00);
        s = epiqp_infinite_variance(a->e, &here, a->k0, a->tau2);
    }
    if (s || (a->correct && (s = epiqp_small_phi(a->e, m, &a->at, a->input, a->k0, a->phi)))) return s;
    for (ptrdiff_t p = 0; a->infinite && p < a->points; p++) {
        a->ev[p] = epiqp_infinite_part(a->tau2[p], a->q00[p], epiqp_start_removed(&a->m->o) ? 0 : EPIQP_ROUNDING);
    }
#pragma omp parallel for schedule(static) num_threads(a->e->threads) if (a->influence)
    for (ptrdiff_t p = 0; p < (a->influence ? a->points : 0); p++) {
        a->inf[p] = influence_at(a, p);
    }
    return EPIQ_OK;
}

/* ---- the answer, by the rules of est/assemble.c ---- */

static void store_number(double *to, int bit, bool known, double value, ptrdiff_t at, unsigned char *mask)
{
    if (to) {
        to[at] = known ? value : 0;
        *mask = (unsigned char)(*mask | (known ? bit : 0));
    }
}

static void store(double *to, int bit, epiq_part part, double unit2, ptrdiff_t at, unsigned char *mask)
{
    const epiq_part value = epiqp_in_units(part, unit2);
    store_number(to, bit, value.known, value.variance, at, mask);
}

static epiqp_split split_at(const asking *a, ptrdiff_t p, epiq_part *ba)
{
    *ba = epiqp_ba_corrected(a->ba[p], a->phi[p]);
    return epiqp_split_of(a->ev[p], a->inf[p], *ba, (double)a->m->o.batches);
}

/* What near rows leave of the data part, the variance of the prediction, which is the mean of the members or kernel regression's, and what follows for y. */
static void place(const asking *a, ptrdiff_t p)
{
    const epiq_model *m = a->m;
    const double networks = (double)m->ensemble[EPIQP_MEMBERS].count, unit = m->target_scaling[1];
    epiqp_nearby near = {0};
    epiq_part ba;
    if (a->look) near = epiqp_spread_look(&m->spread, a->x + p * m->d, a->prediction[p]);
    if (a->look && m->kept.retrain) a->inf[p] = epiqp_spread_trusted(&near, a->inf[p], a->part_level);
    if (!a->own) return;
    const epiqp_split both = split_at(a, p, &ba);
    const epiq_part part =
        networks > 0 ? epiqp_sum_of(both.data, both.procedural, networks, a->part_level, both.method) : both.data;
    a->of_mean[p] = epiqp_in_units(part, unit * unit);
    if (a->interval && a->of_mean[p].known) {
        const double few = m->spread.law.networks, variance = a->of_mean[p].variance / unit / unit,
                     of_few = few > 0 ? both.data.variance + both.procedural.variance / few : variance;
        a->place[p] = epiqp_spread_at(&m->spread, a->x + p * m->d, &near, variance, of_few);
    }
}

/* As est/assemble.c has it. */
static void store_place(const asking *a, ptrdiff_t p, double centre, ptrdiff_t at, unsigned char *mask)
{
    epiq_predictions *out = a->out;
    const double unit = a->m->target_scaling[1];
    const epiq_part *of_mean = &a->of_mean[p];
    epiqp_spread_place here = {0};
    store_number(out->sd, EPIQ_SD, a->own && of_mean->known, sqrt(of_mean->variance), at, mask);
    if (a->interval && of_mean->known) here = a->place[p];
    out->withheld += here.outside;
    const double half = a->factor * here.sd * unit, noise = here.noise_sd * unit;
    const bool known = here.known && !here.outside && noise <= sqrt(DBL_MAX);
    const bool both = known && a->enough && fabs(centre) + half <= DBL_MAX;
    store_number(out->noise, EPIQ_NOISE, known, noise, at, mask);
    store_number(out->lo, EPIQ_INTERVAL, both, centre - half, at, mask);
    store_number(out->hi, EPIQ_INTERVAL, both, centre + half, at, mask);
}

/* As est/confidence.c has it. centre: the prediction. */
static void store_expected(const asking *a, ptrdiff_t p, double centre, ptrdiff_t at, unsigned char *mask)
{
    const epiq_predictions *out = a->out;
    const double shift = a->m->target_scaling[0], unit = a->m->target_scaling[1];
    const epiq_part part = a->batching ? epiqp_in_units(a->ba[p], unit * unit) : a->of_mean[p];
    const double middle = a->batching ? shift + unit * a->batch_mean[p] : centre,
                 half = part.variance > 0
                            ? epiqp_student_quantile(part.df > 0 ? part.df : DBL_MAX, a->level) * sqrt(part.variance)
                            : 0;
    const bool known = (a->batching || a->by_parts) && part.known && (part.df > 0 || !(part.variance > 0)) &&
                       fabs(middle) + half <= DBL_MAX;
    store_number(out->confidence_lo, EPIQ_EXPECTED, known, middle - half, at, mask);
    store_number(out->confidence_hi, EPIQ_EXPECTED, known, middle + half, at, mask);
}

static int answer(const asking *a)
{
    const epiq_model *m = a->m;
    const epiq_predictions *out = a->out;
    const double unit = m->target_scaling[1], unit2 = unit * unit;
    for (ptrdiff_t p = 0; p < a->points; p++) {
        ptrdiff_t at = a->before + p;
        unsigned char *known = &out->known[at];
        double value = m->target_scaling[0] + unit * a->prediction[p];
        *known = 0;
        if (out->prediction && !isfinite(value)) {
            return epiqp_fail(a->e->c, EPIQ_E_NUMERIC, "the prediction at row %td is not finite; check its units",
                              out->first + at + 1);
        }
        store_number(out->prediction, EPIQ_PREDICTION, true, value, at, known);
        a->out->few += out->data && a->inf[p].df > 0 && a->inf[p].df < EPIQP_NARROW;
        epiq_part ba;
        const epiqp_split both = split_at(a, p, &ba);
        store(out->procedural, EPIQ_PROCEDURAL, both.procedural, unit2, at, known);
        store(out->data, EPIQ_DATA, both.data, unit2, at, known);
        store(out->ensemble, EPIQ_ENSEMBLE, epiqp_ensemble_of(&both, ba, &m->o), unit2, at, known);
        store_place(a, p, value, at, known);
        store_expected(a, p, value, at, known);
    }
    return EPIQ_OK;
}

static bool solves(const asking *a)
{
    return a->influence || a->infinite || a->correct;
}

static int one_block(asking *a)
{
    int s = a->kernel ? kernel_block(a) : EPIQ_OK;
    if (s) return s;
    memset(a->ev, 0, (size_t)(4 * a->room) * sizeof *a->ev); /* inf, ba and of_mean too */
    memset(a->phi, 0, (size_t)a->points * sizeof *a->phi);
#pragma omp parallel for schedule(dynamic) num_threads(a->e->threads) if (a->most && a->points > CHUNK)
    for (ptrdiff_t from = 0; from < (a->most ? a->points : 0); from += CHUNK) {
        networks(a, from);
    }
    if (solves(a)) s = solve_block(a);
    epiqp_rows_free(a->e->c, &a->at);
    if (s) return s;
#pragma omp parallel for schedule(static) num_threads(a->e->threads) if (a->look)
    for (ptrdiff_t p = 0; p < (a->own || a->look ? a->points : 0); p++) {
        place(a, p);
    }
    return answer(a);
}

/* The next a->span points, from `given` on. */
static int one_span(asking *a, const double *given)
{
    const epiq_model *m = a->m;
    const ptrdiff_t before = a->before;
    int s = settle(a, given);
    if (!s && epiqp_asked_networks(a->there)) s = epiqp_asked_outputs(a->there, a->span, a->span_input, a->far);
    for (a->in_span = 0; !s && a->in_span < a->span; a->in_span += a->points) {
        a->points = epiqp_min(a->room, a->span - a->in_span);
        a->before = before + a->in_span;
        a->x = a->span_x + a->in_span * m->d;
        a->input = a->span_input + a->in_span * m->inputs;
        s = one_block(a);
        if (!s && epiqp_cancel_requested(a->e->c)) {
            s = epiqp_fail(a->e->c, EPIQ_E_STOPPED, "stopped on request after %td rows",
                           a->out->first + a->before + a->points);
        }
    }
    a->before = before;
    return s;
}

/* ---- with a device or without ---- */

/* Points of a block, and of the blocks that a device's networks are asked about together. */
static ptrdiff_t block_of(const asking *a, ptrdiff_t count)
{
    const epiq_model *m = a->m;
    const ptrdiff_t kernel = epiqp_asked_solves(a->there) ? KERNEL_THERE : MOST_KERNEL;
    ptrdiff_t most = a->kernel ? epiqp_max(LEAST_POINTS, epiqp_min(MOST_POINTS, kernel / m->n)) : MOST_POINTS;
    if (epiqp_model_wide(m)) most = epiqp_max(LEAST_POINTS, epiqp_min(most, MOST_KERNEL / m->d));
    return epiqp_min(most, count);
}

static ptrdiff_t span_of(const asking *a, ptrdiff_t block, ptrdiff_t count)
{
    if (!epiqp_asked_networks(a->there)) return block;
    ptrdiff_t most = epiqp_min(POINTS_THERE, FAR / epiqp_max(1, far_rows(a)));
    if (epiqp_model_wide(a->m)) most = epiqp_min(most, MOST_KERNEL / a->m->d);
    return epiqp_min(epiqp_max(block, most), count);
}

/* Nothing is done on the device any more. */
static void leave_device(asking *a)
{
    epiqp_asked_free(a->there);
    a->there = NULL;
    a->e->device = NULL;
}

/* Where it is wanted and can be, a->there. */
static int enter_device(asking *a, const epiq_options *o, ptrdiff_t count)
{
    const epiq_model *m = a->m;
    const bool worth = epiqp_asked_worth(a->e, m, a->use, solves(a), (double)a->out->first + (double)count);
    epiqp_warnings unread = {.arena = &a->arena};
    int s = count ? epiqp_run_device(a->e, o, worth, &unread) : EPIQ_OK;
    if (s || !a->e->device) return s;
    const ptrdiff_t points = epiqp_min(count, POINTS_THERE);
    s = epiqp_asked_new(a->e, m, a->use, solves(a) ? factor_of(m) : NULL, points, &a->there);
    if (!s || a->e->device->only) return s;
    epiqp_clear(a->e->c);
    leave_device(a);
    return EPIQ_OK;
}

/* Points again without the device, if that failed and need not be used. */
static int span_or_again(asking *a, const double *given)
{
    const epiq_predictions before = *a->out;
    int s = one_span(a, given);
    if (!s || s == EPIQ_E_STOPPED || !a->there || a->e->device->only) return s;
    epiqp_clear(a->e->c);
    leave_device(a);
    *a->out = before; /* its counts */
    return one_span(a, given);
}

int epiq_model_predict(epiq_ctx *c, const epiq_model *m, ptrdiff_t count, const double *x, epiq_predictions *wanted)
{
    epiqp_clear(c);
    const size_t size = wanted->size;
    epiq_predictions own = {0}, *out = &own;
    int s = epiqp_take(c, "epiq_predictions", wanted, &own, sizeof own);
    if (s) return s;
    if (count < 0 || !out->known || out->threads < 0 || out->threads > MOST_THREADS) {
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "%td rows with %td threads cannot be asked; give rows from 0 on, 0 to %d threads, and known",
                          count, out->threads, MOST_THREADS);
    }
    const double level = out->level == 0 ? 0.95 : out->level;
    if (!(level > 0 && level < 1)) {
        return epiqp_fail(c, EPIQ_E_USAGE, "a level of %.12g has no interval; give one between 0 and 1, such as 0.95",
                          level);
    }
    if (out->device < EPIQ_DEVICE_AUTO || out->device > EPIQ_DEVICE_CPU) {
        return epiqp_fail(c, EPIQ_E_USAGE, "there is no device %d; give an epiq_device_choice", out->device);
    }
    epiq_options o = m->o;
    o.threads = out->threads;
    o.device = out->device;
    epiqp_env e = epiqp_run_begin(c, &o);
    asking a = {.e = &e, .m = m, .out = out, .level = level};
    plan(&a);
    a.part_level = a.by_parts ? level : 0;
    a.enough = a.interval && epiqp_spread_factor(&m->spread, level, &a.factor);
    s = enter_device(&a, &o, count);
    const ptrdiff_t block = block_of(&a, count), span = span_of(&a, block, count);
    s = s ? s : make_room(&a, block, span);
    for (; !s && a.before < count; a.before += a.span) {
        a.span = epiqp_min(span, count - a.before);
        s = span_or_again(&a, x + a.before * m->d);
    }
    out->on_device = a.there != NULL;
    epiqp_asked_free(a.there);
    for (int t = 0; a.pass && a.thin && t < e.threads; t++) {
        epiqp_pass_free(c, &a.pass[t]);
        epiqp_shallow32_free(c, &a.thin[t]);
    }
    epiqp_arena_free(c, &a.arena);
    epiqp_run_end();
    epiqp_clear_cancel(c);
    epiqp_give(&own, sizeof own, wanted, size);
    wanted->size = size;
    return s;
}
