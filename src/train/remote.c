/* remote.c - see remote.h. The last thread of a group to need numbers from the device runs the lists of the whole
 * group. A network's numbers do not depend on which others are run with it. */
#include "train/remote.h"

#include "train/flow.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { LONGEST_LIST = 4096 }; /* a list of this length is run even if no number is needed */

/* Places whose lists are run together, concurrently with other groups. */
typedef struct {
    pthread_mutex_t lock;
    ptrdiff_t first, places, live, posted;
} group;

struct epiqp_remote {
    epiqp_many *many;
    group *group;
    const epiqp_net *net;
    double *memory;
    double *own; /* the array of epiqp_remote_own, with room for own_room numbers */
    ptrdiff_t own_room;
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
    pthread_mutex_t lock; /* of the copies */
    ptrdiff_t places, group_count;
    atomic_int failed;
    void *memory;
    group *groups;
    epiqp_remote *remotes;
    epiq_device_program *programs;
    copy *copies;
    ptrdiff_t copy_count, copy_room;
};

/* The vectors of epiqp_there_begin: theta, theta0, grad, y, before, old, change and the images in doubles, leading
 * directions and probe in floats. */
double epiqp_remote_bytes(ptrdiff_t params)
{
    const double leads = epiqp_leading_most(params, true), images = fmax(leads, EPIQP_MOST_PAIRS);
    return (double)params * ((double)sizeof(double) * (7 + images) + (double)sizeof(float) * (leads + 1.0)) + 4096;
}

int epiqp_many_new(const epiqp_env *e, ptrdiff_t places, ptrdiff_t groups, double bytes, epiqp_many **out)
{
    const epiq_device *d = e->device->table;
    const double each = ceil(bytes / 256) * 256;
    epiqp_many *m = epiqp_alloc(e->c, 1, sizeof *m);
    *out = NULL;
    if (!m) return EPIQ_E_NOMEM;
    *m = (epiqp_many){.c = e->c, .device = d};
    pthread_mutex_init(&m->lock, NULL);
    m->remotes = epiqp_alloc(e->c, places, sizeof *m->remotes);
    m->programs = epiqp_alloc(e->c, places, sizeof *m->programs);
    m->groups = epiqp_alloc(e->c, groups, sizeof *m->groups);
    int status = m->remotes && m->programs && m->groups ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t g = 0; !status && g < groups; g++) {
        const ptrdiff_t first = g * places / groups, next = (g + 1) * places / groups;
        m->groups[g] = (group){.first = first, .places = next - first};
        pthread_mutex_init(&m->groups[g].lock, NULL);
        m->group_count++;
        for (; m->places < next; m->places++) {
            m->remotes[m->places] = (epiqp_remote){.many = m, .group = &m->groups[g]};
            pthread_cond_init(&m->remotes[m->places].done, NULL);
        }
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
    for (ptrdiff_t k = 0; m->remotes && k < m->places; k++) {
        m->device->memory_free(m->device->user, m->remotes[k].own);
        pthread_cond_destroy(&m->remotes[k].done);
        epiqp_free(m->c, m->remotes[k].list);
        epiqp_free(m->c, m->remotes[k].terms);
    }
    m->device->memory_free(m->device->user, m->memory);
    for (ptrdiff_t g = 0; g < m->group_count; g++) {
        pthread_mutex_destroy(&m->groups[g].lock);
    }
    pthread_mutex_destroy(&m->lock);
    epiqp_free(m->c, m->copies);
    epiqp_free(m->c, m->remotes);
    epiqp_free(m->c, m->programs);
    epiqp_free(m->c, m->groups);
    epiqp_free(m->c, m);
}

epiqp_remote *epiqp_many_place(epiqp_many *m, ptrdiff_t k)
{
    return &m->remotes[k];
}

void epiqp_many_begin(epiqp_many *m, ptrdiff_t threads)
{
    for (ptrdiff_t g = 0; g < m->group_count; g++) {
        group *own = &m->groups[g];
        own->live = epiqp_max(0, epiqp_min(own->places, threads - own->first));
        own->posted = 0;
    }
}

int epiqp_many_failed(const epiqp_many *m)
{
    return m->failed;
}

/* ---- running lists together ---- */

