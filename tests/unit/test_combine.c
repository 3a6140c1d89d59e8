/* epiq_combine against hand formulas, against epiq_estimate on the same kernel, and every input it refuses; the state file
 * that networks are gathered in; the start of a network; members_for. All through epiq.h but for the Jacobian's judge. */
#include "est/est.h"
#include "test.h"

#include <float.h>
#include <stdlib.h>
#include <unistd.h>

static epiq_ctx *c;
static epiq_result *r;

static void done(void)
{
    if (c) {
        epiq_result_free(c, r);
        EQ(c->live_blocks, 0);
        epiq_ctx_free(c);
    }
    c = NULL, r = NULL;
}

static int combine(const epiq_given *g, const epiq_options *o)
{
    done();
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    return epiq_combine(c, g, o, &r);
}

static epiq_matrix doubles(const char *name, ptrdiff_t rows, ptrdiff_t columns, const double *a)
{
    return (epiq_matrix){.name = name, .rows = rows, .columns = columns, .real = EPIQ_FLOAT64, .a = a};
}

static const epiq_warning *warned(const char *code)
{
    for (ptrdiff_t k = 0; r && k < r->warning_count; k++) {
        if (strcmp(r->warnings[k].code, code) == 0) {
            return &r->warnings[k];
        }
    }
    return NULL;
}

/* ---- EV and BA ---- */

TEST(ev_and_ba_are_those_of_the_hand_formulas)
{
    static const double h[] = {1, 10, 2, 10, 4, 13, 5, 15}, b[] = {3, 9, 6, 12, 0, 15};
    epiq_matrix H = doubles("h.npy", 4, 2, h), B = doubles("b.npy", 3, 2, b);
    epiq_options o = epiq_options_default();
    EQ(combine(&(epiq_given){.ensemble = &H, .batched = &B}, &o), EPIQ_OK);
    EQ(r->point_count, 2);
    EQ(r->methods, EPIQ_EV | EPIQ_BA);
    EQ(r->ensemble_size, 3);
    STR(r->points[0].at, "1");
    NEAR(r->points[0].prediction, 3, 1e-15);
    NEAR(r->points[1].prediction, 12, 1e-14);
    CLOSE(r->points[0].procedural.variance, 10.0 / 3, 1e-15); /* (4 + 1 + 1 + 4) / 3 */
    CLOSE(r->points[1].procedural.variance, 6.0, 1e-15);        /* (4 + 4 + 1 + 9) / 3 */
    /* chi-squared with 3 degrees of freedom: quantiles 0.2157952826 and 9.3484036045 at 2.5 % and 97.5 % */
    CLOSE(r->points[0].procedural.lo, 10 / 9.3484036045, 1e-9);
    CLOSE(r->points[0].procedural.hi, 10 / 0.2157952826, 1e-9);
    CLOSE(r->points[0].ensemble.variance, 3.0, 1e-15); /* variance 9 over 3 batches */
    EQ(r->points[0].ensemble.method, EPIQ_BY_BA);
    CLOSE(r->points[0].ensemble.lo, 6 / 7.3777589082, 1e-9); /* 2 degrees of freedom: -2 log(0.025), -2 log(0.975) */
    CLOSE(r->points[0].ensemble.hi, 6 / 0.0506356160, 1e-8);
    CLOSE(r->points[0].data.variance, 3 - 10.0 / 9, 1e-14);
    EQ(r->points[0].data.method, EPIQ_BY_BA_EV);
    EQ(r->points[0].member_count, 4);
    EQ(r->points[1].batch_count, 3);
    NEAR(r->points[1].members[2], 13, 0);
    NEAR(r->points[1].batches[1], 12, 0);
    EQ(r->given.members, 4);
    EQ(r->given.batches, 3);
    EQ(r->given.rows, 0);
    TRUE(warned("few_members") != NULL);
    done();
}
