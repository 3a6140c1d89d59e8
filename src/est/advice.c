/* advice.c - one line on what to do: train more networks, collect more rows, either, or nothing; measured against the networks
 * that were trained and against the noise, which networks cannot lower, and rows only by what they teach.
 */
#include "common/rounded.h"
#include "est/assemble.h"

#include <math.h>
#include <stdio.h>

static const double BESIDE_NOISE = 0.05; /* of the noise variance: what procedural / m may be left with */
static const double DOMINATES = 2;       /* a part that is this many times the other decides alone */
static const double SETTLED = 0.1; /* enough networks: procedural / m is below this fraction of the data variance */
static const double MOST = 10;     /* times the networks there are: more are never advised */
enum { FEW_ROWS = 100 };           /* from so few, what is taken for noise may be what networks have not learned yet */

/* Means over the points that have both parts, of rows left out their medians, and what follows from them. */
typedef struct {
    ptrdiff_t points, lacking; /* that count, and that lack a part */
    double procedural, data;
    double m;            /* networks behind the prediction; INFINITY: it is the mean of all there could be */
    double own;          /* variance of the prediction: data + procedural / m */
    double noise2;       /* 0: unknown */
    double enough;       /* networks, for the procedural part not to matter */
    bool train, collect; /* whether more networks, or more rows, lower the variance noticeably */
    double error, less;  /* on rows not seen, now and with twice the rows, where that is noticed; else 0 */
    bool measured;       /* whether it is known what twice the rows do to that error */
} balance;

bool epiqp_noticed(double before, double after)
{
    static const double LEAST = 0.1; /* by which its interval is shorter */
    return after < (1 - LEAST) * (1 - LEAST) * before;
}

/* Where the noise is unknown everything counts. */
static bool is_noticed(const balance *b, double less)
{
    const double now = b->own + b->noise2;
    return b->noise2 > 0 ? epiqp_noticed(now, now - less) : less > 0;
}

static bool has_both(const epiq_point *p)
{
    return p->procedural.known && p->data.known;
}

/* Whether point p has both parts, and lies where the data are. */
static bool is_inside(const epiqp_findings *found, const epiqp_answer *a, ptrdiff_t p)
{
    return has_both(&a->points[p]) && !(found->unseen.is_outside && found->unseen.is_outside[p]);
}

static balance balance_of(const epiqp_problem *pb, const epiqp_findings *found, const epiqp_answer *a)
{
    const bool trains = !pb->engine || pb->engine->member;
    balance b = {.m = found->ev.h ? (double)found->ev.members
                      : trains    ? (double)pb->plan->ran.ensemble_size
                                  : INFINITY,
                 .noise2 = a->fit.known ? a->fit.noise_variance : 0};
    bool inside = false; /* points outside the data decide only where there are no others */
    for (ptrdiff_t p = 0; p < pb->asked && !inside; p++) {
        inside = is_inside(found, a, p);
    }
    for (ptrdiff_t p = 0; p < pb->asked; p++) {
        const epiq_point *point = &a->points[p];
        b.lacking += !has_both(point);
        if (inside ? is_inside(found, a, p) : has_both(point)) {
            b.points++;
            b.procedural += (point->procedural.variance - b.procedural) / (double)b.points;
            b.data += (point->data.variance - b.data) / (double)b.points;
        }
    }
    const epiq_summary *rows = &a->summary;
    const bool typical = rows->rows == pb->asked && rows->data.known && rows->procedural.known;
    if (typical) {
        b.data = rows->data.median;
        b.procedural = rows->procedural.median;
    }
    const double each = b.procedural / b.m, small = fmax(SETTLED * b.data, BESIDE_NOISE * b.noise2);
    b.own =
        typical && rows->prediction_sd.known ? rows->prediction_sd.median * rows->prediction_sd.median : b.data + each;
    b.enough = small > 0 ? fmin(fmax(ceil(b.procedural / small), 2 * b.m), MOST * b.m) : MOST * b.m;
    const double half = b.data / 2; /* what twice the rows take off at best */
    b.train = each > b.data / DOMINATES && is_noticed(&b, each);
    b.collect = b.data > each / DOMINATES && is_noticed(&b, half);
    const double twice = a->fit.known ? a->fit.twice : 0;
    b.measured = twice > 0;
    if (twice > 0 && epiqp_noticed(1, twice * twice)) { /* the networks have not learned all that there is to learn */
        b.collect = true;
        b.error = a->fit.rmse;
        b.less = twice * a->fit.rmse;
    }
    return b;
}

