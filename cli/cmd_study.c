/* cmd_study.c - epiq study: known distributions, the paper's tables side by side, coverage. A study that was stopped or
 * killed goes on from its resume file, which is removed when the answer is out, unless --state named it.
 */
#include "cli/outputs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static int list_studies(void)
{
    const study_info *s;
    for (ptrdiff_t i = 0; (s = study_list(i)); i++) {
        printf("%-16s%s%s\n%16s%s\n", s->name, s->title, s->real_data ? " (needs --data-dir)" : "", "", s->sizes);
    }
    puts("\nUnder each title: what --quick, a plain run and --full do.");
    return CODE_OK;
}

static const char *study_name(const void *from, ptrdiff_t index)
{
    (void)from;
    const study_info *s = study_list(index);
    return s ? s->name : NULL;
}

static int unknown_study(const char *name)
{
    const char *near = closest(name, study_name, NULL);
    return near ? complain(CODE_USAGE, "there is no study \"%s\"; did you mean %s?", name, near)
                : complain(CODE_USAGE, "there is no study \"%s\"; epiq study list shows them", name);
}

/* "x86_64, 2 cores, AMD ..." for the manifest. */
static void describe_machine(char *text, size_t size)
{
    struct utsname u = {.machine = "?"};
    char model[128] = "", row[256];
    uname(&u);
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && !*model && fgets(row, sizeof row, f)) {
        if (sscanf(row, "model name : %127[^\n]", model) != 1) {
            *model = '\0';
        }
    }
    if (f) {
        fclose(f);
    }
    snprintf(text, size, "%s, %ld cores%s%s", u.machine, sysconf(_SC_NPROCESSORS_ONLN), *model ? ", " : "", model);
}

static int fill(cli *c, study_job *job, char *state, size_t size)
{
    long long reps = 0, n = 0, d = 0;
    const char *const shadowed[] = {"engine", "scale"};
    for (size_t k = 0; k < sizeof shadowed / sizeof *shadowed; k++) {
        const char *value = args_value(c, shadowed[k]);
        int code = value ? args_option(c, shadowed[k], value) : CODE_OK;
        if (code) {
            return code;
        }
    }
    int code = args_count(c, "reps", 3, 20000, &reps);
    code = code ? code : args_count(c, "n", 1, 1000000, &n);
    code = code ? code : args_count(c, "d", 1, 1000000, &d);
    if (code) {
        return code;
    }
    if (args_value(c, "quick") && args_value(c, "full")) {
        return complain(CODE_USAGE, "--quick and --full are two sizes; give one of them");
    }
    const char *folder = args_value(c, "data-dir"), *variable = getenv("EPIQ_DATA");
    snprintf(state, size, "epiq-study-%s.state", c->operand);
    *job = (study_job){
        .name = c->operand,
        .size = args_value(c, "quick")  ? STUDY_QUICK
                : args_value(c, "full") ? STUDY_FULL
                                        : STUDY_USUAL,
        .reps = (ptrdiff_t)reps,
        .n = (ptrdiff_t)n,
        .d = (ptrdiff_t)d,
        .cell = args_value(c, "cell"),
        .options = c->options,
        .engine_given = args_value(c, "engine"),
        .scale_given = args_value(c, "scale"),
        .data_dir = folder                  ? folder
                    : variable && *variable ? variable
                                            : NULL,
        .state = c->options.state ? c->options.state : state,
        .threads = (int)(c->options.threads > 0 ? c->options.threads : sysconf(_SC_NPROCESSORS_ONLN)),
        .report = watch_study,
    };
    job->options.state = NULL; /* the study's own, not that of each estimate */
    return CODE_OK;
}

typedef struct {
    study_result *result;
    report_study_run run;
} studied;

static void write_json(void *self, FILE *out)
{
    const studied *s = self;
    report_study_json(out, s->result, &s->run);
}

static void write_page(void *self, FILE *out, svg_album *album)
{
    const studied *s = self;
    report_study_html(out, s->result, &s->run, album);
}

static void print_text(void *self)
{
    const studied *s = self;
    report_study_text(stdout, s->result, &s->run, terminal_style());
}

static int check_table(const study_job *job, const char *path)
{
    char table[4096];
    for (ptrdiff_t i = 0; job->data_dir && study_table(i); i++) {
        snprintf(table, sizeof table, "%s/%s.csv", job->data_dir, study_table(i));
        if (same_file(path, table)) {
            return complain(CODE_FILE, "%s is one of the real tables; name another file", path);
        }
    }
    return CODE_OK;
}

