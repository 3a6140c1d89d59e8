/* explore_text.c - a ranking for people: the best candidates in a table, and why the first comes first. */
#include "report/explore.h"

#include <math.h>

double report_spread(const epiq_ranking *r, const epiq_candidate *k)
{
    bool data_alone = r->ask.rule == EPIQ_RULE_DATA;
    if (!k->data.known || (!data_alone && !k->procedural.known)) {
        return NAN;
    }
    return sqrt(k->data.variance + (data_alone ? 0 : k->procedural.variance / (double)r->estimate->ensemble_size));
}

void report_rule_text(char *text, size_t size, const epiq_ranking *r)
{
    const ptrdiff_t m = r->estimate->ensemble_size;
    if (r->ask.rule == EPIQ_RULE_DATA) {
        snprintf(text, size, "the variance due to the data");
    } else if (r->ask.rule == EPIQ_RULE_TOTAL) {
        snprintf(text, size, "the variance of an ensemble of %td: data + procedural/%td", m, m);
    } else if (r->ask.goal == EPIQ_GOAL_MIN) {
        snprintf(text, size, "%.4g standard deviations of an ensemble of %td, less its prediction", r->ask.kappa, m);
    } else {
        snprintf(text, size, "prediction plus %.4g standard deviations of an ensemble of %td", r->ask.kappa, m);
    }
}

static void put_number(FILE *out, bool known, double v)
{
    known ? fprintf(out, "  %11.5g", v) : fprintf(out, "  %11s", "unknown");
}

static void write_row(FILE *out, const epiq_ranking *r, const epiq_candidate *k, int width)
{
    const char *at = r->estimate->points[k->row - 1].at;
    char pick[24] = "";
    if (k->pick) {
        snprintf(pick, sizeof pick, "%td", k->pick);
    }
    double spread = report_spread(r, k);
    fprintf(out, "%5s  ", pick);
    report_plain(out, at);
    fprintf(out, "%*s", width - report_columns(at), "");
    put_number(out, k->known, k->score);
    put_number(out, true, k->prediction);
    put_number(out, isfinite(spread), spread);
    put_number(out, k->data.known, k->data.variance);
    put_number(out, k->procedural.known, k->procedural.variance);
    putc('\n', out);
}

static void write_table(FILE *out, const epiq_ranking *r, ptrdiff_t shown)
{
    int width = (int)sizeof "candidate" - 1;
    for (ptrdiff_t i = 0; i < shown; i++) {
        int columns = report_columns(r->estimate->points[r->ranked[i].row - 1].at);
        width = columns > width ? columns : width;
    }
    fprintf(out, "\n pick  %-*s  %11s  %11s  %11s  %11s  %11s\n", width, "candidate", "score", "prediction", "std dev",
            "data", "procedural");
    for (ptrdiff_t i = 0; i < shown; i++) {
        write_row(out, r, &r->ranked[i], width);
    }
    if (shown < r->count) {
        fprintf(out, "... and %td more; --top N shows more, --csv and --json have all.\n", r->count - shown);
    }
}

void report_explore_text(FILE *out, const epiq_ranking *r, const report_run *run, ptrdiff_t top, report_style style)
{
    char rule[160];
    report_value room;
    const char *engine = report_option(run->options, "engine", &room);
    const epiq_data_info *d = &run->data;
    report_rule_text(rule, sizeof rule, r);
    fprintf(out, "%td row%s, %td feature%s, target ", d->rows, report_plural(d->rows), d->features,
            report_plural(d->features));
    report_plain(out, d->target);
    fprintf(out, "; engine %s; %td candidate%s; %.3g s\n", engine ? engine : "?", r->count, report_plural(r->count),
            run->seconds);
    fprintf(out, "score: %s\n", rule);
    if (r->ask.rule == EPIQ_RULE_UCB) {
        fprintf(out, "looking for the %s ", r->ask.goal == EPIQ_GOAL_MAX ? "largest" : "smallest");
        report_plain(out, d->target);
        fprintf(out, "; --goal %s looks for the other end\n", r->ask.goal == EPIQ_GOAL_MAX ? "min" : "max");
    }
    write_table(out, r, r->count < top ? r->count : top);
    fputs("std dev is the score's, the two parts are variances; procedural is one network's.\n", out);
    if (r->ask.batch > 1) {
        fprintf(out, "Each pick after the first is shown as if those before it had been observed as predicted%s.\n",
                r->estimate->training.members ? " (for networks an approximation)" : "");
    }
    if (!(r->estimate->methods & EPIQ_EV)) {
        fputs("No network was trained, because the score needs none; predictions are kernel regression's.\n", out);
    }
    putc('\n', out);
    report_warnings(out, style, r->estimate->warnings, r->estimate->warning_count);
    report_conclusion(out, style, "Why:", r->reason);
}
