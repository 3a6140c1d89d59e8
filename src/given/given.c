/* given.c - epiq_combine: the estimators on what networks trained elsewhere predicted and on their kernel. All of it is
 * checked before anything is computed; then it makes a problem and a plan, and IF, EV, BA and the answer are those of
 * every estimate (est/). The target is not scaled.
 */
#include "given/given.h"
#include "run/run.h"

#include <math.h>

static const epiqp_hints BRING = {
    .both_parts = "Networks ({--ensemble}) and a kernel ({--gram} or {--jacobian}), or retrained networks "
                  "({--retrained}), give them directly",
    .procedural = "with networks ({--ensemble})",
    .data = "with a kernel ({--gram} or {--jacobian}) or retrained networks ({--retrained})",
    .other_size = "add networks ({--ensemble}) or a kernel ({--gram} or {--jacobian})",
    .far_from_kernel = "check that the kernel is that of these networks",
};

/* A checksum of shape and numbers, as doubles: float32 and float64 of the same points agree. */
static int sum_of(epiq_ctx *c, const epiq_matrix *m, char hex[65])
{
    double *row = epiqp_alloc(c, m->columns, sizeof *row);
    if (!row) return EPIQ_E_NOMEM;
    epiqp_sha256 sum = epiqp_sha256_start();
    epiqp_sha256_add(&sum, (int64_t[]){m->rows, m->columns}, 2 * sizeof(int64_t));
    for (ptrdiff_t i = 0; i < m->rows; i++) {
        epiqp_matrix_row(m, i, 0, m->columns, row);
        epiqp_sha256_add(&sum, row, (size_t)m->columns * sizeof *row);
    }
    epiqp_sha256_end(&sum, hex);
    epiqp_free(c, row);
    return EPIQ_OK;
}

static int find_points(epiq_ctx *c, const epiq_given *g, const epiqp_given_sizes *sizes, epiqp_point_set *w)
{
    const epiq_matrix *named[] = {g->ensemble, g->batched, g->cross, g->retrained, g->resampled};
    *w = (epiqp_point_set){.count = sizes->points, .count_by = sizes->points_by};
    int s = EPIQ_OK;
    for (size_t k = 0; !s && k < sizeof named / sizeof *named; k++) {
        if (!named[k]) continue;
        s = epiqp_point_set_merge(c, w, &(epiqp_point_set){.name = named[k]->column, .name_by = named[k]->name});
    }
    if (!s && g->at) {
        w->sum_by = g->at->name;
        s = sum_of(c, g->at, w->sum);
    }
    return s;
}

static int name_points(epiqp_problem *pb, const epiqp_point_set *w)
{
    const char **name = epiqp_arena_alloc(pb->e.c, pb->lasting, pb->points, sizeof *name);
    pb->name = name;
    for (ptrdiff_t p = 0; name && p < pb->points; p++) {
        name[p] = w->name && *w->name[p] ? epiqp_arena_printf(pb->e.c, pb->lasting, "%s", w->name[p])
                                         : epiqp_arena_printf(pb->e.c, pb->lasting, "%td", p + 1);
        if (!name[p]) return EPIQ_E_NOMEM;
    }
    return name ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* The networks less those that are to be taken off them, as a matrix of doubles in out; *base: it, from then on. */
static int take_off(const epiqp_problem *pb, const epiq_matrix **base, const epiq_matrix *auxiliary, epiq_matrix *out)
{
    if (!auxiliary) return EPIQ_OK;
    const ptrdiff_t rows = (*base)->rows, columns = (*base)->columns;
    double *a = epiqp_room(pb, rows * columns, sizeof *a), *off = epiqp_room(pb, columns, sizeof *off);
    if (!a || !off) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < rows; i++) {
        epiqp_matrix_row(*base, i, 0, columns, a + i * columns);
        epiqp_matrix_row(auxiliary, i, 0, columns, off);
        epiqp_axpy(columns, -1, off, a + i * columns);
        for (ptrdiff_t k = 0; k < columns; k++) {
            if (!isfinite(a[i * columns + k])) {
                return epiqp_fail(pb->e.c, EPIQ_E_DATA,
                                  "row %td of %s less that of %s is too large for a number; use other units", i + 1,
                                  (*base)->name, auxiliary->name);
            }
        }
    }
    *out = **base;
    out->real = EPIQ_FLOAT64;
    out->a = a;
    *base = out;
    return EPIQ_OK;
}

