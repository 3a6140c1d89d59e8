/* select.c - one order statistic of weighted values, in about as many steps as there are values. */
#include "stats/stats.h"

static double middle_of(double a, double b, double c)
{
    double lo = a < b ? a : b, hi = a < b ? b : a;
    return c < lo ? lo : c > hi ? hi : c;
}

/* Split about a pivot, and go on in the part where the answer lies. Equal values are one step, so ties cost nothing. */
double epiqp_weighted_select(epiqp_weighted *v, ptrdiff_t count, double below)
{
    double pivot = v[0].value, passed = 0;
    while (count > 0) {
        pivot = middle_of(v[0].value, v[count / 2].value, v[count - 1].value);
        ptrdiff_t low = 0, high = count;
        double lower = 0, equal = 0;
        for (ptrdiff_t i = 0; i < high;) {
            epiqp_weighted one = v[i];
            if (one.value < pivot) {
                v[i++] = v[low];
                v[low++] = one;
                lower += one.weight;
            } else if (one.value > pivot) {
                v[i] = v[--high];
                v[high] = one;
            } else {
                equal += one.weight;
                i++;
            }
        }
        if (passed + lower > below) {
            count = low;
        } else if (passed + lower + equal > below) {
            break;
        } else {
            passed += lower + equal;
            v += high;
            count -= high;
        }
    }
    return pivot;
}
