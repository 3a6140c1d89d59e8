/* estimate_doc.c - an estimate as text and as a page: the answer and what to do first, then the points, at length where they are
 * few; how well the model fits, warnings, and enough about the run to repeat it. The pictures are estimate_pictures.c's.
 */
#include "report/estimate_doc.h"
#include "report/manifest.h"

#include <math.h>
#include <string.h>

enum {
    BLOCKS_MAX = 5,    /* points shown at length in the text, */
    LINES_MAX = 20,    /* and in its table */
    POINTS_MAX = 500,  /* lines of the page's table: more are not readable, and {--csv} has them */
    POINTS_GROUP = 10, /* lines between rules */
    CELL = 19,         /* characters of a variance and its standard deviation */
};

static void write_trained(doc *d)
{
    const epiq_options *o = d->run->options;
    doc_data(d);
    doc_when(d, o->engine != EPIQ_ENGINE_INFINITE, ", width %td", d->r->ran->width);
    doc_say(d, ", depth %td%s", o->depth, d->r->ran->solver == EPIQ_SOLVER_ITERATIVE ? "; solver iterative" : "");
    doc_when(d, d->r->solve->iterations,
             ", relative residual %.1e after %td products, at most %.2g %% open in any variance", d->r->solve->residual,
             d->r->solve->iterations, 100 * fmax(d->r->solve->open_data, d->r->solve->open_procedural));
    doc_when(d, d->r->ran->solver == EPIQ_SOLVER_DIVIDED, "; solver divided, %td part%s", d->r->ran->parts,
             plural(d->r->ran->parts));
    doc_when(d, d->r->point_count, "; %s s",
             epiqp_rounded_sd(d->run->seconds).text); /* a forecast has a time of its own */
    doc_say(d, "\n");
    if (d->r->training->members) {
        const epiq_training *t = d->r->training;
        doc_say(d, "%td networks, %td converged", t->members, t->converged);
        doc_when(d, t->in_double, "; %td in double precision", t->in_double);
        doc_when(d, t->split, "; products between hidden layers in 11 bits, at the end in 22");
        doc_when(d, t->resumed && o->state, "; %td resumed from %s", t->resumed, o->state);
        doc_say(d, "\n");
    }
    doc_choice(d);
}

static void write_head(doc *d)
{
    const bool retrained = d->r->retrain->known;
    if (d->run->given) {
        describe_combined(d);
    } else {
        write_trained(d);
    }
    const epiq_fit_error *f = d->r->fit;
    write_error(d);
    doc_when(d, f->known, "errors by %s", fit_by(f).text);
    doc_when(d, f->known && f->folds && f->kernel_known, "; infinitely wide networks would have %s (leave-one-%sout)",
             epiqp_rounded_to(f->kernel_rmse, 3).text, f->by_group ? "group-" : "");
    doc_when(d, f->known,
             "\nwhat all such networks get wrong alike is in these errors and in prediction intervals, in no standard "
             "deviation of a prediction\n");
    doc_when(d, retrained && d->r->retrain->kappa > 0,
             "the networks follow the data %.2f times as much as infinitely wide ones, in variance (+- %.2f)\n",
             d->r->retrain->kappa, d->r->retrain->kappa_se);
}

/* On the page: from the least to the most. */
static void write_range(doc *d)
{
    double lo = INFINITY, hi = -INFINITY, least = INFINITY, most = -INFINITY;
    const epiq_point *p;
    for (ptrdiff_t i = 0; (p = d->r->points[i]); i++) {
        lo = fmin(lo, p->prediction);
        hi = fmax(hi, p->prediction);
        least = fmin(least, part_sd(&p->full_variance));
        most = fmax(most, part_sd(&p->full_variance));
    }
    doc_page(d, "At %td points the predicted %s lies between %-s and %-s", d->r->point_count, d->run->data.target,
             number_markup("least", lo, 4).text, number_markup("most", hi, 4).text);
    doc_page_when(d, most >= least, ", give or take between %-s and %-s (one standard deviation)",
                  number_markup("sd-least", least, 2).text, number_markup("sd-most", most, 2).text);
    doc_page(d, ".");
}

