/* estimate_json.c - an estimate for programs: the object that --json promises, from a finished result and the manifest of its run
 * (docs/json.md); and CSV, one line per point, quoted as RFC 4180 says. What could not be had is null, or an empty cell, and
 * a warning says why.
 */
#include "report/manifest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_fit(json *j, const epiq_fit_error *f)
{
    const phrase by = fit_by(f);
    const char *text = by.text;
    const double noise_sd = sqrt(f->noise_variance);
    if (!f->known) {
        json_text(j, "fit", NULL);
        return;
    }
    json_object(j, "fit", JSON_LINES);
    json_fields(j, FIELDS(FIELD("rmse", REAL, &f->rmse), FIELD("r2", REAL, f->has_r2 ? &f->r2 : NULL),
                          FIELD("r2_se", REAL, f->has_r2 && f->r2_se > 0 ? &f->r2_se : NULL),
                          FIELD("twice", REAL, f->twice > 0 ? &f->twice : NULL), FIELD("noise_sd", REAL, &noise_sd),
                          FIELD("by", TEXT, &text)));
    json_struct(j, "kernel", f->kernel_known, JSON_FLAT,
                FIELDS(FIELD("rmse", REAL, &f->kernel_rmse), FIELD("r2", REAL, f->has_r2 ? &f->kernel_r2 : NULL)));
    json_end(j);
}

static void write_quantiles(json *j, const char *key, const epiq_quantiles *q)
{
    json_struct(j, key, q->known, JSON_FLAT,
                FIELDS(FIELD("q05", REAL, &q->q05), FIELD("median", REAL, &q->median), FIELD("q95", REAL, &q->q95)));
}

static void write_summary(json *j, const epiq_summary *s)
{
    if (!s->rows) return;
    json_object(j, "summary", JSON_LINES);
    json_fields(j, FIELDS(FIELD("rows", COUNT, &s->rows)));
    write_quantiles(j, "prediction_sd", &s->prediction_sd);
    write_quantiles(j, "procedural", &s->procedural);
    write_quantiles(j, "data", &s->data);
    write_quantiles(j, "single", &s->single);
    write_quantiles(j, "interval_width", &s->interval_width);
    write_quantiles(j, "noise_sd", &s->noise_sd);
    json_fields(j, FIELDS(FIELD("share_data", REAL, s->single.known && s->data.known ? &s->share_data : NULL)));
    json_array(j, "least_sure", JSON_FLAT);
    for (ptrdiff_t k = 0; k < s->least_sure_count; k++) {
        json_real(j, NULL, (double)s->least_sure[k]);
    }
    json_end(j);
    json_end(j);
}

static void write_start(json *j, const epiq_result *r, const report_run *run)
{
    write_fit(j, r->fit);
#define TRAINING(kind, member) FIELD(#member, kind, &r->training->member)
    json_struct(j, "training", !run->given && r->training->members, JSON_LINES,
                FIELDS(TRAINING(COUNT, members), TRAINING(COUNT, converged), TRAINING(REAL, loss_max),
                       TRAINING(REAL, gradient_rel_max), TRAINING(COUNT, iterations_median), TRAINING(COUNT, resumed)));
#define RETRAIN(kind, member, known) FIELD(#member, kind, (known) ? &r->retrain->member : NULL)
    json_struct(j, "retrain", r->retrain->known || r->retrain->reason, JSON_FLAT,
                FIELDS(RETRAIN(COUNT, replicates, true), RETRAIN(COUNT, starts, true), RETRAIN(COUNT, networks, true),
                       RETRAIN(REAL, noise_variance, r->retrain->noise_variance > 0),
                       RETRAIN(REAL, left_out_rmse, r->retrain->left_out_rmse > 0),
                       RETRAIN(REAL, kappa, r->retrain->kappa > 0), RETRAIN(REAL, kappa_se, r->retrain->kappa > 0),
                       RETRAIN(REAL, step, true), RETRAIN(TEXT, reason, true)));
}

/* ---- points ---- */

static void write_part(json *j, const char *key, const epiq_part *p, const report_run *run, const field *more)
{
    if (!p->known) {
        json_text(j, key, NULL);
        return;
    }
    json_object(j, key, JSON_FLAT);
    json_fields(j, FIELDS(FIELD("variance", VARIANCE, p), FIELD("interval", INTERVAL, p),
                          FIELD("level", REAL, &run->options->level), FIELD("method", METHOD, p)));
    json_fields(j, more);
    json_end(j);
}

