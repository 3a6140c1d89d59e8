/* module.c - epiq._epiq: its functions, its exceptions, and the option table. */
#include "extension.h"

#include "common/verb_defaults.h"

static PyObject *options_call(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    PyObject *list = PyList_New(0);
    const epiq_option_info *o;
    for (ptrdiff_t i = 0; list && (o = epiq_options_info(i)); i++) {
        PyObject *row =
            Py_BuildValue("(sssssI)", o->name, o->section, o->help, o->choices, o->default_text, epiq_options_scope(i));
        if (!row || PyList_Append(list, row)) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

#define NAMED(f) (PyCFunction)(void (*)(void))(f), METH_VARARGS | METH_KEYWORDS
static PyMethodDef FUNCTIONS[] = {
    {"decompose", NAMED(decompose_call),
     "decompose(X, y, at, where, group, names, target, options, command, progress, ask=None, labels=None)\n--\n\n"
     "The Result of epiq estimate."},
    {"plan", NAMED(plan_call),
     "plan(X, y, at, where, group, names, target, options, command, progress, ask, labels=None)\n--\n\n"
     "The Result of epiq plan; ask: price_row, price_training, kind (0: a variance to reach, 1: a budget), amount."},
    {"compare", NAMED(compare_call),
     "compare(X, y, at, where, group, names, target, options, command, progress, ask, labels=None)\n--\n\n"
     "The Result of epiq compare; ask: lists of texts for width, depth, lambda and bias, then folds."},
    {"explore", NAMED(explore_call),
     "explore(X, y, at, where, group, names, target, options, command, progress, ask, labels=None)\n--\n\n"
     "The Result of epiq explore; ask: rule, goal (0: max, 1: min), kappa, batch, top."},
    {"combine", NAMED(combine_call),
     "combine(arrays, columns, merge, until, options, command, replicates, progress)\n--\n\n"
     "The Result of epiq combine; arrays and names of their columns by argument."},
    {"targets", NAMED(targets_call),
     "targets(arrays, replicates, options)\n--\n\nThe vectors of epiq combine --targets, one after the other: a "
     "bytearray of "
     "float64."},
    {"network_start", NAMED(start_call),
     "network_start(features, member, options)\n--\n\nW and b of each layer, one after the other: a bytearray of "
     "float64."},
    {"fit", NAMED(fit_call), "fit(X, y, group, names, target, options, progress=None)\n--\n\nA Model."},
    {"model_from_bytes", NAMED(load_call), "model_from_bytes(bytes)\n--\n\nThe Model whose to_bytes gave them."},
    {"model_from_file", read_call, METH_O,
     "model_from_file(path)\n--\n\nThe Model in a file of epiq fit, which is mapped: it may be replaced, but not "
     "changed in place."},
    {"options", options_call, METH_NOARGS,
     "options()\n--\n\nThe option table: (name, section, help, choices or None, default, scope) each."},
    {"number", number_call, METH_O,
     "number(text)\n--\n\nThe number that a cell of text stands for, or NaN, and what it is written with: \"$\", "
     "\"%\", \"dates\" or \"\"."},
    {"truth", truth_call, METH_O, "truth(text)\n--\n\n1: true or yes, 0: false or no, -1: neither."},
    {"rounded_sd", rounded_sd_call, METH_O, "rounded_sd(sd)\n--\n\nTwo digits."},
    {"rounded_beside", rounded_beside_call, METH_VARARGS,
     "rounded_beside(value, sd)\n--\n\nThe digits that matter beside a standard deviation; NaN or 0: six."},
    {"rounded_end", rounded_end_call, METH_VARARGS,
     "rounded_end(value, sd)\n--\n\nThe same of the end of an interval."},
    {0},
};

/* epiq.NAME, and under the same name in the module. A new reference, kept by the state. */
static PyObject *add_exception(PyObject *module, const char *name, const char *about, PyObject *first, PyObject *second)
{
    PyObject *bases = first ? PyTuple_Pack(2, first, second) : NULL;
    PyObject *kind = first && !bases ? NULL : PyErr_NewExceptionWithDoc(name, about, bases, NULL);
    Py_XDECREF(bases);
    if (kind && PyModule_AddObjectRef(module, name + sizeof "epiq." - 1, kind)) Py_CLEAR(kind);
    return kind;
}

/* What verbs take where nothing is given: dicts of texts by the name of the flag. */
static bool add_defaults(PyObject *module)
{
    PyObject *verbs = Py_BuildValue("{s{ssssssssssss}}", "compare", "width", COMPARE_WIDTH, "depth", COMPARE_DEPTH,
                                    "lambda", COMPARE_LAMBDA, "bias", COMPARE_BIAS, "members", COMPARE_MEMBERS,
                                    "ensemble-size", COMPARE_ENSEMBLE_SIZE);
    const bool added = verbs && PyModule_AddObjectRef(module, "DEFAULTS", verbs) == 0;
    Py_XDECREF(verbs);
    return added;
}

static int start(PyObject *module)
{
    module_state *s = PyModule_GetState(module);
    s->error = add_exception(module, "epiq.Error", "Whatever epiq refuses or cannot do; the text says what and why.",
                             NULL, NULL);
    if (!s->error) return -1;
    s->input = add_exception(module, "epiq.InputError", "An option or an array that does not allow what was asked.",
                             s->error, PyExc_ValueError);
    s->file =
        add_exception(module, "epiq.FileError", "A file that could not be read or written.", s->error, PyExc_OSError);
    s->numeric = add_exception(module, "epiq.NumericalError", "A computation that failed numerically.", s->error,
                               PyExc_ArithmeticError);
    s->memory = add_exception(module, "epiq.OutOfMemory", "Not enough memory.", s->error, PyExc_MemoryError);
    if (!s->input || !s->file || !s->numeric || !s->memory) return -1;
    s->model = (PyTypeObject *)PyType_FromModuleAndSpec(module, &MODEL_SPEC, NULL);
    s->result = (PyTypeObject *)PyType_FromModuleAndSpec(module, &RESULT_SPEC, NULL);
    if (!s->model || !s->result || PyModule_AddType(module, s->model) || PyModule_AddType(module, s->result)) return -1;
    if (!call_end_all_at_exit(module) || !add_defaults(module)) return -1;
    if (PyModule_AddIntConstant(module, "OPTION_COLUMNS", EPIQ_OPTION_COLUMNS) ||
        PyModule_AddIntConstant(module, "OPTION_FILE", EPIQ_OPTION_FILE) ||
        PyModule_AddIntConstant(module, "FOR_ESTIMATE", EPIQ_FOR_ESTIMATE) ||
        PyModule_AddIntConstant(module, "FOR_PLAN", EPIQ_FOR_PLAN) ||
        PyModule_AddIntConstant(module, "FOR_COMPARE", EPIQ_FOR_COMPARE) ||
        PyModule_AddIntConstant(module, "FOR_EXPLORE", EPIQ_FOR_EXPLORE) ||
        PyModule_AddIntConstant(module, "FOR_COMBINE", EPIQ_FOR_COMBINE) ||
        PyModule_AddIntConstant(module, "MOST_CATEGORIES", EPIQ_MOST_CATEGORIES) ||
        PyModule_AddIntConstant(module, "ROWS_PER_CATEGORY", EPIQ_ROWS_PER_CATEGORY)) {
        return -1;
    }
    return PyModule_AddStringConstant(module, "version", epiq_version());
}

static int visit_state(PyObject *module, visitproc visit, void *arg)
{
    module_state *s = PyModule_GetState(module);
    Py_VISIT(s->error);
    Py_VISIT(s->input);
    Py_VISIT(s->file);
    Py_VISIT(s->numeric);
    Py_VISIT(s->memory);
    Py_VISIT(s->model);
    Py_VISIT(s->result);
    return 0;
}

static int clear_state(PyObject *module)
{
    module_state *s = PyModule_GetState(module);
    Py_CLEAR(s->error);
    Py_CLEAR(s->input);
    Py_CLEAR(s->file);
    Py_CLEAR(s->numeric);
    Py_CLEAR(s->memory);
    Py_CLEAR(s->model);
    Py_CLEAR(s->result);
    return 0;
}

static void free_state(void *module)
{
    clear_state(module);
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, (void *)start}, {0}};

static PyModuleDef MODULE = {.m_base = PyModuleDef_HEAD_INIT,
                             .m_name = "_epiq",
                             .m_doc = "The C half of epiq: arrays in, answers out. Use the package instead.",
                             .m_size = sizeof(module_state),
                             .m_methods = FUNCTIONS,
                             .m_slots = SLOTS,
                             .m_traverse = visit_state,
                             .m_clear = clear_state,
                             .m_free = free_state};

PyMODINIT_FUNC PyInit__epiq(void); /* called by Python alone */
PyMODINIT_FUNC PyInit__epiq(void)
{
    return PyModuleDef_Init(&MODULE);
}
