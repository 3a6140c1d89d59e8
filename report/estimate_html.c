/* estimate_html.c - an estimate as one page: the answer and what to do in a sentence or two, pictures with a sentence
 * each, the numbers of the JSON, warnings, and enough about the run to repeat it. The pictures are estimate_pictures.c's.
 */
#include "report/estimate_page.h"
#include "report/estimate_pictures.h"

#include <math.h>
#include <string.h>

enum {
    POINTS_MAX = 500,  /* lines of the table of points: more nobody reads, and --csv has them */
    POINTS_GROUP = 10, /* lines between rules */
    FACTS_MAX = 20,    /* of the manifest */
};

/* ---- the numbers ---- */

static void put_part(const estimate_page *g, const char *name, const char *key, const epiq_part *p)
{
    fprintf(g->out, "<tr data-part=\"%s\"><th scope=\"row\" class=\"l\">", key);
    html_text(g->out, name);
    fputs("</th>", g->out);
    if (!p->known) {
        fputs("<td>unknown</td><td></td><td></td><td></td><td class=\"l\"></td></tr>\n", g->out);
        return;
    }
    html_number(g->out, "variance", p->variance, 4);
    html_number(g->out, "sd", sqrt(p->variance), 4);
    html_number(g->out, "lo", p->has_interval ? p->lo : NAN, 3);
    html_upper(g->out, p);
    fprintf(g->out, "<td class=\"l\">%s</td></tr>\n", epiq_method_text(p->method));
}

static void write_parts(const estimate_page *g, const epiq_point *p)
{
    char caption[64], ensemble[48];
    snprintf(caption, sizeof caption, "Variances, with %.4g %% intervals", 100 * g->run->options->level);
    snprintf(ensemble, sizeof ensemble, "ensemble of %td", g->r->ensemble_size);
    const char *heads[] = {"variance", "std dev", "from", "to"};
    html_table_open(g->out, caption, true);
    html_column(g->out, "", true);
    for (int k = 0; k < 4; k++) {
        html_column(g->out, heads[k], false);
    }
    html_column(g->out, "by", true);
    html_table_body(g->out);
    put_part(g, "procedural (retraining)", "procedural", &p->procedural);
    put_part(g, "data (other rows)", "data", &p->data);
    put_part(g, ensemble, "ensemble", &p->ensemble);
    put_part(g, "one network", "single", &p->single);
    put_part(g, "this prediction", "prediction_variance", &p->prediction_variance);
    html_table_close(g->out);
    if (!p->procedural.known || !p->data.known) {
        html_element(g->out, "p class=\"small\"",
                     g->run->given
                         ? "What is unknown could not be had from what was given; an ensemble and a kernel with y, or "
                           "retrained networks, give both parts."
                         : "What is unknown was not asked for or could not be had; --methods if,ev gives both parts.");
    }
    if (p->check.known) {
        fprintf(g->out,
                "<p class=\"small\">Check: BA gives %.3g, %s and EV together %.3g, which is %s BA's interval.</p>\n",
                p->check.ba, p->data.method == EPIQ_BY_RETRAIN ? "retraining" : "IF", p->check.if_plus_ev,
                p->check.inside ? "inside" : "<b>outside</b>");
    }
    if (p->ba.corrected) {
        fprintf(g->out,
                "<p class=\"small\">BA was measured as %.3g and multiplied by %.3g: networks on a batch differ more by "
                "their starts than networks on all rows.</p>\n",
                p->ba.uncorrected, p->ba.factor);
    } else if (p->ba.part.known) {
        fprintf(g->out,
                "<p class=\"small\">BA is as measured, %.3g: it could not be corrected for small batches.</p>\n",
                p->ba.uncorrected);
    }
    if (p->predictive.known) {
        fputs("<p class=\"small\">The noise of one observation there has the variance ", g->out);
        estimate_say(g, "noise", p->predictive.noise, 4);
        fputs(", which neither training nor rows can lower.", g->out);
        if (p->kernel_prediction.known && p->member_count) {
            fputs(" The interval of a new observation is built on kernel regression, which predicts ", g->out);
            estimate_say(g, "kernel-prediction", p->kernel_prediction.value, 6);
            fputs(".", g->out);
        }
        fputs("</p>\n", g->out);
    }
}

/* ---- pictures ---- */

static bool place(const estimate_page *g, estimate_picture kind, ptrdiff_t item)
{
    const picture *p = g->set ? pictures_find(g->set, kind, item) : NULL;
    if (p) {
        page_figure(g->out, g->album, p->title, p->caption, &p->panel);
    }
    return p;
}