static void write_data_part(json *j, const epiq_result *r, const epiq_point *p, const report_run *run)
{
    const bool retrained = p->data.method == EPIQ_BY_RETRAIN,
               influence = p->data.method == EPIQ_BY_IF || (retrained && r->retrain->kappa > 0 && !run->given),
               probed = r->solve->probes && influence;
    const double kappa = p->kappa > 0 ? p->kappa : r->retrain->kappa > 0 ? r->retrain->kappa : NAN;
    epiq_options ran = *run->options;
    ran.correction = r->ran->correction;
#define THERE(name, kind, there, at) FIELD_THERE(name, kind, (there) ? (at) : NULL)
    write_part(j, "data", &p->data, run,
               FIELDS(FIELD("correction", OPTION, influence ? &ran : NULL),
                      FIELD("uncorrected", VARIANCE, epiq_point_corrected(p, EPIQ_CORRECTION_NONE)),
                      THERE("kappa", REAL, retrained, &kappa),
                      THERE("infinite_width", VARIANCE, retrained, epiq_point_corrected(p, r->ran->correction)),
                      THERE("probes", COUNT, probed, &r->solve->probes),
                      THERE("probe_error", REAL, probed, &p->probe_error)));
}

static void write_comparisons(json *j, const epiq_fit_error *fit, const epiq_point *p, const report_run *run)
{
    const phrase by = fit_by(fit);
    const char *text = by.text;
    const double noise_sd = sqrt(p->predictive.noise);
    json_struct(j, "predictive", p->predictive.known, JSON_FLAT,
                FIELDS(FIELD("lo", REAL, &p->predictive.lo), FIELD("hi", REAL, &p->predictive.hi),
                       FIELD("level", REAL, &run->options->level), FIELD("noise_sd", REAL, &noise_sd),
                       FIELD("by", TEXT, &text)));
    const double ratio = p->infinite.variance > 0 ? p->procedural.variance / p->infinite.variance : NAN;
    const field uncorrected = FIELD("uncorrected", REAL, &p->ba.uncorrected);
    write_part(j, "ba", &p->ba.part, run,
               FIELDS(uncorrected, FIELD("factor", REAL, p->ba.corrected ? &p->ba.factor : NULL)));
    json_struct(j, "check", p->check.known, JSON_FLAT,
                FIELDS(FIELD("ba", REAL, &p->check.ba), uncorrected, FIELD("if_plus_ev", REAL, &p->check.if_plus_ev),
                       FIELD("inside", BOOL, &p->check.inside)));
    json_struct(
        j, "infinite", p->infinite.known, JSON_FLAT,
        FIELDS(FIELD("variance", VARIANCE, &p->infinite), FIELD("ratio", REAL, p->procedural.known ? &ratio : NULL)));
}

static void write_confidence(json *j, const epiq_result *r, const epiq_point *p, const report_run *run)
{
    const epiq_confidence *c = &p->confidence;
    const char *method = confidence_method(p), *target = "expected_prediction";
    if (!r->ran->confidence) return;
    json_struct(j, "confidence", c->known, JSON_FLAT,
                FIELDS(FIELD("lo", REAL, &c->lo), FIELD("hi", REAL, &c->hi), FIELD("level", REAL, &run->options->level),
                       FIELD("method", TEXT, &method), FIELD("networks", COUNT, &c->networks),
                       FIELD("target", TEXT, &target), FIELD("centre", REAL, &c->centre),
                       FIELD("variance", REAL, &c->variance), FIELD("df", REAL, c->df > 0 ? &c->df : NULL)));
}

static void write_point(json *j, const epiq_result *r, const epiq_point *p, const report_run *run)
{
    json_object(j, NULL, JSON_LINES);
    const int left_out = p->left_out > 0;
    json_fields(j, FIELDS(FIELD("at", TEXT, &p->at), FIELD_THERE("left_out", BOOL, left_out ? &left_out : NULL),
                          FIELD("prediction", REAL, &p->prediction),
                          FIELD("prediction_variance", VARIANCE, &p->prediction_variance),
                          FIELD("full_variance", VARIANCE, &p->full_variance)));
    write_part(j, "procedural", &p->procedural, run,
               FIELDS(FIELD_THERE("members", COUNT, p->procedural.method == EPIQ_BY_EV ? &p->member_count : NULL)));
    write_data_part(j, r, p, run);
    write_part(j, "ensemble", &p->ensemble, run,
               FIELDS(FIELD("members", COUNT, &r->ran->ensemble_size),
                      FIELD_THERE("uncorrected", REAL, p->ensemble.method == EPIQ_BY_BA ? &p->ba.uncorrected : NULL)));
    write_part(j, "single", &p->single, run, FIELDS({0}));
    write_confidence(j, r, p, run);
    write_comparisons(j, r->fit, p, run);
    json_array(j, "influential", JSON_LINES);
    for (ptrdiff_t i = 0; i < p->influential_count; i++) {
        json_struct(j, NULL, true, JSON_FLAT,
                    FIELDS(FIELD("row", COUNT, &p->influential[i]->row),
                           FIELD("influence", REAL, &p->influential[i]->influence)));
    }
    json_end(j);
    json_end(j);
}

