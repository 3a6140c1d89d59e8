/* given_check.c - whether what is given to epiq_combine belongs together: pieces, shapes, numbers. */
#include "given/given.h"

#include <assert.h>
#include <string.h>

int epiqp_given_take(epiq_ctx *c, const epiq_given *g, epiqp_given_copy *out)
{
    epiq_given *own = &out->given;
    const epiq_matrix **all[] = {&own->ensemble,
                                 &own->batched,
                                 &own->y,
                                 &own->yhat,
                                 &own->gram,
                                 &own->cross,
                                 &own->jacobian,
                                 &own->jacobian0,
                                 &own->at,
                                 &own->left_out,
                                 &own->retrained,
                                 &own->targets,
                                 &own->resampled,
                                 &own->auxiliary,
                                 &own->auxiliary_batched,
                                 &own->auxiliary_resampled};
    *out = (epiqp_given_copy){0};
    int s = epiqp_take(c, "epiq_given", g, own, sizeof *own);
    for (size_t k = 0; !s && k < sizeof all / sizeof *all; k++) {
        if (!*all[k]) continue;
        s = epiqp_take(c, "epiq_matrix", *all[k], &out->matrix[k], sizeof out->matrix[k]);
        *all[k] = &out->matrix[k];
    }
    return s;
}

/* One piece that needs another. */
typedef struct {
    const void *piece, *needs;
    const char *what, *lacks;
} need;

static int check_needs(epiq_ctx *c, const need *list, size_t count)
{
    for (const need *n = list; n < list + count; n++) {
        if (n->piece && !n->needs) {
            const int option = (int)strcspn(n->what, "}") + 1; /* its name alone */
            return epiqp_fail(c, EPIQ_E_USAGE, "%s needs %s; add it, or leave out %.*s", n->what, n->lacks, option,
                              n->what);
        }
    }
    return EPIQ_OK;
}

/* Networks on some of the rows, and what they are for. */
static int check_confidence(epiq_ctx *c, const epiq_given *g, const epiq_options *o)
{
    const bool resamples = o->confidence == EPIQ_CONFIDENCE_BOOTSTRAP || o->confidence == EPIQ_CONFIDENCE_JACKKNIFE ||
                           o->confidence == EPIQ_CONFIDENCE_HALVES;
    const bool with[] = {g->auxiliary, g->auxiliary_batched, g->auxiliary_resampled},
               there[] = {g->ensemble, g->batched, g->resampled};
    int pairs = 0, all = 0;
    for (int k = 0; k < 3; k++) {
        pairs += with[k];
        all += there[k];
    }
    if (resamples != !!g->resampled) {
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "{--resampled} and {--confidence} bootstrap, jackknife or halves go together; give both, or "
                          "neither");
    }
    if (g->resampled && (o->state || g->merge_count)) {
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "each network of {--resampled} is compared with that of its start, a line of {--ensemble}; "
                          "leave out {--append} and {--merge}");
    }
    if (pairs && pairs < all) {
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "some networks have auxiliary ones and others have none; give {--auxiliary} for "
                          "{--ensemble}, {--auxiliary-batched} for {--batched} and {--auxiliary-resampled} for "
                          "{--resampled}");
    }
    return EPIQ_OK;
}

