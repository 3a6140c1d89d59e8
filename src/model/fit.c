/* fit.c - epiq_fit: an estimate at the mean of which everything is kept that other points will need. */
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

void epiqp_model_list_contents(epiq_model *m)
{
    const epiq_options *o = &m->o;
    const bool networks = o->engine != EPIQ_ENGINE_INFINITE;
    m->has.influence = o->methods & EPIQ_IF;
    m->has.retrain = m->has.influence && o->data_by == EPIQ_DATA_BY_RETRAIN;
    m->has.factor = m->has.influence || !networks;
    m->has.alpha = m->has.factor || !(o->methods & EPIQ_EV);
    m->has.moderated = m->has.influence && o->correction == EPIQ_CORRECTION_MODERATED;
    m->has.rowwise = m->has.moderated || (m->has.influence && o->correction == EPIQ_CORRECTION_ROWWISE);
    m->ensemble[EPIQP_MEMBERS].count = networks && o->methods & EPIQ_EV ? o->members : 0;
    m->ensemble[EPIQP_BATCHES].count = networks && o->methods & EPIQ_BA ? o->batches : 0;
    m->ensemble[EPIQP_RETRAINED].count =
        m->has.retrain && o->engine == EPIQ_ENGINE_NETWORK ? 2 * EPIQP_STARTS * o->replicates : 0;
}

epiq_model *epiqp_model_alloc(epiq_ctx *c)
{
    epiq_model *m = epiqp_alloc(c, 1, sizeof *m);
    if (m) {
        *m = (epiq_model){.warnings.arena = &m->arena,
                          .ensemble = {[EPIQP_MEMBERS].weights = &m->kept.members,
                                       [EPIQP_BATCHES].weights = &m->kept.batches,
                                       [EPIQP_RETRAINED].weights = &m->kept.retrained}};
    }
    return m;
}

void epiq_model_free(epiq_ctx *c, epiq_model *m)
{
    if (!m) return;
    epiqp_rows_free(c, &m->fit.rows);
    for (int k = 0; k < EPIQP_ENSEMBLES; k++) {
        epiqp_shallow32_ensemble_free(c, &m->ensemble[k].single);
    }
    epiqp_small_free(c, m);
    if (m->map) munmap(m->map, m->size);
    if (!m->bytes) { /* else the file's bytes hold it */
        epiqp_tri_free(c, &m->kept.factor);
    }
    epiqp_arena_free(c, &m->kept.arena);
    epiqp_arena_free(c, &m->arena);
    epiqp_free(c, m);
}

/* ---- the error on rows not seen, as numbers ---- */

enum { AMOUNTS = 4, R2S = 6, WHOLE = 7 }; /* where the amounts, the R2 and the whole numbers that are not flags end */

static void numbers_of(const epiq_fit_error *f, double *out)
{
    const double numbers[EPIQP_MODEL_ERROR] = {
        f->rmse,          f->noise_variance, f->kernel_rmse, f->kernel_noise_variance, f->r2, f->kernel_r2,
        (double)f->folds, f->has_r2,         f->by_group,    f->kernel_known};
    memcpy(out, numbers, sizeof numbers);
}

bool epiqp_model_error_of(const double *v, epiq_fit_error *out)
{
    for (int k = 0; k < EPIQP_MODEL_ERROR; k++) {
        const double least = k >= AMOUNTS && k < R2S ? -DBL_MAX : 0, most = k < AMOUNTS             ? DBL_MAX
                                                                            : k < R2S || k >= WHOLE ? 1
                                                                                                    : 100;
        if (!(v[k] >= least && v[k] <= most && (k < R2S || v[k] == floor(v[k])))) return false;
    }
    *out = (epiq_fit_error){.known = 1,
                            .rmse = v[0],
                            .noise_variance = v[1],
                            .kernel_rmse = v[2],
                            .kernel_noise_variance = v[3],
                            .r2 = v[4],
                            .kernel_r2 = v[5],
                            .folds = (ptrdiff_t)v[6],
                            .has_r2 = v[7] > 0,
                            .by_group = v[8] > 0,
                            .kernel_known = v[9] > 0};
    return true;
}

