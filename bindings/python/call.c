/* call.c - a call of the library in a thread of its own. The thread that called waits in short steps without the interpreter's
 * lock and looks for signals between them, so that Ctrl-C stops the work within moments and other threads run meanwhile; it
 * also tells a function of Python how far the work is. The thread of the work has a C locale of its own: JSON needs points in
 * its numbers, whatever the program has set.
 *
 * A daemon thread may still be in a call when Python ends. Then exit() would tear down BLAS under the work, so that Python's
 * atexit stops all work first and waits until it has ended.
 */
#include "extension.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STEP_MS = 50 };      /* between two looks for signals: short for a person, long for the interpreter */
enum { EXIT_STEP_MS = 5 };  /* between two looks for work that still runs when Python ends */
enum { EXIT_STEPS = 4000 }; /* 20 s: a request to stop takes one block of BLAS, a second or so */

/* On the heap: a daemon thread that ends with the interpreter leaves its stack while work may still run. */
void *call_new(PyObject *module, size_t size, int (*work)(call *self))
{
    call *c = calloc(1, size);
    if (!c || epiq_ctx_new(&c->ctx) < 0) {
        free(c);
        return PyErr_NoMemory();
    }
    epiq_ctx_on_device(c->ctx, device_open, NULL);
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&c->news, &steady);
    pthread_condattr_destroy(&steady);
    pthread_mutex_init(&c->lock, NULL);
    c->state = PyModule_GetState(module);
    c->work = work;
    c->options = epiq_options_default();
    return c;
}

void call_free(call *c)
{
    for (int i = 0; i < c->views; i++) {
        PyBuffer_Release(&c->view[i]);
    }
    for (int i = 0; i < c->objects; i++) {
        Py_DECREF(c->object[i]);
    }
    for (int i = 0; i < c->blocks; i++) {
        free(c->block[i]);
    }
    epiq_ctx_free(c->ctx);
    pthread_cond_destroy(&c->news);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

bool call_fail(const call *c, int status)
{
    const char *sentence = *epiq_message(c->ctx) ? epiq_message(c->ctx) : epiq_status_text(status);
    PyObject *kind = status == EPIQ_E_USAGE || status == EPIQ_E_DATA ? c->state->input
                     : status == EPIQ_E_FILE                         ? c->state->file
                     : status == EPIQ_E_NUMERIC                      ? c->state->numeric
                     : status == EPIQ_E_NOMEM                        ? c->state->memory
                                                                     : c->state->error;
    PyObject *text = PyUnicode_DecodeUTF8(sentence, (Py_ssize_t)strlen(sentence), "replace");
    if (text) {
        PyErr_SetObject(kind, text);
        Py_DECREF(text);
    }
    return false;
}

static void *work_in_c_locale(void *self)
{
    call *c = self;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain) uselocale(plain);
    int status = c->work(c);
    uselocale(LC_GLOBAL_LOCALE);
    if (plain) freelocale(plain);
    pthread_mutex_lock(&c->lock);
    c->status = status;
    c->ended = true;
    pthread_cond_signal(&c->news);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Signals are for the threads of Python: system calls of the work are not interrupted. */
static int start(call *c, pthread_t *thread)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(thread, NULL, work_in_c_locale, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

/* True when work has ended, false after a step. */
static bool wait_a_step(call *c)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += STEP_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&c->lock);
    while (!c->ended && pthread_cond_timedwait(&c->news, &c->lock, &until) != ETIMEDOUT) {
    }
    bool ended = c->ended;
    pthread_mutex_unlock(&c->lock);
    return ended;
}

static void leave(call *c)
{
    call **at = &c->state->running;
    while (*at != c) {
        at = &(*at)->next;
    }
    *at = c->next;
}

/* ---- progress ---- */

/* In a thread of the library, which must not wait for the interpreter: the thread that called tells it in its next step. */
static int note_progress(void *user, const epiq_progress *p)
{
    call *c = user;
    pthread_mutex_lock(&c->lock);
    const bool same = c->heard_count && strcmp(c->heard[c->heard_count - 1].stage, p->stage) == 0;
    if (!same && c->heard_count < CALL_STAGES) c->heard_count++;
    const int last = c->heard_count - 1;
    snprintf(c->heard[last].stage, sizeof c->heard[last].stage, "%s", p->stage);
    c->heard[last].done = p->done;
    c->heard[last].all = p->all;
    pthread_mutex_unlock(&c->lock);
    return 0;
}