/* Runs all posted lists of the group. The caller holds the group's lock; its other threads are blocked until then. */
static void run_all(epiqp_many *m, group *g)
{
    epiq_device_program *programs = m->programs + g->first;
    ptrdiff_t count = 0;
    for (ptrdiff_t k = g->first; k < g->first + g->places; k++) {
        const epiqp_remote *r = &m->remotes[k];
        if (!r->posted) continue;
        programs[count++] =
            (epiq_device_program){r->net->d, r->net->width, r->net->depth, r->net->beta, r->count, r->list};
    }
    int failed = m->failed;
    if (!failed) {
        failed = epiqp_device_failed(m->c, m->device, m->device->run(m->device->user, count, programs));
        if (failed) m->failed = failed;
    }
    g->posted = 0;
    for (ptrdiff_t k = g->first; k < g->first + g->places; k++) {
        epiqp_remote *r = &m->remotes[k];
        if (!r->posted) continue;
        r->posted = false;
        if (!r->status) r->status = failed;
        pthread_cond_signal(&r->done);
    }
}

void epiqp_many_leave(epiqp_remote *r)
{
    group *g = r->group;
    pthread_mutex_lock(&g->lock);
    g->live--;
    if (g->live > 0 && g->posted == g->live) run_all(r->many, g);
    pthread_mutex_unlock(&g->lock);
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
    group *g = r->group;
    ptrdiff_t used = 0;
    for (ptrdiff_t k = 0; k < r->count; k++) { /* the array of terms is complete and moves no more */
        epiq_device_do *step = &r->list[k];
        if (!step->terms) continue;
        step->terms = r->terms + used;
        used += step->count;
    }
    if (!r->status && r->count) {
        pthread_mutex_lock(&g->lock);
        r->posted = true;
        if (++g->posted == g->live) run_all(r->many, g);
        while (r->posted) {
            pthread_cond_wait(&r->done, &g->lock);
        }
        pthread_mutex_unlock(&g->lock);
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

bool epiqp_remote_split(const epiqp_remote *r)
{
    return r->many->device->split;
}

/* Copies numbers to newly allocated memory of the device. */
static int send(epiqp_many *m, ptrdiff_t count, const double *from, void **there)
{
    const epiq_device *d = m->device;
    int status = epiqp_device_failed(m->c, d, d->memory_new(d->user, (double)count * sizeof *from, there));
    if (status) return status;
    const epiq_device_do put = {.op = EPIQ_DEVICE_PUT, .to = *there, .count = count, .own = (double *)from};
    const epiq_device_program program = {1, 1, 1, 0, 1, &put};
    return epiqp_device_failed(m->c, d, d->run(d->user, 1, &program));
}

const double *epiqp_remote_array(epiqp_remote *r, ptrdiff_t count, const double *from)
{
    epiqp_many *m = r->many;
    const double *found = NULL;
    pthread_mutex_lock(&m->lock);
    for (ptrdiff_t k = 0; k < m->copy_count && !found; k++) {
        if (m->copies[k].from == from && m->copies[k].count == count) found = m->copies[k].there;
    }
    if (!found && !m->failed) {
        copy *more = epiqp_grown(m->c, m->copies, &m->copy_room, m->copy_count + 1, sizeof *more);
        void *there = NULL;
        if (more) m->copies = more;
        int status = more ? send(m, count, from, &there) : EPIQ_E_NOMEM;
        if (there) m->copies[m->copy_count++] = (copy){from, count, there};
        found = there;
        if (status) m->failed = status;
    }
    if (!r->status) r->status = m->failed;
    pthread_mutex_unlock(&m->lock);
    return r->status ? NULL : found;
}

const double *epiqp_remote_own(epiqp_remote *r, ptrdiff_t count, const double *from)
{
    epiqp_many *m = r->many;
    const epiq_device *d = m->device;
    if (!r->status && r->own_room < count) {
        void *there = NULL;
        d->memory_free(d->user, r->own);
        r->own = NULL;
        r->own_room = 0;
        r->status = epiqp_device_failed(m->c, d, d->memory_new(d->user, (double)count * sizeof *from, &there));
        if (r->status) {
            m->failed = r->status;
        } else {
            r->own = there;
            r->own_room = count;
        }
    }
    epiqp_remote_add(r, (epiq_device_do){.op = EPIQ_DEVICE_PUT, .to = r->own, .count = count, .own = (double *)from});
    return r->status ? NULL : r->own;
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

int epiqp_remote_forward(epiqp_remote *r, const double *theta, ptrdiff_t n, const double *x, double *own)
{
    const ptrdiff_t p = epiqp_net_params(r->net);
    const double *there = epiqp_remote_array(r, n * r->net->d, x), *at = r->memory + (theta ? p : 0);
    if (theta) {
        epiqp_remote_add(
            r, (epiq_device_do){.op = EPIQ_DEVICE_PUT, .to = r->memory + p, .count = p, .own = (double *)theta});
    }
    epiqp_remote_add(r, (epiq_device_do){.op = EPIQ_DEVICE_FORWARD, .at = at, .n = n, .x = there, .own = own});
    return epiqp_remote_run(r);
}
