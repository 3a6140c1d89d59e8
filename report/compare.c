/* compare.c - a comparison for people and programs: models in the order of their error with their variance, the front and the
 * choice marked; on the page also error against variance. JSON and CSV: docs/json.md.
 */
#include "report/doc.h"
#include "report/manifest.h"

#include <math.h>

enum { LINES_MAX = 40 }; /* of the text */

static const epiq_rmse *deciding_error(const epiq_comparison *r, const epiq_compared *m)
{
    return r->by_cv ? &m->cv : &m->loo;
}

static const char *loo_name(const epiq_comparison *r)
{
    return r->by_group ? "leave-group-out" : "leave-one-out";
}

static phrase error_name(const epiq_comparison *r)
{
    return phrase_of(r->by_cv ? "%td-fold error" : loo_name(r), r->folds);
}

static bool biases_differ(const epiq_comparison *r)
{
    bool differ = false;
    for (ptrdiff_t i = 1; i < r->model_count; i++) {
        differ = differ || r->models[i]->bias != r->models[0]->bias;
    }
    return differ;
}

void compare_sorted(const epiq_comparison *r, ptrdiff_t most, ptrdiff_t *order)
{
    for (ptrdiff_t i = 0; i < r->model_count; i++) {
        const epiq_rmse *e = deciding_error(r, r->models[i]);
        ptrdiff_t k = i < most ? i : most;
        for (; k > 0; k--) {
            const epiq_rmse *before = deciding_error(r, r->models[order[k - 1]]);
            if (before->known ? !e->known || before->rmse <= e->rmse : !e->known) break;
            if (k < most) order[k] = order[k - 1];
        }
        if (k < most) order[k] = i;
    }
}

static void add_model(const ink *a, const epiq_comparison *r, const epiq_compared *m)
{
    const epiq_part *v = &m->variance;
    ink_add(a, deciding_error(r, m)->rmse, v->variance, v->has_interval ? v->lo : NAN, interval_upper(v));
}

static void draw(doc *d, const epiq_comparison *r, const ptrdiff_t *order)
{
    if (!d->page || r->choice < 0) return;
    const ptrdiff_t n = r->model_count;
    const phrase error = error_name(r);
    picture *p = pictures_add(&d->set, 0, 0, "error-against-variance", "Error against variance");
    const ink beaten = picture_ink(p, SVG_MARKS, "beaten in both", 2, n, false),
              line = picture_ink(p, SVG_LINE, NULL, 0, n, false),
              front = picture_ink(p, SVG_MARKS, "its models, with the variance's interval", 0, n, true),
              choice = picture_ink(p, SVG_MARKS, "the choice", 1, 1, false);
    for (ptrdiff_t i = 0; i < n; i++) { /* by error: the front is joined in that order */
        const epiq_compared *m = r->models[order[i]];
        if (!deciding_error(r, m)->known || !m->variance.known) continue;
        add_model(m->front ? &front : &beaten, r, m);
        if (m->front) add_model(&line, r, m);
    }
    add_model(&choice, r, r->models[r->choice]);
    beaten.series->hollow = choice.series->ink = true;
    line.series->name = line.series->count > 1 ? "the front" : NULL;
    picture_axes(p, 420, 290, error.text, "variance");
    p->panel.log_y = true;
    p->panel.describe = "Marks for models, the front joined by a line, the choice marked.";
    p->caption = "Each mark is a model: the farther left the smaller its error, the lower the surer it is. No model is "
                 "both left of and below one on the front.";
    doc_picture(d, 0, 0);
}

static doc_cell cell_error(const epiq_rmse *e)
{
    return e->known ? cell_words("%.4g +- %.2g", e->rmse, e->se) : cell_text("");
}

