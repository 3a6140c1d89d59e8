/* real.c - the paper's real tables: table 2, the figure of EV against the number of members, and its timing. */
#include "study/lab.h"

#include <string.h>

static lab_cell real_cell(const lab *l, const lab_table *t)
{
    lab_cell c = {.table = t, .n = t->n, .d = t->d, .reps = 1, .o = lab_options(l)};
    c.o.members = l->job->size == STUDY_QUICK ? 6 : c.o.members;
    return c;
}

/* The paper's figures are of the scaled target. */
static double scaled(const lab_cell *c, ptrdiff_t field)
{
    double unit = lab_get(c, 0, S_FACTOR);
    return lab_get(c, 0, field) / (unit * unit);
}

static study_cell one_estimate(const lab_cell *c, const char *quantity, const char *method, ptrdiff_t field,
                               ptrdiff_t df, double published)
{
    study_cell line = lab_line(c, quantity, method);
    epiq_part p = epiq_part_of(scaled(c, field), df >= 0 ? lab_get(c, 0, df) : 0, 0.95, EPIQ_BY_NONE);
    lab_line_one(p, &line);
    line.published.value = published;
    return line;
}

int study_table2(lab *l)
{
    lab_cell cells[TABLE_COUNT];
    ptrdiff_t count = 0;
    bool networks = lab_engine(l) != EPIQ_ENGINE_INFINITE;
    for (const lab_table *t = LAB_TABLES; t < LAB_TABLES + TABLE_COUNT; t++) {
        if (l->job->size == STUDY_QUICK && t->n > 600) continue;
        cells[count] = real_cell(l, t);
        cells[count++].o.methods = EPIQ_IF | EPIQ_EV | (networks ? EPIQ_BA : 0);
    }
    int s = lab_run(l, cells, count);
    for (ptrdiff_t k = 0; !s && k < count; k++) {
        const lab_cell *c = &cells[k];
        lab_published paper = lab_published_real(c->table->name);
        study_cell tau2 = networks ? one_estimate(c, "procedural", "ev", S_EV, S_EV_DF, paper.tau2)
                                   : one_estimate(c, "procedural", "infinite", S_INFINITE, -1, paper.tau2);
        tau2.members = networks ? c->o.members : 0;
        lab_add(l, tau2);
        for (int way = 0; way < EPIQ_CORRECTIONS; way++) {
            study_cell line = one_estimate(c, "data", "if", S_IF + way, S_IF_DF + way, paper.data);
            line.correction = LAB_CORRECTIONS[way];
            if (!isnan(line.estimate.value)) lab_add(l, line);
        }
        if (networks) {
            study_cell line = one_estimate(c, "ensemble", "ba", S_BA, S_BA_DF, paper.ensemble);
            line.members = c->o.batches;
            lab_add(l, line);
        }
    }
    if (!s) {
        lab_note(l, "At the mean row of each table, in squared units of the scaled target; the paper does not say how "
                    "it scaled, and min-max comes nearest.");
    }
    return s;
}

int study_figure_members(lab *l)
{
    static const ptrdiff_t SHOWN[] = {2, 5, 10, 20, 30, 50, 100, 200, 500};
    lab_cell c = real_cell(l, &LAB_TABLES[BOSTON]);
    ptrdiff_t most = c.o.members = lab_reps(l, 10, 100, 200);
    c.o.methods = EPIQ_EV;
    if (c.o.engine == EPIQ_ENGINE_INFINITE) {
        return lab_fail(&l->job->crew, EPIQ_E_USAGE, "figure-members counts networks; use --engine network or linear");
    }
    int s = lab_run(l, &c, 1);
    if (s) return s;
    double unit = lab_get(&c, 0, S_FACTOR), *numbers = lab_block(l, 4 * most, sizeof *numbers);
    if (!numbers) return EPIQ_OK; /* reported at the end */
    double *x = numbers, *y = x + most, *lo = y + most, *hi = lo + most;
    for (ptrdiff_t m = 2; m <= most; m++) {
        epiq_part p =
            epiq_part_of(lab_variance(lab_members(&c, 0), m) / (unit * unit), (double)(m - 1), 0.95, EPIQ_BY_EV);
        x[m - 2] = (double)m;
        y[m - 2] = p.variance;
        lo[m - 2] = p.lo;
        hi[m - 2] = p.has_interval && !p.open ? p.hi : NAN;
        bool shown = m == most && most > 2;
        for (size_t k = 0; k < sizeof SHOWN / sizeof *SHOWN; k++) {
            shown = shown || m == SHOWN[k];
        }
        if (shown) {
            study_cell line = lab_line(&c, "procedural", "ev");
            line.members = m;
            lab_line_one(p, &line);
            line.published.value = m == 50 ? lab_published_real("boston").tau2 : NAN;
            lab_add(l, line);
        }
    }
    lab_figure(l, (study_figure){.title = "EV against the number of members (Boston)",
                                 .x_name = "members",
                                 .y_name = "EV, scaled units",
                                 .caption = "The shaded band is the 95 % interval that the first so many members give.",
                                 .log_y = true});
    lab_curve(l, (study_line){"EV", false, most - 1, x, y, lo, hi});
    lab_note(l, "The paper calls its curve flat from about 30 members; the interval says how flat that is: at 30 it "
                "still spans a factor of 2.8.");
    return EPIQ_OK;
}

int study_timing(lab *l)
{
    static const struct {
        int method;
        const char *name;
        double minutes; /* published, on an RTX 2080 Ti */
    } PARTS[] = {{EPIQ_EV, "ev", 23.4}, {EPIQ_IF, "if", 12.4}, {EPIQ_BA, "ba", 0.9}};
    enum { COUNT = sizeof PARTS / sizeof *PARTS };
    ptrdiff_t reps = lab_reps(l, 1, 3, 5);
    lab_cell cells[COUNT];
    for (int k = 0; k < COUNT; k++) {
        cells[k] = real_cell(l, &LAB_TABLES[BOSTON]);
        cells[k].o.methods = PARTS[k].method;
        cells[k].timed = true;
    }
    int s = EPIQ_OK;
    double *seconds = lab_block(l, COUNT * reps, sizeof *seconds);
    for (ptrdiff_t rep = 0; !s && seconds && rep < reps; rep++) { /* one at a time: each has the machine to itself */
        for (int k = 0; k < COUNT; k++) {
            cells[k].stream = (int)rep;
        }
        s = lab_run(l, cells, COUNT);
        for (int k = 0; !s && k < COUNT; k++) {
            seconds[k * reps + rep] = lab_get(&cells[k], 0, S_SECONDS);
        }
    }
    for (int k = 0; !s && seconds && k < COUNT; k++) {
        double *own = seconds + k * reps;
        lab_sort(own, reps);
        study_cell line = lab_line(&cells[k], "seconds", PARTS[k].name);
        line.reps = reps;
        line.members = PARTS[k].method == EPIQ_EV   ? cells[k].o.members
                       : PARTS[k].method == EPIQ_BA ? cells[k].o.batches
                                                    : 0;
        line.estimate.value = own[reps / 2];
        line.lo = own[0];
        line.hi = own[reps - 1];
        line.published.value = 60 * PARTS[k].minutes;
        lab_add(l, line);
    }
    if (!s) {
        lab_note(l,
                 "Median, least and most of %td runs, each from the rows in memory to the answer. The published "
                 "seconds are of an RTX 2080 Ti.",
                 reps);
    }
    return s;
}
