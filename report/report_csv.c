/* report_csv.c - one line a point, an empty cell where a number could not be had, quoted as RFC 4180 says. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* A spreadsheet would take it for something to compute. */
static bool is_formula(const char *s)
{
    char *end;
    strtod(s, &end); /* -1 is a number */
    return *s && strchr("=+-@\t", *s) && *end;
}

/* Characters that steer and broken UTF-8 as on a page, for a CSV may be shown by a terminal; a formula behind an apostrophe,
 * which is how spreadsheets write text that looks like one. */
static void put_quoted(FILE *out, const char *s)
{
    const char *quote = s[strcspn(s, ",\"\n")] ? "\"" : "";
    fprintf(out, "%s%s", quote, is_formula(s) ? "'" : "");
    while (*s) {
        size_t length = report_utf8(s);
        fputs(*s == '"' ? "\"" : "", out);
        if (!length || (report_steering(s) && *s != '\n' && *s != '\t')) {
            fputs("\xef\xbf\xbd", out);
        } else {
            fwrite(s, 1, length, out);
        }
        s += length ? length : 1;
    }
    fputs(quote, out);
}

void report_csv(FILE *out, const epiq_result *r)
{
    static const char *const with_interval[] = {"procedural", "data", "ensemble", "single"};
    fputs("at,prediction,prediction_variance", out);
    for (size_t k = 0; k < 4; k++) {
        fprintf(out, ",%s,%s_lo,%s_hi", with_interval[k], with_interval[k], with_interval[k]);
    }
    fputs(",uncorrected,infinite,predictive_lo,predictive_hi\n", out);
    for (ptrdiff_t i = 0; i < r->point_count; i++) {
        const epiq_point *p = &r->points[i];
        const epiq_part *parts[] = {&p->procedural, &p->data, &p->ensemble, &p->single};
        put_quoted(out, p->at);
        report_csv_cell(out, true, p->prediction);
        report_csv_cell(out, p->prediction_variance.known, p->prediction_variance.variance);
        for (size_t k = 0; k < 4; k++) {
            bool interval = parts[k]->known && parts[k]->has_interval;
            report_csv_cell(out, parts[k]->known, parts[k]->variance);
            report_csv_cell(out, interval, parts[k]->lo);
            report_csv_cell(out, interval && !parts[k]->open, parts[k]->hi);
        }
        report_csv_cell(out, p->corrected[EPIQ_CORRECTION_NONE].known, p->corrected[EPIQ_CORRECTION_NONE].variance);
        report_csv_cell(out, p->infinite.known, p->infinite.variance);
        report_csv_cell(out, p->predictive.known, p->predictive.lo);
        report_csv_cell(out, p->predictive.known, p->predictive.hi);
        putc('\n', out);
    }
}
