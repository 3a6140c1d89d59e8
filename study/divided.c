/* divided.c - what --solver divided costs: prediction, both parts and error of the kernel predictor averaged over parts
 * of the rows, against the exact one on the same rows; and its own data variance against IF.
 */
#include "study/lab.h"

static const ptrdiff_t PARTS[] = {2, 4, 8, 16};
enum { PART_COUNT = sizeof PARTS / sizeof *PARTS, MOST = 12 * (1 + PART_COUNT) };

/* ---- against the exact solution of the same repetitions ---- */

typedef enum { PREDICTION, DATA, PROCEDURAL, ERROR2 } measure;

typedef struct {
    const lab_cell *exact; /* beside the cell it is asked about */
    measure what;
} beside;

static double measured(const lab_cell *c, ptrdiff_t rep, const void *how)
{
    double error;
    switch (*(const measure *)how) {
    case DATA:
        return lab_get(c, rep, S_IF + EPIQ_CORRECTION_MODERATED);
    case PROCEDURAL:
        return lab_get(c, rep, S_INFINITE);
    case ERROR2:
        error = lab_get(c, rep, S_KERNEL) - lab_true_at_x0(c);
        return error * error;
    default:
        return lab_get(c, rep, S_KERNEL);
    }
}

static double square_difference(const lab_cell *c, ptrdiff_t rep, const void *exact)
{
    double off = lab_get(c, rep, S_KERNEL) - lab_get(exact, rep, S_KERNEL);
    return off * off;
}

/* Mean over mean; of predictions the rms difference over the exact one's standard deviation, as IF gives it. */
static double compared(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    const beside *b = how;
    measure below = b->what == PREDICTION ? DATA : b->what;
    double exact = lab_mean_over(b->exact, leave_out, measured, &below);
    return b->what == PREDICTION ? sqrt(lab_mean_over(c, leave_out, square_difference, b->exact) / exact)
                                 : lab_mean_over(c, leave_out, measured, &b->what) / exact;
}

static const char *method_of(lab *l, const lab_cell *c)
{
    return c->o.solver == EPIQ_SOLVER_EXACT ? "exact" : lab_text(l, "%td_parts", c->o.parts);
}

static void add_comparison(lab *l, const lab_cell *c, const lab_cell *exact, measure what)
{
    static const char *const QUANTITY[] = {"prediction_difference", "data", "procedural", "squared_error"};
    beside b = {exact, what};
    study_cell line = lab_line(c, QUANTITY[what], method_of(l, c));
    study_number ratio = lab_jackknife(c, compared, &b);
    if (what == PREDICTION) {
        line.estimate = ratio;
    } else { /* the ratio's error, on the same rows, is far less than that of either mean */
        line.truth.value = lab_mean_over(exact, -1, measured, &what);
        line.estimate.value = lab_mean_over(c, -1, measured, &what);
        line.ratio = ratio;
    }
    lab_add(l, line);
}

/* ---- cells ---- */

static ptrdiff_t add_cells(lab_cell base, ptrdiff_t count, lab_cell *cells)
{
    base.o.engine = EPIQ_ENGINE_INFINITE;
    base.o.methods = EPIQ_IF | EPIQ_EV;
    base.o.solver = EPIQ_SOLVER_EXACT;
    cells[0] = base;
    base.o.solver = EPIQ_SOLVER_DIVIDED;
    for (ptrdiff_t k = 0; k < count; k++) {
        base.o.parts = PARTS[k];
        cells[1 + k] = base;
    }
    return 1 + count;
}

/* Real tables have one data set: their repetitions are deals of its rows. */
static ptrdiff_t add_tables(const lab *l, ptrdiff_t reps, ptrdiff_t count, lab_cell *cells)
{
    ptrdiff_t made = 0;
    for (const lab_table *t = LAB_TABLES; t < LAB_TABLES + TABLE_COUNT; t++) {
        if (l->job->data_dir && !l->job->n && !l->job->d && t->n > 1000) {
            lab_cell c = {.table = t, .n = t->n, .d = t->d, .reps = reps, .o = lab_options(l)};
            c.o.scale = l->job->scale_given ? c.o.scale : EPIQ_SCALE_MINMAX;
            made += add_cells(c, count, cells + made);
        }
    }
    return made;
}

int study_divided(lab *l)
{
    static const ptrdiff_t N[] = {400, 1600, 3200}, D = 4;
    bool quick = l->job->size == STUDY_QUICK;
    ptrdiff_t sizes = quick ? 1 : l->job->size == STUDY_FULL ? 3 : 2, parts = quick ? 2 : PART_COUNT, count = 0;
    lab_cell cells[MOST];
    for (int set = 1; set <= 3; set++) {
        for (ptrdiff_t k = 0; k < sizes; k++) {
            if (lab_wanted(l, N[k], D)) {
                count += add_cells(lab_synthetic(l, set, N[k], D, lab_reps(l, 40, 200, 400)), parts, cells + count);
            }
        }
    }
    count += add_tables(l, lab_reps(l, 3, 10, 20), parts, cells + count);
    int s = lab_run(l, cells, count);
    for (ptrdiff_t k = 0; !s && k < count; k++) {
        const lab_cell *c = &cells[k], *exact = c - k % (1 + parts);
        for (measure what = PREDICTION; c != exact && what <= (c->table ? PROCEDURAL : ERROR2); what++) {
            add_comparison(l, c, exact, what);
        }
        if (!c->table) {
            /* IF of a predictor against the variance which that predictor has over the data sets */
            lab_add(l, lab_judged(c, "data_truth", method_of(l, c), S_IF + EPIQ_CORRECTION_MODERATED, LAB_DATA));
        }
    }
    if (!s) {
        lab_note(l, "prediction_difference is the rms difference from the exact prediction over that one's standard "
                    "deviation, the root of its mean IF. data, procedural and squared_error (against the true "
                    "function) are means over the data sets, beside those of the exact solution on the same rows.");
        lab_note(l, "data_truth holds IF of each predictor against the variance which that predictor has over the data "
                    "sets. The truth is known to sqrt(2/J), and its error moves all lines of a cell together.");
    }
    return s;
}