/* ---- what it is ---- */

static int parts_of(const epiq_model *m)
{
    const bool influence = m->has.influence, ev = m->o.methods & EPIQ_EV, ba = m->ensemble[EPIQP_BATCHES].count,
               two = influence + ev + ba > 1, ba_itself = ba && m->o.ensemble_size == m->o.batches,
               sd = influence || (m->ensemble[EPIQP_MEMBERS].count && ba);
    return EPIQ_PREDICTION | (two || ev ? EPIQ_PROCEDURAL : 0) | (two || influence ? EPIQ_DATA : 0) |
           (two || ba_itself ? EPIQ_ENSEMBLE : 0) | (sd ? EPIQ_SD : 0) |
           (sd && m->kept.has_spread ? EPIQ_INTERVAL | EPIQ_NOISE : 0) |
           ((m->o.confidence == EPIQ_CONFIDENCE_BATCHING && ba) ||
                    (m->o.confidence == EPIQ_CONFIDENCE_RETRAIN && sd && m->groups == m->n)
                ? EPIQ_EXPECTED
                : 0);
}

/* What says where a new observation falls, or a sentence why that is unknown. */
static int prepare_interval(epiq_ctx *c, epiq_model *m)
{
    const int parts = parts_of(m);
    if (!(parts & EPIQ_INTERVAL)) {
        m->no_interval = epiqp_arena_sentence(
            c, &m->arena, "the model has no interval of y, which %s",
            parts & EPIQ_SD ? "is made of errors at rows that were left out; fit again with if in {--methods}, or "
                              "{--fold-members} above 0, and 10 rows, or groups of rows, or more"
                            : "takes both parts of the variance; fit again with if and ev in {--methods}");
        return m->no_interval ? EPIQ_OK : EPIQ_E_NOMEM;
    }
    const epiqp_spread_rows rows = {.n = m->n, .d = m->d, .groups = m->groups, .x = m->x, .group = m->group};
    return epiqp_spread_restore(c, &m->arena, &rows, &m->kept.spread, &m->spread);
}

void epiq_model_info_get(const epiq_model *m, epiq_model_info *info, size_t size)
{
    const int parts = parts_of(m);
    const epiq_model_info own = {
        .rows = m->n,
        .features = m->d,
        .feature = m->feature,
        .target = m->target,
        .shift = m->target_scaling[0],
        .factor = m->target_scaling[1],
        .sha256 = m->sha256,
        .version = m->version,
        .options = &m->o,
        .parts = parts,
        .warnings = m->warning_list ? m->warning_list : epiqp_empty_list,
        .warning_count = m->warnings.count,
        .fit = &m->fit_error,
        .most_level = parts & EPIQ_INTERVAL ? m->spread.groups / (m->spread.groups + 1) : 0,
        .no_interval = m->no_interval,
    };
    epiqp_give(&own, sizeof own, info, size);
}

/* The rows as networks have them. */
static int prepare_rows(epiq_ctx *c, epiq_model *m)
{
    m->rows = (epiq_data){.n = m->n, .d = m->inputs, .groups = m->groups};
    m->rows.x = (double *)(uintptr_t)m->x; /* only read, like the groups */
    m->rows.group = (ptrdiff_t *)(uintptr_t)m->group;
    if (!epiqp_model_wide(m)) return EPIQ_OK;
    m->rows.x = epiqp_arena_alloc(c, &m->arena, m->n * m->inputs, sizeof *m->rows.x);
    if (!m->rows.x) return EPIQ_E_NOMEM;
    const epiqp_env e = epiqp_run_begin(c, &m->o);
    const int s = epiqp_span_enter(&e, &m->kept.span, m->n, m->x, m->rows.x);
    epiqp_run_end();
    return s;
}

