/* remote.c - see remote.h. The last thread that comes to a point where it needs numbers runs the lists of all. Which
 * networks are run together has no influence on any of them. */
#include "train/remote.h"

#include "train/flow.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { LONGEST_LIST = 4096 }; /* after which it is done, whether a number is needed or not */

struct epiqp_remote {
    epiqp_many *many;
    const epiqp_net *net;
    double *memory;
    epiq_device_do *list; /* their terms are numbers of `terms` until the list is run */
    epiq_device_term *terms;
    ptrdiff_t count, room, term_count, term_room;
    bool posted;
    int status;
    pthread_cond_t done;
};

typedef struct {
    const double *from;
    ptrdiff_t count;
    double *there;
} copy;

struct epiqp_many {
    epiq_ctx *c;
    const epiq_device *device;
    pthread_mutex_t lock;
    ptrdiff_t places, live, posted;
    int failed;
    void *memory;
    epiqp_remote *remotes;
    epiq_device_program *programs;
    copy *copies;
    ptrdiff_t copy_count, copy_room;
};

/* theta, theta0, grad, y, before, old; images; leading directions and probe in floats: flow.c */
double epiqp_remote_bytes(ptrdiff_t params)
{
    const double leads = epiqp_leading_most(params), images = fmax(leads, EPIQP_PAIRS);
    return (double)params * ((double)sizeof(double) * (6 + images) + (double)sizeof(float) * (leads + 1.0)) + 4096;
}

int epiqp_many_new(const epiqp_env *e, ptrdiff_t places, double bytes, epiqp_many **out)
{
    const epiq_device *d = e->device->table;
    const double each = ceil(bytes / 256) * 256;
    epiqp_many *m = epiqp_alloc(e->c, 1, sizeof *m);
    *out = NULL;
    if (!m) return EPIQ_E_NOMEM;
    *m = (epiqp_many){.c = e->c, .device = d, .places = places};
    m->remotes = epiqp_alloc(e->c, places, sizeof *m->remotes);
    m->programs = epiqp_alloc(e->c, places, sizeof *m->programs);
    int status = m->remotes && m->programs ? EPIQ_OK : EPIQ_E_NOMEM;
    pthread_mutex_init(&m->lock, NULL);
    if (!m->remotes) m->places = 0;
    for (ptrdiff_t k = 0; k < m->places; k++) {
        m->remotes[k] = (epiqp_remote){.many = m};
        pthread_cond_init(&m->remotes[k].done, NULL);
    }
    if (!status) status = epiqp_device_failed(e->c, d, d->memory_new(d->user, each * (double)places, &m->memory));
    for (ptrdiff_t k = 0; !status && k < places; k++) {
        m->remotes[k].memory = (double *)m->memory + k * (ptrdiff_t)(each / sizeof(double));
    }
    if (status) {
        epiqp_many_free(m);
        return status;
    }
    *out = m;
    return EPIQ_OK;
}

void epiqp_many_free(epiqp_many *m)
{
    if (!m) return;
    for (ptrdiff_t k = 0; k < m->copy_count; k++) {
        m->device->memory_free(m->device->user, m->copies[k].there);
    }
    if (m->memory) m->device->memory_free(m->device->user, m->memory);
    for (ptrdiff_t k = 0; k < m->places; k++) {
        pthread_cond_destroy(&m->remotes[k].done);
        epiqp_free(m->c, m->remotes[k].list);
        epiqp_free(m->c, m->remotes[k].terms);
    }
    pthread_mutex_destroy(&m->lock);
    epiqp_free(m->c, m->copies);
    epiqp_free(m->c, m->remotes);
    epiqp_free(m->c, m->programs);
    epiqp_free(m->c, m);
}

epiqp_remote *epiqp_many_place(epiqp_many *m, ptrdiff_t k)
{
    return &m->remotes[k];
}

void epiqp_many_begin(epiqp_many *m, ptrdiff_t threads)
{
    m->live = threads;
    m->posted = 0;
}

int epiqp_many_failed(const epiqp_many *m)
{
    return m->failed;
}

/* ---- running lists together ---- */

/* Runs the lists of all places that have one. The lock is held: everyone else waits for this. */
static void run_all(epiqp_many *m)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t k = 0; k < m->places; k++) {
        const epiqp_remote *r = &m->remotes[k];
        if (!r->posted) continue;
        m->programs[count++] =
            (epiq_device_program){r->net->d, r->net->width, r->net->depth, r->net->beta, r->count, r->list};
    }
    if (!m->failed) {
        m->failed = epiqp_device_failed(m->c, m->device, m->device->run(m->device->user, count, m->programs));
    }
    m->posted = 0;
    for (ptrdiff_t k = 0; k < m->places; k++) {
        epiqp_remote *r = &m->remotes[k];
        if (!r->posted) continue;
        r->posted = false;
        if (!r->status) r->status = m->failed;
        pthread_cond_signal(&r->done);
    }
}

void epiqp_many_leave(epiqp_remote *r)
{
    epiqp_many *m = r->many;
    pthread_mutex_lock(&m->lock);
    m->live--;
    if (m->live > 0 && m->posted == m->live) run_all(m);
    pthread_mutex_unlock(&m->lock);
}

