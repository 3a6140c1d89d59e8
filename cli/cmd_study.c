/* cmd_study.c - epiq study: known distributions, the paper's tables side by side, coverage. A study that was stopped or
 * killed goes on from its resume file, which is removed when the answer is out, unless --state named it.
 */
#include "cli/cli.h"

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
    FILE *f = fopen("/proc/cpuinfo", "r");
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

static int write_study(const cli *c, const study_result *r, const report_study_run *run, output *json, output *html)
{
    bool text = !args_value(c, "quiet") && json->file != stdout && html->file != stdout;
    output list[2];
    int count = 0;
    if (json->file) {
        report_study_json(json->file, r, run);
        list[count++] = *json;
    }
    if (html->file) {
        report_study_html(html->file, r, run);
        list[count++] = *html;
    }
    *json = *html = (output){0};
    int code = output_commit(list, count);
    if (!code && text) {
        report_study_text(stdout, r, run, terminal_style());
        code = output_stdout();
    }
    return code;
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

static int work(cli *c, study_job *job, output *json, output *html)
{
    char machine[256];
    study_result *r = NULL;
    double began = now();
    watch_start(job->workers, job->threads, args_value(c, "quiet"));
    int status = study_run(job, &r);
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
    int code =
        write_study(c, r, &(report_study_run){c->command, &r->options, now() - began, peak_rss(), machine}, json, html);
    ptrdiff_t finished = r->repetitions;
    study_result_free(r);
    if (!code && !c->options.state) {
        study_forget(job->state, finished);
    }
    return code;
}

static int run(cli *c)
{
    if (strcmp(c->operand, "list") == 0) {
        return list_studies();
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
    study_job job;
    output json = {0}, html = {0};
    int code = fill(c, &job, state, sizeof state);
    if (code) {
        return code;
    }
    const char *json_path = args_value(c, "json"), *html_path = args_value(c, "report");
    if (json_path && html_path && (strcmp(json_path, html_path) == 0 || same_file(json_path, html_path))) {
        return complain(CODE_USAGE, "--json and --report both name %s; only one can be written there", json_path);
    }
    if ((code = check_path(&job, json_path)) || (code = check_path(&job, html_path)) ||
        (code = c->options.state ? check_table(&job, c->options.state) : CODE_OK)) {
        return code;
    }
    job.workers = calloc((size_t)job.threads, sizeof *job.workers);
    if (!job.workers) {
        code = complain(CODE_NUMERIC, "no memory for %d threads", job.threads);
    }
    for (int i = 0; !code && i < job.threads; i++) {
        if (epiq_ctx_new(&job.workers[i]) < 0) {
            code = complain(CODE_NUMERIC, "no memory for %d threads", job.threads);
        }
    }
    code = code || !json_path ? code : output_open(&json, json_path, c);
    code = code || !html_path ? code : output_open(&html, html_path, c);
    code = code ? code : work(c, &job, &json, &html);
    output_drop(&json, 1);
    output_drop(&html, 1);
    for (int i = 0; job.workers && i < job.threads; i++) {
        epiq_ctx_free(job.workers[i]);
    }
    free(job.workers);
    return code;
}

static const flag FLAGS[] = {
    {"quick", "Study", "a few cells and repetitions, to see that it works", NULL, "", NULL},
    {"full", "Study", "every cell with the repetitions of the paper or more", NULL, "", NULL},
    {"reps", "Study", "repetitions of each cell (at least 3), whatever the size says", NULL, "", "J"},
    {"n", "Study", "only the cells of synthetic tables and coverage with so many rows", NULL, "", "N"},
    {"d", "Study", "only those with so many features", NULL, "", "D"},
    {"data-dir", "Study", "folder with boston.csv and the other real tables (default: the variable EPIQ_DATA)", NULL,
     "", "DIR"},
    {"scale", "Study", "scaling of features and target: standard, minmax or none (default: minmax for real tables)",
     NULL, "", "HOW"},
    {"engine", "Network", "network, linear or infinite (default: what the study is about)", NULL, "", "ENGINE"},
    {"json", "Output", "write everything as one JSON object (- is standard output)", NULL, "", "FILE|-"},
    {"report", "Output", "write a page with tables and pictures", NULL, "", "FILE.html"},
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
