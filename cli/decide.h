/* decide.h - what plan and compare share: outputs are opened, a table is loaded, something is found out, it is written. */
#ifndef CLI_DECIDE_H
#define CLI_DECIDE_H

#include "cli/cli.h"

typedef struct decision decision;
struct decision {
    int (*find)(decision *d, cli *c, const epiq_data *data,
                const epiq_points *at); /* returns a status of the library */
    void (*json)(const decision *d, FILE *out, const report_run *run);
    void (*csv)(const decision *d, FILE *out);
    void (*page)(const decision *d, FILE *out, const report_run *run);
    void (*text)(const decision *d, FILE *out, const report_run *run, report_style style);
    const epiq_warning *warnings; /* filled in by find; text and page show them too */
    ptrdiff_t warning_count;
};
int run_decision(cli *c, decision *d);

#endif