static int check_pieces(epiq_ctx *c, const epiq_given *g, const epiq_options *o)
{
    const void *kernel = g->gram ? g->gram : g->jacobian, *again = g->left_out ? g->left_out : g->retrained;
    const need list[] = {
        {g->gram, g->cross, "{--gram}, the kernel between the rows,", "{--cross}, the kernel between rows and points"},
        {g->cross, g->gram, "{--cross}, the kernel between rows and points,", "{--gram}, the kernel between the rows"},
        {g->jacobian, g->jacobian0, "{--jacobian}, of the rows,", "{--jacobian0}, of the points"},
        {g->jacobian0, g->jacobian, "{--jacobian0}, of the points,", "{--jacobian}, of the rows"},
        {g->gram, g->y, "{--gram}", "{--y}, the target that the networks were trained on"},
        {g->jacobian, g->y, "{--jacobian}", "{--y}, the target that the networks were trained on"},
        {g->yhat, kernel ? kernel : again, "{--yhat}",
         "a kernel, {--gram} or {--jacobian}, or networks trained again, {--retrained}"},
        {g->left_out, g->retrained, "{--left-out}", "{--retrained}, predictions of the networks trained again"},
        {g->targets, g->retrained, "{--targets-file}", "{--retrained}, predictions of the networks trained on it"},
        {g->retrained, g->y, "{--retrained}", "{--y}, the target that the networks were first trained on"},
        {g->retrained, g->yhat, "{--retrained}", "{--yhat}, the mean prediction of the first networks at the rows"},
        {g->retrained, g->left_out, "{--retrained}", "{--left-out}, predictions at the rows by networks without them"},
        {g->resampled, g->ensemble, "{--resampled}", "{--ensemble}, networks on all rows from the same starts"},
        {g->auxiliary, g->ensemble, "{--auxiliary}", "{--ensemble}, the networks that it is taken off"},
        {g->auxiliary_batched, g->batched, "{--auxiliary-batched}", "{--batched}, the networks that it is taken off"},
        {g->auxiliary_resampled, g->resampled, "{--auxiliary-resampled}",
         "{--resampled}, the networks that it is taken off"}};
    if (g->gram && g->jacobian) {
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "{--gram} and {--jacobian} are two ways to give the same kernel; give one of them");
    }
    int s = check_needs(c, list, sizeof list / sizeof *list);
    if (!s) s = check_confidence(c, g, o);
    if (s || kernel || g->ensemble || g->batched || g->merge_count || o->state) return s;
    return epiqp_fail(c, EPIQ_E_USAGE,
                      "there is nothing to combine; give {--ensemble}, {--batched}, {--gram} with {--cross} and {--y}, "
                      "or {--jacobian} with {--jacobian0} and {--y}");
}

typedef enum { ANY, ONE, ROW, POINT, WEIGHT } meaning; /* of the rows or the columns of a matrix */

enum { PIECES = 16 };
typedef struct {
    const epiq_matrix *m; /* NULL: not given */
    meaning rows, columns;
} piece;

/* All matrices that have such rows or columns agree with the first one, whose count is *out and whose name is *by. */
static int agree(epiq_ctx *c, const piece *list, meaning of, const char *what, ptrdiff_t *out, const char **by)
{
    static const char *const WORD[2][2] = {{"rows", "row"}, {"columns", "column"}};
    const char *first_word = NULL;
    for (int k = 0; k < 2 * PIECES; k++) {
        const epiq_matrix *m = list[k / 2].m;
        const bool columns = k % 2;
        if (!m || (columns ? list[k / 2].columns : list[k / 2].rows) != of) continue;
        const ptrdiff_t count = columns ? m->columns : m->rows;
        const char *word = WORD[columns][count == 1];
        if (first_word && count != *out) {
            return epiqp_fail(c, EPIQ_E_DATA, "%s has %td %s but %s has %td %s; both need one for every %s", m->name,
                              count, word, *by, *out, first_word, what);
        }
        *by = first_word ? *by : m->name;
        first_word = first_word ? first_word : word;
        *out = count;
    }
    return EPIQ_OK;
}

static int check_filled(epiq_ctx *c, const piece *list)
{
    for (const piece *p = list; p < list + PIECES; p++) {
        const epiq_matrix *m = p->m;
        if (m && (!m->name || m->real < EPIQ_FLOAT64 || m->real > EPIQ_FLOAT32)) {
            return epiqp_fail(c, EPIQ_E_USAGE, "a matrix must have a name, and its numbers be one of epiq_real");
        }
        if (m && (m->rows < 1 || m->columns < 1)) {
            return epiqp_fail(c, EPIQ_E_DATA, "%s is %td x %td, so it is empty; it must have rows and columns", m->name,
                              m->rows, m->columns);
        }
    }
    return EPIQ_OK;
}

static int check_shapes(epiq_ctx *c, const piece *list, epiqp_given_sizes *out)
{
    const char *by;
    for (const piece *p = list; p < list + PIECES; p++) {
        if (p->m && p->columns == ONE && p->m->columns != 1) {
            return epiqp_fail(c, EPIQ_E_DATA, "%s has %td columns; it must have one, with a number for every row",
                              p->m->name, p->m->columns);
        }
    }
    int s = agree(c, list, ROW, "training row", &out->rows, &by);
    if (s || (s = agree(c, list, POINT, "point", &out->points, &out->points_by))) return s;
    return agree(c, list, WEIGHT, "parameter", &out->parameters, &by);
}

