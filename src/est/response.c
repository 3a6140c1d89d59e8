/* response.c - from the networks' answers to changed targets to how much they follow the data, in variance, against
 * kernel regression: kappa, and how it rises with the kernel's own variance over x (docs/method.md section 3).
 */
#include "est/est.h"

#include <math.h>

/* Over many settings of known truth the exponent was 0.1 to 0.3; a table tells it to about 0.2. */
static const double USUAL = 0.15, USUAL_SD = 0.15, LEAST_SD = 0.05, MOST = 0.5;

static void add(epiqp_response *sum, const epiqp_response *more)
{
    sum->products += more->products;
    sum->with_kernel += more->with_kernel;
    sum->kernel += more->kernel;
    sum->expected += more->expected;
    sum->logs += more->logs;
}

/* With GG, Gd, dd the sums of the products and E that of dd's expectation over all signs, known without them:
 *     b = Gd/dd,   kappa = (GG + b^2 (E - dd))/E
 * The kernel is a control variate: where the signs drawn move it more than signs do on average, they move the networks
 * more as well, b^2 times as much. */
static double follow(const epiqp_response *sum, double b)
{
    return sum->expected > 0 ? (sum->products + b * b * (sum->expected - sum->kernel)) / sum->expected : 0;
}

/* Over rows where the kernel varies little and those where it varies much, log(kappa_1/kappa_0) is the exponent times the
 * difference of their mean logs. */
static epiqp_followed from(epiqp_response (*of)[2], ptrdiff_t replicates, ptrdiff_t folds, ptrdiff_t skip)
{
    epiqp_response half[2] = {0}, all = {0};
    for (ptrdiff_t r = 0; r < replicates; r++) {
        for (int h = 0; r % folds != skip && h < 2; h++) {
            add(&half[h], &of[r][h]);
            add(&all, &of[r][h]);
        }
    }
    double b = all.kernel > 0 ? all.with_kernel / all.kernel : 0, low = follow(&half[0], b), high = follow(&half[1], b);
    double apart = half[0].expected > 0 && half[1].expected > 0
                       ? half[1].logs / half[1].expected - half[0].logs / half[0].expected
                       : 0;
    bool known = low > 0 && high > 0 && apart > 0.1;
    return (epiqp_followed){.kappa = follow(&all, b), .exponent = known ? log(high / low) / apart : NAN};
}

epiqp_followed epiqp_follow(epiqp_response (*of)[2], ptrdiff_t replicates, ptrdiff_t folds, ptrdiff_t skip)
{
    epiqp_followed all = from(of, replicates, folds, skip);
    double square = 0, count = 0;
    for (ptrdiff_t f = 0; skip < 0 && f < folds; f++) {
        double one = from(of, replicates, folds, f).exponent;
        if (isfinite(one) && isfinite(all.exponent)) {
            square += (one - all.exponent) * (one - all.exponent);
            count++;
        }
    }
    double own = fmax((count - 1) / fmax(count, 1) * square, LEAST_SD * LEAST_SD), prior = USUAL_SD * USUAL_SD;
    bool known = count > 2;
    double exponent = known ? (all.exponent / own + USUAL / prior) / (1 / own + 1 / prior) : USUAL;
    all.exponent = fmax(0, fmin(exponent, MOST));
    return all;
}
