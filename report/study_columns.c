/* study_columns.c - what the tables of a study may show: for each column its head, the member of the cell that it shows and
 * how it is written, and the tables that have it. Which are known, and fit, study_table.c finds out.
 */
#include "report/study_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers for reading: a value and its standard error share an exponent, and no digit is shown that the error makes
 * meaningless: 4.7e-04 ± 0.3e-04, 0.96 ± 0.06 ---- */

typedef struct {
    bool exponent; /* always; otherwise where the number is small or large */
    bool compact;  /* 4.7±0.3e-04 */
    bool brackets; /* around it */
    int decimals;  /* of the mantissa; 0: as the error needs */
    bool utf8;
} notation;

/* Of v written so: 9.96 with one decimal is 10. */
static int decimal_exponent(double v, int decimals)
{
    char text[48];
    snprintf(text, sizeof text, "%.*e", decimals, v);
    const char *e = strchr(text, 'e');
    return e ? (int)strtol(e + 1, NULL, 10) : 0;
}

int needed_decimals(double v, double se, int usual)
{
    bool small = isfinite(se) && se > 0 && se < 0.05 * pow(10, decimal_exponent(v, 1));
    return small ? 2 : usual;
}

/* sign: a flag of printf. */
static phrase format_scaled(double v, int exponent, int decimals, const char *sign)
{
    double m = v * pow(10, -exponent / 2) * pow(10, -(exponent - exponent / 2)); /* in halves: 10^324 overflows */
    const bool smaller = fabs(m) >= 1e6; /* the exponent is of something far smaller */
    const phrase format = phrase_of(smaller ? "%%%s.%de" : "%%%s.%dfe%%+03d", sign, decimals);
    return phrase_of(format.text, smaller ? v : fabs(m) < 0.5 * pow(10, -decimals) ? copysign(0, m) : m, exponent);
}

static int digits_after_point(double v, int significant)
{
    int d = v != 0 ? significant - 1 - decimal_exponent(v, significant - 1) : 0;
    return d < 0 ? 0 : d > 6 ? 6 : d;
}

/* A standard error tells with one digit, but 0.1 might be 0.14. */
static int digits_of_error(double se)
{
    int one = digits_after_point(se, 1);
    return se * pow(10, one) < 1.95 && one < 6 ? one + 1 : one;
}

static bool has_exponent(double v, notation s)
{
    double a = fabs(v);
    return a > 0 && (s.exponent || a < 1e-2 || a >= 1e5);
}

/* Value and standard error with one exponent; se may be NAN. Empty when v is not finite. */
static phrase format_real(double v, double se, notation s)
{
    phrase first = {""}, second = {""};
    const char *sign = s.utf8 ? "±" : "+-", *space = s.compact ? "" : " ";
    char *e = NULL; /* where the exponent is written once, behind both */
    if (has_exponent(v, s) && isfinite(v)) {
        int decimals = s.decimals ? s.decimals : needed_decimals(v, se, s.exponent || isfinite(se) ? 1 : 2);
        first = format_scaled(v, decimal_exponent(v, decimals), decimals, "");
        second = format_scaled(se, decimal_exponent(v, decimals), decimals, "");
        e = s.compact ? strchr(first.text, 'e') : NULL;
        e = e && isfinite(se) && strstr(second.text, e) ? e : NULL;
    } else if (isfinite(v)) {
        int decimals = isfinite(se) && se > 0 ? digits_of_error(se) : digits_after_point(v, 3);
        first = phrase_of("%.*f", decimals, v);
        second = phrase_of(fabs(se) < 1e6 ? "%.*f" : "%.*e", decimals, se);
    }
    if (!isfinite(v) || !isfinite(se)) return first;
    return phrase_of("%.*s%s%s%s%s", e ? (int)(e - first.text) : (int)sizeof first.text, first.text, space, sign, space,
                     second.text);
}

static const void *member(const study_cell *row, size_t offset)
{
    return (const char *)row + offset;
}

study_number layout_number(const study_cell *row, size_t offset)
{
    return *(const study_number *)member(row, offset);
}

ptrdiff_t layout_count(const study_cell *row, size_t offset)
{
    return *(const ptrdiff_t *)member(row, offset);
}

const char *layout_text(const study_cell *row, size_t offset)
{
    return *(const char *const *)member(row, offset);
}

