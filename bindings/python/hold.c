/* hold.c - arguments from Python, checked before anything is read and held until the call is freed. The package converts arrays
 * beforehand (_arrays.py): what arrives here in another form is a mistake of the package's, and a TypeError.
 */
#include "extension.h"

#include <stdlib.h>
#include <string.h>

/* The kind of number a buffer's format stands for, 0: none we read. Native size and order only. */
static int kind_of(const char *format, Py_ssize_t itemsize)
{
    format += format[0] == '@' || format[0] == '=';
    if (!format[0] || format[1]) return 0;
    switch (format[0]) {
    case 'd':
        return itemsize == sizeof(double) ? HOLD_DOUBLE : 0;
    case 'f':
        return itemsize == sizeof(float) ? HOLD_FLOAT : 0;
    case 'l':
    case 'q':
        return itemsize == sizeof(int64_t) ? HOLD_INTEGER : 0;
    case 'B':
        return itemsize == 1 ? HOLD_BYTE : 0;
    default:
        return 0;
    }
}

bool hold_array(call *c, const char *name, PyObject *o, int dimensions, int kinds, array *out)
{
    *out = (array){0};
    if (o == Py_None) return true;
    Py_buffer *view = &c->view[c->views];
    if (c->views == CALL_HOLDS || PyObject_GetBuffer(o, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) {
        return PyErr_Occurred() ? false : (PyErr_SetString(PyExc_RuntimeError, "too many arrays"), false);
    }
    c->views++;
    int kind = view->format ? kind_of(view->format, view->itemsize) : HOLD_BYTE;
    if (!(kind & kinds) || view->ndim != dimensions) {
        PyErr_Format(PyExc_TypeError, "%s is an array of %d dimensions and format %s, which cannot be read here", name,
                     view->ndim, view->format ? view->format : "B");
        return false;
    }
    *out = (array){.given = true,
                   .single = kind == HOLD_FLOAT,
                   .rows = view->shape[0],
                   .columns = dimensions == 2 ? view->shape[1] : 1,
                   .a = view->buf};
    return true;
}

bool hold_text(const char *name, PyObject *o, const char **out)
{
    Py_ssize_t size;
    *out = NULL;
    if (o == Py_None) return true;
    if (!PyUnicode_Check(o) && !PyBytes_Check(o)) {
        PyErr_Format(PyExc_TypeError, "%s must be text", name);
        return false;
    }
    const char *text = PyUnicode_Check(o) ? PyUnicode_AsUTF8AndSize(o, &size) : PyBytes_AsString(o);
    size = PyUnicode_Check(o) ? size : PyBytes_Size(o);
    if (text && strlen(text) != (size_t)size) {
        PyErr_Format(PyExc_ValueError, "%s holds a character 0, which no text may", name);
        return false;
    }
    *out = text;
    return text != NULL;
}

/* A list could change while the interpreter's lock is released: what is held is a tuple of its own. */
bool hold_texts(call *c, const char *name, PyObject *o, const char ***out, ptrdiff_t *count)
{
    *out = NULL;
    *count = 0;
    if (o == Py_None) return true;
    PyObject *tuple = PySequence_Tuple(o);
    if (!tuple) return false;
    c->object[c->objects++] = tuple;
    Py_ssize_t size = PyTuple_Size(tuple);
    const char **texts = calloc((size_t)size + 1, sizeof *texts);
    if (!texts) {
        PyErr_NoMemory();
        return false;
    }
    c->block[c->blocks++] = texts;
    for (Py_ssize_t i = 0; i < size; i++) {
        if (PyTuple_GetItem(tuple, i) == Py_None || !hold_text(name, PyTuple_GetItem(tuple, i), &texts[i])) {
            return PyErr_Occurred() ? false : (PyErr_Format(PyExc_TypeError, "%s must be text", name), false);
        }
    }
    *out = texts;
    *count = size;
    return true;
}

bool hold_options(call *c, PyObject *dict)
{
    PyObject *items = PyDict_Check(dict) ? PyDict_Items(dict) : NULL;
    if (!items) return PyErr_Occurred() ? false : (PyErr_SetString(PyExc_TypeError, "options must be a dict"), false);
    c->object[c->objects++] = items; /* and with it every name and value */
    for (Py_ssize_t i = 0; i < PyList_Size(items); i++) {
        PyObject *item = PyList_GetItem(items, i);
        const char *name, *value;
        if (!hold_text("an option's name", PyTuple_GetItem(item, 0), &name) ||
            !hold_text("an option's value", PyTuple_GetItem(item, 1), &value)) {
            return false;
        }
        if (!name || !value) {
            PyErr_SetString(PyExc_TypeError, "an option and its value must be text");
            return false;
        }
        int status = epiq_options_set(c->ctx, &c->options, name, value);
        if (status < 0) return call_fail(c, status);
    }
    return true;
}

bool hold_progress(call *c, PyObject *callable)
{
    if (callable == Py_None) return true;
    if (!PyCallable_Check(callable)) {
        PyErr_SetString(PyExc_TypeError, "progress must be a function");
        return false;
    }
    c->progress = callable;
    return true;
}
