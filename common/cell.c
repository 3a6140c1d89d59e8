/* cell.c - the meaning of one cell of text: a number in C's decimal notation, whatever the locale of the host
 * program, a missing value, an infinity, or something else; and numbers as people write them, with marks.
 */
#include "common/cell.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
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

/* whole 10^exponent rounded to a double, by a long double of 64 bits. That rounds twice, which is rounding once unless the
 * first result is within one of its last bits of the middle between two doubles: then false. */
static bool rounded(uint64_t whole, int exponent, double *value)
{
#if LDBL_MANT_DIG == 64
    enum { MOST = 27, LOW = 1 << 11 }; /* 5^27 < 2^64: powers of ten that are exact; what a double has not */
    static const long double power[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                        1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                        1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
    if (!whole || exponent < -MOST || exponent > MOST) return false;
    const long double size =
        exponent < 0 ? (long double)whole / power[-exponent] : (long double)whole * power[exponent];
    uint64_t bits;
    memcpy(&bits, &size, sizeof bits); /* an x87 long double begins with its 64 bits */
    const uint64_t low = bits % LOW, middle = LOW / 2;
    if (low + 1 >= middle && low <= middle + 1) return false;
    *value = (double)size;
    return true;
#else
    (void)whole;
    (void)exponent;
    (void)value;
    return false;
#endif
}

/* [+-] digits [. digits] [e [+-] digits], at least one digit before the e. Whole numbers below 2^53 times or over a
 * power of ten up to 10^22 are both exact doubles, so one operation rounds correctly; longer ones go by long double, and
 * strtod reads the others. */
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
            exact = exact && whole < UINT64_MAX / 10;
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
    double size;
    if (exact && whole < UINT64_C(1) << 53 && exponent >= -22 && exponent <= 22) {
        size = exponent < 0 ? (double)whole / power[-exponent] : (double)whole * power[exponent];
        *value = negative ? -size : size;
    } else if (exact && rounded(whole, exponent, &size)) {
        *value = negative ? -size : size;
    } else {
        *value = strtod_l(text, NULL, plain);
    }
    *value += 0.0; /* no -0: equal rows have equal bytes */
    return true;
}

epiqp_cell epiqp_cell_number(const char *text, ptrdiff_t length, locale_t plain)
{
    const epiqp_cell whole = {EPIQP_IS_TEXT, NAN, text, length};
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
        if (cell.kind == EPIQP_IS_TEXT) cell = whole; /* as a label column has it */
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

/* ---- what people write ---- */

static bool equal(const char *text, ptrdiff_t length, const char *word)
{
    return (size_t)length == strlen(word) && strncasecmp(text, word, (size_t)length) == 0;
}

int epiqp_truth(const char *text, ptrdiff_t length)
{
    if (equal(text, length, "true") || equal(text, length, "yes")) return 1;
    return equal(text, length, "false") || equal(text, length, "no") ? 0 : -1;
}

static ptrdiff_t digits_at(const char *p, const char *end)
{
    const char *start = p;
    while (p < end && digit(*p)) {
        p++;
    }
    return p - start;
}

/* Three whole numbers with '-', '/' or '.' between, or two with ':', at the beginning. */
bool epiqp_is_date(const char *text, ptrdiff_t length)
{
    const char *end = text + length, *p = text;
    ptrdiff_t first = digits_at(p, end);
    p += first;
    if (!first || first > 4 || p == end || !strchr("-/.:", *p)) return false;
    const char between = *p++;
    const ptrdiff_t second = digits_at(p, end);
    p += second;
    if (second < 1 || second > 2) return false;
    return between == ':' || (p < end && *p == between && digits_at(p + 1, end) > 0);
}

typedef struct {
    const char *p, *end;
} span;

static void trim(span *s)
{
    while (s->p < s->end && *s->p == ' ') {
        s->p++;
    }
    for (bool more = true; more && s->p < s->end;) {
        const bool space = s->end[-1] == ' ', fixed = s->end - s->p >= 2 && !memcmp(s->end - 2, "\xC2\xA0", 2);
        s->end -= fixed ? 2 : space;
        more = space || fixed;
    }
}

/* Takes a currency from the beginning, or a currency or a percent sign from the end. */
static const char *take_unit(span *s)
{
    static const char *const UNITS[] = {"%", "$", "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5"}; /* euro, pound, yen */
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
        const ptrdiff_t size = (ptrdiff_t)strlen(UNITS[i]);
        const bool fits = s->end - s->p > size, first = fits && i && !memcmp(s->p, UNITS[i], (size_t)size);
        if (!first && (!fits || memcmp(s->end - size, UNITS[i], (size_t)size) != 0)) continue;
        s->p += first ? size : 0;
        s->end -= first ? 0 : size;
        trim(s);
        return UNITS[i];
    }
    return NULL;
}

