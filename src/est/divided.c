/* divided.c - kernel ridge regression averaged over P disjoint parts of the rows (docs/method.md section 3). A part is a
 * job of its own: IF runs on it as it does on all rows, and only one part's triangle is in memory. With c_p and V_p of
 * part p,
 *     c = c_p / P  at its rows,   hbar = c'y,   V = sum_p V_p / P^2
 * and a row left out changes its own part alone.
 */
#include "est/est.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum {
    ROWS = 8000, /* of a part, unless another number is asked for: its triangle takes 256 MB */
    FEWEST = 4   /* groups of a part, on average: fewer say nothing of a variance */
};

ptrdiff_t epiqp_parts(const epiq_options *o, ptrdiff_t n)
{
    return o->parts > 0 ? o->parts : epiqp_max(2, (n + ROWS - 1) / ROWS);
}

/* ---- which rows ---- */

typedef struct {
    ptrdiff_t parts;
    ptrdiff_t *part_of_row; /* n */
    ptrdiff_t *sizes;       /* parts: rows, */
    ptrdiff_t *groups;      /* and groups */
} dealt;

static int refuse_group(const epiqp_job *j, const dealt *d, ptrdiff_t rows)
{
    return epiqp_fail(j->e.c, EPIQ_E_DATA,
                      "a group of %td rows fills a part of %td alone, and one group says nothing of other data; use "
                      "fewer --parts than %td, or smaller groups",
                      rows, j->n / d->parts, d->parts);
}

static int deal(epiqp_job *j, dealt *d)
{
    const epiq_data *data = j->data;
    const bool grouped = data->groups < data->n;
    const ptrdiff_t parts = j->o.parts;
    *d = (dealt){0};
    if (parts > data->groups / FEWEST) {
        return epiqp_fail(j->e.c, EPIQ_E_DATA,
                          "%td %s are too few for %td parts of at least %d; use fewer --parts, or --solver exact",
                          data->groups, grouped ? "groups" : "rows", parts, FEWEST);
    }
    d->part_of_row = epiqp_arena_alloc(j->e.c, &j->scratch, j->n + 2 * parts + data->groups, sizeof *d->part_of_row);
    if (!d->part_of_row) {
        return EPIQ_E_NOMEM;
    }
    d->parts = parts;
    d->sizes = d->part_of_row + j->n;
    d->groups = d->sizes + parts;
    ptrdiff_t *rows = d->groups + parts;
    epiqp_stream order = {j->o.seed, EPIQP_FOR_PARTS, 0};
    int s = epiqp_deal(j->e.c, data, order, d->parts, d->part_of_row, d->sizes);
    for (ptrdiff_t i = 0; !s && i < j->n; i++) {
        d->groups[d->part_of_row[i]] += rows[data->group[i]]++ == 0;
    }
    for (ptrdiff_t i = 0; !s && i < j->n; i++) {
        ptrdiff_t own = rows[data->group[i]];
        if (d->parts > 1 && (own > j->n / d->parts || d->groups[d->part_of_row[i]] < 2)) {
            s = refuse_group(j, d, own);
        }
    }
    return s;
}

/* ---- a part: a job of its own ---- */

typedef struct {
    ptrdiff_t number;
    ptrdiff_t *index; /* rows of the part by rows: which of all */
    epiq_data data;
    epiqp_answer answer;
    epiqp_predictive left_out;
    epiqp_more more;
    epiqp_job job;
} part;

