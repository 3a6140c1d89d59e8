/* plan.c - a plan for people and programs: what there is, what to buy, what more money would buy with its band and its mix of rows
 * and networks, and how sure that is. JSON and CSV (the curve): docs/json.md.
 */
#include "report/doc.h"
#include "report/manifest.h"

#include <math.h>
#include <string.h>

enum { LINES = 9 }; /* of the curve, in the text */

/* ---- pictures ---- */

enum { CURVE, MIX };
#define COST "cost, in the unit of the prices"
static const char *const NAMES[] = {"even chance", "likely (recommended)", "cautious"}; /* best, likely, cautious */
static const int LOOKS[] = {4, 1, 3};

static void add_mix(const ink *a, const epiq_plan_step *m)
{
    const epiq_part *v = &m->variance;
    ink_add(a, m->cost, part_sd(v), sqrt(interval_lower(v)), sqrt(interval_upper(v)));
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
    picture *p = pictures_add(&d->set, CURVE, 0, "standard-deviation-against-cost", "Standard deviation against cost");
    const char *level = picture_text(p, "least for its cost, with its %.4g %% interval", 100 * effort->level);
    const ink a = picture_ink(p, SVG_LINE, level, 0, plan->curve_count, plan->best->variance.has_interval);
    const epiq_plan_step *m;
    for (ptrdiff_t k = 0; (m = plan->curve[k]); k++) {
        add_mix(&a, m);
    }
    mark(p, "now", 2, plan->now);
    const double reach = plan->curve[plan->curve_count - 1]->cost;
    const epiq_plan_step *const more[] = {plan->best, plan->likely, plan->cautious};
    for (int k = 0; k < 3; k++) {
        if (more[k] && more[k]->cost <= reach) mark(p, goal ? NAMES[k] : "the plan", LOOKS[k], more[k]);
    }
    picture_rule(p, goal ? sqrt(effort->amount) : effort->amount, !goal, goal ? "goal" : "budget");
    picture_axes(p, 440, 290, COST, picture_text(p, "std dev of the predicted %s", d->run->data.target));
    p->panel.log_y = true;
    p->panel.describe = "A falling line with a band; marks show what there is now and the plans.";
    p->caption = "Each point of the line is the mix of rows and networks with the smallest standard deviation for its "
                 "cost. The band is its interval: the parts it is computed from are estimates.";
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
    const epiq_plan_step *advised = plan->likely ? plan->likely : plan->best;
    const bool far = advised->cost > plan->curve[plan->curve_count - 1]->cost;
    for (ptrdiff_t k = 0; k < plan->curve_count + !far; k++) {
        const epiq_plan_step *m = k < plan->curve_count ? plan->curve[k] : advised;
        ink_add(k < plan->curve_count ? &a : &b, m->cost, (double)(networks ? m->members : m->rows), NAN, NAN);
    }
    picture_axes(p, 320, 220, COST, name);
    p->panel.describe = "A line along the costs; a mark shows the plan.";
}

static void draw_spending(doc *d)
{
    doc_figure_open(
        d, "What it is spent on",
        "Rows and networks in the end, along the same line; the mark is the plan. Where rows are added every "
        "network is trained again, so their number may fall there.");
    doc_panels(d, MIX, "div class=\"panels\"");
    doc_figure_numbers(d, "rows", &pictures_find(&d->set, MIX, 0)->panel);
    doc_figure_numbers(d, "networks", &pictures_find(&d->set, MIX, 1)->panel);
    doc_page(d, "</figure>\n");
}

static void draw(doc *d)
{
    draw_curve(d);
    draw_mix(d, false);
    draw_mix(d, true);
    doc_page(d, "<div class=\"figures\">\n");
    if (doc_picture(d, CURVE, 0)) draw_spending(d);
    doc_page(d, "</div>\n");
}

/* ---- words and numbers ---- */

