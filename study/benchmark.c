/* benchmark.c - the scoreboard: tables of a folder, split into rows to learn from and rows to be judged on, 20 times as
 * a rule; a model is fitted to the first and scored on the others, as epiq fit and epiq score do, with the network
 * chosen anew each time. Splits are random, a tenth of the rows each, or those of NAME.splits.csv beside NAME.csv: the
 * numbers of the rows to be judged on, from 1, a line for each split.
 */
#include "common/machine.h"
#include "epiq_model.h"
#include "study/lab.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is kept of one split. */
enum { B_RMSE, B_LIKELIHOOD, B_CRPS, B_SQUARED_Z, B_INSIDE, B_JUDGED, B_WIDTH, B_SECONDS, B_FIELDS };

/* The best of probabilistic backpropagation, MC dropout and deep ensembles, as published. */
static const struct {
    const char *table;
    double rmse, likelihood;
} PUBLISHED[] = {
    {"boston", 2.97, -2.41}, {"concrete", 5.23, -3.04}, {"energy", 1.66, -1.38},
    {"wine", 0.62, -0.93},   {"yacht", 1.02, -1.18},
};

typedef struct {
    const char *name;
    epiq_engine engine;
    ptrdiff_t depth;
    bool quick; /* part of --quick */
} contender;
static const contender CONTENDERS[] = {{"infinite", EPIQ_ENGINE_INFINITE, 1, true},
                                       {"1_layer", EPIQ_ENGINE_NETWORK, 1, true},
                                       {"2_layers", EPIQ_ENGINE_NETWORK, 2, false},
                                       {"3_layers", EPIQ_ENGINE_NETWORK, 3, false}};
enum { CONTENDER_COUNT = sizeof CONTENDERS / sizeof *CONTENDERS, MOST_TABLES = 100 };

/* A table in memory. */
typedef struct lab_board {
    lab_table shape;
    const double *x, *y;       /* n by d, n */
    ptrdiff_t split_count;     /* of `splits`; 0: they are random */
    ptrdiff_t split_rows;      /* to be judged on in each */
    const ptrdiff_t *splits;   /* split_count by split_rows, from 0 */
    unsigned long long digest; /* of all of it */
} lab_board;

/* ---- tables and splits ---- */

static const char *path_of(lab *l, const char *name, const char *ending)
{
    return lab_text(l, "%s/%s%s", l->job->data_dir, name, ending);
}

/* FNV-1a */
static unsigned long long digest(unsigned long long from, const void *bytes, size_t size)
{
    for (const unsigned char *b = bytes; size--; b++) {
        from = (from ^ *b) * 0x100000001b3u;
    }
    return from;
}

/* The target is the column that the paper's tables have, else the last. */
static ptrdiff_t target_of(const epiq_matrix *m, const char *name)
{
    const char *wanted = NULL;
    for (ptrdiff_t k = 0; k < TABLE_COUNT; k++) {
        if (strcmp(LAB_TABLES[k].name, name) == 0) wanted = LAB_TABLES[k].target;
    }
    for (ptrdiff_t k = 0; wanted && k < m->columns; k++) {
        if (strcmp(m->column[k], wanted) == 0) return k;
    }
    return m->columns - 1;
}

static int read_rows(lab *l, const char *path, const epiq_matrix *m, lab_board *t)
{
    if (!m->column || m->columns < 2 || m->rows < 20) {
        return lab_fail(&l->job->crew, EPIQ_E_DATA,
                        "%s has no header, no second column or fewer than 20 rows; take it out of the folder", path);
    }
    const ptrdiff_t n = m->rows, d = m->columns - 1, target = target_of(m, t->shape.name);
    double *x = lab_block(l, n * d, sizeof *x), *y = lab_block(l, n, sizeof *y);
    if (!x || !y) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < n * (d + 1); i++) {
        const ptrdiff_t row = i / (d + 1), k = i % (d + 1);
        const double v = ((const double *)m->a)[i]; /* of CSV */
        if (!isfinite(v)) {
            return lab_fail(&l->job->crew, EPIQ_E_DATA,
                            "%s, row %td, column \"%s\" is not a number; give it a number, or take the table out of "
                            "the folder",
                            path, row + 1, m->column[k]);
        }
        *(k == target ? &y[row] : &x[row * d + k - (k > target)]) = v;
    }
    t->shape.n = n;
    t->shape.d = d;
    t->shape.target = lab_text(l, "%s", m->column[target]);
    t->x = x;
    t->y = y;
    t->digest = digest(digest(0xcbf29ce484222325u, x, (size_t)(n * d) * sizeof *x), y, (size_t)n * sizeof *y);
    return EPIQ_OK;
}