#define SD(variance) epiqp_rounded_sd(sqrt(variance)).text

/* What a network by itself would have, if that is much more; "": it is not. */
typedef struct {
    char text[96];
} remark;
static remark one_alone(const balance *b, const char *before, const char *after)
{
    remark said = {""};
    if (b->data + b->procedural > DOMINATES * b->own) {
        snprintf(said.text, sizeof said.text, "%s would have %s%s", before, SD(b->data + b->procedural), after);
    }
    return said;
}

static char *say_enough(const epiqp_problem *pb, const balance *b)
{
    char beside[80] = "";
    if (b->noise2 > 0) snprintf(beside, sizeof beside, " beside a noise of %s", SD(b->noise2));
    const bool few = pb->data && pb->data->groups < FEW_ROWS;
    if (isinf(b->m)) {
        return epiqp_arena_sentence(pb->e.c, pb->lasting, "%s: the standard deviation of a prediction is %s%s.%s",
                                    few ? "What more rows would do cannot be told from so few"
                                    : b->measured
                                        ? "More rows would help little"
                                        : "More rows would hardly lower the variance, and what else they would "
                                          "teach was not measured",
                                    SD(b->own), beside, one_alone(b, " One network alone", ".").text);
    }
    return epiqp_arena_sentence(pb->e.c, pb->lasting,
                                "%.0f networks are enough: the standard deviation of their mean is %s%s%s. %s", b->m,
                                SD(b->own), beside, one_alone(b, "; one alone", "").text,
                                few ? "What more rows would do cannot be told from so few: noise may be what is not "
                                      "learned yet."
                                : b->measured ? "More rows would help little."
                                              : "More rows would hardly lower it; what else they would teach was not "
                                                "measured.");
}

/* Errors that fall with the rows. */
static char *say_learning(const epiqp_problem *pb, const balance *b)
{
    const epiqp_digits now = epiqp_rounded_sd(b->error), then = epiqp_rounded_sd(b->less);
    if (b->train) {
        return epiqp_arena_sentence(
            pb->e.c, pb->lasting,
            "Collect more rows, or train more networks: with %td more rows predictions would be "
            "off by about %s instead of %s, if errors go on falling as they do; %.0f networks "
            "instead of %.0f would lower the standard deviation of a prediction from %s to %s.",
            pb->n, then.text, now.text, b->enough, b->m, SD(b->own), SD(b->data + b->procedural / b->enough));
    }
    return epiqp_arena_sentence(
        pb->e.c, pb->lasting,
        "Collect more rows: with %td more, predictions would be off by about %s instead of %s, if "
        "errors go on falling as they do.%s",
        pb->n, then.text, now.text,
        isinf(b->m) ? one_alone(b, " One network alone", ".").text : " More networks would help little.");
}

