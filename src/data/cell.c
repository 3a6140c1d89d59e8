/* cell.c - the meaning of one cell of text: a number in C's decimal notation, whatever the locale of the host
 * program, a missing value, an infinity, or something else.
 */
#include "data/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool digit(char b)
{
    return b >= '0' && b <= '9';
}

/* The kind of a text that is not a number. */
static epiqp_kind kind_of(const char *text, ptrdiff_t length)
{
    static const char *const WORDS[] = {"",    "na",   "n/a",  "nan",      "-nan",      "+nan",     "null",
                                        "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"};
    enum { MISSING = 7, LONGEST = 9 };
    for (int i = 0; length <= LONGEST && i < (int)(sizeof WORDS / sizeof *WORDS); i++) {
        if ((size_t)length == strlen(WORDS[i]) && strncasecmp(text, WORDS[i], (size_t)length) == 0) {
            return i < MISSING ? EPIQP_IS_MISSING : EPIQP_IS_INFINITE;
        }
    }
    return EPIQP_IS_TEXT;
}

/* [+-] digits [. digits] [e [+-] digits], at least one digit before the e. Whole numbers below 2^53 times or over a
 * power of ten up to 10^22 are both exact doubles, so one operation rounds correctly; strtod reads the others. */
static bool parse(const char *text, const char *end, locale_t plain, double *value)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *p = text;
    uint64_t whole = 0;
    int exponent = 0, given = 0;
    bool digits = false, exact = true, negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    for (bool fraction = false; p < end; p++) {
        if (digit(*p)) {
            digits = true;
            exact = exact && whole < UINT64_C(1) << 53;
            whole = exact ? 10 * whole + (uint64_t)(*p - '0') : whole;
            exponent -= fraction;
        } else if (*p == '.' && !fraction) {
            fraction = true;
        } else {
            break;
        }
    }
    if (!digits) return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        bool down = p < end && *p == '-';
        p += p < end && (*p == '-' || *p == '+');
        if (p == end) return false;
        for (; p < end && digit(*p); p++) {
            exact = exact && given < 10000; /* far out of range: strtod decides */
            given = exact ? 10 * given + (*p - '0') : given;
        }
        exponent += down ? -given : given;
    }
    if (p != end) return false;
    if (!exact || whole >= UINT64_C(1) << 53 || exponent < -22 || exponent > 22) {
        *value = strtod_l(text, NULL, plain);
    } else {
        double size = exponent < 0 ? (double)whole / power[-exponent] : (double)whole * power[exponent];
        *value = negative ? -size : size;
    }
    *value += 0.0; /* no -0: equal rows have equal bytes */
    return true;
}

epiqp_cell epiqp_cell_number(const char *text, ptrdiff_t length, locale_t plain)
{
    while (length > 0 && (*text == ' ' || *text == '\t')) { /* spaces inside quotes */
        text++;
        length--;
    }
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) {
        length--;
    }
    epiqp_cell cell = {EPIQP_IS_NUMBER, NAN, text, length};
    if (!parse(text, text + length, plain, &cell.value)) {
        cell.kind = kind_of(text, length);
    } else if (!isfinite(cell.value)) {
        cell.kind = EPIQP_IS_INFINITE;
    }
    return cell;
}

epiqp_cell epiqp_cell_label(const char *text, ptrdiff_t length)
{
    const bool missing = kind_of(text, length) == EPIQP_IS_MISSING;
    return (epiqp_cell){missing ? EPIQP_IS_MISSING : EPIQP_IS_TEXT, NAN, text, length};
}
