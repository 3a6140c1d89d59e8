/* plan.c - a plan for people and programs: what there is, what to buy, what more money would buy with its band and its mix of rows
 * and networks, and how sure that is. JSON and CSV (the curve): docs/json.md.
 */
#include "report/doc.h"
#include "report/manifest.h"

#include <math.h>

enum { LINES = 9 }; /* of the curve, in the text */

/* ---- pictures ---- */

enum { CURVE, MIX };

static void add_mix(const ink *a, const epiq_plan_step *m)
{
    const epiq_part *v = &m->variance;
    ink_add(a, m->cost, v->variance, v->has_interval ? v->lo : NAN, interval_upper(v));
}

static void mark(picture *p, const char *name, int look, const epiq_plan_step *m)
{
    const ink a = picture_ink(p, SVG_MARKS, name, look, 1, false);
    add_mix(&a, m);
    a.series->hollow = look == 2;
}

static void draw_curve(doc *d)
{
    const epiq_plan *plan = d->a->plan;
    const epiq_plan_request *effort = d->a->effort;
    const bool goal = effort->kind == EPIQ_PLAN_GOAL;
    picture *p = pictures_add(&d->set, CURVE, 0, "variance-against-cost", "What money buys");
    const ink a = picture_ink(p, SVG_LINE, "least variance for its cost, with its interval", 0, plan->curve_count,
                              plan->best->variance.has_interval);
    const epiq_plan_step *m;
    for (ptrdiff_t k = 0; (m = plan->curve[k]); k++) {
        add_mix(&a, m);
    }
    mark(p, "now", 2, plan->now);
    mark(p, "the plan", 1, plan->best);
    if (plan->cautious && plan->cautious->cost <= plan->curve[plan->curve_count - 1]->cost) {
        mark(p, "the cautious plan", 3, plan->cautious);
    }
    picture_rule(p, effort->amount, !goal, goal ? "goal" : "budget");
    picture_axes(p, 420, 270, "cost", "variance");
    p->panel.log_y = true;
    p->panel.label = "Variance against cost";
    p->panel.describe = "A falling line with a band; marks show what there is now and the plan.";
    p->caption = "Each point of the line is the mix of rows and networks with the least variance for its cost. The "
                 "band is its interval: the parts it is computed from are estimates.";
}

/* Rows (item 0) or networks (item 1) along the curve. */
static void draw_mix(doc *d, bool networks)
{
    const epiq_plan *plan = d->a->plan;
    const char *name = networks ? "networks" : "rows";
    picture *p = networks ? pictures_add(&d->set, MIX, 1, "networks-against-cost", "Networks against cost")
                          : pictures_add(&d->set, MIX, 0, "rows-against-cost", "Rows against cost");
    const ink a = picture_ink(p, SVG_LINE, name, 0, plan->curve_count, false),
              b = picture_ink(p, SVG_MARKS, "the plan", 1, 1, false);
    for (ptrdiff_t k = 0; k <= plan->curve_count; k++) {
        const epiq_plan_step *m = k < plan->curve_count ? plan->curve[k] : plan->best;
        ink_add(k < plan->curve_count ? &a : &b, m->cost, (double)(networks ? m->members : m->rows), NAN, NAN);
    }
    picture_axes(p, 320, 220, "cost", name);
    p->panel.describe = "A line along the costs; a mark shows the plan.";
}

static void draw(doc *d)
{
    draw_curve(d);
    draw_mix(d, false);
    draw_mix(d, true);
    if (!doc_picture(d, CURVE, 0)) return;
    doc_figure_open(d, "What it is spent on",
                    "Rows and networks in the end, along the same line. Where rows are added every network is trained "
                    "again, so their number may fall there.");
    doc_panels(d, MIX, "div class=\"panels\"");
    doc_figure_numbers(d, "rows", &pictures_find(&d->set, MIX, 0)->panel);
    doc_figure_numbers(d, "networks", &pictures_find(&d->set, MIX, 1)->panel);
    doc_page(d, "</figure>\n");
}

/* ---- words and numbers ---- */

static void write_head(doc *d)
{
    const epiq_result *r = d->a->result;
    doc_data(d);
    doc_when(d, r->training->members, ", %td networks trained to find out", r->training->members);
    doc_say(d, "; %.3g s\n", d->run->seconds);
    doc_choice(d);
    doc_say(d, "The variance is that of the ensemble's prediction at %s", r->points[0]->at);
    doc_when(d, r->point_count > 1, " and %td more points, their mean", r->point_count - 1);
    doc_say(d, ".\nA row costs %.6g and a training %.6g; with new rows every network is trained again.\n\n",
            d->a->effort->price_row, d->a->effort->price_training);
}