static char *say(const epiqp_problem *pb, const balance *b)
{
    if (b->error > 0) return say_learning(pb, b);
    const epiqp_digits trained = epiqp_rounded_sd(sqrt(b->data + b->procedural / b->enough)),
                       collected = epiqp_rounded_sd(sqrt(b->own - b->data / 2));
    char noise[80] = "", lower[96], rows[48] = "twice as many";
    snprintf(lower, sizeof lower, "lower the standard deviation of a prediction from %s to", SD(b->own));
    if (b->noise2 > 0) snprintf(noise, sizeof noise, " (the noise is %s)", SD(b->noise2));
    if (pb->n) snprintf(rows, sizeof rows, "%td more", pb->n);
    if (!b->train) {
        return epiqp_arena_sentence(
            pb->e.c, pb->lasting, "Collect more rows: %s would %s %s at best%s.%s", rows, lower, collected.text, noise,
            isinf(b->m) ? one_alone(b, " One network alone", ".").text : " More networks would help little.");
    }
    if (!b->collect) {
        return epiqp_arena_sentence(
            pb->e.c, pb->lasting, "Train more networks: %.0f instead of %.0f would %s %s%s. More rows would %s.",
            b->enough, b->m, lower, trained.text, noise, b->measured ? "help little" : "hardly lower it");
    }
    return epiqp_arena_sentence(pb->e.c, pb->lasting,
                                "Train more networks or collect more rows: %.0f networks instead of %.0f would %s %s, "
                                "%s rows to %s at best%s.",
                                b->enough, b->m, lower, trained.text, rows, collected.text, noise);
}

int epiqp_advise(const epiqp_problem *pb, const epiqp_findings *found, epiqp_answer *a)
{
    const balance b = balance_of(pb, found, a);
    if (a->fit.known && a->fit.no_skill && a->fit.r2 > a->fit.r2_se) {
        a->advice.text = epiqp_arena_sentence(pb->e.c, pb->lasting,
                                              "Collect more rows: these cannot tell yet whether the networks predict "
                                              "better than the mean of the target.");
        a->advice.action = EPIQ_DO_COLLECT;
        a->advice.rows = pb->n;
    } else if (pb->asked > 0 && found->unseen.outside == pb->asked) {
        a->advice.text = epiqp_arena_sentence(pb->e.c, pb->lasting,
                                              "Collect rows near %s, outside the data: more rows of the kind there "
                                              "are, or more networks, tell little about it.",
                                              pb->asked > 1 ? "these points" : pb->name[0]);
        a->advice.action = EPIQ_DO_COLLECT;
    } else if (a->fit.known && a->fit.no_skill) {
        a->advice.text = epiqp_arena_sentence(pb->e.c, pb->lasting,
                                              "Look for other features, or collect far more rows: nothing here shows "
                                              "that the networks predict better than "
                                              "the mean of the target, and more of them will not help.");
    } else if (a->fit.known && !a->fit.has_r2) {
        a->advice.text = epiqp_arena_sentence(pb->e.c, pb->lasting,
                                              "None: the target has only one value, so there is nothing to learn.");
    } else if (!b.points || !isfinite(b.own)) {
        a->advice.text = epiqp_arena_sentence(pb->e.c, pb->lasting, "None without both parts, data and retraining. %s.",
                                              pb->plan->hints->both_parts);
    } else if (2 * b.lacking >= pb->asked) {
        a->advice.text = epiqp_arena_sentence(pb->e.c, pb->lasting,
                                              "None: at %td of %td points a part of the variance, data or retraining, "
                                              "is unknown. %s.",
                                              b.lacking, pb->asked, pb->plan->hints->both_parts);
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
    if (a->advice.text && pb->plan && epiqp_stops(&pb->plan->ran) &&
        found->training.converged < found->training.count) {
        a->advice.text = epiqp_arena_sentence(pb->e.c, pb->lasting,
                                              "%s The networks were stopped while they improved: trained longer they "
                                              "may be off by less.",
                                              a->advice.text);
    }
    return a->advice.text ? EPIQ_OK : EPIQ_E_NOMEM;
}

const char *epiq_action_text(epiq_action a)
{
    static const char *const TEXT[] = {"nothing", "train", "collect", "either"};
    return a >= EPIQ_DO_NOTHING && a <= EPIQ_DO_EITHER ? TEXT[a] : "unknown";
}
