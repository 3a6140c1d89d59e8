/* given.c - epiq_combine: the estimators on what networks trained elsewhere predicted and on their kernel. What is given
 * is checked as a whole before anything is computed; then IF, EV and BA are those of every estimate (if.c, ev.c, ba.c), and
 * so is the answer made of them (combine.c). The target is not scaled.
 */
#include "est/est.h"

#include <math.h>

static const epiqp_remedies BRING = {
    .both = "Members (--ensemble) and a kernel (--gram or --jacobian), or retrained networks (--retrained), give them "
            "directly",
    .procedural = "with members (--ensemble)",
    .data = "with a kernel (--gram or --jacobian) or retrained networks (--retrained)",
    .sum = "take the ensemble's variance from IF + EV there, without --batched",
    .either = "add members (--ensemble) or a kernel (--gram or --jacobian)",
    .far = "check that the kernel is that of these networks",
    .made = "given",
};

/* ---- the points ---- */

/* Shape and numbers, as doubles: float32 and float64 of the same places agree. */
static int sum_of(epiqp_job *j, const epiq_matrix *m, char hex[65])
{
    double *row = epiqp_alloc(j->e.c, m->columns, sizeof *row);
    if (!row) {
        return EPIQ_E_NOMEM;
    }
    epiqp_sha256 sum;
    epiqp_sha256_start(&sum);
    epiqp_sha256_add(&sum, (int64_t[]){m->rows, m->columns}, 2 * sizeof(int64_t));
    for (ptrdiff_t i = 0; i < m->rows; i++) {
        epiqp_matrix_row(m, i, 0, m->columns, row);
        epiqp_sha256_add(&sum, row, (size_t)m->columns * sizeof *row);
    }
    epiqp_sha256_end(&sum, hex);
    epiqp_free(j->e.c, row);
    return EPIQ_OK;
}

static int find_points(epiqp_job *j, const epiq_given *g, epiqp_whereabouts *w)
{
    const epiq_matrix *named[] = {g->ensemble, g->batched, g->cross, g->retrained};
    *w = (epiqp_whereabouts){.count = j->asked};
    w->count_by = g->ensemble    ? g->ensemble->name
                  : g->batched   ? g->batched->name
                  : g->cross     ? g->cross->name
                  : g->jacobian0 ? g->jacobian0->name
                  : g->at        ? g->at->name
                                 : NULL;
    int s = EPIQ_OK;
    for (int k = 0; !s && k < 4; k++) {
        if (named[k]) {
            s = epiqp_same_points(j->e.c, w, &(epiqp_whereabouts){.name = named[k]->column, .name_by = named[k]->name});
        }
    }
    if (!s && g->at) {
        w->sum_by = g->at->name;
        s = sum_of(j, g->at, w->sum);
    }
    return s;
}

