/* question.h - a question about a table, from its outputs to its answer: what estimate, demo, plan, compare and explore share.
 *
 *     typedef struct { question base; epiq_plan *plan; } plan_job;
 *     plan_job j = {.base = {.load = load_table, .find = find, .answer = {.self = &j, .json = write_json, ...}}};
 *     int code = run_question(c, &j.base);
 */
#ifndef CLI_QUESTION_H
#define CLI_QUESTION_H

#include "cli/outputs.h"

typedef struct question question;
struct question {
    int (*load)(cli *c, epiq_data **data, epiq_points **at); /* returns a status of the library, as does find, which */
    int (*find)(question *q, cli *c, const epiq_data *data,
                const epiq_points *at); /* adds the answer's warnings. No load: no data, no points */
    bool keeps;                         /* finished networks can be kept with --state: who is stopped hears of it */
    const char *page;                   /* written unless --report names another; NULL: none */
    answer answer;
    bool draw;      /* pictures are wanted; known to find */
    report_run run; /* known to the writers; find may put other options there */
};
int run_question(cli *c, question *q);
int load_table(cli *c, epiq_data **data, epiq_points **at); /* the operand and every file of points; none: the mean */

#endif
