/* divided.c - kernel ridge regression averaged over P disjoint parts of the rows (docs/method.md section 3). Each part is a
 * problem of its own: IF runs on it as it does on all rows, and only one part's triangle is in memory. With c_p and V_p of
 * part p,
 *     c = c_p / P  at its rows,   hbar = c'y,   V = sum_p V_p / P^2
 * and a row left out changes its own part alone.
 */
#include "est/if.h"

#include <assert.h>
#include <math.h>
#include <omp.h>

enum {
    ROWS = 8000, /* of a part, unless a number of parts is asked for: its triangle takes 256 MB */
    FEWEST = 4   /* groups of a part, on average: fewer say nothing about a variance */
};

ptrdiff_t epiqp_parts(ptrdiff_t parts, ptrdiff_t n)
{
    return parts > 0 ? parts : epiqp_max(2, (n + ROWS - 1) / ROWS);
}

/* ---- which rows ---- */

static int deal(const epiqp_problem *pb, epiqp_listed *of)
{
    const epiq_data *data = pb->data;
    const ptrdiff_t parts = pb->plan->ran.parts;
    if (parts > data->groups / FEWEST) {
        return epiqp_fail(pb->e.c, EPIQ_E_DATA,
                          "%td %s are too few for %td parts of at least %d; use fewer {--parts}, or {--solver} exact",
                          data->groups, epiqp_has_groups(pb) ? "groups" : "rows", parts, FEWEST);
    }
    ptrdiff_t *groups = epiqp_room(pb, parts + data->groups, sizeof *groups);
    if (!groups) return EPIQ_E_NOMEM;
    ptrdiff_t *rows = groups + parts;
    int s = epiqp_deal_rows(pb, (epiqp_stream){pb->plan->ran.seed, EPIQP_FOR_PARTS, 0}, parts, of);
    for (ptrdiff_t i = 0; !s && i < pb->n; i++) {
        groups[of->label[i]] += rows[data->group[i]]++ == 0;
    }
    for (ptrdiff_t i = 0; !s && i < pb->n; i++) {
        ptrdiff_t own = rows[data->group[i]];
        if (parts > 1 && (own > pb->n / parts || groups[of->label[i]] < 2)) {
            s = epiqp_fail(pb->e.c, EPIQ_E_DATA,
                           "a group of %td rows fills a part of %td alone, and one group says nothing of other data; "
                           "use fewer {--parts} than %td, or smaller groups",
                           own, pb->n / parts, parts);
        }
    }
    return s;
}

/* ---- a part: a problem of its own ---- */

typedef struct {
    ptrdiff_t number;
    const ptrdiff_t *rows; /* which of all */
    double *hbar;          /* of its rows; NULL: residuals are the ridge's own */
    epiq_data data;
    epiqp_arena scratch;
    epiqp_warnings warnings;
    epiqp_problem pb;
    epiqp_plan plan;
    epiqp_fit fit;
    epiqp_if_findings found;
} part;

/* fit and scratch are freed by the caller whatever this returns. leave_out: each row of it, for the interval of a new
 * observation. */
static int part_new(const epiqp_problem *pb, const double *hbar, const epiqp_listed *of, ptrdiff_t number,
                    bool leave_out, part *p)
{
    *p = (part){.number = number,
                .rows = of->rows + of->start[number],
                .warnings = {.arena = &p->scratch},
                .pb = *pb,
                .plan = *pb->plan};
    p->pb.plan = &p->plan;
    p->pb.data = &p->data;
    p->pb.n = epiqp_listed_size(of, number);
    p->pb.scratch = p->pb.lasting = &p->scratch;
    p->pb.warnings = &p->warnings;
    p->plan.influence = EPIQP_IF_POPULATION;
    p->plan.seed += (uint64_t)number; /* probes of its own, so that their errors do not add up */
    p->plan.predictive = p->plan.wants_predictive = false;
    p->plan.leave_out = leave_out;
    if (hbar && !(p->hbar = epiqp_room(&p->pb, p->pb.n, sizeof *p->hbar))) return EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; hbar && k < p->pb.n; k++) {
        p->hbar[k] = hbar[p->rows[k]];
    }
    int s = epiqp_take_data(pb->e.c, &p->scratch, pb->data, of, number, &p->data);
    if (s || (s = epiqp_if_room(&p->pb, &p->found)) ||
        (s = epiqp_fit_new(&pb->e, &pb->plan->ran, p->data.n, p->data.d, p->data.x, p->data.y, pb->points, pb->at,
                           &p->fit))) {
        return s;
    }
    p->fit.solver = EPIQ_SOLVER_EXACT;
    return epiqp_fit_solve(&pb->e, &p->fit);
}

