/* rules.c - options that do not go together: one table of what is refused where, and why. A new rule is a row. What
 * depends on the data as well is refused by the code that knows the data.
 */
#include "base.h"

#include <string.h>

#define ONE(value) (1U << (value))
#define ABOVE_0 (~1U)
#define FROM_1_TO_15 (ONE(16) - 2)
#define EMPIRICAL ONE(EPIQ_KERNEL_EMPIRICAL)
#define ENSEMBLE ONE(EPIQ_HBAR_ENSEMBLE)
#define DIVIDED ONE(EPIQ_SOLVER_DIVIDED)
#define ITERATIVE ONE(EPIQ_SOLVER_ITERATIVE)
#define INFINITE ONE(EPIQ_ENGINE_INFINITE)
#define WITH_IF (ONE(EPIQ_IF) | ONE(EPIQ_IF | EPIQ_EV) | ONE(EPIQ_IF | EPIQ_BA) | ONE(EPIQ_IF | EPIQ_EV | EPIQ_BA))
#define WITHOUT_EV (ONE(EPIQ_IF) | ONE(EPIQ_BA) | ONE(EPIQ_IF | EPIQ_BA))

/* Where these options all have one of these values, the call is refused. Values are bits of
 * epiqp_options_bit. %s is the value of the first option. */
typedef struct {
    unsigned when; /* epiqp_occasion, or a verb */
    struct {
        const char *option;
        unsigned values;
    } all[3];
    const char *sentence;
} rule;

static const rule RULES[] = {
    {EPIQP_ALWAYS,
     {{"probes", FROM_1_TO_15}},
     "{--probes} is %s; it must be 0 for an exact answer, or at least 16 to tell the error"},
    {EPIQP_ALWAYS,
     {{"budget-networks", ONE(1) | ONE(2) | ONE(3)}},
     "{--budget-networks} is %s; it takes 4 trainings at least to know an interval, or 0 for no budget"},
    {EPIQP_ALWAYS,
     {{"budget-networks", ABOVE_0}, {"engine", INFINITE}},
     "engine infinite has no networks to spend {--budget-networks} on; leave it out"},
#define IN_CLOSED_FORM "engine infinite has no networks: use {--confidence} retrain, which is in closed form there"
    {EPIQP_ALWAYS, {{"confidence", ONE(EPIQ_CONFIDENCE_BATCHING)}, {"engine", INFINITE}}, IN_CLOSED_FORM},
    {EPIQP_ALWAYS, {{"confidence", ONE(EPIQ_CONFIDENCE_BOOTSTRAP)}, {"engine", INFINITE}}, IN_CLOSED_FORM},
    {EPIQP_ALWAYS, {{"confidence", ONE(EPIQ_CONFIDENCE_JACKKNIFE)}, {"engine", INFINITE}}, IN_CLOSED_FORM},
    {EPIQP_ALWAYS, {{"confidence", ONE(EPIQ_CONFIDENCE_HALVES)}, {"engine", INFINITE}}, IN_CLOSED_FORM},
    {EPIQP_ALWAYS, {{"sweep", ONE(1)}}, "{--sweep} is %s; it must be 0 for none, or at least 2 values"},
    {EPIQP_ALWAYS,
     {{"time", ABOVE_0}, {"engine", ~INFINITE}},
     "{--time} is a stopping time of engine infinite; for trained networks use {--optimizer} flow with {--lr} "
     "and {--steps}"},
#define NO_MEMBERS "{--hbar} %s needs trained networks; add ev to {--methods} with engine network or linear"
    {EPIQP_ALWAYS, {{"hbar", ENSEMBLE}, {"engine", INFINITE}}, NO_MEMBERS},
    {EPIQP_ALWAYS, {{"hbar", ENSEMBLE}, {"methods", WITHOUT_EV}}, NO_MEMBERS},
#define NO_FACTOR(what) "{--solver} %s has no factor of all rows, which " what " needs; leave out one of them"
    {EPIQP_ALWAYS | EPIQP_NO_FACTOR, {{"solver", ITERATIVE | DIVIDED}, {"time", ABOVE_0}}, NO_FACTOR("{--time}")},
    {EPIQP_ALWAYS | EPIQP_NO_FACTOR,
     {{"solver", ITERATIVE | DIVIDED}, {"kernel", EMPIRICAL}, {"methods", WITH_IF | ONE(EPIQ_AUTO)}},
     NO_FACTOR("{--kernel} empirical")},
    {EPIQP_ALWAYS | EPIQP_NO_FACTOR,
     {{"solver", ITERATIVE | DIVIDED}, {"hbar", ENSEMBLE}, {"engine", ONE(EPIQ_ENGINE_LINEAR)}},
     NO_FACTOR("{--hbar} ensemble")},
    {EPIQP_ALWAYS,
     {{"time", ABOVE_0}, {"kernel", EMPIRICAL}},
     "{--time} needs the population kernel; leave out {--kernel} empirical"},

#define GIVE_NUMBER(option) "{--" option "} %s is for an estimate or a fit, which choose; give a number here"
    {EPIQP_NOTHING_OPEN, {{"width", ONE(0)}, {"engine", ~INFINITE}}, GIVE_NUMBER("width")},
    {EPIQP_NOTHING_OPEN, {{"lambda", ONE(0)}}, GIVE_NUMBER("lambda")},
    {EPIQP_NOTHING_OPEN,
     {{"predictor", ONE(EPIQ_PREDICTOR_AUTO)}},
     "{--predictor} %s is for an estimate or a fit, which choose; name one here"},

    {EPIQ_FOR_FIT,
     {{"confidence", ONE(EPIQ_CONFIDENCE_BOOTSTRAP) | ONE(EPIQ_CONFIDENCE_JACKKNIFE) | ONE(EPIQ_CONFIDENCE_HALVES)}},
     "a model does not keep the networks of {--confidence} %s; use {--confidence} batching or retrain"},
    {EPIQ_FOR_FIT, {{"time", ABOVE_0}}, "a model cannot be of training stopped at a time; leave out {--time}"},
    {EPIQ_FOR_FIT, {{"kernel", EMPIRICAL}}, "a model needs the population kernel; leave out {--kernel} %s"},
    {EPIQ_FOR_FIT,
     {{"solver", ITERATIVE | DIVIDED}},
     "a model needs one factor of all rows, which {--solver} %s does without; use {--solver} exact, or auto"},

    {EPIQP_SEVERAL_WIDTHS, {{"engine", INFINITE}}, "engine %s has no width to compare; leave the widths out"},
    {EPIQ_FOR_COMPARE,
     {{"kernel", EMPIRICAL}},
     "models are compared with the population kernel; leave out {--kernel} %s"},
    {EPIQ_FOR_COMPARE, {{"hbar", ENSEMBLE}}, "models are compared with {--hbar} kernel; leave out {--hbar} %s"},
    {EPIQP_LEAVE_ONE_OUT,
     {{"time", ABOVE_0}},
     "training stopped at a time has no leave-one-out error; use {--folds}, or leave out {--time}"},

#define NO_PICKS(what)                                                                                                 \
    "picks of a batch are taken as observed by the population kernel's factor, which " what                            \
    " does without; leave it out, or pick one at a time"
    {EPIQP_SEVERAL_PICKS, {{"solver", DIVIDED}}, NO_PICKS("{--solver} %s")},
    {EPIQP_SEVERAL_PICKS, {{"time", ABOVE_0}}, NO_PICKS("{--time}")},
    {EPIQP_SEVERAL_PICKS, {{"kernel", EMPIRICAL}}, NO_PICKS("{--kernel} %s")},

#define ONE_PROCESS(what) what " is for one process; leave it out, or start one rank"
    {EPIQP_SEVERAL_RANKS, {{"time", ABOVE_0}}, ONE_PROCESS("{--time}")},
    {EPIQP_SEVERAL_RANKS, {{"solver", ITERATIVE | DIVIDED}}, ONE_PROCESS("{--solver} %s")},
    {EPIQP_SEVERAL_RANKS,
     {{"hbar", ENSEMBLE}, {"engine", ONE(EPIQ_ENGINE_LINEAR)}, {"linear-kernel", ~EMPIRICAL}},
     ONE_PROCESS("{--hbar} %s with {--engine} linear")},

    {EPIQP_RETRAINING, {{"engine", INFINITE}}, "engine infinite has no networks to retrain"},
    {EPIQP_RETRAINING,
     {{"correction", ONE(EPIQ_CORRECTION_NONE)}},
     "with {--correction} none the influence function is as published"},
    {EPIQP_RETRAINING, {{"solver", DIVIDED}}, "{--solver} divided answers for another predictor"},
};

