/* fuzz_result.c - what a result promises: every number finite, variances not negative, intervals the right way round, texts
 * that can be read. The numbers are summed up on the way, so that two results can be held against each other.
 */
#include "epiq_details.h"
#include "fuzz.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

typedef struct {
    uint64_t sum; /* FNV-1a, a number at a time */
} digest;

static void whole(digest *d, int64_t v)
{
    d->sum = (d->sum ^ (uint64_t)v) * 0x100000001B3u;
    d->sum ^= d->sum >> 29;
}

static void number(digest *d, double v)
{
    EXPECT(isfinite(v));
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    whole(d, bits);
}

static void numbers(digest *d, const double *v, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        number(d, v[i]);
    }
}

static void part(digest *d, const epiq_part *p)
{
    EXPECT(p->known || !p->has_interval);
    EXPECT(!p->known || p->variance >= 0);
    EXPECT(!p->has_interval || (p->lo >= 0 && p->lo <= p->variance && p->df > 0));
    EXPECT(!p->has_interval || (p->open ? p->hi == 0 : p->variance <= p->hi && p->hi <= 101 * p->variance));
    EXPECT(p->method <= EPIQ_BY_BA_RETRAIN);
    whole(d, p->known << 8 | p->has_interval << 4 | (int)p->method);
    numbers(d, (const double[]){p->variance, p->lo, p->hi, p->df}, 4);
}

static void point(digest *d, const epiq_point *p)
{
    const epiq_part *const parts[] = {&p->prediction_variance,
                                      &p->full_variance,
                                      &p->procedural,
                                      &p->data,
                                      &p->ensemble,
                                      &p->single,
                                      &p->infinite,
                                      &p->ba.part};
    EXPECT(p->at && *p->at);
    numbers(d, (const double[]){p->prediction, p->probe_error, p->kernel_prediction.value}, 3);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        part(d, parts[k]);
    }
    for (int k = 0; k < EPIQ_CORRECTIONS; k++) {
        part(d, epiq_point_corrected(p, k));
    }
    numbers(d, p->members, p->member_count);
    numbers(d, p->batches, p->batch_count);
    numbers(d, (const double[]){p->check.ba, p->check.if_plus_ev, p->ba.uncorrected, p->ba.factor}, 4);
    numbers(d, (const double[]){p->predictive.lo, p->predictive.hi, p->predictive.noise}, 3);
    EXPECT(!p->predictive.known || (p->predictive.lo <= p->predictive.hi && p->predictive.noise >= 0));
    whole(d, p->kernel_prediction.known | p->check.known << 1 | p->check.inside << 2 | p->predictive.known << 3);
    for (ptrdiff_t k = 0; k < p->influential_count; k++) {
        EXPECT(p->influential[k]->row >= 1);
        EXPECT(!k || fabs(p->influential[k]->influence) <= fabs(p->influential[k - 1]->influence));
        whole(d, p->influential[k]->row);
        number(d, p->influential[k]->influence);
    }
}

/* A number that is none, as printf writes it. */
static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length) {
        if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[length])) return true;
    }
    return false;
}

uint64_t fuzz_result(const epiq_result *r, ptrdiff_t rows)
{
    digest d = {0xCBF29CE484222325u};
    EXPECT(r->point_count >= 1 && r->backend && r->advice->text && *r->advice->text);
    for (ptrdiff_t k = 0; k < r->point_count; k++) {
        point(&d, r->points[k]);
    }
    for (ptrdiff_t k = 0; k < r->sweep_count; k++) {
        whole(&d, r->sweeps[k]->feature);
        numbers(&d, r->sweeps[k]->value, r->sweeps[k]->count);
        for (ptrdiff_t i = 0; i < r->sweeps[k]->count; i++) {
            EXPECT(!i || r->sweeps[k]->value[i] > r->sweeps[k]->value[i - 1]);
            point(&d, r->sweeps[k]->points[i]);
        }
    }
    EXPECT(!r->fit->known || (r->fit->kernel_rmse >= 0 && r->fit->noise_variance >= 0));
    numbers(&d, (const double[]){r->solve->residual, r->fit->kernel_rmse, r->fit->r2, r->fit->noise_variance}, 4);
    numbers(&d, r->fit->observed, r->fit->observed ? rows : 0);
    numbers(&d, r->fit->loo, r->fit->loo ? rows : 0);
    numbers(&d, r->fit->loo_sd, r->fit->loo_sd ? rows : 0);
    EXPECT(r->training->converged <= r->training->members && r->training->iterations_median >= 0);
    numbers(&d, (const double[]){r->training->loss_max, r->training->gradient_rel_max}, 2);
    whole(&d, r->training->iterations_median);
    whole(&d, (int)r->advice->action);
    EXPECT(isfinite(r->cost->bytes) && isfinite(r->cost->seconds));
    for (ptrdiff_t k = 0; k < r->warning_count; k++) {
        fuzz_text(r->warnings[k]->message);
        EXPECT(!has_word(r->warnings[k]->message, "nan") && !has_word(r->warnings[k]->message, "inf"));
        whole(&d, (int64_t)strlen(r->warnings[k]->message));
    }
    return d.sum;
}
