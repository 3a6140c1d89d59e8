/* svg_axis.c - the scale of a chart: from the data's ends to pixels, and round numbers along it. */
#include "chart/svg_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool svg_drawable(const svg_axis *a, double v)
{
    return fabs(v) <= SVG_HUGEST && (!a->log || v > 0); /* NAN fails */
}

double svg_place(const svg_axis *a, double v)
{
    double t = ((a->log ? log10(v) : v) - a->lo) / (a->hi - a->lo);
    t = t < -0.02 ? -0.02 : t > 1.02 ? 1.02 : t; /* outside given ends: at the frame */
    return a->from + t * (a->to - a->from);
}

void svg_axis_see(svg_axis *a, double v)
{
    if (svg_drawable(a, v)) {
        double t = a->log ? log10(v) : v;
        a->lo = a->ends_set && a->lo < t ? a->lo : t;
        a->hi = a->ends_set && a->hi > t ? a->hi : t;
        a->ends_set = true;
    }
}

void svg_axis_settle(svg_axis *a)
{
    double size = fmax(fabs(a->lo), fabs(a->hi)), air = 0.05 * (a->hi - a->lo);
    if (!(a->hi - a->lo > 1e-9 * size)) air = a->log ? 0.3 : size > 0 ? 0.1 * size : 1;
    a->lo -= air;
    a->hi += air;
}

static void put_power(char *text, size_t size, double v)
{
    static const char *const UP[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char number[32];
    snprintf(number, sizeof number, "%.3e", v);
    char *e = strchr(number, 'e'), *end = e;
    if (!e) { /* not a finite number */
        snprintf(text, size, "%s", number);
        return;
    }
    const int power = (int)strtol(e + 1, NULL, 10);
    while (end > number && (end[-1] == '0' || end[-1] == '.')) { /* 1.500 -> 1.5 */
        end--;
        if (*end == '.') break;
    }
    *end = 0;
    int used = strcmp(number, "1") == 0 ? snprintf(text, size, "10") : snprintf(text, size, "%s×10", number);
    char digits[12];
    snprintf(digits, sizeof digits, "%d", power);
    for (const char *d = digits; *d; d++) {
        used += snprintf(text + used, size - (size_t)used, "%s", *d == '-' ? "⁻" : UP[*d - '0']);
    }
}

void svg_axis_tick(svg_axis *a, double v, bool powers, int decimals)
{
    double t = a->log ? log10(v) : v, air = 1e-9 * (a->hi - a->lo);
    if (a->ticks == SVG_TICKS || !svg_drawable(a, v) || t < a->lo - air || t > a->hi + air) return;
    a->tick[a->ticks] = v;
    char *text = a->text[a->ticks++];
    if (powers && v != 0 && v != 1) {
        put_power(text, sizeof a->text[0], v);
    } else if (decimals >= 0 && !powers) {
        snprintf(text, sizeof a->text[0], "%.*f", decimals, v);
    } else {
        snprintf(text, sizeof a->text[0], "%.6g", v);
    }
}

/* Multiples of 1, 2 or 5 times a power of ten, about five of them between lo and hi. */
static void round_ticks(svg_axis *a, double lo, double hi, int about)
{
    double raw = (hi - lo) / about, power = pow(10, floor(log10(raw)));
    double step = raw / power <= 1.5   ? power
                  : raw / power <= 3.5 ? 2 * power
                  : raw / power <= 7.5 ? 5 * power
                                       : 10 * power;
    double largest = fmax(fabs(lo), fabs(hi));
    if (!(step > 0) || !isfinite(step)) return;
    bool powers = largest < 1e-3 || largest >= 1e6;
    int decimals = (int)fmax(0, -floor(log10(step) + 1e-9));
    double first = ceil(lo / step - 1e-9);
    for (int k = 0; k < SVG_TICKS; k++) {
        double v = (first + k) * step;
        svg_axis_tick(a, fabs(v) < 1e-9 * step ? 0 : v, powers, decimals > 12 ? -1 : decimals);
    }
}

static void log_ticks(svg_axis *a)
{
    static const double FEW[] = {1}, SOME[] = {1, 2, 5}, MANY[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    int first = (int)floor(a->lo), last = (int)ceil(a->hi), decades = (int)floor(a->hi) - (int)ceil(a->lo) + 1;
    int stride = decades > 7 ? (decades + 5) / 6 : 1;
    bool powers = a->lo < -3.01 || a->hi > 5.01;
    const double *m = decades >= 4 ? FEW : decades >= 2 || a->hi - a->lo > 0.8 ? SOME : MANY;
    int count = m == FEW ? 1 : m == SOME ? 3 : 9;
    for (int e = first; e <= last; e++) {
        for (int k = 0; k < count && (e - first) % stride == 0; k++) {
            svg_axis_tick(a, m[k] * pow(10, e), powers, -1);
        }
    }
    if (a->ticks < 2) { /* less than a factor of two: as on a plain svg_axis */
        a->ticks = 0;
        round_ticks(a, pow(10, a->lo), pow(10, a->hi), 4);
    }
}

void svg_axis_ticks(svg_axis *a, int about)
{
    if (a->log) {
        log_ticks(a);
    } else {
        round_ticks(a, a->lo, a->hi, about);
    }
}

void svg_axis_ends(svg_axis *a, double lo, double hi)
{
    if (lo < hi && svg_drawable(a, lo) && svg_drawable(a, hi)) {
        a->lo = a->log ? log10(lo) : lo;
        a->hi = a->log ? log10(hi) : hi;
    }
}
