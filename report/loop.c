/* loop.c - a closed loop for people and programs: the verdict, regret at the end; on the page also step by step with bands. */
#include "report/doc.h"
#include "report/manifest.h"
#include "study/explore_loop.h"

static void draw_regret(doc *d, loop_regret kind, const char *name, const char *title, const char *caption)
{
    const loop_result *r = d->a->loop;
    picture *p = pictures_add(&d->set, (int)kind, 0, name, title);
    for (int k = 0; k < LOOP_CONTENDERS; k++) {
        const ink a =
            picture_ink(p, SVG_LINE, loop_contender_name((loop_contender)k, &r->job->ask), k, r->points, true);
        for (ptrdiff_t t = 0; t < r->points; t++) {
            const loop_number *n = &r->regret[kind][k][t];
            ink_add(&a, (double)t, n->mean, n->lo, n->hi);
        }
    }
    picture_axes(p, 420, 290, "choices made", "regret");
    p->panel.describe = "one line per contender with its 95 % band";
    p->caption = caption;
    doc_picture(d, (int)kind, 0);
}

static doc_cell cell_regret(const loop_number *n, bool sign)
{
    doc_cell cell = cell_words(sign ? "%+.3g [%.3g, %.3g]" : "%.3g [%.3g, %.3g]", n->mean, n->lo, n->hi);
    cell.value = n->mean;
    cell.lo = n->lo;
    cell.hi = n->hi;
    return cell;
}

static void write_table(doc *d)
{
    const loop_result *r = d->a->loop;
    static const doc_column COLUMNS[] = {{"contender", "", DOC_LEFT | DOC_NAME, .width = -16},
                                         {"simple regret", "simple regret at the end", .gap = 2, .width = -30},
                                         {"cumulative regret", "cumulative regret", .gap = 2},
                                         {"the rule's simple less its", .plain = NULL},
                                         {"the rule's cumulative less its", .plain = NULL}};
    const epiq_exploration *ask = &r->job->ask;
    const ptrdiff_t end = r->points - 1;
    doc_heading(d, "At the end");
    doc_table_open(
        d, &(doc_table){DOC_COLUMNS(COLUMNS), .caption = "Regret at the end, mean and 95 % interval over seeds"});
    for (int k = 0; k < LOOP_CONTENDERS; k++) {
        const bool rule = k == LOOP_RULE;
        doc_row(d, false, NULL, cell_text(loop_contender_name((loop_contender)k, ask)),
                cell_regret(&r->regret[LOOP_SIMPLE][k][end], false),
                cell_regret(&r->regret[LOOP_CUMULATIVE][k][end], false),
                rule ? cell_text("") : cell_regret(&r->less[LOOP_SIMPLE][k], false),
                rule ? cell_text("") : cell_regret(&r->less[LOOP_CUMULATIVE][k], false));
    }
    doc_table_close(d);
    doc_note(d, "Differences are taken seed by seed: below 0 the rule did better.");
    doc_say(d, "\nLess (-) or more (+) regret than, on the same seeds:\n");
    for (int k = LOOP_RULE + 1; !d->page && k < LOOP_CONTENDERS; k++) {
        doc_row(d, false, NULL, cell_text(loop_contender_name((loop_contender)k, ask)),
                cell_regret(&r->less[LOOP_SIMPLE][k], true), cell_regret(&r->less[LOOP_CUMULATIVE][k], true),
                cell_text(""), cell_text(""));
    }
    doc_say(d, "\n%s\n", r->verdict);
}

static void describe(doc *d)
{
    const report_run *run = d->run;
    const loop_result *r = d->a->loop;
    const loop_job *j = r->job;
    const phrase what = phrase_of("%s: %s. %td random rows, then %td choices of %td among %td fresh random candidates "
                                  "each; noise %.3g; %td seeds.",
                                  j->function->name, j->function->about, j->start, j->steps, j->ask.batch,
                                  j->candidates, j->noise, j->seeds);
    doc_open(d, "epiq explore --loop", "Does choosing pay?", r->verdict);
    doc_page(d, "<p>%s</p>\n", what.text);
    doc_say(d, "%s\n", what.text);
    doc_say(d, "%.3g s; mean over seeds, [95 %% interval].\n\n", run->seconds);
    if (d->page) {
        doc_page(d, "<div class=\"figures\">\n");
        draw_regret(d, LOOP_CUMULATIVE, "cumulative-regret", "Cumulative regret",
                    "What each choice was below the best of its candidates, summed; bands are 95 % intervals of the "
                    "mean.");
        draw_regret(d, LOOP_SIMPLE, "simple-regret", "Simple regret",
                    "The function's largest value less the largest seen so far.");
        doc_page(d, "</div>\n");
    }
    write_table(d);
    doc_close(d,
              FIELDS(FIELD("engine", OPTION, run->options), FIELD("seed", SEED, &run->options->seed),
                     FIELD("kappa", ROUNDED, &j->ask.kappa), FIELD("batch", COUNT, &j->ask.batch)),
              run->options);
}

