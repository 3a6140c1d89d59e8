/* combine.c - _epiq.combine: what networks of one's own predicted, arrays in, the result of epiq combine out; and
 * _epiq.network_start, the weights from which a network of epiq's own would start.
 */
#include "extension.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    ENSEMBLE,
    BATCHED,
    Y,
    YHAT,
    GRAM,
    CROSS,
    JACOBIAN,
    JACOBIAN0,
    AT,
    LEFT_OUT,
    RETRAINED,
    TARGETS,
    RESAMPLED,
    AUXILIARY,
    AUXILIARY_BATCHED,
    AUXILIARY_RESAMPLED,
    MATRICES
};
static const char *const NAMES[] = {"ensemble",
                                    "batched",
                                    "y",
                                    "yhat",
                                    "gram",
                                    "cross",
                                    "jacobian",
                                    "jacobian0",
                                    "at",
                                    "left_out",
                                    "retrained",
                                    "targets",
                                    "resampled",
                                    "auxiliary",
                                    "auxiliary_batched",
                                    "auxiliary_resampled"}; /* as the sentences call them */

typedef struct {
    call call;
    epiq_matrix matrix[MATRICES];
    const epiq_matrix *given[MATRICES]; /* NULL: there is none */
    const char **merge;
    ptrdiff_t merge_count, replicates;
    finding found;
} combination;

static int work(call *self)
{
    combination *j = (combination *)self;
    const epiq_given g = {.size = sizeof g,
                          .ensemble = j->given[ENSEMBLE],
                          .batched = j->given[BATCHED],
                          .y = j->given[Y],
                          .yhat = j->given[YHAT],
                          .gram = j->given[GRAM],
                          .cross = j->given[CROSS],
                          .jacobian = j->given[JACOBIAN],
                          .jacobian0 = j->given[JACOBIAN0],
                          .at = j->given[AT],
                          .merge = j->merge,
                          .merge_count = j->merge_count,
                          .left_out = j->given[LEFT_OUT],
                          .retrained = j->given[RETRAINED],
                          .targets = j->given[TARGETS],
                          .replicates = j->replicates,
                          .resampled = j->given[RESAMPLED],
                          .auxiliary = j->given[AUXILIARY],
                          .auxiliary_batched = j->given[AUXILIARY_BATCHED],
                          .auxiliary_resampled = j->given[AUXILIARY_RESAMPLED]};
    const double began = epiqp_now();
    int status = epiq_combine(self->ctx, &g, &self->options, &j->found.result);
    j->found.run.given = &j->found.given;
    return status < 0 ? status : finding_done(&j->found, began, NULL);
}

/* Matrix k and the names of its columns. */
static bool hold_matrix(combination *j, int k, PyObject *arrays, PyObject *columns)
{
    PyObject *a = PyDict_GetItemString(arrays, NAMES[k]), *names = PyDict_GetItemString(columns, NAMES[k]);
    array held;
    const char **column;
    ptrdiff_t count;
    if (!hold_array(&j->call, NAMES[k], a ? a : Py_None, 2, HOLD_DOUBLE | HOLD_FLOAT, &held) ||
        !hold_texts(&j->call, NAMES[k], names ? names : Py_None, &column, &count)) {
        return false;
    }
    if (column && count != held.columns) {
        PyErr_Format(j->call.state->input, "%s has %zd columns but %zd names", NAMES[k], (Py_ssize_t)held.columns,
                     (Py_ssize_t)count);
        return false;
    }
    j->matrix[k] = (epiq_matrix){.size = sizeof(epiq_matrix),
                                 .name = NAMES[k],
                                 .rows = held.rows,
                                 .columns = held.columns,
                                 .real = held.single ? EPIQ_FLOAT32 : EPIQ_FLOAT64,
                                 .a = held.a,
                                 .column = column};
    j->given[k] = held.given ? &j->matrix[k] : NULL;
    return true;
}

/* until: None, or a number that some number of networks reaches. */
static bool hold_until(combination *j, PyObject *until)
{
    const call *c = &j->call;
    if (until == Py_None) return true;
    j->found.given.until = PyFloat_AsDouble(until);
    if (PyErr_Occurred()) return false;
    if (!j->given[ENSEMBLE] && !c->options.state && !j->merge_count) {
        PyErr_SetString(c->state->input, "until counts the networks of ensemble, append and merge; give one of them");
        return false;
    }
    if (epiq_members_for(j->found.given.until, c->options.level) <= 0) {
        PyErr_Format(c->state->input,
                     "until is %R; it must be above 0 and not tiny: 0.5 wants an interval that reaches about half the "
                     "variance up and down",
                     until);
        return false;
    }
    return true;
}

static bool hold_all(combination *j, PyObject *arrays, PyObject *columns)
{
    bool held = PyDict_Check(arrays) && PyDict_Check(columns);
    for (int k = 0; held && k < MATRICES; k++) {
        held = hold_matrix(j, k, arrays, columns);
    }
    return held;
}