static void write_answer(doc *d)
{
    const phrase needed = members_needed(d->r, d->run);
    write_useless(d);
    doc_page(d, "<p class=\"answer\">");
    write_error(d);
    if (d->r->summary->rows) write_rows_answer(d);
    if (d->r->point_count == 1) {
        write_prediction(d, d->r->points[0]);
        write_confidence(d, d->r->points[0]);
        write_observation(d, d->r->points[0]);
        doc_page(d, " ");
        write_share(d, d->r->points[0]);
    } else if (d->r->summary->rows != d->r->point_count) {
        write_range(d);
    }
    doc_page(d, "</p>\n<p class=\"answer\" data-action=\"%s\"><b>What to do:</b> %s</p>\n",
             epiq_action_text(d->r->advice->action), d->r->advice->text);
    doc_page_when(d, *needed.text, "<p class=\"answer\"><b>Networks:</b> %s</p>\n", needed.text);
    doc_note_when(d, d->r->warning_count, "<a href=\"#warnings\">%td warning%s</a> below.", d->r->warning_count,
                  plural(d->r->warning_count));
}

static doc_cell cell_both(const epiq_part *p)
{
    return p->known
               ? cell_words("%s (%s)", epiqp_rounded_to(p->variance, 3).text, epiqp_rounded_sd(sqrt(p->variance)).text)
               : cell_text("unknown");
}

static doc_cell cell_prediction(const epiq_point *p)
{
    return cell_rounded(p->prediction, epiqp_rounded_beside(p->prediction, part_sd(&p->prediction_variance)));
}

static void write_line(doc *d, ptrdiff_t i)
{
    const epiq_point *p = d->r->points[i];
    const double sd = part_sd(&p->prediction_variance);
    doc_row(d, false, phrase_of("data-point=\"%td\"", i).text, cell_text(p->at), cell_prediction(p), cell_sd(sd),
            cell_interval(p), cell_part_sd(&p->data), cell_part_sd(&p->procedural), cell_part_sd(&p->ensemble),
            cell_both(&p->procedural), cell_both(&p->data), cell_both(&p->ensemble),
            p->predictive.known ? cell_interval(p) : cell_text("unknown"));
}

static void write_lines(doc *d, ptrdiff_t most)
{
    const ptrdiff_t shown = d->r->point_count < most ? d->r->point_count : most;
    const phrase ensemble = phrase_of("ensemble of %td", d->r->ran->ensemble_size),
                 interval = phrase_of("%.4g %% prediction interval", 100 * d->run->options->level),
                 caption = phrase_of("Predictions and standard deviations, point by point, in units of %.120s",
                                     d->run->data.target);
    doc_column columns[] = {{"at", "at", DOC_LEFT | DOC_NAME, .width = -2},
                            {"prediction", "prediction", 0, 6, 6, 2, 12, .name = "prediction"},
                            {"± std dev", "std dev", .gap = 2, .width = 9, .name = "sd"},
                            {.head = interval.text},
                            {"data", NULL, .name = "data"},
                            {"retraining", NULL, .name = "procedural"},
                            {ensemble.text, NULL, DOC_FOLD, .name = "ensemble"},
                            {NULL, "retraining", .gap = 2, .width = -CELL},
                            {NULL, "data", .gap = 2, .width = -CELL},
                            {NULL, ensemble.text, .gap = 2, .width = -CELL},
                            {NULL, "prediction interval", .gap = 2}};
    for (ptrdiff_t i = 0; i < shown; i++) {
        doc_widen(&columns[0], d->r->points[i]->at);
        doc_widen(&columns[1], cell_prediction(d->r->points[i]).words);
    }
    doc_table_open(d, &(doc_table){DOC_COLUMNS(columns), .caption = caption.text, .caption_shown = true});
    for (ptrdiff_t i = 0; i < shown; i++) {
        if (d->page && i && i % POINTS_GROUP == 0) doc_group(d);
        write_line(d, i);
    }
    doc_table_close(d);
}

