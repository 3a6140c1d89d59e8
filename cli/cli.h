/* cli.h - what the verbs share: the parsed command line, complaining, output files, signals and progress.
 * Functions that can fail have complained already when they return an exit code other than 0.
 */
#ifndef CLI_H
#define CLI_H

#include "epiq.h"
#include "report/report.h"
#include "study/study.h"

#include <stdbool.h>
#include <stdio.h>

enum { CODE_OK = 0, CODE_USAGE = 1, CODE_FILE = 2, CODE_NUMERIC = 3, CODE_SIGNAL = 128 }; /* + the signal's number */

/* ---- verbs and their flags ---- */

typedef epiq_option_info flag; /* a verb's own flags look like the library's; no metavar: takes no value */

typedef struct cli cli;
typedef struct {
    const char *name, *operand, *usage, *summary; /* operand: what the one positional argument is called; NULL: none */
    const flag *flags;                            /* its own, up to one without a name; may be NULL */
    bool model;                                   /* takes the library's options too, */
    bool reads;                                   /* its operand is a file it reads */
    bool may_lack;                                /* its operand */
    const char *second;                           /* what a second positional argument is called; NULL: none */
    const char *o;                                /* the flag that -o stands for; NULL: none */
    const char *const *without;                   /* except these sections or options, up to NULL; may be NULL */
    const char *const *inputs;                    /* its own flags that name files it reads, likewise */
    bool hidden;
    bool ranks; /* shares out its work under mpirun */
    int (*run)(cli *c);
} verb;
extern const verb VERB_COMBINE, VERB_COMPARE, VERB_DEMO, VERB_ESTIMATE, VERB_EXPLORE, VERB_FIT, VERB_KERNEL,
    VERB_OPTIONS, VERB_PLAN, VERB_PREDICT, VERB_STUDY, VERB_SYNTH;
extern const verb *const VERBS[]; /* all of them, up to NULL */

struct cli {
    const verb *verb;
    epiq_ctx *ctx;
    epiq_options options;
    const char *operand, *second;
    char *command; /* the whole line, quoted for a shell */
    struct {
        const char *name, *value;
    } * given; /* the verb's own flags as typed, in order */
    ptrdiff_t given_count;
    char **joined; /* lists put together from repeated flags */
    ptrdiff_t joined_count;
};

const flag *verb_flag(const verb *v, ptrdiff_t index); /* its own, then the library's; NULL past the end */
int args_parse(cli *c, const verb *v, int argc, char **argv);
void args_free(cli *c);
int args_option(cli *c, const char *name, const char *value); /* one of the library's */
const char *args_value(const cli *c, const char *name);       /* of a flag of its own, the last one typed; NULL: none */
int args_count(const cli *c, const char *name, long long lo, long long hi,
               long long *value); /* unchanged if not typed */
int args_real(const cli *c, const char *name, double lo, double hi,
              double *value); /* likewise; between infinities any number: its range is the library's business */
bool args_points(const cli *c, ptrdiff_t i); /* the flag typed there names a file of points, */
bool args_input(const cli *c, ptrdiff_t i);  /* another that the verb reads */

const char *closest(const char *name, const char *(*candidate)(const void *from, ptrdiff_t index), const void *from);

void help_all(const verb *const *verbs);
void help_verb(const verb *v);
void man_page(void);               /* epiq.1 */
int completion(const char *shell); /* for bash, zsh or fish */

/* ---- saying what went wrong ---- */

__attribute__((format(printf, 2, 3))) int complain(int code, const char *fmt,
                                                   ...); /* "epiq: ..." on one line; returns code */
void warn(const char *message);
int exit_code(int status);            /* of the library */
int failed(const cli *c, int status); /* the library's sentence and its exit code, or that a signal stopped it */

/* ---- output: whole files or none ---- */