static ptrdiff_t results(const epiq_device_do *step)
{
    switch (step->op) {
    case EPIQ_DEVICE_LOSS:
        return step->own ? 4 : 0;
    case EPIQ_DEVICE_PRODUCTS:
    case EPIQ_DEVICE_FETCH:
        return step->count;
    case EPIQ_DEVICE_FORWARD:
        return step->n;
    default:
        return 0;
    }
}

int epiqp_remote_run(epiqp_remote *r)
{
    epiqp_many *m = r->many;
    ptrdiff_t used = 0;
    for (ptrdiff_t k = 0; k < r->count; k++) { /* the terms do not move any more */
        epiq_device_do *step = &r->list[k];
        if (!step->terms) continue;
        step->terms = r->terms + used;
        used += step->count;
    }
    if (!r->status && r->count) {
        pthread_mutex_lock(&m->lock);
        r->posted = true;
        if (++m->posted == m->live) run_all(m);
        while (r->posted) {
            pthread_cond_wait(&r->done, &m->lock);
        }
        pthread_mutex_unlock(&m->lock);
    }
    for (ptrdiff_t k = 0; r->status && k < r->count; k++) {
        for (ptrdiff_t i = 0; i < results(&r->list[k]); i++) {
            r->list[k].own[i] = NAN;
        }
    }
    r->count = r->term_count = 0;
    return r->status;
}

/* ---- one network ---- */

void epiqp_remote_begin(epiqp_remote *r, const epiqp_net *net)
{
    r->net = net;
    r->count = r->term_count = 0;
    r->status = r->many->failed;
}

double *epiqp_remote_memory(const epiqp_remote *r)
{
    return r->memory;
}

int epiqp_remote_status(const epiqp_remote *r)
{
    return r->status;
}

const double *epiqp_remote_array(epiqp_remote *r, ptrdiff_t count, const double *from)
{
    epiqp_many *m = r->many;
    const epiq_device *d = m->device;
    const double *found = NULL;
    pthread_mutex_lock(&m->lock);
    for (ptrdiff_t k = 0; k < m->copy_count && !found; k++) {
        if (m->copies[k].from == from && m->copies[k].count == count) found = m->copies[k].there;
    }
    if (!found && !m->failed) {
        copy *more = epiqp_grown(m->c, m->copies, &m->copy_room, m->copy_count + 1, sizeof *more);
        int status = more ? EPIQ_OK : EPIQ_E_NOMEM;
        if (more) m->copies = more;
        void *there = NULL;
        if (!status) {
            status = epiqp_device_failed(m->c, d, d->memory_new(d->user, (double)count * sizeof *from, &there));
        }
        if (!status) {
            const epiq_device_do put = {.op = EPIQ_DEVICE_PUT, .to = there, .count = count, .own = (double *)from};
            const epiq_device_program program = {1, 1, 1, 0, 1, &put};
            m->copies[m->copy_count++] = (copy){from, count, there};
            status = epiqp_device_failed(m->c, d, d->run(d->user, 1, &program));
            found = there;
        }
        if (status) r->status = m->failed = status;
    }
    pthread_mutex_unlock(&m->lock);
    return r->status ? NULL : found;
}

void epiqp_remote_add(epiqp_remote *r, epiq_device_do step)
{
    if (r->count >= LONGEST_LIST) epiqp_remote_run(r);
    epiq_ctx *c = r->many->c;
    epiq_device_do *list = epiqp_grown(c, r->list, &r->room, r->count + 1, sizeof *list);
    if (list) r->list = list;
    if (step.terms) {
        epiq_device_term *terms = epiqp_grown(c, r->terms, &r->term_room, r->term_count + step.count, sizeof *terms);
        if (terms) {
            r->terms = terms;
            memcpy(terms + r->term_count, step.terms, (size_t)step.count * sizeof *terms);
            r->term_count += step.count;
        } else {
            list = NULL;
        }
    }
    if (!list && !r->status) r->status = EPIQ_E_NOMEM;
    if (list) r->list[r->count++] = step;
}

void epiqp_remote_combine(epiqp_remote *r, void *to, bool single, ptrdiff_t count, const epiq_device_term *terms)
{
    epiqp_remote_add(
        r, (epiq_device_do){.op = EPIQ_DEVICE_COMBINE, .single = single, .to = to, .count = count, .terms = terms});
}

double epiqp_remote_product(epiqp_remote *r, const double *x, const double *y)
{
    double out = NAN;
    const epiq_device_term term = {x, 0, 1};
    epiqp_remote_add(r, (epiq_device_do){.op = EPIQ_DEVICE_PRODUCTS, .at = y, .count = 1, .terms = &term, .own = &out});
    epiqp_remote_run(r);
    return out;
}

int epiqp_remote_forward(epiqp_remote *r, ptrdiff_t n, const double *x, double *own)
{
    const double *there = epiqp_remote_array(r, n * r->net->d, x);
    epiqp_remote_add(r, (epiq_device_do){.op = EPIQ_DEVICE_FORWARD, .at = r->memory, .n = n, .x = there, .own = own});
    return epiqp_remote_run(r);
}
