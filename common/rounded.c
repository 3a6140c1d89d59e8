/* rounded.c - numbers for people. */
#include "common/rounded.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_DIGITS = 7, MOST_DIGITS = 14 }; /* of a value; an uncertainty that takes more than the most is rounding */

/* The power of ten of the first digit, once rounded to so many digits. */
static int exponent_of(double v, int digits)
{
    char text[40];
    snprintf(text, sizeof text, "%.*e", digits - 1, v);
    return (int)strtol(text + strcspn(text, "e") + 1, NULL, 10);
}

/* "1.2e-05" as 1.2e-5 */
static epiqp_digits with_exponent(double v, int digits)
{
    epiqp_digits out;
    char text[40];
    snprintf(text, sizeof text, "%.*e", digits - 1, v);
    const size_t before = strcspn(text, "e");
    snprintf(out.text, sizeof out.text, "%.*se%d", (int)before, text, exponent_of(v, digits));
    return out;
}

/* Rounded to a multiple of 10^place. */
static epiqp_digits at_place(double v, int place)
{
    epiqp_digits out = {"0"};
    if (!isfinite(v)) return (epiqp_digits){"unknown"};
    if (v == 0) return out;
    const int digits = exponent_of(v, 2) - place + 1;
    const bool offset = digits > USUAL_DIGITS && fabs(v) < 1e15; /* large beside its uncertainty */
    if ((fabs(v) >= 1e7 && !offset) || fabs(v) < 1e-4) {
        return with_exponent(v, digits < 2 ? 2 : digits);
    }
    const double unit = place > 0 ? pow(10, place) : 1;
    snprintf(out.text, sizeof out.text, "%.*f", place < 0 ? -place : 0, place > 0 ? round(v / unit) * unit : v);
    return out;
}

epiqp_digits epiqp_rounded_sd(double sd)
{
    return at_place(sd, isfinite(sd) && sd != 0 ? exponent_of(sd, 2) - 1 : 0);
}

epiqp_digits epiqp_rounded_beside(double value, double sd)
{
    if (!isfinite(value) || value == 0) return at_place(value, 0);
    if (!isfinite(sd) || sd == 0) return epiqp_rounded_plain(value);
    const int own = exponent_of(value, 2), matching = exponent_of(sd, 2) - 1;
    const int place = matching < own - 1 ? matching : own - 1; /* two digits of the value at least */
    return at_place(value, own - place < MOST_DIGITS ? place : own - USUAL_DIGITS + 1);
}

epiqp_digits epiqp_rounded_end(double value, double sd)
{
    if (!isfinite(value) || !isfinite(sd) || sd == 0) return epiqp_rounded_plain(value);
    const int place = exponent_of(sd, 2) - 1;
    if (fabs(value) < pow(10, place) / 2) return at_place(0, 0);
    return fabs(value) < 1e-4 || exponent_of(value, 2) - place >= MOST_DIGITS ? epiqp_rounded_beside(value, sd)
                                                                              : at_place(value, place);
}

epiqp_digits epiqp_rounded_plain(double value)
{
    epiqp_digits out;
    if (!isfinite(value) || value == 0) return at_place(value, 0);
    if (fabs(value) >= 1e7 || fabs(value) < 1e-4) { /* without trailing zeros, as %g */
        int digits = 1;
        while (digits < 6 &&
               strtod(with_exponent(value, digits).text, NULL) != strtod(with_exponent(value, 6).text, NULL)) {
            digits++;
        }
        return with_exponent(value, digits);
    }
    snprintf(out.text, sizeof out.text, fabs(value) >= 1e5 ? "%.0f" : "%.6g", value);
    return out;
}

epiqp_digits epiqp_rounded_to(double value, int digits)
{
    epiqp_digits out;
    const bool whole = fabs(value) >= pow(10, digits) && fabs(value) < 1e7;
    snprintf(out.text, sizeof out.text, whole ? "%.*f" : "%.*g", whole ? 0 : digits, value);
    return out;
}

epiqp_digits epiqp_rounded_r2(double r2)
{
    epiqp_digits out;
    if (!(r2 >= 0)) return epiqp_rounded_sd(r2);
    const int nines = r2 < 1 ? -exponent_of(1 - r2, 1) : 0;
    snprintf(out.text, sizeof out.text, "%.*f", nines < 2 ? 2 : nines > 6 ? 6 : nines, r2);
    return out;
}
