/* fit.c - rows, points and their shared factor (engine.h), and the table of engines. */
#include "engine/engine.h"
#include "epiq_combine.h"

#include <math.h>
#include <string.h>

const epiqp_engine *epiqp_engine_of(const epiq_options *o)
{
    static const epiqp_engine *const TABLE[] = {
        [EPIQ_ENGINE_NETWORK] = &epiqp_engine_network,
        [EPIQ_ENGINE_LINEAR] = &epiqp_engine_linear,
        [EPIQ_ENGINE_INFINITE] = &epiqp_engine_infinite,
    };
    return TABLE[o->engine];
}

bool epiqp_needs_solve(const epiq_options *o)
{
    bool own = o->engine == EPIQ_ENGINE_LINEAR && o->linear_kernel == EPIQ_KERNEL_EMPIRICAL;
    return epiqp_engine_of(o)->solves && !own;
}

bool epiqp_start_removed(const epiq_options *o)
{
    return o->predictor != EPIQ_PREDICTOR_ENSEMBLE && o->predictor != EPIQ_PREDICTOR_USUAL;
}

bool epiqp_stops(const epiq_options *o)
{
    return o->engine == EPIQ_ENGINE_NETWORK && o->optimizer != EPIQ_OPTIMIZER_AUTO && o->steps > 0;
}

double epiqp_flow_time(const epiq_options *o)
{
    return o->steps ? o->lr * (double)o->steps : INFINITY;
}

epiqp_net epiqp_net_of(const epiq_options *o, ptrdiff_t d)
{
    return (epiqp_net){d, o->width, o->depth, o->bias, o->bias_sd};
}

epiqp_draw epiqp_draw_of(const epiq_options *o, ptrdiff_t k)
{
    bool same_start = o->optimizer == EPIQ_OPTIMIZER_SGD && o->vary == EPIQ_VARY_ORDER;
    return (epiqp_draw){{o->seed, EPIQP_FOR_MEMBER, same_start ? 0 : (uint64_t)k},
                        {o->seed, EPIQP_FOR_ORDER, o->vary == EPIQ_VARY_INIT ? 0 : (uint64_t)k}};
}

/* Weights beyond this could not be stored on any machine; every product below it is exact. */
static const double MOST_WEIGHTS = 1e15;

ptrdiff_t epiq_network_size(const epiq_options *o, ptrdiff_t d)
{
    double width = (double)o->width;
    if (d < 1 || o->width < 1 || o->depth < 1 ||
        !(width * ((double)d + 2) + ((double)o->depth - 1) * width * (width + 1) <= MOST_WEIGHTS)) {
        return 0;
    }
    epiqp_net net = epiqp_net_of(o, d);
    return epiqp_net_params(&net);
}

int epiq_network_start(epiq_ctx *c, const epiq_options *o, ptrdiff_t d, ptrdiff_t k, double *theta)
{
    epiqp_clear(c);
    epiq_options own;
    int status = epiqp_options_take(c, o, &own);
    if (status || (status = epiqp_options_check(c, &own))) return status;
    if (own.width == 0) {
        return epiqp_fail(c, EPIQ_E_USAGE, "{--width} is auto, which an estimate or a fit chooses; give a number here");
    }
    if (!epiq_network_size(&own, d) || k < 0) {
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "there is no network %td of %td features, width %td and depth %td; networks count from 0, "
                          "features from 1",
                          k, d, own.width, own.depth);
    }
    epiqp_net net = epiqp_net_of(&own, d);
    epiqp_net_init(&net, epiqp_draw_of(&own, k).init, theta);
    return EPIQ_OK;
}

int epiqp_fit_new(const epiqp_env *e, const epiq_options *o, ptrdiff_t n, ptrdiff_t d, const double *x, const double *y,
                  ptrdiff_t points, const double *at, epiqp_fit *out)
{
    *out = (epiqp_fit){.o = o, .net = epiqp_net_of(o, d), .y = y, .lambda = o->lambda, .solver = o->solver};
    out->arch = epiqp_arch_of(&out->net);
    int status = epiqp_rows_new(e->c, n, d, x, &out->rows);
    if (!status) status = epiqp_rows_new(e->c, points, d, at, &out->at);
    if (!status && o->engine == EPIQ_ENGINE_NETWORK &&
        (o->optimizer == EPIQ_OPTIMIZER_AUTO || o->optimizer == EPIQ_OPTIMIZER_FLOW)) {
        status = epiqp_left_new(e, &out->net, n, x, &out->left);
    }
    if (status) epiqp_fit_free(e->c, out);
    return status;
}

int epiqp_fit_solve(const epiqp_env *e, epiqp_fit *f)
{
    if (f->solved) return EPIQ_OK;
    double *k0 = epiqp_alloc(e->c, f->rows.n * f->at.n, sizeof *k0);
    if (!k0) return EPIQ_E_NOMEM;
    epiqp_kernel_cross(e, &f->arch, &f->rows, &f->at, k0, NULL);
    for (ptrdiff_t p = 0; f->left_out && p < f->at.n; p++) {
        if (f->left_out[p] >= 0) {
            memset(k0 + p * f->rows.n, 0, (size_t)f->rows.n * sizeof *k0);
            k0[p * f->rows.n + f->left_out[p]] = 1;
        }
    }
    f->population = (epiqp_population){&f->arch, &f->rows};
    epiqp_source source = epiqp_source_ntk(&f->population);
    const epiq_options *o = f->o;
    int status = f->solver == EPIQ_SOLVER_ITERATIVE
                     ? epiqp_ridge_iterative(e, f->rows.n, &source, f->lambda, f->y, f->at.n, k0, o->rank, o->tolerance,
                                             o->seed, &f->ridge)
                     : epiqp_ridge_scratch(e, f->rows.n, &source, f->lambda, f->y, f->at.n, k0,
                                           f->resident ? o->scratch : NULL, f->resident, &f->ridge);
    f->solved = !status;
    return status;
}

void epiqp_fit_free(epiq_ctx *c, epiqp_fit *f)
{
    epiqp_ridge_free(c, &f->ridge);
    epiqp_rows_free(c, &f->rows);
    epiqp_rows_free(c, &f->at);
    epiqp_left_free(c, &f->left);
}
