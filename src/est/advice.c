/* advice.c - one line on what to do: train more networks, collect more rows, either, or nothing; measured against the networks
 * that were trained and against the noise, which neither can lower.
 */
#include "est/assemble.h"

#include <math.h>
#include <stdio.h>

static const double NOTICED = 0.05; /* of the noise variance: less changes an interval of y by 2.5 % at most */
static const double DOMINATES = 2;  /* a part that is this many times the other decides alone */
static const double SETTLED = 0.1;  /* enough networks: procedural / m is below this fraction of the data variance */
static const double MOST = 10;      /* times the networks there are: more are never advised */

/* Means over the points that have both parts, of rows left out their medians, and what follows from them. */
typedef struct {
    ptrdiff_t points;
    double procedural, data;
    double m;            /* networks behind the prediction */
    double own;          /* variance of the prediction: data + procedural / m */
    double noise2;       /* 0: unknown */
    double enough;       /* networks, for the procedural part not to matter */
    bool train, collect; /* whether more networks, or more rows, lower the variance noticeably */
} balance;

static balance balance_of(const epiqp_problem *pb, const epiqp_findings *found, const epiqp_answer *a)
{
    balance b = {.m = (double)(found->ev.h ? found->ev.members : pb->plan->ran.ensemble_size),
                 .noise2 = a->fit.known ? a->fit.noise_variance : 0};
    for (ptrdiff_t p = 0; p < pb->asked; p++) {
        const epiq_point *point = &a->points[p];
        if (point->procedural.known && point->data.known) {
            b.points++;
            b.procedural += (point->procedural.variance - b.procedural) / (double)b.points;
            b.data += (point->data.variance - b.data) / (double)b.points;
        }
    }
    const epiq_summary *rows = &a->summary;
    if (rows->rows == pb->asked && rows->data.known && rows->procedural.known) { /* of a typical row */
        b.data = rows->data.median;
        b.procedural = rows->procedural.median;
    }
    const double each = b.procedural / b.m, floor = NOTICED * b.noise2, small = fmax(SETTLED * b.data, floor);
    b.own = b.data + each;
    b.enough = small > 0 ? fmin(fmax(ceil(b.procedural / small), 2 * b.m), MOST * b.m) : MOST * b.m;
    b.train = each > b.data / DOMINATES && each > floor;
    b.collect = b.data > each / DOMINATES && b.data > floor;
    return b;
}

/* "the prediction's standard deviation, 0.78, beside a noise of 2.2" */
static void put_beside(const balance *b, char *out, size_t size)
{
    int used = snprintf(out, size, "%.2g", sqrt(b->own));
    if (b->noise2 > 0) snprintf(out + used, size - (size_t)used, " beside a noise of %.2g", sqrt(b->noise2));
}

static char *say_enough(const epiqp_problem *pb, const balance *b)
{
    char beside[64], alone[64] = "";
    put_beside(b, beside, sizeof beside);
    if (b->data + b->procedural > DOMINATES * b->own) {
        snprintf(alone, sizeof alone, "; one alone would have %.2g", sqrt(b->data + b->procedural));
    }
    return epiqp_arena_sentence(pb->e.c, pb->lasting,
                                "%.0f networks are enough: the standard deviation of their mean is %s%s. More rows "
                                "would help little.",
                                b->m, beside, alone);
}

/* Twice the rows halve the data variance at best. */
static char *say(const epiqp_problem *pb, const balance *b)
{
    char beside[64], train[240], collect[240], rows[48] = "as many rows again";
    put_beside(b, beside, sizeof beside);
    if (pb->n) snprintf(rows, sizeof rows, "%td more rows", pb->n);
    snprintf(train, sizeof train,
             "%.0f networks instead of %.0f lower the prediction's standard deviation, %s, to %.2g", b->enough, b->m,
             beside, sqrt(b->data + b->procedural / b->enough));
    snprintf(collect, sizeof collect, "%s lower the prediction's standard deviation, %s, to %.2g at best", rows, beside,
             sqrt(b->own - b->data / 2));
    if (!b->train) {
        return epiqp_arena_sentence(pb->e.c, pb->lasting, "Collect more: %s. More networks would help little.",
                                    collect);
    }
    if (!b->collect) {
        return epiqp_arena_sentence(pb->e.c, pb->lasting, "Train more: %s. More rows would help little.", train);
    }
    return epiqp_arena_sentence(pb->e.c, pb->lasting, "Train or collect: %s, and %s to %.2g at best.", train, rows,
                                sqrt(b->own - b->data / 2));
}

int epiqp_advise(const epiqp_problem *pb, const epiqp_findings *found, epiqp_answer *a)
{
    const balance b = balance_of(pb, found, a);
    if (a->fit.known && a->fit.has_r2 && a->fit.r2 <= 0) {
        a->advice.text = epiqp_arena_sentence(
            pb->e.c, pb->lasting,
            "The networks predict no better than the mean of the target, so neither more networks nor more of the same "
            "rows will help: look for other features, or for a target that they can tell.");
    } else if (!b.points || !isfinite(b.own)) {
        a->advice.text = epiqp_arena_sentence(pb->e.c, pb->lasting, "No advice: no point has both parts. %s.",
                                              pb->plan->hints->both_parts);
    } else if (b.own == 0) {
        a->advice.text = epiqp_arena_sentence(pb->e.c, pb->lasting, "Nothing to gain: the variance is 0 here.");
    } else if (!b.train && !b.collect) {
        a->advice.text = say_enough(pb, &b);
    } else {
        a->advice.action = b.train && b.collect ? EPIQ_DO_EITHER : b.train ? EPIQ_DO_TRAIN : EPIQ_DO_COLLECT;
        a->advice.members = b.train ? (ptrdiff_t)b.enough : 0;
        a->advice.rows = b.collect ? pb->n : 0;
        a->advice.text = say(pb, &b);
    }
    return a->advice.text ? EPIQ_OK : EPIQ_E_NOMEM;
}

const char *epiq_action_text(epiq_action a)
{
    static const char *const TEXT[] = {"nothing", "train", "collect", "either"};
    return a >= EPIQ_DO_NOTHING && a <= EPIQ_DO_EITHER ? TEXT[a] : "unknown";
}