/* Copies digits, if there are from `least` to `most` of them. */
static bool take_digits(span *s, ptrdiff_t least, ptrdiff_t most, char **out)
{
    const ptrdiff_t count = digits_at(s->p, s->end);
    if (count < least || count > most) return false;
    memcpy(*out, s->p, (size_t)count);
    s->p += count;
    *out += count;
    return true;
}

/* The number without what groups its digits by three and with a point for `comma`, ended by a zero byte. False: it is
 * not written so. */
static bool ungroup(span s, char group, char comma, char *out)
{
    const ptrdiff_t all = s.end - s.p, first = digits_at(s.p, s.end);
    const bool grouped = first < all && s.p[first] == group;
    if (!take_digits(&s, 1, grouped ? 3 : all, &out)) return false;
    while (s.p < s.end && *s.p == group) {
        s.p++;
        if (!take_digits(&s, 3, 3, &out)) return false;
    }
    if (s.p < s.end && *s.p == comma) {
        s.p++;
        *out++ = '.';
        if (!take_digits(&s, 1, all, &out)) return false;
    }
    memcpy(out, s.p, (size_t)(s.end - s.p)); /* an exponent, or what makes it no number */
    out[s.end - s.p] = '\0';
    return true;
}

/* A whole number of exactly so many digits, from least to most. */
static bool take_count(span *s, ptrdiff_t digits, int least, int most, int *out)
{
    if (digits_at(s->p, s->end) != digits) return false;
    for (*out = 0; digits > 0; digits--) {
        *out = 10 * *out + (*s->p++ - '0');
    }
    return *out >= least && *out <= most;
}

static bool take_byte(span *s, const char *any_of)
{
    if (s->p == s->end || !strchr(any_of, *s->p)) return false;
    s->p++;
    return true;
}

/* 2024-03-15, with or without a time (T or a space, then 13:45 or 13:45:30): days since the beginning of 1970. Other ways to write
 * a date have more than one meaning. */
static bool iso_date(span s, double *days)
{
    static const int LENGTH[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day, hour = 0, minute = 0, second = 0;
    if (!take_count(&s, 4, 1, 9999, &year) || !take_byte(&s, "-") || !take_count(&s, 2, 1, 12, &month) ||
        !take_byte(&s, "-") || !take_count(&s, 2, 1, 31, &day)) {
        return false;
    }
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (day > LENGTH[month - 1] + (month == 2 && leap)) return false;
    if (s.p < s.end && (!take_byte(&s, "T ") || !take_count(&s, 2, 0, 23, &hour) || !take_byte(&s, ":") ||
                        !take_count(&s, 2, 0, 59, &minute))) {
        return false;
    }
    if (s.p < s.end && (!take_byte(&s, ":") || !take_count(&s, 2, 0, 59, &second))) return false;
    if (s.p < s.end) return false;
    const int before = year - 1; /* whole years since the year 1, and of them leap years */
    *days = 365.0 * before + before / 4 - before / 100 + before / 400 + day - 1 - 719162;
    for (int k = 0; k < month - 1; k++) {
        *days += LENGTH[k] + (k == 1 && leap);
    }
    *days += (3600.0 * hour + 60.0 * minute + second) / 86400;
    return true;
}

bool epiqp_cell_marked(epiqp_cell *cell, char delimiter, locale_t plain, const char **unit)
{
    enum { LONGEST = 48 };
    char number[LONGEST + 2] = "-";
    span s = {cell->text, cell->text + cell->length};
    *unit = NULL;
    trim(&s);
    if (iso_date(s, &cell->value)) {
        cell->kind = EPIQP_IS_NUMBER;
        *unit = EPIQP_DATES;
        return true;
    }
    char sign = '\0';
    for (int k = 0; k < 2; k++) { /* -$5 or $-5 */
        if (s.p < s.end && (*s.p == '-' || *s.p == '+') && !sign) {
            sign = *s.p++;
        }
        if (!*unit) *unit = take_unit(&s);
    }
    const bool commas = delimiter == ';' && memchr(s.p, ',', (size_t)(s.end - s.p));
    if (s.end == s.p || s.end - s.p > LONGEST || !ungroup(s, commas ? '.' : ',', commas ? ',' : '.', number + 1)) {
        return false;
    }
    const char *from = number + (sign != '-');
    const epiqp_cell read = epiqp_cell_number(from, (ptrdiff_t)strlen(from), plain);
    if (read.kind != EPIQP_IS_NUMBER) return false;
    cell->kind = EPIQP_IS_NUMBER;
    cell->value = read.value;
    return true;
}