/* Networks on some of the rows: what they predict less what that of the same start on all rows does. */
static int take_resampled(const epiqp_problem *pb, const epiq_given *g, const epiqp_networks *members,
                          epiqp_resampled *out)
{
    const ptrdiff_t count = g->resampled ? g->resampled->rows : 0, points = pb->points;
    const bool halves = pb->plan->ran.confidence == EPIQ_CONFIDENCE_HALVES;
    if (!count) return EPIQ_OK;
    if (count < 2 || (halves && count % 2)) {
        return epiqp_fail(pb->e.c, EPIQ_E_DATA, "%s has %td row%s; give %s", g->resampled->name, count,
                          count == 1 ? "" : "s", halves ? "two for each split into halves" : "two or more");
    }
    *out = (epiqp_resampled){.resamples = count, .off = epiqp_room(pb, count * points, sizeof *out->off)};
    if (!out->off) return EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; k < count; k++) {
        epiqp_matrix_row(g->resampled, k, 0, points, out->off + k * points);
        epiqp_axpy(points, -1, members->h + epiqp_resample_start(&pb->plan->ran, k, members->count) * points,
                   out->off + k * points);
    }
    return EPIQ_OK;
}

/* One network has no variance: accepted only if more are gathered later. */
static int take_networks(const epiqp_problem *pb, const char *state, const epiq_given *g, epiqp_point_set *w,
                         epiqp_networks out[EPIQP_GIVEN_KINDS])
{
    static const char *const KIND[] = {"network", "network on a batch"};
    const epiq_matrix *from[] = {g->ensemble, g->batched};
    const bool gathered = state || g->merge_count;
    int s = gathered ? epiqp_gather(pb, state, g, w, out) : EPIQ_OK;
    for (int k = 0; !gathered && k < EPIQP_GIVEN_KINDS; k++) {
        if (!from[k]) continue;
        double *all = epiqp_room(pb, from[k]->rows * from[k]->columns, sizeof *all);
        if (!all) return EPIQ_E_NOMEM;
        for (ptrdiff_t i = 0; i < from[k]->rows; i++) {
            epiqp_matrix_row(from[k], i, 0, from[k]->columns, all + i * from[k]->columns);
        }
        out[k] = (epiqp_networks){all, from[k]->rows};
    }
    if (s) return s;
    if (!out[0].count && !out[1].count && !g->gram && !g->jacobian) {
        return epiqp_fail(pb->e.c, EPIQ_E_DATA,
                          "%s keeps no network yet, so there is nothing to combine; give {--ensemble} or {--batched}",
                          state ? state : g->merge[0]);
    }
    if (g->retrained && out[EPIQP_GIVEN_MEMBERS].count < 2) {
        return epiqp_fail(pb->e.c, EPIQ_E_USAGE,
                          "{--retrained} needs {--ensemble}, two or more networks trained on {--y} itself, from whose "
                          "starts these were trained again; give both");
    }
    for (int k = 0; !s && k < EPIQP_GIVEN_KINDS; k++) {
        if (out[k].count != 1) continue;
        s = state ? epiqp_warn(
                        pb->e.c, pb->warnings, EPIQ_W_ONE_NETWORK,
                        "there is one %s so far, and the prediction of one network has no spread; another is needed",
                        KIND[k])
                  : epiqp_fail(pb->e.c, EPIQ_E_DATA,
                               "%s holds one network (one row), and one has no spread; give two or more, or gather "
                               "them with {--append}",
                               from[k] ? from[k]->name : g->merge[0]);
    }
    return s;
}

static int check_memory(const epiqp_problem *pb, const epiq_options *o, const epiq_given *g)
{
    const double n = (double)pb->n, points = (double)pb->points, triangle = (double)epiqp_tri_bytes(pb->n),
                 have = epiqp_may_use(o, 1);
    double need = 16 * points * (double)(o->members + o->batches + (g->retrained ? g->retrained->rows : 0));
    const epiq_matrix *const more[] = {g->resampled, g->auxiliary, g->auxiliary_batched, g->auxiliary_resampled};
    for (size_t k = 0; k < sizeof more / sizeof *more; k++) {
        need += more[k] ? 8 * points * (double)more[k]->rows : 0;
    }
    if (g->gram || g->jacobian) { /* the inverse overwrites the factor; distances, for neighbours */
        need += triangle + 8 * n * points + (o->probes < pb->n ? 17 * n * (double)o->probes : 0);
        need += 4 * n * (double)epiqp_near_count(pb->n);
    }
    if (g->jacobian) { /* their sum, and some columns */
        need += triangle + 8 * EPIQP_JACOBIAN_COLUMNS * (n + points);
    }
    if (need <= have) return EPIQ_OK;
    return epiqp_fail(pb->e.c, EPIQ_E_NOMEM,
                      "%td rows, %td points and %td networks need about %.2f GB and %.2f may be used; use fewer", pb->n,
                      pb->points, o->members + o->batches, need / 1e9, have / 1e9);
}