/* Rows, targets and groups of the part, in the order they have among all. */
static int take_rows(const epiqp_job *j, const dealt *d, part *p)
{
    const epiq_data *all = j->data;
    ptrdiff_t n = d->sizes[p->number], width = all->d, k = 0;
    epiqp_arena *arena = &p->job.scratch;
    p->data = (epiq_data){.n = n, .d = width, .y_shift = all->y_shift, .y_factor = all->y_factor};
    p->data.x = epiqp_arena_alloc(j->e.c, arena, n * width, sizeof(double));
    p->data.y = epiqp_arena_alloc(j->e.c, arena, n, sizeof(double));
    p->index = epiqp_arena_alloc(j->e.c, arena, 3 * n + all->groups, sizeof *p->index);
    p->job.members_mean = j->members_mean ? epiqp_arena_alloc(j->e.c, arena, n, sizeof(double)) : NULL;
    if (!p->data.x || !p->data.y || !p->index || (j->members_mean && !p->job.members_mean)) {
        return EPIQ_E_NOMEM;
    }
    p->data.row = p->index + n;
    p->data.group = p->data.row + n;
    ptrdiff_t *known = p->data.group + n; /* a group's number here, from 1; 0: not met yet */
    for (ptrdiff_t i = 0; i < all->n; i++) {
        if (d->part_of_row[i] != p->number) {
            continue;
        }
        ptrdiff_t *group = &known[all->group[i]];
        *group = *group ? *group : ++p->data.groups;
        memcpy(p->data.x + k * width, all->x + i * width, (size_t)width * sizeof(double));
        p->data.y[k] = all->y[i];
        p->data.row[k] = all->row[i];
        p->data.group[k] = *group - 1;
        if (j->members_mean) {
            p->job.members_mean[k] = j->members_mean[i];
        }
        p->index[k++] = i;
    }
    return EPIQ_OK;
}

/* What IF fills in, and what it is asked beside. */
static int give_room(const epiqp_job *j, const dealt *d, bool left_out, part *p)
{
    epiqp_job *own = &p->job;
    const ptrdiff_t n = p->data.n, points = own->points;
    own->inf = epiqp_arena_alloc(j->e.c, &own->scratch, points, sizeof *own->inf);
    own->corrected = epiqp_arena_alloc(j->e.c, &own->scratch, points * EPIQ_CORRECTIONS, sizeof *own->corrected);
    p->answer.points = epiqp_arena_alloc(j->e.c, &own->scratch, points, sizeof *p->answer.points);
    double *room = epiqp_arena_alloc(j->e.c, &own->scratch, left_out ? 2 * n : 0, sizeof *room);
    if (!own->inf || !own->corrected || !p->answer.points || !room) {
        return EPIQ_E_NOMEM;
    }
    p->answer.warnings.arena = &p->answer.arena;
    p->left_out = (epiqp_predictive){.residual = room, .weight = room + n};
    p->more = (epiqp_more){.leverage = j->more->leverage || j->n / d->parts <= EPIQP_CHEAP_ROWS,
                           .left_out = left_out ? &p->left_out : NULL};
    return EPIQ_OK;
}

static void part_free(epiq_ctx *c, part *p)
{
    epiqp_fit_free(c, &p->job.fit);
    epiqp_arena_free(c, &p->job.scratch);
    epiqp_arena_free(c, &p->answer.arena);
}

/* Whatever it returns, part_free ends it. */
static int part_new(const epiqp_job *j, const dealt *d, ptrdiff_t number, bool left_out, part *p)
{
    *p = (part){.number = number};
    p->job = (epiqp_job){.e = j->e,
                         .data = &p->data,
                         .o = j->o,
                         .engine = j->engine,
                         .n = d->sizes[number],
                         .asked = j->asked,
                         .points = j->points,
                         .at = j->at,
                         .name = j->name,
                         .more = &p->more,
                         .answer = &p->answer,
                         .warnings = &p->answer.warnings};
    epiqp_job *own = &p->job;
    own->o.solver = EPIQ_SOLVER_EXACT;
    own->o.seed += (uint64_t)number; /* probes of its own, so that their errors do not add up */
    int s = take_rows(j, d, p);
    s = s ? s : give_room(j, d, left_out, p);
    return s ? s
             : epiqp_fit_new(&own->e, &own->o, own->n, p->data.d, p->data.x, p->data.y, own->points, own->at,
                             &own->fit);
}

/* ---- what the parts are together ---- */

typedef struct {
    double variance;   /* of the sum over the parts so far */
    double inverse_df; /* Satterthwaite's, */
    double probes2;    /* and the probes' squared error over the variance's square */
    bool unknown;      /* in some part */
} total;

