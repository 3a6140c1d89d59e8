/* study_columns.c - what may stand in a study's tables: one function writes each column's cell for a row, and a list says
 * in which order they come. Which of them are known, and fit, study_table.c finds out.
 */
#include "report/study_number.h"
#include "report/study_table.h"

#include <math.h>
#include <string.h>

/* Variances are written as the paper writes them, whatever else was measured as its size asks. */
static report_notation style_of(const report_table *t, const study_cell *row)
{
    static const char *const VARIANCES[] = {"procedural", "data", "ensemble", "single", "answer"};
    bool variance = false;
    for (size_t k = 0; k < sizeof VARIANCES / sizeof *VARIANCES; k++) {
        variance = variance || report_same(row->quantity, VARIANCES[k]);
    }
    return (report_notation){.exponent = variance, .compact = t->narrow, .decimals = t->decimals, .utf8 = t->utf8};
}

static void put_real(report_cell *out, double v, double se, report_notation s)
{
    report_real(out->text, sizeof out->text, v, se, s);
    out->value = v;
    out->se = se;
}

static void put_count(report_cell *out, ptrdiff_t v)
{
    if (v) {
        snprintf(out->text, sizeof out->text, "%td", v);
        out->value = (double)v;
    }
}

static void put_label(report_cell *out, const char *s)
{
    out->label = s && *s ? s : NULL;
}

static void put_bracketed(report_cell *out, double v, report_notation s)
{
    char number[48];
    s.decimals = 0; /* the paper has one */
    report_real(number, sizeof number, v, NAN, s);
    if (*number) {
        snprintf(out->text, sizeof out->text, "[%s]", number);
        out->value = v;
    }
}

static void put_rate(report_cell *out, study_rate s, double level)
{
    bool interval = s.lo >= -1 && s.lo <= s.hi && s.hi <= 2; /* NAN fails */
    if (!(s.rate >= 0 && s.rate <= 1)) {
        return;
    }
    if (interval) {
        snprintf(out->text, sizeof out->text, "%.1f [%.1f, %.1f]", 100 * s.rate, 100 * s.lo, 100 * s.hi);
        out->lo = s.lo;
        out->hi = s.hi;
    } else {
        snprintf(out->text, sizeof out->text, "%.1f", 100 * s.rate);
    }
    out->value = s.rate;
    out->off = interval && !(s.lo <= level && level <= s.hi);
}

#define COLUMN(name) static void name(const report_table *t, const study_cell *row, report_cell *out)
#define UNUSED_TABLE (void)t

COLUMN(col_set)
{
    UNUSED_TABLE;
    put_label(out, row->set);
}

COLUMN(col_n)
{
    UNUSED_TABLE;
    put_count(out, row->n);
}

COLUMN(col_d)
{
    UNUSED_TABLE;
    put_count(out, row->d);
}

COLUMN(col_noise)
{
    UNUSED_TABLE;
    put_label(out, row->noise);
}

COLUMN(col_cell)
{
    UNUSED_TABLE;
    put_label(out, row->cell);
}

COLUMN(col_at)
{
    UNUSED_TABLE;
    put_label(out, row->at);
}

COLUMN(col_members)
{
    UNUSED_TABLE;
    put_count(out, row->members);
}

COLUMN(col_quantity)
{
    UNUSED_TABLE;
    put_label(out, row->quantity);
}

COLUMN(col_method)
{
    UNUSED_TABLE;
    put_label(out, row->method);
}

COLUMN(col_correction)
{
    UNUSED_TABLE;
    put_label(out, row->correction);
}

COLUMN(col_reps)
{
    UNUSED_TABLE;
    put_count(out, row->reps);
}

COLUMN(col_truth)
{
    put_real(out, row->truth, row->truth_se, style_of(t, row));
}

COLUMN(col_paper_truth)
{
    report_notation s = style_of(t, row);
    s.compact = true;
    s.decimals = 0;
    put_real(out, row->paper_truth, row->paper_truth_se, s);
}

COLUMN(col_published_truth)
{
    put_bracketed(out, row->published_truth, style_of(t, row));
}

