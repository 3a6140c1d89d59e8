/* study.c - the table of studies, and running one. */
#include "study/lab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const study_info STUDIES[] = {
    {"table1",
     "Table 1: synthetic set 1, rows 200 to 1000, features 2 to 32",
     {"3 cells of 200 rows, J = 6", "15 cells, J = 20", "15 cells, J = 100"},
     false,
     study_synthetic,
     .scale = EPIQ_SCALE_NONE,
     .engine = EPIQ_ENGINE_NETWORK,
     .set = 1},
    {"table2",
     "Table 2: five real tables at their mean rows",
     {"2 tables, 6 networks", "5 tables, 50 networks", "the same as usual"},
     true,
     study_table2,
     .scale = EPIQ_SCALE_MINMAX,
     .engine = EPIQ_ENGINE_NETWORK},
    {"table3",
     "Table 3: synthetic set 2, 200 rows, features 2 to 16",
     {"2 cells, J = 6", "4 cells, J = 20", "4 cells, J = 100"},
     false,
     study_synthetic,
     .scale = EPIQ_SCALE_NONE,
     .engine = EPIQ_ENGINE_NETWORK,
     .set = 2},
    {"table4",
     "Table 4: synthetic set 3, 500 rows, features 2 to 16",
     {"2 cells, J = 6", "4 cells, J = 20", "4 cells, J = 100"},
     false,
     study_synthetic,
     .scale = EPIQ_SCALE_NONE,
     .engine = EPIQ_ENGINE_NETWORK,
     .set = 3},
    {"figure-members",
     "EV against the number of members, on Boston",
     {"10 networks", "100 networks", "200 networks"},
     true,
     study_figure_members,
     .scale = EPIQ_SCALE_MINMAX,
     .engine = EPIQ_ENGINE_NETWORK},
    {"timing",
     "The paper's timing on Boston: EV, IF, BA",
     {"1 run with 6 networks", "3 runs with 50", "5 runs with 50"},
     true,
     study_timing,
     .scale = EPIQ_SCALE_MINMAX,
     .engine = EPIQ_ENGINE_NETWORK},
    {"normality",
     "Are predictions normal, as batching assumes?",
     {"40 data sets", "100 data sets", "400 data sets"},
     false,
     study_normality,
     .scale = EPIQ_SCALE_NONE,
     .engine = EPIQ_ENGINE_NETWORK},
    {"coverage",
     "How often the intervals of EV, BA and IF hold the truth",
     {"8 cells, J = 200", "115 cells, J = 200 (of 1000 rows) to 1000 (of 200 rows)",
      "115 cells, J = 1000 to 5000, or 400 to 2000 where the noise varies"},
     false,
     study_coverage,
     .scale = EPIQ_SCALE_NONE,
     .engine = EPIQ_ENGINE_LINEAR},
    {"scaling",
     "How both parts scale with rows, features and members",
     {"J = 100", "J = 300", "J = 1000"},
     false,
     study_scaling,
     .scale = EPIQ_SCALE_NONE,
     .engine = EPIQ_ENGINE_LINEAR},
    {"decomposition",
     "One network against ensembles of 2 to 20, and the theory's assumptions",
     {"J = 8", "J = 30", "J = 200"},
     false,
     study_decomposition,
     .scale = EPIQ_SCALE_NONE,
     .engine = EPIQ_ENGINE_NETWORK},
    {"divided",
     "Solver divided against the exact solution, in 2 to 16 parts",
     {"400 rows in 2 and 4 parts, J = 40", "400 and 1600 rows, J = 200", "400, 1600 and 3200 rows, J = 400"},
     false,
     study_divided,
     .scale = EPIQ_SCALE_NONE,
     .engine = EPIQ_ENGINE_INFINITE},
    {"trained",
     "The data part of trained networks against the truth, at points of every kind",
     {"6 cells, J = 40, 6 estimates of each", "44 cells, J = 120, 16 estimates of each",
      "44 cells, J = 200, 32 estimates of each"},
     false,
     study_trained,
     .scale = EPIQ_SCALE_NONE,
     .engine = EPIQ_ENGINE_NETWORK},
    {"confidence",
     "Intervals of the expected prediction: how often they hold it, and how wide they are",
     {"4 cells, J = 100; of networks 1 cell, J = 20", "27 cells, J = 500; of networks 6 cells, J = 60",
      "39 cells, J = 1000; of networks 6 cells, J = 200"},
     false,
     study_confidence,
     .scale = EPIQ_SCALE_NONE,
     .engine = EPIQ_ENGINE_INFINITE},
    {"mse",
     "Squared error of one network, ensembles and networks without their start, against trainings",
     {"2 cells, J = 10", "4 cells, J = 60", "4 cells, J = 200"},
     false,
     study_mse,
     .scale = EPIQ_SCALE_NONE,
     .engine = EPIQ_ENGINE_NETWORK},
    {"benchmark",
     "The scoreboard: error, likelihood, CRPS and intervals on rows left out of any tables",
     {"tables of up to 600 rows, 2 splits, infinite width and one hidden layer",
      "every table, 5 splits, up to three layers", "every table, 20 splits, up to three layers"},
     true,
     study_benchmark,
     .engine = EPIQ_ENGINE_NETWORK,
     .scale = EPIQ_SCALE_STANDARD,
     .chooses = true},
};
enum { COUNT = sizeof STUDIES / sizeof *STUDIES };