typedef struct {
    const dealt *d;
    total *totals;             /* points by EPIQ_CORRECTIONS */
    epiq_influence *strongest; /* points asked for by room */
    ptrdiff_t room;
    epiqp_predictive predictive;
    double *by_others; /* n: sum over the other parts of their predictions of the row */
    double *left_out,
        *left_alone; /* n each: the row's residual in its part without its group, for the interval and for the fit; the
                                    * latter without it alone, where there are no groups */
    double *wider;   /* n: variance of the latter over the noise's */
    double noise2, freedom;        /* their ratio is the noise */
    bool leverage, exact, grouped; /* of all parts so far */
    double *smoothed;              /* n: the noise of each row as its part smooths it; NULL: some part does not */
} whole;

static int whole_new(epiqp_job *j, const dealt *d, whole *w)
{
    const ptrdiff_t n = j->n;
    *w = (whole){.d = d, .leverage = true, .exact = true, .grouped = true, .room = epiqp_min(j->o.influential, n)};
    w->totals = epiqp_arena_alloc(j->e.c, &j->scratch, j->points * EPIQ_CORRECTIONS, sizeof *w->totals);
    w->strongest = epiqp_arena_alloc(j->e.c, &j->answer->arena, j->asked * w->room, sizeof *w->strongest);
    w->by_others = epiqp_arena_alloc(j->e.c, &j->scratch, 5 * n, sizeof *w->by_others);
    if (!w->totals || !w->strongest || !w->by_others) {
        return EPIQ_E_NOMEM;
    }
    w->left_out = w->by_others + n;
    w->left_alone = w->left_out + n;
    w->wider = w->left_alone + n;
    w->smoothed = w->wider + n;
    bool inverse = !j->o.probes || j->o.probes >= n / d->parts;
    int s = j->more->predictive && inverse ? epiqp_predictive_room(j, &w->predictive) : EPIQ_OK;
    w->predictive.known = w->predictive.residual;
    return s;
}

/* x more, with df degrees of freedom and the probes' standard error relative to it. Ratios neither overflow nor vanish. */
static void add(total *t, const epiq_part *x, double probe_error)
{
    double sum = t->variance + x->variance;
    t->unknown |= !x->known || !isfinite(sum);
    if (t->unknown || sum == 0) {
        return;
    }
    double before = t->variance / sum, share = x->variance / sum;
    t->inverse_df = before * before * t->inverse_df + (x->df > 0 ? share * share / x->df : 0);
    t->probes2 = before * before * t->probes2 + share * probe_error * (share * probe_error);
    t->variance = sum;
}

/* K(X, X_p) alpha_p, added to the rows of the other parts. */
static int predict_others(epiqp_job *j, const part *p, whole *w)
{
    const epiqp_fit *all = &j->fit, *own = &p->job.fit;
    const ptrdiff_t n = own->rows.n;
#pragma omp parallel for schedule(dynamic) num_threads(j->e.threads)
    for (ptrdiff_t i = 0; i < j->n; i += EPIQP_BLOCK) {
        double block[EPIQP_BLOCK * EPIQP_BLOCK], sum[EPIQP_BLOCK] = {0};
        ptrdiff_t rows = epiqp_min(EPIQP_BLOCK, j->n - i);
        for (ptrdiff_t k = 0; k < n && !epiqp_stopping(j->e.c); k += EPIQP_BLOCK) {
            ptrdiff_t some = epiqp_min(EPIQP_BLOCK, n - k);
            epiqp_kernel_block(&all->arch, &all->rows, i, rows, &own->rows, k, some, block, NULL, rows);
            j->e.la->gemv('N', rows, some, 1, block, rows, own->ridge.alpha + k, 1, sum);
        }
        for (ptrdiff_t k = 0; k < rows; k++) {
            w->by_others[i + k] += w->d->part_of_row[i + k] == p->number ? 0 : sum[k];
        }
    }
    return epiqp_stopping(j->e.c) ? epiqp_report(j->e.c, "parts", p->number, w->d->parts) : EPIQ_OK;
}

