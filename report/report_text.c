/* report_text.c - a result at a glance: the parts with their standard deviations and intervals, who is to blame, what
 * to do. Up to five points get a block each, more get a line each; the last line is the advice.
 */
#include "report/report.h"

#include <math.h>
#include <string.h>

enum {
    BLOCKS_MAX = 5, /* points shown at length */
    LINES_MAX = 20, /* points shown in the table */
    BAR = 40,       /* characters */
    LABEL = 24,
    CELL = 19, /* a variance and its standard deviation */
};

typedef struct {
    FILE *out;
    const epiq_result *r;
    const report_run *run;
    report_style style;
} page;

#define CYAN "\033[36m"
#define MAGENTA "\033[35m"

void report_choice(FILE *out, const epiq_result *r, const report_run *run)
{
    if (r->choice) {
        epiq_options ran = *run->options;
        ran.methods = r->methods;
        report_value room;
        const char *methods = report_option(&ran, "methods", &room);
        fprintf(out, "methods %s: ", methods ? methods : "?");
        report_plain(out, r->choice);
        putc('\n', out);
    }
}

static void label(const page *g, const char *text)
{
    fprintf(g->out, "  %-*s", LABEL, text);
}

/* ---- the run ---- */

static void write_trained(const page *g)
{
    const epiq_data_info *d = &g->run->data;
    const epiq_options *o = g->run->options;
    report_value room;
    const char *engine = report_option(o, "engine", &room);
    fprintf(g->out, "%td row%s, %td feature%s, target ", d->rows, report_plural(d->rows), d->features,
            report_plural(d->features));
    report_plain(g->out, d->target);
    fprintf(g->out, "; engine %s", engine ? engine : "?");
    if (o->engine != EPIQ_ENGINE_INFINITE) {
        fprintf(g->out, ", width %td", o->width);
    }
    fprintf(g->out, ", depth %td", o->depth);
    if (g->r->solver == EPIQ_SOLVER_ITERATIVE) {
        fputs("; solver iterative", g->out);
    }
    if (g->r->iterations) {
        double open = fmax(g->r->accuracy.data, g->r->accuracy.procedural);
        fprintf(g->out, ", relative residual %.1e after %td products, at most %.2g %% open in any variance",
                g->r->residual, g->r->iterations, 100 * open);
    }
    if (g->r->parts) {
        fprintf(g->out, "; solver divided, %td part%s", g->r->parts, report_plural(g->r->parts));
    }
    fprintf(g->out, "; %.3g s\n", g->run->seconds);
    if (g->r->training.members) {
        fprintf(g->out, "%td networks, %td converged", g->r->training.members, g->r->training.converged);
        if (g->r->training.resumed && o->state) {
            fprintf(g->out, "; %td resumed from ", g->r->training.resumed);
            report_plain(g->out, o->state);
        }
        putc('\n', g->out);
    }
    report_choice(g->out, g->r, g->run);
}

static void write_head(const page *g)
{
    if (g->run->given) {
        report_given_text(g->out, g->r, g->run);
    } else {
        write_trained(g);
    }
    const bool retrained = g->r->retrain.known;
    if (retrained && g->r->retrain.left_out_rmse > 0) {
        fprintf(g->out, "the networks' error on rows they have not seen %.4g; noise %.4g (standard deviation)\n",
                g->r->retrain.left_out_rmse, sqrt(g->r->retrain.noise_variance));
    }
    if (g->r->fit.known) {
        fprintf(g->out, "kernel regression's leave-one-%sout error %.4g", g->r->fit.by_group ? "group-" : "",
                g->r->fit.loo_rmse);
        if (g->r->fit.has_r2) {
            fprintf(g->out, ", R2 %.3g", g->r->fit.r2);
        }
        if (!retrained) {
            fprintf(g->out, "; noise %.4g (standard deviation, if equal everywhere)", sqrt(g->r->fit.noise_variance));
        }
        putc('\n', g->out);
    }
    if (retrained && g->r->retrain.kappa > 0) {
        fprintf(g->out,
                "the networks follow the data %.2f times as much as infinitely wide ones, in variance (+- %.2f)\n",
                g->r->retrain.kappa, g->r->retrain.kappa_se);
    }
}

/* ---- one point at length ---- */

static void write_part(const page *g, const char *name, const epiq_part *p)
{
    label(g, name);
    if (!p->known) {
        fprintf(g->out, "%10s\n", "unknown");
        return;
    }
    fprintf(g->out, "%10.4g  %10.4g  %-32s%s\n", p->variance, sqrt(p->variance), report_interval(p).text,
            epiq_method_text(p->method));
}

static void put_repeated(FILE *out, const char *piece, int count)
{
    while (count-- > 0) {
        fputs(piece, out);
    }
}

static bool has_bar(const epiq_point *p)
{
    return p->data.known && p->procedural.known && p->data.variance + p->procedural.variance > 0;
}

