/* report_json.c - the object that --json promises, from a finished result and the manifest of its run.
 * Field names and order are a contract (docs/json.md); what could not be had is null, and a warning says why.
 */
#include "report/json.h"
#include "report/report.h"

#include <math.h>

#include <stdlib.h>
#include <string.h>

static void option_text(json *j, const char *key, const epiq_options *o, const char *name)
{
    report_value room;
    json_text(j, key, report_option(o, name, &room));
}

static bool listed(const char *const *only, const char *name)
{
    while (only && *only && strcmp(*only, name) != 0) {
        only++;
    }
    return !only || *only;
}

/* An option whose default is a number is written as one. */
void report_json_options(json *j, const epiq_options *o, const char *const *only)
{
    json_object(j, "options", JSON_LINES);
    const epiq_option_info *info;
    for (ptrdiff_t i = 0; (info = epiq_options_info(i)); i++) {
        if (!listed(only, info->name)) {
            continue;
        }
        report_value room;
        const char *text = report_option(o, info->name, &room);
        char *end;
        strtod(info->default_text, &end);
        bool number = text && end != info->default_text && !*end;
        if (number && !text[strspn(text, "0123456789")]) {
            json_token(j, info->name, text); /* a seed may have more digits than a double */
        } else if (number) {
            json_real(j, info->name, strtod(text, NULL));
        } else {
            json_text(j, info->name, text);
        }
    }
    json_end(j);
}

static void write_run(json *j, const epiq_result *r, const report_run *run)
{
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)run->options->seed);
    json_object(j, "run", JSON_LINES);
    json_text(j, "command", run->command);
    json_token(j, "seed", seed);
    json_integer(j, "threads", r->threads);
    json_integer(j, "ranks", r->ranks);
    json_text(j, "backend", r->backend);
    epiq_options ran = *run->options;
    ran.solver = r->solver;
    option_text(j, "solver", &ran, "solver");
    if (r->iterations) {
        json_integer(j, "iterations", r->iterations);
        json_real(j, "residual", r->residual);
        json_object(j, "accuracy", JSON_FLAT);
        json_real(j, "prediction", r->accuracy.prediction);
        json_real(j, "data", r->accuracy.data);
        json_real(j, "procedural", r->accuracy.procedural);
        json_end(j);
    }
    if (r->parts) {
        json_integer(j, "parts", r->parts);
    }
    if (r->foreseen.bytes > 0) { /* not of combine */
        json_object(j, "foreseen", JSON_FLAT);
        json_real(j, "bytes", r->foreseen.bytes);
        json_real(j, "seconds", r->foreseen.seconds);
        json_real(j, "limit", r->foreseen.limit);
        json_end(j);
    } else {
        json_null(j, "foreseen");
    }
    json_real(j, "seconds", run->seconds);
    json_integer(j, "peak_rss_bytes", run->peak_rss_bytes);
    json_text(j, "data_sha256", run->data.sha256 && *run->data.sha256 ? run->data.sha256 : NULL);
    report_json_options(j, run->options, run->given ? REPORT_GIVEN_OPTIONS : NULL);
    json_end(j);
}

static void write_data(json *j, const report_run *run)
{
    const epiq_data_info *d = &run->data;
    const struct {
        const char *key;
        ptrdiff_t count;
    } extra[] = {{"dropped", d->dropped},
                 {"duplicates", d->duplicates},
                 {"constant", d->constant},
                 {"groups", run->options->group ? d->groups : 0}};
    json_object(j, "data", JSON_LINES);
    if (run->given && !d->rows) {
        json_null(j, "rows");
    } else {
        json_integer(j, "rows", d->rows);
    }
    json_array(j, "features", JSON_FLAT);
    for (ptrdiff_t i = 0; i < d->features; i++) {
        json_text(j, NULL, d->feature[i]);
    }
    json_end(j);
    json_text(j, "target", run->given ? NULL : d->target);
    if (run->given) {
        json_text(j, "scale", "none");
    } else {
        option_text(j, "scale", run->options, "scale");
    }
    json_object(j, "target_scale", JSON_FLAT);
    json_real(j, "shift", d->shift);
    json_real(j, "factor", d->factor);
    json_end(j);
    for (size_t i = 0; i < sizeof extra / sizeof *extra; i++) {
        if (extra[i].count) {
            json_integer(j, extra[i].key, extra[i].count);
        }
    }
    json_end(j);
}