const study_info *study_list(ptrdiff_t index)
{
    return index >= 0 && index < COUNT ? &STUDIES[index] : NULL;
}

const study_info *study_called(const char *name)
{
    ptrdiff_t k = 0;
    while (k < COUNT && strcmp(STUDIES[k].name, name) != 0) {
        k++;
    }
    return study_list(k);
}

int study_run(study_job *job, study_result **out)
{
    const study_info *study = study_called(job->name);
    *out = NULL;
    job->crew.message[0] = '\0';
    if (!study) return lab_fail(&job->crew, EPIQ_E_USAGE, "there is no study \"%s\"", job->name);
    if (study->real_data && !job->data_dir) {
        return lab_fail(
            &job->crew, EPIQ_E_DATA,
            "%s needs the real tables; say where boston.csv and the others are with --data-dir or EPIQ_DATA",
            job->name);
    }
    if (study->real_data && access(job->data_dir, R_OK | X_OK) != 0) {
        return lab_fail(&job->crew, EPIQ_E_FILE,
                        "the folder %s cannot be read (%s); name another with --data-dir or EPIQ_DATA", job->data_dir,
                        strerror(errno));
    }
    lab l = {.job = job, .result = calloc(1, sizeof *l.result)};
    if (!l.result) return lab_fail(&job->crew, EPIQ_E_NOMEM, "no memory for the study");
    l.result->name = study->name;
    l.result->title = study->title;
    l.result->threads = job->crew.threads;
    l.result->options = job->options;
    if (!job->engine_given) l.result->options.engine = study->engine;
    if (!job->scale_given) l.result->options.scale = study->scale;
    if (!study->chooses && !l.result->options.width) l.result->options.width = EPIQ_USUAL_WIDTH;
    if (!study->chooses && !(l.result->options.lambda > 0)) l.result->options.lambda = EPIQ_USUAL_LAMBDA;
    int s = job->state ? lab_store_open(&l.store, job) : EPIQ_OK;
    s = s ? s : study->run(&l);
    if (!s && l.no_memory) s = lab_fail(&job->crew, EPIQ_E_NOMEM, "no memory for what the study found");
    job->kept = s && l.store.path && !lab_store_drop_if_unused(&l.store);
    if (s) {
        study_result_free(l.result);
        return s;
    }
    lab_store_close(&l.store);
    *out = l.result;
    return EPIQ_OK;
}

/* ---- the crew ---- */

int study_crew_open(study_crew *crew, int threads, epiq_spelling spelling)
{
    int made = 0;
    crew->threads = threads;
    crew->workers = calloc((size_t)threads, sizeof *crew->workers);
    while (crew->workers && made < threads && epiq_ctx_new(&crew->workers[made]) >= 0) {
        epiq_ctx_spelling(crew->workers[made++], spelling);
    }
    return made < threads;
}

void study_crew_close(study_crew *crew)
{
    for (int i = 0; crew->workers && i < crew->threads; i++) {
        epiq_ctx_free(crew->workers[i]);
    }
    free(crew->workers);
}