static void write_mix(doc *d, const char *name, const epiq_plan_step *m)
{
    doc_row(d, false, NULL, cell_words("%s%s", d->page && *name != 'n' ? "the " : "", name), cell_number(m->cost),
            cell_words("%td", m->rows), cell_words("%td", m->members), cell_words("%td", m->new_rows),
            cell_words("%td", m->trainings), cell_variance(&m->variance), cell_number(sqrt(m->variance.variance)),
            CELLS_INTERVAL(&m->variance), cell_number(m->chance.known ? 100 * m->chance.value : NAN));
}

static void write_table(doc *d)
{
    const epiq_plan *plan = d->a->plan;
    const phrase level = phrase_of("%.4g %% interval of the variance", 100 * d->a->effort->level);
    const doc_column columns[] = {
        {"", "", DOC_LEFT | DOC_NAME, .gap = 2, .width = -10},
        {"cost", "cost", 0, 6, 6, .width = 12},
        {"rows", "rows", .width = 12},
        {"networks", "members", .width = 10},
        {"new rows", .plain = NULL},
        {"trainings", .plain = NULL},
        {"variance", "variance", 0, 4, 4, .width = 12},
        {NULL, "std dev", 0, 4, 4, .width = 12},
        {NULL, level.text, .gap = 2},
        {"between", NULL, 0, 3, .name = "lo"},
        {"and", NULL, 0, 3, .name = "hi"},
        {plan->best->chance.known ? "confidence, %" : NULL, .digits = 2},
    };
    doc_heading(d, "The purchase");
    doc_table_open(d, &(doc_table){DOC_COLUMNS(columns), .caption = "Now and then"});
    write_mix(d, "now", plan->now);
    write_mix(d, "plan", plan->best);
    if (plan->cautious) write_mix(d, d->page ? "cautious plan" : "cautious", plan->cautious);
    doc_table_close(d);
    const ptrdiff_t rest = d->page ? 0 : plan->curve_count - 1, lines = rest < LINES ? rest : LINES;
    doc_when(d, lines > 0, "\nWhat other amounts buy:\n\n");
    for (ptrdiff_t k = 1; k <= lines; k++) {
        write_mix(d, "", plan->curve[(rest * k + lines - 1) / lines]);
    }
    doc_say(d, "\n");
    if (plan->best->chance.known) {
        doc_note(
            d, "Confidence: that the variance is really at most the goal, for the parts, and how they fall with rows, "
               "are estimates.");
        doc_say(
            d,
            "The parts, and how they fall with rows, are estimates: this plan reaches the goal with a confidence of "
            "%.0f %%",
            100 * plan->best->chance.value);
        if (plan->cautious) {
            doc_say(d, ", the cautious one, for %.6g, with one of %.3g %%", plan->cautious->cost,
                    100 * plan->cautious->chance.value);
        }
        doc_say(d, ".\n");
    }
    doc_note_when(d, plan->cautious != NULL,
                  "The cautious plan is the cheapest whose confidence is as high as its own.");
}

static void describe(doc *d)
{
    const report_run *run = d->run;
    const epiq_plan *plan = d->a->plan;
    const epiq_plan_request *effort = d->a->effort;
    const bool goal = effort->kind == EPIQ_PLAN_GOAL;
    const phrase title =
        phrase_of(goal ? "What it takes to reach a variance of %.6g" : "What a budget of %.6g buys", effort->amount);
    doc_open(d, "epiq plan", title.text, plan->text);
    write_head(d);
    if (d->page && plan->curve_count > 1) draw(d);
    write_table(d);
    doc_page(d, "<p>%s</p>\n", plan->caveat);
    doc_say(d, "%s\n", plan->caveat);
    doc_warnings(d);
    doc_conclusion(d, BOLD, "Plan:", plan->text);
    doc_close(d,
              FIELDS(FACT_SHA(run), FIELD("seed", SEED, &run->options->seed),
                     FIELD("price of a row", ROUNDED, &effort->price_row),
                     FIELD("price of a training", ROUNDED, &effort->price_training),
                     FIELD("data variance now", ROUNDED, &plan->data->variance),
                     FIELD("procedural variance", ROUNDED, &plan->procedural->variance),
                     FIELD("points averaged over", COUNT, &d->a->result->point_count),
                     FIELD("threads", COUNT, &d->a->result->ran->threads)),
              run->options);
}