static void write_given_model(json *j, const epiq_result *r, const report_run *run)
{
    json_object(j, "model", JSON_LINES);
    json_null(j, "engine");
    json_text(j, "kernel", report_given_kernel(r));
    json_real(j, "lambda", report_given_kernel(r) ? run->options->lambda : NAN);
    if (r->given.parameters) {
        json_integer(j, "parameters", r->given.parameters);
    }
    json_end(j);
}

static void write_model(json *j, const epiq_options *o)
{
    json_object(j, "model", JSON_LINES);
    option_text(j, "engine", o, "engine");
    option_text(j, "kernel", o, "kernel");
    json_integer(j, "width", o->width);
    json_integer(j, "depth", o->depth);
    json_real(j, "bias", o->bias);
    json_real(j, "bias_sd", o->bias_sd);
    json_real(j, "lambda", o->lambda);
    option_text(j, "optimizer", o, "optimizer");
    json_end(j);
}

void report_json_manifest(json *j, const epiq_result *r, const report_run *run)
{
    json_object(j, "epiq", JSON_FLAT);
    json_text(j, "version", epiq_version());
    json_end(j);
    write_run(j, r, run);
    write_data(j, run);
    if (run->given) {
        write_given_model(j, r, run);
    } else {
        write_model(j, run->options);
    }
}

static void write_fit(json *j, const epiq_result *r)
{
    if (!r->fit.known) {
        json_null(j, "fit");
        return;
    }
    json_object(j, "fit", JSON_LINES);
    json_real(j, "loo_rmse", r->fit.loo_rmse);
    json_real(j, "r2", r->fit.has_r2 ? r->fit.r2 : NAN);
    json_real(j, "noise_variance", r->fit.noise_variance);
    json_text(j, "by", r->fit.by_group ? "leave-one-group-out" : "leave-one-out");
    json_end(j);
}

static void write_training(json *j, const epiq_result *r, const report_run *run)
{
    if (run->given || !r->training.members) {
        json_null(j, "training");
        return;
    }
    json_object(j, "training", JSON_LINES);
    json_integer(j, "members", r->training.members);
    json_integer(j, "converged", r->training.converged);
    json_real(j, "loss_max", r->training.loss_max);
    json_real(j, "gradient_rel_max", r->training.gradient_rel_max);
    json_integer(j, "iterations_median", r->training.iterations_median);
    json_integer(j, "resumed", r->training.resumed);
    json_end(j);
}

/* What retraining found. */
static void write_retrain(json *j, const epiq_result *r)
{
    const bool known = r->retrain.known;
    if (!known && !r->retrain.reason) {
        json_null(j, "retrain");
        return;
    }
    json_object(j, "retrain", JSON_FLAT);
    json_integer(j, "replicates", r->retrain.replicates);
    json_integer(j, "starts", r->retrain.starts);
    json_integer(j, "networks", r->retrain.networks);
    json_real(j, "noise_variance", r->retrain.noise_variance > 0 ? r->retrain.noise_variance : NAN);
    json_real(j, "left_out_rmse", r->retrain.left_out_rmse > 0 ? r->retrain.left_out_rmse : NAN);
    json_real(j, "kappa", r->retrain.kappa > 0 ? r->retrain.kappa : NAN);
    json_real(j, "kappa_se", r->retrain.kappa > 0 ? r->retrain.kappa_se : NAN);
    json_real(j, "step", r->retrain.step);
    json_text(j, "reason", r->retrain.reason);
    json_end(j);
}

static void write_interval(json *j, double lo, double hi)
{
    json_array(j, "interval", JSON_FLAT);
    json_real(j, NULL, lo);
    json_real(j, NULL, hi); /* null: it cannot be known */
    json_end(j);
}

void report_json_interval(json *j, const epiq_part *p)
{
    if (p->known && p->has_interval) {
        write_interval(j, p->lo, report_upper(p));
    } else {
        json_null(j, "interval");
    }
}