static void write_points(doc *d)
{
    const ptrdiff_t count = d->r->point_count;
    if (!d->page) {
        doc_say(d, "\nVariances, standard deviations in brackets, and prediction intervals:\n\n");
        write_lines(d, LINES_MAX);
        doc_say(d, "Intervals and the rest are in {--csv} and {--json}.\n");
        doc_when(d, count > LINES_MAX, "... and %td more points are there too.\n", count - LINES_MAX);
        return;
    }
    doc_heading(d, "All points");
    doc_page(d, "<div class=\"figures\">\n");
    doc_picture(d, PICTURE_POINTS, 0);
    doc_picture(d, PICTURE_SPREAD, 0);
    doc_page(d, "</div>\n");
    write_lines(d, POINTS_MAX);
    doc_page_when(d, d->r->summary->rows > 0 && d->r->fit->folds > 0 && d->r->points[0]->left_out,
                  "<p>At a row that is left out these are of the %td networks that have not seen it. The mean of all "
                  "%td, which a new row is asked of, has a smaller standard deviation and a shorter interval: those "
                  "that are summed up above.</p>\n",
                  d->r->points[0]->member_count, d->r->ran->members);
    doc_page_when(d, count > POINTS_MAX,
                  "<p>These are the first %d of %td points; {--csv} and {--json} list all.</p>\n", POINTS_MAX, count);
    const bool rows = d->r->summary->rows == count && d->r->summary->least_sure_count;
    doc_page_when(d, count > ESTIMATE_DETAILED && rows,
                  "<p>Pictures of the least sure rows follow; {--at} row:I asks for another.</p>\n");
    doc_page_when(d, count > ESTIMATE_DETAILED && !rows,
                  d->run->given ? "<p>Pictures of the first %d points follow.</p>\n"
                                : "<p>Pictures of the first %d points follow; {--at} row:I or a file with one row asks "
                                  "for another.</p>\n",
                  ESTIMATE_DETAILED);
}

static void write_sweep_table(doc *d)
{
    const char *const *names = d->run->data.feature;
    doc_column columns[] = {{NULL, "feature", .width = -7},
                            {NULL, "least", .plain_digits = 4, .gap = 2, .width = 10},
                            {NULL, "prediction", .plain_digits = 4, .gap = 2, .width = 10},
                            {NULL, "std dev", .plain_digits = 3, .gap = 2, .width = 10},
                            {NULL, "most", .plain_digits = 4, .gap = 2, .width = 10},
                            {NULL, "prediction", .plain_digits = 4, .gap = 2, .width = 10},
                            {NULL, "std dev", .plain_digits = 3, .gap = 2, .width = 10}};
    const epiq_sweep *s;
    for (ptrdiff_t k = 0; (s = d->r->sweeps[k]); k++) {
        doc_widen(&columns[0], names[s->feature]);
    }
    doc_say(d, "\nOne feature at its least and its most, the others as at ");
    doc_put(d, BOLD, d->r->points[0]->at);
    doc_say(d, "; {--json} has the values between:\n\n");
    doc_table_open(d, &(doc_table){DOC_COLUMNS(columns)});
    for (ptrdiff_t k = 0; (s = d->r->sweeps[k]); k++) {
        const epiq_point *least = s->points[0], *most = s->points[s->count - 1];
        doc_row(d, false, NULL, cell_text(names[s->feature]), cell_number(s->value[0]), cell_prediction(least),
                cell_part_sd(&least->prediction_variance), cell_number(s->value[s->count - 1]), cell_prediction(most),
                cell_part_sd(&most->prediction_variance));
    }
}

static void write_sweeps(doc *d)
{
    const picture *p = pictures_find(&d->set, PICTURE_SWEEP, 0);
    doc_heading(d, "Across each feature");
    if (!p) {
        doc_note(d, d->run->options->sweep
                        ? "No feature takes more than one value, so there is nothing to sweep across."
                        : "No sweeps were asked for: {--sweep} 25 tries 25 values of each feature.");
        return;
    }
    const phrase caption = phrase_of(
        "One feature moves along each axis, the others stay as at %s; the features that change the prediction most "
        "come "
        "first. Where the band widens the prediction is less sure; short lines along the axis are rows, and where "
        "there are none the networks extrapolate.%s",
        d->r->point_count > 1 ? "the first point" : "the point asked for",
        d->r->sweep_count < d->run->data.features
            ? " Features that do not vary are left out, and of very many those least correlated with the target."
            : "");
    doc_figure_open(d, NULL, caption.text);
    svg_legend(d->out, &p->panel);
    doc_panels(d, PICTURE_SWEEP, "div class=\"panels\"");
    fputs("<details><summary>The numbers of these figures</summary>\n", d->out);
    for (ptrdiff_t k = 0; (p = pictures_find(&d->set, PICTURE_SWEEP, k)); k++) {
        doc_figure_numbers(d, p->panel.x_name, &p->panel);
    }
    doc_page(d, "</details>\n</figure>\n");
}