/* ---- the parts together ---- */

typedef struct {
    double variance;   /* of the sum over the parts so far */
    double inverse_df; /* Satterthwaite's, */
    double probes2;    /* and the probes' squared error over the variance's square */
    bool unknown;      /* in some part */
} total;

typedef struct {
    const epiqp_problem *pb;
    const epiqp_solution *sol;
    const epiqp_listed *of;
    ptrdiff_t parts;
    epiqp_if_findings *found;
    total *totals;          /* points by EPIQ_CORRECTIONS */
    double *by_others;      /* n: sum over the other parts of their predictions of the row */
    double *in_part;        /* n: the row's residual in its part without its group; */
    double *left_out;       /* n: in all of them, */
    double *wider;          /* n: and its variance over the noise's */
    double noise2, freedom; /* their ratio is the noise */
    bool leverage, grouped; /* of all parts so far */
} whole;

static int whole_new(const epiqp_problem *pb, whole *w)
{
    const ptrdiff_t n = pb->n;
    epiqp_if_findings *found = w->found;
    w->leverage = w->grouped = true;
    w->totals = epiqp_room(pb, pb->points * EPIQ_CORRECTIONS, sizeof *w->totals);
    w->by_others = epiqp_room(pb, 4 * n, sizeof *w->by_others);
    if (!w->totals || !w->by_others || epiqp_influential_room(pb, found)) return EPIQ_E_NOMEM;
    w->in_part = w->by_others + n;
    w->left_out = w->in_part + n;
    w->wider = w->left_out + n;
    const epiqp_grouped alike = {.known = true}; /* until a part says otherwise */
    return pb->plan->predictive ? epiqp_predictive_new(pb, pb->plan->ran.level, &alike, w->left_out, &found->left_out)
                                : EPIQ_OK;
}

/* x more, with df degrees of freedom and the probes' standard error relative to it. Ratios neither overflow nor vanish. */
static void add(total *t, const epiq_part *x, double probe_error)
{
    double sum = t->variance + x->variance;
    t->unknown |= !x->known || !isfinite(sum);
    if (t->unknown || sum == 0) return;
    double before = t->variance / sum, share = x->variance / sum;
    t->inverse_df = before * before * t->inverse_df + (x->df > 0 ? share * share / x->df : 0);
    t->probes2 = before * before * t->probes2 + share * probe_error * (share * probe_error);
    t->variance = sum;
}

/* K(X, X_p) alpha_p, added to the rows of the other parts. */
static int predict_others(const part *p, whole *w)
{
    const epiqp_problem *pb = w->pb;
    const epiqp_fit *all = w->sol->fit, *own = &p->fit;
    const ptrdiff_t n = own->rows.n;
#pragma omp parallel for schedule(dynamic) num_threads(pb->e.threads)
    for (ptrdiff_t i = 0; i < pb->n; i += EPIQP_BLOCK) {
        double block[EPIQP_BLOCK * EPIQP_BLOCK], sum[EPIQP_BLOCK] = {0};
        ptrdiff_t rows = epiqp_min(EPIQP_BLOCK, pb->n - i);
        for (ptrdiff_t k = 0; k < n && !epiqp_cancel_requested(pb->e.c); k += EPIQP_BLOCK) {
            ptrdiff_t some = epiqp_min(EPIQP_BLOCK, n - k);
            epiqp_kernel_block(&all->arch, &all->rows, i, rows, &own->rows, k, some, block, NULL, rows);
            pb->e.la->gemv('N', rows, some, 1, block, rows, own->ridge.alpha + k, 1, sum);
        }
        for (ptrdiff_t k = 0; k < rows; k++) {
            w->by_others[i + k] += w->of->label[i + k] == p->number ? 0 : sum[k];
        }
    }
    return epiqp_cancel_requested(pb->e.c) ? epiqp_report(pb->e.c, "parts", p->number, w->parts) : EPIQ_OK;
}