typedef struct {
    const char *path; /* as typed; "-" is standard output */
    char *target, *temporary;
    bool nameless; /* the file does not have the temporary name yet, nor any other */
    FILE *file;
} output;
int output_open(output *o, const char *path, const cli *c); /* refuses to overwrite what the command reads */
bool same_file(const char *a, const char *b);               /* however they are spelled, there yet or not */
bool same_output(const char *a, const char *b);             /* or both standard output */
bool names_stdout(const char *path);                        /* "-", /dev/stdout, /dev/fd/1 */
bool lies_in(const char *path, const char *folder);
int output_commit(output *list, int count); /* all or none; closes and frees them either way */
void output_drop(output *list, int count);
void output_remove_temporaries(void); /* for signal handlers */
void output_folder(const char *path,
                   bool ours); /* made for files still to come, or no longer to be removed with them */
int output_stdout(void);       /* everything printed has arrived */

/* ---- while the library works: signals stop it, a terminal sees how far it is ---- */

void watch_start(epiq_ctx *const *contexts, int count, bool quiet); /* they must live as long as the watch */
int watch_progress(void *user, const epiq_progress *p);             /* for epiq_ctx_on_progress */
int watch_study(void *user, const study_progress *p);               /* for study_job.report */
void watch_finish(void); /* from here on Ctrl-C asks for what is finished, not for an end without it */
void watch_end(void);
int watch_signal(void); /* the one that arrived, 0: none */
double now(void);       /* seconds, monotonic */

int workers_new(epiq_ctx ***workers, int count); /* a context a thread */
void workers_free(epiq_ctx **workers, int count);

/* ---- under mpirun or srun: cluster.c ---- */

int cluster_start(void);   /* loads MPI if a launcher is there; must have complained if not 0 */
int cluster_join(cli *c);  /* the command's context, if its verb can be shared out; else refuses on several ranks */
bool cluster_speaks(void); /* one rank does: it prints and writes for all */
bool cluster_there(void);  /* this is one of several ranks, or one under a launcher */
long long cluster_most(long long bytes);         /* the largest of all ranks' */
int cluster_end(int code, const char *sentence); /* the same exit code on all ranks; sentence: the last complaint */

/* ---- what came of it ---- */

report_style terminal_style(void);
long long peak_rss(void); /* bytes */

/* ---- estimate, demo and combine ---- */

typedef struct {
    int (*load)(cli *c, epiq_data **data, epiq_points **at); /* returns a status of the library, as does find; */
    /* instead of both, load being NULL: finds the answer from files of its own, and says in run what it is made of */
    int (*find)(void *self, cli *c, report_run *run, epiq_result **out);
    void *self;
    const char *before, *after; /* said around the text, NULL: nothing */
    const char *page;           /* written unless --report names another; NULL: none */
} estimation;
int run_estimate(cli *c, const estimation *e);

/* Flags of every verb that writes a result. */
/* clang-format off */
#define OUTPUT_FLAGS                                                                                                   \
    {"json", "Output", "write everything as one JSON object (- is standard output)", NULL, "", "FILE|-"},              \
    {"csv", "Output", "write one line a point (- is standard output)", NULL, "", "FILE|-"},                            \
    {"quiet", "Output", "print no summary, warnings or progress", NULL, "", NULL}
#define REPORT_FLAGS                                                                                                   \
    {"report", "Output", "write a page with pictures, for any browser", NULL, "", "FILE.html"}, PICTURE_FLAGS
#define PICTURE_FLAGS                                                                                                  \
    {"pictures", "Output", "write every picture of that page into this folder", NULL, "", "DIR"},                      \
    {"picture-format", "Output", "both is SVG and PNG; PNG takes the program rsvg-convert", "both|svg", "both", "both|svg"}
#define SWEEP_FLAG                                                                                                     \
    {"sweep", "Points", "values of each feature to estimate at, the others as at the first point (0: none; without "   \
     "this flag up to 25 for a page or pictures)", NULL, "0", "N"}
/* clang-format on */

#endif
