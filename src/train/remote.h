/* remote.h - training of several networks at once on a device (epiq_device.h). Each network has a place in the device's
 * memory, for the vectors of its training, and a host thread, which runs flow.c and finish.c as on the processor.
 * Operations on long vectors are added to the list of the place, which is run when the thread needs a number from the
 * device. The lists of a group of threads are run together, once every thread of the group has come to such a point.
 * Groups are independent: while one computes on the host, another uses the device.
 */
#ifndef EPIQP_REMOTE_H
#define EPIQP_REMOTE_H

#include "net/net.h"

typedef struct epiqp_remote epiqp_remote; /* one place */
typedef struct epiqp_many epiqp_many;     /* all of them */

double epiqp_remote_bytes(ptrdiff_t params); /* of one place on the device, in networks of so many weights */
/* groups: at most as many as places */
int epiqp_many_new(const epiqp_env *e, ptrdiff_t places, ptrdiff_t groups, double bytes, epiqp_many **out);
void epiqp_many_free(epiqp_many *m);
epiqp_remote *epiqp_many_place(epiqp_many *m, ptrdiff_t k);
/* Call before the threads start: so many, thread k with place k, take part until each calls epiqp_many_leave. */
void epiqp_many_begin(epiqp_many *m, ptrdiff_t threads);
void epiqp_many_leave(epiqp_remote *r);
int epiqp_many_failed(const epiqp_many *m); /* the status of the device's failure, after which it is not used */

/* ---- for one network at a time ---- */

void epiqp_remote_begin(epiqp_remote *r, const epiqp_net *net);
double *epiqp_remote_memory(const epiqp_remote *r); /* of its place, on the device: not to be dereferenced */
int epiqp_remote_status(const epiqp_remote *r);
bool epiqp_remote_split(const epiqp_remote *r); /* `split` of the device's table */
/* A copy on the device of numbers that are constant while networks are trained. NULL: it failed. */
const double *epiqp_remote_array(epiqp_remote *r, ptrdiff_t count, const double *from);
/* Likewise of numbers of this network alone, which may change once the list has been run; one such array per place. */
const double *epiqp_remote_own(epiqp_remote *r, ptrdiff_t count, const double *from);
/* Adds to the list; terms are copied. */
void epiqp_remote_add(epiqp_remote *r, epiq_device_do step);
/* Runs the list. On failure the numbers that it was to compute are NAN. */
int epiqp_remote_run(epiqp_remote *r);

void epiqp_remote_combine(epiqp_remote *r, void *to, bool single, ptrdiff_t count, const epiq_device_term *terms);
double epiqp_remote_product(epiqp_remote *r, const double *x, const double *y); /* runs the list */
/* own (n) = the outputs at n rows of the network with the weights theta, which overwrite theta0 on the device; theta
 * NULL: with the weights at the beginning of the place's memory, where training leaves them. Runs the list. */
int epiqp_remote_forward(epiqp_remote *r, const double *theta, ptrdiff_t n, const double *x, double *own);

#endif
