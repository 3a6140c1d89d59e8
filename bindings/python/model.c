/* model.c - _epiq.Model: a fitted model, asked at any number of points, kept as the bytes of its file. It is never changed, so
 * any number of threads may ask it at once, each with a context of its own.
 */
#include "extension.h"
#include "report/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    PyObject_HEAD epiq_ctx *ctx; /* that made the model */
    epiq_model *model;
    PyObject *bytes; /* of a file, which the model reads from; NULL: it was just made */
} model_object;

enum { KINDS = 8 };
static const char *const PARTS[KINDS] = {"prediction", "procedural", "data",  "ensemble",
                                         "sd",         "interval",   "noise", "confidence"}; /* bit k is 1 << k */

static void model_dealloc(PyObject *self)
{
    model_object *m = (model_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    epiq_model_free(m->ctx, m->model);
    epiq_ctx_free(m->ctx);
    Py_XDECREF(m->bytes);
    release(self);
    Py_DECREF(type);
}

/* The model and the context it belongs to, which the call no longer needs. */
static PyObject *model_new(call *c, epiq_model *model, PyObject *bytes)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(c->state->model, Py_tp_alloc);
    model_object *m = (model_object *)allocate(c->state->model, 0);
    if (!m) {
        epiq_model_free(c->ctx, model);
        return NULL;
    }
    m->ctx = c->ctx;
    m->model = model;
    m->bytes = bytes;
    Py_XINCREF(bytes);
    c->ctx = NULL;
    return (PyObject *)m;
}

/* ---- fit ---- */

typedef struct {
    call call;
    table table;
    epiq_model *model;
} fitting;

static int fit_work(call *self)
{
    fitting *f = (fitting *)self;
    epiq_data *data = NULL;
    int status = table_data(self, &f->table, &data);
    status = status < 0 ? status : epiq_fit(self->ctx, data, &self->options, &f->model);
    epiq_data_free(self->ctx, data);
    return status;
}

PyObject *fit_call(PyObject *module, PyObject *args, PyObject *named)
{
    static char *names[] = {"X", "y", "group", "names", "target", "options", "progress", NULL};
    PyObject *x, *y, *group, *features, *target, *options, *progress = Py_None, *out = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, named, "OOOOOO|O", names, &x, &y, &group, &features, &target, &options,
                                     &progress)) {
        return NULL;
    }
    fitting *f = call_new(module, sizeof *f, fit_work);
    if (!f) return NULL;
    call *c = &f->call;
    if (hold_options(c, options) && table_hold(c, x, y, group, features, target, &f->table) &&
        hold_progress(c, progress)) {
        if (call_run(c)) {
            out = model_new(c, f->model, NULL);
        } else {
            epiq_model_free(c->ctx, f->model); /* Ctrl-C came when it was finished */
        }
    }
    call_free(c);
    return out;
}

/* ---- predict ---- */

typedef struct {
    call call;
    const epiq_model *model;
    array x;
    epiq_predictions out;
} asking;

static int predict_work(call *self)
{
    asking *a = (asking *)self;
    return epiq_model_predict(self->ctx, a->model, a->x.rows, a->x.a, &a->out);
}

enum { NUMBERS = KINDS + 2, KNOWN = NUMBERS, OUTSIDE, FEW, WITHHELD, TOLD }; /* of what predict returns */

/* Room for the numbers of each part that is wanted and can be told, None for the others; then for which of them are known. */
static PyObject *make_room(asking *a, int parts)
{
    const struct {
        int part;
        double **to;
    } arrays[NUMBERS] = {{EPIQ_PREDICTION, &a->out.prediction},
                         {EPIQ_PROCEDURAL, &a->out.procedural},
                         {EPIQ_DATA, &a->out.data},
                         {EPIQ_ENSEMBLE, &a->out.ensemble},
                         {EPIQ_SD, &a->out.sd},
                         {EPIQ_INTERVAL, &a->out.lo},
                         {EPIQ_INTERVAL, &a->out.hi},
                         {EPIQ_NOISE, &a->out.noise},
                         {EPIQ_EXPECTED, &a->out.confidence_lo},
                         {EPIQ_EXPECTED, &a->out.confidence_hi}};
    PyObject *rooms = PyTuple_New(TOLD);
    for (int k = 0; rooms && k <= KNOWN; k++) {
        const bool wanted = k == KNOWN || parts & arrays[k].part;
        const Py_ssize_t size = a->x.rows * (Py_ssize_t)(k == KNOWN ? 1 : sizeof(double));
        PyObject *room = wanted ? PyByteArray_FromStringAndSize(NULL, size) : Py_NewRef(Py_None);
        if (!room || PyTuple_SetItem(rooms, k, room)) {
            Py_DECREF(rooms);
            return NULL;
        }
        if (wanted && k < KNOWN) {
            *arrays[k].to = (double *)(void *)PyByteArray_AsString(room);
        } else if (wanted) {
            a->out.known = (unsigned char *)PyByteArray_AsString(room);
        }
    }
    return rooms;
}

