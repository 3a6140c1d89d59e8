/* extension.h - epiq._epiq, the C half of the Python package: what its pieces share. It sees epiq.h and the writers alone.
 *
 * Every function of the module goes the same way:
 *
 *     decomposition *d = call_new(module, sizeof *d, work);   a context, and nothing held yet
 *     hold_array(&d->call, "X", X, 2, HOLD_DOUBLE, &x) ...    arguments are checked and held until call_free
 *     call_run(&d->call)                                      work(), in a thread of its own and without the interpreter
 *     ... what came of it as Python objects ...
 *     call_free(&d->call)
 *
 * so nothing is let go while the library reads it, other Python threads run meanwhile, and Ctrl-C is heard. What returns bool
 * has set a Python exception when it is false.
 */
#ifndef EXTENSION_H
#define EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "common/machine.h"
#include "epiq_combine.h"
#include "epiq_decide.h"
#include "epiq_details.h"
#include "epiq_device.h"
#include "epiq_model.h"
#include "epiq_options.h"
#include "report/report.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

/* ---- module.c ---- */

/* One a module object: there is no static one, so that every interpreter has its own. */
typedef struct call call;
typedef struct {
    PyObject *error, *input, *file, *numeric, *memory; /* epiq.Error and those derived from it */
    PyTypeObject *model, *result;
    call *running;       /* the interpreter's lock guards both */
    bool ending;         /* Python is; from then on only */
    pthread_t ending_in; /* may call the library */
} module_state;

/* ---- device.c ---- */

const epiq_device *device_open(void *user, char *why, size_t room); /* for epiq_ctx_on_device */

/* ---- call.c: one call of the library ---- */

enum { CALL_HOLDS = 24, CALL_STAGES = 16 };
struct call {
    module_state *state;
    call *next;              /* among those running */
    pid_t process;           /* a fork copies the list, but not the threads */
    int (*work)(call *self); /* a status of the library */
    epiq_ctx *ctx;
    epiq_options options;
    Py_buffer view[CALL_HOLDS]; /* held */
    PyObject *object[CALL_HOLDS];
    void *block[CALL_HOLDS]; /* from malloc */
    int views, objects, blocks;
    pthread_mutex_t lock;
    pthread_cond_t news;
    bool ended;
    int status;         /* of work */
    PyObject *progress; /* to be told how far the work is; NULL: nothing */
    struct {
        char stage[32];
        ptrdiff_t done, all;
    } heard[CALL_STAGES]; /* not told yet: the last of each stage; the lock guards them */
    int heard_count;
};

void *call_new(PyObject *module, size_t size, int (*work)(call *self)); /* size: of a struct that begins with a call */
bool call_run(call *c);
bool call_end_all_at_exit(PyObject *module); /* asks Python to stop what still runs when it ends */
bool call_fail(const call *c, int status);   /* the library's sentence as an exception; false */
void call_free(call *c);

/* ---- hold.c: arguments as the library wants them ---- */

enum { HOLD_DOUBLE = 1, HOLD_FLOAT = 2, HOLD_INTEGER = 4, HOLD_BYTE = 8 }; /* or-ed together */
typedef struct {
    bool given;              /* it was not None */
    bool single;             /* of float, not double */
    ptrdiff_t rows, columns; /* columns is 1 where there is one dimension */
    const void *a;
} array;
bool hold_array(call *c, const char *name, PyObject *o, int dimensions, int kinds, array *out);
bool hold_text(const char *name, PyObject *o,
               const char **out); /* str, or bytes for paths; NULL for None; as long as o */
bool hold_texts(call *c, const char *name, PyObject *o, const char ***out, ptrdiff_t *count); /* likewise, a sequence */
bool hold_options(call *c, PyObject *dict);                                                   /* into c->options */
bool hold_progress(call *c, PyObject *callable);                                              /* or None */

/* ---- table.c: the rows that every question and fit learn from ---- */

typedef struct {
    array x, y, group;
    const char **feature, *target; /* names; NULL: x1, x2, .., y */
} table;
bool table_hold(call *c, PyObject *x, PyObject *y, PyObject *group, PyObject *names, PyObject *target, table *out);
int table_data(call *c, const table *t, epiq_data **out);

/* ---- result.c: a finished result, held until Python lets it go ---- */

typedef struct {
    epiq_result *result;         /* NULL with a comparison; a ranking has its own */
    epiq_plan *plan;             /* NULL, as those below, where another verb was asked for */
    epiq_plan_request effort;    /* that it answers */
    epiq_comparison *comparison; /* of models */
    epiq_ranking *ranking;
    epiq_points *candidates; /* that it ranks, */
    epiq_data *data;         /* and what they belong to */
    ptrdiff_t top;           /* candidates that its text lists */
    epiq_scores *scores;
    epiq_model_info model; /* that they are of; it is held */
    report_run run;
    combine_request given; /* where run.given is set */
    void *names;           /* block: those of run.data */
} finding;
int finding_done(finding *f, double began,
                 const epiq_data *data); /* fills in the rest of run; NULL: there is no table */
void finding_free(epiq_ctx *ctx, finding *f);
PyObject *result_new(call *c, finding *f, PyObject *command); /* takes over the result, the context and what is held */

/* ---- functions and types of the module ---- */

PyObject *decompose_call(PyObject *module, PyObject *args, PyObject *named);
PyObject *plan_call(PyObject *module, PyObject *args, PyObject *named);
PyObject *compare_call(PyObject *module, PyObject *args, PyObject *named);
PyObject *explore_call(PyObject *module, PyObject *args, PyObject *named);
PyObject *combine_call(PyObject *module, PyObject *args, PyObject *named);
PyObject *targets_call(PyObject *module, PyObject *args, PyObject *named);
PyObject *start_call(PyObject *module, PyObject *args, PyObject *named);
PyObject *fit_call(PyObject *module, PyObject *args, PyObject *named);
PyObject *load_call(PyObject *module, PyObject *args, PyObject *named);
PyObject *read_call(PyObject *module, PyObject *path);
PyObject *number_call(PyObject *module, PyObject *text);
PyObject *truth_call(PyObject *module, PyObject *text);
PyObject *rounded_sd_call(PyObject *module, PyObject *sd);
PyObject *rounded_beside_call(PyObject *module, PyObject *args);
PyObject *rounded_end_call(PyObject *module, PyObject *args);
extern PyType_Spec MODEL_SPEC, RESULT_SPEC;

#endif