PyObject *combine_call(PyObject *module, PyObject *args, PyObject *named)
{
    static char *names[] = {"arrays",  "columns",    "merge",    "until", "options",
                            "command", "replicates", "progress", NULL};
    PyObject *arrays, *columns, *merge, *until, *options, *command, *progress, *out = NULL;
    Py_ssize_t replicates;
    if (!PyArg_ParseTupleAndKeywords(args, named, "O!O!OOOOnO", names, &PyDict_Type, &arrays, &PyDict_Type, &columns,
                                     &merge, &until, &options, &command, &replicates, &progress)) {
        return NULL;
    }
    combination *j = call_new(module, sizeof *j, work);
    if (!j) return NULL;
    call *c = &j->call;
    j->replicates = replicates;
    if (hold_options(c, options) && hold_all(j, arrays, columns) &&
        hold_texts(c, "merge", merge, &j->merge, &j->merge_count) &&
        hold_text("command", command, &j->found.run.command) && hold_until(j, until) && hold_progress(c, progress) &&
        call_run(c)) {
        out = result_new(c, &j->found, command);
    }
    finding_free(c->ctx, &j->found);
    call_free(c);
    return out;
}

/* ---- targets to train on again ---- */

typedef struct {
    combination all;
    double *targets;
} targeting;

static int targets_work(call *self)
{
    const targeting *t = (const targeting *)(void *)self;
    const epiq_given g = {.size = sizeof g,
                          .y = t->all.given[Y],
                          .yhat = t->all.given[YHAT],
                          .left_out = t->all.given[LEFT_OUT],
                          .replicates = t->all.replicates};
    return epiq_targets(self->ctx, &g, &self->options, t->targets, NULL);
}

PyObject *targets_call(PyObject *module, PyObject *args, PyObject *named)
{
    static char *names[] = {"arrays", "replicates", "options", NULL};
    PyObject *arrays, *options, *none = PyDict_New(), *out = NULL;
    Py_ssize_t replicates;
    if (!none ||
        !PyArg_ParseTupleAndKeywords(args, named, "O!nO", names, &PyDict_Type, &arrays, &replicates, &options)) {
        Py_XDECREF(none);
        return NULL;
    }
    targeting *t = call_new(module, sizeof *t, targets_work);
    if (!t) {
        Py_DECREF(none);
        return NULL;
    }
    call *c = &t->all.call;
    t->all.replicates = replicates;
    if (hold_options(c, options) && hold_all(&t->all, arrays, none)) {
        const Py_ssize_t size = t->all.given[Y] ? t->all.given[Y]->rows : 0;
        out = PyByteArray_FromStringAndSize(NULL, 0);
        if (out && PyByteArray_Resize(out, replicates > 0 ? 2 * replicates * size * (Py_ssize_t)sizeof(double) : 0)) {
            Py_CLEAR(out);
        }
        t->targets = out ? (double *)(void *)PyByteArray_AsString(out) : NULL;
        if (out && !call_run(c)) Py_CLEAR(out);
    }
    Py_DECREF(none);
    call_free(c);
    return out;
}

/* ---- a network's start ---- */

typedef struct {
    call call;
    ptrdiff_t features, member;
    double *theta;
} starting;

static int start_work(call *self)
{
    starting *s = (starting *)self;
    return epiq_network_start(self->ctx, &self->options, s->features, s->member, s->theta);
}

/* Room for a network of so many weights, 0 being one that start_work refuses. Memory beyond the machine's is promised by many
 * systems, and the process killed when it is used; so that is not tried. */
static PyObject *weights_new(const call *c, ptrdiff_t count)
{
    const double gb = 1e9, need = (double)count * sizeof(double);
    const double there = epiqp_memory();
    PyObject *theta = need < there ? PyByteArray_FromStringAndSize(NULL, 0) : NULL;
    if (theta &&
        PyByteArray_Resize(theta, count * (Py_ssize_t)sizeof(double))) { /* fails cleanly; making it large does not */
        Py_CLEAR(theta);
    }
    if (!theta) {
        char sentence[160];
        snprintf(sentence, sizeof sentence,
                 "%td weights take %.3g GB, more than there is here; ask for a smaller width or fewer features", count,
                 need / gb);
        PyErr_SetString(c->state->memory, sentence);
    }
    return theta;
}

PyObject *start_call(PyObject *module, PyObject *args, PyObject *named)
{
    static char *names[] = {"features", "member", "options", NULL};
    Py_ssize_t features, member;
    PyObject *options, *theta = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, named, "nnO", names, &features, &member, &options)) return NULL;
    starting *s = call_new(module, sizeof *s, start_work);
    if (!s) return NULL;
    s->features = features;
    s->member = member;
    if (hold_options(&s->call, options)) {
        ptrdiff_t size = epiq_network_size(&s->call.options, features); /* 0: start_work says why */
        theta = weights_new(&s->call, size);
        s->theta = theta ? (double *)(void *)PyByteArray_AsString(theta) : NULL;
        if (theta && !call_run(&s->call)) Py_CLEAR(theta);
    }
    call_free(&s->call);
    return theta;
}
