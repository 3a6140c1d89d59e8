/* compare_json.c - a comparison for programs: JSON with the manifest of its run, and CSV (docs/json.md). */
#include "report/compare.h"
#include "report/json.h"

#include <math.h>

static void write_error(json *j, const char *rmse, const char *se, const epiq_rmse *e)
{
    json_real(j, rmse, e->known ? e->rmse : NAN);
    json_real(j, se, e->known ? e->se : NAN);
}

/* What makes the model what it is, by the names of the options. */
static void write_name(json *j, const epiq_compared *m, bool infinite)
{
    if (infinite) {
        json_null(j, "width");
    } else {
        json_integer(j, "width", m->width);
    }
    json_integer(j, "depth", m->depth);
    json_real(j, "lambda", m->lambda);
    json_real(j, "bias", m->bias);
}

static void write_model(json *j, const epiq_compared *m, bool infinite)
{
    json_object(j, NULL, JSON_FLAT);
    write_name(j, m, infinite);
    write_error(j, "loo_rmse", "loo_se", &m->loo);
    write_error(j, "cv_rmse", "cv_se", &m->cv);
    report_json_variance(j, "variance", &m->variance);
    report_json_interval(j, &m->variance);
    report_json_variance(j, "procedural", &m->procedural);
    report_json_variance(j, "data", &m->data);
    report_json_variance(j, "infinite", &m->infinite);
    json_bool(j, "front", m->front);
    json_end(j);
}

void report_compare_json(FILE *out, const epiq_comparison *r, const report_run *run)
{
    const epiq_result ran = {.threads = r->threads,
                             .ranks = 1,
                             .backend = r->backend,
                             .warnings = r->warnings,
                             .warning_count = r->warning_count};
    bool infinite = run->options->engine == EPIQ_ENGINE_INFINITE;
    json j = {.out = out};
    json_object(&j, NULL, JSON_LINES);
    report_json_manifest(&j, &ran, run);
    json_object(&j, "comparison", JSON_LINES);
    json_text(&j, "error", r->by_cv ? "cv_rmse" : "loo_rmse");
    json_text(&j, "loo_by", r->by_group ? "leave-one-group-out" : "leave-one-out");
    json_integer(&j, "folds", r->folds);
    json_integer(&j, "members", r->members);
    json_integer(&j, "ensemble_size", r->ensemble_size);
    json_integer(&j, "trainings", r->trainings);
    json_integer(&j, "converged", r->converged);
    json_end(&j);
    json_array(&j, "models", JSON_LINES);
    for (ptrdiff_t i = 0; i < r->model_count; i++) {
        write_model(&j, &r->models[i], infinite);
    }
    json_end(&j);
    if (r->choice >= 0) {
        json_object(&j, "choice", JSON_LINES);
        json_integer(&j, "index", r->choice);
        write_name(&j, &r->models[r->choice], infinite);
        json_text(&j, "reason", r->reason);
        json_end(&j);
    } else {
        json_null(&j, "choice");
    }
    report_json_warnings(&j, &ran);
    json_end(&j);
}

void report_compare_csv(FILE *out, const epiq_comparison *r)
{
    fputs("width,depth,lambda,bias,loo_rmse,loo_se,cv_rmse,cv_se,variance,variance_lo,variance_hi,procedural,data,"
          "infinite,"
          "front,choice\n",
          out);
    for (ptrdiff_t i = 0; i < r->model_count; i++) {
        const epiq_compared *m = &r->models[i];
        bool interval = m->variance.known && m->variance.has_interval;
        if (r->members) { /* engine infinite has neither networks nor a width */
            fprintf(out, "%td", m->width);
        }
        fprintf(out, ",%td,%s", m->depth, report_double(m->lambda).text);
        report_csv_cell(out, true, m->bias);
        report_csv_cell(out, m->loo.known, m->loo.rmse);
        report_csv_cell(out, m->loo.known, m->loo.se);
        report_csv_cell(out, m->cv.known, m->cv.rmse);
        report_csv_cell(out, m->cv.known, m->cv.se);
        report_csv_cell(out, m->variance.known, m->variance.variance);
        report_csv_cell(out, interval, m->variance.lo);
        report_csv_cell(out, interval && !m->variance.open, m->variance.hi);
        report_csv_cell(out, m->procedural.known, m->procedural.variance);
        report_csv_cell(out, m->data.known, m->data.variance);
        report_csv_cell(out, m->infinite.known, m->infinite.variance);
        fprintf(out, ",%d,%d\n", m->front, i == r->choice);
    }
}