/* An output must not take the place of what the study reads or keeps. */
static int check_path(const study_job *job, const char *path)
{
    char other[4096];
    if (!path) {
        return CODE_OK;
    }
    snprintf(other, sizeof other, "%s-members", job->state);
    if (same_file(path, job->state) || same_file(path, other)) {
        return complain(CODE_FILE, "%s is the resume file; name another file for the output", path);
    }
    return check_table(job, path);
}

static int work(cli *c, study_job *job, outputs *o)
{
    char machine[256];
    studied s = {0};
    double began = now();
    int status = study_run(job, &s.result);
    watch_end();
    if (status < 0 && watch_signal()) {
        int code = CODE_SIGNAL + watch_signal();
        return job->kept
                   ? complain(code, "stopped; what is finished is kept in %s and the same command continues from there",
                              job->state)
                   : complain(code, "stopped before anything was finished");
    }
    if (status < 0) {
        return complain(exit_code(status), "%s", job->message);
    }
    describe_machine(machine, sizeof machine);
    s.run = (report_study_run){c->command, &s.result->options, now() - began, peak_rss(), machine};
    int code = outputs_write(o, &(answer){.self = &s, .json = write_json, .page = write_page, .text = print_text});
    ptrdiff_t finished = s.result->repetitions;
    study_result_free(s.result);
    if (!code && !c->options.state) {
        study_forget(job->state, finished);
    }
    return code;
}

static int run(cli *c)
{
    if (strcmp(c->operand, "list") == 0) {
        return c->given_count ? complain(CODE_USAGE, "study list only prints; leave --%s out", c->given[0].name)
                              : list_studies();
    }
    ptrdiff_t k = 0;
    const study_info *s;
    while ((s = study_list(k)) && strcmp(s->name, c->operand) != 0) {
        k++;
    }
    if (!s) {
        return unknown_study(c->operand);
    }
    char state[128];
    study_job job = {0};
    outputs o;
    int code = fill(c, &job, state, sizeof state);
    code = code ? code : check_path(&job, args_value(c, "json"));
    code = code ? code : check_path(&job, args_value(c, "report"));
    code = code || !c->options.state ? code : check_table(&job, c->options.state);
    code = code ? code : workers_new(&job.workers, job.threads);
    if (code) {
        return code;
    }
    watch_start(job.workers, job.threads, args_value(c, "quiet"));
    code = outputs_open(&o, c, NULL);
    code = code ? code : work(c, &job, &o);
    outputs_drop(&o);
    watch_end(); /* whatever happened, no signal may look for them */
    workers_free(job.workers, job.threads);
    return code;
}

static const flag FLAGS[] = {
    {"quick", "Study", "a few cells and repetitions, to see that it works", NULL, "", NULL},
    {"full", "Study", "every cell with the repetitions of the paper or more", NULL, "", NULL},
    {"reps", "Study", "repetitions of each cell (at least 3), whatever the size says", NULL, "", "J"},
    {"n", "Study", "only the cells of synthetic tables, coverage and trained with so many rows", NULL, "", "N"},
    {"d", "Study", "only those with so many features", NULL, "", "D"},
    {"cell", "Study", "only the cells of the study trained with this name, or with it in their names", NULL, "",
     "TEXT"},
    {"data-dir", "Study", "folder with boston.csv and the other real tables (default: the variable EPIQ_DATA)", NULL,
     "", "DIR"},
    {"scale", "Study", "scaling of features and target: standard, minmax or none (default: minmax for real tables)",
     NULL, "", "HOW"},
    {"engine", "Network", "network, linear or infinite (default: what the study is about)", NULL, "", "ENGINE"},
    {"json", "Output", "write everything as one JSON object (- is standard output)", NULL, "", "FILE|-"},
    {"report", "Output", "write a page with tables and pictures", NULL, "", "FILE.html"},
    PICTURE_FLAGS,
    {"quiet", "Output", "print no summary or progress", NULL, "", NULL},
    {0},
};

const verb VERB_STUDY = {
    .name = "study",
    .operand = "NAME",
    .usage = "list | NAME [--quick|--full] [--reps J] [flags]",
    .summary = "how far to trust the numbers: ground truth, coverage, the paper's tables side by side",
    .flags = FLAGS,
    .model = true,
    .without = (const char *const[]){"Columns", "methods", "ensemble-size", "level", "influential", "sweep",
                                     "correction", NULL},
    .run = run,
};
