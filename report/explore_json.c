/* explore_json.c - a ranking for programs: JSON with the manifest of its run, and CSV (docs/json.md). */
#include "report/explore.h"
#include "report/json.h"

#include <math.h>

const char *report_rule(const epiq_exploration *ask)
{
    return epiq_rule_text(ask->rule);
}

static double variance(const epiq_part *p)
{
    return p->known ? p->variance : NAN;
}

void report_explore_json(FILE *out, const epiq_ranking *r, const report_run *run)
{
    json j = {.out = out};
    json_object(&j, NULL, JSON_LINES);
    report_json_manifest(&j, r->estimate, run);
    json_object(&j, "explore", JSON_LINES);
    json_text(&j, "rule", report_rule(&r->ask));
    json_text(&j, "goal", r->ask.goal == EPIQ_GOAL_MIN ? "min" : "max");
    json_real(&j, "kappa", r->ask.kappa);
    json_integer(&j, "batch", r->ask.batch);
    json_integer(&j, "ensemble_size", r->estimate->ensemble_size);
    json_text(&j, "reason", r->reason);
    json_end(&j);
    json_array(&j, "ranked", JSON_LINES);
    for (ptrdiff_t i = 0; i < r->count; i++) {
        const epiq_candidate *k = &r->ranked[i];
        json_object(&j, NULL, JSON_FLAT);
        json_integer(&j, "row", k->row);
        json_text(&j, "at", r->estimate->points[k->row - 1].at);
        k->pick ? json_integer(&j, "pick", k->pick) : json_null(&j, "pick");
        json_real(&j, "score", k->known ? k->score : NAN);
        json_real(&j, "prediction", k->prediction);
        json_real(&j, "procedural", variance(&k->procedural));
        json_real(&j, "data", variance(&k->data));
        json_end(&j);
    }
    json_end(&j);
    report_json_warnings(&j, r->estimate);
    json_end(&j);
}

static void put_cell(FILE *out, bool known, double v)
{
    fprintf(out, ",%s", known ? report_double(v).text : "");
}

void report_explore_csv(FILE *out, const epiq_ranking *r)
{
    fputs("row,pick,score,prediction,procedural,data\n", out);
    for (ptrdiff_t i = 0; i < r->count; i++) {
        const epiq_candidate *k = &r->ranked[i];
        fprintf(out, "%td,", k->row);
        if (k->pick) {
            fprintf(out, "%td", k->pick);
        }
        put_cell(out, k->known, k->score);
        put_cell(out, true, k->prediction);
        put_cell(out, k->procedural.known, k->procedural.variance);
        put_cell(out, k->data.known, k->data.variance);
        putc('\n', out);
    }
}