static void write_head(doc *d)
{
    const epiq_result *r = d->a->result;
    doc_data(d);
    doc_when(d, r->training->members, ", %td networks trained to find out", r->training->members);
    doc_say(d, "; %.3g s\n", d->run->seconds);
    doc_when(d, d->r->model_choice->known, "chosen: %s\n", d->r->model_choice->reason);
    doc_page(d, "<p>");
    const bool rows = r->points[0]->left_out, mean = strcmp(r->points[0]->at, "mean") == 0;
    doc_sentence(d, true, "The standard deviation is that of the predicted %s ", d->run->data.target);
    doc_sentence(d, rows, "for a row like these %td, asked of networks that have not seen it (of their mean variance)",
                 r->point_count);
    doc_sentence(d, !rows, "at %s", mean ? "the mean row" : r->points[0]->at);
    doc_sentence(d, !rows && r->point_count > 1, " and %td more points (of their mean variance)", r->point_count - 1);
    doc_sentence(d, true, d->page ? ". " : ".\n");
    doc_sentence(d, true, "A row costs %.6g and a training %.6g; with new rows every network is trained again.",
                 d->a->effort->price_row, d->a->effort->price_training);
    doc_sentence(d, true, d->page ? "</p>\n" : "\n\n");
}

static doc_cell cell_chance(double chance)
{
    doc_cell cell = cell_words("%.0f %%", 100 * chance);
    cell.value = chance;
    return cell;
}

static void write_mix(doc *d, bool bold, const char *name, const epiq_plan_step *m)
{
    doc_row(d, bold, NULL, cell_text(name), cell_number(m->cost), cell_words("%td", m->rows),
            cell_words("%td", m->members), cell_sd_interval(&m->variance),
            m->chance.known ? cell_chance(m->chance.value) : cell_text(""));
}

static void write_table(doc *d)
{
    const epiq_plan *plan = d->a->plan;
    const bool goal = plan->best->chance.known;
    const phrase level = phrase_of("std dev (%.4g %% interval)", 100 * d->a->effort->level);
    const doc_column columns[] = {
        {"", "", DOC_LEFT | DOC_NAME, .gap = 2, .width = -20},
        {"cost", "cost", 0, 6, 6, .width = 12},
        {"rows", "rows", .gap = 1, .width = 9},
        {"networks", "networks", .gap = 1, .width = 9},
        {level.text, level.text, .gap = 3, .width = -24, .plain_digits = 3, .name = "sd"},
        {goal ? "chance" : NULL, goal ? "chance" : NULL, .width = 6, .name = "chance"},
    };
    doc_heading(d, "What to buy");
    doc_table_open(d, &(doc_table){DOC_COLUMNS(columns), .caption = "Now and then"});
    write_mix(d, false, "now", plan->now);
    write_mix(d, !plan->likely, goal ? NAMES[0] : "the plan", plan->best);
    if (plan->likely) write_mix(d, true, NAMES[1], plan->likely);
    if (plan->cautious) write_mix(d, false, NAMES[2], plan->cautious);
    doc_table_close(d);
    const ptrdiff_t rest = d->page ? 0 : plan->curve_count - 1, lines = rest < LINES ? rest : LINES;
    doc_when(d, lines > 0, "\nWhat other amounts buy:\n\n");
    for (ptrdiff_t k = 1; k <= lines; k++) {
        write_mix(d, false, "", plan->curve[(rest * k + lines - 1) / lines]);
    }
    doc_say(d, "\n");
    doc_when(d, goal,
             "chance: that the goal, a standard deviation of %.3g, is reached; the parts, and how they fall "
             "with rows, are estimates.\n",
             sqrt(d->a->effort->amount));
    doc_note_when(d, goal,
                  "Chance: that the goal, a standard deviation of %.3g, is reached: the parts, and how they fall with "
                  "rows, are estimates.",
                  sqrt(d->a->effort->amount));
}