static int take_splits(lab *l, const char *path, const epiq_matrix *m, lab_board *t)
{
    ptrdiff_t *splits = lab_block(l, m->rows * m->columns, sizeof *splits);
    ptrdiff_t *line_of = lab_block(l, t->shape.n, sizeof *line_of); /* the last one, from 1, that names a row */
    if (!splits || !line_of) return EPIQ_E_NOMEM;
    if (m->real != EPIQ_FLOAT64) {
        return lab_fail(&l->job->crew, EPIQ_E_DATA, "%s is in single precision; write the splits as CSV", path);
    }
    memset(line_of, 0, (size_t)t->shape.n * sizeof *line_of);
    for (ptrdiff_t i = 0; i < m->rows * m->columns; i++) {
        const double v = ((const double *)m->a)[i];
        const ptrdiff_t line = i / m->columns + 1;
        if (!(v >= 1 && v <= (double)t->shape.n && v == floor(v))) {
            return lab_fail(&l->job->crew, EPIQ_E_DATA,
                            "%s, line %td has something other than a row's number from 1 to %td; write the split again",
                            path, line, t->shape.n);
        }
        splits[i] = (ptrdiff_t)v - 1;
        if (line_of[splits[i]] == line) {
            return lab_fail(&l->job->crew, EPIQ_E_DATA, "%s, line %td names row %td twice; write the split again", path,
                            line, splits[i] + 1);
        }
        line_of[splits[i]] = line;
    }
    if (m->columns > t->shape.n - 10) {
        return lab_fail(&l->job->crew, EPIQ_E_DATA, "%s leaves fewer than 10 rows to learn from; judge on fewer", path);
    }
    t->splits = splits;
    t->split_count = m->rows;
    t->split_rows = m->columns;
    t->digest = digest(t->digest, splits, (size_t)(m->rows * m->columns) * sizeof *splits);
    return EPIQ_OK;
}

static int read_matrix(lab *l, const char *path, epiq_matrix **out)
{
    epiq_ctx *ctx = l->job->crew.workers[0];
    int s = epiq_matrix_read(ctx, path, out);
    return s < 0 ? lab_fail(&l->job->crew, s, "%s", epiq_message(ctx)) : EPIQ_OK;
}

