/* result.c - _epiq.Result: a finished result of any verb, its numbers as arrays, and text, JSON, CSV and page made by the command line's own
 * writers when they are asked for. It is never changed, so any number of threads may ask it at once.
 */
#include "extension.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    PyObject_HEAD epiq_ctx *ctx; /* that made the result */
    finding found;
    epiq_options options;
    PyObject *held; /* list: texts that the options and the run point to */
} result_object;

/* ---- from the call that found it ---- */

static char *copy_text(char **room, const char *text)
{
    char *copy = *room;
    memcpy(copy, text, strlen(text) + 1);
    *room += strlen(text) + 1;
    return copy;
}

int finding_done(finding *f, double began, const epiq_data *data)
{
    f->run.peak_rss_bytes = epiqp_peak_rss();
    f->run.spelling = EPIQ_SPELL_FIELD;
    f->run.seconds = epiqp_now() - began;
    if (data) {
        f->run.data = epiq_data_describe(data);
    } else if (f->result) {
        f->run.data = combine_data(f->result);
    }
    if (!data) return EPIQ_OK;
    epiq_data_info *d = &f->run.data; /* its names are copied, so that the rows need not be kept */
    size_t size = strlen(d->target) + strlen(d->sha256) + 2;
    for (ptrdiff_t i = 0; i < d->features; i++) {
        size += sizeof(char *) + strlen(d->feature[i]) + 1;
    }
    const char **feature = f->names = malloc(size);
    if (!feature) return EPIQ_E_NOMEM;
    char *room = (char *)(feature + d->features);
    for (ptrdiff_t i = 0; i < d->features; i++) {
        feature[i] = copy_text(&room, d->feature[i]);
    }
    d->feature = feature;
    d->target = copy_text(&room, d->target);
    d->sha256 = copy_text(&room, d->sha256);
    return EPIQ_OK;
}

void finding_free(epiq_ctx *ctx, finding *f)
{
    epiq_plan_free(ctx, f->plan);
    epiq_comparison_free(ctx, f->comparison);
    epiq_ranking_free(ctx, f->ranking);
    epiq_scores_free(ctx, f->scores);
    epiq_points_free(ctx, f->candidates);
    epiq_data_free(ctx, f->data);
    epiq_result_free(ctx, f->result);
    free(f->names);
}

static PyObject *hold_list(const call *c, PyObject *command)
{
    PyObject *held = PyList_New(0);
    for (int i = 0; held && i <= c->objects; i++) {
        if (PyList_Append(held, i < c->objects ? c->object[i] : command)) Py_CLEAR(held);
    }
    return held;
}

PyObject *result_new(call *c, finding *f, PyObject *command)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(c->state->result, Py_tp_alloc);
    result_object *r = (result_object *)allocate(c->state->result, 0);
    if (!r || !(r->held = hold_list(c, command))) {
        Py_XDECREF((PyObject *)r);
        return NULL;
    }
    r->ctx = c->ctx;
    r->found = *f;
    r->options = c->options;
    r->found.run.options = &r->options;
    r->found.run.given = f->run.given ? &r->found.given : NULL;
    c->ctx = NULL;
    *f = (finding){0};
    return (PyObject *)r;
}