/* What was heard, as a list of arguments; NULL: an exception. */
static PyObject *heard_list(call *c)
{
    PyObject *list = PyList_New(0);
    pthread_mutex_lock(&c->lock);
    for (int k = 0; list && k < c->heard_count; k++) {
        const Py_ssize_t done = c->heard[k].done, all = c->heard[k].all;
        PyObject *args = all > 0 ? Py_BuildValue("(snn)", c->heard[k].stage, done, all)
                                 : Py_BuildValue("(snO)", c->heard[k].stage, done, Py_None);
        if (!args || PyList_Append(list, args)) Py_CLEAR(list);
        Py_XDECREF(args);
    }
    c->heard_count = 0;
    pthread_mutex_unlock(&c->lock);
    return list;
}

/* False: the function raised an exception. */
static bool tell_progress(call *c)
{
    PyObject *list = c->progress ? heard_list(c) : NULL;
    if (!list) return !c->progress;
    bool told = true;
    for (Py_ssize_t k = 0; told && k < PyList_Size(list); k++) {
        PyObject *done = PyObject_CallObject(c->progress, PyList_GetItem(list, k));
        told = done != NULL;
        Py_XDECREF(done);
    }
    Py_DECREF(list);
    return told;
}

bool call_run(call *c)
{
    pthread_t thread;
    if (c->state->ending && !pthread_equal(c->state->ending_in, pthread_self())) {
        PyErr_SetString(c->state->error, "Python is ending; no work is begun in its other threads");
        return false;
    }
    if (c->progress) epiq_ctx_on_progress(c->ctx, note_progress, c);
    if (start(c, &thread)) {
        PyErr_SetString(c->state->memory, "no thread could be started for the work; end some, or allow more of them");
        return false;
    }
    c->process = getpid();
    c->next = c->state->running;
    c->state->running = c;
    bool interrupted = false;
    PyThreadState *python = PyEval_SaveThread();
    while (!wait_a_step(c)) {
        if (!interrupted) {
            PyEval_RestoreThread(python);
            interrupted = PyErr_CheckSignals() != 0 || !tell_progress(c);
            python = PyEval_SaveThread();
        }
        if (interrupted) {
            epiq_ctx_stop(c->ctx); /* at every step: a request ends with the call of the library that it met */
        }
    }
    pthread_join(thread, NULL);
    PyEval_RestoreThread(python);
    leave(c);
    epiq_ctx_on_progress(c->ctx, NULL, NULL);
    if (interrupted) return false;
    return c->status >= 0 ? tell_progress(c) : call_fail(c, c->status);
}

/* ---- when Python ends ---- */

/* Asks what still works to stop, at every step as above. False: nothing does. */
static bool stop_all(const module_state *s)
{
    bool any = false;
    for (call *c = s->running; c; c = c->next) {
        if (c->process != getpid()) {
            continue; /* its lock may have been held when the process was forked, and the thread that would release it is gone */
        }
        pthread_mutex_lock(&c->lock);
        if (!c->ended) {
            epiq_ctx_stop(c->ctx);
            any = true;
        }
        pthread_mutex_unlock(&c->lock);
    }
    return any;
}

static PyObject *end_all(PyObject *module, PyObject *none)
{
    (void)none;
    module_state *s = PyModule_GetState(module);
    s->ending = true;
    s->ending_in = pthread_self();
    for (int step = 0; step < EXIT_STEPS && stop_all(s); step++) {
        Py_BEGIN_ALLOW_THREADS /* a call that has ended may now be freed: the list is read anew */
            nanosleep(&(struct timespec){.tv_nsec = EXIT_STEP_MS * 1000000L}, NULL);
        Py_END_ALLOW_THREADS if (PyErr_CheckSignals())
        {
            return NULL; /* Ctrl-C: no more waiting */
        }
    }
    return Py_NewRef(Py_None);
}

bool call_end_all_at_exit(PyObject *module)
{
    static PyMethodDef END_ALL = {"end_all", end_all, METH_NOARGS, NULL};
    PyObject *atexit = PyImport_ImportModule("atexit");
    PyObject *function = atexit ? PyCFunction_New(&END_ALL, module) : NULL;
    PyObject *done = function ? PyObject_CallMethod(atexit, "register", "O", function) : NULL;
    Py_XDECREF(done);
    Py_XDECREF(function);
    Py_XDECREF(atexit);
    return done != NULL;
}