/* Everything all parts have; false (and null written) when the part is not known. */
static bool open_part(json *j, const char *key, const epiq_part *p, const report_run *run)
{
    if (!p->known) {
        json_null(j, key);
        return false;
    }
    json_object(j, key, JSON_FLAT);
    json_real(j, "variance", p->variance);
    report_json_interval(j, p);
    json_real(j, "level", run->options->level);
    json_text(j, "method", epiq_method_text(p->method));
    return true;
}

void report_json_variance(json *j, const char *key, const epiq_part *p)
{
    if (p->known) {
        json_real(j, key, p->variance);
    } else {
        json_null(j, key);
    }
}

static void write_point(json *j, const epiq_result *r, const epiq_point *p, const report_run *run)
{
    json_object(j, NULL, JSON_LINES);
    json_text(j, "at", p->at);
    json_real(j, "prediction", p->prediction);
    report_json_variance(j, "prediction_variance", &p->prediction_variance);
    if (open_part(j, "procedural", &p->procedural, run)) {
        if (p->procedural.method == EPIQ_BY_EV) {
            json_integer(j, "members", p->member_count);
        }
        json_end(j);
    }
    if (open_part(j, "data", &p->data, run)) {
        epiq_options ran = *run->options;
        ran.correction = r->correction;
        const bool retrained = p->data.method == EPIQ_BY_RETRAIN,
                   influence = p->data.method == EPIQ_BY_IF || (retrained && r->retrain.kappa > 0 && !run->given);
        if (influence) {
            option_text(j, "correction", &ran, "correction");
        } else {
            json_null(j, "correction");
        }
        report_json_variance(j, "uncorrected", &p->corrected[EPIQ_CORRECTION_NONE]);
        if (retrained) {
            const double kappa = p->kappa > 0 ? p->kappa : r->retrain.kappa;
            json_real(j, "kappa", kappa > 0 ? kappa : NAN);
            report_json_variance(j, "infinite_width", &p->corrected[r->correction]);
        }
        if (r->probes && influence) {
            json_integer(j, "probes", r->probes);
            json_real(j, "probe_error", p->probe_error);
        }
        json_end(j);
    }
    if (open_part(j, "ensemble", &p->ensemble, run)) {
        json_integer(j, "members", r->ensemble_size);
        if (p->ensemble.method == EPIQ_BY_BA) {
            json_real(j, "uncorrected", p->ba.uncorrected);
        }
        json_end(j);
    }
    if (open_part(j, "single", &p->single, run)) {
        json_end(j);
    }
    if (p->predictive.known) {
        json_object(j, "predictive", JSON_FLAT);
        write_interval(j, p->predictive.lo, p->predictive.hi);
        json_real(j, "level", run->options->level);
        json_text(j, "method", "jackknife+");
        json_real(j, "noise", p->predictive.noise);
        json_end(j);
    } else {
        json_null(j, "predictive");
    }
    if (open_part(j, "ba", &p->ba.part, run)) {
        json_real(j, "uncorrected", p->ba.uncorrected);
        if (p->ba.corrected) {
            json_real(j, "factor", p->ba.factor);
        } else {
            json_null(j, "factor");
        }
        json_end(j);
    }
    if (p->check.known) {
        json_object(j, "check", JSON_FLAT);
        json_real(j, "ba", p->check.ba);
        json_real(j, "uncorrected", p->ba.uncorrected);
        json_real(j, "if_plus_ev", p->check.if_plus_ev);
        json_bool(j, "inside", p->check.inside);
        json_end(j);
    } else {
        json_null(j, "check");
    }
    if (p->infinite.known) {
        json_object(j, "infinite", JSON_FLAT);
        json_real(j, "variance", p->infinite.variance);
        if (p->procedural.known && p->infinite.variance > 0) {
            json_real(j, "ratio", p->procedural.variance / p->infinite.variance);
        } else {
            json_null(j, "ratio");
        }
        json_end(j);
    } else {
        json_null(j, "infinite");
    }
    json_array(j, "influential", JSON_LINES);
    for (ptrdiff_t i = 0; i < p->influential_count; i++) {
        json_object(j, NULL, JSON_FLAT);
        json_integer(j, "row", p->influential[i].row);
        json_real(j, "influence", p->influential[i].influence);
        json_end(j);
    }
    json_end(j);
    json_end(j);
}

