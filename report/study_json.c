/* study_json.c - the object that epiq study --json promises: the manifest, one line a cell, and the figures' numbers.
 * Keys of the contract (docs/json.md) are in every cell, null where unknown; the others only where they are known.
 */
#include "report/json.h"
#include "report/report.h"

#include <math.h>
#include <string.h>

static void known_real(json *j, const char *key, double v)
{
    if (isfinite(v)) {
        json_real(j, key, v);
    }
}

static void known_count(json *j, const char *key, ptrdiff_t v)
{
    if (v) {
        json_integer(j, key, v);
    }
}

static void known_text(json *j, const char *key, const char *v)
{
    if (v) {
        json_text(j, key, v);
    }
}

static void known_pair(json *j, const char *key, double lo, double hi)
{
    if (isfinite(lo)) { /* an upper end that cannot be known is null */
        json_array(j, key, JSON_FLAT);
        json_real(j, NULL, lo);
        json_real(j, NULL, hi);
        json_end(j);
    }
}

static void count_or_null(json *j, const char *key, ptrdiff_t v)
{
    if (v) {
        json_integer(j, key, v);
    } else {
        json_null(j, key);
    }
}

static void write_cell(json *j, const study_cell *c)
{
    json_object(j, NULL, JSON_FLAT);
    if (c->set && strlen(c->set) == 1 && strchr("123", *c->set)) {
        json_token(j, "set", c->set); /* the synthetic distributions have numbers, real tables names */
    } else {
        json_text(j, "set", c->set);
    }
    count_or_null(j, "n", c->n);
    count_or_null(j, "d", c->d);
    known_text(j, "cell", c->cell);
    known_text(j, "at", c->at);
    known_text(j, "noise", c->noise);
    known_count(j, "members", c->members);
    json_text(j, "quantity", c->quantity);
    json_text(j, "method", c->method);
    known_text(j, "correction", c->correction);
    known_count(j, "reps", c->reps);
    json_real(j, "truth", c->truth);
    json_real(j, "truth_se", c->truth_se);
    known_real(j, "paper_truth", c->paper_truth);
    known_real(j, "paper_truth_se", c->paper_truth_se);
    json_real(j, "estimate", c->estimate);
    known_real(j, "estimate_se", c->estimate_se);
    known_pair(j, "interval", c->lo, c->hi);
    known_real(j, "difference", c->difference);
    json_real(j, "ratio", c->ratio);
    known_real(j, "ratio_se", c->ratio_se);
    json_real(j, "coverage", c->coverage.rate);
    known_pair(j, "coverage_interval", c->coverage.lo, c->coverage.hi);
    known_real(j, "coverage_90", c->coverage90.rate);
    known_pair(j, "coverage_90_interval", c->coverage90.lo, c->coverage90.hi);
    if (c->rms_log > 0) {
        json_real(j, "rms_log", c->rms_log);
    }
    known_real(j, "p_value", c->p_value);
    known_real(j, "published_truth", c->published_truth);
    json_real(j, "published", c->published);
    json_end(j);
}

static void write_numbers(json *j, const char *key, ptrdiff_t count, const double *v)
{
    if (!v) {
        json_null(j, key);
        return;
    }
    json_array(j, key, JSON_FLAT);
    for (ptrdiff_t i = 0; i < count; i++) {
        json_real(j, NULL, v[i]);
    }
    json_end(j);
}

static void write_figure(json *j, const study_figure *f)
{
    json_object(j, NULL, JSON_LINES);
    json_text(j, "title", f->title);
    json_text(j, "x", f->x_name);
    json_text(j, "y", f->y_name);
    json_bool(j, "log_x", f->log_x);
    json_bool(j, "log_y", f->log_y);
    json_text(j, "caption", f->caption);
    json_array(j, "lines", JSON_LINES);
    for (ptrdiff_t i = 0; i < f->line_count; i++) {
        const study_line *l = &f->lines[i];
        json_object(j, NULL, JSON_FLAT);
        json_text(j, "name", l->name);
        json_bool(j, "marks", l->marks);
        write_numbers(j, "x", l->count, l->x);
        write_numbers(j, "y", l->count, l->y);
        write_numbers(j, "lo", l->count, l->lo);
        write_numbers(j, "hi", l->count, l->hi);
        json_end(j);
    }
    json_end(j);
    json_end(j);
}

static void write_run(json *j, const study_result *r, const report_study_run *run)
{
    char seed[24];
    report_value room;
    const char *engine = report_option(&r->options, "engine", &room);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)r->options.seed);
    json_object(j, "run", JSON_LINES);
    json_text(j, "command", run->command);
    json_token(j, "seed", seed);
    json_integer(j, "threads", r->threads);
    json_text(j, "engine", engine);
    json_real(j, "seconds", run->seconds);
    json_integer(j, "peak_rss_bytes", run->peak_rss_bytes);
    json_integer(j, "repetitions", r->repetitions);
    json_integer(j, "resumed", r->resumed);
    json_text(j, "machine", run->machine);
    report_json_options(j, &r->options, NULL);
    json_end(j);
}

void report_study_json(FILE *out, const study_result *r, const report_study_run *run)
{
    json j = {.out = out};
    json_object(&j, NULL, JSON_LINES);
    json_object(&j, "epiq", JSON_FLAT);
    json_text(&j, "version", epiq_version());
    json_end(&j);
    json_text(&j, "study", r->name);
    json_text(&j, "title", r->title);
    write_run(&j, r, run);
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