static int read_table(lab *l, const char *name, lab_board *t)
{
    epiq_ctx *ctx = l->job->crew.workers[0];
    epiq_matrix *m = NULL;
    const char *path = path_of(l, name, ".csv"), *fixed = path_of(l, name, ".splits.csv");
    if (!path || !fixed) return EPIQ_E_NOMEM;
    *t = (lab_board){.shape.name = name};
    int s = read_matrix(l, path, &m);
    s = s ? s : read_rows(l, path, m, t);
    epiq_matrix_free(ctx, m);
    m = NULL;
    t->split_rows = (t->shape.n + 9) / 10;
    if (!s && !access(fixed, F_OK)) {
        s = read_matrix(l, fixed, &m);
        s = s ? s : take_splits(l, fixed, m, t);
        epiq_matrix_free(ctx, m);
    }
    return s;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of the tables of the folder, sorted; returns how many, MOST_TABLES + 1 if there are more. -1: the folder cannot be read. */
static ptrdiff_t list_tables(lab *l, const char *names[MOST_TABLES + 1])
{
    static const char CSV[] = ".csv", SPLITS[] = ".splits.csv";
    ptrdiff_t count = 0;
    DIR *folder = opendir(l->job->data_dir);
    if (!folder) return -1;
    for (const struct dirent *entry; count <= MOST_TABLES && (entry = readdir(folder));) {
        const size_t length = strlen(entry->d_name), end = sizeof CSV - 1, longer = sizeof SPLITS - 1;
        if (length <= end || strcmp(entry->d_name + length - end, CSV) != 0) continue;
        if (length > longer && strcmp(entry->d_name + length - longer, SPLITS) == 0) continue;
        const char *name = lab_text(l, "%.*s", (int)(length - end), entry->d_name);
        if (name) names[count++] = name;
    }
    closedir(folder);
    qsort(names, (size_t)count, sizeof *names, by_name);
    return count;
}

/* ---- one split ---- */

/* A random order of the rows, whose first ones are judged on; one that the seed, the table and the split decide. */
static void shuffle(const lab_cell *c, ptrdiff_t rep, ptrdiff_t n, ptrdiff_t *order)
{
    uint64_t state = lab_data_seed(c, rep);
    for (ptrdiff_t i = 0; i < n; i++) {
        order[i] = i;
    }
    for (ptrdiff_t i = n - 1; i > 0; i--) {
        const ptrdiff_t j = (ptrdiff_t)(lab_next(&state) % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* Rows to be judged on first, those of a fixed split in its order; then the others in theirs. */
static void arrange(const lab_cell *c, const lab_board *t, ptrdiff_t rep, ptrdiff_t *order)
{
    const ptrdiff_t n = t->shape.n;
    if (!t->split_count) {
        shuffle(c, rep, n, order);
        return;
    }
    const ptrdiff_t *test = t->splits + rep * t->split_rows;
    ptrdiff_t count = t->split_rows;
    memcpy(order, test, (size_t)count * sizeof *order);
    for (ptrdiff_t i = 0; i < n; i++) {
        bool judged = false;
        for (ptrdiff_t k = 0; k < t->split_rows && !judged; k++) {
            judged = test[k] == i;
        }
        if (!judged) order[count++] = i;
    }
}

static int judge(epiq_ctx *ctx, const lab_cell *c, ptrdiff_t rep, double *sample)
{
    const lab_board *t = c->board;
    const ptrdiff_t n = t->shape.n, d = t->shape.d, test = t->split_rows;
    double *x = malloc((size_t)(n * (d + 1)) * sizeof *x), *y = x ? x + n * d : NULL;
    ptrdiff_t *order = calloc((size_t)n, sizeof *order);
    epiq_options o = c->o;
    epiq_data *data = NULL;
    epiq_model *model = NULL;
    epiq_scores *scores = NULL;
    o.seed = lab_network_seed(c, rep);
    int s = x && order ? EPIQ_OK : EPIQ_E_NOMEM;
    if (!s) {
        arrange(c, t, rep, order);
        for (ptrdiff_t i = 0; i < n; i++) {
            memcpy(x + i * d, t->x + order[i] * d, (size_t)d * sizeof *x);
            y[i] = t->y[order[i]];
        }
    }
    const double began = epiqp_now();
    s = s ? s : epiq_data_new(ctx, n - test, d, x + test * d, y + test, NULL, &o, &data);
    s = s ? s : epiq_fit(ctx, data, &o, &model);
    const epiq_score_request ask = {.size = sizeof ask, .threads = o.threads};
    s = s ? s : epiq_score_rows(ctx, model, test, x, y, &ask, &scores);
    if (!s) {
        sample[B_RMSE] = scores->rmse;
        sample[B_LIKELIHOOD] = scores->has_likelihood ? scores->log_likelihood : NAN;
        sample[B_SQUARED_Z] = scores->has_likelihood ? scores->squared_z : NAN;
        sample[B_CRPS] = scores->judged ? scores->crps : NAN;
        sample[B_INSIDE] = scores->coverage->known ? (double)scores->coverage->inside : 0;
        sample[B_JUDGED] = scores->coverage->known ? (double)scores->judged : 0;
        sample[B_WIDTH] = scores->coverage->known ? scores->width : NAN;
        sample[B_SECONDS] = epiqp_now() - began;
    }
    epiq_scores_free(ctx, scores);
    epiq_model_free(ctx, model);
    epiq_data_free(ctx, data);
    free(order);
    free(x);
    return s;
}

/* ---- the study ---- */

static study_cell line_of(const lab_cell *c, const char *quantity)
{
    study_cell line = lab_line(c, quantity, c->name);
    line.cell = NULL; /* the table and the method say it */
    return line;
}

static void add_mean(lab *l, const lab_cell *c, const char *quantity, ptrdiff_t field, double published)
{
    study_cell line = line_of(c, quantity);
    line.estimate = lab_field(c, field);
    line.published.value = published;
    if (!isnan(line.estimate.value)) lab_add(l, line);
}

static void add_lines(lab *l, const lab_cell *c)
{
    double rmse = NAN, likelihood = NAN, inside = 0, judged = 0;
    for (size_t k = 0; k < sizeof PUBLISHED / sizeof *PUBLISHED; k++) {
        if (strcmp(PUBLISHED[k].table, c->board->shape.name) != 0) continue;
        rmse = PUBLISHED[k].rmse;
        likelihood = PUBLISHED[k].likelihood;
    }
    add_mean(l, c, "rmse", B_RMSE, rmse);
    add_mean(l, c, "log_likelihood", B_LIKELIHOOD, likelihood);
    add_mean(l, c, "crps", B_CRPS, NAN);
    add_mean(l, c, "squared_z", B_SQUARED_Z, NAN);
    for (ptrdiff_t rep = 0; rep < c->reps; rep++) {
        inside += lab_get(c, rep, B_INSIDE);
        judged += lab_get(c, rep, B_JUDGED);
    }
    study_cell line = line_of(c, "width");
    line.estimate = lab_field(c, B_WIDTH);
    if (judged > 0) line.coverage = lab_wilson((ptrdiff_t)inside, (ptrdiff_t)judged);
    if (judged > 0) lab_add(l, line);
    add_mean(l, c, "seconds", B_SECONDS, NAN);
}

static bool takes_part(const lab *l, const contender *who)
{
    const epiq_options *asked = &l->result->options;
    if (l->job->engine_given && who->engine != (epiq_engine)asked->engine) return false;
    if (asked->depth != 1) return who->depth == asked->depth;
    return who->quick || l->job->size != STUDY_QUICK || l->job->engine_given;
}

int study_benchmark(lab *l)
{
    const char *names[MOST_TABLES + 1];
    const ptrdiff_t tables = list_tables(l, names);
    if (tables < 0) {
        return lab_fail(&l->job->crew, EPIQ_E_FILE, "the folder %s cannot be read (%s); name another with --data-dir",
                        l->job->data_dir, strerror(errno));
    }
    lab_board *table = lab_block(l, tables, sizeof *table);
    lab_cell *cells = lab_block(l, tables * CONTENDER_COUNT, sizeof *cells);
    ptrdiff_t count = 0;
    int s = table && cells ? EPIQ_OK : EPIQ_E_NOMEM;
    if (!s && !tables) {
        s = lab_fail(&l->job->crew, EPIQ_E_DATA, "the folder %s has no tables NAME.csv; name another with --data-dir",
                     l->job->data_dir);
    }
    if (!s && tables > MOST_TABLES) {
        s = lab_fail(&l->job->crew, EPIQ_E_DATA, "the folder %s has more than %d tables; take some out of it",
                     l->job->data_dir, MOST_TABLES);
    }
    for (ptrdiff_t k = 0; !s && k < tables; k++) {
        lab_board *t = &table[k];
        if (l->job->cell && !strstr(names[k], l->job->cell)) continue;
        if ((s = read_table(l, names[k], t))) return s;
        if (!lab_wanted(l, t->shape.n, t->shape.d) || (l->job->size == STUDY_QUICK && t->shape.n > 600)) continue;
        const ptrdiff_t reps = lab_reps(l, 2, 5, 20);
        for (const contender *who = CONTENDERS; who < CONTENDERS + CONTENDER_COUNT; who++) {
            if (!takes_part(l, who)) continue;
            lab_cell *c = &cells[count++];
            *c = (lab_cell){.name = who->name, .table = &t->shape, .n = t->shape.n, .d = t->shape.d, .board = t};
            c->o = l->result->options;
            c->o.engine = who->engine;
            c->o.depth = who->depth;
            c->reps = t->split_count ? (reps < t->split_count ? reps : t->split_count) : reps;
            c->make = judge;
            c->fields = B_FIELDS;
            c->digest = t->digest;
        }
    }
    s = s ? s : lab_run(l, cells, count);
    for (ptrdiff_t k = 0; !s && k < count; k++) {
        add_lines(l, &cells[k]);
    }
    if (s) return s;
    lab_note(l,
             "Each line is a mean over splits, with the standard error of that mean. The network is chosen anew in "
             "every split, from its rows to learn from alone. squared_z: squared errors over noise + variance of the "
             "prediction, 1 where both are right. coverage: rows judged on, of all splits, inside their 95 %% "
             "intervals, whose mean "
             "width stands beside it.");
    lab_note(l, "[paper]: the best of probabilistic backpropagation, MC dropout and deep ensembles, as published for "
                "these tables, on random splits of their own.");
    return EPIQ_OK;
}