int epiqp_model_prepare(epiq_ctx *c, epiq_model *m)
{
    m->fit = (epiqp_fit){.o = &m->o, .net = epiqp_net_of(&m->o, m->inputs)};
    m->fit.arch = epiqp_arch_of(&m->fit.net);
    int s = prepare_rows(c, m);
    if (!s) s = epiqp_rows_new(c, m->n, m->inputs, m->rows.x, &m->fit.rows);
    m->least = epiqp_arena_alloc(c, &m->arena, 2 * m->d, sizeof *m->least);
    if (s || !m->least) return s ? s : EPIQ_E_NOMEM;
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
    for (ptrdiff_t i = 0; m->kept.noise_excess && m->kept.noise_unit > 0 && i < m->n; i++) {
        double z = m->kept.r_std[i] / m->kept.noise_unit;
        sum += z * z;
        sum2 += z * z * z * z;
    }
    m->kurtosis = sum > 0 ? (double)m->n * sum2 / (sum * sum) : 0;
    /* the other engines add kernels and tangents in double, and plain C does all in double */
    bool network = m->o.engine == EPIQ_ENGINE_NETWORK && m->o.backend == EPIQ_BACKEND_BLAS;
    for (epiqp_ensemble *k = m->ensemble; !s && network && k < m->ensemble + EPIQP_ENSEMBLES; k++) {
        s = k->count && !epiqp_start_removed(&m->o)
                ? epiqp_shallow32_ensemble_new(c, &m->fit.net, k->count, k->weights->theta, &k->single)
                : EPIQ_OK;
    }
    m->steps = (epiqp_steps){.data = &m->rows,
                             .replicates = m->o.replicates,
                             .folds = epiqp_min(m->o.folds, m->groups),
                             .fold = m->kept.fold,
                             .u = m->kept.step,
                             .size = m->kept.step_size,
                             .alone = m->kept.alone,
                             .ols = &m->ols};
    if (!s && m->ensemble[EPIQP_RETRAINED].count) { /* what linear regression answers to the steps */
        const epiqp_env e = epiqp_run_begin(c, &m->o);
        s = epiqp_ols_new(&e, &m->arena, &m->steps, m->o.replicates, &m->ols);
        epiqp_run_end();
    }
    if (s || (s = prepare_interval(c, m))) return s;
    return epiqp_small_new(c, m);
}

static const void *copied(epiq_ctx *c, epiq_model *m, const void *from, ptrdiff_t count)
{
    double *to = epiqp_arena_alloc(c, &m->arena, count, sizeof *to); /* 8 bytes each, of any type */
    if (to) memcpy(to, from, (size_t)count * sizeof *to);
    return to;
}

static int copy_names(epiq_ctx *c, epiq_model *m, const epiq_data *data)
{
    const char **names = epiqp_arena_alloc(c, &m->arena, EPIQP_FEATURE_TEXTS * m->d, sizeof *names);
    m->target = epiqp_arena_printf(c, &m->arena, "%s", data->target);
    m->version = EPIQ_VERSION;
    if (!names || !m->target) return EPIQ_E_NOMEM;
    epiqp_model_texts(m, names);
    for (ptrdiff_t k = 0; k < m->d; k++) {
        const struct epiqp_columns *known = data->columns;
        m->feature[k] = epiqp_arena_printf(c, &m->arena, "%s", data->feature[k]);
        m->columns.source[k] = epiqp_arena_printf(c, &m->arena, "%s", known->source[k]);
        m->columns.value[k] = known->value[k] ? epiqp_arena_printf(c, &m->arena, "%s", known->value[k]) : NULL;
        m->columns.unit[k] = known->unit[k]; /* a constant of the program */
        if (!m->feature[k] || !m->columns.source[k] || (known->value[k] && !m->columns.value[k])) return EPIQ_E_NOMEM;
    }
    memcpy(m->sha256, data->sha256, sizeof m->sha256);
    return EPIQ_OK;
}

