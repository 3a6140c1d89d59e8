/* explore.h - what epiq explore's two ways share: its outputs and its numbers. */
#ifndef CLI_EXPLORE_H
#define CLI_EXPLORE_H

#include "cli/cli.h"

enum { EXPLORE_JSON, EXPLORE_CSV, EXPLORE_HTML, EXPLORE_OUTPUTS };
int explore_open(const cli *c, output *outputs); /* those that were asked for */
int explore_commit(output *outputs, bool *text); /* whole or not at all; text: standard output is free */
int explore_real(const cli *c, const char *name, double lo, double hi, double *value); /* unchanged if not typed */
int explore_loop(cli *c, const epiq_exploration *ask, output *outputs);

#endif