/* The rows as the estimators see them: each is a group of its own, no features, the target in its own units. hbar: n,
 * or NULL where no predictions at the rows are given. */
static int make_data(const epiqp_problem *pb, const epiq_given *g, epiq_data *data, const double **hbar)
{
    const ptrdiff_t n = pb->n;
    *data = (epiq_data){.n = n, .groups = n, .y_factor = 1};
    *hbar = NULL;
    if (!g->y) return EPIQ_OK;
    data->y = epiqp_room(pb, 2 * n, sizeof *data->y);
    data->row = epiqp_room(pb, 2 * n, sizeof *data->row);
    if (!data->y || !data->row) return EPIQ_E_NOMEM;
    data->group = data->row + n;
    double *predicted = data->y + n;
    for (ptrdiff_t i = 0; i < n; i++) {
        data->group[i] = i;
        data->row[i] = i + 1;
        data->y[i] = epiqp_matrix_at(g->y, i, 0);
        predicted[i] = g->yhat ? epiqp_matrix_at(g->yhat, i, 0) : 0;
    }
    *hbar = g->yhat ? predicted : NULL;
    return EPIQ_OK;
}

/* o: with the networks counted. */
static epiqp_plan plan_of(const epiqp_problem *pb, const epiq_given *g, const epiq_options *o)
{
    epiqp_plan plan = {.ran = *o, .seed = o->seed, .hints = &BRING};
    plan.ran.threads = pb->e.threads;
    plan.ran.scale = EPIQ_SCALE_NONE; /* nothing was taken off the targets here */
    plan.ran.methods =
        (g->gram || g->jacobian ? EPIQ_IF : 0) | (o->members > 1 ? EPIQ_EV : 0) | (o->batches > 1 ? EPIQ_BA : 0);
    plan.ran.ensemble_size = o->ensemble_size ? o->ensemble_size
                             : o->batches     ? o->batches
                             : o->members     ? o->members
                                              : 1;
    plan.ran.resamples = g->resampled ? g->resampled->rows : o->resamples;
    plan.ran.predictor = g->auxiliary || g->auxiliary_batched ? EPIQ_PREDICTOR_PNC : o->predictor;
    plan.members = o->members;
    plan.batches = o->batches;
    plan.influence = plan.ran.methods & EPIQ_IF ? EPIQP_IF_POPULATION : EPIQP_IF_NONE;
    epiqp_plan_leverages(&plan, &(epiqp_request){.predictive = true}, pb->n, true);
    return plan;
}

static int use_kernel(const epiqp_problem *pb, const epiq_given *g, const double *hbar, epiqp_findings *found,
                      epiq_timing *timing)
{
    epiqp_ridge ridge = {0};
    epiqp_if_findings *f = &found->influence;
    epiqp_solution sol = {.ridge = &ridge, .hbar = hbar};
    int s = epiqp_given_ridge(pb, g, &ridge, &sol.near);
    if (s || (s = epiqp_report(pb->e.c, "factor", 1, 1))) goto end;
    double start = epiqp_now();
    s = epiqp_if_from_ridge(pb, &sol, f);
    timing->kernel = ridge.fill_s;
    timing->factor = ridge.factor_s;
    timing->influence = epiqp_now() - start;
    if (s || (s = epiqp_warn_factor(pb, ridge.jitter, ridge.loss)) ||
        (s = epiqp_kernel_predictions(pb, ridge.c, NULL, &f->prediction))) {
        goto end;
    }
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        bool finite = isfinite(f->prediction[p]); /* numbers given may be very large or small */
        for (ptrdiff_t k = 0; f->influential_room && k < f->influential_count[p]; k++) {
            finite = finite && isfinite(f->influential[p * f->influential_room + k].influence);
        }
        if (!finite) {
            s = epiqp_fail(pb->e.c, EPIQ_E_NUMERIC,
                           "the influence function is not finite at point %s; express the target or the kernel in "
                           "other units, or use a larger {--lambda}",
                           pb->name[p]);
            goto end;
        }
    }
    found->kernel = f->prediction;
    s = g->retrained ? epiqp_given_retrain(pb, g, &ridge, &found->ev, &found->retrain) : EPIQ_OK;