static void write_table(doc *d, const epiq_comparison *r, const ptrdiff_t *order, ptrdiff_t rows)
{
    const bool wide = d->run->options->engine != EPIQ_ENGINE_INFINITE, bias = biases_differ(r), cv = r->by_cv;
    const phrase error = error_name(r), level = phrase_of("%.4g %% interval", 100 * d->run->options->level);
    const doc_column columns[] = {
        {"", .align = DOC_LEFT | DOC_NAME},
        {NULL, "", .gap = 2, .width = 1},
        {wide ? "width" : NULL, wide ? "width" : NULL, .width = 7},
        {"depth", "depth", .width = 7},
        {"lambda", "lambda", 0, 6, 3, .width = 10},
        {bias ? "bias" : NULL, bias ? "bias" : NULL, 0, 6, 3, .width = 8},
        {cv ? error.text : NULL, .digits = 4},
        {cv ? "±" : NULL, NULL, 0, 2, .name = "se"},
        {NULL, cv ? error.text : NULL, .gap = 2, .width = -16},
        {loo_name(r), .digits = 4},
        {"±", NULL, 0, 2, .name = "se"},
        {NULL, loo_name(r), .gap = 2, .width = -16},
        {"variance", "variance", 0, 4, 4, .gap = 2, .width = -10},
        {NULL, level.text, .gap = 2},
        {"between", NULL, 0, 3, .name = "lo"},
        {"and", NULL, 0, 3, .name = "hi"},
        {"procedural", .digits = 4},
        {"data", .digits = 4},
    };
    doc_heading(d, "The models");
    doc_table_open(d, &(doc_table){DOC_COLUMNS(columns), .caption = "The models in the order of their error"});
    for (ptrdiff_t i = 0; i < rows; i++) {
        const epiq_compared *m = r->models[order[i]];
        const bool chosen = order[i] == r->choice;
        const char *name = chosen ? "choice" : m->front ? "front" : "", *sign = chosen ? ">" : m->front ? "*" : "";
        doc_row(d, chosen, NULL, cell_text(name), cell_text(sign), cell_words("%td", m->width),
                cell_words("%td", m->depth), cell_number(m->lambda), cell_number(m->bias),
                cell_number(m->cv.known ? m->cv.rmse : NAN), cell_number(m->cv.known ? m->cv.se : NAN),
                cell_error(&m->cv), cell_number(m->loo.known ? m->loo.rmse : NAN),
                cell_number(m->loo.known ? m->loo.se : NAN), cell_error(&m->loo), cell_variance(&m->variance),
                m->variance.known && m->variance.has_interval ? cell_words("%s", interval_text(&m->variance).text)
                                                              : cell_text(""),
                cell_number(interval_lower(&m->variance)), cell_upper(&m->variance), cell_variance(&m->procedural),
                cell_variance(&m->data));
    }
    doc_table_close(d);
    doc_when(d, rows < r->model_count, "... and %td more with larger errors: {--csv} and {--json} have all.\n",
             r->model_count - rows);
    doc_say(d,
            "\n  * nothing beats it in both error and variance   > the choice, one of these   +- one standard error\n"
            "  %s is the error of infinitely wide networks, the same for every width\n\n",
            loo_name(r));
    doc_note(
        d,
        "After ± stands one standard error. %s is the error of infinitely wide networks, the same for every width. "
        "The variance is that of an ensemble of %td, data + procedural/%td; procedural is that of one network.",
        r->by_group ? "Leave-group-out, each row predicted without its whole group," : "Leave-one-out",
        r->ensemble_size, r->ensemble_size);
}

static void write_head(doc *d, const epiq_comparison *r)
{
    doc_data(d);
    doc_say(d, "; %td model%s", r->model_count, plural(r->model_count));
    doc_when(d, r->trainings, ", %td networks trained, %td converged", r->trainings, r->converged);
    doc_say(d, "; %.3g s\n", d->run->seconds);
    doc_when(d, r->by_cv && r->members, "The error of a fold is that of the mean of %td networks trained without it.\n",
             r->ensemble_size);
    doc_say(d, "The variance is that of an ensemble of %td", r->ensemble_size);
    doc_when(d, r->members, "; its procedural part is the spread of %td networks, roughly known", r->members);
    doc_say(d, ".\n\n");
}

/* Its options as a sentence for the page or as flags for the text, then the reason. */
static phrase answer_of(const epiq_comparison *r, const report_run *run, bool flags)
{
    const epiq_compared *m = r->choice < 0 ? NULL : r->models[r->choice];
    phrase width = {""}, bias = {""};
    if (!m) return phrase_of("%s", r->reason);
    if (run->options->engine != EPIQ_ENGINE_INFINITE) {
        width = phrase_of(flags ? "--width %td " : "width %td, ", m->width);
    }
    if (biases_differ(r)) bias = phrase_of(flags ? " --bias %g" : ", bias %g", m->bias);
    return phrase_of(flags ? "%s--depth %td --lambda %g%s. %s" : "Start with %sdepth %td and lambda %g%s. %s",
                     width.text, m->depth, m->lambda, bias.text, r->reason);
}

