/* advice.c - one line on what to do: train more members, collect more rows, either, or nothing. */
#include "est/est.h"

#include <math.h>

static const double NEGLIGIBLE = 0.01; /* of the leave-one-out squared error: less than this cannot be noticed */
static const double DOMINATES = 2;     /* one part so many times the other decides alone */
static const double SETTLED = 0.1;     /* enough members: procedural / m below this fraction of the data variance */

int epiqp_advise(epiqp_job *j)
{
    epiq_result *r = &j->answer->result;
    double procedural = 0, data = 0, m = (double)j->o.ensemble_size;
    ptrdiff_t both = 0;
    for (ptrdiff_t p = 0; p < j->points; p++) {
        const epiq_point *point = &j->answer->points[p];
        if (point->procedural.known && point->data.known) {
            both++;
            procedural += point->procedural.variance;
            data += point->data.variance;
        }
    }
    char *text;
    if (!both) {
        text = epiqp_arena_printf(
            j->e.c, &j->answer->arena,
            "Measure both parts to be advised: run two of the methods if, ev, ba (with if and ev first).");
        r->advice.action = EPIQ_DO_NOTHING;
    } else {
        procedural /= (double)both;
        data /= (double)both;
        double ensemble = data + procedural / m, error2 = r->fit.known ? r->fit.loo_rmse * r->fit.loo_rmse : 0;
        double enough = data > 0 ? ceil(procedural / (SETTLED * data)) : 10 * m;
        enough = fmin(fmax(enough, m), 1e6);
        bool train = procedural / m > data / DOMINATES, collect = data > procedural / m / DOMINATES;
        if (ensemble <= NEGLIGIBLE * error2 || ensemble == 0) {
            r->advice.action = EPIQ_DO_NOTHING;
            text = epiqp_arena_printf(
                j->e.c, &j->answer->arena,
                "Nothing to gain: the ensemble's variance is %.2g %% of the squared leave-one-out error, which is "
                "mostly noise or misfit.",
                error2 > 0 ? 100 * ensemble / error2 : 0);
        } else {
            r->advice.action = train && collect ? EPIQ_DO_EITHER : train ? EPIQ_DO_TRAIN : EPIQ_DO_COLLECT;
            r->advice.members = train ? (ptrdiff_t)enough : 0;
            r->advice.rows = collect ? j->n : 0; /* doubling the rows about halves the data variance */
            double trained = 100 * (1 - (data + procedural / enough) / ensemble), collected = 100 * data / 2 / ensemble;
            if (r->advice.action == EPIQ_DO_COLLECT) {
                text = epiqp_arena_printf(
                    j->e.c, &j->answer->arena,
                    "Collect more: %td more rows lower the ensemble's variance by about %.0f %%; more members would "
                    "do little.",
                    r->advice.rows, collected);
            } else if (r->advice.action == EPIQ_DO_TRAIN) {
                text = epiqp_arena_printf(
                    j->e.c, &j->answer->arena,
                    "Train more: an ensemble of %td instead of %td lowers its variance by %.0f %%; more rows would do "
                    "little.",
                    r->advice.members, j->o.ensemble_size, trained);
            } else {
                text = epiqp_arena_printf(
                    j->e.c, &j->answer->arena,
                    "Train or collect: an ensemble of %td instead of %td lowers its variance by %.0f %%, and %td more "
                    "rows by about %.0f %%.",
                    r->advice.members, j->o.ensemble_size, trained, r->advice.rows, collected);
            }
        }
    }
    r->advice.text = text;
    return text ? EPIQ_OK : EPIQ_E_NOMEM;
}

const char *epiq_action_text(epiq_action a)
{
    static const char *const TEXT[] = {"nothing", "train", "collect", "either"};
    return a >= EPIQ_DO_NOTHING && a <= EPIQ_DO_EITHER ? TEXT[a] : "unknown";
}