end:
    epiqp_ridge_free(pb->e.c, &ridge);
    return s;
}

/* What the kernel cannot explain counts as noise: a mean left in the target, or another target, make it anything. */
static int check_fit(const epiqp_problem *pb, const epiq_given *g, const double *hbar, const epiqp_loo *loo)
{
    const double *y = pb->data->y, variance = epiqp_variance(y, pb->n), spread = sqrt(variance);
    double off = 0;
    for (ptrdiff_t i = 0; hbar && i < pb->n; i++) {
        off += (y[i] - hbar[i]) / (double)pb->n;
    }
    if (fabs(off) > spread / 2) {
        return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_YHAT_OFF,
                          "%s lies %.3g off %s on average, whose standard deviation is %.3g, so the data variance "
                          "means little; are both in the same units, and is a mean taken out of one only?",
                          g->yhat->name, -off, g->y->name, spread);
    }
    if (hbar || !loo->known || !(variance > 0)) return EPIQ_OK;
    const double r2 = 1 - epiqp_dot(pb->n, loo->left_out, loo->left_out) / (variance * (double)(pb->n - 1));
    if (!(r2 < 0)) return EPIQ_OK;
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_KERNEL_OFF,
                      "kernel regression with this kernel and lambda %.3g predicts left-out rows of %s worse than "
                      "their mean does (R2 %.3g), so the data variance means little; take the mean out of %s, check "
                      "{--lambda}, or give the networks' own predictions with {--yhat}",
                      pb->plan->ran.lambda, g->y->name, r2, g->y->name);
}

/* The numbers 0, 1, 2 .. or 1, 2, 3 .. are what programs write over columns without a name. */
static int check_header(const epiqp_problem *pb, const epiq_matrix *m)
{
    double first = 0;
    bool counts = m && !m->column && m->columns > 1;
    for (ptrdiff_t k = 0; counts && k < m->columns; k++) {
        double one = epiqp_matrix_at(m, 0, k);
        first = k ? first : one;
        counts = one == first + (double)k && (first == 0 || first == 1);
    }
    if (!counts) return EPIQ_OK;
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_COUNTED_HEADER,
                      "the first row of %s is %g, %g and so on, as if it numbered the columns, but counts as a "
                      "network; leave that line out if it is a header",
                      m->name, first, first + 1);
}

/* Whether there are the networks that the interval of the expected prediction is made of. */
static int check_confidence(const epiqp_problem *pb, const epiq_given *g, ptrdiff_t members, ptrdiff_t batches)
{
    const int how = pb->plan->ran.confidence;
    const bool data_part = g->gram || g->jacobian || g->retrained;
    if (how == EPIQ_CONFIDENCE_BATCHING && batches < 2) {
        return epiqp_fail(pb->e.c, EPIQ_E_USAGE, "{--confidence} batching takes networks on batches; give {--batched}");
    }
    if (how == EPIQ_CONFIDENCE_RETRAIN && (members < 2 || !data_part)) {
        return epiqp_fail(pb->e.c, EPIQ_E_USAGE,
                          "{--confidence} retrain takes networks, {--ensemble}, and the data part: a kernel, {--gram} "
                          "or {--jacobian}, or networks trained again, {--retrained}");
    }
    return EPIQ_OK;
}

static int estimate(const epiqp_problem *pb, const epiq_given *g, const double *hbar,
                    const epiqp_networks networks[EPIQP_GIVEN_KINDS], epiqp_answer *a)
{
    const bool kernel = pb->plan->influence;
    const int methods = pb->plan->ran.methods;
    const epiqp_networks *members = &networks[EPIQP_GIVEN_MEMBERS], *batches = &networks[EPIQP_GIVEN_BATCHES];
    epiqp_findings found = {.methods = methods,
                            .ev = {.members = members->count, .h = members->h},
                            .ba = {.batches = batches->count, .h = batches->h}};
    int s = epiqp_findings_room(pb, &found);
    if (s) return s;
    if ((s = check_confidence(pb, g, members->count, batches->count)) ||
        (s = take_resampled(pb, g, members, &found.resampled))) {
        return s;
    }
    if (batches->h) epiqp_ba_points(pb, &found.ba);
    if (members->h) epiqp_ev_points(pb, &found.ev);
    if (kernel &&
        ((s = use_kernel(pb, g, hbar, &found, &a->timing)) || (s = check_fit(pb, g, hbar, &found.influence.loo)))) {
        return s;
    }
    if ((s = check_header(pb, g->ensemble)) || (s = check_header(pb, g->batched)) ||
        (methods & EPIQ_EV && (s = epiqp_warn_few_members(pb, members->count))) ||
        (g->retrained && !kernel && (s = epiqp_given_retrain(pb, g, NULL, &found.ev, &found.retrain))) ||
        (s = epiqp_assemble(pb, &found, a))) {
        return s;
    }
    return epiqp_advise(pb, &found, a);
}