/* Of kernel regression. */
static void write_kernel_fit(doc *d, bool drawn)
{
    const epiq_fit_error *f = d->r->fit;
    doc_page(d, "<p>%s regression, %s, %s each row from all %s: it misses by %-s (root mean square)",
             drawn ? "The pictures show kernel" : "Kernel",
             d->run->given ? "with the kernel that was given" : "the mean of infinitely wide networks",
             drawn ? "which predicts" : "predicts", f->by_group ? "other groups" : "others",
             number_markup("loo-rmse", f->kernel_rmse, 4).text);
    doc_page_when(d, f->has_r2, " and explains <b data-loo-r2=\"%s\">%.1f %%</b> of the variance of %s",
                  number_text(f->kernel_r2).text, 100 * f->kernel_r2, d->run->data.target);
    doc_page(d, ".</p>\n");
}

static void write_fit(doc *d)
{
    const epiq_fit_error *f = d->r->fit;
    doc_heading(d, "How well the model fits");
    if (f->known && f->folds) {
        doc_page(d, "<p>");
        write_error(d);
        doc_page(d, "Each row was predicted by networks that have not seen it (%s).</p>\n", fit_by(f).text);
    }
    const bool networks = f->known && f->folds && f->unseen;
    if (f->kernel_known) write_kernel_fit(d, !networks);
    doc_page(d, "<div class=\"figures\">\n");
    const bool loo = doc_picture(d, PICTURE_LOO, 0), calibration = doc_picture(d, PICTURE_CALIBRATION, 0);
    doc_page(d, "</div>\n");
    doc_note_when(d, !f->kernel_known && !networks, "%s",
                  d->run->given && !combine_kernel(d->r)
                      ? "Leave-one-out predictions take a kernel and y; no kernel was given."
                      : "Leave-one-out predictions come with the method if; they were not computed.");
    doc_note_when(
        d, f->kernel_known && !loo,
        "The single predictions were not kept: that takes exact leverages (no {--probes}, a correction other than "
        "none).");
    doc_note_when(d, loo && !calibration && !networks, "Without noise there are no intervals to calibrate.");
}

static void write_end(doc *d)
{
    epiq_options ran = *d->run->options;
    ran.methods = d->r->ran->methods;
    ran.correction = d->r->ran->correction;
    doc_close(d,
              FIELDS(FIELD("rows", COUNT, &d->run->data.rows), FIELD("features", COUNT, &d->run->data.features),
                     FACT_SHA(d->run), FIELD("seed", SEED, &ran.seed), FIELD("engine", OPTION, &ran),
                     FACT("chosen", d->r->model_choice->reason), FACT("chosen", d->r->predictor_choice->reason),
                     FIELD("methods", OPTION, &ran), FACT("why these", d->r->choice), FIELD("correction", OPTION, &ran),
                     FIELD("networks trained", COUNT, &d->r->training->members),
                     FIELD("of these converged", COUNT, &d->r->training->converged),
                     FIELD("threads", COUNT, &d->r->ran->threads), FACT("linear algebra", d->r->backend)),
              d->run->options);
}

