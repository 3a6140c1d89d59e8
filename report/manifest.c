/* manifest.c - what the JSON of every verb begins and ends with. Field names and order are a contract (docs/json.md). */
#include "report/manifest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The options of this scope; 0: the whole table. An option whose default is a number is written as one. */
static void write_options(json *j, const epiq_options *o, unsigned scope)
{
    json_object(j, "options", JSON_LINES);
    const epiq_option_info *info;
    for (ptrdiff_t i = 0; (info = epiq_options_info(i)); i++) {
        if (scope && !(epiq_options_scope(i) & scope)) continue;
        option_buffer room;
        const char *text = option_text(o, info->name, &room);
        char *end;
        strtod(info->default_text, &end);
        bool number = text && end != info->default_text && !*end && strcmp(text, "auto") != 0;
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

static void write_solver(json *j, const epiq_result *r, const epiq_options *o)
{
    epiq_options ran = *o;
    ran.solver = r ? r->ran->solver : EPIQ_SOLVER_EXACT;
    json_fields(j, FIELDS(FIELD("solver", OPTION, &ran)));
    if (r && r->solve->iterations) {
#define ACCURACY(member) FIELD(#member, REAL, &r->solve->open_##member)
        json_fields(
            j, FIELDS(FIELD("iterations", COUNT, &r->solve->iterations), FIELD("residual", REAL, &r->solve->residual)));
        json_struct(j, "accuracy", true, JSON_FLAT, FIELDS(ACCURACY(prediction), ACCURACY(data), ACCURACY(procedural)));
    }
    const bool divided = r && r->ran->solver == EPIQ_SOLVER_DIVIDED;
    json_fields(j, FIELDS(FIELD_THERE("parts", COUNT, divided ? &r->ran->parts : NULL)));
#define COST(member) FIELD(#member, REAL, &r->cost->member)
    if (!r || !(r->cost->bytes > 0)) { /* of combine */
        json_text(j, "foreseen", NULL);
        return;
    }
    json_struct(j, "foreseen", true, JSON_FLAT, FIELDS(COST(bytes), COST(seconds), COST(limit)));
}

static void write_precision(json *j, const epiq_result *r)
{
    const ptrdiff_t trained = r->training->members, in_double = r->training->in_double;
    const char *kernels = "double", *products = r->training->split ? "TF32, then 3xTF32" : "plain",
               *training = !trained               ? NULL
                           : !in_double           ? "single"
                           : in_double == trained ? "double"
                                                  : "both";
    json_struct(j, "precision", true, JSON_FLAT,
                FIELDS(FIELD("kernels", TEXT, &kernels), FIELD("training", TEXT, &training),
                       FIELD_THERE("in_double", COUNT, trained ? &r->training->in_double : NULL),
                       FIELD_THERE("products", TEXT, trained ? &products : NULL)));
}

void json_run(json *j, const manifest *m, const report_run *run, const epiq_options *options)
{
    const char *version = epiq_version(), *sha = sha_text(run);
    json_struct(j, "epiq", true, JSON_FLAT, FIELDS(FIELD("version", TEXT, &version)));
    if (m->about) json_fields(j, m->about);
    json_object(j, "run", JSON_LINES);
    json_fields(j, FIELDS(FIELD("command", TEXT, &run->command), FIELD_THERE("seed", SEED, m->seed),
                          FIELD("threads", COUNT, &m->threads), FIELD_THERE("ranks", COUNT, m->ranks),
                          FIELD_THERE("backend", TEXT, m->ranks ? &m->backend : NULL),
                          FIELD_THERE("engine", TEXT, m->engine ? &m->engine : NULL)));
    if (m->ranks) write_solver(j, m->result, options);
    if (m->ranks && m->result) write_precision(j, m->result);
    json_fields(j, FIELDS(FIELD("seconds", REAL, &run->seconds), FIELD("peak_rss_bytes", LONG, &run->peak_rss_bytes),
                          FIELD_THERE("repetitions", COUNT, m->repetitions), FIELD_THERE("resumed", COUNT, m->resumed),
                          FIELD_THERE("machine", TEXT, m->repetitions ? &run->machine : NULL),
                          FIELD_THERE("data_sha256", TEXT, m->ranks ? &sha : NULL)));
    write_options(j, options, run->given ? EPIQ_FOR_COMBINE : 0);
    json_end(j);
}

static void write_data(json *j, const report_run *run)
{
    const epiq_data_info *d = &run->data;
    const char *none = "none";
#define DATA(kind, member) FIELD_KNOWN(#member, kind, &d->member)
    json_object(j, "data", JSON_LINES);
    json_fields(j, FIELDS(FIELD_IF("rows", COUNT, &d->rows, run->given ? FIELD_NONZERO : FIELD_ALWAYS)));
    json_array(j, "features", JSON_FLAT);
    for (ptrdiff_t i = 0; i < d->features; i++) {
        json_text(j, NULL, d->feature[i]);
    }
    json_end(j);
    json_text(j, "target", run->given ? NULL : d->target);
    json_fields(j, FIELDS(FIELD_THERE("scale", OPTION, run->given ? NULL : run->options),
                          FIELD_THERE("scale", TEXT, run->given ? &none : NULL)));
    json_struct(j, "target_scale", true, JSON_FLAT,
                FIELDS(FIELD("shift", REAL, &d->shift), FIELD("factor", REAL, &d->factor)));
    json_fields(j, FIELDS(DATA(COUNT, dropped), DATA(COUNT, duplicates), DATA(COUNT, constant),
                          FIELD_KNOWN("groups", COUNT, run->options->group ? &d->groups : NULL)));
    json_end(j);
}

static void write_model(json *j, const epiq_result *r, const report_run *run)
{
    const epiq_options *o = run->options;
    const char *kernel = run->given ? combine_kernel(r) : NULL;
    json_object(j, "model", JSON_LINES);
    if (run->given) {
        json_fields(j, FIELDS(FIELD("engine", TEXT, NULL), FIELD("kernel", TEXT, &kernel),
                              FIELD("lambda", REAL, kernel ? &r->ran->lambda : NULL),
                              FIELD_KNOWN("parameters", COUNT, &r->given->parameters)));
    } else {
        const epiq_options *ran = r ? r->ran : o; /* with the width and lambda chosen, if they were left open */
        json_fields(j,
                    FIELDS(FIELD("engine", OPTION, o), FIELD("kernel", OPTION, o), FIELD("width", COUNT, &ran->width),
                           FIELD("depth", COUNT, &o->depth), FIELD("bias", REAL, &o->bias),
                           FIELD("bias_sd", REAL, &o->bias_sd), FIELD("lambda", REAL, &ran->lambda),
                           FIELD("optimizer", OPTION, o), FIELD("predictor", OPTION, ran)));
    }
    json_end(j);
}

json json_begin(FILE *out, const report_answer *a, const report_run *run)
{
    static const ptrdiff_t ALONE = 1;
    const epiq_result *r = a->result;
    const epiq_comparison *c = a->comparison;
    const manifest m = {.seed = &run->options->seed,
                        .threads = c ? c->threads : r->ran->threads,
                        .ranks = c ? &ALONE : &r->ranks,
                        .backend = c ? c->backend : r->backend,
                        .result = r};
    json j = {.out = out};
    json_object(&j, NULL, JSON_LINES);
    json_run(&j, &m, run, run->options);
    write_data(&j, run);
    write_model(&j, r, run);
    return j;
}

static void write_warnings(json *j, const char *name, const report_answer *a,
                           const epiq_warning *(*list)(const report_answer *a, ptrdiff_t i))
{
    const epiq_warning *w;
    json_array(j, name, JSON_LINES);
    for (ptrdiff_t i = 0; (w = list(a, i)); i++) {
        json_struct(j, NULL, true, JSON_FLAT,
                    FIELDS(FIELD("code", TEXT, &w->code), FIELD("message", TEXT, &w->message)));
    }
    json_end(j);
}

void json_finish(json *j, const report_answer *a)
{
    write_warnings(j, "warnings", a, report_warning);
    if (a->result) write_warnings(j, "notes", a, report_note);
    json_end(j);
}

static void write_tried(json *j, const char *name, const epiq_model_tried *m)
{
#define TRIED(kind, member) FIELD(#member, kind, m ? &m->member : NULL)
    json_struct(j, name, m, JSON_FLAT,
                FIELDS(FIELD("width", COUNT, m && m->width ? &m->width : NULL), TRIED(REAL, lambda), TRIED(REAL, rmse),
                       TRIED(REAL, se), TRIED(REAL, spread), TRIED(COUNT, networks), TRIED(COUNT, iterations)));
}

static void write_model_choice(json *j, const epiq_model_choice *m)
{
    if (!m->known) return;
    const bool judged = m->tried_count;
    json_object(j, "model_choice", JSON_LINES);
    json_fields(j, FIELDS(FIELD("width", COUNT, &m->width), FIELD("depth", COUNT, &m->depth),
                          FIELD("lambda", REAL, &m->lambda), FIELD("rmse", REAL, judged ? &m->rmse : NULL),
                          FIELD("se", REAL, judged ? &m->se : NULL), FIELD("folds", COUNT, judged ? &m->folds : NULL)));
    write_tried(j, "usual", m->usual);
    json_array(j, "tried", JSON_LINES);
    for (ptrdiff_t i = 0; i < m->tried_count; i++) {
        write_tried(j, NULL, m->tried[i]);
    }
    json_end(j);
    json_fields(j, FIELDS(FIELD("reason", TEXT, &m->reason)));
    json_end(j);
}

static void write_predictor_choice(json *j, const epiq_predictor_choice *c, const report_run *run)
{
    if (!c->known) return;
    epiq_options ran = *run->options;
    const bool tried = c->tried_count;
    ran.predictor = c->predictor;
    json_object(j, "predictor_choice", JSON_LINES);
    json_fields(j, FIELDS(FIELD("predictor", OPTION, &ran), FIELD("data", REAL, tried ? &c->data : NULL),
                          FIELD("networks", COUNT, &c->networks)));
    json_array(j, "tried", JSON_LINES);
    for (ptrdiff_t i = 0; i < c->tried_count; i++) {
        ran.predictor = c->tried[i]->predictor;
        json_struct(j, NULL, true, JSON_FLAT,
                    FIELDS(FIELD("predictor", OPTION, &ran), FIELD("procedural", REAL, &c->tried[i]->procedural),
                           FIELD("trainings", COUNT, &c->tried[i]->trainings)));
    }
    json_end(j);
    json_fields(j, FIELDS(FIELD("reason", TEXT, &c->reason)));
    json_end(j);
}

void json_choice(json *j, const epiq_result *r, const report_run *run)
{
    if (r->choice) {
        epiq_options ran = *run->options;
        ran.methods = r->ran->methods;
        json_struct(j, "choice", true, JSON_LINES,
                    FIELDS(FIELD("methods", OPTION, &ran), FIELD("reason", TEXT, &r->choice)));
    }
    write_model_choice(j, r->model_choice);
    write_predictor_choice(j, r->predictor_choice, run);
}