/* pb: without sizes, points, data and plan yet; data and plan: room for these. */
static int combine(epiqp_problem *pb, epiq_data *data, epiqp_plan *plan, const epiq_given *all, const epiq_options *o,
                   epiqp_answer *a)
{
    epiq_given own = *all, *g = &own;
    epiq_matrix less[3];
    epiqp_given_sizes sizes;
    epiqp_point_set w;
    epiqp_networks networks[EPIQP_GIVEN_KINDS] = {0};
    const double *hbar;
    int s = epiqp_given_check(pb->e.c, g, o, &sizes);
    if (s || (s = take_off(pb, &own.ensemble, g->auxiliary, &less[0])) ||
        (s = take_off(pb, &own.batched, g->auxiliary_batched, &less[1])) ||
        (s = take_off(pb, &own.resampled, g->auxiliary_resampled, &less[2])) ||
        (s = find_points(pb->e.c, g, &sizes, &w)) || (s = take_networks(pb, o->state, g, &w, networks))) {
        return s;
    }
    pb->n = sizes.rows;
    pb->asked = pb->points = w.count;
    pb->data = data;
    epiq_options counted = *o;
    counted.members = networks[EPIQP_GIVEN_MEMBERS].count;
    counted.batches = networks[EPIQP_GIVEN_BATCHES].count;
    counted.replicates = sizes.replicates;
    if ((s = name_points(pb, &w)) || (s = check_memory(pb, &counted, g)) || (s = make_data(pb, g, data, &hbar))) {
        return s;
    }
    *plan = plan_of(pb, g, &counted);
    pb->plan = plan;
    a->given = (epiq_combined){
        .rows = sizes.rows, .parameters = sizes.parameters, .members = counted.members, .batches = counted.batches};
    a->result.backend = pb->e.la->name;
    if ((s = estimate(pb, g, hbar, networks, a)) || (s = epiqp_answer_complete(pb->e.c, a, pb->points)) || !o->state) {
        return s;
    }
    return epiqp_gather_keep(pb, o->state, g, &w, &a->given.added, &a->given.kept);
}

int epiq_combine(epiq_ctx *c, const epiq_given *g, const epiq_options *o, epiq_result **out)
{
    epiqp_clear(c);
    *out = NULL;
    epiq_options taken, own = epiq_options_default(); /* options that do not count here must not get in the way */
    epiqp_given_copy copy;
    int s = epiqp_options_take(c, o, &taken);
    if (s || (s = epiqp_given_take(c, g, &copy))) return s;
    epiqp_options_copy(&own, &taken, EPIQ_FOR_COMBINE);
    own.lambda = own.lambda == 0 ? EPIQ_USUAL_LAMBDA
                                 : own.lambda; /* the value these networks were trained with, if another, is given */
    if (!(s = epiqp_options_check(c, &own))) s = epiqp_options_conflict(c, &own, EPIQ_FOR_COMBINE);
    epiqp_answer *a = s ? NULL : epiqp_answer_new(c);
    if (!a) return s ? s : EPIQ_E_NOMEM;
    epiqp_arena scratch = {0};
    epiq_data data;
    epiqp_plan plan;
    epiqp_problem pb = {
        .e = epiqp_run_begin(c, &own), .scratch = &scratch, .lasting = &a->arena, .warnings = &a->warnings};
    s = epiqp_warn_blas(&pb.e, pb.warnings);
    if (!s) s = combine(&pb, &data, &plan, &copy.given, &own, a);
    epiqp_arena_free(c, &scratch);
    epiqp_run_end();
    epiqp_clear_cancel(c);
    return epiqp_answer_end(c, a, s, out);
}
