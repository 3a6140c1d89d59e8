/* explore_loop_text.c - a closed loop for people and programs: text, JSON, CSV. */
#include "report/explore.h"
#include "report/json.h"

void report_loop_what(char *text, size_t size, const loop_result *r)
{
    const loop_job *j = r->job;
    snprintf(text, size,
             "%s: %s. %td random rows, then %td choices of %td among %td fresh random candidates each; noise %.3g; %td "
             "seeds.",
             j->function->name, j->function->about, j->start, j->steps, j->ask.batch, j->candidates, j->noise,
             j->seeds);
}

/* ---- text ---- */

static void write_row(FILE *out, const char *name, loop_number a, loop_number b, bool sign)
{
    const char *format = sign ? "%+.3g [%.3g, %.3g]" : "%.3g [%.3g, %.3g]";
    char simple[64], cumulative[64];
    snprintf(simple, sizeof simple, format, a.mean, a.lo, a.hi);
    snprintf(cumulative, sizeof cumulative, format, b.mean, b.lo, b.hi);
    fprintf(out, "%-16s  %-30s  %s\n", name, simple, cumulative);
}

void report_loop_text(FILE *out, const loop_result *r, const report_study_run *run)
{
    char what[512];
    report_loop_what(what, sizeof what, r);
    fprintf(out, "%s\n%.3g s; mean over seeds, [95 %% interval].\n\n", what, run->seconds);
    fprintf(out, "%-16s  %-30s  %s\n", "", "simple regret at the end", "cumulative regret");
    for (int k = 0; k < LOOP_CONTENDERS; k++) {
        write_row(out, loop_contender_name((loop_contender)k, &r->job->ask), r->simple[k][r->points - 1],
                  r->cumulative[k][r->points - 1], false);
    }
    fprintf(out, "\nLess (-) or more (+) regret than, on the same seeds:\n");
    for (int k = LOOP_RULE + 1; k < LOOP_CONTENDERS; k++) {
        write_row(out, loop_contender_name((loop_contender)k, &r->job->ask), r->simple_less[k], r->cumulative_less[k],
                  true);
    }
    fprintf(out, "\n%s\n", r->verdict);
}

/* ---- for programs ---- */

static void write_number(json *j, const char *key, loop_number n)
{
    json_object(j, key, JSON_FLAT);
    json_real(j, "mean", n.mean);
    json_array(j, "interval", JSON_FLAT);
    json_real(j, NULL, n.lo);
    json_real(j, NULL, n.hi);
    json_end(j);
    json_end(j);
}

static void write_curve(json *j, const char *key, const loop_number *curve, ptrdiff_t points)
{
    json_array(j, key, JSON_LINES);
    for (ptrdiff_t t = 0; t < points; t++) {
        write_number(j, NULL, curve[t]);
    }
    json_end(j);
}

void report_loop_json(FILE *out, const loop_result *r, const report_study_run *run)
{
    const loop_job *job = r->job;
    json j = {.out = out};
    json_object(&j, NULL, JSON_LINES);
    json_object(&j, "epiq", JSON_FLAT);
    json_text(&j, "version", epiq_version());
    json_end(&j);
    json_object(&j, "run", JSON_LINES);
    json_text(&j, "command", run->command);
    json_integer(&j, "threads", job->threads);
    json_real(&j, "seconds", run->seconds);
    json_integer(&j, "peak_rss_bytes", run->peak_rss_bytes);
    report_json_options(&j, run->options, NULL);
    json_end(&j);
    json_object(&j, "loop", JSON_LINES);
    json_text(&j, "function", job->function->name);
    json_integer(&j, "features", job->function->d);
    json_real(&j, "optimum", job->function->best);
    json_text(&j, "rule", report_rule(&job->ask));
    json_real(&j, "kappa", job->ask.kappa);
    json_integer(&j, "batch", job->ask.batch);
    json_integer(&j, "steps", job->steps);
    json_integer(&j, "seeds", job->seeds);
    json_integer(&j, "start", job->start);
    json_integer(&j, "fresh", job->candidates);
    json_real(&j, "noise", job->noise);
    json_end(&j);
    json_array(&j, "contenders", JSON_LINES);
    for (int k = 0; k < LOOP_CONTENDERS; k++) {
        json_object(&j, NULL, JSON_LINES);
        json_text(&j, "name", loop_contender_name((loop_contender)k, &job->ask));
        write_curve(&j, "simple", r->simple[k], r->points);
        write_curve(&j, "cumulative", r->cumulative[k], r->points);
        if (k == LOOP_RULE) {
            json_null(&j, "simple_difference");
            json_null(&j, "cumulative_difference");
        } else {
            write_number(&j, "simple_difference", r->simple_less[k]);
            write_number(&j, "cumulative_difference", r->cumulative_less[k]);
        }
        json_end(&j);
    }
    json_end(&j);
    json_text(&j, "verdict", r->verdict);
    json_end(&j);
}

void report_loop_csv(FILE *out, const loop_result *r)
{
    fputs("contender,step,simple,simple_lo,simple_hi,cumulative,cumulative_lo,cumulative_hi\n", out);
    for (int k = 0; k < LOOP_CONTENDERS; k++) {
        for (ptrdiff_t t = 0; t < r->points; t++) {
            const loop_number a = r->simple[k][t], b = r->cumulative[k][t];
            const double v[] = {a.mean, a.lo, a.hi, b.mean, b.lo, b.hi};
            fprintf(out, "%s,%td", loop_contender_name((loop_contender)k, &r->job->ask), t);
            for (int i = 0; i < 6; i++) {
                fprintf(out, ",%s", report_double(v[i]).text);
            }
            putc('\n', out);
        }
    }
}