static void explain(const estimate_page *g, const char *sentence)
{
    html_element(g->out, "p class=\"small\"", sentence);
}

static void write_point(const estimate_page *g, ptrdiff_t i)
{
    const epiq_point *p = &g->r->points[i];
    fputs("<section data-at=\"", g->out);
    html_text(g->out, p->at);
    fputs("\"", g->out);
    html_value(g->out, "prediction", p->prediction);
    fputs(">\n", g->out);
    if (g->r->point_count > 1) {
        fputs("<h2>At ", g->out);
        estimate_place(g, p->at);
        fputs("</h2>\n<p>", g->out);
        estimate_sentence(g, p);
        fputs("</p>\n", g->out);
    } else {
        html_element(g->out, "h2", "How sure, and why");
    }
    fputs("<div class=\"figures\">\n", g->out);
    place(g, PICTURE_PARTS, i);
    bool members = place(g, PICTURE_MEMBERS, i);
    fputs("<div class=\"across\">\n", g->out);
    write_parts(g, p);
    fputs("</div>\n", g->out);
    bool ev = place(g, PICTURE_EV, i), rows = place(g, PICTURE_INFLUENTIAL, i);
    fputs("</div>\n", g->out);
    if (!members) {
        explain(g, g->run->given
                       ? "No two networks trained on all rows were given, so there is no spread of them to show."
                       : "No networks were trained on all rows (with engine infinite, or without the method ev), "
                         "so there are no predictions of members to show.");
    } else if (!ev) {
        explain(g, "EV against the number of members takes at least three of them.");
    }
    if (!rows) {
        explain(g, g->run->given
                       ? "No influential rows are listed: that takes a kernel with y, and --influential above 0."
                       : "No influential rows are listed: that takes the method if and --influential above 0.");
    }
    fputs("</section>\n", g->out);
}

static void write_sweeps(const estimate_page *g)
{
    html_element(g->out, "h2", "Across each feature");
    const picture *first = g->set ? pictures_find(g->set, PICTURE_SWEEP, 0) : NULL;
    if (!first) {
        explain(g, g->run->options->sweep ? "No feature takes more than one value, so there is nothing to sweep across."
                                          : "No sweeps were asked for: --sweep 25 tries 25 values of each feature.");
        return;
    }
    char caption[400];
    snprintf(
        caption, sizeof caption,
        "One feature moves along each axis, the others stay as at %s: where the line is steep the feature matters, "
        "where the bands widen the answer is less sure.%s",
        g->r->point_count > 1 ? "the first point" : "the point asked for",
        g->r->sweep_count < g->run->data.features
            ? " Features that do not vary are left out, and of very many those least correlated with the target."
            : "");
    page_figure_open(g->out, NULL, caption);
    svg_legend(g->out, &first->panel);
    fputs("<div class=\"panels\">\n", g->out);
    for (ptrdiff_t k = 0; k < g->r->sweep_count; k++) {
        const picture *p = pictures_find(g->set, PICTURE_SWEEP, k);
        if (p) {
            page_panel(g->out, g->album, &p->panel);
        }
    }
    fputs("</div>\n<details><summary>The numbers of these figures</summary>\n", g->out);
    for (ptrdiff_t k = 0; k < g->r->sweep_count; k++) {
        const picture *p = pictures_find(g->set, PICTURE_SWEEP, k);
        if (p) {
            page_figure_numbers(g->out, p->panel.x_name, &p->panel);
        }
    }
    fputs("</details>\n", g->out);
    page_figure_close(g->out);
}

static void write_fit(const estimate_page *g)
{
    html_element(g->out, "h2", "How well the model fits");
    if (!g->r->fit.known) {
        explain(g, g->run->given && !report_given_kernel(g->r)
                       ? "Leave-one-out predictions take a kernel and y; no kernel was given."
                       : "Leave-one-out predictions come with the method if; they were not computed.");
        return;
    }
    fprintf(g->out, "<p>Each row was predicted from all %s by kernel regression, %s: they miss by ",
            g->r->fit.by_group ? "other groups" : "others",
            g->run->given ? "with the kernel that was given" : "the mean of infinitely wide networks");
    estimate_say(g, "loo-rmse", g->r->fit.loo_rmse, 4);
    fputs(" (root mean square)", g->out);
    if (g->r->fit.has_r2) {
        fputs(" and explain ", g->out);
        fprintf(g->out, "<b data-r2=\"%s\">%.1f %%</b> of the variance of ", report_double(g->r->fit.r2).text,
                100 * g->r->fit.r2);
        html_text(g->out, g->run->data.target);
    }
    fputs("; the noise has a standard deviation of ", g->out);
    estimate_say(g, "noise-sd", sqrt(g->r->fit.noise_variance), 4);
    fputs(".</p>\n<div class=\"figures\">\n", g->out);
    bool loo = place(g, PICTURE_LOO, 0), calibration = place(g, PICTURE_CALIBRATION, 0);
    fputs("</div>\n", g->out);
    if (!loo) {
        explain(
            g, "The single predictions were not kept: that takes exact leverages (no --probes, a correction other than "
               "none).");
    } else if (!calibration) {
        explain(g, "Without noise there are no intervals to calibrate.");
    }
}

