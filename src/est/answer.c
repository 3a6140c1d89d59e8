/* answer.c - a result and the memory it is in. */
#include "est/assemble.h"

epiqp_answer *epiqp_answer_new(epiq_ctx *c)
{
    epiqp_answer *a = epiqp_alloc(c, 1, sizeof *a);
    if (a) {
        *a = (epiqp_answer){.warnings = {.arena = &a->arena},
                            .result = {.sweeps = epiqp_empty_list,
                                       .advice = &a->advice,
                                       .ran = &a->ran,
                                       .cost = &a->cost,
                                       .fit = &a->fit,
                                       .training = &a->training,
                                       .timing = &a->timing,
                                       .solve = &a->solve,
                                       .retrain = &a->retrain,
                                       .given = &a->given,
                                       .summary = &a->summary,
                                       .model_choice = &a->model_choice}};
    }
    return a;
}

int epiqp_answer_complete(epiq_ctx *c, epiqp_answer *a, ptrdiff_t points)
{
    epiq_result *r = &a->result;
    r->points = epiqp_arena_list(c, &a->arena, a->points, points, sizeof *a->points);
    r->point_count = points;
    r->warnings = epiqp_arena_list(c, &a->arena, a->warnings.list, a->warnings.count, sizeof *a->warnings.list);
    r->warning_count = a->warnings.count;
    return r->points && r->warnings ? epiqp_options_keep_texts(c, &a->arena, &a->ran) : EPIQ_E_NOMEM;
}

int epiqp_answer_end(epiq_ctx *c, epiqp_answer *a, int status, epiq_result **out)
{
    if (status) epiq_result_free(c, &a->result);
    *out = status ? NULL : &a->result;
    return status;
}

void epiq_result_free(epiq_ctx *c, epiq_result *r)
{
    if (r) epiqp_arena_free(c, &((epiqp_answer *)r)->arena);
    epiqp_free(c, r);
}

const epiq_part *epiq_point_corrected(const epiq_point *p, int correction)
{
    return p->corrected && correction >= 0 && correction < EPIQ_CORRECTIONS ? &p->corrected->by[correction] : NULL;
}