/* What was counted, behind the rooms. */
static bool put_counts(const asking *a, PyObject *rooms)
{
    const ptrdiff_t counts[] = {a->out.outside, a->out.few, a->out.withheld};
    for (int k = OUTSIDE; k < TOLD; k++) {
        PyObject *count = PyLong_FromSsize_t(counts[k - OUTSIDE]);
        if (!count || PyTuple_SetItem(rooms, k, count)) return false;
    }
    return true;
}

static PyObject *model_predict(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"X", "parts", "threads", "exact", "level", NULL};
    const epiq_model *model = ((model_object *)self)->model;
    const epiq_model_info info = epiq_model_describe(model);
    PyObject *x, *rooms = NULL;
    int parts = 15, exact = 0;
    Py_ssize_t threads = 0;
    double level = 0;
    if (!PyArg_ParseTupleAndKeywords(args, named, "O|inpd", names, &x, &parts, &threads, &exact, &level)) return NULL;
    asking *a = call_new(PyType_GetModule(Py_TYPE(self)), sizeof *a, predict_work);
    if (!a) return NULL;
    call *c = &a->call;
    a->model = model;
    a->out = (epiq_predictions){.size = sizeof a->out, .threads = threads, .exact = exact, .level = level};
    if (hold_array(c, "X", x, 2, HOLD_DOUBLE, &a->x)) {
        if (!a->x.given || a->x.columns != info.features) {
            PyErr_Format(c->state->input,
                         "X has %zd columns but the model was fitted to %zd; give one column for each feature",
                         (Py_ssize_t)a->x.columns, (Py_ssize_t)info.features);
        } else if (!(rooms = make_room(a, parts & info.parts)) || !call_run(c) || !put_counts(a, rooms)) {
            Py_CLEAR(rooms);
        }
    }
    call_free(c);
    return rooms;
}

/* ---- score ---- */

typedef struct {
    call call;
    const epiq_model *model;
    array x, y;
    epiq_score_request ask;
    finding found;
} scoring;

static int score_work(call *self)
{
    scoring *s = (scoring *)self;
    const double began = epiqp_now();
    int status = epiq_score_rows(self->ctx, s->model, s->x.rows, s->x.a, s->y.a, &s->ask, &s->found.scores);
    s->found.model = epiq_model_describe(s->model);
    s->found.run.data.target = s->found.model.target;
    return status < 0 ? status : finding_done(&s->found, began, NULL);
}

static bool score_fits(const scoring *s)
{
    const Py_ssize_t features = epiq_model_describe(s->model).features;
    if (!s->x.given || s->x.columns != features) {
        PyErr_Format(s->call.state->input,
                     "X has %zd columns but the model was fitted to %zd; give one column for each feature",
                     (Py_ssize_t)s->x.columns, features);
        return false;
    }
    if (!s->y.given || s->y.rows != s->x.rows) {
        PyErr_Format(s->call.state->input, "X has %zd rows but y has %zd; give one for each row of X",
                     (Py_ssize_t)s->x.rows, (Py_ssize_t)s->y.rows);
        return false;
    }
    return true;
}

