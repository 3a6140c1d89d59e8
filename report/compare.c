/* compare.c - a comparison for people and programs: models in the order of their error with their standard deviation, the
 * front and the choice marked; on the page also error against standard deviation, and the errors of networks and kernel apart. JSON and CSV: docs/json.md.
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

/* What differs between the models, which is what they are called by. */
typedef struct {
    bool width, depth, lambda, bias;
} differing;

static differing what_differs(const epiq_comparison *r)
{
    differing by = {0};
    for (ptrdiff_t i = 1; i < r->model_count; i++) {
        const epiq_compared *m = r->models[i], *first = r->models[0];
        by.width = by.width || m->width != first->width;
        by.depth = by.depth || m->depth != first->depth;
        by.lambda = by.lambda || m->lambda != first->lambda;
        by.bias = by.bias || m->bias != first->bias;
    }
    return by;
}

/* "1e-4", "0.5" */
static phrase lambda_text(double lambda)
{
    const int power = (int)floor(log10(lambda) + 1e-9);
    return lambda > 0 && lambda < 0.1 ? phrase_of("%.3ge%d", lambda / pow(10, power), power)
                                      : phrase_of("%.3g", lambda);
}

/* "w 256, λ 1e-3": width, depth, lambda and bias, as far as they differ. */
static const char *model_name(picture *p, const epiq_compared *m, differing by)
{
    char text[4][40] = {""};
    if (by.width) snprintf(text[0], sizeof text[0], ", w %td", m->width);
    if (by.depth) snprintf(text[1], sizeof text[1], ", depth %td", m->depth);
    if (by.lambda) snprintf(text[2], sizeof text[2], ", λ %.30s", lambda_text(m->lambda).text);
    if (by.bias) snprintf(text[3], sizeof text[3], ", bias %g", m->bias);
    const char *all = picture_text(p, "%s%s%s%s", text[0], text[1], text[2], text[3]);
    return *all ? all + 2 : "the model"; /* there is only one */
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

/* ---- pictures ---- */

enum { AGAINST, ERRORS };
enum {
    NAMED_MAX = 10,
    ROWS_MAX = 30
}; /* models all of which have their names beside them; drawn one below the other */

static void add_model(const ink *a, const epiq_comparison *r, const epiq_compared *m)
{
    const epiq_part *v = &m->variance;
    ink_add(a, deciding_error(r, m)->rmse, part_sd(v), sqrt(interval_lower(v)), sqrt(interval_upper(v)));
}

/* Models by error and standard deviation. Error bars along both axes: models whose bars overlap are not ranked. */
static void draw_against(doc *d, const epiq_comparison *r, const ptrdiff_t *order)
{
    const ptrdiff_t n = r->model_count;
    const differing by = what_differs(r);
    picture *p =
        pictures_add(&d->set, AGAINST, 0, "error-against-standard-deviation", "Error against standard deviation");
    const ink line = picture_ink(p, SVG_LINE, NULL, 0, n, false),
              beaten = picture_ink(p, SVG_MARKS, "beaten in both", 2, n, true),
              front = picture_ink(p, SVG_MARKS, "on the front", 0, n, true),
              choice = picture_ink(p, SVG_MARKS, "the choice", 1, 1, true);
    double *error = pictures_room(&d->set, 2 * n + 1, sizeof *error);
    const char **name = pictures_room(&d->set, 2 * n + 1, sizeof *name);
    if (d->set.failed) return;
    const ink *const marks[] = {&beaten, &front, &choice};
    for (int k = 0; k < 3; k++) {
        marks[k]->series->x_error = error + k * n;
        marks[k]->series->labels = n <= NAMED_MAX || k ? name + k * n : NULL;
    }
    for (ptrdiff_t i = 0; i < n; i++) { /* by error: the front is joined in that order */
        const epiq_compared *m = r->models[order[i]];
        if (!deciding_error(r, m)->known || !m->variance.known) continue;
        const int k = order[i] == r->choice ? 2 : m->front ? 1 : 0;
        error[k * n + marks[k]->series->count] = deciding_error(r, m)->se;
        name[k * n + marks[k]->series->count] = model_name(p, m, by);
        add_model(marks[k], r, m);
        if (m->front) add_model(&line, r, m);
    }
    beaten.series->hollow = choice.series->ink = true;
    beaten.series->name = beaten.series->count ? beaten.series->name : NULL;
    front.series->name = front.series->count ? front.series->name : NULL;
    line.series->name = line.series->count > 1 ? "the front" : NULL;
    picture_axes(p, 480, 330,
                 picture_text(p, r->by_cv ? "%s of %s" : "%s error of %s", error_name(r).text, d->run->data.target),
                 picture_text(p, "std dev of the predicted %s", d->run->data.target));
    p->panel.log_y = true;
    p->panel.describe = "Marks for models with error bars, the front joined by a line, the choice marked.";
    p->caption = picture_text(
        p,
        "Each mark is a model: the farther left the smaller its error, the lower the surer it is. Lines across are one "
        "standard error of the error, lines upwards the %.4g %% interval of the standard deviation: models whose lines "
        "overlap may well be equal.%s",
        100 * d->run->options->level, n <= NAMED_MAX ? "" : " Named are the choice and the front.");
}

static void add_error(const ink *a, const epiq_rmse *e, ptrdiff_t row)
{
    if (e->known) ink_add(a, e->rmse, (double)row, e->rmse - e->se, e->rmse + e->se);
}

/* Model by model: the error of the networks, and apart from it that of kernel regression. */
static void draw_errors(doc *d, const epiq_comparison *r, const ptrdiff_t *order)
{
    const ptrdiff_t n = r->model_count < ROWS_MAX ? r->model_count : ROWS_MAX;
    const differing by = what_differs(r);
    picture *p = pictures_add(&d->set, ERRORS, 0, "errors", "Errors on rows not seen");
    const char **names = pictures_room(&d->set, n, sizeof *names),
               *trained = picture_text(
                   p, "%s, %td folds",
                   d->run->options->engine == EPIQ_ENGINE_INFINITE ? "kernel regression" : "networks", r->folds),
               *kernel = picture_text(p, "kernel regression, %s", loo_name(r));
    const ink cv = picture_ink(p, SVG_MARKS, r->by_cv ? trained : NULL, 0, n, true),
              loo = picture_ink(p, SVG_MARKS, kernel, 2, n, true);
    if (d->set.failed) return;
    loo.series->hollow = true;
    loo.series->shift = r->by_cv ? 5 : 0;
    cv.series->shift = -3;
    for (ptrdiff_t i = 0; i < n; i++) {
        const epiq_compared *m = r->models[order[i]];
        names[i] = model_name(p, m, by);
        if (r->by_cv) add_error(&cv, &m->cv, i);
        add_error(&loo, &m->loo, i);
    }
    picture_rows(p, names, n);
    picture_axes(p, 440, 0, picture_text(p, "error (root mean square) of %s", d->run->data.target), NULL);
    p->caption =
        picture_text(p,
                     "The smallest error first, with one standard error. Kernel regression is the limit of "
                     "infinitely wide networks: the same for every width, and no judge of narrow ones.%s",
                     n < r->model_count ? picture_text(p, " Drawn are the first %td of %td.", n, r->model_count) : "");
    p->panel.describe = "A line per model: marks with error bars for networks and for kernel regression.";
}

static void draw(doc *d, const epiq_comparison *r, const ptrdiff_t *order)
{
    if (!d->page || r->choice < 0) return;
    draw_against(d, r, order);
    draw_errors(d, r, order);
    doc_page(d, "<div class=\"figures\">\n");
    doc_picture(d, AGAINST, 0);
    doc_picture(d, ERRORS, 0);
    doc_page(d, "</div>\n");
}

/* ---- words and numbers ---- */

static doc_cell cell_error(const epiq_rmse *e, bool page)
{
    doc_cell cell = cell_text("");
    if (!e->known) return cell;
    cell = cell_words(page ? "%s ± %s" : "%s +- %s", epiqp_rounded_beside(e->rmse, e->se).text,
                      epiqp_rounded_sd(e->se).text);
    cell.value = e->rmse;
    cell.se = e->se;
    return cell;
}

/* What all models have in common, which is no column of the table. */
static void write_common(doc *d, const epiq_comparison *r)
{
    const epiq_compared *m = r->models[0];
    const differing by = what_differs(r);
    const bool wide = d->run->options->engine != EPIQ_ENGINE_INFINITE;
    doc_sentence(d, true, d->page ? "<p>All models have " : "All models have ");
    doc_sentence(d, wide && !by.width, "width %td, ", m->width);
    doc_sentence(d, !by.depth, "depth %td, ", m->depth);
    doc_sentence(d, !by.lambda, "lambda %s, ", lambda_text(m->lambda).text);
    doc_sentence(d, !by.bias, "bias %g, ", m->bias);
    doc_sentence(d, true, d->page ? "and %td rows to learn from.</p>\n" : "and %td rows to learn from.\n",
                 d->run->data.rows);
}

static doc_cell cell_lambda(double lambda)
{
    doc_cell cell = cell_words("%s", lambda_text(lambda).text);
    cell.value = lambda;
    return cell;
}

static void write_row(doc *d, const epiq_comparison *r, ptrdiff_t index)
{
    const epiq_compared *m = r->models[index];
    const bool chosen = index == r->choice;
    const char *name = chosen ? "choice" : m->front ? "front" : "", *sign = chosen ? ">" : m->front ? "*" : "";
    doc_row(d, chosen, NULL, cell_text(name), cell_text(sign), cell_words("%td", m->width), cell_words("%td", m->depth),
            cell_lambda(m->lambda), cell_number(m->bias), cell_error(&m->cv, d->page), cell_error(&m->loo, d->page),
            cell_sd_interval(&m->variance), cell_part_sd(&m->procedural), cell_part_sd(&m->data));
}

static void write_table(doc *d, const epiq_comparison *r, const ptrdiff_t *order, ptrdiff_t rows)
{
    const differing by = what_differs(r);
    const phrase error = error_name(r), kernel = phrase_of(r->by_cv ? "kernel regression" : "kernel's %s", loo_name(r)),
                 level = phrase_of("std dev (%.4g %% interval)", 100 * d->run->options->level);
    const char *width = by.width ? "width" : NULL, *depth = by.depth ? "depth" : NULL,
               *lambda = by.lambda ? "lambda" : NULL, *bias = by.bias ? "bias" : NULL;
    const doc_column columns[] = {
        {"", .align = DOC_LEFT | DOC_NAME},
        {NULL, "", .gap = 2, .width = 1},
        {width, width, .width = 7},
        {depth, depth, .width = 7},
        {lambda, lambda, 0, 6, 3, .width = 10},
        {bias, bias, 0, 6, 3, .width = 8},
        {r->by_cv ? error.text : NULL, r->by_cv ? error.text : NULL, .gap = 2, .width = -16},
        {kernel.text, kernel.text, .gap = 2, .width = -17},
        {level.text, level.text, .gap = 2, .width = -24, .plain_digits = 3},
        {"retraining", "retraining", DOC_FOLD, 3, 3, .gap = 2, .width = 10},
        {"data", "data", DOC_FOLD, 3, 3, .gap = 2, .width = 8},
    };
    doc_heading(d, "The models");
    write_common(d, r);
    doc_say(d, "\n");
    doc_table_open(d, &(doc_table){DOC_COLUMNS(columns), .caption = "The models in the order of their error"});
    for (ptrdiff_t i = 0; i < rows; i++) {
        write_row(d, r, order[i]);
    }
    doc_table_close(d);
    doc_when(d, rows < r->model_count, "... and %td more with larger errors: {--csv} and {--json} have all.\n",
             r->model_count - rows);
    doc_say(d,
            "\n  * nothing beats it in both error and std dev   > the choice, one of these   +- one standard error\n"
            "  kernel regression: %s error of infinitely wide networks, the same for every width\n"
            "  std dev: of the mean of %td networks' predictions; its parts: data, and retraining (of one network)\n\n",
            loo_name(r), r->ensemble_size);
    doc_note(
        d,
        "After ± stands one standard error. %s is that of infinitely wide networks, the same for every width. "
        "The standard deviation is that of the mean of %td networks' predictions at the points asked "
        "about" UNLESS_FOLDED("; retraining (of one network) and data are its two parts, as standard deviations") ".",
        r->by_group ? "Kernel regression's error, each row predicted without its whole group,"
                    : "Kernel regression's leave-one-out error",
        r->ensemble_size);
}

static void write_head(doc *d, const epiq_comparison *r)
{
    doc_data(d);
    doc_say(d, "; %td model%s", r->model_count, plural(r->model_count));
    doc_when(d, r->trainings, ", %td networks trained, %td converged", r->trainings, r->converged);
    doc_say(d, "; %.3g s\n", d->run->seconds);
    doc_when(d, r->by_cv && r->members, "The error of a fold is that of the mean of %td networks trained without it.\n",
             r->ensemble_size);
    doc_when(d, r->members, "Retraining is the spread of %td networks, roughly known.\n", r->members);
}

/* Its options as a sentence, or as flags for the text of the command line, then the reason. */
static phrase answer_of(const epiq_comparison *r, const report_run *run, bool flags)
{
    const epiq_compared *m = r->choice < 0 ? NULL : r->models[r->choice];
    phrase width = {""}, bias = {""};
    if (!m) return phrase_of("%s", r->reason);
    if (run->options->engine != EPIQ_ENGINE_INFINITE) {
        width = phrase_of(flags ? "--width %td " : "width %td, ", m->width);
    }
    if (what_differs(r).bias) bias = phrase_of(flags ? " --bias %g" : ", bias %g", m->bias);
    return phrase_of(flags ? "%s--depth %td --lambda %s%s. %s" : "Start with %sdepth %td and lambda %s%s. %s",
                     width.text, m->depth, lambda_text(m->lambda).text, bias.text, r->reason);
}

static void describe(doc *d)
{
    const report_run *run = d->run;
    const epiq_comparison *r = d->a->comparison;
    const ptrdiff_t rows = d->page || r->model_count < LINES_MAX ? r->model_count : LINES_MAX;
    ptrdiff_t few[LINES_MAX] = {0}, *order = d->page ? pictures_room(&d->set, rows, sizeof *order) : few;
    const phrase answer = answer_of(r, run, !d->page && run->spelling == EPIQ_SPELL_FLAG);
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
    doc_glossary(d, WORD_PARTS | WORD_ENSEMBLE | WORD_KERNEL | WORD_LOO | WORD_LAMBDA | WORD_FRONT | WORD_INTERVAL |
                        WORD_LOG | (r->by_cv ? WORD_FOLDS : 0));
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