/* ---- for programs ---- */

static void write_number(json *j, const char *key, bool known, const loop_number *n)
{
    json_struct(j, key, known, JSON_FLAT,
                FIELDS(FIELD("mean", REAL, &n->mean), FIELD("se", REAL, &n->se),
                       FIELD("interval", RANGE, ((const double[]){n->lo, n->hi}))));
}

static void write_curve(json *j, const char *key, const loop_number *curve, ptrdiff_t points)
{
    json_array(j, key, JSON_LINES);
    for (ptrdiff_t t = 0; t < points; t++) {
        write_number(j, NULL, true, &curve[t]);
    }
    json_end(j);
}

static void write_contender(json *j, const loop_result *r, int k)
{
    json_object(j, NULL, JSON_LINES);
    json_text(j, "name", loop_contender_name((loop_contender)k, &r->job->ask));
    write_curve(j, "simple", r->regret[LOOP_SIMPLE][k], r->points);
    write_curve(j, "cumulative", r->regret[LOOP_CUMULATIVE][k], r->points);
    write_number(j, "simple_difference", k != LOOP_RULE, &r->less[LOOP_SIMPLE][k]);
    write_number(j, "cumulative_difference", k != LOOP_RULE, &r->less[LOOP_CUMULATIVE][k]);
    json_end(j);
}

static void loop_json(FILE *out, const report_answer *a, const report_run *run)
{
    const loop_result *r = a->loop;
    const loop_job *job = r->job;
    const loop_function *f = job->function;
    const char *rule = epiq_rule_text(job->ask.rule);
    json j = {.out = out};
    json_object(&j, NULL, JSON_LINES);
    json_run(&j, &(manifest){.threads = job->crew.threads}, run, run->options);
#define JOB(kind, member) FIELD(#member, kind, &job->member)
    json_struct(&j, "loop", true, JSON_LINES,
                FIELDS(FIELD("function", TEXT, &f->name), FIELD("features", COUNT, &f->d),
                       FIELD("optimum", REAL, &f->best), FIELD("rule", TEXT, &rule),
                       FIELD("kappa", REAL, &job->ask.kappa), FIELD("batch", COUNT, &job->ask.batch), JOB(COUNT, steps),
                       JOB(COUNT, seeds), JOB(COUNT, start), FIELD("fresh", COUNT, &job->candidates),
                       JOB(REAL, noise)));
    json_array(&j, "contenders", JSON_LINES);
    for (int k = 0; k < LOOP_CONTENDERS; k++) {
        write_contender(&j, r, k);
    }
    json_end(&j);
    json_text(&j, "verdict", r->verdict);
    json_end(&j);
}

static void loop_csv(FILE *out, const report_answer *a)
{
    const loop_result *r = a->loop;
    fputs("contender,step,simple,simple_lo,simple_hi,cumulative,cumulative_lo,cumulative_hi\n", out);
    for (int k = 0; k < LOOP_CONTENDERS; k++) {
        const char *name = loop_contender_name((loop_contender)k, &r->job->ask);
        for (ptrdiff_t t = 0; t < r->points; t++) {
            const loop_number *x = &r->regret[LOOP_SIMPLE][k][t], *y = &r->regret[LOOP_CUMULATIVE][k][t];
            fprintf(out, "%s,%td,%s,%s,%s,%s,%s,%s\n", name, t, number_text(x->mean).text, number_text(x->lo).text,
                    number_text(x->hi).text, number_text(y->mean).text, number_text(y->lo).text,
                    number_text(y->hi).text);
        }
    }
}

const report_writers LOOP_WRITERS = {loop_json, loop_csv, describe};