static void result_dealloc(PyObject *self)
{
    result_object *r = (result_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    finding_free(r->ctx, &r->found);
    epiq_ctx_free(r->ctx);
    Py_XDECREF(r->held);
    release(self);
    Py_DECREF(type);
}

/* ---- as the command line writes it ---- */

typedef enum { FORM_JSON, FORM_CSV, FORM_TEXT, FORM_VERBOSE, FORM_PAGE } form;
typedef struct {
    call call;
    const finding *found;
    form form;
    char *text;
    size_t size;
} writing;

static report_answer answer_of(const finding *f)
{
    return (report_answer){.result = f->ranking ? f->ranking->estimate : f->result,
                           .plan = f->plan,
                           .effort = f->plan ? &f->effort : NULL,
                           .comparison = f->comparison,
                           .ranking = f->ranking,
                           .candidates = f->candidates,
                           .features = f->candidates ? &f->run.data : NULL,
                           .top = f->top,
                           .scores = f->scores,
                           .model = f->scores ? &f->model : NULL,
                           .file = "as fitted",
                           .test = "X"};
}

static int write_work(call *self)
{
    writing *w = (writing *)self;
    const report_answer a = answer_of(w->found);
    const report_writers *writers = a.plan         ? &PLAN_WRITERS
                                    : a.comparison ? &COMPARE_WRITERS
                                    : a.ranking    ? &EXPLORE_WRITERS
                                    : a.scores     ? &SCORE_WRITERS
                                                   : &ESTIMATE_WRITERS;
    report_run verbose = w->found->run;
    verbose.verbose = true;
    const report_run *run = w->form == FORM_VERBOSE ? &verbose : &w->found->run;
    svg_album album = {0};
    FILE *f = open_memstream(&w->text, &w->size);
    if (!f) return EPIQ_E_NOMEM;
    if (w->form == FORM_JSON) {
        writers->json(f, &a, run);
    } else if (w->form == FORM_CSV) {
        writers->csv(f, &a);
    } else if (w->form == FORM_TEXT || w->form == FORM_VERBOSE) {
        doc_text(f, writers, &a, run, (report_style){.blocks = true});
    } else {
        doc_html(f, writers, &a, run, &album);
    }
    const bool bad = ferror(f) || album.incomplete;
    return fclose(f) || bad ? EPIQ_E_NOMEM : EPIQ_OK;
}

static PyObject *write_form(PyObject *self, form wanted)
{
    PyObject *out = NULL;
    writing *w = call_new(PyType_GetModule(Py_TYPE(self)), sizeof *w, write_work);
    if (!w) return NULL;
    w->found = &((const result_object *)self)->found;
    w->form = wanted;
    if (call_run(&w->call)) {
        out = wanted == FORM_PAGE ? PyBytes_FromStringAndSize(w->text, (Py_ssize_t)w->size)
                                  : PyUnicode_DecodeUTF8(w->text, (Py_ssize_t)w->size, "replace");
    }
    free(w->text);
    call_free(&w->call);
    return out;
}

static PyObject *result_json(PyObject *self, PyObject *none)
{
    (void)none;
    return write_form(self, FORM_JSON);
}

static PyObject *result_csv(PyObject *self, PyObject *none)
{
    (void)none;
    return write_form(self, FORM_CSV);
}

static PyObject *result_text(PyObject *self, PyObject *none)
{
    (void)none;
    return write_form(self, FORM_TEXT);
}

static PyObject *result_verbose(PyObject *self, PyObject *none)
{
    (void)none;
    return write_form(self, FORM_VERBOSE);
}

static PyObject *result_page(PyObject *self, PyObject *none)
{
    (void)none;
    return write_form(self, FORM_PAGE);
}

/* ---- as arrays ---- */

/* NULL: models were compared or judged. */
static const epiq_result *result_of(PyObject *self)
{
    return answer_of(&((const result_object *)self)->found).result;
}

static Py_ssize_t result_length(PyObject *self)
{
    return result_of(self) ? result_of(self)->point_count : 0;
}

static const epiq_point *result_point(PyObject *self, ptrdiff_t i)
{
    return i < result_length(self) ? result_of(self)->points[i] : NULL;
}

static PyObject *result_at(PyObject *self, PyObject *none)
{
    (void)none;
    const epiq_point *p;
    PyObject *list = PyList_New(0);
    for (ptrdiff_t i = 0; list && (p = result_point(self, i)); i++) {
        PyObject *name = PyUnicode_DecodeUTF8(p->at, (Py_ssize_t)strlen(p->at), "replace");
        if (!name || PyList_Append(list, name)) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static double known_number(bool known, double v)
{
    return known && isfinite(v) ? v : NAN;
}

/* So many numbers for each point, written by put. */
static PyObject *numbers(PyObject *self, ptrdiff_t each, void (*put)(const epiq_point *p, size_t offset, double *out),
                         size_t offset)
{
    const epiq_point *p;
    PyObject *room = PyByteArray_FromStringAndSize(NULL, result_length(self) * each * (Py_ssize_t)sizeof(double));
    double *out = room ? (double *)(void *)PyByteArray_AsString(room) : NULL;
    for (ptrdiff_t i = 0; out && (p = result_point(self, i)); i++) {
        put(p, offset, out + i * each);
    }
    return room;
}

static void put_prediction(const epiq_point *p, size_t offset, double *out)
{
    (void)offset;
    *out = known_number(true, p->prediction);
}

static void put_variance(const epiq_point *p, size_t offset, double *out)
{
    const epiq_part *part = (const epiq_part *)(const void *)((const char *)p + offset);
    *out = known_number(part->known, part->variance);
}

static void put_interval(const epiq_point *p, size_t offset, double *out)
{
    const epiq_part *part = (const epiq_part *)(const void *)((const char *)p + offset);
    const bool known = part->known && part->has_interval;
    out[0] = known_number(known, part->lo);
    out[1] = known_number(known && !part->open, part->hi);
}

static void put_predictive(const epiq_point *p, size_t offset, double *out)
{
    (void)offset;
    out[0] = known_number(p->predictive.known, p->predictive.lo);
    out[1] = known_number(p->predictive.known, p->predictive.hi);
}

static void put_left_out(const epiq_point *p, size_t offset, double *out)
{
    (void)offset;
    *out = (double)p->left_out;
}

static void put_members(const epiq_point *p, size_t offset, double *out)
{
    (void)offset;
    if (p->member_count) memcpy(out, p->members, (size_t)p->member_count * sizeof *out);
}

static void put_batches(const epiq_point *p, size_t offset, double *out)
{
    (void)offset;
    if (p->batch_count) memcpy(out, p->batches, (size_t)p->batch_count * sizeof *out);
}

static PyObject *result_numbers(PyObject *self, PyObject *name)
{
#define PART(name)                                                                                                     \
    {                                                                                                                  \
#name, 1, put_variance, offsetof(epiq_point, name)                                                             \
    }
#define INTERVAL(name)                                                                                                 \
    {                                                                                                                  \
#name "_interval", 2, put_interval, offsetof(epiq_point, name)                                                 \
    }
    const epiq_point *first = result_point(self, 0);
    const struct {
        const char *name;
        ptrdiff_t each;
        void (*put)(const epiq_point *p, size_t offset, double *out);
        size_t offset;
    } arrays[] = {{"prediction", 1, put_prediction, 0},
                  PART(prediction_variance),
                  PART(full_variance),
                  PART(procedural),
                  PART(data),
                  PART(ensemble),
                  PART(single),
                  INTERVAL(procedural),
                  INTERVAL(data),
                  INTERVAL(ensemble),
                  INTERVAL(single),
                  {"predictive_interval", 2, put_predictive, 0},
                  {"left_out", 1, put_left_out, 0},
                  {"members", first ? first->member_count : 0, put_members, 0}, /* every point has as many */
                  {"batches", first ? first->batch_count : 0, put_batches, 0}};
#undef PART
#undef INTERVAL
    const char *wanted;
    if (!hold_text("the name of an array", name, &wanted)) return NULL;
    for (size_t k = 0; wanted && k < sizeof arrays / sizeof *arrays; k++) {
        if (strcmp(arrays[k].name, wanted) == 0) return numbers(self, arrays[k].each, arrays[k].put, arrays[k].offset);
    }
    PyErr_Format(PyExc_KeyError, "%R", name);
    return NULL;
}

static PyMethodDef METHODS[] = {
    {"json", result_json, METH_NOARGS, "json()\n--\n\nWhat --json writes."},
    {"csv", result_csv, METH_NOARGS, "csv()\n--\n\nWhat --csv writes."},
    {"text", result_text, METH_NOARGS, "text()\n--\n\nWhat the command line prints."},
    {"verbose_text", result_verbose, METH_NOARGS, "verbose_text()\n--\n\nThe same with --verbose."},
    {"page", result_page, METH_NOARGS, "page()\n--\n\nWhat --report writes: the bytes of a page."},
    {"at", result_at, METH_NOARGS, "at()\n--\n\nThe names of the points."},
    {"numbers", result_numbers, METH_O,
     "numbers(name)\n--\n\nfloat64 of all points, one after the other, in a bytearray; NaN: not known. name: "
     "prediction,\n"
     "prediction_variance, full_variance, procedural, data, ensemble, single, those with _interval (two for each "
     "point),\n"
     "predictive_interval, left_out (the row that is, from 1, or 0), members, batches."},
    {0},
};

static PyType_Slot SLOTS[] = {
    {Py_tp_dealloc, (void *)result_dealloc},
    {Py_tp_methods, METHODS},
    {Py_sq_length, (void *)result_length},
    {Py_tp_doc, (void *)"A finished result; decompose, plan, compare, explore and combine make one."},
    {0},
};

PyType_Spec RESULT_SPEC = {.name = "epiq._epiq.Result",
                           .basicsize = sizeof(result_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                           .slots = SLOTS};
