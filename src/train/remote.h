/* remote.h - networks that are trained side by side on a device (epiq_device.h). Each has a place there, with the vectors
 * of its training, and a thread here, which follows the rules of flow.c and finish.c as on the processor: what it would
 * compute with long vectors is put on the list of its place, and done when it needs a number from there. The lists of all
 * threads of a group are then run together, when each has come to such a point. Groups do not wait for each other: while
 * one is busy here, another is there.
 */
#ifndef EPIQP_REMOTE_H
#define EPIQP_REMOTE_H

#include "net/net.h"

typedef struct epiqp_remote epiqp_remote; /* one place */
typedef struct epiqp_many epiqp_many;     /* all of them */

double epiqp_remote_bytes(ptrdiff_t params); /* of one place, on the device, for networks of so many weights */
/* groups: at most as many as places */
int epiqp_many_new(const epiqp_env *e, ptrdiff_t places, ptrdiff_t groups, double bytes, epiqp_many **out);
void epiqp_many_free(epiqp_many *m);
epiqp_remote *epiqp_many_place(epiqp_many *m, ptrdiff_t k);
/* So many threads, each with the place of its number, will take part until they leave. Before the first of them begins. */
void epiqp_many_begin(epiqp_many *m, ptrdiff_t threads);
void epiqp_many_leave(epiqp_remote *r);
int epiqp_many_failed(const epiqp_many *m); /* the status of the device's failure, after which nothing is done there */

/* ---- for one network at a time ---- */

void epiqp_remote_begin(epiqp_remote *r, const epiqp_net *net);
double *epiqp_remote_memory(const epiqp_remote *r); /* of its place, the vectors' memory: never read or written here */
int epiqp_remote_status(const epiqp_remote *r);
bool epiqp_remote_split(const epiqp_remote *r); /* as the device's table says */
/* A copy there of numbers that do not change while networks are trained. NULL: it failed. */
const double *epiqp_remote_array(epiqp_remote *r, ptrdiff_t count, const double *from);
/* Likewise of numbers of this network alone, which may change when the list has been run; a place has one such array. */
const double *epiqp_remote_own(epiqp_remote *r, ptrdiff_t count, const double *from);
/* Adds to the list; terms are copied. */
void epiqp_remote_add(epiqp_remote *r, epiq_device_do step);
/* Does what is on the list. On failure numbers that were to be computed are NAN. */
int epiqp_remote_run(epiqp_remote *r);

void epiqp_remote_combine(epiqp_remote *r, void *to, bool single, ptrdiff_t count, const epiq_device_term *terms);
double epiqp_remote_product(epiqp_remote *r, const double *x, const double *y); /* at once */
/* own (n) = the outputs at n rows of the network with the weights theta, or NULL: with those at the beginning of the
 * place's memory, where training leaves them; at once. theta takes the memory of the start. */
int epiqp_remote_forward(epiqp_remote *r, const double *theta, ptrdiff_t n, const double *x, double *own);

#endif
