/* question.c - _epiq.decompose, plan, compare and explore: a table and points in, what the verbs of the command line answer out. They
 * differ in what is asked besides (the argument ask) and in the function of the library that finds it.
 */
#include "extension.h"

#include <stdlib.h>
#include <string.h>

typedef struct question question;
typedef struct {
    bool (*hold)(question *q, PyObject *ask);  /* NULL: nothing is asked besides */
    int (*find)(question *q, epiq_data *data); /* a status of the library */
} verb;

struct question {
    call call;
    const verb *verb;
    table table;
    array at;           /* points, or */
    const char **where; /* "mean", "row:3", files */
    const char **label; /* names of the points; NULL: the library's */
    ptrdiff_t where_count, label_count;
    epiq_points *points;
    epiq_grid grid;
    epiq_exploration exploration;
    finding found;
};

static int add_points(const question *q)
{
    epiq_ctx *c = q->call.ctx;
    int status = EPIQ_OK;
    for (ptrdiff_t i = 0; i < q->where_count && status >= 0; i++) {
        status = epiq_points_add(c, q->points, q->where[i]);
    }
    if (status >= 0 && q->at.given) return epiq_points_add_rows(c, q->points, q->at.rows, q->at.a);
    if (status < 0 || q->where) return status;
    /* a comparison leaves rows out by its folds; grid.size: it is one */
    const bool mean = q->grid.size && !q->grid.folds && q->call.options.engine != EPIQ_ENGINE_INFINITE;
    return mean ? epiq_points_add(c, q->points, "mean") : epiq_points_add_usual(c, q->points, &q->call.options);
}

static int work(call *self)
{
    question *q = (question *)self;
    epiq_data *data = NULL;
    const double began = epiqp_now();
    int status = table_data(self, &q->table, &data);
    status = status < 0 ? status : epiq_points_new(self->ctx, data, &q->points);
    status = status < 0 ? status : add_points(q);
    if (status >= 0 && q->label) status = epiq_points_rename(self->ctx, q->points, q->label);
    q->found.run.read_seconds = epiqp_now() - began;
    status = status < 0 ? status : q->verb->find(q, data);
    status = status < 0 ? status : finding_done(&q->found, began, data);
    if (q->found.ranking) { /* whose candidates are shown with their values */
        q->found.data = data;
        q->found.candidates = q->points;
    } else {
        epiq_points_free(self->ctx, q->points);
        epiq_data_free(self->ctx, data);
    }
    return status;
}

/* ---- the verbs ---- */

static int find_estimate(question *q, epiq_data *data)
{
    return epiq_estimate(q->call.ctx, data, q->points, &q->call.options, &q->found.result);
}

static bool hold_plan(question *q, PyObject *ask)
{
    epiq_plan_request *e = &q->found.effort;
    const call *c = &q->call;
    *e = (epiq_plan_request){.size = sizeof *e, .level = c->options.level};
    if (!PyArg_ParseTuple(ask, "ddid", &e->price_row, &e->price_training, &e->kind, &e->amount)) return false;
    const int status = epiq_plan_check(c->ctx, e);
    return status >= 0 || call_fail(c, status);
}

static int find_plan(question *q, epiq_data *data)
{
    const epiq_options *o = &q->call.options;
    finding *f = &q->found;
    const int status = find_estimate(q, data);
    return status < 0 ? status : epiq_plan_new(q->call.ctx, data, q->points, o, f->result, &f->effort, &f->plan);
}

/* Each item is checked and read by the library, as the option it is; the options keep the first. option: where they keep it.
 * NULL: there is an exception. */
static const void *hold_list(call *c, const char *name, PyObject *items, const void *option, size_t size,
                             ptrdiff_t *count)
{
    const char **text;
    if (!hold_texts(c, name, items, &text, count)) return NULL;
    char *list = calloc((size_t)*count + 1, size);
    if (!list) return PyErr_NoMemory();
    c->block[c->blocks++] = list;
    for (ptrdiff_t k = *count - 1; k >= 0; k--) {
        const int status = epiq_options_set(c->ctx, &c->options, name, text[k]);
        if (status < 0) {
            call_fail(c, status);
            return NULL;
        }
        memcpy(list + (size_t)k * size, option, size);
    }
    return list;
}

