/* advice.c - one line on what to do: train more members, collect more rows, either, or nothing. */
#include "est/assemble.h"

#include <math.h>
#include <stdio.h>

static const double NEGLIGIBLE = 0.01; /* of the leave-one-out squared error: less than this cannot be noticed */
static const double DOMINATES = 2;     /* a part that is this many times the other decides alone */
static const double SETTLED = 0.1;     /* enough members: procedural / m below this fraction of the data variance, or
                                        * too small to be noticed */

/* Means over the points that have both parts, and what follows from them. */
typedef struct {
    ptrdiff_t points;
    double procedural, data, m, ensemble; /* ensemble: data + procedural / m */
    double error2;                        /* leave-one-out; 0: unknown */
    double enough;                        /* members, for the procedural part not to matter */
    bool train, collect;                  /* whether more members, or more rows, lower the variance noticeably */
} balance;

static balance balance_of(const epiqp_problem *pb, const epiqp_answer *a)
{
    balance b = {.m = (double)pb->plan->ran.ensemble_size,
                 .error2 = a->fit.known ? a->fit.loo_rmse * a->fit.loo_rmse : 0};
    for (ptrdiff_t p = 0; p < pb->asked; p++) {
        const epiq_point *point = &a->points[p];
        if (point->procedural.known && point->data.known) {
            b.points++;
            b.procedural += (point->procedural.variance - b.procedural) / (double)b.points;
            b.data += (point->data.variance - b.data) / (double)b.points;
        }
    }
    const double procedural = b.procedural, data = b.data, m = b.m;
    const double small = fmax(SETTLED * data, NEGLIGIBLE * b.error2);
    b.ensemble = data + procedural / m;
    b.enough = small > 0 ? fmin(fmax(ceil(procedural / small), 2 * m), 1e6) : 10 * m;
    b.train = procedural / m > data / DOMINATES;
    b.collect = data > procedural / m / DOMINATES;
    return b;
}

/* What to do, and by how much it lowers the variance: twice the rows halve the data variance at best. */
static char *say(const epiqp_problem *pb, const epiqp_ev_findings *ev, const balance *b)
{
    const double trained = 100 * (1 - (b->data + b->procedural / b->enough) / b->ensemble),
                 collected = 100 * b->data / 2 / b->ensemble;
    char of[96], more[64] = "", again[64] = "as many rows again", train[200];
    snprintf(of, sizeof of, "data + procedural/%.0f = %.3g%s", b->m, b->ensemble,
             b->points > 1 ? ", a mean over the points" : "");
    snprintf(train, sizeof train, "an ensemble of %.0f instead of %.0f lowers its variance, %s, by %.0f %%", b->enough,
             b->m, of, trained);
    if (ev->h && (double)ev->members >= b->enough) {
        snprintf(more, sizeof more, " The %td %s are such an ensemble.", ev->members, pb->plan->hints->members_are);
    }
    if (pb->n) snprintf(again, sizeof again, "%td more rows", pb->n);
    if (!b->train) {
        return epiqp_arena_sentence(pb->e.c, pb->lasting,
                                    "Collect more: %s lower the variance of an ensemble of %.0f, %s, by %.0f %% at "
                                    "best; more members would do little.",
                                    again, b->m, of, collected);
    }
    if (!b->collect) {
        return epiqp_arena_sentence(pb->e.c, pb->lasting, "Train more: %s; more rows would do little.%s", train, more);
    }
    return epiqp_arena_sentence(pb->e.c, pb->lasting, "Train or collect: %s, and %s by %.0f %% at best.%s", train,
                                again, collected, more);
}

int epiqp_advise(const epiqp_problem *pb, const epiqp_findings *found, epiqp_answer *a)
{
    const balance b = balance_of(pb, a);
    if (!b.points || !isfinite(b.ensemble)) {
        a->advice.text =
            epiqp_arena_sentence(pb->e.c, pb->lasting, "No advice: it takes both parts at one point at least. %s.",
                                 pb->plan->hints->both_parts);
    } else if (b.ensemble == 0) {
        a->advice.text = epiqp_arena_sentence(pb->e.c, pb->lasting, "Nothing to gain: the variance is 0 here.");
    } else if (b.ensemble <= NEGLIGIBLE * b.error2) {
        a->advice.text = epiqp_arena_sentence(pb->e.c, pb->lasting,
                                              "Nothing to gain: the ensemble's variance is %.2g %% of the squared "
                                              "leave-one-%sout error, which is mostly noise or misfit.",
                                              100 * b.ensemble / b.error2, a->fit.by_group ? "group-" : "");
    } else {
        a->advice.action = b.train && b.collect ? EPIQ_DO_EITHER : b.train ? EPIQ_DO_TRAIN : EPIQ_DO_COLLECT;
        a->advice.members = b.train ? (ptrdiff_t)b.enough : 0;
        a->advice.rows = b.collect ? pb->n : 0;
        a->advice.text = say(pb, &found->ev, &b);
    }
    return a->advice.text ? EPIQ_OK : EPIQ_E_NOMEM;
}

const char *epiq_action_text(epiq_action a)
{
    static const char *const TEXT[] = {"nothing", "train", "collect", "either"};
    return a >= EPIQ_DO_NOTHING && a <= EPIQ_DO_EITHER ? TEXT[a] : "unknown";
}
