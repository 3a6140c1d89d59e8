/* decompose.c - _epiq.decompose: arrays in, the result of epiq estimate out. */
#include "extension.h"

typedef struct {
    call call;
    table table;
    array at;           /* points, or */
    const char **where; /* "mean", "row:3", files; neither: the mean */
    ptrdiff_t where_count;
    finding found;
} decomposition;

static int add_points(const decomposition *d, epiq_points *at)
{
    epiq_ctx *c = d->call.ctx;
    int status = EPIQ_OK;
    for (ptrdiff_t i = 0; i < d->where_count && status >= 0; i++) {
        status = epiq_points_add(c, at, d->where[i]);
    }
    if (status >= 0 && d->at.given) return epiq_points_add_rows(c, at, d->at.rows, d->at.a);
    return status >= 0 && !d->where ? epiq_points_add(c, at, "mean") : status;
}

static int work(call *self)
{
    decomposition *d = (decomposition *)self;
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    const double began = epiqp_now();
    int status = table_data(self, &d->table, &data);
    status = status < 0 ? status : epiq_points_new(self->ctx, data, &at);
    status = status < 0 ? status : add_points(d, at);
    d->found.run.read_seconds = epiqp_now() - began;
    status = status < 0 ? status : epiq_estimate(self->ctx, data, at, &self->options, &d->found.result);
    status = status < 0 ? status : finding_done(&d->found, began, data);
    epiq_points_free(self->ctx, at);
    epiq_data_free(self->ctx, data);
    return status;
}

PyObject *decompose_call(PyObject *module, PyObject *args, PyObject *named)
{
    static char *names[] = {"X", "y", "at", "where", "group", "names", "target", "options", "command", NULL};
    PyObject *x, *y, *at, *where, *group, *features, *target, *options, *command, *out = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, named, "OOOOOOOOO", names, &x, &y, &at, &where, &group, &features, &target,
                                     &options, &command)) {
        return NULL;
    }
    decomposition *d = call_new(module, sizeof *d, work);
    if (!d) return NULL;
    call *c = &d->call;
    if (hold_options(c, options) && table_hold(c, x, y, group, features, target, &d->table) &&
        hold_array(c, "at", at, 2, HOLD_DOUBLE, &d->at) && hold_texts(c, "at", where, &d->where, &d->where_count) &&
        hold_text("command", command, &d->found.run.command)) {
        if (d->at.given && d->at.columns != d->table.x.columns) {
            PyErr_Format(c->state->input, "at has %zd columns but X has %zd; give one column a feature",
                         (Py_ssize_t)d->at.columns, (Py_ssize_t)d->table.x.columns);
        } else if (call_run(c)) {
            out = result_new(c, &d->found, command);
        }
    }
    finding_free(c->ctx, &d->found);
    call_free(c);
    return out;
}