static void write_sweep(json *j, const epiq_sweep *w, const report_run *run)
{
    json_object(j, NULL, JSON_LINES);
    json_text(j, "feature", run->data.feature[w->feature]);
    json_array(j, "values", JSON_FLAT);
    for (ptrdiff_t i = 0; i < w->count; i++) {
        json_real(j, NULL, w->value[i]);
    }
    json_end(j);
    json_array(j, "prediction", JSON_FLAT);
    for (ptrdiff_t i = 0; i < w->count; i++) {
        json_real(j, NULL, w->points[i].prediction);
    }
    json_end(j);
    json_array(j, "procedural", JSON_FLAT);
    for (ptrdiff_t i = 0; i < w->count; i++) {
        report_json_variance(j, NULL, &w->points[i].procedural);
    }
    json_end(j);
    json_array(j, "data", JSON_FLAT);
    for (ptrdiff_t i = 0; i < w->count; i++) {
        report_json_variance(j, NULL, &w->points[i].data);
    }
    json_end(j);
    json_end(j);
}

static void write_timing(json *j, const epiq_result *r, const report_run *run)
{
    json_object(j, "timing", JSON_FLAT);
    json_real(j, "read", run->read_seconds);
    json_real(j, "kernel", r->timing.kernel);
    json_real(j, "factor", r->timing.factor);
    json_real(j, "if", r->timing.influence);
    json_real(j, "ev", r->timing.ev);
    json_real(j, "retrain", r->timing.retrain);
    json_real(j, "ba", r->timing.ba);
    json_end(j);
}

/* Whoever does not know the rows there are cannot say how many as many again would be. */
static void write_advice(json *j, const epiq_result *r)
{
    bool collect = r->advice.action == EPIQ_DO_COLLECT || r->advice.action == EPIQ_DO_EITHER;
    json_object(j, "advice", JSON_LINES);
    json_text(j, "action", epiq_action_text(r->advice.action));
    json_integer(j, "members", r->advice.members);
    if (collect && !r->advice.rows) {
        json_null(j, "rows");
    } else {
        json_integer(j, "rows", r->advice.rows);
    }
    json_text(j, "text", r->advice.text);
    json_end(j);
}

void report_json_warnings(json *j, const epiq_result *r)
{
    json_array(j, "warnings", JSON_LINES);
    for (ptrdiff_t i = 0; i < r->warning_count; i++) {
        json_object(j, NULL, JSON_FLAT);
        json_text(j, "code", r->warnings[i].code);
        json_text(j, "message", r->warnings[i].message);
        json_end(j);
    }
    json_end(j);
}

void report_json_choice(json *j, const epiq_result *r, const report_run *run)
{
    if (r->choice) {
        epiq_options ran = *run->options;
        ran.methods = r->methods;
        json_object(j, "choice", JSON_LINES);
        option_text(j, "methods", &ran, "methods");
        json_text(j, "reason", r->choice);
        json_end(j);
    }
}

void report_json(FILE *out, const epiq_result *r, const report_run *run)
{
    json j = {.out = out};
    json_object(&j, NULL, JSON_LINES);
    report_json_manifest(&j, r, run);
    write_fit(&j, r);
    write_training(&j, r, run);
    write_retrain(&j, r);
    report_json_given(&j, r, run);
    report_json_choice(&j, r, run);
    json_array(&j, "points", JSON_LINES);
    for (ptrdiff_t i = 0; i < r->point_count; i++) {
        write_point(&j, r, &r->points[i], run);
    }
    json_end(&j);
    if (run->options->sweep) {
        json_array(&j, "sweeps", JSON_LINES);
        for (ptrdiff_t i = 0; i < r->sweep_count; i++) {
            write_sweep(&j, &r->sweeps[i], run);
        }
        json_end(&j);
    }
    write_timing(&j, r, run);
    write_advice(&j, r);
    report_json_warnings(&j, r);
    json_end(&j);
}
