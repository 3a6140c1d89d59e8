/* explore.h - epiq explore's other way. */
#ifndef CLI_EXPLORE_H
#define CLI_EXPLORE_H

#include "cli/cli.h"

int explore_loop(cli *c, const epiq_exploration *ask);

#endif