/* Variances are written as the paper writes them, all other numbers as their size demands. */
static notation style_of(const layout *t, const study_cell *row)
{
    static const char *const VARIANCES[] = {"procedural", "data", "ensemble", "single", "answer"};
    bool variance = false;
    for (size_t k = 0; k < sizeof VARIANCES / sizeof *VARIANCES; k++) {
        variance = variance || same_text(row->quantity, VARIANCES[k]);
    }
    return (notation){.exponent = variance, .compact = t->narrow, .decimals = t->decimals, .utf8 = t->utf8};
}

#define UNUSED __attribute__((unused))
#define WRITER(name)                                                                                                   \
    static void name(UNUSED const layout *t, UNUSED const layout_column *c, const study_cell *row, doc_cell *out)

WRITER(put_label)
{
    const char *text = layout_text(row, c->at);
    out->text = text && *text ? text : NULL;
}

WRITER(put_count)
{
    const ptrdiff_t count = layout_count(row, c->at);
    if (!count) return;
    *out = cell_words("%td", count);
    out->value = (double)count;
}

static void put_number(doc_cell *out, study_number v, bool with_error, notation s)
{
    const phrase text = format_real(v.value, with_error ? v.se : NAN, s);
    *out = cell_words(s.brackets && *text.text ? "[%s]" : "%s", text.text);
    out->value = v.value;
    out->se = v.se;
}

WRITER(put_value)
{
    notation s = style_of(t, row);
    s.brackets = c->look == LOOK_BRACKETS;
    s.compact = s.compact || c->look == LOOK_COMPACT;
    s.decimals = c->look == LOOK_COMPACT || s.brackets ? 0 : s.decimals; /* as many as the paper has */
    put_number(out, layout_number(row, c->at), c->look != LOOK_HINT, s);
}

WRITER(put_estimate)
{
    bool interval = isfinite(row->lo) && isfinite(row->hi);
    notation s = style_of(t, row);
    put_number(out, row->estimate, !interval, s);
    if (*out->words && interval) {
        const size_t used = strlen(out->words);
        s.exponent = has_exponent(row->estimate.value, s); /* the ends look like what they enclose */
        snprintf(out->words + used, sizeof out->words - used, " [%s, %s]", format_real(row->lo, NAN, s).text,
                 format_real(row->hi, NAN, s).text);
        out->lo = row->lo;
        out->hi = row->hi;
    }
}

WRITER(put_ratio)
{
    put_number(out, row->ratio, true, (notation){.compact = t->narrow, .utf8 = t->utf8});
    if (!isfinite(row->ratio.se) &&
        fabs(row->ratio.value) < 1e3) { /* as many decimals as those with an error, mostly */
        snprintf(out->words, sizeof out->words, "%.2f", row->ratio.value);
    }
}

WRITER(put_rate)
{
    const study_rate *s = member(row, c->at);
    const double level = c->at == offsetof(study_cell, coverage) ? 0.95 : 0.9;
    bool interval = s->lo >= -1 && s->lo <= s->hi && s->hi <= 2; /* NAN fails */
    if (!(s->rate >= 0 && s->rate <= 1)) return;
    snprintf(out->words, sizeof out->words, interval ? "%.1f [%.1f, %.1f]" : "%.1f", 100 * s->rate, 100 * s->lo,
             100 * s->hi);
    out->lo = interval ? s->lo : NAN;
    out->hi = interval ? s->hi : NAN;
    out->value = s->rate;
    out->off = interval && !(s->lo <= level && level <= s->hi);
}

WRITER(put_decimals)
{
    const double v = *(const double *)member(row, c->at);
    const bool p = c->at == offsetof(study_cell, p_value);
    if (p ? v >= 0 && v <= 1 : v > 0 && v < 1e3) {
        snprintf(out->words, sizeof out->words, !p ? "%.2f" : v < 0.0005 ? "%.0e" : "%.3f", v);
        out->value = v;
    }
}

WRITER(put_difference)
{
    if (isfinite(row->difference)) { /* with the exponent of the truth, so that the two can be compared */
        double truth = isfinite(row->truth.value) && row->truth.value != 0 ? row->truth.value : row->difference;
        *out = cell_words("%s",
                          format_scaled(row->difference, decimal_exponent(truth, t->decimals), t->decimals, "+").text);
        out->value = row->difference;
    }
}

