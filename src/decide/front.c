/* front.c - the models that no other beats in both error and variance, and one of them to start with. */
#include "decide/decide.h"

static const epiq_rmse *error_of(const epiq_compared *m, bool by_cv)
{
    return by_cv ? &m->cv : &m->loo;
}

static bool complete(const epiq_compared *m, bool by_cv)
{
    return error_of(m, by_cv)->known && m->variance.known;
}

static bool beats(const epiq_compared *a, const epiq_compared *b, bool by_cv)
{
    double e = error_of(a, by_cv)->rmse - error_of(b, by_cv)->rmse, v = a->variance.variance - b->variance.variance;
    return e <= 0 && v <= 0 && (e < 0 || v < 0);
}

void epiqp_front(epiq_compared *models, ptrdiff_t count, bool by_cv)
{
    for (epiq_compared *m = models; m < models + count; m++) {
        m->front = complete(m, by_cv);
        for (const epiq_compared *other = models; m->front && other < models + count; other++) {
            m->front = !(complete(other, by_cv) && beats(other, m, by_cv));
        }
    }
}

/* One standard error is what the least error is known to: within it the smaller variance is worth more. */
int epiqp_choose(epiq_ctx *c, epiqp_arena *arena, epiq_comparison *r)
{
    const epiq_compared *best = NULL, *chosen = NULL, *end = r->models + r->model_count;
    ptrdiff_t front = 0, near = 0;
    for (const epiq_compared *m = r->models; m < end; m++) {
        front += m->front;
        best = m->front && (!best || error_of(m, r->by_cv)->rmse < error_of(best, r->by_cv)->rmse) ? m : best;
    }
    r->choice = -1;
    if (!best) {
        r->reason = "No choice: no model has both an error and a variance.";
        return EPIQ_OK;
    }
    const epiq_rmse *least = error_of(best, r->by_cv);
    for (const epiq_compared *m = r->models; m < end; m++) {
        if (m->front && error_of(m, r->by_cv)->rmse <= least->rmse + least->se) {
            near++;
            chosen = !chosen || m->variance.variance < chosen->variance.variance ? m : chosen;
        }
    }
    r->choice = chosen - r->models;
    const char *which = r->by_cv ? "cross-validated" : r->by_group ? "leave-one-group-out" : "leave-one-out";
    if (r->model_count == 1) {
        r->reason = "It is the only model.";
    } else if (front == 1) {
        r->reason = epiqp_arena_printf(c, arena,
                                       "Of %td models none has a smaller %s error (%.4g), and none a smaller variance.",
                                       r->model_count, which, least->rmse);
    } else {
        r->reason =
            epiqp_arena_printf(c, arena,
                               "%td of %td models are on the front: no other has both a smaller error and a smaller "
                               "variance. %td of these %s within "
                               "one standard error (%.3g) of the least %s error (%.4g)%s.",
                               front, r->model_count, near, near == 1 ? "is" : "are", least->se, which, least->rmse,
                               near == 1 ? ", which is its own" : "; of them this one has the smallest variance");
    }
    return r->reason ? EPIQ_OK : EPIQ_E_NOMEM;
}