/* ---- for programs ---- */

#define MIX_FIELD(kind, member) FIELD(#member, kind, &m->member)
#define COUNT_FIELDS                                                                                                   \
    MIX_FIELD(COUNT, rows), MIX_FIELD(COUNT, members), MIX_FIELD(COUNT, new_rows), MIX_FIELD(COUNT, trainings)
#define MIX_FIELDS                                                                                                     \
    COUNT_FIELDS, MIX_FIELD(REAL, cost), FIELD("variance", REAL, &m->variance.variance),                               \
        FIELD("interval", INTERVAL, &m->variance)
#define CHANCE FIELD("chance", REAL, m->chance.known ? &m->chance.value : NULL)

static void write_part(json *j, const char *key, const epiq_part *p, const epiq_plan_request *e)
{
    json_struct(j, key, true, JSON_FLAT,
                FIELDS(FIELD("variance", REAL, &p->variance), FIELD("interval", INTERVAL, p),
                       FIELD("level", REAL, &e->level), FIELD("method", METHOD, p)));
}

static void write_mixes(json *j, const epiq_plan *plan, const epiq_plan_request *e)
{
    const epiq_plan_step *m = plan->now;
    json_struct(j, "now", true, JSON_FLAT, FIELDS(MIX_FIELDS));
    m = plan->best;
    json_struct(j, "plan", true, JSON_FLAT,
                FIELDS(MIX_FIELDS, CHANCE, FIELD("level", REAL, &e->level), FIELD("method", METHOD, &m->variance),
                       FIELD("text", TEXT, &plan->text)));
    m = plan->cautious ? plan->cautious : plan->now;
    json_struct(j, "cautious", plan->cautious != NULL, JSON_FLAT, FIELDS(MIX_FIELDS, CHANCE));
    json_array(j, "curve", JSON_LINES);
    for (ptrdiff_t k = 0; (m = plan->curve[k]); k++) {
        json_struct(j, NULL, true, JSON_FLAT, FIELDS(MIX_FIELDS));
    }
    json_end(j);
}

static void plan_json(FILE *out, const report_answer *a, const report_run *run)
{
    const epiq_plan *plan = a->plan;
    const epiq_plan_request *e = a->effort;
    const bool goal = e->kind == EPIQ_PLAN_GOAL;
    json j = json_begin(out, a, run);
    json_choice(&j, a->result, run);
    json_struct(&j, "asked", true, JSON_FLAT,
                FIELDS(FIELD("price_row", REAL, &e->price_row), FIELD("price_training", REAL, &e->price_training),
                       FIELD(goal ? "goal" : "budget", REAL, &e->amount), FIELD(goal ? "budget" : "goal", REAL, NULL)));
    json_array(&j, "at", JSON_FLAT);
    for (ptrdiff_t i = 0; i < a->result->point_count; i++) {
        json_text(&j, NULL, a->result->points[i]->at);
    }
    json_end(&j);
    json_object(&j, "parts", JSON_LINES);
    write_part(&j, "procedural", plan->procedural, e);
    write_part(&j, "data", plan->data, e);
    json_end(&j);
#define EXPONENT(kind, member) FIELD(#member, kind, &plan->exponent->member)
    json_struct(&j, "exponent", plan->exponent->known, JSON_FLAT,
                FIELDS(EXPONENT(REAL, data), EXPONENT(REAL, data_sd), EXPONENT(REAL, procedural),
                       EXPONENT(REAL, procedural_sd), EXPONENT(COUNT, rows)));
    write_mixes(&j, plan, e);
    json_text(&j, "caveat", plan->caveat);
    json_finish(&j, a);
}

static void plan_csv(FILE *out, const report_answer *a)
{
    const epiq_plan_step none = {0}, *m = &none; /* of which the names of the columns are written */
    for (ptrdiff_t k = 0; m; m = a->plan->curve[k++]) {
        csv_line(out, m == &none,
                 FIELDS(MIX_FIELD(REAL, cost), COUNT_FIELDS, FIELD("variance", REAL, &m->variance.variance),
                        FIELD("variance", INTERVAL, &m->variance)));
    }
}

const report_writers PLAN_WRITERS = {plan_json, plan_csv, describe};
