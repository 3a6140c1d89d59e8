/* machine.h - what the operating system knows: a clock, the memory of the machine, the memory this process has used. */
#ifndef EPIQP_MACHINE_H
#define EPIQP_MACHINE_H

double epiqp_now(void);         /* seconds on a clock that never goes back */
double epiqp_worked(void);      /* seconds that a processor has worked for this thread */
double epiqp_memory(void);      /* bytes of physical memory */
long long epiqp_peak_rss(void); /* bytes: the most that were resident at any time */

#endif
