/* cmd_study.c - epiq study: known distributions, the paper's tables side by side, coverage. A study that was stopped or
 * killed goes on from its resume file, which is removed when the answer is out, unless --state named it.
 */
#include "cli/question.h"
#include "report/report.h"
#include "study/study.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static int list_studies(void)
{
    const study_info *s;
    puts("epiq study NAME runs one of these (J: data sets drawn for each cell of its table):\n");
    for (ptrdiff_t i = 0; (s = study_list(i)); i++) {
        printf("%-16s%s%s\n%20s--quick  %s\n%20s(usual)  %s\n%20s--full   %s\n", s->name, s->title,
               s->real_data ? " (needs --data-dir)" : "", "", s->sizes[STUDY_QUICK], "", s->sizes[STUDY_USUAL], "",
               s->sizes[STUDY_FULL]);
    }
    return CODE_OK;
}

static const char *study_name(const void *from, ptrdiff_t index)
{
    (void)from;
    const study_info *s = study_list(index);
    return s ? s->name : NULL;
}

/* "x86_64, 2 cores, AMD ..." for the manifest. */
static void describe_machine(char *text, size_t size)
{
    struct utsname u = {.machine = "?"};
    char model[128] = "", row[256];
    uname(&u);
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && !*model && fgets(row, sizeof row, f)) {
        if (sscanf(row, "model name : %127[^\n]", model) != 1) *model = '\0';
    }
    if (f) fclose(f);
    snprintf(text, size, "%s, %ld cores%s%s", u.machine, sysconf(_SC_NPROCESSORS_ONLN), *model ? ", " : "", model);
}

static int fill(cli *c, study_job *job, char *state, size_t size)
{
    int code = args_own_option(c, "engine");
    code = code ? code : args_own_option(c, "scale");
    code = code ? code : args_count(c, "reps", 3, 20000, &job->reps);
    code = code ? code : args_count(c, "n", 1, 1000000, &job->n);
    code = code ? code : args_count(c, "d", 1, 1000000, &job->d);
    if (code) return code;
    if (args_value(c, "quick") && args_value(c, "full")) {
        return complain(CODE_USAGE, "--quick and --full are two sizes; give one of them");
    }
    const char *folder = args_value(c, "data-dir"), *variable = getenv("EPIQ_DATA");
    snprintf(state, size, "epiq-study-%s.state", c->operand);
    job->name = c->operand;
    job->size = args_value(c, "quick") ? STUDY_QUICK : args_value(c, "full") ? STUDY_FULL : STUDY_USUAL;
    job->cell = args_value(c, "cell");
    job->options = c->options;
    job->engine_given = args_value(c, "engine");
    job->scale_given = args_value(c, "scale");
    job->data_dir = folder ? folder : variable && *variable ? variable : NULL;
    job->state = c->options.state ? c->options.state : state;
    job->options.state = NULL; /* the study's own, not that of each estimate */
    return CODE_OK;
}

static int check_table(const study_job *job, const char *path)
{
    char table[4096];
    for (ptrdiff_t i = 0; job->data_dir && study_table(i); i++) {
        snprintf(table, sizeof table, "%s/%s.csv", job->data_dir, study_table(i));
        if (same_file(path, table)) return complain(CODE_FILE, "%s is one of the real tables; name another file", path);
    }
    return CODE_OK;
}

/* An output must not take the place of what the study reads or keeps. */
static int check_path(const study_job *job, const char *path)
{
    char other[4096];
    if (!path) return CODE_OK;
    snprintf(other, sizeof other, "%s-members", job->state);
    if (same_file(path, job->state) || same_file(path, other)) {
        return complain(CODE_FILE, "%s is the resume file; name another file for the output", path);
    }
    return check_table(job, path);
}

typedef struct {
    question base;
    study_job job;
    study_result *result;
    char machine[256];
} study_question;

static int find(question *q, cli *c)
{
    study_question *j = (study_question *)q;
    (void)c;
    int status = study_run(&j->job, &j->result);
    if (status >= 0) {
        describe_machine(j->machine, sizeof j->machine);
        q->answer.found.study = j->result;
        q->answer.run.options = &j->result->options;
        q->answer.run.machine = j->machine;
    }
    return status;
}

static int study_stopped(const question *q)
{
    const study_job *job = &((const study_question *)q)->job;
    int code = CODE_SIGNAL + watch_signal();
    return job->kept
               ? complain(code, "stopped; what is finished is kept in %s and the same command continues from there",
                          job->state)
               : complain(code, "stopped before anything was finished");
}

static int run(cli *c)
{
    if (!c->operand || strcmp(c->operand, "list") == 0) {
        return !c->given_count ? list_studies()
               : c->operand    ? complain(CODE_USAGE, "study list only prints; leave --%s out", c->given[0].name)
                               : complain(CODE_USAGE, "which study? epiq study lists them");
    }
    if (!study_called(c->operand)) {
        return complain(CODE_USAGE, "there is no study \"%s\"; %s", c->operand,
                        near_miss(c->operand, study_name, NULL, "", "epiq study list shows them"));
    }
    char state[128];
    study_question j = {.base = {.find = find, .stopped = study_stopped, .answer.writers = &STUDY_WRITERS}};
    j.base.crew = &j.job.crew;
    int code = fill(c, &j.job, state, sizeof state);
    code = code ? code : check_path(&j.job, args_value(c, "json"));
    code = code ? code : check_path(&j.job, args_value(c, "report"));
    code = code || !c->options.state ? code : check_table(&j.job, c->options.state);
    code = code ? code : run_question(c, &j.base);
    if (!code && !c->options.state) study_forget(j.job.state, j.result->repetitions);
    study_result_free(j.result);
    return code;
}

static const flag FLAGS[] = {
    FLAG("quick", "Study", NULL, "", "a few cells and repetitions, to see that it works"),
    FLAG("full", "Study", NULL, "", "every cell with the repetitions of the paper or more"),
    FLAG("reps", "Study", "J", "", "repetitions of each cell (at least 3), whatever the size says"),
    FLAG("n", "Study", "N", "", "only the cells of synthetic tables, coverage and trained with so many rows"),
    FLAG("d", "Study", "D", "", "only those with so many features"),
    FLAG("cell", "Study", "TEXT", "",
         "only the cells of the studies trained and confidence with this name, or with it in their names"),
    FLAG("data-dir", "Study", "DIR", "",
         "folder with boston.csv and the other real tables (default: the variable EPIQ_DATA)"),
    FLAG("scale", "Study", "HOW", "",
         "scaling of features and target: standard, minmax or none (default: minmax for real tables)"),
    FLAG("engine", "Network", "ENGINE", "", "network, linear or infinite (default: what the study is about)"),
    JSON_FLAG,
    FLAG("report", "Output", "FILE.html", "", "write a page with tables and pictures"),
    PICTURE_FLAGS,
    FLAG("quiet", "Output", NULL, "", "print no summary or progress"),
    {0},
};

const verb VERB_STUDY = {
    .name = "study",
    .operand = "NAME",
    .operand_optional = true,
    .usage = "[list] | NAME [--quick|--full] [--reps J] [flags]",
    .summary = "how far to trust the numbers: ground truth, coverage, the paper's tables side by side",
    .flags = FLAGS,
    .takes = EPIQ_FOR_STUDY,
    .run = run,
};
