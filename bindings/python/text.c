/* text.c - numbers as people write and read them: cells of frames as the command line reads those of files, and numbers rounded as
 * its texts have them.
 */
#include "extension.h"

#include "common/cell.h"
#include "common/rounded.h"

#include <locale.h>
#include <math.h>

PyObject *number_call(PyObject *module, PyObject *text)
{
    (void)module;
    Py_ssize_t length;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &length), *unit = NULL;
    if (!bytes) return NULL;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain) return PyErr_NoMemory();
    epiqp_cell cell = epiqp_cell_number(bytes, length, plain);
    if (cell.kind == EPIQP_IS_TEXT) epiqp_cell_marked(&cell, ',', plain, &unit);
    freelocale(plain);
    const bool number = cell.kind == EPIQP_IS_NUMBER;
    return Py_BuildValue("(ds)", number ? cell.value : NAN, number && unit ? unit : "");
}

PyObject *truth_call(PyObject *module, PyObject *text)
{
    (void)module;
    Py_ssize_t length;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &length);
    return bytes ? PyLong_FromLong(epiqp_truth(bytes, length)) : NULL;
}

PyObject *rounded_sd_call(PyObject *module, PyObject *sd)
{
    (void)module;
    const double v = PyFloat_AsDouble(sd);
    return PyErr_Occurred() ? NULL : PyUnicode_FromString(epiqp_rounded_sd(v).text);
}

PyObject *rounded_beside_call(PyObject *module, PyObject *args)
{
    (void)module;
    double value, sd;
    return PyArg_ParseTuple(args, "dd", &value, &sd) ? PyUnicode_FromString(epiqp_rounded_beside(value, sd).text)
                                                     : NULL;
}

PyObject *rounded_end_call(PyObject *module, PyObject *args)
{
    (void)module;
    double value, sd;
    return PyArg_ParseTuple(args, "dd", &value, &sd) ? PyUnicode_FromString(epiqp_rounded_end(value, sd).text) : NULL;
}
