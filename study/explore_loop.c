/* explore_loop.c - closed loops on known functions, through epiq.h alone (explore_loop.h). */
#include "study/explore_loop.h"
#include "common/student.h"
#include "study/lab.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the functions: each of their terms is largest at the same place, so the maximum is known ---- */

static double waves(const double *x)
{
    double a = x[0] - 0.7, b = x[1] - 0.25;
    return (cos(9 * a) + cos(8 * b)) / 2 + exp(-3 * (a * a + b * b));
}

static double crest(const double *x)
{
    static const double top[] = {0.3, 0.7, 0.5, 0.2, 0.8, 0.4}, pace[] = {6, 5, 4, 3, 2, 1};
    double sum = 0, away = 0;
    for (int k = 0; k < 6; k++) {
        double a = x[k] - top[k];
        sum += cos(pace[k] * a) / 3;
        away += a * a;
    }
    return sum + exp(-2 * away);
}

/* One smooth hill. */
static double bowl(const double *x)
{
    static const double top[] = {0.4, 0.6, 0.3, 0.7};
    double away = 0;
    for (int k = 0; k < 4; k++) {
        away += (x[k] - top[k]) * (x[k] - top[k]);
    }
    return 1 - 2 * away;
}

/* The larger of two hills, of which the wide one is the lower: 0.8 at most. */
static double decoy(const double *x)
{
    double a = x[0] - 0.2, b = x[1] - 0.8, c = x[0] - 0.7, d = x[1] - 0.3;
    return fmax(exp(-40 * (a * a + b * b)), 0.8 * exp(-3 * (c * c + d * d)));
}

static const loop_function FUNCTIONS[] = {
    {"waves", "two features, several hills, one of them the highest", 2, 2, waves},
    {"crest", "six features of falling importance, and a hill where all are right", 6, 3, crest},
    {"bowl", "four features and one smooth hill", 4, 1, bowl},
    {"decoy", "two features, a wide hill and a narrow one that is higher", 2, 1, decoy},
};

const loop_function *loop_function_list(ptrdiff_t index)
{
    return index >= 0 && index < (ptrdiff_t)(sizeof FUNCTIONS / sizeof *FUNCTIONS) ? &FUNCTIONS[index] : NULL;
}

const char *loop_contender_name(loop_contender k, const epiq_exploration *ask)
{
    static const char *const RULES[] = {
#define RULE_NAME(name, text) "rule " text,
        EPIQ_RULE_LIST(RULE_NAME)
#undef RULE_NAME
    };
    return k == LOOP_RULE     ? RULES[ask->rule]
           : k == LOOP_RANDOM ? "random choice"
           : k == LOOP_GREEDY ? "greedy choice"
                              : "plain ensemble";
}

/* ---- one seed ---- */

static uint64_t mixed(const loop_job *job, uint64_t seed, uint64_t number)
{
    return job->options.seed * 0x9e3779b97f4a7c15 + (seed << 20) + number; /* an odd factor: seeds stay apart */
}

/* Draws of one seed: uniform on [0, 1]^d, and standard normals. Set 1 of epiq_synth is both, in other units. */
static int draw(epiq_ctx *c, const loop_job *job, uint64_t seed, uint64_t number, ptrdiff_t count, double *x, double *e)
{
    const ptrdiff_t d = job->function->d;
    int s = epiq_synth(c, 1, count, d, mixed(job, seed, number), x, e);
    for (ptrdiff_t i = 0; !s && i < count; i++) {
        for (ptrdiff_t k = 0; k < d; k++) {
            e[i] -= sin(x[i * d + k]);
            x[i * d + k] *= 5;
        }
        e[i] /= 0.1;
    }
    return s;
}

typedef struct {
    double *x, *y; /* rows so far */
    ptrdiff_t n;
    double seen, lost; /* the largest true value, and the cumulative regret */
} player;

static void observe(const loop_job *job, player *p, const double *x, double noise)
{
    const ptrdiff_t d = job->function->d;
    double truth = job->function->at(x);
    memcpy(p->x + p->n * d, x, (size_t)d * sizeof *x);
    p->y[p->n++] = truth + job->noise * noise;
    p->seen = p->n == 1 ? truth : fmax(p->seen, truth);
}

bool loop_choose_plain(const epiq_exploration *ask, const epiq_result *r, ptrdiff_t *chosen)
{
    for (ptrdiff_t b = 0; b < ask->batch; b++) {
        double most = 0;
        chosen[b] = -1;
        for (ptrdiff_t i = 0; i < r->point_count; i++) {
            const epiq_point *p = r->points[i];
            double tau2 = p->procedural.variance;
            double score = ask->rule == EPIQ_RULE_UCB ? p->prediction + ask->kappa * sqrt(tau2) : tau2;
            bool out = !p->procedural.known;
            for (ptrdiff_t k = 0; k < b; k++) {
                out = out || chosen[k] == i;
            }
            if (!out && (chosen[b] < 0 || score > most)) {
                most = score;
                chosen[b] = i;
            }
        }
        if (chosen[b] < 0) return false;
    }
    return true;
}