static void write_combined_end(doc *d)
{
    const char *kernel = combine_kernel(d->r);
    const bool retrained = d->r->retrain->known, kappa = d->r->retrain->kappa > 0;
    epiq_options ran = *d->run->options;
    ran.correction = d->r->ran->correction;
#define GIVEN(name, kind, member) FIELD(name, kind, &d->r->given->member)
#define THERE(name, kind, there, value) FIELD_THERE(name, kind, (there) ? &value : NULL)
    doc_close(d,
              FIELDS(GIVEN("networks trained on all rows", COUNT, members),
                     GIVEN("networks trained on a batch each", COUNT, batches), FACT("kept in", ran.state),
                     THERE("added there", COUNT, ran.state, d->r->given->added),
                     FIELD_IF("rows", COUNT, &d->r->given->rows, FIELD_NONZERO), FACT("kernel", kernel),
                     THERE("parameters", COUNT, d->r->given->parameters, d->r->given->parameters),
                     THERE("lambda", ROUNDED, kernel, ran.lambda),
                     FIELD_THERE("correction", OPTION, kernel ? &ran : NULL),
                     THERE("probes", COUNT, d->r->solve->probes, d->r->solve->probes),
                     THERE("networks retrained", COUNT, retrained, d->r->retrain->networks),
                     THERE("pairs of target vectors", COUNT, retrained, d->r->retrain->replicates),
                     THERE("noise variance, by them", ROUNDED, retrained, d->r->retrain->noise_variance),
                     FACT("kappa", kappa ? phrase_of("%.4g", d->r->retrain->kappa).text : NULL),
                     THERE("seed", SEED, d->r->solve->probes || retrained, ran.seed),
                     FIELD("level", ROUNDED, &ran.level), FIELD("ensemble size", COUNT, &d->r->ran->ensemble_size),
                     FIELD("threads", COUNT, &d->r->ran->threads), FACT("linear algebra", d->r->backend)),
              NULL);
}

/* Words of the page, by what was computed. */
static unsigned words_used(const epiq_result *r)
{
    const int methods = r->ran->methods;
    const epiq_point *at = r->points[0];
    return WORD_PARTS | WORD_INTERVAL | WORD_ENSEMBLE | (methods & EPIQ_IF ? WORD_IF : 0) |
           (at->member_count ? WORD_EV | WORD_LOG : 0) | (methods & EPIQ_BA ? WORD_BA : 0) |
           (at->data.method == EPIQ_BY_RETRAIN ? WORD_RETRAIN : 0) | (at->infinite.known ? WORD_INFINITE : 0) |
           (at->predictive.known ? WORD_NOISE : 0) | (r->fit->known ? WORD_KERNEL | WORD_LOO : 0);
}

static void describe_verbose(doc *d)
{
    write_useless(d);
    write_head(d);
    const bool rows_alone = d->r->point_count && d->r->summary->rows == d->r->point_count;
    if (d->r->summary->rows) write_rows(d);
    if (d->r->point_count > BLOCKS_MAX && !rows_alone) write_points(d);
    for (ptrdiff_t i = 0; !rows_alone && d->r->point_count <= BLOCKS_MAX && i < d->r->point_count; i++) {
        write_block(d, d->r->points[i]);
    }
}

static void describe_text(doc *d)
{
    const phrase needed = members_needed(d->r, d->run);
    if (d->run->verbose || !d->r->point_count) {
        describe_verbose(d);
    } else {
        write_answer_text(d);
    }
    if (d->r->sweep_count && !d->run->sweeps_drawn) write_sweep_table(d);
    doc_when(d, d->run->verbose || !d->r->point_count || (d->r->sweep_count && !d->run->sweeps_drawn), "\n");
    doc_warnings(d);
    doc_notes(d);
    doc_conclusion(d, BOLD, d->r->point_count ? "Advice:" : "Expected cost:", d->r->advice->text);
    if (*needed.text) doc_conclusion(d, BOLD, "Networks:", needed.text);
}

void estimate_describe(doc *d)
{
    if (!d->page) {
        describe_text(d);
        return;
    }
    const char *command = d->run->command; /* which begins with the verb: two words, or what is before a parenthesis */
    size_t verb = strcspn(command, " (");
    verb += command[verb] == ' ' ? 1 + strcspn(command + verb + 1, " ") : 0;
    estimate_pictures(d);
    doc_open(d, phrase_of("%.*s", (int)verb, command).text,
             phrase_of("How far to trust the predicted %.120s", d->run->data.target).text, NULL);
    write_answer(d);
    if (d->r->summary->rows) write_rows(d);
    if (d->r->point_count > 1) write_points(d);
    for (ptrdiff_t k = 0, i; k < ESTIMATE_DETAILED && (i = estimate_detailed(d->r, k)) >= 0; k++) {
        write_section(d, d->r->points[i], i);
    }
    if (!d->run->given) write_sweeps(d);
    write_fit(d);
    doc_warnings(d);
    doc_notes(d);
    doc_glossary(d, words_used(d->r));
    if (d->run->given) {
        write_combined_end(d);
    } else {
        write_end(d);
    }
}
