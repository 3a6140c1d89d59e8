/* fit.c - epiq_fit: an estimate at the mean of which everything is kept that other points will need. */
#include "model/model.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>

bool epiqp_model_has_members(const epiq_model *m)
{
    return m->o.methods & EPIQ_EV && m->o.engine != EPIQ_ENGINE_INFINITE;
}
bool epiqp_model_has_batches(const epiq_model *m)
{
    return m->o.methods & EPIQ_BA && m->o.engine != EPIQ_ENGINE_INFINITE;
}
bool epiqp_model_has_influence(const epiq_model *m)
{
    return m->o.methods & EPIQ_IF;
}
bool epiqp_model_has_retrain(const epiq_model *m)
{
    return epiqp_model_has_influence(m) && m->o.data_by == EPIQ_DATA_BY_RETRAIN;
}
bool epiqp_model_has_retrained(const epiq_model *m)
{
    return epiqp_keeps_retrained(&m->o);
}
ptrdiff_t epiqp_model_retrained(const epiq_model *m)
{
    return epiqp_model_has_retrained(m) ? 2 * EPIQP_STARTS * m->o.replicates : 0;
}
bool epiqp_model_has_factor(const epiq_model *m)
{
    return epiqp_model_has_influence(m) || m->o.engine == EPIQ_ENGINE_INFINITE;
}
bool epiqp_model_has_alpha(const epiq_model *m)
{
    return epiqp_model_has_factor(m) || !epiqp_model_has_members(m);
}

epiq_model *epiqp_model_alloc(epiq_ctx *c)
{
    epiq_model *m = epiqp_alloc(c, 1, sizeof *m);
    if (m) {
        *m = (epiq_model){0};
        m->warnings.arena = &m->arena;
    }
    return m;
}

void epiq_model_free(epiq_ctx *c, epiq_model *m)
{
    if (!m) {
        return;
    }
    epiqp_rows_free(c, &m->fit.rows);
    epiqp_single_free(c, &m->single_members);
    epiqp_single_free(c, &m->single_batches);
    epiqp_single_free(c, &m->single_retrained);
    epiqp_small_free(c, m);
    if (m->map) {
        munmap(m->map, m->size);
    }
    if (!m->bytes) { /* else it lies among them */
        epiqp_tri_free(c, &m->tri);
    }
    epiqp_arena_free(c, &m->arena);
    epiqp_free(c, m);
}

epiq_model_info epiq_model_describe(const epiq_model *m)
{
    int two = !!epiqp_model_has_influence(m) + !!(m->o.methods & EPIQ_EV) + !!epiqp_model_has_batches(m);
    bool ba_itself = epiqp_model_has_batches(m) && m->o.ensemble_size == m->o.batches;
    return (epiq_model_info){
        .rows = m->n,
        .features = m->d,
        .feature = m->feature,
        .target = m->target,
        .shift = m->target_scaling[0],
        .factor = m->target_scaling[1],
        .sha256 = m->sha256,
        .version = m->version,
        .options = &m->o,
        .parts = EPIQ_PREDICTION | (two > 1 || m->o.methods & EPIQ_EV ? EPIQ_PROCEDURAL : 0) |
                 (two > 1 || epiqp_model_has_influence(m) ? EPIQ_DATA : 0) | (two > 1 || ba_itself ? EPIQ_ENSEMBLE : 0),
        .warnings = m->warnings.list,
        .warning_count = m->warnings.count,
    };
}

/* What linear regression answers to the steps of retraining follows from them. */
static int prepare_steps(epiq_ctx *c, epiq_model *m)
{
    m->steps = (epiqp_steps){.n = m->n,
                             .d = m->d,
                             .groups = m->groups,
                             .replicates = m->o.replicates,
                             .folds = epiqp_min(EPIQP_FOLDS, m->groups),
                             .x = m->x,
                             .group = m->group,
                             .fold = m->fold,
                             .u = m->step,
                             .size = m->step_size,
                             .alone = m->alone,
                             .ols = &m->ols};
    if (!epiqp_model_has_retrained(m)) {
        return EPIQ_OK;
    }
    epiqp_env e = epiqp_run_begin(c, &m->o);
    int s = epiqp_ols_new(&e, &m->arena, &m->steps, m->o.replicates, &m->ols);
    epiqp_run_end();
    return s;
}