static PyObject *model_score(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"X", "y", "options", "exact", "command", NULL};
    PyObject *x, *y, *options, *command, *out = NULL;
    int exact;
    if (!PyArg_ParseTupleAndKeywords(args, named, "OOOpO", names, &x, &y, &options, &exact, &command)) return NULL;
    scoring *s = call_new(PyType_GetModule(Py_TYPE(self)), sizeof *s, score_work);
    if (!s) return NULL;
    call *c = &s->call;
    s->model = ((model_object *)self)->model;
    c->object[c->objects++] = Py_NewRef(self); /* what is found speaks of the model */
    if (hold_options(c, options) && hold_array(c, "X", x, 2, HOLD_DOUBLE, &s->x) &&
        hold_array(c, "y", y, 1, HOLD_DOUBLE, &s->y) && hold_text("command", command, &s->found.run.command) &&
        score_fits(s)) {
        s->ask = (epiq_score_request){
            .size = sizeof s->ask, .level = c->options.level, .threads = c->options.threads, .exact = exact};
        if (call_run(c)) out = result_new(c, &s->found, command);
    }
    finding_free(c->ctx, &s->found);
    call_free(c);
    return out;
}

/* ---- as bytes ---- */

typedef struct {
    call call;
    const epiq_model *from;
    epiq_model *model;
    array bytes; /* to read from */
    char *sent;
    size_t size, room;
} moving;

static int put(void *user, const void *bytes, size_t size)
{
    moving *v = user;
    if (size > v->room - v->size) {
        size_t room = 2 * v->room + size;
        char *more = realloc(v->sent, room);
        if (!more) return 1;
        v->sent = more;
        v->room = room;
    }
    memcpy(v->sent + v->size, bytes, size);
    v->size += size;
    return 0;
}

static int send_work(call *self)
{
    moving *v = (moving *)self;
    int status = epiq_model_send(self->ctx, v->from, put, v);
    return status == EPIQ_E_FILE ? EPIQ_E_NOMEM : status; /* put fails for want of memory only */
}

static PyObject *model_to_bytes(PyObject *self, PyObject *none)
{
    (void)none;
    PyObject *out = NULL;
    moving *v = call_new(PyType_GetModule(Py_TYPE(self)), sizeof *v, send_work);
    if (!v) return NULL;
    v->from = ((model_object *)self)->model;
    if (call_run(&v->call)) out = PyBytes_FromStringAndSize(v->sent, (Py_ssize_t)v->size);
    free(v->sent);
    call_free(&v->call);
    return out;
}

static int load_work(call *self)
{
    moving *v = (moving *)self;
    return epiq_model_load(self->ctx, v->bytes.a, (size_t)v->bytes.rows, &v->model);
}

PyObject *load_call(PyObject *module, PyObject *args, PyObject *named)
{
    static char *names[] = {"bytes", NULL};
    PyObject *bytes, *out = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, named, "S", names, &bytes)) { /* bytes cannot change, a buffer could */
        return NULL;
    }
    moving *v = call_new(module, sizeof *v, load_work);
    if (!v) return NULL;
    if (hold_array(&v->call, "the model", bytes, 1, HOLD_BYTE, &v->bytes)) {
        if (call_run(&v->call)) {
            out = model_new(&v->call, v->model, bytes);
        } else {
            epiq_model_free(v->call.ctx, v->model);
        }
    }
    call_free(&v->call);
    return out;
}

/* ---- from a file ---- */

typedef struct {
    call call;
    const char *path;
    epiq_model *model;
} reading;

static int read_work(call *self)
{
    reading *r = (reading *)self;
    return epiq_model_read(self->ctx, r->path, &r->model);
}

PyObject *read_call(PyObject *module, PyObject *path)
{
    PyObject *out = NULL;
    reading *r = call_new(module, sizeof *r, read_work);
    if (!r) return NULL;
    if (hold_text("path", path, &r->path) && r->path) {
        if (call_run(&r->call)) {
            out = model_new(&r->call, r->model, NULL);
        } else {
            epiq_model_free(r->call.ctx, r->model);
        }
    } else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "path must be text");
    }
    call_free(&r->call);
    return out;
}

/* ---- what it is ---- */

