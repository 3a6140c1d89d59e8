/* table.c - the rows that every question and fit learn from: X, y, their groups and their names. */
#include "extension.h"

static bool same_rows(const call *c, const array *x, const char *name, const array *other)
{
    if (other->given && other->rows != x->rows) {
        PyErr_Format(c->state->input, "X has %zd rows but %s has %zd; give one for each row of X", (Py_ssize_t)x->rows,
                     name, (Py_ssize_t)other->rows);
        return false;
    }
    return true;
}

bool table_hold(call *c, PyObject *x, PyObject *y, PyObject *group, PyObject *names, PyObject *target, table *out)
{
    ptrdiff_t count;
    if (!hold_array(c, "X", x, 2, HOLD_DOUBLE, &out->x) || !hold_array(c, "y", y, 1, HOLD_DOUBLE, &out->y) ||
        !hold_array(c, "group", group, 1, HOLD_INTEGER, &out->group) ||
        !hold_texts(c, "names", names, &out->feature, &count) || !hold_text("target", target, &out->target)) {
        return false;
    }
    if (!out->x.given || !out->y.given) {
        PyErr_SetString(PyExc_TypeError, "X and y must be arrays");
        return false;
    }
    if (out->feature && count != out->x.columns) {
        PyErr_Format(c->state->input, "X has %zd columns but there are %zd names; give one for each column",
                     (Py_ssize_t)out->x.columns, (Py_ssize_t)count);
        return false;
    }
    if (out->group.given) {
        c->options.group = "group"; /* so that reports tell how many there are */
    }
    return same_rows(c, &out->x, "y", &out->y) && same_rows(c, &out->x, "group", &out->group);
}

int table_data(call *c, const table *t, epiq_data **out)
{
    int status = epiq_data_new(c->ctx, t->x.rows, t->x.columns, t->x.a, t->y.a, t->group.given ? t->group.a : NULL,
                               &c->options, out);
    return status < 0 ? status : epiq_data_rename(c->ctx, *out, t->feature, t->target);
}