doc_cell layout_cell(const layout *t, const study_cell *row, const layout_column *c)
{
    doc_cell cell = cell_number(NAN);
    const study_cell *from = layout_source_cell(t, row, c->from);
    if (from) c->write(t, c, from, &cell);
    return cell;
}

/* ---- the columns ---- */

/* All cells; cells whose name says what set, size and noise they have; those with coverage; the paper's layout by method. */
enum {
    ALL = 1,
    NAMED = 2,
    COVERAGE = 4,
    EV = 8,
    IF = 16,
    BA = 32,
    INFINITE = 64,
    OTHERS = EV | BA | INFINITE,
    PAPER = OTHERS | IF
};

int layout_list(const layout *t)
{
    static const int BY_PART[] = {EV, IF, BA};
    const study_cell *first = layout_next(t, NULL);
    if (t->rows == ROWS_PART) return first && same_text(first->method, "infinite") ? INFINITE : BY_PART[t->part];
    return t->rows == ROWS_COVERAGE ? COVERAGE : first && first->cell ? NAMED : ALL;
}

#define AT(member) .at = offsetof(study_cell, member)
#define TEXT(member) #member, .align = DOC_LEFT | DOC_NAME, .write = put_label, AT(member)
#define COUNT(member) #member, .align = DOC_NAME, .write = put_count, AT(member)
#define ESTIMATE .write = put_value, AT(estimate), .look = LOOK_HINT
#define RATIO "ratio ± se", .plain = "ratio +- se", .write = put_ratio
#define PUBLISHED(member) "[paper]", .write = put_value, AT(member), .look = LOOK_BRACKETS
#define PAPER_TRUTH "paper's way", .write = put_value, AT(paper_truth), .look = LOOK_COMPACT
const layout_column LAYOUT_CHOICES[] = {
    {TEXT(cell), .lists = NAMED},
    {TEXT(set), .lists = ALL},
    {COUNT(n), .lists = ALL | COVERAGE | PAPER},
    {COUNT(d), .lists = ALL | COVERAGE | PAPER},
    {TEXT(at), .lists = NAMED},
    {TEXT(noise), .lists = ALL},
    {COUNT(members), .lists = ALL},
    {TEXT(quantity), .lists = ALL | NAMED | COVERAGE},
    {TEXT(method), .lists = ALL | NAMED | COVERAGE},
    {TEXT(correction), .lists = ALL | NAMED | COVERAGE},
    {COUNT(reps), .lists = ALL | COVERAGE},
    {"truth ± se", ALL | NAMED | PAPER, "truth +- se", .write = put_value, AT(truth)},
    {PUBLISHED(published_truth), .lists = ALL | PAPER},
    {PAPER_TRUTH, .lists = ALL},
    {"estimate", ALL | COVERAGE, .write = put_estimate},
    {"EV", EV, ESTIMATE, .from = FROM_USUAL},
    {"IF", IF, ESTIMATE, .from = FROM_USUAL},
    {"BA", BA, ESTIMATE, .from = FROM_USUAL},
    {"infinite width", INFINITE, ESTIMATE, .from = FROM_USUAL},
    {PUBLISHED(published), .lists = OTHERS, .from = FROM_PUBLISHED},
    {PUBLISHED(published), .lists = ALL},
    {"diff", PAPER, .write = put_difference, .from = FROM_USUAL},
    {RATIO, .lists = ALL | NAMED | COVERAGE},
    {RATIO, .lists = PAPER, .from = FROM_USUAL},
    {"IF as printed", IF, ESTIMATE, .from = FROM_PRINTED},
    {PUBLISHED(published), .lists = IF, .from = FROM_PUBLISHED},
    {PAPER_TRUTH, .lists = PAPER},
    {"coverage, 95 %", ALL | NAMED | COVERAGE, .write = put_rate, AT(coverage), .star = true},
    {"coverage, 90 %", ALL | COVERAGE, .write = put_rate, AT(coverage90), .star = true},
    {"rms log", NAMED, .write = put_decimals, AT(rms_log)},
    {"p", ALL | COVERAGE, .write = put_decimals, AT(p_value)},
    {NULL},
};