/* Those of the rule without what it adds: as many networks as its budget has, all of them on all rows, none on folds. */
static epiq_options plain_options(const epiq_options *o)
{
    epiq_options own = *o;
    if (o->budget_networks) {
        own.members = o->budget_networks;
        own.width = o->width ? o->width : EPIQ_USUAL_WIDTH;
        own.lambda = o->lambda > 0 ? o->lambda : EPIQ_USUAL_LAMBDA;
    }
    own.confidence = EPIQ_CONFIDENCE_NONE;
    own.predictor = EPIQ_PREDICTOR_ENSEMBLE;
    own.budget_networks = own.fold_members = 0;
    return own;
}

/* Which candidates a player observes next. */
static int choose(epiq_ctx *c, const loop_job *job, loop_contender who, const player *p, const double *candidates,
                  const epiq_options *o, ptrdiff_t *chosen)
{
    if (who == LOOP_RANDOM) { /* they are in random order */
        for (ptrdiff_t b = 0; b < job->ask.batch; b++) {
            chosen[b] = b;
        }
        return EPIQ_OK;
    }
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    epiq_ranking *ranking = NULL;
    epiq_result *alone = NULL;
    int s = epiq_data_new(c, p->n, job->function->d, p->x, p->y, NULL, o, &data);
    s = s < 0 ? s : epiq_points_new(c, data, &at);
    s = s < 0 ? s : epiq_points_add_rows(c, at, job->candidates, candidates);
    if (s >= 0 && who == LOOP_RULE) {
        s = epiq_explore(c, data, at, o, &job->ask, &ranking);
        for (ptrdiff_t b = 0; s >= 0 && b < job->ask.batch; b++) {
            chosen[b] = ranking->ranked[b]->row - 1;
        }
    } else if (s >= 0) {
        const epiq_options plain = plain_options(o);
        epiq_exploration ask = job->ask;
        if (who == LOOP_GREEDY) {
            ask.rule = EPIQ_RULE_UCB;
            ask.kappa = 0;
        }
        s = epiq_estimate(c, data, at, &plain, &alone);
        if (s >= 0) s = loop_choose_plain(&ask, alone, chosen) ? EPIQ_OK : EPIQ_E_NUMERIC;
    }
    epiq_result_free(c, alone);
    epiq_ranking_free(c, ranking);
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    return s;
}

typedef struct {
    double of[LOOP_REGRETS];
} regret;

/* out: contenders by points of this seed */
static int play(epiq_ctx *c, const loop_job *job, ptrdiff_t seed, ptrdiff_t points, regret *out)
{
    const ptrdiff_t d = job->function->d, batch = job->ask.batch, most = job->start + job->steps * batch;
    const ptrdiff_t fresh = job->candidates > job->start ? job->candidates : job->start;
    double *room = malloc((size_t)((fresh + LOOP_CONTENDERS * most) * (d + 1)) * sizeof *room);
    ptrdiff_t *chosen = calloc((size_t)batch, sizeof *chosen);
    if (!room || !chosen) {
        free(room);
        free(chosen);
        return EPIQ_E_NOMEM;
    }
    double *x = room, *noise = x + fresh * d;
    player players[LOOP_CONTENDERS];
    for (int k = 0; k < LOOP_CONTENDERS; k++) {
        players[k] = (player){.x = noise + fresh + k * most * (d + 1)};
        players[k].y = players[k].x + most * d;
    }
    epiq_options o = job->options;
    o.methods = EPIQ_EV; /* of the plain ensemble; epiq_explore takes what it needs */
    o.threads = 1;
    o.influential = 0;
    int s = draw(c, job, (uint64_t)seed, 0, job->start, x, noise);
    for (int k = 0; k < LOOP_CONTENDERS && !s; k++) {
        for (ptrdiff_t i = 0; i < job->start; i++) {
            observe(job, &players[k], x + i * d, noise[i]);
        }
        out[k * points] = (regret){{job->function->best - players[k].seen, 0}};
    }
    for (ptrdiff_t t = 1; t < points && !s; t++) {
        double top = -INFINITY;
        s = draw(c, job, (uint64_t)seed, (uint64_t)t, job->candidates, x, noise);
        for (ptrdiff_t i = 0; i < job->candidates && !s; i++) {
            top = fmax(top, job->function->at(x + i * d));
        }
        for (int k = 0; k < LOOP_CONTENDERS && !s; k++) {
            o.seed = mixed(job, (uint64_t)seed, (uint64_t)t); /* other networks each step */
            s = choose(c, job, (loop_contender)k, &players[k], x, &o, chosen);
            for (ptrdiff_t b = 0; b < batch && !s; b++) {
                const double *where = x + chosen[b] * d;
                players[k].lost += top - job->function->at(where);
                observe(job, &players[k], where, noise[b]);
            }
            out[k * points + t] = (regret){{job->function->best - players[k].seen, players[k].lost}};
        }
    }
    free(chosen);
    free(room);
    return s;
}