/* Leaving rows out of their own part. */
static int add_leverages(const part *p, whole *w)
{
    const epiqp_ridge *r = &p->fit.ridge;
    const ptrdiff_t n = p->data.n;
    w->leverage &= r->diagonal && p->found.loo.known;
    w->found->left_out.known &= p->found.left_out.known;
    if (!w->leverage) return EPIQ_OK;
    const epiqp_grouped *g = &p->found.grouped;
    w->grouped &= g->known;
    for (ptrdiff_t k = 0; k < n; k++) {
        ptrdiff_t i = p->rows[k];
        w->in_part[i] = p->found.loo.left_out[k];
        w->wider[i] = g->known ? g->wider[k] * g->wider[k] : r->norm2[k] / r->diagonal[k] / r->diagonal[k];
        w->freedom += g->known ? 1 : r->shift * r->shift * r->norm2[k];
    }
    w->noise2 += g->known ? epiqp_dot(n, g->noise, g->noise) : r->shift * r->shift * epiqp_dot(n, r->alpha, r->alpha);
    return predict_others(p, w);
}

/* What the part found at the points. */
static void add_points(const part *p, whole *w)
{
    epiqp_if_findings *found = w->found;
    for (ptrdiff_t k = 0; k < w->pb->points; k++) {
        for (int how = 0; how < EPIQ_CORRECTIONS; how++) {
            const ptrdiff_t at = k * EPIQ_CORRECTIONS + how;
            add(&w->totals[at], &p->found.corrected[at],
                how == w->pb->plan->ran.correction ? p->found.probe_error[k] : 0);
        }
        if (!p->found.influential_room || k >= w->pb->asked) continue;
        const epiq_influence *own = p->found.influential + k * p->found.influential_room;
        for (ptrdiff_t i = 0; i < p->found.influential_count[k]; i++) {
            epiq_influence one = {own[i].row, own[i].influence / (double)w->parts};
            epiqp_influence_keep(found->influential + k * found->influential_room, &found->influential_count[k],
                                 found->influential_room, one);
        }
    }
}

/* A part's warnings, each kind once; the one about probes holds for the part alone. */
static int pass_on(const part *p, const whole *w)
{
    int s = EPIQ_OK;
    for (ptrdiff_t k = 0; !s && k < p->warnings.count; k++) {
        const epiq_warning *one = &p->warnings.list[k];
        if (one->kind != EPIQ_W_PROBES && !epiqp_warned(w->pb->warnings, one->kind)) {
            s = epiqp_warn(w->pb->e.c, w->pb->warnings, one->kind, "part %td of %td: %s", p->number + 1, w->parts,
                           one->message);
        }
    }
    return s;
}

static int add_part(part *p, whole *w)
{
    int s = epiqp_if_from_ridge(&p->pb, &(epiqp_solution){.fit = &p->fit, .ridge = &p->fit.ridge, .hbar = p->hbar},
                                &p->found);
    if (s) return s;
    w->found->probes = epiqp_max(w->found->probes, p->found.probes);
    add_points(p, w);
    s = pass_on(p, w);
    return s ? s : add_leverages(p, w);
}

