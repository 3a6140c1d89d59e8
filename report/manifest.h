/* manifest.h - what the JSON of every verb begins and ends with: the manifest of the run, the data, the model; the warnings. */
#ifndef REPORT_MANIFEST_H
#define REPORT_MANIFEST_H

#include "report/json.h"
#include "report/report.h"

/* How it ran; what does not apply to the verb is NULL and left out. */
typedef struct {
    const field *about; /* written before the run */
    const uint64_t *seed;
    ptrdiff_t threads;
    const ptrdiff_t *ranks;
    const char *backend;       /* with ranks, as are */
    const epiq_result *result; /* the solver and what it was thought to take; NULL: by default, and not known */
    const char *engine;
    const ptrdiff_t *repetitions, *resumed; /* of a study */
} manifest;
void json_run(json *j, const manifest *m, const report_run *run, const epiq_options *options); /* "epiq", "run" */

json json_begin(FILE *out, const report_answer *a, const report_run *run); /* up to "model"; the object stays open */
void json_finish(json *j, const report_answer *a);                         /* "warnings" */
void json_choice(json *j, const epiq_result *r, const report_run *run);    /* "choice"; nothing if there was none */
void json_combined(json *j, const epiq_result *r, const report_run *run);  /* "given", "until"; nothing if neither */

/* ---- the writers of the verbs ---- */

void estimate_describe(doc *d);
void study_json(FILE *out, const report_answer *a, const report_run *run);

#endif