static int name_points(epiqp_job *j, const epiqp_whereabouts *w)
{
    epiqp_arena *arena = &j->answer->arena;
    j->name = epiqp_arena_alloc(j->e.c, arena, j->points, sizeof *j->name);
    for (ptrdiff_t p = 0; j->name && p < j->points; p++) {
        j->name[p] = w->name && *w->name[p] ? epiqp_arena_printf(j->e.c, arena, "%s", w->name[p])
                                            : epiqp_arena_printf(j->e.c, arena, "%td", p + 1);
        if (!j->name[p]) {
            return EPIQ_E_NOMEM;
        }
    }
    return j->name ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* ---- networks ---- */

static int take_rows(epiqp_job *j, const epiq_matrix *m, const double **h, ptrdiff_t *count)
{
    *count = m ? m->rows : 0;
    double *all = epiqp_arena_alloc(j->e.c, &j->scratch, *count * j->asked, sizeof *all);
    for (ptrdiff_t k = 0; all && k < *count; k++) {
        epiqp_matrix_row(m, k, 0, j->asked, all + k * j->asked);
    }
    *h = m ? all : NULL;
    return all ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* One network has no spread: fine if more are to come. */
static int check_single(epiqp_job *j, const char *kind, ptrdiff_t count, const char *from)
{
    if (count != 1) {
        return EPIQ_OK;
    }
    return j->o.state
               ? epiqp_warn(
                     j->e.c, j->warnings, "one_network",
                     "there is one %s so far, and the prediction of one network has no spread; another is needed", kind)
               : epiqp_fail(j->e.c, EPIQ_E_DATA,
                            "%s holds one network (one row), and one has no spread; give two or more, or gather them "
                            "with --append",
                            from);
}

static int take_networks(epiqp_job *j, const epiq_given *g, epiqp_whereabouts *w)
{
    j->o.members = j->o.batches = 0;
    int s;
    if (j->o.state || g->merge_count) {
        s = epiqp_gather(j, g, w);
    } else {
        s = take_rows(j, g->ensemble, &j->member_h, &j->o.members);
        s = s ? s : take_rows(j, g->batched, &j->batch_h, &j->o.batches);
    }
    j->asked = j->points = w->count;
    if (!s && !j->o.members && !j->o.batches && !g->gram && !g->jacobian) {
        s = epiqp_fail(j->e.c, EPIQ_E_DATA,
                       "%s keeps no network yet, so there is nothing to combine; give --ensemble or --batched",
                       j->o.state ? j->o.state : g->merge[0]);
    }
    if (!s && g->retrained && j->o.members < 2) {
        s = epiqp_fail(
            j->e.c, EPIQ_E_USAGE,
            "--retrained needs --ensemble, two or more networks trained on --y itself, from whose starts these "
            "were trained again; give both");
    }
    const char *merged = g->merge_count ? g->merge[0] : "";
    s = s ? s : check_single(j, "member", j->o.members, g->ensemble ? g->ensemble->name : merged);
    return s ? s : check_single(j, "batch", j->o.batches, g->batched ? g->batched->name : merged);
}

/* ---- the job ---- */

static int check_memory(const epiqp_job *j, const epiq_given *g)
{
    double n = (double)j->n, points = (double)j->points, triangle = (double)epiqp_tri_bytes(j->n), need = 0,
           have = epiqp_may_use(&j->o, 1);
    if (g->gram || g->jacobian) { /* the inverse takes the factor's place */
        need += triangle + 8 * n * points + (j->o.probes < j->n ? 17 * n * (double)j->o.probes : 0);
        need += 4 * n * (double)epiqp_near_count(j->n); /* distances, for neighbours */
    }
    if (g->jacobian) { /* their sum, and some columns */
        need += triangle + 8 * EPIQP_JACOBIAN_COLUMNS * (n + points);
    }
    need += 16 * points * (double)(j->o.members + j->o.batches + (g->retrained ? g->retrained->rows : 0));
    return need <= have ? EPIQ_OK
                        : epiqp_fail(j->e.c, EPIQ_E_NOMEM,
                                     "%td rows, %td points and %td networks need about %.2f GB and %.2f may be "
                                     "used; use fewer",
                                     j->n, j->points, j->o.members + j->o.batches, need / 1e9, have / 1e9);
}

/* The rows as the estimators see them: every one a group of its own, no features, the target in its own units. */
static int make_data(epiqp_job *j, const epiq_given *g, epiq_data *data)
{
    data->n = data->groups = j->n;
    data->y_factor = 1;
    if (!g->y) {
        return EPIQ_OK;
    }
    data->y = epiqp_arena_alloc(j->e.c, &j->scratch, 2 * j->n, sizeof *data->y);
    data->row = epiqp_arena_alloc(j->e.c, &j->scratch, 2 * j->n, sizeof *data->row);
    if (!data->y || !data->row) {
        return EPIQ_E_NOMEM;
    }
    data->group = data->row + j->n;
    j->members_mean = g->yhat ? data->y + j->n : NULL;
    for (ptrdiff_t i = 0; i < j->n; i++) {
        data->group[i] = i;
        data->row[i] = i + 1;
        epiqp_matrix_row(g->y, i, 0, 1, &data->y[i]);
        if (g->yhat) {
            epiqp_matrix_row(g->yhat, i, 0, 1, &j->members_mean[i]);
        }
    }
    return EPIQ_OK;
}

static void resolve(epiqp_job *j, const epiq_given *g)
{
    epiq_options *o = &j->o;
    epiq_result *r = &j->answer->result;
    o->methods =
        (g->gram || g->jacobian ? EPIQ_IF : 0) | (o->members > 1 ? EPIQ_EV : 0) | (o->batches > 1 ? EPIQ_BA : 0);
    o->ensemble_size = o->ensemble_size ? o->ensemble_size : o->batches ? o->batches : o->members ? o->members : 1;
    r->given.members = o->members;
    r->given.batches = o->batches;
    r->methods = o->methods;
    r->correction = o->correction;
    r->ensemble_size = o->ensemble_size;
    r->threads = j->e.threads;
    r->backend = j->e.la->name;
}

/* Numbers given may be so large or small that what follows from them is not finite. */
static bool finite_point(const epiqp_job *j, ptrdiff_t p)
{
    const epiq_point *point = &j->answer->points[p];
    bool finite = isfinite(j->prediction[p]);
    for (ptrdiff_t k = 0; k < point->influential_count; k++) {
        finite = finite && isfinite(point->influential[k].influence);
    }
    return finite;
}

static int use_kernel(epiqp_job *j, const epiq_given *g)
{
    epiqp_ridge ridge = {0};
    epiq_result *r = &j->answer->result;
    int s = epiqp_given_ridge(j, g, &ridge);
    s = s ? s : epiqp_report(j->e.c, "factor", 1, 1);
    double start = epiqp_now();
    s = s ? s : epiqp_if_from_ridge(j, &ridge);
    r->timing.kernel = ridge.fill_s;
    r->timing.factor = ridge.factor_s;
    r->timing.influence = epiqp_now() - start;
    if (!s && !(j->kernel_prediction = epiqp_arena_alloc(j->e.c, &j->scratch, j->points, sizeof(double)))) {
        s = EPIQ_E_NOMEM;
    }
    for (ptrdiff_t p = 0; !s && p < j->points; p++) {
        j->prediction[p] = j->kernel_prediction[p] = epiqp_dot(j->n, ridge.c + p * j->n, j->data->y);
        if (!finite_point(j, p)) {
            s = epiqp_fail(
                j->e.c, EPIQ_E_NUMERIC,
                "the influence function is not finite at point %s; express the target or the kernel in other "
                "units, or use a larger --lambda",
                j->name[p]);
        }
    }
    s = s || !g->retrained ? s : epiqp_given_retrain(j, g, &ridge);
    epiqp_ridge_free(j->e.c, &ridge);
    return s;
}

/* What kernel regression cannot explain is taken for noise: a mean left in the target, or predictions of another target,
 * make the data variance anything. */
static int check_fit(epiqp_job *j, const epiq_given *g)
{
    const epiq_result *r = &j->answer->result;
    double off = 0, spread = sqrt(epiqp_variance(j->data->y, j->n));
    for (ptrdiff_t i = 0; j->members_mean && i < j->n; i++) {
        off += (j->data->y[i] - j->members_mean[i]) / (double)j->n;
    }
    if (fabs(off) > spread / 2) {
        return epiqp_warn(
            j->e.c, j->warnings, "yhat_off",
            "%s lies %.3g off %s on average, whose standard deviation is %.3g, so the data variance means "
            "little; are both in the same units, and is a mean taken out of one only?",
            g->yhat->name, -off, g->y->name, spread);
    }
    if (!j->members_mean && r->fit.has_r2 && r->fit.r2 < 0) {
        return epiqp_warn(
            j->e.c, j->warnings, "kernel_off",
            "kernel regression with this kernel and lambda %.3g predicts left-out rows of %s worse than their "
            "mean does (R2 %.3g), so the data variance means little; take the mean out of %s, check --lambda, or "
            "give the networks' own predictions with --yhat",
            j->o.lambda, g->y->name, r->fit.r2, g->y->name);
    }
    return EPIQ_OK;
}

/* The numbers 0, 1, 2 .. or 1, 2, 3 .. are what programs write over columns without a name. */
static int check_header(epiqp_job *j, const epiq_matrix *m)
{
    double first = 0;
    bool counts = m && !m->column && m->columns > 1;
    for (ptrdiff_t k = 0; counts && k < m->columns; k++) {
        double one;
        epiqp_matrix_row(m, 0, k, 1, &one);
        first = k ? first : one;
        counts = one == first + (double)k && (first == 0 || first == 1);
    }
    return counts
               ? epiqp_warn(j->e.c, j->warnings, "counted_header",
                            "the first row of %s is %g, %g and so on, as if it numbered the columns, but counts as a "
                            "network; leave that line out if it is a header",
                            m->name, first, first + 1)
               : EPIQ_OK;
}

static int use_networks(epiqp_job *j)
{
    const epiq_options *o = &j->o;
    if (j->batch_h) {
        epiqp_ba_points(j, o->batches, j->batch_h);
    }
    j->batches_mean = j->batch_h && !j->kernel_prediction && !j->member_h;
    for (ptrdiff_t p = 0; j->batches_mean && p < j->points; p++) {
        j->prediction[p] = epiqp_mean_of(j->batch_h + p, o->batches, j->points);
    }
    if (j->member_h) {
        epiqp_ev_points(j, o->members, j->member_h);
    }
    return o->methods & EPIQ_EV ? epiqp_warn_few_members(j) : EPIQ_OK;
}

static int run(epiqp_job *j, const epiq_given *g, epiq_data *data)
{
    epiqp_whereabouts w;
    int s = epiqp_given_check(j, g);
    if (s || (s = find_points(j, g, &w)) || (s = take_networks(j, g, &w)) || (s = name_points(j, &w)) ||
        (s = check_memory(j, g)) || (s = make_data(j, g, data)) || (s = epiqp_make_room(j))) {
        return s;
    }
    resolve(j, g);
    if ((j->o.methods & EPIQ_IF && ((s = use_kernel(j, g)) || (s = check_fit(j, g)))) ||
        (s = check_header(j, g->ensemble)) || (s = check_header(j, g->batched)) || (s = use_networks(j)) ||
        (g->retrained && !(j->o.methods & EPIQ_IF) && (s = epiqp_given_retrain(j, g, NULL))) ||
        (s = epiqp_combine(j)) || (s = epiqp_predictive_check(j)) || (s = epiqp_advise(j))) {
        return s;
    }
    return j->o.state ? epiqp_gather_keep(j, g, &w) : EPIQ_OK;
}

/* The options that count; those of training must not get in the way. */
static epiq_options counting(const epiq_options *o)
{
    epiq_options own = epiq_options_default();
    own.lambda = o->lambda;
    own.ensemble_size = o->ensemble_size;
    own.level = o->level;
    own.influential = o->influential;
    own.correction = o->correction;
    own.probes = o->probes;
    own.threads = o->threads;
    own.mem_limit = o->mem_limit;
    own.seed = o->seed;
    own.backend = o->backend;
    own.state = o->state;
    return own;
}

int epiq_combine(epiq_ctx *c, const epiq_given *g, const epiq_options *o, epiq_result **out)
{
    epiqp_clear(c);
    *out = NULL;
    const epiq_options own = counting(o);
    int s = epiqp_options_check(c, &own);
    epiqp_answer *answer = s ? NULL : epiqp_alloc(c, 1, sizeof *answer);
    if (!answer) {
        return s ? s : EPIQ_E_NOMEM;
    }
    *answer = (epiqp_answer){.warnings = {.arena = &answer->arena}};
    epiq_data data = {0};
    epiqp_job j = {.e = epiqp_run_begin(c, &own),
                   .data = &data,
                   .o = own,
                   .more = &(epiqp_more){.predictive = true},
                   .remedy = &BRING,
                   .answer = answer,
                   .warnings = &answer->warnings};
    s = run(&j, g, &data);
    epiqp_arena_free(c, &j.scratch);
    epiqp_run_end();
    epiqp_go_on(c);
    answer->result.points = answer->points;
    answer->result.point_count = j.points;
    answer->result.warnings = answer->warnings.list;
    answer->result.warning_count = answer->warnings.count;
    if (s) {
        epiq_result_free(c, &answer->result);
        return s;
    }
    *out = &answer->result;
    return EPIQ_OK;
}