/* Leaving rows out of their own part. */
static int add_leverages(epiqp_job *j, const part *p, whole *w)
{
    const epiqp_ridge *r = &p->job.fit.ridge;
    const ptrdiff_t n = p->job.n;
    w->leverage &= r->diagonal && p->answer.result.fit.known;
    w->exact &= !p->answer.result.probes;
    w->predictive.known &= p->left_out.known;
    if (!w->leverage) {
        return EPIQ_OK;
    }
    const epiqp_grouped *g = &p->job.grouped;
    w->grouped &= g->known;
    for (ptrdiff_t k = 0; k < n; k++) {
        ptrdiff_t i = p->index[k];
        w->left_alone[i] = g->known ? g->left_out[k] : r->alpha[k] / r->diagonal[k];
        w->wider[i] = g->known ? g->wider[k] * g->wider[k] : r->norm2[k] / r->diagonal[k] / r->diagonal[k];
        w->freedom += g->known ? 1 : r->shift * r->shift * r->norm2[k];
        if (w->predictive.known) {
            w->left_out[i] = p->left_out.residual[k];
            w->predictive.weight[i] = p->left_out.weight[k];
        }
    }
    w->noise2 += g->known ? epiqp_dot(n, g->noise, g->noise) : r->shift * r->shift * epiqp_dot(n, r->alpha, r->alpha);
    return predict_others(j, p, w);
}

/* What the part found at the points. */
static void add_points(const epiqp_job *j, const part *p, whole *w)
{
    for (ptrdiff_t k = 0; k < j->points; k++) {
        const epiq_point *found = &p->answer.points[k];
        for (int how = 0; how < EPIQ_CORRECTIONS; how++) {
            const ptrdiff_t at = k * EPIQ_CORRECTIONS + how;
            add(&w->totals[at], &p->job.corrected[at], how == j->o.correction ? found->probe_error : 0);
        }
        epiq_point *point = &j->answer->points[k];
        for (ptrdiff_t i = 0; i < found->influential_count; i++) {
            epiq_influence one = found->influential[i];
            one.influence /= (double)w->d->parts;
            epiqp_influence_keep(w->strongest + k * w->room, &point->influential_count, w->room, one);
        }
        point->influential = found->influential_count ? w->strongest + k * w->room : point->influential;
    }
}

/* A part's warnings, each kind once; what it says of probes is true of the part alone. */
static int pass_on(epiqp_job *j, const part *p, const dealt *d)
{
    const epiqp_warnings *found = &p->answer.warnings;
    int s = EPIQ_OK;
    for (ptrdiff_t k = 0; !s && k < found->count; k++) {
        bool said = strcmp(found->list[k].code, "probes") == 0;
        for (ptrdiff_t i = 0; i < j->warnings->count; i++) {
            said |= strcmp(found->list[k].code, j->warnings->list[i].code) == 0;
        }
        s = said ? EPIQ_OK
                 : epiqp_warn(j->e.c, j->warnings, found->list[k].code, "part %td of %td: %s", p->number + 1, d->parts,
                              found->list[k].message);
    }
    return s;
}

static int influence_of(epiqp_job *j, part *p, whole *w)
{
    int s = epiqp_estimate_if(&p->job);
    if (s) {
        return s;
    }
    j->answer->result.probes = epiqp_max(j->answer->result.probes, p->answer.result.probes);
    add_points(j, p, w);
    for (ptrdiff_t k = 0; w->smoothed && p->job.smoothed && k < p->job.n; k++) {
        w->smoothed[p->index[k]] = p->job.smoothed[k];
    }
    w->smoothed = p->job.smoothed ? w->smoothed : NULL;
    s = pass_on(j, p, w->d);
    return s ? s : add_leverages(j, p, w);
}

/* A row less its prediction by the others, of which those of its own part alone change: e is its residual there. */
static double by_others(const epiqp_job *j, const whole *w, ptrdiff_t i, double e)
{
    double parts = (double)w->d->parts;
    return ((parts - 1) * j->data->y[i] - w->by_others[i] + e) / parts;
}

static int describe(epiqp_job *j, whole *w)
{
    const double parts = (double)w->d->parts;
    for (ptrdiff_t i = 0; i < j->n; i++) {
        w->left_alone[i] = by_others(j, w, i, w->left_alone[i]);
        /* each other part's weights at x_i are taken to be as large as those of its own part without it */
        w->wider[i] = sqrt(1 + (w->wider[i] - 1) / parts);
    }
    int s = epiqp_describe_errors(j, w->left_alone, w->exact ? w->wider : NULL, sqrt(w->noise2 / w->freedom));
    j->answer->result.fit.by_group = w->grouped && j->answer->result.fit.known;
    w->predictive.known &= j->answer->result.fit.known;
    for (ptrdiff_t i = 0; w->predictive.known && i < j->n; i++) {
        w->predictive.residual[i] = by_others(j, w, i, w->left_out[i]);
    }
    w->predictive.moves = w->left_out;
    ptrdiff_t points = !s && w->predictive.known ? j->points : 0;
#pragma omp parallel for schedule(static) num_threads(j->e.threads) if (j->n * points > 20000)
    for (ptrdiff_t p = 0; p < points; p++) {
        epiqp_predictive_at(j, &w->predictive, j->fit.ridge.c + p * j->n, omp_get_thread_num(), &j->answer->points[p]);
    }
    return s;
}

