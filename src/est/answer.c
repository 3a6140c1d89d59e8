/* answer.c - a result and the memory it is in. */
#include "est/assemble.h"

epiqp_answer *epiqp_answer_new(epiq_ctx *c)
{
    epiqp_answer *a = epiqp_alloc(c, 1, sizeof *a);
    if (a) {
        *a = (epiqp_answer){.warnings = {.arena = &a->arena},
                            .result = {.ranks = 1,
                                       .sweeps = epiqp_empty_list,
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
                                       .model_choice = &a->model_choice,
                                       .predictor_choice = &a->predictor_choice},
                            .model_choice.tried = epiqp_empty_list,
                            .predictor_choice.tried = epiqp_empty_list};
    }
    return a;
}

/* Warnings or notes, in their order. */
static const epiq_warning **list_warnings(epiq_ctx *c, epiqp_answer *a, bool notes, ptrdiff_t *count)
{
    const epiq_warning **list = epiqp_arena_alloc(c, &a->arena, a->warnings.count + 1, sizeof *list);
    for (ptrdiff_t k = 0; list && k < a->warnings.count; k++) {
        const epiq_warning *w = &a->warnings.list[k];
        if (epiq_warning_describe(w->kind)->note == notes) list[(*count)++] = w;
    }
    if (list) list[*count] = NULL;
    return list;
}

int epiqp_answer_complete(epiq_ctx *c, epiqp_answer *a, ptrdiff_t points)
{
    epiq_result *r = &a->result;
    r->points = epiqp_arena_list(c, &a->arena, a->points, points, sizeof *a->points);
    r->point_count = points;
    r->warnings = list_warnings(c, a, false, &r->warning_count);
    r->notes = list_warnings(c, a, true, &r->note_count);
    return r->points && r->warnings && r->notes ? epiqp_options_keep_texts(c, &a->arena, &a->ran) : EPIQ_E_NOMEM;
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