COLUMN(col_estimate)
{
    bool interval = isfinite(row->lo) && isfinite(row->hi);
    report_notation s = style_of(t, row);
    put_real(out, row->estimate, interval ? NAN : row->estimate_se, s);
    if (*out->text && interval) {
        char lo[24], hi[24];
        s.exponent = report_has_exponent(row->estimate, s); /* the ends look like what they enclose */
        report_real(lo, sizeof lo, row->lo, NAN, s);
        report_real(hi, sizeof hi, row->hi, NAN, s);
        size_t used = strlen(out->text);
        snprintf(out->text + used, sizeof out->text - used, " [%s, %s]", lo, hi);
        out->lo = row->lo;
        out->hi = row->hi;
        out->se = row->estimate_se;
    }
}

COLUMN(col_ratio)
{
    put_real(out, row->ratio, row->ratio_se, (report_notation){.compact = t->narrow, .utf8 = t->utf8});
    if (!isfinite(row->ratio_se) && fabs(row->ratio) < 1e3) { /* as many decimals as those with an error have, mostly */
        snprintf(out->text, sizeof out->text, "%.2f", row->ratio);
    }
}

COLUMN(col_coverage)
{
    UNUSED_TABLE;
    put_rate(out, row->coverage, 0.95);
}

COLUMN(col_coverage90)
{
    UNUSED_TABLE;
    put_rate(out, row->coverage90, 0.9);
}

COLUMN(col_rms)
{
    UNUSED_TABLE;
    if (row->rms_log > 0 && row->rms_log < 1e3) {
        snprintf(out->text, sizeof out->text, "%.2f", row->rms_log);
        out->value = row->rms_log;
    }
}

COLUMN(col_p)
{
    UNUSED_TABLE;
    if (row->p_value >= 0 && row->p_value <= 1) {
        snprintf(out->text, sizeof out->text, row->p_value < 0.0005 ? "%.0e" : "%.3f", row->p_value);
        out->value = row->p_value;
    }
}

COLUMN(col_published)
{
    put_bracketed(out, row->published, style_of(t, row));
}

/* In the paper's layout a row stands for all cells of its part at one n and d. */
COLUMN(part_estimate)
{
    const study_cell *c = report_study_usual(t, row);
    if (c) {
        put_real(out, c->estimate, NAN, style_of(t, row));
        out->se = c->estimate_se;
    }
}

COLUMN(part_printed)
{
    const study_cell *c = report_study_printed(t, row);
    if (c) {
        put_real(out, c->estimate, NAN, style_of(t, row));
        out->se = c->estimate_se;
    }
}

COLUMN(part_difference)
{
    const study_cell *c = report_study_usual(t, row);
    if (c && isfinite(c->difference)) { /* with the exponent of the truth, so that the two can be compared */
        double truth = isfinite(c->truth) && c->truth != 0 ? c->truth : c->difference;
        int decimals = t->decimals;
        report_scaled(out->text, sizeof out->text, c->difference, report_exponent(truth, decimals), decimals, "+");
        out->value = c->difference;
    }
}

COLUMN(part_ratio)
{
    const study_cell *c = report_study_usual(t, row);
    if (c) {
        col_ratio(t, c, out);
    }
}

COLUMN(part_published)
{
    const study_cell *p = report_study_printed(t, row), *u = report_study_usual(t, row);
    double v = p && isfinite(p->published) ? p->published : u ? u->published : NAN;
    put_bracketed(out, v, style_of(t, row));
}

