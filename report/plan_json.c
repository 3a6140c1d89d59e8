/* plan_json.c - a plan for programs: JSON with the manifest of its run, and its curve as CSV (docs/json.md). */
#include "report/json.h"
#include "report/plan.h"

/* All that is known of a mix; the object stays open. */
static void open_mix(json *j, const char *key, const epiq_mix *m)
{
    json_object(j, key, JSON_FLAT);
    json_integer(j, "rows", m->rows);
    json_integer(j, "members", m->members);
    json_integer(j, "new_rows", m->new_rows);
    json_integer(j, "trainings", m->trainings);
    json_real(j, "cost", m->cost);
    json_real(j, "variance", m->variance.variance);
    report_json_interval(j, &m->variance);
}

static void write_chance(json *j, const epiq_mix *m)
{
    if (m->chance.known) {
        json_real(j, "chance", m->chance.value);
    } else {
        json_null(j, "chance");
    }
}

static void write_part(json *j, const char *key, const epiq_part *p, double level)
{
    json_object(j, key, JSON_FLAT);
    json_real(j, "variance", p->variance);
    report_json_interval(j, p);
    json_real(j, "level", level);
    json_text(j, "method", epiq_method_text(p->method));
    json_end(j);
}

void report_plan_json(FILE *out, const report_planned *p, const report_run *run)
{
    const epiq_plan *plan = p->plan;
    const epiq_effort *e = p->effort;
    json j = {.out = out};
    json_object(&j, NULL, JSON_LINES);
    report_json_manifest(&j, p->result, run);
    report_json_choice(&j, p->result, run);
    json_object(&j, "asked", JSON_FLAT);
    json_real(&j, "price_row", e->price_row);
    json_real(&j, "price_training", e->price_training);
    json_real(&j, e->kind == EPIQ_PLAN_GOAL ? "goal" : "budget", e->amount);
    json_null(&j, e->kind == EPIQ_PLAN_GOAL ? "budget" : "goal");
    json_end(&j);
    json_array(&j, "at", JSON_FLAT);
    for (ptrdiff_t i = 0; i < p->result->point_count; i++) {
        json_text(&j, NULL, p->result->points[i].at);
    }
    json_end(&j);
    json_object(&j, "parts", JSON_LINES);
    write_part(&j, "procedural", &plan->procedural, e->level);
    write_part(&j, "data", &plan->data, e->level);
    json_end(&j);
    if (plan->exponent.known) {
        json_object(&j, "exponent", JSON_FLAT);
        json_real(&j, "data", plan->exponent.data);
        json_real(&j, "data_sd", plan->exponent.data_sd);
        json_real(&j, "procedural", plan->exponent.procedural);
        json_real(&j, "procedural_sd", plan->exponent.procedural_sd);
        json_integer(&j, "rows", plan->exponent.rows);
        json_end(&j);
    } else {
        json_null(&j, "exponent");
    }
    open_mix(&j, "now", &plan->now);
    json_end(&j);
    open_mix(&j, "plan", &plan->best);
    write_chance(&j, &plan->best);
    json_real(&j, "level", e->level);
    json_text(&j, "method", epiq_method_text(plan->best.variance.method));
    json_text(&j, "text", plan->text);
    json_end(&j);
    if (plan->cautious.known) {
        open_mix(&j, "cautious", &plan->cautious.mix);
        write_chance(&j, &plan->cautious.mix);
        json_end(&j);
    } else {
        json_null(&j, "cautious");
    }
    json_array(&j, "curve", JSON_LINES);
    for (ptrdiff_t k = 0; k < plan->curve_count; k++) {
        open_mix(&j, NULL, &plan->curve[k]);
        json_end(&j);
    }
    json_end(&j);
    json_text(&j, "caveat", plan->caveat);
    report_json_warnings(&j, p->result);
    json_end(&j);
}

void report_plan_csv(FILE *out, const report_planned *p)
{
    fputs("cost,rows,members,new_rows,trainings,variance,variance_lo,variance_hi\n", out);
    for (const epiq_mix *m = p->plan->curve; m < p->plan->curve + p->plan->curve_count; m++) {
        bool interval = m->variance.has_interval;
        fprintf(out, "%s,%td,%td,%td,%td,", report_double(m->cost).text, m->rows, m->members, m->new_rows,
                m->trainings);
        fprintf(out, "%s,", report_double(m->variance.variance).text);
        fprintf(out, "%s,", interval ? report_double(m->variance.lo).text : "");
        fprintf(out, "%s\n", interval && !m->variance.open ? report_double(m->variance.hi).text : "");
    }
}
