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

/* Where no variance is known. */
static int choose_by_error(epiq_ctx *c, epiqp_arena *arena, const epiq_compared *models, epiq_comparison *r)
{
    for (ptrdiff_t i = 0; i < r->model_count; i++) {
        const epiq_rmse *one = error_of(&models[i], r->by_cv);
        bool less = r->choice < 0 || one->rmse < error_of(&models[r->choice], r->by_cv)->rmse;
        r->choice = one->known && less ? i : r->choice;
    }
    r->reason = r->choice < 0
                    ? "No choice: no model has an error."
                    : epiqp_arena_sentence(
                          c, arena, "No variance is known that could be compared, so the least %s error decides.",
                          r->by_cv ? "cross-validated" : "leave-one-out");
    return r->reason ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* One standard error is what the least error is known to: within it the smaller variance is worth more. */
int epiqp_choose(epiq_ctx *c, epiqp_arena *arena, const epiq_compared *models, epiq_comparison *r)
{
    const epiq_compared *best = NULL, *chosen = NULL, *end = models + r->model_count;
    ptrdiff_t front = 0, near = 0, whole = 0; /* of all models, those with both numbers */
    for (const epiq_compared *m = models; m < end; m++) {
        front += m->front;
        whole += complete(m, r->by_cv);
        best = m->front && (!best || error_of(m, r->by_cv)->rmse < error_of(best, r->by_cv)->rmse) ? m : best;
    }
    r->choice = -1;
    if (!best) return choose_by_error(c, arena, models, r);
    const epiq_rmse *least = error_of(best, r->by_cv);
    for (const epiq_compared *m = models; m < end; m++) {
        if (m->front && error_of(m, r->by_cv)->rmse <= least->rmse + least->se) {
            near++;
            chosen = !chosen || m->variance.variance < chosen->variance.variance ? m : chosen;
        }
    }
    r->choice = chosen - models;
    const char *which = r->by_cv ? "cross-validated" : r->by_group ? "leave-one-group-out" : "leave-one-out";
    if (r->model_count == 1) {
        r->reason = "It is the only model.";
    } else if (whole == 1) {
        r->reason = "It is the only model with both an error and a variance that can be compared.";
    } else if (front == 1) {
        r->reason = epiqp_arena_sentence(
            c, arena, "Of %td models%s none has a smaller %s error (%.4g), and none a smaller variance.", whole,
            whole < r->model_count ? " that have both" : "", which, least->rmse);
    } else if (near == 1) {
        r->reason = epiqp_arena_sentence(
            c, arena,
            "%td of %td models%s are on the front: no other has both a smaller error and a smaller variance. This one "
            "has the least %s error (%.4g), and no other on the front is within one standard error (%.3g) of it.",
            front, whole, whole < r->model_count ? " that have both numbers" : "", which, least->rmse, least->se);
    } else {
        r->reason = epiqp_arena_sentence(
            c, arena,
            "%td of %td models%s are on the front: no other has both a smaller error and a smaller variance. %td of "
            "these are within one standard error (%.3g) of the least %s error (%.4g); of them this one has the "
            "smallest variance.",
            front, whole, whole < r->model_count ? " that have both numbers" : "", near, least->se, which, least->rmse);
    }
    return r->reason ? EPIQ_OK : EPIQ_E_NOMEM;
}
