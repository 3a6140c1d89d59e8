/* advice.c - one line on what to do: train more members, collect more rows, either, or nothing. */
#include "est/est.h"

#include <math.h>
#include <stdio.h>

static const double NEGLIGIBLE = 0.01; /* of the leave-one-out squared error: less than this cannot be noticed */
static const double DOMINATES = 2;     /* one part so many times the other decides alone */
static const double SETTLED = 0.1;     /* enough members: procedural / m below this fraction of the data variance, or
                                        * too small to be noticed */

int epiqp_advise(epiqp_job *j)
{
    epiq_result *r = &j->answer->result;
    double procedural = 0, data = 0, m = (double)j->o.ensemble_size;
    ptrdiff_t both = 0, rows = j->n; /* twice the rows halve the data variance at best */
    for (ptrdiff_t p = 0; p < j->asked; p++) {
        const epiq_point *point = &j->answer->points[p];
        if (point->procedural.known && point->data.known) {
            both++;
            procedural += (point->procedural.variance - procedural) / (double)both;
            data += (point->data.variance - data) / (double)both;
        }
    }
    double ensemble = data + procedural / m, error2 = r->fit.known ? r->fit.loo_rmse * r->fit.loo_rmse : 0;
    double small = fmax(SETTLED * data, NEGLIGIBLE * error2);
    double enough = small > 0 ? fmin(fmax(ceil(procedural / small), 2 * m), 1e6) : 10 * m;
    double trained = 100 * (1 - (data + procedural / enough) / ensemble), collected = 100 * data / 2 / ensemble;
    bool train = procedural / m > data / DOMINATES, collect = data > procedural / m / DOMINATES;
    epiqp_arena *arena = &j->answer->arena;
    if (!both || !isfinite(ensemble)) {
        r->advice.text = epiqp_arena_printf(j->e.c, arena, "No advice: it takes both parts at one point at least. %s.",
                                            j->remedy->both);
    } else if (ensemble == 0) {
        r->advice.text = epiqp_arena_printf(j->e.c, arena, "Nothing to gain: the variance is 0 here.");
    } else if (ensemble <= NEGLIGIBLE * error2) {
        r->advice.text = epiqp_arena_printf(j->e.c, arena,
                                            "Nothing to gain: the ensemble's variance is %.2g %% of the squared "
                                            "leave-one-%sout error, which is mostly noise or misfit.",
                                            100 * ensemble / error2, r->fit.by_group ? "group-" : "");
    } else {
        const char *where = both > 1 ? ", a mean over the points" : "";
        char of[96], more[64] = "", again[64] = "as many rows again";
        snprintf(of, sizeof of, "data + procedural/%.0f = %.3g%s", m, ensemble, where);
        if (j->members_trained && (double)j->o.members >= enough) {
            snprintf(more, sizeof more, " The %td %s are such an ensemble.", j->o.members, j->remedy->made);
        }
        if (rows) { /* else nobody said how many there are */
            snprintf(again, sizeof again, "%td more rows", rows);
        }
        r->advice.action = train && collect ? EPIQ_DO_EITHER : train ? EPIQ_DO_TRAIN : EPIQ_DO_COLLECT;
        r->advice.text =
            train && collect ? epiqp_arena_printf(
                                   j->e.c, arena,
                                   "Train or collect: an ensemble of %.0f instead of %.0f lowers its variance, %s, by "
                                   "%.0f %%, and %s by %.0f %% at best.%s",
                                   enough, m, of, trained, again, collected, more)
            : train ? epiqp_arena_printf(j->e.c, arena,
                                         "Train more: an ensemble of %.0f instead of %.0f lowers its variance, %s, by "
                                         "%.0f %%; more rows would do little.%s",
                                         enough, m, of, trained, more)
                    : epiqp_arena_printf(j->e.c, arena,
                                         "Collect more: %s lower the variance of an ensemble of %.0f, %s, by "
                                         "%.0f %% at best; more members would do little.",
                                         again, m, of, collected);
    }
    bool act = r->advice.action != EPIQ_DO_NOTHING;
    r->advice.members = act && train ? (ptrdiff_t)enough : 0;
    r->advice.rows = act && collect ? rows : 0;
    return r->advice.text ? EPIQ_OK : EPIQ_E_NOMEM;
}

const char *epiq_action_text(epiq_action a)
{
    static const char *const TEXT[] = {"nothing", "train", "collect", "either"};
    return a >= EPIQ_DO_NOTHING && a <= EPIQ_DO_EITHER ? TEXT[a] : "unknown";
}