/* ---- several points ---- */

static void put_variance(const estimate_page *g, const char *name, const epiq_part *p)
{
    html_number(g->out, name, p->known ? p->variance : NAN, 4);
}

static void write_points(const estimate_page *g)
{
    ptrdiff_t shown = g->r->point_count < POINTS_MAX ? g->r->point_count : POINTS_MAX;
    char ensemble[48];
    snprintf(ensemble, sizeof ensemble, "ensemble of %td", g->r->ensemble_size);
    const char *heads[] = {"prediction", "± std dev", "procedural", "data", ensemble};
    html_element(g->out, "h2", "All points");
    fputs("<div class=\"figures\">\n", g->out);
    place(g, PICTURE_POINTS, 0);
    place(g, PICTURE_SPREAD, 0);
    fputs("</div>\n", g->out);
    html_table_open(g->out, "Predictions and variances, point by point", true);
    html_column(g->out, "at", true);
    for (int k = 0; k < 5; k++) {
        html_column(g->out, heads[k], false);
    }
    html_table_body(g->out);
    for (ptrdiff_t i = 0; i < shown; i++) {
        const epiq_point *p = &g->r->points[i];
        if (i && i % POINTS_GROUP == 0) {
            html_table_group(g->out);
        }
        fprintf(g->out, "<tr data-point=\"%td\"><th scope=\"row\" class=\"l\">", i);
        html_text(g->out, p->at);
        fputs("</th>", g->out);
        html_number(g->out, "prediction", p->prediction, 6);
        html_number(g->out, "sd", p->prediction_variance.known ? sqrt(p->prediction_variance.variance) : NAN, 3);
        put_variance(g, "procedural", &p->procedural);
        put_variance(g, "data", &p->data);
        put_variance(g, "ensemble", &p->ensemble);
        fputs("</tr>\n", g->out);
    }
    html_table_close(g->out);
    if (shown < g->r->point_count) {
        fprintf(g->out, "<p>These are the first %td of %td points; --csv and --json list all.</p>\n", shown,
                g->r->point_count);
    }
    if (g->r->point_count > ESTIMATE_DETAILED) {
        fprintf(g->out, "<p>Pictures of the first %d points follow%s.</p>\n", ESTIMATE_DETAILED,
                g->run->given ? "" : "; --at row:I or a file with one row asks for another");
    }
}

/* ---- the run ---- */

/* What is there only where it was asked for, and would else be unknown, is left out. */
static void put_manifest(const estimate_page *g, const page_fact *facts, int all, const epiq_options *options)
{
    page_fact told[FACTS_MAX];
    int count = 0;
    for (int k = 0; k < all; k++) {
        if (facts[k].text || facts[k].format) {
            told[count++] = facts[k];
        }
    }
    page_manifest(g->out, g->run->command, told, count, options);
}

static void write_manifest(const estimate_page *g)
{
    const epiq_options *o = g->run->options;
    epiq_options ran = *o;
    ran.methods = g->r->methods;
    ran.correction = g->r->correction;
    char seed[24];
    report_value room[3];
    const char *engine = report_option(o, "engine", &room[0]), *methods = report_option(&ran, "methods", &room[1]),
               *correction = report_option(&ran, "correction", &room[2]);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)o->seed);
    const char *sha = g->run->data.sha256 && *g->run->data.sha256 ? g->run->data.sha256 : "unknown";
    const page_fact facts[] = {
        {"rows", NULL, "%.0f", (double)g->run->data.rows},
        {"features", NULL, "%.0f", (double)g->run->data.features},
        {"data, SHA-256", sha, NULL, 0},
        {"seed", seed, NULL, 0},
        {"engine", engine ? engine : "unknown", NULL, 0},
        {"methods", methods ? methods : "unknown", NULL, 0},
        {"why these", g->r->choice, NULL, 0},
        {"correction", correction ? correction : "unknown", NULL, 0},
        {"networks trained", NULL, "%.0f", (double)g->r->training.members},
        {"of these converged", NULL, "%.0f", (double)g->r->training.converged},
        {"threads", NULL, "%.0f", (double)g->r->threads},
        {"linear algebra", g->r->backend, NULL, 0},
        {"seconds", NULL, "%.3f", g->run->seconds},
        {"peak memory, MiB", NULL, "%.1f", (double)g->run->peak_rss_bytes / 1048576},
    };
    put_manifest(g, facts, sizeof facts / sizeof *facts, o);
}

