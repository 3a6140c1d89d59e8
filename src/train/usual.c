/* usual.c - what training to the minimum (flow.c) usually takes, for forecasts and for limits of work that must not depend on
 * a clock. The powers are fitted to 515 trainings along the flow to its end: the five tables of CONTRIBUTING.md and made-up ones of 50
 * to 4000 rows and 1 to 300 features, widths 16 to 1024, depths 1 to 3; the factors to 14 ensembles trained as it is done now
 * (docs/method.md section 5). At lambda 1e-4 and below the gradients taken depend on the targets, by a factor 2.
 */
#include "train/flow.h"

#include <math.h>

/* Gradients: FIRST whatever lambda is, and a term with fitted powers of 1/lambda, depth and features (n rows count for
 * at most n features). Narrow networks take more. */
static const double FIRST = 50, LAMBDA_FACTOR = 1, LAMBDA_POWER = 0.59, DEPTH_POWER = 0.575, FEATURES = 80,
                    FEATURES_POWER = 0.84, NARROW = 6, MOST = 25000;
/* Many rows begin with a part of them, which grows (flow.c): GROWING times the first part's share of these gradients,
 * and OF_ALL times their square root. Ten settings of 150,000 to a million rows took 0.7 to 1.6 times that. */
static const double GROWING = 3.5, OF_ALL = 2;
/* With implicit steps (implicit.c) the gradients are IMPLICIT times the square root of these, times powers of n/width and of the
 * features; kernels, J g and J'u take as long as BESIDE_IMPLICIT times as many gradients. Ten settings of 1000 rows, 32 to 1000
 * features, depths 2 and 3 and widths 256 to 1024 took 0.8 to 1.5 times these gradients. */
static const double IMPLICIT = 3.5, ROWS_POWER = 0.5, IMPLICIT_FEATURES = 0.3, BESIDE_IMPLICIT = 0.4;
/* Products J'J v, and J'u over some of the rows, which cost half as much: the search for leading directions is repeated
 * whenever the time, up to its end in units of 1/lambda, has grown 64-fold. */
static const double PRODUCTS = 18, STRONG = 0.1, PRODUCTS_POWER = 0.14, PRODUCTS_DEPTH = 0.35;

epiqp_effort epiqp_usual_effort(const epiqp_net *net, ptrdiff_t n, double lambda)
{
    const double depth = (double)net->depth, features = (double)epiqp_min(net->d, n), small = fmax(lambda, 1e-9),
                 gradients = FIRST + LAMBDA_FACTOR * pow(small, -LAMBDA_POWER) * pow(depth, DEPTH_POWER) *
                                         (1 + pow(features / FEATURES, FEATURES_POWER)) *
                                         (1 + NARROW / (double)net->width);
    const double share = (double)epiqp_part_rows(n) / (double)epiqp_max(n, 1), all = fmin(gradients, MOST),
                 products = PRODUCTS * pow(fmax(1, STRONG / small), PRODUCTS_POWER) * pow(depth, PRODUCTS_DEPTH);
    if (epiqp_implicit_worth(net, n)) {
        const double taken = IMPLICIT * sqrt(all) * pow((double)n / (double)net->width, ROWS_POWER) *
                             pow(1 + features / FEATURES, IMPLICIT_FEATURES);
        return (epiqp_effort){.gradients = taken, .products = BESIDE_IMPLICIT * taken};
    }
    return (epiqp_effort){.gradients = share < 1 ? fmin(all, OF_ALL * sqrt(all) + GROWING * share * all) : all,
                          .products = share * products};
}