static const report_column C_SET = {"set", "set", true, true, false, col_set},
                           C_N = {"n", "n", false, true, false, col_n}, C_D = {"d", "d", false, true, false, col_d},
                           C_CELL = {"cell", "cell", true, true, false, col_cell},
                           C_AT = {"at", "at", true, true, false, col_at},
                           C_NOISE = {"noise", "noise", true, true, false, col_noise},
                           C_MEMBERS = {"members", "members", false, true, false, col_members},
                           C_QUANTITY = {"quantity", "quantity", true, true, false, col_quantity},
                           C_METHOD = {"method", "method", true, true, false, col_method},
                           C_CORRECTION = {"correction", "correction", true, true, false, col_correction},
                           C_REPS = {"reps", "reps", false, true, false, col_reps},
                           C_TRUTH = {"truth ± se", "truth +- se", false, false, false, col_truth},
                           C_PAPER = {"paper's way", "paper's way", false, false, false, col_paper_truth},
                           C_PUB_TRUTH = {"[paper]", "[paper]", false, false, false, col_published_truth},
                           C_ESTIMATE = {"estimate", "estimate", false, false, false, col_estimate},
                           C_RATIO = {"ratio ± se", "ratio +- se", false, false, false, col_ratio},
                           C_95 = {"coverage, 95 %", "coverage, 95 %", false, false, true, col_coverage},
                           C_90 = {"coverage, 90 %", "coverage, 90 %", false, false, true, col_coverage90},
                           C_RMS = {"rms log", "rms log", false, false, false, col_rms},
                           C_P = {"p", "p", false, false, false, col_p},
                           C_PUBLISHED = {"[paper]", "[paper]", false, false, false, col_published},
                           P_EV = {"EV", "EV", false, false, false, part_estimate},
                           P_IF = {"IF", "IF", false, false, false, part_estimate},
                           P_BA = {"BA", "BA", false, false, false, part_estimate},
                           P_INFINITE = {"infinite width", "infinite width", false, false, false, part_estimate},
                           P_PRINTED = {"IF as printed", "IF as printed", false, false, false, part_printed},
                           P_DIFF = {"diff", "diff", false, false, false, part_difference},
                           P_RATIO = {"ratio ± se", "ratio +- se", false, false, false, part_ratio},
                           P_PUBLISHED = {"[paper]", "[paper]", false, false, false, part_published};

static const report_column *const ALL[] = {&C_SET,       &C_N,      &C_D,          &C_NOISE,     &C_MEMBERS,
                                           &C_QUANTITY,  &C_METHOD, &C_CORRECTION, &C_REPS,      &C_TRUTH,
                                           &C_PUB_TRUTH, &C_PAPER,  &C_ESTIMATE,   &C_PUBLISHED, &C_RATIO,
                                           &C_95,        &C_90,     &C_P,          NULL};
/* A cell's name says what set, size and noise it has. */
static const report_column *const NAMED[] = {&C_CELL,  &C_AT,    &C_QUANTITY, &C_METHOD, &C_CORRECTION,
                                             &C_TRUTH, &C_RATIO, &C_95,       &C_RMS,    NULL};
static const report_column *const COVERAGE[] = {&C_N,        &C_D,     &C_QUANTITY, &C_METHOD, &C_CORRECTION, &C_REPS,
                                                &C_ESTIMATE, &C_RATIO, &C_95,       &C_90,     &C_P,          NULL};
static const report_column *const BY_EV[] = {&C_N,         &C_D,    &C_TRUTH, &C_PUB_TRUTH, &P_EV,
                                             &P_PUBLISHED, &P_DIFF, &P_RATIO, &C_PAPER,     NULL};
static const report_column *const BY_INFINITE[] = {&C_N,         &C_D,    &C_TRUTH, &C_PUB_TRUTH, &P_INFINITE,
                                                   &P_PUBLISHED, &P_DIFF, &P_RATIO, &C_PAPER,     NULL};
static const report_column *const BY_IF[] = {&C_N,     &C_D,       &C_TRUTH,     &C_PUB_TRUTH, &P_IF, &P_DIFF,
                                             &P_RATIO, &P_PRINTED, &P_PUBLISHED, &C_PAPER,     NULL};
static const report_column *const BY_BA[] = {&C_N,         &C_D,    &C_TRUTH, &C_PUB_TRUTH, &P_BA,
                                             &P_PUBLISHED, &P_DIFF, &P_RATIO, &C_PAPER,     NULL};
static const report_column *const *const BY_PART[] = {BY_EV, BY_IF, BY_BA};

const report_column *const *report_study_columns(const report_table *t)
{
    const study_cell *first = report_table_next(t, NULL);
    if (t->rows == REPORT_ROWS_PART) {
        return first && report_same(first->method, "infinite") ? BY_INFINITE : BY_PART[t->part];
    }
    return t->rows == REPORT_ROWS_COVERAGE ? COVERAGE : first && first->cell ? NAMED : ALL;
}