static void write_sweep(json *j, const epiq_sweep *w, const report_run *run)
{
    static const char *const KEYS[] = {"prediction", "procedural", "data"};
    json_object(j, NULL, JSON_LINES);
    json_text(j, "feature", run->data.feature[w->feature]);
    json_reals(j, "values", w->count, w->value);
    for (int k = 0; k < 3; k++) {
        json_array(j, KEYS[k], JSON_FLAT);
        for (ptrdiff_t i = 0; i < w->count; i++) {
            const epiq_point *p = w->points[i];
            json_real(j, NULL, k == 0 ? p->prediction : part_variance(k == 1 ? &p->procedural : &p->data));
        }
        json_end(j);
    }
    json_end(j);
}

static void estimate_json(FILE *out, const report_answer *a, const report_run *run)
{
    const epiq_result *r = a->result;
    json j = json_begin(out, a, run);
    write_start(&j, r, run);
    json_combined(&j, r, run);
    json_choice(&j, r, run);
    write_summary(&j, r->summary);
    json_array(&j, "points", JSON_LINES);
    const epiq_point *p;
    for (ptrdiff_t i = 0; (p = r->points[i]); i++) {
        write_point(&j, r, p, run);
    }
    json_end(&j);
    if (run->options->sweep) {
        const epiq_sweep *w;
        json_array(&j, "sweeps", JSON_LINES);
        for (ptrdiff_t i = 0; (w = r->sweeps[i]); i++) {
            write_sweep(&j, w, run);
        }
        json_end(&j);
    }
    const bool collect = r->advice->action == EPIQ_DO_COLLECT || r->advice->action == EPIQ_DO_EITHER;
    const char *action = epiq_action_text(r->advice->action);
#define TIMING(name, member) FIELD(name, REAL, &r->timing->member)
    json_struct(&j, "timing", true, JSON_FLAT,
                FIELDS(FIELD("read", REAL, &run->read_seconds), TIMING("kernel", kernel), TIMING("factor", factor),
                       TIMING("if", influence), TIMING("ev", ev), TIMING("folds", folds), TIMING("retrain", retrain),
                       TIMING("ba", ba),
                       FIELD_THERE("choice", REAL, r->model_choice->known ? &r->timing->choice : NULL)));
    json_struct(&j, "advice", true, JSON_LINES, /* without the number of rows "as many again" is no number */
                FIELDS(FIELD("action", TEXT, &action), FIELD("members", COUNT, &r->advice->members),
                       FIELD_IF("rows", COUNT, &r->advice->rows, collect ? FIELD_NONZERO : FIELD_ALWAYS),
                       FIELD("text", TEXT, &r->advice->text)));
    json_finish(&j, a);
}

/* ---- CSV ---- */

static void estimate_csv(FILE *out, const report_answer *a)
{
#define PREDICTIVE(name, member) FIELD(name, REAL, p->predictive.known ? &p->predictive.member : NULL)
#define PART(member) FIELD(#member, VARIANCE, &p->member), FIELD(#member, INTERVAL, &p->member)
    const epiq_point none = {.at = "at"}, *p = &none; /* of which the names of the columns are written */
    for (ptrdiff_t i = 0; p; p = a->result->points[i++]) {
        const ptrdiff_t left_out = p->left_out > 0;
        csv_text(out, p->at);
        putc(',', out);
        csv_line(out, p == &none,
                 FIELDS(FIELD("prediction", REAL, &p->prediction),
                        FIELD("prediction_variance", VARIANCE, &p->prediction_variance), PART(procedural), PART(data),
                        PART(ensemble), PART(single),
                        FIELD("uncorrected", VARIANCE, epiq_point_corrected(p, EPIQ_CORRECTION_NONE)),
                        FIELD("infinite", VARIANCE, &p->infinite), PREDICTIVE("predictive_lo", lo),
                        PREDICTIVE("predictive_hi", hi), FIELD("left_out", COUNT, &left_out),
                        FIELD("confidence_lo", REAL, p->confidence.known ? &p->confidence.lo : NULL),
                        FIELD("confidence_hi", REAL, p->confidence.known ? &p->confidence.hi : NULL),
                        FIELD("full_variance", VARIANCE, &p->full_variance)));
    }
}

const report_writers ESTIMATE_WRITERS = {estimate_json, estimate_csv, estimate_describe};