static int build(epiq_ctx *c, const epiq_data *data, const epiq_result *r, epiq_model *m)
{
    const epiq_options plain = epiq_options_default();
    m->o = m->kept.o;
    epiqp_options_copy(&m->o, &plain, EPIQ_OPTION_FILE); /* options of one run alone are dropped */
    m->o.mem_limit = 0;
    m->o.level = plain.level;
    epiqp_model_list_contents(m);
    m->n = data->n;
    m->d = data->d;
    m->inputs = epiqp_model_wide(m) ? m->kept.span.rank + 1 : m->d;
    m->groups = data->groups;
    m->x = copied(c, m, data->x, m->n * m->d);
    m->shift = copied(c, m, data->shift, m->d);
    m->factor = copied(c, m, data->factor, m->d);
    m->group = copied(c, m, data->group, m->n);
    if (!m->x || !m->shift || !m->factor || !m->group) return EPIQ_E_NOMEM;
    m->target_scaling[0] = data->y_shift;
    m->target_scaling[1] = data->y_factor;
    numbers_of(r->fit, m->error);
    m->has.error = r->fit->known && epiqp_model_error_of(m->error, &m->fit_error);
    int s = copy_names(c, m, data);
    if (s || (s = epiqp_options_keep_texts(c, &m->arena, &m->o))) return s; /* they may be the command line's */
    for (ptrdiff_t k = 0; !s && k < r->warning_count; k++) {
        s = epiqp_warn(c, &m->warnings, r->warnings[k]->kind, "%s", r->warnings[k]->message);
    }
    if (s) return s;
    m->warning_list = epiqp_arena_list(c, &m->arena, m->warnings.list, m->warnings.count, sizeof *m->warnings.list);
    return m->warning_list ? epiqp_model_prepare(c, m) : EPIQ_E_NOMEM;
}

/* forecast: what that would cost, and no model. */
static int fit(epiq_ctx *c, const epiq_data *data, const epiq_options *o, epiq_model **out, epiq_result **forecast)
{
    epiqp_clear(c);
    epiq_options own;
    int s = epiqp_options_take(c, o, &own);
    if (s || (s = epiqp_options_check(c, &own)) || (s = epiqp_options_conflict(c, &own, EPIQ_FOR_FIT))) return s;
    if (own.confidence == EPIQ_CONFIDENCE_RETRAIN && data->groups < data->n) {
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "a model does not keep how well groups of rows tell the data part, which {--confidence} "
                          "retrain takes; use {--confidence} batching");
    }
    own.influential = own.sweep = 0;
    own.level = 0.5; /* whoever predicts gives another: nothing that is kept depends on it */
    epiq_points *mean = NULL;
    epiq_result *r = NULL;
    epiq_model *m = epiqp_model_alloc(c);
    s = m ? epiq_points_new(c, data, &mean) : EPIQ_E_NOMEM;
    if (!s && !(s = epiq_points_add(c, mean, "mean"))) {
        s = epiqp_estimate(c, data, mean, &own,
                           &(epiqp_request){.model = &m->kept, .predictive = true, .forecast_only = forecast}, &r);
    }
    epiqp_clear_cancel(c);
    if (!s && !forecast) s = build(c, data, r, m);
    epiq_points_free(c, mean);
    if (s || forecast) epiq_model_free(c, m);
    if (s || !forecast) epiq_result_free(c, r);
    if (!s && forecast) *forecast = r;
    if (!s && !forecast) *out = m;
    return s;
}

int epiq_fit(epiq_ctx *c, const epiq_data *data, const epiq_options *o, epiq_model **out)
{
    *out = NULL;
    return fit(c, data, o, out, NULL);
}

int epiq_fit_forecast(epiq_ctx *c, const epiq_data *data, const epiq_options *o, epiq_result **out)
{
    *out = NULL;
    return fit(c, data, o, NULL, out);
}
