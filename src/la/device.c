/* device.c - the device of a run (epiq_device.h): opened once for a context, when it is first worth while or asked for. */
#include "la/la.h"

#include <stdio.h>
#include <string.h>

const epiq_device *epiq_ctx_device(epiq_ctx *c, const char **why)
{
    if (!c->device_opened) {
        c->no_device[0] = '\0';
        c->device.table = c->open_device ? c->open_device(c->device_user, c->no_device, sizeof c->no_device) : NULL;
        const epiq_device *d = c->device.table;
        if (d && d->size != sizeof *d) {
            c->device.table = NULL;
            snprintf(c->no_device, sizeof c->no_device,
                     "libepiq_cuda.so is of another version than this epiq; build it again with make cuda");
        }
    }
    c->device_opened = true;
    *why = c->no_device;
    return c->device.table;
}

/* Why there is none; "": nobody could expect one. */
static const char *try_to_open(epiq_ctx *c, const epiq_options *o)
{
    if (c->cluster) return "several processes share no GPU";
    if (o->backend == EPIQ_BACKEND_REF) return "{--backend} ref is plain C";
    const char *why;
    epiq_ctx_device(c, &why);
    return why;
}

int epiqp_run_device(epiqp_env *e, const epiq_options *o, bool worth, epiqp_warnings *w)
{
    epiq_ctx *c = e->c;
    const bool only = o->device == EPIQ_DEVICE_GPU;
    e->device = NULL;
    if (o->device == EPIQ_DEVICE_CPU || (!only && (!worth || c->cluster || o->backend == EPIQ_BACKEND_REF))) {
        return EPIQ_OK;
    }
    const char *why = try_to_open(c, o);
    if (c->device.table && !*why) {
        c->device.bytes = c->device.table->bytes_free(c->device.table->user);
        c->device.only = only;
        e->device = &c->device;
        return EPIQ_OK;
    }
    if (only) {
        return epiqp_fail(c, EPIQ_E_USAGE, "{--device} gpu: %s; use {--device} auto or cpu",
                          *why ? why : "this epiq was built or installed without the part for GPUs");
    }
    return *why && !epiqp_warned(w, EPIQ_W_DEVICE)
               ? epiqp_warn(c, w, EPIQ_W_DEVICE, "the GPU is not used, and all is computed without it: %s", why)
               : EPIQ_OK;
}

int epiqp_device_failed(epiq_ctx *c, const epiq_device *d, int status)
{
    return status ? epiqp_fail(c, status, "the GPU (%s): %s; use {--device} cpu", d->model, d->message(d->user))
                  : EPIQ_OK;
}
