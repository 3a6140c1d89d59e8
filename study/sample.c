/* sample.c - one repetition: draw a data set of a known distribution, ask epiq_estimate about it, keep the answer as a
 * row of numbers.
 */
#include "common/machine.h"
#include "study/lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const lab_table LAB_TABLES[TABLE_COUNT] = {
    [BOSTON] = {"boston", "medv", 506, 13},    [CONCRETE] = {"concrete", "strength", 1030, 8},
    [ENERGY] = {"energy", "heating", 768, 8},  [WINE] = {"wine", "quality", 1599, 11},
    [YACHT] = {"yacht", "resistance", 308, 6},
};

const char *study_table(ptrdiff_t index)
{
    return index >= 0 && index < TABLE_COUNT ? LAB_TABLES[index].name : NULL;
}

const char *const LAB_CORRECTIONS[EPIQ_CORRECTIONS] = {"moderated", "rowwise", "unbiased", "jackknife", "none"};

ptrdiff_t lab_sample_length(const lab_cell *c)
{
    return c->make ? c->fields : lab_points(c) * (S_FIXED + c->o.members + c->o.batches);
}

int lab_read_table(epiq_ctx *ctx, const lab_cell *c, const char *folder, const epiq_options *o, epiq_data **data)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.csv", folder, c->table->name);
    return epiq_data_read(ctx, path, o, data);
}

static void keep_part(const epiq_part *part, double *variance, double *df)
{
    if (part->known) {
        *variance = part->variance;
        *df = part->df;
    }
}

static void keep(const lab_cell *c, const epiq_data *data, const epiq_result *r, ptrdiff_t point, double seconds,
                 double *sample)
{
    const epiq_point *p = r->points[point];
    sample[S_PREDICTION] = p->prediction;
    sample[S_SECONDS] = seconds;
    if (r->retrain->known && r->retrain->kappa > 0) sample[S_KAPPA] = r->retrain->kappa;
    sample[S_FACTOR] = epiq_data_describe(data).factor;
    if (p->kernel_prediction.known) sample[S_KERNEL] = p->kernel_prediction.value;
    if (p->procedural.method == EPIQ_BY_EV) keep_part(&p->procedural, &sample[S_EV], &sample[S_EV_DF]);
    keep_part(&p->ba.part, &sample[S_BA], &sample[S_BA_DF]);
    if (p->ba.corrected) sample[S_BA_FACTOR] = p->ba.factor;
    if (p->infinite.known) sample[S_INFINITE] = p->infinite.variance;
    for (int k = 0; k < EPIQ_CORRECTIONS; k++) {
        keep_part(epiq_point_corrected(p, k), &sample[S_IF + k], &sample[S_IF_DF + k]);
    }
    if (p->confidence.known) {
        sample[S_CENTRE] = p->confidence.centre;
        sample[S_CENTRE_VARIANCE] = p->confidence.variance;
        sample[S_CENTRE_DF] = p->confidence.df;
    }
    if (p->data.known) {
        sample[S_DATA] = p->data.variance;
        sample[S_DATA_METHOD] = (double)p->data.method;
        if (p->data.has_interval) {
            sample[S_DATA_LO] = p->data.lo;
            sample[S_DATA_HI] = p->data.hi;
        }
    }
    for (ptrdiff_t k = 0; k < p->member_count; k++) {
        sample[S_FIXED + k] = p->members[k];
    }
    for (ptrdiff_t k = 0; k < p->batch_count; k++) {
        sample[S_FIXED + c->o.members + k] = p->batches[k];
    }
}

/* Of a target: x0 asked of the first half of the rows, and of the rest. */
static int ask_halves(epiq_ctx *ctx, const lab_cell *c, const epiq_options *o, const lab_drawn *drawn, double *mean)
{
    int s = EPIQ_OK;
    *mean = 0;
    for (ptrdiff_t half = 0; !s && half < 2; half++) {
        const ptrdiff_t from = half * (c->n / 2), n = half ? c->n - from : c->n / 2;
        epiq_data *data = NULL;
        epiq_points *at = NULL;
        epiq_result *r = NULL;
        s = epiq_data_new(ctx, n, c->d, drawn->x + from * c->d, drawn->y + from, NULL, o, &data);
        s = s ? s : epiq_points_new(ctx, data, &at);
        s = s ? s : epiq_points_add_rows(ctx, at, 1, drawn->points);
        s = s ? s : epiq_estimate(ctx, data, at, o, &r);
        if (!s) *mean += r->points[0]->prediction / 2;
        epiq_result_free(ctx, r);
        epiq_points_free(ctx, at);
        epiq_data_free(ctx, data);
    }
    return s;
}

int lab_sample(epiq_ctx *ctx, const lab_cell *c, const char *data_dir, ptrdiff_t rep, double *sample)
{
    epiq_options o = c->o;
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    epiq_result *r = NULL;
    lab_drawn drawn = {0};
    bool as_it_is = c->table && !c->planted;
    o.seed = lab_network_seed(c, rep);
    o.influential = 0;
    int s;
    if (as_it_is) {
        o.target = c->table->target;
        s = lab_read_table(ctx, c, data_dir, &o, &data);
    } else if (!(s = lab_draw(ctx, c, rep, &drawn))) {
        s = epiq_data_new(ctx, c->n, c->d, drawn.x, drawn.y, NULL, &o, &data);
    }
    s = s ? s : epiq_points_new(ctx, data, &at);
    s = s          ? s
        : as_it_is ? epiq_points_add(ctx, at, "mean")
                   : epiq_points_add_rows(ctx, at, lab_points(c), drawn.points);
    double began = epiqp_now();
    s = s ? s : epiq_estimate(ctx, data, at, &o, &r);
    double seconds = epiqp_now() - began;
    for (ptrdiff_t k = 0; !s && k < c->length; k++) {
        sample[k] = NAN;
    }
    for (ptrdiff_t p = 0; !s && p < lab_points(c); p++) {
        keep(c, data, r, p, seconds, sample + p * (c->length / lab_points(c)));
    }
    s = s || !c->target ? s : ask_halves(ctx, c, &o, &drawn, &sample[S_HALVES]);
    s = s || as_it_is || !c->control ? s : lab_control(ctx, c, &o, &drawn, sample);
    epiq_result_free(ctx, r);
    epiq_points_free(ctx, at);
    epiq_data_free(ctx, data);
    free(drawn.x);
    return s;
}