/* ---- over seeds ---- */

/* v[0], v[stride], ... less (minus NULL: nothing less) the same of minus. */
static loop_number over_seeds(const double *v, const double *minus, ptrdiff_t seeds, ptrdiff_t stride)
{
    double mean = 0, sum = 0;
    for (ptrdiff_t k = 0; k < seeds; k++) {
        mean += (v[k * stride] - (minus ? minus[k * stride] : 0)) / (double)seeds;
    }
    for (ptrdiff_t k = 0; k < seeds; k++) {
        double off = v[k * stride] - (minus ? minus[k * stride] : 0) - mean;
        sum += off * off;
    }
    double se = sqrt(sum / (double)(seeds - 1) / (double)seeds),
           half = epiqp_student_quantile((double)(seeds - 1), 0.95) * se;
    return (loop_number){mean, minus ? mean - half : fmax(mean - half, 0), mean + half,
                         se}; /* regret is not negative */
}

static const char *told_apart(loop_number less)
{
    return less.hi < 0 ? "better than" : less.lo > 0 ? "worse than" : "not distinguished from";
}

static void judge(loop_result *r)
{
    const loop_number *less = r->less[LOOP_CUMULATIVE], random = less[LOOP_RANDOM], greedy = less[LOOP_GREEDY],
                      plain = less[LOOP_PLAIN];
    snprintf(r->verdict, sizeof r->verdict,
             "By cumulative regret over %td seeds, %s is %s random choice (%+.3g, 95 %% interval %.3g to %.3g), %s "
             "greedy choice (%+.3g, %.3g to %.3g) and %s the plain ensemble (%+.3g, %.3g to %.3g).",
             r->job->seeds, loop_contender_name(LOOP_RULE, &r->job->ask), told_apart(random), random.mean, random.lo,
             random.hi, told_apart(greedy), greedy.mean, greedy.lo, greedy.hi, told_apart(plain), plain.mean, plain.lo,
             plain.hi);
}

static loop_result *gather(const loop_job *job, const regret *all, ptrdiff_t points)
{
    const ptrdiff_t stride = LOOP_REGRETS * LOOP_CONTENDERS * points; /* from seed to seed */
    const regret *end = all + points - 1;                             /* of the rule */
    loop_result *r = malloc(sizeof *r + (size_t)stride * sizeof *r->room);
    if (!r) return NULL;
    *r = (loop_result){.job = job, .points = points};
    for (int i = 0; i < LOOP_REGRETS; i++) {
        for (int k = 0; k < LOOP_CONTENDERS; k++) {
            r->regret[i][k] = r->room + (i * LOOP_CONTENDERS + k) * points;
            for (ptrdiff_t t = 0; t < points; t++) {
                r->regret[i][k][t] = over_seeds(&all[k * points + t].of[i], NULL, job->seeds, stride);
            }
            r->less[i][k] = over_seeds(&end->of[i], &end[k * points].of[i], job->seeds, stride);
        }
    }
    judge(r);
    return r;
}

static const char *sentence(const epiq_ctx *c, int status)
{
    return *epiq_message(c)           ? epiq_message(c)
           : status == EPIQ_E_NUMERIC ? "too few candidates have a variance that is known; use a larger --lambda"
                                      : epiq_status_text(status);
}

int loop_run(loop_job *job, loop_result **out)
{
    *out = NULL;
    const ptrdiff_t points = job->steps + 1, each = LOOP_CONTENDERS * points;
    regret *all = calloc((size_t)(job->seeds * each), sizeof *all);
    if (!all) {
        return lab_fail(&job->crew, EPIQ_E_NOMEM, "no memory for %td seeds of %td steps", job->seeds, job->steps);
    }
    int status = EPIQ_OK;
    ptrdiff_t done = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(job->crew.threads)
    for (ptrdiff_t k = 0; k < job->seeds; k++) {
        epiq_ctx *worker = job->crew.workers[omp_get_thread_num()];
        int so_far;
#pragma omp atomic read
        so_far = status;
        int s = so_far ? so_far : play(worker, job, k + 1, points, all + k * each);
#pragma omp critical(loop)
        {
            done++;
            study_progress p = {job->function->name, 1, 1, done, job->seeds, (double)done / (double)job->seeds};
            bool stop = !s && job->crew.report && job->crew.report(job->crew.user, &p) && done < job->seeds;
            s = stop ? EPIQ_E_STOPPED : s;
            if (s && !status) {
                lab_fail(&job->crew, s, "%s", sentence(worker, s));
#pragma omp atomic write
                status = s;
            }
        }
    }
    if (!status && !(*out = gather(job, all, points))) {
        status = lab_fail(&job->crew, EPIQ_E_NOMEM, "no memory for %td steps", job->steps);
    }
    free(all);
    return status;
}

void loop_result_free(loop_result *r)
{
    free(r);
}
