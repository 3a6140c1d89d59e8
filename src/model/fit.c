/* fit.c - epiq_fit: an estimate at the mean of which everything is kept that other points will need. */
#include "model/model.h"

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

void epiq_model_info_get(const epiq_model *m, epiq_model_info *info, size_t size)
{
    const bool influence = m->has.influence, ev = m->o.methods & EPIQ_EV, ba = m->ensemble[EPIQP_BATCHES].count,
               two = influence + ev + ba > 1, ba_itself = ba && m->o.ensemble_size == m->o.batches;
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
        .parts = EPIQ_PREDICTION | (two || ev ? EPIQ_PROCEDURAL : 0) | (two || influence ? EPIQ_DATA : 0) |
                 (two || ba_itself ? EPIQ_ENSEMBLE : 0),
        .warnings = m->warning_list ? m->warning_list : epiqp_empty_list,
        .warning_count = m->warnings.count,
    };
    epiqp_give(&own, sizeof own, info, size);
}

int epiqp_model_prepare(epiq_ctx *c, epiq_model *m)
{
    m->fit = (epiqp_fit){.o = &m->o, .net = epiqp_net_of(&m->o, m->d)};
    m->fit.arch = epiqp_arch_of(&m->fit.net);
    int s = epiqp_rows_new(c, m->n, m->d, m->x, &m->fit.rows);
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
        s = k->count ? epiqp_shallow32_ensemble_new(c, &m->fit.net, k->count, k->weights->theta, &k->single) : EPIQ_OK;
    }
    m->rows = (epiq_data){.n = m->n, .d = m->d, .groups = m->groups};
    m->rows.x = (double *)(uintptr_t)m->x; /* only read, like the groups */
    m->rows.group = (ptrdiff_t *)(uintptr_t)m->group;
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
    return s ? s : epiqp_small_new(c, m);
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
    epiqp_model_list_contents(m);
    m->n = data->n;
    m->d = data->d;
    m->groups = data->groups;
    m->x = copied(c, m, data->x, m->n * m->d);
    m->shift = copied(c, m, data->shift, m->d);
    m->factor = copied(c, m, data->factor, m->d);
    m->group = copied(c, m, data->group, m->n);
    if (!m->x || !m->shift || !m->factor || !m->group) return EPIQ_E_NOMEM;
    m->target_scaling[0] = data->y_shift;
    m->target_scaling[1] = data->y_factor;
    int s = copy_names(c, m, data);
    if (s || (s = epiqp_options_keep_texts(c, &m->arena, &m->o))) return s; /* they may be the command line's */
    for (ptrdiff_t k = 0; !s && k < r->warning_count; k++) {
        const epiq_warning *w = r->warnings[k];
        if (epiq_warning_describe(w->kind)->scope != EPIQ_ABOUT_POINT) { /* a model's caller asked about no point */
            s = epiqp_warn(c, &m->warnings, w->kind, "%s", w->message);
        }
    }
    if (s) return s;
    m->warning_list = epiqp_arena_list(c, &m->arena, m->warnings.list, m->warnings.count, sizeof *m->warnings.list);
    return m->warning_list ? epiqp_model_prepare(c, m) : EPIQ_E_NOMEM;
}

int epiq_fit(epiq_ctx *c, const epiq_data *data, const epiq_options *o, epiq_model **out)
{
    epiqp_clear(c);
    *out = NULL;
    epiq_options own;
    int s = epiqp_options_take(c, o, &own);
    if (s || (s = epiqp_options_check(c, &own)) || (s = epiqp_options_conflict(c, &own, EPIQ_FOR_FIT))) return s;
    own.influential = own.sweep = 0;
    epiq_points *mean = NULL;
    epiq_result *r = NULL;
    epiq_model *m = epiqp_model_alloc(c);
    s = m ? epiq_points_new(c, data, &mean) : EPIQ_E_NOMEM;
    if (!s && !(s = epiq_points_add(c, mean, "mean"))) {
        s = epiqp_estimate(c, data, mean, &own, &(epiqp_request){.model = &m->kept}, &r);
    }
    epiqp_clear_cancel(c);
    if (!s) s = build(c, data, r, m);
    epiq_result_free(c, r);
    epiq_points_free(c, mean);
    if (s) epiq_model_free(c, m);
    *out = s ? NULL : m;
    return s;
}