static void write_bar(const page *g, const epiq_point *p)
{
    double share = p->data.variance / (p->data.variance + p->procedural.variance);
    int cells = (int)lround(share * BAR);
    cells = cells < 1 && share > 0         ? 1
            : cells > BAR - 1 && share < 1 ? BAR - 1
                                           : cells; /* a part that exists is seen */
    const char *colours[] = {CYAN, MAGENTA}, *pieces[] = {g->style.blocks ? "█" : "#", g->style.blocks ? "░" : "-"};
    int counts[] = {cells, BAR - cells};
    label(g, "one network's variance");
    for (int k = 0; k < 2; k++) {
        fputs(g->style.colour ? colours[k] : "", g->out);
        put_repeated(g->out, pieces[k], counts[k]);
        fputs(g->style.colour ? "\033[0m" : "", g->out);
    }
    fprintf(g->out, "  %.1f %% data, %.1f %% procedural\n", 100 * share, 100 * (1 - share));
}

/* What is not the predictor's: where y itself would fall, and of what its distance from the prediction is made. */
static void write_observation(const page *g, const epiq_point *p)
{
    label(g, "a new observation");
    if (!p->predictive.known) {
        fputs("unknown\n", g->out);
        return;
    }
    fprintf(g->out, "between %.4g and %.4g about %.4g %% of the time", p->predictive.lo, p->predictive.hi,
            100 * g->run->options->level);
    if (p->member_count && p->kernel_prediction.known) {
        fprintf(g->out, "; built on kernel regression's %.4g", p->kernel_prediction.value);
    }
    putc('\n', g->out);
    label(g, "");
    if (p->prediction_variance.known) {
        fprintf(g->out,
                "%.3g from this prediction (std dev): ", sqrt(p->predictive.noise + p->prediction_variance.variance));
    } else {
        fputs("std dev from this prediction: ", g->out);
    }
    fprintf(g->out, "noise %.3g", sqrt(p->predictive.noise));
    if (p->data.known) {
        fprintf(g->out, ", data %.3g", sqrt(p->data.variance));
    }
    if (p->procedural.known && p->member_count) {
        fprintf(g->out, ", procedure %.3g", sqrt(p->procedural.variance / (double)p->member_count));
    }
    putc('\n', g->out);
}

static void write_block(const page *g, const epiq_point *p)
{
    char ensemble[40], level[40];
    snprintf(ensemble, sizeof ensemble, "ensemble of %td", g->r->ensemble_size);
    snprintf(level, sizeof level, "%.4g %% interval of the variance", 100 * g->run->options->level);

    fprintf(g->out, "\nAt %s", report_point(p->at));
    report_paint(g->out, g->style, REPORT_BOLD, p->at);
    fprintf(g->out, " the prediction is %.6g", p->prediction);
    if (p->prediction_variance.known) {
        fprintf(g->out, ", give or take %.3g (its standard deviation)", sqrt(p->prediction_variance.variance));
    }
    fputs("\n\n", g->out);
    label(g, "");
    fprintf(g->out, "%10s  %10s  %-32s%s\n", "variance", "std dev", level, "by");
    write_part(g, "procedural (retraining)", &p->procedural);
    write_part(g, "data (other rows)", &p->data);
    write_part(g, ensemble, &p->ensemble);
    write_part(g, "one network", &p->single);
    putc('\n', g->out);
    write_observation(g, p);
    bool wider = p->infinite.known && p->procedural.method != EPIQ_BY_INFINITE;
    if (has_bar(p) || p->data.has_interval || p->ba.part.known || wider || p->influential_count) {
        putc('\n', g->out);
    }
    if (has_bar(p)) {
        write_bar(g, p);
    }
    if (p->data.has_interval) {
        label(g, "data interval");
        fputs("covers less often where the noise is concentrated around this point\n", g->out);
    }
    if (p->check.known) {
        label(g, "check");
        fprintf(g->out, "ba gives %.3g, %s + ev/%td gives %.3g: %s ba's interval\n", p->check.ba,
                p->data.method == EPIQ_BY_RETRAIN ? "retrain" : "if", p->batch_count, p->check.if_plus_ev,
                p->check.inside ? "inside" : "OUTSIDE");
    }
    if (p->ba.part.known) {
        label(g, "ba, small batches");
        fprintf(g->out, p->ba.corrected ? "%.3g as measured, times %.3g\n" : "%.3g as measured, not corrected\n",
                p->ba.uncorrected, p->ba.factor);
    }
    if (wider) {
        label(g, "infinite width");
        fprintf(g->out, "procedural would be %.3g", p->infinite.variance);
        if (p->procedural.known && p->infinite.variance > 0) {
            fprintf(g->out, "; here it is %.3g times that", p->procedural.variance / p->infinite.variance);
        }
        putc('\n', g->out);
    }
    if (p->influential_count) {
        label(g, "moved by deleting");
        for (ptrdiff_t i = 0; i < p->influential_count; i++) {
            fprintf(g->out, "%srow %td by %+.3g", i ? ", " : "", p->influential[i].row, p->influential[i].influence);
        }
        putc('\n', g->out);
    }
}

