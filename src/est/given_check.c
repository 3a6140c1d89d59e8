/* given_check.c - does what is given to epiq_combine belong together? Which pieces there are, their shapes, their numbers;
 * the first that does not fit, as a sentence.
 */
#include "est/est.h"

#include <assert.h>

/* ---- what belongs together ---- */

static int missing(epiq_ctx *c, const char *what, const char *lacks)
{
    return epiqp_fail(c, EPIQ_E_USAGE, "%s needs %s; give both, or neither", what, lacks);
}

/* Networks trained again, and what their targets were made of. */
static int check_retrained(epiq_ctx *c, const epiq_given *g)
{
    if (!g->retrained) {
        return g->left_out  ? missing(c, "--left-out", "--retrained, predictions of the networks trained again")
               : g->targets ? missing(c, "--targets-file", "--retrained, predictions of the networks trained on it")
                            : EPIQ_OK;
    }
    return !g->y          ? missing(c, "--retrained", "--y, the target that the networks were first trained on")
           : !g->yhat     ? missing(c, "--retrained", "--yhat, the mean prediction of the first networks at the rows")
           : !g->left_out ? missing(c, "--retrained", "--left-out, predictions at the rows by networks without them")
                          : EPIQ_OK;
}

static int check_pieces(epiq_ctx *c, const epiq_given *g, const epiq_options *o)
{
    bool kernel = g->gram || g->jacobian;
    if (g->gram && g->jacobian) {
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "--gram and --jacobian are two ways to give the same kernel; give one of them");
    }
    if (!g->gram != !g->cross) {
        return g->gram
                   ? missing(c, "--gram, the kernel between the rows,", "--cross, the kernel between rows and points")
                   : missing(c, "--cross, the kernel between rows and points,", "--gram, the kernel between the rows");
    }
    if (!g->jacobian != !g->jacobian0) {
        return g->jacobian ? missing(c, "--jacobian, of the rows,", "--jacobian0, of the points")
                           : missing(c, "--jacobian0, of the points,", "--jacobian, of the rows");
    }
    if (kernel && !g->y) {
        return missing(c, g->gram ? "--gram" : "--jacobian", "--y, the target that the networks were trained on");
    }
    if (g->yhat && !kernel && !g->left_out && !g->retrained) {
        return missing(c, "--yhat", "a kernel, --gram or --jacobian, or networks trained again, --retrained");
    }
    int s = check_retrained(c, g);
    if (s) {
        return s;
    }
    if (!kernel && !g->ensemble && !g->batched && !g->merge_count && !o->state) {
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "there is nothing to combine; give --ensemble, --batched, --gram with --cross and --y, or "
                          "--jacobian with --jacobian0 and --y");
    }
    return EPIQ_OK;
}

/* ---- shapes and values ---- */

/* How many of something a matrix says there are. */
typedef struct {
    const epiq_matrix *m; /* NULL: it is not there */
    bool columns;         /* they are its columns, else its rows */
} extent;

static ptrdiff_t count_of(extent x)
{
    return x.columns ? x.m->columns : x.m->rows;
}

static const char *word(extent x)
{
    return x.columns ? count_of(x) == 1 ? "column" : "columns" : count_of(x) == 1 ? "row" : "rows";
}

/* All that are there must agree with the first, which is given out. */
static int agree(epiq_ctx *c, const char *of, ptrdiff_t count, const extent *list, ptrdiff_t *out)
{
    extent first = {0};
    for (ptrdiff_t k = 0; k < count; k++) {
        extent x = list[k];
        if (x.m && !first.m) {
            first = x;
            *out = count_of(x);
        } else if (x.m && count_of(x) != *out) {
            return epiqp_fail(c, EPIQ_E_DATA, "%s has %td %s but %s has %td %s; both need one for every %s", x.m->name,
                              count_of(x), word(x), first.m->name, *out, word(first), of);
        }
    }
    return EPIQ_OK;
}