/* Jacobians are checked as they are read. */
static int check_values(epiq_ctx *c, const piece *list)
{
    int s = EPIQ_OK;
    for (const piece *p = list; !s && p < list + PIECES; p++) {
        if (!p->m || p->columns == WEIGHT) continue;
        double *row = epiqp_alloc(c, p->m->columns, sizeof *row);
        s = row ? EPIQ_OK : EPIQ_E_NOMEM;
        for (ptrdiff_t i = 0; !s && i < p->m->rows; i++) {
            ptrdiff_t bad = epiqp_matrix_row(p->m, i, 0, p->m->columns, row);
            s = bad < 0 ? EPIQ_OK : epiqp_matrix_refuse(c, p->m, i, bad);
        }
        epiqp_free(c, row);
    }
    return s;
}

/* Networks and those that are taken off them. */
static int check_pairs(epiq_ctx *c, const epiq_matrix *base, const epiq_matrix *auxiliary)
{
    if (!auxiliary || !base || base->rows == auxiliary->rows) return EPIQ_OK;
    return epiqp_fail(c, EPIQ_E_DATA, "%s has %td rows but %s has %td; each network needs one that is taken off it",
                      auxiliary->name, auxiliary->rows, base->name, base->rows);
}

static int check_matrices(epiq_ctx *c, const epiq_given *g, epiqp_given_sizes *out)
{
    const piece list[PIECES] = {{g->y, ROW, ONE},
                                {g->yhat, ROW, ONE},
                                {g->ensemble, ANY, POINT},
                                {g->batched, ANY, POINT},
                                {g->gram, ROW, ROW},
                                {g->cross, ROW, POINT},
                                {g->jacobian, ROW, WEIGHT},
                                {g->jacobian0, POINT, WEIGHT},
                                {g->left_out, ANY, ROW},
                                {g->retrained, ANY, POINT},
                                {g->at, POINT, ANY},
                                {g->targets, ANY, ROW},
                                {g->resampled, ANY, POINT},
                                {g->auxiliary, ANY, POINT},
                                {g->auxiliary_batched, ANY, POINT},
                                {g->auxiliary_resampled, ANY, POINT}};
    *out = (epiqp_given_sizes){0};
    int s = check_filled(c, list);
    if (s || (s = check_shapes(c, list, out))) return s;
    if ((g->gram || g->jacobian || g->left_out) && out->rows < 2) {
        assert(g->y); /* check_pieces requires it */
        return epiqp_fail(c, EPIQ_E_DATA, "%s has one row; at least 2 are needed to tell what other data would do",
                          g->y->name);
    }
    if (g->retrained && (s = epiqp_given_replicates(c, g, &out->replicates))) return s;
    if ((s = check_pairs(c, g->ensemble, g->auxiliary)) || (s = check_pairs(c, g->batched, g->auxiliary_batched)) ||
        (s = check_pairs(c, g->resampled, g->auxiliary_resampled))) {
        return s;
    }
    return check_values(c, list);
}

int epiqp_given_check(epiq_ctx *c, const epiq_given *g, const epiq_options *o, epiqp_given_sizes *out)
{
    int s = check_pieces(c, g, o);
    if (s) return s;
    if (g->merge_count < 0) {
        return epiqp_fail(c, EPIQ_E_USAGE, "merge_count is %td; it must be 0 or more", g->merge_count);
    }
    return check_matrices(c, g, out);
}

int epiqp_given_check_targets(epiq_ctx *c, const epiq_given *g)
{
    const need list[] = {
        {g, g->y, "{--targets}", "{--y}, the target that the networks were trained on"},
        {g, g->yhat, "{--targets}", "{--yhat}, the mean prediction of these networks at the rows"},
        {g, g->left_out, "{--targets}", "{--left-out}, predictions at the rows by networks without them"}};
    epiqp_given_sizes unused;
    int s = check_needs(c, list, sizeof list / sizeof *list);
    return s ? s : check_matrices(c, g, &unused);
}