int epiqp_model_prepare(epiq_ctx *c, epiq_model *m)
{
    m->fit = (epiqp_fit){.o = &m->o, .net = epiqp_net_of(&m->o, m->d)};
    m->fit.arch = epiqp_arch_of(&m->fit.net);
    int s = epiqp_rows_new(c, m->n, m->d, m->x, &m->fit.rows);
    m->least = epiqp_arena_alloc(c, &m->arena, 2 * m->d, sizeof *m->least);
    if (s || !m->least) {
        return s ? s : EPIQ_E_NOMEM;
    }
    m->most = m->least + m->d;
    for (ptrdiff_t i = 0; i < m->n; i++) {
        m->norm2 = fmax(m->norm2, m->fit.rows.norm2[i]);
        for (ptrdiff_t k = 0; k < m->d; k++) {
            double v = m->x[i * m->d + k];
            m->least[k] = i ? fmin(m->least[k], v) : v;
            m->most[k] = i ? fmax(m->most[k], v) : v;
        }
    }
    double sum = 0, sum2 = 0;
    for (ptrdiff_t i = 0; m->excess && *m->unit > 0 && i < m->n; i++) {
        double z = m->used[i] / *m->unit;
        sum += z * z;
        sum2 += z * z * z * z;
    }
    m->kurtosis = sum > 0 ? (double)m->n * sum2 / (sum * sum) : 0;
    /* the other engines add kernels and tangents in double, and plain C does all in double */
    bool network = m->o.engine == EPIQ_ENGINE_NETWORK && m->o.backend == EPIQ_BACKEND_BLAS;
    if (!s && network && epiqp_model_has_members(m)) {
        s = epiqp_single_new(c, &m->fit.net, m->o.members, m->members.theta, &m->single_members);
    }
    if (!s && network && epiqp_model_has_batches(m)) {
        s = epiqp_single_new(c, &m->fit.net, m->o.batches, m->batches.theta, &m->single_batches);
    }
    if (!s && network && epiqp_model_has_retrained(m)) {
        s = epiqp_single_new(c, &m->fit.net, epiqp_model_retrained(m), m->retrained.theta, &m->single_retrained);
    }
    s = s ? s : prepare_steps(c, m);
    return s ? s : epiqp_small_new(c, m);
}

/* ---- from data ---- */

static const void *copied(epiq_ctx *c, epiq_model *m, const void *from, ptrdiff_t count)
{
    double *to = epiqp_arena_alloc(c, &m->arena, count, sizeof *to); /* 8 bytes each, whatever they are */
    if (to) {
        memcpy(to, from, (size_t)count * sizeof *to);
    }
    return to;
}

static int copy_names(epiq_ctx *c, epiq_model *m, const epiq_data *data)
{
    const char **names = epiqp_arena_alloc(c, &m->arena, 3 * m->d, sizeof *names);
    m->target = epiqp_arena_printf(c, &m->arena, "%s", data->target);
    m->version = EPIQ_VERSION;
    if (!names || !m->target) {
        return EPIQ_E_NOMEM;
    }
    m->feature = names;
    m->columns = (struct epiqp_columns){.source = names + m->d, .value = names + 2 * m->d};
    for (ptrdiff_t k = 0; k < m->d; k++) {
        const struct epiqp_columns *known = data->columns;
        m->feature[k] = epiqp_arena_printf(c, &m->arena, "%s", data->feature[k]);
        m->columns.source[k] = epiqp_arena_printf(c, &m->arena, "%s", known->source[k]);
        m->columns.value[k] = known->value[k] ? epiqp_arena_printf(c, &m->arena, "%s", known->value[k]) : NULL;
        if (!m->feature[k] || !m->columns.source[k] || (known->value[k] && !m->columns.value[k])) {
            return EPIQ_E_NOMEM;
        }
    }
    memcpy(m->sha256, data->sha256, sizeof m->sha256);
    return EPIQ_OK;
}

/* Options of the command line point into it; a model outlives that, and what belonged to the one run ends with it. */
static int copy_texts(epiq_ctx *c, epiq_model *m)
{
    const char **texts[] = {&m->o.target, &m->o.features, &m->o.drop, &m->o.onehot, &m->o.group};
    m->o.state = m->o.scratch = NULL;
    m->o.mem_limit = 0;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        if (*texts[k] && !(*texts[k] = epiqp_arena_printf(c, &m->arena, "%s", *texts[k]))) {
            return EPIQ_E_NOMEM;
        }
    }
    return EPIQ_OK;
}