static int check_shapes(epiqp_job *j, const epiq_given *g)
{
    epiq_ctx *c = j->e.c;
    const extent rows[] = {{g->y, false},     {g->yhat, false},     {g->gram, false},    {g->gram, true},
                           {g->cross, false}, {g->jacobian, false}, {g->left_out, true}, {g->targets, true}};
    const extent points[] = {{g->ensemble, true},   {g->batched, true},   {g->cross, true},
                             {g->jacobian0, false}, {g->retrained, true}, {g->at, false}};
    const extent parameters[] = {{g->jacobian, true}, {g->jacobian0, true}};
    const epiq_matrix *single[] = {g->y, g->yhat};
    for (size_t k = 0; k < sizeof single / sizeof *single; k++) {
        if (single[k] && single[k]->columns != 1) {
            return epiqp_fail(c, EPIQ_E_DATA, "%s has %td columns; it must have one, with a number for every row",
                              single[k]->name, single[k]->columns);
        }
    }
    int s = agree(c, "training row", 8, rows, &j->n);
    s = s ? s : agree(c, "point", 6, points, &j->asked);
    s = s ? s : agree(c, "parameter", 2, parameters, &j->answer->result.given.parameters);
    if (!s && (g->gram || g->jacobian || g->left_out) && j->n < 2) {
        assert(g->y); /* check_pieces has asked for it */
        s = epiqp_fail(c, EPIQ_E_DATA, "%s has one row; at least 2 are needed to tell what other data would do",
                       g->y->name);
    }
    j->answer->result.given.rows = j->n;
    return s;
}

static int check_filled(epiq_ctx *c, const epiq_given *g)
{
    if (g->merge_count < 0) {
        return epiqp_fail(c, EPIQ_E_USAGE, "merge_count is %td; it must be 0 or more", g->merge_count);
    }
    const epiq_matrix *all[] = {g->ensemble, g->batched,   g->y,  g->yhat,     g->gram,      g->cross,
                                g->jacobian, g->jacobian0, g->at, g->left_out, g->retrained, g->targets};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        if (all[k] && (!all[k]->name || all[k]->real < EPIQ_FLOAT64 || all[k]->real > EPIQ_FLOAT32)) {
            return epiqp_fail(c, EPIQ_E_USAGE, "a matrix must have a name, and its numbers be one of epiq_real");
        }
        if (all[k] && (all[k]->rows < 1 || all[k]->columns < 1)) {
            return epiqp_fail(c, EPIQ_E_DATA, "%s is %td x %td, so it is empty; it must have rows and columns",
                              all[k]->name, all[k]->rows, all[k]->columns);
        }
    }
    return EPIQ_OK;
}

static int check_numbers(epiq_ctx *c, const epiq_matrix *m)
{
    double *row = epiqp_alloc(c, m->columns, sizeof *row);
    int s = row ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; !s && i < m->rows; i++) {
        ptrdiff_t bad = epiqp_matrix_row(m, i, 0, m->columns, row);
        s = bad < 0 ? EPIQ_OK : epiqp_matrix_refuse(c, m, i, bad);
    }
    epiqp_free(c, row);
    return s;
}

/* Of all but the Jacobians, which are checked as they are read. */
static int check_values(epiq_ctx *c, const epiq_given *g)
{
    const epiq_matrix *all[] = {g->ensemble, g->batched, g->y,        g->yhat,      g->gram,
                                g->cross,    g->at,      g->left_out, g->retrained, g->targets};
    int s = EPIQ_OK;
    for (size_t k = 0; !s && k < sizeof all / sizeof *all; k++) {
        s = all[k] ? check_numbers(c, all[k]) : EPIQ_OK;
    }
    return s;
}

int epiqp_given_check(epiqp_job *j, const epiq_given *g)
{
    epiq_ctx *c = j->e.c;
    int s = check_pieces(c, g, &j->o);
    s = s ? s : check_filled(c, g);
    s = s ? s : check_shapes(j, g);
    s = s || !g->retrained ? s : epiqp_given_replicates(c, g, &j->answer->result.retrain.replicates);
    return s ? s : check_values(c, g);
}

int epiqp_given_check_targets(epiqp_job *j, const epiq_given *g)
{
    epiq_ctx *c = j->e.c;
    int s = !g->y          ? missing(c, "--targets", "--y, the target that the networks were trained on")
            : !g->yhat     ? missing(c, "--targets", "--yhat, the mean prediction of these networks at the rows")
            : !g->left_out ? missing(c, "--targets", "--left-out, predictions at the rows by networks without them")
                           : EPIQ_OK;
    s = s ? s : check_filled(c, g);
    s = s ? s : check_shapes(j, g);
    return s ? s : check_values(c, g);
}