static void describe(doc *d)
{
    const report_run *run = d->run;
    const epiq_comparison *r = d->a->comparison;
    const ptrdiff_t rows = d->page || r->model_count < LINES_MAX ? r->model_count : LINES_MAX;
    ptrdiff_t few[LINES_MAX] = {0}, *order = d->page ? pictures_room(&d->set, rows, sizeof *order) : few;
    const phrase answer = answer_of(r, run, !d->page);
    doc_open(d, "epiq compare", "Which network?", answer.text);
    write_head(d, r);
    if (order) {
        compare_sorted(r, rows, order);
        draw(d, r, order);
        write_table(d, r, order, rows);
    }
    doc_warnings(d);
    if (r->choice >= 0) {
        doc_conclusion(d, BOLD, "Choice:", answer.text);
    } else {
        doc_say(d, "%s\n", r->reason);
    }
    doc_close(d,
              FIELDS(FACT_SHA(run), FIELD("seed", SEED, &run->options->seed), FIELD("models", COUNT, &r->model_count),
                     FIELD("folds", COUNT, &r->folds), FIELD("networks trained", COUNT, &r->trainings),
                     FIELD("of these converged", COUNT, &r->converged), FIELD("threads", COUNT, &r->threads)),
              run->options);
}

/* ---- for programs ---- */

#define MODEL(kind, member) FIELD(#member, kind, &m->member)
/* What makes the model what it is, by the names of the options. */
#define NAME_FIELDS                                                                                                    \
    FIELD("width", COUNT, infinite ? NULL : &m->width), MODEL(COUNT, depth), MODEL(REAL, lambda), MODEL(REAL, bias)
#define ERROR(name, error, member) FIELD(name, REAL, m->error.known ? &m->error.member : NULL)
#define ERROR_FIELDS                                                                                                   \
    ERROR("loo_rmse", loo, rmse), ERROR("loo_se", loo, se), ERROR("cv_rmse", cv, rmse), ERROR("cv_se", cv, se)
#define PART_FIELDS MODEL(VARIANCE, procedural), MODEL(VARIANCE, data), MODEL(VARIANCE, infinite)

#define TOTAL(member) FIELD(#member, COUNT, &r->member)

static void compare_json(FILE *out, const report_answer *a, const report_run *run)
{
    const epiq_comparison *r = a->comparison;
    const epiq_compared *m;
    const bool infinite = run->options->engine == EPIQ_ENGINE_INFINITE;
    const char *error = r->by_cv ? "cv_rmse" : "loo_rmse", *by = r->by_group ? "leave-one-group-out" : "leave-one-out";
    json j = json_begin(out, a, run);
    json_struct(&j, "comparison", true, JSON_LINES,
                FIELDS(FIELD("error", TEXT, &error), FIELD("loo_by", TEXT, &by), TOTAL(folds), TOTAL(members),
                       TOTAL(ensemble_size), TOTAL(trainings), TOTAL(converged)));
    json_array(&j, "models", JSON_LINES);
    for (ptrdiff_t i = 0; (m = r->models[i]); i++) {
        json_struct(&j, NULL, true, JSON_FLAT,
                    FIELDS(NAME_FIELDS, ERROR_FIELDS, MODEL(VARIANCE, variance),
                           FIELD("interval", INTERVAL, &m->variance), PART_FIELDS, MODEL(BOOL, front)));
    }
    json_end(&j);
    if ((m = r->choice < 0 ? NULL : r->models[r->choice])) {
        json_struct(&j, "choice", true, JSON_LINES,
                    FIELDS(FIELD("index", COUNT, &r->choice), NAME_FIELDS, FIELD("reason", TEXT, &r->reason)));
    } else {
        json_text(&j, "choice", NULL);
    }
    json_finish(&j, a);
}

static void compare_csv(FILE *out, const report_answer *a)
{
    const epiq_comparison *r = a->comparison;
    const epiq_compared none = {0}, *m = &none; /* of which the names of the columns are written */
    const bool infinite = !r->members;          /* engine infinite has neither networks nor a width */
    for (ptrdiff_t i = -1; m; m = r->models[++i]) {
        const int choice = i == r->choice;
        csv_line(out, m == &none,
                 FIELDS(NAME_FIELDS, ERROR_FIELDS, MODEL(VARIANCE, variance), FIELD("variance", INTERVAL, &m->variance),
                        PART_FIELDS, MODEL(BOOL, front), FIELD("choice", BOOL, &choice)));
    }
}

const report_writers COMPARE_WRITERS = {compare_json, compare_csv, describe};