/* Warnings about the one point asked for say nothing of the model. */
static bool about_the_point(const epiq_warning *w)
{
    static const char *const codes[] = {"zero_by_construction", "jump",         "outside_range", "lost_in_rounding",
                                        "negative_difference",  "noise_by_row", "out_of_range",  "few_rows_decide",
                                        "hidden_by_starts"};
    for (size_t k = 0; k < sizeof codes / sizeof *codes; k++) {
        if (strcmp(w->code, codes[k]) == 0) {
            return true;
        }
    }
    return false;
}

static int build(epiq_ctx *c, const epiq_data *data, const epiqp_keep *keep, const epiq_result *r, epiq_model *m)
{
    double scaling[2] = {data->y_shift, data->y_factor};
    m->o = keep->o;
    m->n = data->n;
    m->d = data->d;
    m->groups = data->groups;
    m->x = copied(c, m, data->x, m->n * m->d);
    m->shift = copied(c, m, data->shift, m->d);
    m->factor = copied(c, m, data->factor, m->d);
    m->target_scaling = copied(c, m, scaling, 2);
    m->group = copied(c, m, data->group, m->n);
    m->unit = copied(c, m, &keep->unit, 1);
    m->law = copied(c, m, keep->law, 3);
    m->noise = copied(c, m, &keep->noise, 1);
    if (!m->law || !m->x || !m->shift || !m->factor || !m->target_scaling || !m->group || !m->unit || !m->noise) {
        return EPIQ_E_NOMEM;
    }
    m->members = keep->members;
    m->batches = keep->batches;
    m->retrained = keep->retrained;
    m->step = keep->step;
    m->step_size = keep->step_size;
    m->alone = keep->alone;
    m->fold = keep->fold;
    m->alpha = keep->alpha;
    m->used = keep->used;
    m->residual = keep->residual;
    m->excess = keep->excess;
    m->retrain = keep->retrain ? &keep->retrain->left_out.kappa : NULL; /* all of it are numbers */
    m->smoothed = keep->smoothed;
    m->spread = keep->spread;
    int s = copy_names(c, m, data);
    s = s ? s : copy_texts(c, m);
    for (ptrdiff_t k = 0; !s && k < r->warning_count; k++) {
        s = about_the_point(&r->warnings[k])
                ? EPIQ_OK
                : epiqp_warn(c, &m->warnings, r->warnings[k].code, "%s", r->warnings[k].message);
    }
    return s ? s : epiqp_model_prepare(c, m);
}

static int refuse(epiq_ctx *c, const epiq_options *o)
{
    if (o->time > 0) {
        return epiqp_fail(c, EPIQ_E_USAGE, "a model cannot be of training stopped at a time; leave out --time");
    }
    if (o->kernel == EPIQ_KERNEL_EMPIRICAL) {
        return epiqp_fail(c, EPIQ_E_USAGE, "a model needs the population kernel; leave out --kernel empirical");
    }
    if (o->solver == EPIQ_SOLVER_DIVIDED || o->solver == EPIQ_SOLVER_ITERATIVE) {
        return epiqp_fail(c, EPIQ_E_USAGE, "a model needs one factor of all rows; leave out --solver %s",
                          o->solver == EPIQ_SOLVER_DIVIDED ? "divided" : "iterative");
    }
    return EPIQ_OK;
}

int epiq_fit(epiq_ctx *c, const epiq_data *data, const epiq_options *o, epiq_model **out)
{
    epiqp_clear(c);
    *out = NULL;
    int s = epiqp_options_check(c, o);
    if (s || (s = refuse(c, o))) {
        return s;
    }
    epiq_options own = *o;
    own.influential = own.sweep = 0;
    epiqp_keep keep = {0};
    epiq_points *mean = NULL;
    epiq_result *r = NULL;
    epiq_model *m = epiqp_model_alloc(c);
    s = m ? epiq_points_new(c, data, &mean) : EPIQ_E_NOMEM;
    s = s ? s : epiq_points_add(c, mean, "mean");
    s = s ? s : epiqp_estimate(c, data, mean, &own, &(epiqp_more){.keep = &keep}, &r);
    epiqp_go_on(c);
    if (m) { /* what was kept is the model's, and goes where it goes */
        m->tri = keep.factor;
        m->arena = keep.arena;
    }
    s = s ? s : build(c, data, &keep, r, m);
    epiq_result_free(c, r);
    epiq_points_free(c, mean);
    if (s) {
        epiq_model_free(c, m);
        return s;
    }
    *out = m;
    return EPIQ_OK;
}
