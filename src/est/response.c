/* response.c - from the networks' answers to changed targets to one number: how much they follow the data, in variance,
 * against kernel regression (docs/method.md section 5).
 */
#include "est/est.h"

#include <math.h>

/* With GG, Gd, dd the sums of the products and E that of dd's expectation over all signs, known without them:
 *     b = Gd/dd,   kappa = (GG + b^2 (E - dd))/E
 * The kernel is a control variate: where the signs drawn move it more than signs do on average, they move the networks
 * more as well, b^2 times as much. */
double epiqp_kappa(const epiqp_response *of, ptrdiff_t replicates, ptrdiff_t folds, ptrdiff_t skip)
{
    epiqp_response sum = {0};
    for (ptrdiff_t r = 0; r < replicates; r++) {
        if (r % folds != skip) {
            sum.products += of[r].products;
            sum.with_kernel += of[r].with_kernel;
            sum.kernel += of[r].kernel;
            sum.expected += of[r].expected;
        }
    }
    double b = sum.kernel > 0 ? sum.with_kernel / sum.kernel : 0;
    return sum.expected > 0 ? (sum.products + b * b * (sum.expected - sum.kernel)) / sum.expected : 0;
}