static void describe(doc *d)
{
    const report_run *run = d->run;
    const epiq_plan *plan = d->a->plan;
    const epiq_plan_request *effort = d->a->effort;
    const bool goal = effort->kind == EPIQ_PLAN_GOAL;
    const phrase title = goal ? phrase_of("What it takes to predict %.120s to a standard deviation of %.3g",
                                          run->data.target, sqrt(effort->amount))
                              : phrase_of("What a budget of %.6g buys", effort->amount);
    doc_open(d, "epiq plan", title.text, plan->text);
    write_head(d);
    write_table(d);
    doc_page(d, "<p>%s</p>\n<p>%s</p>\n", plan->notice, plan->caveat);
    doc_say(d, "%s\n%s\n", plan->notice, plan->caveat);
    if (plan->corrected->known && *plan->corrected->text) {
        doc_page(d, "<p>%s</p>\n", plan->corrected->text);
        doc_say(d, "%s\n", plan->corrected->text);
    }
    if (d->page && plan->curve_count > 1) draw(d);
    doc_warnings(d);
    doc_conclusion(d, BOLD, "Plan:", plan->text);
    doc_glossary(d, WORD_PARTS | WORD_ENSEMBLE | WORD_INTERVAL | WORD_LOG | (goal ? WORD_PLAN : 0));
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
        FIELD("interval", INTERVAL, &m->variance), SD_FIELD
#define SD_FIELD FIELD("sd", SD, &m->variance)
#define CHANCE FIELD("chance", REAL, m->chance.known ? &m->chance.value : NULL)

static void write_part(json *j, const char *key, const epiq_part *p, const epiq_plan_request *e)
{
    json_struct(j, key, true, JSON_FLAT,
                FIELDS(FIELD("variance", REAL, &p->variance), FIELD("interval", INTERVAL, p),
                       FIELD("level", REAL, &e->level), FIELD("method", METHOD, p), FIELD("sd", SD, p)));
}

static void write_mixes(json *j, const epiq_plan *plan, const epiq_plan_request *e)
{
    const epiq_plan_step *m = plan->now;
    json_struct(j, "now", true, JSON_FLAT, FIELDS(MIX_FIELDS));
    m = plan->best;
    json_struct(j, "plan", true, JSON_FLAT,
                FIELDS(MIX_FIELDS, CHANCE, FIELD("level", REAL, &e->level), FIELD("method", METHOD, &m->variance),
                       FIELD("text", TEXT, &plan->text)));
    m = plan->likely ? plan->likely : plan->now;
    json_struct(j, "likely", plan->likely != NULL, JSON_FLAT, FIELDS(MIX_FIELDS, CHANCE));
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
    const double sd = sqrt(e->amount);
    json j = json_begin(out, a, run);
    json_choice(&j, a->result, run);
    json_struct(&j, "asked", true, JSON_FLAT,
                FIELDS(FIELD("price_row", REAL, &e->price_row), FIELD("price_training", REAL, &e->price_training),
                       FIELD(goal ? "goal" : "budget", REAL, &e->amount), FIELD(goal ? "budget" : "goal", REAL, NULL),
                       FIELD("goal_sd", REAL, goal ? &sd : NULL)));
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
    const epiq_corrected_plan *k = plan->corrected;
    json_struct(&j, "corrected", k->known, JSON_FLAT,
                FIELDS(FIELD("left", REAL, &k->left), FIELD("networks", COUNT, &k->networks),
                       FIELD("saved", COUNT, &k->saved), FIELD("text", TEXT, &k->text)));
    json_text(&j, "notice", plan->notice);
    json_text(&j, "caveat", plan->caveat);
    json_finish(&j, a);
}

static void plan_csv(FILE *out, const report_answer *a)
{
    const epiq_plan_step none = {0}, *m = &none; /* of which the names of the columns are written */
    for (ptrdiff_t k = 0; m; m = a->plan->curve[k++]) {
        csv_line(out, m == &none,
                 FIELDS(MIX_FIELD(REAL, cost), COUNT_FIELDS, FIELD("variance", REAL, &m->variance.variance),
                        FIELD("variance", INTERVAL, &m->variance), SD_FIELD));
    }
}

const report_writers PLAN_WRITERS = {plan_json, plan_csv, describe};