static void write_given_manifest(const estimate_page *g)
{
    const char *kernel = report_given_kernel(g->r);
    epiq_options ran = *g->run->options;
    ran.correction = g->r->correction;
    char seed[24];
    report_value room;
    const char *correction = kernel ? report_option(&ran, "correction", &room) : NULL;
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)ran.seed);
    const page_fact facts[] = {
        {"networks trained on all rows", NULL, "%.0f", (double)g->r->given.members},
        {"networks trained on a batch each", NULL, "%.0f", (double)g->r->given.batches},
        {"kept in", ran.state, NULL, 0},
        {"added there", NULL, ran.state ? "%.0f" : NULL, (double)g->r->given.added},
        {"rows", NULL, "%.0f", g->r->given.rows ? (double)g->r->given.rows : NAN},
        {"kernel", kernel, NULL, 0},
        {"parameters", NULL, g->r->given.parameters ? "%.0f" : NULL, (double)g->r->given.parameters},
        {"lambda", NULL, kernel ? "%.6g" : NULL, ran.lambda},
        {"correction", correction, NULL, 0},
        {"probes", NULL, g->r->probes ? "%.0f" : NULL, (double)g->r->probes},
        {"networks retrained", NULL, g->r->retrain.known ? "%.0f" : NULL, (double)g->r->retrain.networks},
        {"pairs of target vectors", NULL, g->r->retrain.known ? "%.0f" : NULL, (double)g->r->retrain.replicates},
        {"noise variance, by them", NULL, g->r->retrain.known ? "%.6g" : NULL, g->r->retrain.noise_variance},
        {"kappa", NULL, g->r->retrain.kappa > 0 ? "%.4g" : NULL, g->r->retrain.kappa},
        {"seed", g->r->probes || g->r->retrain.known ? seed : NULL, NULL, 0},
        {"level", NULL, "%.6g", ran.level},
        {"ensemble size", NULL, "%.0f", (double)g->r->ensemble_size},
        {"threads", NULL, "%.0f", (double)g->r->threads},
        {"linear algebra", g->r->backend, NULL, 0},
        {"seconds", NULL, "%.3f", g->run->seconds},
        {"peak memory, MiB", NULL, "%.1f", (double)g->run->peak_rss_bytes / 1048576},
    };
    put_manifest(g, facts, sizeof facts / sizeof *facts, NULL);
}

/* The verb out of the command line: its first two words, or what comes before a parenthesis. */
static void verb_of(const char *command, char *verb, size_t size)
{
    size_t length = strcspn(command, " (");
    length += command[length] == ' ' ? 1 + strcspn(command + length + 1, " ") : 0;
    snprintf(verb, size, "%.*s", (int)length, command);
}

void report_html(FILE *out, const epiq_result *r, const report_run *run, svg_album *album)
{
    pictures *set = report_estimate_pictures(r, run);
    const estimate_page g = {out, r, run, set, album};
    char verb[64], title[200];
    verb_of(run->command, verb, sizeof verb);
    snprintf(title, sizeof title, "How far to trust the predicted %.120s", run->data.target);
    page_open(out, verb, title, NULL);
    if (!set) {
        page_no_picture(album);
    }
    estimate_answer(&g);
    if (r->point_count > 1) {
        write_points(&g);
    }
    for (ptrdiff_t i = 0; i < r->point_count && i < ESTIMATE_DETAILED; i++) {
        write_point(&g, i);
    }
    if (!run->given) {
        write_sweeps(&g);
    }
    write_fit(&g);
    page_warnings(out, r->warnings, r->warning_count);
    if (run->given) {
        write_given_manifest(&g);
    } else {
        write_manifest(&g);
    }
    html_close(out);
    pictures_free(set);
}
