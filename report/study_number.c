/* study_number.c - numbers for reading: a value and its standard error share an exponent, and no digit is shown that the
 * error makes meaningless.
 */
#include "report/study_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int report_exponent(double v, int decimals)
{
    char text[48];
    snprintf(text, sizeof text, "%.*e", decimals, v);
    const char *e = strchr(text, 'e');
    return e ? (int)strtol(e + 1, NULL, 10) : 0;
}

int report_decimals(double v, double se, int usual)
{
    bool small = isfinite(se) && se > 0 && se < 0.05 * pow(10, report_exponent(v, 1));
    return small ? 2 : usual;
}

void report_scaled(char *text, size_t size, double v, int exponent, int decimals, const char *sign)
{
    char format[16];
    double m = v * pow(10, -exponent / 2) * pow(10, -(exponent - exponent / 2)); /* in halves: 10^324 overflows */
    if (fabs(m) >= 1e6) { /* the exponent of something far smaller */
        snprintf(format, sizeof format, "%%%s.%de", sign, decimals);
        snprintf(text, size, format, v);
        return;
    }
    snprintf(format, sizeof format, "%%%s.%dfe%%+03d", sign, decimals);
    snprintf(text, size, format, fabs(m) < 0.5 * pow(10, -decimals) ? copysign(0, m) : m, exponent);
}

static int digits_after_point(double v, int significant)
{
    int d = v != 0 ? significant - 1 - report_exponent(v, significant - 1) : 0;
    return d < 0 ? 0 : d > 6 ? 6 : d;
}

/* A standard error tells with one digit, but 0.1 might be 0.14. */
static int digits_of_error(double se)
{
    int one = digits_after_point(se, 1);
    return se * pow(10, one) < 1.95 && one < 6 ? one + 1 : one;
}

bool report_has_exponent(double v, report_notation s)
{
    double a = fabs(v);
    return a > 0 && (s.exponent || a < 1e-2 || a >= 1e5);
}

void report_real(char *text, size_t size, double v, double se, report_notation s)
{
    char first[48] = "", second[48] = "", *e = NULL;
    const char *sign = s.utf8 ? "±" : "+-", *space = s.compact ? "" : " ";
    if (report_has_exponent(v, s) && isfinite(v)) {
        int decimals = s.decimals ? s.decimals : report_decimals(v, se, s.exponent || isfinite(se) ? 1 : 2);
        report_scaled(first, sizeof first, v, report_exponent(v, decimals), decimals, "");
        report_scaled(second, sizeof second, se, report_exponent(v, decimals), decimals, "");
        e = s.compact ? strchr(first, 'e') : NULL;
        e = e && isfinite(se) && strstr(second, e) ? e : NULL; /* it stands behind both, once */
    } else if (isfinite(v)) {
        int decimals = isfinite(se) && se > 0 ? digits_of_error(se) : digits_after_point(v, 3);
        snprintf(first, sizeof first, "%.*f", decimals, v);
        snprintf(second, sizeof second, fabs(se) < 1e6 ? "%.*f" : "%.*e", decimals, se);
    }
    if (!isfinite(v) || !isfinite(se)) {
        snprintf(text, size, "%s", first);
        return;
    }
    if (e) {
        *e = 0;
    }
    snprintf(text, size, "%s%s%s%s%s", first, space, sign, space, second);
}