static int finish(epiqp_job *j, whole *w)
{
    const double parts2 = (double)w->d->parts * (double)w->d->parts;
    for (ptrdiff_t k = 0; k < j->points * EPIQ_CORRECTIONS; k++) {
        const total *t = &w->totals[k];
        if (!t->unknown) {
            double df = t->inverse_df > 0 ? 1 / t->inverse_df : 0;
            j->corrected[k] = epiq_part_of(t->variance / parts2, df, j->o.level, EPIQ_BY_IF);
        }
    }
    for (ptrdiff_t p = 0; p < j->points; p++) {
        j->inf[p] = j->corrected[p * EPIQ_CORRECTIONS + j->o.correction];
        j->answer->points[p].probe_error = sqrt(w->totals[p * EPIQ_CORRECTIONS + j->o.correction].probes2);
    }
    j->smoothed = w->smoothed;
    j->smoothed_mean = w->freedom > 0 ? w->noise2 / w->freedom : 0;
    int s = w->leverage ? describe(j, w) : EPIQ_OK;
    return s || !j->answer->result.probes ? s : epiqp_warn_of_probes(j);
}

/* ---- one part after another ---- */

static void scatter(epiqp_job *j, const part *p, ptrdiff_t parts)
{
    const epiqp_ridge *own = &p->job.fit.ridge;
    for (ptrdiff_t k = 0; k < j->points; k++) {
        for (ptrdiff_t i = 0; i < own->n; i++) {
            j->fit.ridge.c[p->index[i] + k * j->n] = own->c[i + k * own->n] / (double)parts;
        }
    }
    j->fit.ridge.jitter = fmax(j->fit.ridge.jitter, own->jitter);
    j->fit.ridge.loss = fmax(j->fit.ridge.loss, own->loss);
    j->fit.ridge.fill_s += own->fill_s;
    j->fit.ridge.factor_s += own->factor_s;
}

static int each_part(epiqp_job *j, bool solve, bool influence)
{
    dealt d;
    whole w = {0};
    int s = deal(j, &d);
    assert(s || d.parts > 0);
    s = s || !influence ? s : whole_new(j, &d, &w);
    for (ptrdiff_t k = 0; !s && k < d.parts; k++) {
        part p;
        s = part_new(j, &d, k, influence && w.predictive.known, &p);
        s = s ? s : epiqp_fit_solve(&p.job.e, &p.job.fit);
        if (!s && solve) {
            scatter(j, &p, d.parts);
        }
        double start = epiqp_now();
        s = s || !influence ? s : influence_of(j, &p, &w);
        j->answer->result.timing.influence += solve && influence ? epiqp_now() - start : 0;
        part_free(j->e.c, &p);
        s = s ? s : epiqp_report(j->e.c, "parts", k + 1, d.parts);
    }
    return s || !influence ? s : finish(j, &w);
}

int epiqp_divided_solve(epiqp_job *j)
{
    epiqp_ridge *r = &j->fit.ridge;
    *r = (epiqp_ridge){.n = j->n, .points = j->points, .c = epiqp_alloc(j->e.c, j->n * j->points, sizeof *r->c)};
    bool influence = j->o.methods & EPIQ_IF && j->o.hbar == EPIQ_HBAR_KERNEL;
    int s = r->c ? each_part(j, true, influence) : EPIQ_E_NOMEM;
    j->fit.solved = !s;
    return s;
}

int epiqp_divided_if(epiqp_job *j)
{
    return j->o.hbar == EPIQ_HBAR_ENSEMBLE ? each_part(j, false, true) : EPIQ_OK;
}