/* ---- many points, a line each ---- */

static void put_padded(FILE *out, const char *s, int width)
{
    report_plain(out, s);
    fprintf(out, "%*s", width > report_columns(s) ? width - report_columns(s) : 0, "");
}

static void put_cell(FILE *out, const epiq_part *p, int width)
{
    char text[48] = "unknown";
    if (p->known) {
        snprintf(text, sizeof text, "%.3g (%.3g)", p->variance, sqrt(p->variance));
    }
    fprintf(out, "  %-*s", width, text);
}

static void write_table(const page *g)
{
    ptrdiff_t shown = g->r->point_count < LINES_MAX ? g->r->point_count : LINES_MAX;
    int width = 2;
    for (ptrdiff_t i = 0; i < shown; i++) {
        int columns = report_columns(g->r->points[i].at);
        width = columns > width ? columns : width;
    }
    char ensemble[48];
    snprintf(ensemble, sizeof ensemble, "ensemble of %td", g->r->ensemble_size);
    fputs("\nVariances, and standard deviations in brackets; where a new observation would fall:\n\n", g->out);
    put_padded(g->out, "at", width);
    fprintf(g->out, "  %12s  %-*s  %-*s  %-*s  new observation\n", "prediction", CELL, "procedural", CELL, "data", CELL,
            ensemble);
    for (ptrdiff_t i = 0; i < shown; i++) {
        const epiq_point *p = &g->r->points[i];
        put_padded(g->out, p->at, width);
        fprintf(g->out, "  %12.6g", p->prediction);
        put_cell(g->out, &p->procedural, CELL);
        put_cell(g->out, &p->data, CELL);
        put_cell(g->out, &p->ensemble, CELL);
        if (p->predictive.known) {
            fprintf(g->out, "  between %.4g and %.4g\n", p->predictive.lo, p->predictive.hi);
        } else {
            fputs("  unknown\n", g->out);
        }
    }
    fputs("Intervals and the rest are in --csv and --json.\n", g->out);
    if (shown < g->r->point_count) {
        fprintf(g->out, "... and %td more points are there too.\n", g->r->point_count - shown);
    }
}

/* ---- sweeps, a line a feature ---- */

static void put_end(const page *g, const epiq_sweep *s, ptrdiff_t i)
{
    const epiq_point *p = &s->points[i];
    fprintf(g->out, "  %10.4g  %10.4g", s->value[i], p->prediction);
    if (p->prediction_variance.known) {
        fprintf(g->out, "  %10.3g", sqrt(p->prediction_variance.variance));
    } else {
        fprintf(g->out, "  %10s", "unknown");
    }
}

static void write_sweeps(const page *g)
{
    int width = 7;
    for (ptrdiff_t k = 0; k < g->r->sweep_count; k++) {
        int columns = report_columns(g->run->data.feature[g->r->sweeps[k].feature]);
        width = columns > width ? columns : width;
    }
    fputs("\nOne feature at its least and its most, the others as at ", g->out);
    report_paint(g->out, g->style, REPORT_BOLD, g->r->points[0].at);
    fputs("; --json has the values between:\n\n", g->out);
    put_padded(g->out, "feature", width);
    for (int k = 0; k < 2; k++) {
        fprintf(g->out, "  %10s  %10s  %10s", k ? "most" : "least", "prediction", "std dev");
    }
    putc('\n', g->out);
    for (ptrdiff_t k = 0; k < g->r->sweep_count; k++) {
        const epiq_sweep *s = &g->r->sweeps[k];
        put_padded(g->out, g->run->data.feature[s->feature], width);
        put_end(g, s, 0);
        put_end(g, s, s->count - 1);
        putc('\n', g->out);
    }
}

void report_text(FILE *out, const epiq_result *r, const report_run *run, report_style style)
{
    const page g = {out, r, run, style};
    write_head(&g);
    if (r->point_count > BLOCKS_MAX) {
        write_table(&g);
    } else {
        for (ptrdiff_t i = 0; i < r->point_count; i++) {
            write_block(&g, &r->points[i]);
        }
    }
    if (r->sweep_count) {
        write_sweeps(&g);
    }
    putc('\n', out);
    report_warnings(out, style, r->warnings, r->warning_count);
    report_conclusion(out, style, r->point_count ? "Advice:" : "Foreseen:", r->advice.text);
    const report_sentence until = report_until(r, run);
    if (until.text[0]) {
        report_conclusion(out, style, "Networks:", until.text);
    }
}
