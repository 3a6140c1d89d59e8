/* made_result.h - a result made by hand. What a real one points to is there, all of it 0, to be filled in:
 *
 *     static made_result m;
 *     make_result(&m, points, 3);     m.fit.known = 1;     m.r is the result
 */
#ifndef MADE_RESULT_H
#define MADE_RESULT_H

#include "epiq_details.h"
#include "est/assemble.h"
#include "test.h"

enum { MADE_MOST = 600 };
typedef struct {
    epiq_result r;
    epiq_advice advice;
    epiq_options ran;
    epiq_cost cost;
    epiq_fit_error fit;
    epiq_training training;
    epiq_timing timing;
    epiq_solve_info solve;
    epiq_retraining retrain;
    epiq_combined given;
    epiq_summary summary;
    epiq_model_choice model_choice;
    epiq_predictor_choice predictor_choice;
    const epiq_point *points[MADE_MOST + 1]; /* lists end with NULL */
} made_result;

static const struct epiq_corrected NOT_CORRECTED; /* of a point made by hand */

static inline void make_result(made_result *m, const epiq_point *points, ptrdiff_t count)
{
    TRUE(count <= MADE_MOST);
    *m = (made_result){.r = {.points = m->points,
                             .point_count = count,
                             .warnings = epiqp_empty_list,
                             .sweeps = epiqp_empty_list,
                             .advice = &m->advice,
                             .ran = &m->ran,
                             .ranks = 1,
                             .backend = "ref",
                             .cost = &m->cost,
                             .fit = &m->fit,
                             .training = &m->training,
                             .timing = &m->timing,
                             .solve = &m->solve,
                             .retrain = &m->retrain,
                             .given = &m->given,
                             .summary = &m->summary,
                             .model_choice = &m->model_choice,
                             .predictor_choice = &m->predictor_choice},
                       .ran = {.size = sizeof(epiq_options), .width = 1024, .lambda = 1e-3}};
    for (ptrdiff_t i = 0; i < count; i++) {
        m->points[i] = &points[i];
    }
}

#endif
