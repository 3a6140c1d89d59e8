/* study_json.c - the object that epiq study --json promises: the manifest, one line per cell, and the figures' numbers.
 * Keys of the contract (docs/json.md) are in every cell, null where unknown; the others only where they are known.
 */
#include "report/manifest.h"
#include "study/study.h"

#include <math.h>
#include <string.h>

#define CELL(kind, member) FIELD(#member, kind, &c->member)
#define KNOWN(kind, member) FIELD_KNOWN(#member, kind, &c->member)
#define NUMBER(field, member) field(#member, REAL, &c->member.value)
#define ERROR(member) FIELD_KNOWN(#member "_se", REAL, &c->member.se)
#define RANGE(name, lo, hi) FIELD_KNOWN(name, RANGE, ((const double[]){lo, hi}))

static void write_cell(json *j, const study_cell *c)
{
    const double rms_log = c->rms_log > 0 ? c->rms_log : NAN;
    const study_rate *c95 = &c->coverage, *c90 = &c->coverage90;
    json_object(j, NULL, JSON_FLAT);
    if (c->set && strlen(c->set) == 1 && strchr("123", *c->set)) {
        json_token(j, "set", c->set); /* the synthetic distributions have numbers, real tables names */
    } else {
        json_text(j, "set", c->set);
    }
    json_fields(j,
                FIELDS(FIELD_IF("n", COUNT, &c->n, FIELD_NONZERO), FIELD_IF("d", COUNT, &c->d, FIELD_NONZERO),
                       KNOWN(TEXT, cell), KNOWN(TEXT, at), KNOWN(TEXT, noise), KNOWN(COUNT, members),
                       CELL(TEXT, quantity), CELL(TEXT, method), KNOWN(TEXT, correction), KNOWN(COUNT, reps),
                       NUMBER(FIELD, truth), FIELD("truth_se", REAL, &c->truth.se), NUMBER(FIELD_KNOWN, paper_truth),
                       ERROR(paper_truth), NUMBER(FIELD, estimate), ERROR(estimate), RANGE("interval", c->lo, c->hi),
                       KNOWN(REAL, difference), NUMBER(FIELD, ratio), ERROR(ratio), FIELD("coverage", REAL, &c95->rate),
                       RANGE("coverage_interval", c95->lo, c95->hi), FIELD_KNOWN("coverage_90", REAL, &c90->rate),
                       RANGE("coverage_90_interval", c90->lo, c90->hi), FIELD_KNOWN("rms_log", REAL, &rms_log),
                       KNOWN(REAL, p_value), NUMBER(FIELD_KNOWN, published_truth), NUMBER(FIELD, published)));
    json_end(j);
}

static void write_figure(json *j, const study_figure *f)
{
    const int log_x = f->log_x, log_y = f->log_y;
    json_object(j, NULL, JSON_LINES);
    json_fields(j, FIELDS(FIELD("title", TEXT, &f->title), FIELD("x", TEXT, &f->x_name), FIELD("y", TEXT, &f->y_name),
                          FIELD("log_x", BOOL, &log_x), FIELD("log_y", BOOL, &log_y),
                          FIELD("caption", TEXT, &f->caption)));
    json_array(j, "lines", JSON_LINES);
    for (const study_line *l = f->lines; l < f->lines + f->line_count; l++) {
        const int marks = l->marks;
        json_object(j, NULL, JSON_FLAT);
        json_fields(j, FIELDS(FIELD("name", TEXT, &l->name), FIELD("marks", BOOL, &marks)));
        json_reals(j, "x", l->count, l->x);
        json_reals(j, "y", l->count, l->y);
        json_reals(j, "lo", l->count, l->lo);
        json_reals(j, "hi", l->count, l->hi);
        json_end(j);
    }
    json_end(j);
    json_end(j);
}

void study_json(FILE *out, const report_answer *a, const report_run *run)
{
    const study_result *r = a->study;
    option_buffer room;
    const manifest m = {.about = FIELDS(FIELD("study", TEXT, &r->name), FIELD("title", TEXT, &r->title)),
                        .seed = &r->options.seed,
                        .threads = r->threads,
                        .engine = option_text(&r->options, "engine", &room),
                        .repetitions = &r->repetitions,
                        .resumed = &r->resumed};
    json j = {.out = out};
    json_object(&j, NULL, JSON_LINES);
    json_run(&j, &m, run, &r->options);
    json_array(&j, "cells", JSON_LINES);
    for (ptrdiff_t i = 0; i < r->cell_count; i++) {
        write_cell(&j, &r->cells[i]);
    }
    json_end(&j);
    json_array(&j, "figures", JSON_LINES);
    for (ptrdiff_t i = 0; i < r->figure_count; i++) {
        write_figure(&j, &r->figures[i]);
    }
    json_end(&j);
    json_array(&j, "notes", JSON_LINES);
    for (ptrdiff_t i = 0; i < r->note_count; i++) {
        json_text(&j, NULL, r->notes[i]);
    }
    json_end(&j);
    json_end(&j);
}