static PyObject *text_list(const char *const *text, ptrdiff_t count)
{
    PyObject *list = PyList_New(0);
    for (ptrdiff_t i = 0; list && i < count; i++) {
        PyObject *item = PyUnicode_DecodeUTF8(text[i], (Py_ssize_t)strlen(text[i]), "replace");
        if (!item || PyList_Append(list, item)) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *part_list(int parts)
{
    const char *told[KINDS];
    ptrdiff_t count = 0;
    for (int k = 0; k < KINDS; k++) {
        if (parts & 1 << k) told[count++] = PARTS[k];
    }
    return text_list(told, count);
}

static PyObject *option_dict(const epiq_options *o)
{
    PyObject *dict = PyDict_New();
    const epiq_option_info *info;
    for (ptrdiff_t i = 0; dict && (info = epiq_options_info(i)); i++) {
        option_buffer room;
        const char *text = option_text(o, info->name, &room);
        PyObject *value = text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace") : Py_NewRef(Py_None);
        if (!value || PyDict_SetItemString(dict, info->name, value)) Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *warning_list(const epiq_warning *const *w, ptrdiff_t count)
{
    PyObject *list = PyList_New(0);
    for (ptrdiff_t i = 0; list && i < count; i++) {
        PyObject *item = Py_BuildValue("{ssss}", "code", w[i]->code, "message", w[i]->message);
        if (!item || PyList_Append(list, item)) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* A number, or None. */
static PyObject *known_number(bool known, double v)
{
    return known ? PyFloat_FromDouble(v) : Py_NewRef(Py_None);
}

static PyObject *fit_dict(const epiq_fit_error *e)
{
    return Py_BuildValue("{sNsNsNsnsOsNsN}", "rmse", known_number(e->known, e->rmse), "r2",
                         known_number(e->known && e->has_r2, e->r2), "noise_sd",
                         known_number(e->known, sqrt(e->noise_variance)), "folds", (Py_ssize_t)e->folds, "by_group",
                         e->by_group ? Py_True : Py_False, "kernel_rmse", known_number(e->kernel_known, e->kernel_rmse),
                         "kernel_r2", known_number(e->kernel_known && e->has_r2, e->kernel_r2));
}

static PyObject *model_describe(PyObject *self, PyObject *none)
{
    (void)none;
    const epiq_model_info m = epiq_model_describe(((model_object *)self)->model);
    return Py_BuildValue("{snsNsssdsdsssssNsNsNsNsdsz}", "rows", (Py_ssize_t)m.rows, "features",
                         text_list(m.feature, m.features), "target", m.target, "shift", m.shift, "factor", m.factor,
                         "data_sha256", m.sha256, "version", m.version, "parts", part_list(m.parts), "options",
                         option_dict(m.options), "warnings", warning_list(m.warnings, m.warning_count), "fit",
                         fit_dict(m.fit), "most_level", m.most_level, "no_interval", m.no_interval);
}

static PyMethodDef METHODS[] = {
    {"predict", (PyCFunction)(void (*)(void))model_predict, METH_VARARGS | METH_KEYWORDS,
     "predict(X, parts=15, threads=0, exact=False, level=0)\n--\n\n"
     "X: float64, rows by features. (prediction, procedural, data, ensemble, sd, lo, hi, noise, confidence_lo, "
     "confidence_hi, known, outside, few, withheld):\n"
     "bytearrays of float64, None for a part not wanted or not to be told; bits of known say which numbers mean "
     "anything;\n"
     "outside counts extrapolations, few the rows whose data variance rests on one or two training rows, withheld "
     "those\n"
     "without an interval of y. level is that of the interval; 0 means 0.95."},
    {"score", (PyCFunction)(void (*)(void))model_score, METH_VARARGS | METH_KEYWORDS,
     "score(X, y, options, exact, command)\n--\n\nThe Result of epiq score; of the options level and threads count."},
    {"to_bytes", model_to_bytes, METH_NOARGS, "to_bytes()\n--\n\nThe bytes of its file (docs/model-file.md)."},
    {"describe", model_describe, METH_NOARGS,
     "describe()\n--\n\nWhat it was fitted to, how, and which parts it can tell."},
    {0},
};

static PyType_Slot SLOTS[] = {
    {Py_tp_dealloc, (void *)model_dealloc},
    {Py_tp_methods, METHODS},
    {Py_tp_doc, (void *)"A fitted model; fit and model_from_bytes make one."},
    {0},
};

PyType_Spec MODEL_SPEC = {.name = "epiq._epiq.Model",
                          .basicsize = sizeof(model_object),
                          .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                          .slots = SLOTS};