static bool hold_compare(question *q, PyObject *ask)
{
    call *c = &q->call;
    epiq_options *o = &c->options;
    epiq_grid *g = &q->grid;
    PyObject *widths, *depths, *lambdas, *biases;
    *g = (epiq_grid){.size = sizeof *g};
    return PyArg_ParseTuple(ask, "OOOOn", &widths, &depths, &lambdas, &biases, &g->folds) &&
           (g->widths = hold_list(c, "width", widths, &o->width, sizeof o->width, &g->width_count)) &&
           (g->depths = hold_list(c, "depth", depths, &o->depth, sizeof o->depth, &g->depth_count)) &&
           (g->lambdas = hold_list(c, "lambda", lambdas, &o->lambda, sizeof o->lambda, &g->lambda_count)) &&
           (g->biases = hold_list(c, "bias", biases, &o->bias, sizeof o->bias, &g->bias_count));
}

static int find_compare(question *q, epiq_data *data)
{
    return epiq_compare(q->call.ctx, data, q->points, &q->call.options, &q->grid, &q->found.comparison);
}

static bool hold_explore(question *q, PyObject *ask)
{
    epiq_exploration *x = &q->exploration;
    *x = epiq_exploration_default();
    return PyArg_ParseTuple(ask, "iidnn", &x->rule, &x->goal, &x->kappa, &x->batch, &q->found.top);
}

static int find_explore(question *q, epiq_data *data)
{
    epiq_options *o = &q->call.options;
    const int status = epiq_explore(q->call.ctx, data, q->points, o, &q->exploration, &q->found.ranking);
    if (status >= 0) o->methods = q->found.ranking->estimate->ran->methods; /* those that the rule takes */
    return status;
}

/* ---- called from Python ---- */

static PyObject *ask_about(const verb *v, PyObject *module, PyObject *args, PyObject *named)
{
    static char *names[] = {"X",       "y",       "at",       "where", "group",  "names", "target",
                            "options", "command", "progress", "ask",   "labels", NULL};
    PyObject *x, *y, *at, *where, *group, *features, *target, *options, *command, *progress;
    PyObject *ask = Py_None, *labels = Py_None, *out = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, named, "OOOOOOOOOO|OO", names, &x, &y, &at, &where, &group, &features,
                                     &target, &options, &command, &progress, &ask, &labels)) {
        return NULL;
    }
    question *q = call_new(module, sizeof *q, work);
    if (!q) return NULL;
    call *c = &q->call;
    q->verb = v;
    if (hold_options(c, options) && table_hold(c, x, y, group, features, target, &q->table) &&
        hold_array(c, "at", at, 2, HOLD_DOUBLE, &q->at) && hold_texts(c, "at", where, &q->where, &q->where_count) &&
        hold_texts(c, "labels", labels, &q->label, &q->label_count) &&
        hold_text("command", command, &q->found.run.command) && hold_progress(c, progress) &&
        (!v->hold || v->hold(q, ask))) {
        if (q->at.given && q->at.columns != q->table.x.columns) {
            PyErr_Format(c->state->input, "at has %zd columns but X has %zd; give one column for each feature",
                         (Py_ssize_t)q->at.columns, (Py_ssize_t)q->table.x.columns);
        } else if (q->label && q->label_count != q->at.rows) {
            PyErr_Format(PyExc_ValueError, "at has %zd rows but there are %zd labels", (Py_ssize_t)q->at.rows,
                         (Py_ssize_t)q->label_count);
        } else if (call_run(c)) {
            out = result_new(c, &q->found, command);
        }
    }
    finding_free(c->ctx, &q->found);
    call_free(c);
    return out;
}

PyObject *decompose_call(PyObject *module, PyObject *args, PyObject *named)
{
    static const verb ESTIMATE = {NULL, find_estimate};
    return ask_about(&ESTIMATE, module, args, named);
}

PyObject *plan_call(PyObject *module, PyObject *args, PyObject *named)
{
    static const verb PLAN = {hold_plan, find_plan};
    return ask_about(&PLAN, module, args, named);
}

PyObject *compare_call(PyObject *module, PyObject *args, PyObject *named)
{
    static const verb COMPARE = {hold_compare, find_compare};
    return ask_about(&COMPARE, module, args, named);
}

PyObject *explore_call(PyObject *module, PyObject *args, PyObject *named)
{
    static const verb EXPLORE = {hold_explore, find_explore};
    return ask_about(&EXPLORE, module, args, named);
}
