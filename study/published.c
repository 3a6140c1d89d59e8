/* published.c - what the paper prints in its tables: results_all (set 1), results2, results3 (sets 2 and 3) and results7
 * (real tables, where no truth is known).
 */
#include "study/lab.h"

#include <string.h>

static const struct {
    int set;
    ptrdiff_t n, d;
    lab_published v; /* tau^2: truth, EV; sigma^2/n: truth, IF; their sum: truth, BA */
} SYNTHETIC[] = {
    {1, 200, 2, {5e-05, 4e-05, 0.00016, 0.00018, 0.00017, 0.00017}},
    {1, 200, 4, {0.00016, 0.00015, 0.00033, 0.00035, 0.00036, 0.00038}},
    {1, 200, 8, {0.00093, 0.00091, 0.00047, 0.00048, 0.00066, 0.00068}},
    {1, 200, 16, {0.0021, 0.002, 0.0007, 0.0008, 0.0011, 0.0012}},
    {1, 200, 32, {0.0037, 0.0035, 0.0015, 0.0017, 0.0022, 0.0023}},
    {1, 500, 2, {4e-05, 3e-05, 7e-05, 9e-05, 8e-05, 0.0001}},
    {1, 500, 4, {0.00016, 0.00015, 0.00014, 0.00018, 0.00017, 0.00019}},
    {1, 500, 8, {0.00092, 0.0009, 0.00021, 0.00024, 0.00039, 0.00041}},
    {1, 500, 16, {0.0021, 0.002, 0.0003, 0.0004, 0.0007, 0.0008}},
    {1, 500, 32, {0.0037, 0.0036, 0.0007, 0.0008, 0.0014, 0.0016}},
    {1, 1000, 2, {4e-05, 3e-05, 4e-05, 6e-05, 5e-05, 5e-05}},
    {1, 1000, 4, {0.00015, 0.00014, 8e-05, 0.0001, 0.00011, 0.00014}},
    {1, 1000, 8, {0.00092, 0.00089, 0.00013, 0.00016, 0.00031, 0.00033}},
    {1, 1000, 16, {0.002, 0.0019, 0.0002, 0.0003, 0.0006, 0.0007}},
    {1, 1000, 32, {0.0036, 0.0033, 0.0004, 0.0004, 0.0011, 0.0012}},
    {2, 200, 2, {0.0001, 0.0001, 0.0011, 0.0015, 0.0011, 0.0015}},
    {2, 200, 4, {0.0017, 0.0014, 0.0081, 0.0087, 0.0084, 0.0086}},
    {2, 200, 8, {0.018, 0.013, 0.048, 0.05, 0.052, 0.056}},
    {2, 200, 16, {0.14, 0.09, 0.3, 0.34, 0.33, 0.36}},
    {3, 500, 2, {0.00045, 0.00043, 0.00057, 0.00063, 0.00066, 0.00069}},
    {3, 500, 4, {0.0011, 0.0008, 0.0039, 0.0045, 0.0041, 0.0043}},
    {3, 500, 8, {0.01, 0.007, 0.021, 0.024, 0.023, 0.025}},
    {3, 500, 16, {0.04, 0.02, 0.06, 0.08, 0.07, 0.08}},
};

static const struct {
    const char *table;
    double tau2, data, ensemble; /* EV, IF, BA */
} REAL[] = {
    {"boston", 0.0091, 0.0002, 0.0023}, {"concrete", 0.0013, 0.0004, 0.0007}, {"energy", 0.0108, 0.0002, 0.0025},
    {"wine", 0.002, 0.0001, 0.0006},    {"yacht", 0.0013, 0.0001, 0.0005},
};

static const lab_published NOTHING = {NAN, NAN, NAN, NAN, NAN, NAN};

lab_published lab_published_synthetic(int set, ptrdiff_t n, ptrdiff_t d)
{
    for (size_t k = 0; k < sizeof SYNTHETIC / sizeof *SYNTHETIC; k++) {
        if (SYNTHETIC[k].set == set && SYNTHETIC[k].n == n && SYNTHETIC[k].d == d) {
            return SYNTHETIC[k].v;
        }
    }
    return NOTHING;
}

lab_published lab_published_real(const char *table)
{
    for (size_t k = 0; k < sizeof REAL / sizeof *REAL; k++) {
        if (strcmp(REAL[k].table, table) == 0) {
            return (lab_published){NAN, REAL[k].tau2, NAN, REAL[k].data, NAN, REAL[k].ensemble};
        }
    }
    return NOTHING;
}
