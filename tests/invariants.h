/* invariants.h - what holds of every answer, whatever was asked: no number that is none, no variance below 0, no interval beside
 * its variance, nothing withheld without a warning that says why, no "inf" in a sentence. */
#ifndef INVARIANTS_H
#define INVARIANTS_H

#include "epiq_details.h"
#include "warned.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* "nan" or "inf" as a word of its own */
static bool sound_text(const char *text)
{
    static const char *const NONE[] = {"nan", "inf"};
    for (const char *s = text; s && *s; s++) {
        for (int k = 0; k < 2; k++) {
            bool word = (s == text || !isalpha((unsigned char)s[-1])) && strncmp(s, NONE[k], 3) == 0;
            if (word && !isalpha((unsigned char)s[3])) return false;
        }
    }
    return text != NULL;
}

/* An interval contains its variance, and what is farther than 100 times it is no end. */
static bool sound_part(const epiq_part *p)
{
    bool upper = p->open ? p->hi == 0 : p->variance <= p->hi && p->hi <= 100 * p->variance * (1 + 1e-9);
    bool ends = p->has_interval ? p->lo > 0 && p->lo <= p->variance && upper : !p->open;
    return isfinite(p->variance) && p->variance >= 0 && isfinite(p->df) && p->df >= 0 && ends &&
           (p->known || (p->variance == 0 && !p->has_interval));
}

static bool sound_list(const double *v, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; v && i < count; i++) {
        if (!isfinite(v[i])) return false;
    }
    return true;
}

/* NULL, or what is wrong with it */
static const char *sound_point(const epiq_point *p)
{
    const epiq_part *parts[] = {&p->prediction_variance,
                                &p->full_variance,
                                &p->procedural,
                                &p->data,
                                &p->ensemble,
                                &p->single,
                                &p->infinite,
                                &p->ba.part};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        if (!sound_part(parts[k])) return "a part is none, negative or beside its interval";
    }
    for (int how = 0; how < EPIQ_CORRECTIONS; how++) {
        if (!sound_part(epiq_point_corrected(p, how))) return "a correction is none, negative or beside its interval";
    }
    for (ptrdiff_t i = 0; i < p->influential_count; i++) {
        if (!isfinite(p->influential[i]->influence)) return "an influence is none";
    }
    bool observation = isfinite(p->predictive.lo) && p->predictive.lo <= p->predictive.hi &&
                       isfinite(p->predictive.hi) && p->predictive.noise >= 0 && isfinite(p->predictive.noise);
    return !isfinite(p->prediction) || !isfinite(p->kernel_prediction.value) ? "a prediction is none"
           : !sound_list(p->members, p->member_count) || !sound_list(p->batches, p->batch_count)
               ? "a network's prediction is none"
           : !observation                                             ? "an observation's interval is none"
           : !isfinite(p->check.ba) || !isfinite(p->check.if_plus_ev) ? "a check is none"
           : p->ba.part.known && !(p->ba.factor > 0 && isfinite(p->ba.factor) && isfinite(p->ba.uncorrected))
               ? "BA's correction is none"
           : !(p->probe_error >= 0 && isfinite(p->probe_error))       ? "the probes' error is none"
           : p->procedural.known && p->data.known && !p->single.known ? "both parts and no sum"
                                                                      : NULL;
}

static const char *sound(const epiq_result *a, const epiq_options *o)
{
    static const char *const REASONS[] = {"out_of_range", "lost_in_rounding", "negative_difference"};
    bool reason = false;
    for (size_t k = 0; k < sizeof REASONS / sizeof *REASONS; k++) {
        reason |= warned_in(a, REASONS[k]) != NULL;
    }
    for (ptrdiff_t p = 0; p < a->point_count; p++) {
        const char *wrong = sound_point(a->points[p]);
        bool needs = (a->ran->methods & EPIQ_IF && !a->points[p]->data.known) ||
                     (a->ran->methods & EPIQ_EV && !a->points[p]->procedural.known);
        if (wrong || (needs && !reason)) return wrong ? wrong : "a part is withheld without a reason";
    }
    for (ptrdiff_t k = 0; k < a->sweep_count; k++) {
        for (ptrdiff_t p = 0; p < a->sweeps[k]->count; p++) {
            const char *wrong = sound_point(a->sweeps[k]->points[p]);
            if (wrong) return wrong;
        }
    }
    for (ptrdiff_t k = 0; k < a->warning_count; k++) {
        if (!sound_text(a->warnings[k]->message)) return "a warning speaks of inf or nan";
    }
    bool fit = isfinite(a->fit->kernel_rmse) && isfinite(a->fit->r2) && isfinite(a->fit->noise_variance) &&
               a->fit->kernel_rmse >= 0 && a->fit->noise_variance >= 0;
    bool told = a->fit->known || !(a->ran->methods & EPIQ_IF) || o->time > 0 || reason;
    const bool lists = a->model_choice->tried && a->predictor_choice->tried && a->sweeps && a->warnings && a->notes;
    return !fit                                                                           ? "the fit is none"
           : !lists                                                                       ? "a list is NULL"
           : !told                                                                        ? "no fit, and no reason"
           : !sound_text(a->advice->text)                                                 ? "advice of inf or nan"
           : !isfinite(a->training->loss_max) || !isfinite(a->training->gradient_rel_max) ? "the training is none"
                                                                                          : NULL;
}

#endif
