/* plan_text.c - a plan at a glance: what there is, what to buy, what more money would buy, and how sure that is. */
#include "report/plan.h"

#include <math.h>

enum { LINES = 9 }; /* of the curve */

static void write_head(FILE *out, const report_planned *p, const report_run *run)
{
    report_value room;
    const char *engine = report_option(run->options, "engine", &room);
    fprintf(out, "%td rows, %td feature%s, target ", run->data.rows, run->data.features,
            run->data.features == 1 ? "" : "s");
    report_plain(out, run->data.target);
    fprintf(out, "; engine %s", engine ? engine : "?");
    if (p->result->training.members) {
        fprintf(out, ", %td networks trained to find out", p->result->training.members);
    }
    fprintf(out, "; %.3g s\n", run->seconds);
    report_choice(out, p->result, run);
    fputs("The variance is that of the ensemble's prediction at ", out);
    report_plain(out, p->result->points[0].at);
    if (p->result->point_count > 1) {
        fprintf(out, " and %td more points, their mean", p->result->point_count - 1);
    }
    fprintf(out, ".\nA row costs %.6g and a training %.6g; with new rows every network is trained again.\n\n",
            p->effort->price_row, p->effort->price_training);
}

static void write_mix(FILE *out, const char *name, const epiq_mix *m)
{
    fprintf(out, "  %-10s%12.6g%12td%10td%12.4g%12.4g  %s\n", name, m->cost, m->rows, m->members, m->variance.variance,
            sqrt(m->variance.variance), report_interval(&m->variance).text);
}

void report_plan_text(FILE *out, const report_planned *p, const report_run *run, report_style style)
{
    const epiq_plan *plan = p->plan;
    char level[48];
    snprintf(level, sizeof level, "%.4g %% interval of the variance", 100 * p->effort->level);
    write_head(out, p, run);
    fprintf(out, "  %-10s%12s%12s%10s%12s%12s  %s\n", "", "cost", "rows", "members", "variance", "std dev", level);
    write_mix(out, "now", &plan->now);
    write_mix(out, "plan", &plan->best);
    if (plan->cautious.known) {
        write_mix(out, "cautious", &plan->cautious.mix);
    }
    if (plan->curve_count > 1) {
        fputs("\nWhat other amounts buy:\n\n", out);
        ptrdiff_t rest = plan->curve_count - 1, lines = rest < LINES ? rest : LINES;
        for (ptrdiff_t k = 1; k <= lines; k++) {
            write_mix(out, "", &plan->curve[(rest * k + lines - 1) / lines]);
        }
    }
    putc('\n', out);
    if (plan->best.chance.known) {
        fprintf(out,
                "The parts, and how they fall with rows, are estimates: this plan reaches the goal with a confidence "
                "of %.0f %%",
                100 * plan->best.chance.value);
        if (plan->cautious.known) {
            fprintf(out, ", the cautious one, for %.6g, with one of %.3g %%", plan->cautious.mix.cost,
                    100 * plan->cautious.mix.chance.value);
        }
        fputs(".\n", out);
    }
    fprintf(out, "%s\n", plan->caveat);
    report_warnings(out, style, p->result->warnings, p->result->warning_count);
    report_conclusion(out, style, "Plan:", plan->text);
}