static const rule *broken(const epiq_options *o, unsigned when)
{
    for (size_t k = 0; k < sizeof RULES / sizeof *RULES; k++) {
        bool all = RULES[k].when & when;
        for (int i = 0; all && i < 3 && RULES[k].all[i].option; i++) {
            all = RULES[k].all[i].values & epiqp_options_bit(o, epiq_options_index(RULES[k].all[i].option));
        }
        if (all) return &RULES[k];
    }
    return NULL;
}

int epiqp_options_conflict(epiq_ctx *c, const epiq_options *o, unsigned when)
{
    const rule *r = broken(o, when);
    if (!r) return EPIQ_OK;
    char value[64] = "";
    const char *gap = strstr(r->sentence, "%s");
    epiq_options_text(o, epiq_options_index(r->all[0].option), value, sizeof value);
    return gap ? epiqp_fail(c, EPIQ_E_USAGE, "%.*s%s%s", (int)(gap - r->sentence), r->sentence, value, gap + 2)
               : epiqp_fail(c, EPIQ_E_USAGE, "%s", r->sentence);
}

const char *epiqp_not_retrained(const epiq_options *o)
{
    const rule *r = broken(o, EPIQP_RETRAINING);
    return r ? r->sentence : NULL;
}

bool epiqp_needs_factor(const epiq_options *o)
{
    epiq_options without = *o;
    without.solver = EPIQ_SOLVER_ITERATIVE;
    return broken(&without, EPIQP_NO_FACTOR);
}