/* Errors of rows left out, and the interval of a new observation at every point. */
static int describe(whole *w)
{
    const epiqp_problem *pb = w->pb;
    const double parts = (double)w->parts;
    epiqp_if_findings *found = w->found;
    epiqp_predictive *out = &found->left_out;
    for (ptrdiff_t i = 0; i < pb->n; i++) { /* leaving out a row changes its own part alone */
        w->left_out[i] = ((parts - 1) * pb->data->y[i] - w->by_others[i] + w->in_part[i]) / parts;
        /* each other part's weights at x_i are taken to be as large as those of its own part without it */
        w->wider[i] = sqrt(1 + (w->wider[i] - 1) / parts);
    }
    found->loo = (epiqp_loo){.by_group = w->grouped,
                             .left_out = w->left_out,
                             .wider = found->probes ? NULL : w->wider,
                             .noise_sd = sqrt(w->noise2 / w->freedom)};
    epiqp_loo_check_range(pb, &found->loo);
    if (!out->known || !found->loo.known) return EPIQ_OK;
    if (!(found->predictive = epiqp_room(pb, pb->points, sizeof *found->predictive))) return EPIQ_E_NOMEM;
    out->moves = w->in_part;
#pragma omp parallel for schedule(static) num_threads(pb->e.threads) if (pb->n * pb->points > EPIQP_MANY_PAIRS)
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        found->predictive[p] = epiqp_predictive_at(pb, out, w->sol->ridge->c + p * pb->n, omp_get_thread_num());
    }
    return EPIQ_OK;
}

static int finish(whole *w)
{
    const epiqp_problem *pb = w->pb;
    const epiq_options *o = &pb->plan->ran;
    const double parts2 = (double)w->parts * (double)w->parts;
    epiqp_if_findings *found = w->found;
    for (ptrdiff_t k = 0; k < pb->points * EPIQ_CORRECTIONS; k++) {
        const total *t = &w->totals[k];
        if (!t->unknown) {
            double df = t->inverse_df > 0 ? 1 / t->inverse_df : 0;
            found->corrected[k] = epiq_part_of(t->variance / parts2, df, o->level, EPIQ_BY_IF);
        }
    }
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        found->part[p] = found->corrected[p * EPIQ_CORRECTIONS + o->correction];
        found->probe_error[p] = sqrt(w->totals[p * EPIQ_CORRECTIONS + o->correction].probes2);
    }
    int s = w->leverage ? describe(w) : EPIQ_OK;
    return s || !found->probes ? s : epiqp_warn_probes(pb, found);
}

/* ---- one part after another ---- */

static void scatter(const epiqp_problem *pb, const part *p, ptrdiff_t parts, epiqp_ridge *all)
{
    const epiqp_ridge *own = &p->fit.ridge;
    for (ptrdiff_t k = 0; k < pb->points; k++) {
        for (ptrdiff_t i = 0; i < own->n; i++) {
            all->c[p->rows[i] + k * pb->n] = own->c[i + k * own->n] / (double)parts;
        }
    }
    all->jitter = fmax(all->jitter, own->jitter);
    all->loss = fmax(all->loss, own->loss);
    all->fill_s += own->fill_s;
    all->factor_s += own->factor_s;
}

int epiqp_divided(const epiqp_problem *pb, const epiqp_solution *sol, bool solve, epiqp_if_findings *found,
                  double *seconds)
{
    epiqp_listed of = {0};
    const ptrdiff_t parts = pb->plan->ran.parts;
    whole w = {.pb = pb, .sol = sol, .of = &of, .parts = parts, .found = found};
    int s = deal(pb, &of);
    assert(s || (of.start && of.label));
    if (s || (found && (s = whole_new(pb, &w)))) return s;
    for (ptrdiff_t k = 0; !s && k < parts; k++) {
        part p;
        if (!(s = part_new(pb, sol->hbar, &of, k, found && found->left_out.known, &p)) && solve) {
            scatter(pb, &p, parts, sol->ridge);
        }
        if (!s && found) {
            double start = epiqp_now();
            s = add_part(&p, &w);
            *seconds += epiqp_now() - start;
        }
        epiqp_fit_free(pb->e.c, &p.fit);
        epiqp_arena_free(pb->e.c, &p.scratch);
        s = s ? s : epiqp_report(pb->e.c, "parts", k + 1, parts);
    }
    return s || !found ? s : finish(&w);
}
