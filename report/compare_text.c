/* compare_text.c - models in the order of their error, with their variance, the front and the choice marked. */
#include "report/compare.h"

#include <math.h>

enum { LINES_MAX = 40 };

const epiq_rmse *report_compare_error(const epiq_comparison *r, const epiq_compared *m)
{
    return r->by_cv ? &m->cv : &m->loo;
}

const char *report_compare_error_name(const epiq_comparison *r, char *buffer, size_t size)
{
    snprintf(buffer, size, r->by_cv ? "%td-fold error" : r->by_group ? "leave-group-out" : "leave-one-out", r->folds);
    return buffer;
}

bool report_compare_biases(const epiq_comparison *r)
{
    bool differ = false;
    for (ptrdiff_t i = 1; i < r->model_count; i++) {
        differ = differ || r->models[i].bias != r->models[0].bias;
    }
    return differ;
}

void report_compare_sorted(const epiq_comparison *r, ptrdiff_t most, ptrdiff_t *order)
{
    for (ptrdiff_t i = 0; i < r->model_count; i++) {
        const epiq_rmse *e = report_compare_error(r, &r->models[i]);
        ptrdiff_t k = i < most ? i : most;
        for (; k > 0; k--) {
            const epiq_rmse *before = report_compare_error(r, &r->models[order[k - 1]]);
            if (before->known && (!e->known || before->rmse <= e->rmse)) {
                break;
            }
            if (!before->known && !e->known) {
                break;
            }
            if (k < most) {
                order[k] = order[k - 1];
            }
        }
        if (k < most) {
            order[k] = i;
        }
    }
}

static void write_head(FILE *out, const epiq_comparison *r, const report_run *run)
{
    report_value room;
    const char *engine = report_option(run->options, "engine", &room);
    fprintf(out, "%td rows, %td feature%s, target ", run->data.rows, run->data.features,
            run->data.features == 1 ? "" : "s");
    report_plain(out, run->data.target);
    fprintf(out, "; engine %s; %td model%s", engine ? engine : "?", r->model_count, r->model_count == 1 ? "" : "s");
    if (r->trainings) {
        fprintf(out, ", %td networks trained, %td converged", r->trainings, r->converged);
    }
    fprintf(out, "; %.3g s\n", run->seconds);
    if (r->by_cv && r->members) {
        fprintf(out, "The error of a fold is that of the mean of %td networks trained without it.\n", r->ensemble_size);
    }
    fprintf(out, "The variance is that of an ensemble of %td", r->ensemble_size);
    if (r->members) {
        fprintf(out, "; its procedural part is the spread of %td networks, roughly known", r->members);
    }
    fputs(".\n\n", out);
}

static void put_error(FILE *out, const epiq_rmse *e)
{
    char text[48] = "";
    if (e->known) {
        snprintf(text, sizeof text, "%.4g +- %.2g", e->rmse, e->se);
    }
    fprintf(out, "  %-16s", text);
}

static void write_row(FILE *out, const epiq_comparison *r, const epiq_compared *m, bool infinite, report_style style)
{
    bool chosen = m == r->models + r->choice;
    char interval[64] = "unknown";
    if (m->variance.known) {
        snprintf(interval, sizeof interval, "%-10.4g", m->variance.variance);
    }
    fputs(chosen && style.colour ? REPORT_BOLD : "", out);
    fprintf(out, "  %c", chosen ? '>' : m->front ? '*' : ' ');
    if (!infinite) {
        fprintf(out, "%7td", m->width);
    }
    fprintf(out, "%7td%10.3g", m->depth, m->lambda);
    if (report_compare_biases(r)) {
        fprintf(out, "%8.3g", m->bias);
    }
    if (r->by_cv) {
        put_error(out, &m->cv);
    }
    put_error(out, &m->loo);
    fprintf(out, "  %s", interval);
    if (m->variance.known && m->variance.has_interval) {
        fprintf(out, "  %s", report_interval(&m->variance).text);
    }
    fputs(chosen && style.colour ? "\033[0m" : "", out);
    putc('\n', out);
}

static void write_table(FILE *out, const epiq_comparison *r, const report_run *run, report_style style)
{
    bool infinite = run->options->engine == EPIQ_ENGINE_INFINITE;
    char name[40], level[48];
    ptrdiff_t order[LINES_MAX] = {0}, shown = r->model_count > LINES_MAX ? LINES_MAX : r->model_count;
    report_compare_sorted(r, shown, order);
    snprintf(level, sizeof level, "%.4g %% interval", 100 * run->options->level);
    fprintf(out, "   %s%7s%10s%s", infinite ? "" : "  width", "depth", "lambda",
            report_compare_biases(r) ? "    bias" : "");
    if (r->by_cv) {
        fprintf(out, "  %-16s", report_compare_error_name(r, name, sizeof name));
    }
    fprintf(out, "  %-16s  %-10s  %s\n", r->by_group ? "leave-group-out" : "leave-one-out", "variance", level);
    for (ptrdiff_t i = 0; i < shown; i++) {
        write_row(out, r, &r->models[order[i]], infinite, style);
    }
    if (shown < r->model_count) {
        fprintf(out, "... and %td more with larger errors: --csv and --json have all.\n", r->model_count - shown);
    }
    fprintf(out,
            "\n  * nothing beats it in both error and variance   > the choice, one of these   +- one standard error\n"
            "  %s is the error of infinitely wide networks, the same for every width\n\n",
            r->by_group ? "leave-group-out" : "leave-one-out");
}

void report_compare_text(FILE *out, const epiq_comparison *r, const report_run *run, report_style style)
{
    write_head(out, r, run);
    write_table(out, r, run, style);
    report_warnings(out, style, r->warnings, r->warning_count);
    if (r->choice >= 0) {
        const epiq_compared *m = &r->models[r->choice];
        report_paint(out, style, REPORT_BOLD, "Choice:");
        if (run->options->engine != EPIQ_ENGINE_INFINITE) {
            fprintf(out, " --width %td", m->width);
        }
        fprintf(out, " --depth %td --lambda %g", m->depth, m->lambda);
        if (report_compare_biases(r)) {
            fprintf(out, " --bias %g", m->bias);
        }
        fprintf(out, ". %s\n", r->reason);
    } else {
        fprintf(out, "%s\n", r->reason);
    }
}
