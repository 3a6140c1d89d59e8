/* cli.h - what the verbs share: the parsed command line, complaining, output files, signals and progress.
 * Functions that can fail have complained already when they return an exit code other than 0.
 */
#ifndef CLI_H
#define CLI_H

#include "common/atomic_file.h"
#include "common/machine.h"
#include "epiq_cluster.h"
#include "epiq_combine.h"
#include "epiq_decide.h"
#include "epiq_details.h"
#include "epiq_device.h"
#include "epiq_model.h"
#include "epiq_options.h"
#include "report/report.h"
#include "study/study.h"

#include <stdbool.h>
#include <stdio.h>

enum { CODE_OK = 0, CODE_USAGE = 1, CODE_FILE = 2, CODE_NUMERIC = 3, CODE_SIGNAL = 128 }; /* + the signal's number */

/* ---- verbs and their flags ---- */

typedef epiq_option_info flag; /* a verb's own flags look like the library's; no metavar: takes no value */

typedef struct cli cli;
typedef struct {
    const char *name, *usage, *summary;
    const char *operand, *operand2; /* what its positional arguments are called; NULL: none */
    bool operand_optional;
    bool reads;                /* its operand is a file it reads */
    const flag *flags;         /* its own, up to one without a name; may be NULL */
    const char *o_flag;        /* the flag that -o stands for; NULL: none */
    unsigned takes;            /* EPIQ_FOR_ bit of the library's options that it takes; 0: none */
    const char *renamed;       /* one of them that a flag of another name sets; NULL: none */
    const char *const *inputs; /* its own flags that name files it reads, up to NULL; may be NULL */
    bool mpi;                  /* shares out its work under mpirun */
    int (*run)(cli *c);
} verb;
extern const verb VERB_COMBINE, VERB_COMPARE, VERB_DEMO, VERB_ESTIMATE, VERB_EXPLORE, VERB_FIT, VERB_KERNEL,
    VERB_OPTIONS, VERB_PLAN, VERB_PREDICT, VERB_SCORE, VERB_STUDY, VERB_SYNTH;
extern const char *const PART_NAMES[]; /* of a model: bit k is 1 << k; up to NULL */
extern const verb *const VERBS[];      /* all but VERB_OPTIONS, which help does not list; up to NULL */

struct cli {
    const verb *verb;
    epiq_ctx *ctx;
    epiq_options options;
    const char *operand, *operand2;
    char *command; /* the whole line, quoted for a shell */
    struct {
        const char *name, *value;
    } * given; /* the verb's own flags as typed, in order */
    ptrdiff_t given_count;
    char **joined; /* lists put together from repeated flags */
    ptrdiff_t joined_count;
};

const flag *verb_flag(const verb *v, ptrdiff_t index); /* its own, then the library's; NULL past the end */
/* "Also all flags of epiq estimate ..., except ...": its flags besides its own, names in quotes. Until the next call. */
const char *verb_rest(const verb *v, const char *quote);
int args_parse(cli *c, const verb *v, int argc, char **argv);
void args_free(cli *c);
int args_option(cli *c, const char *name, const char *value); /* one of the library's */
const char *args_value(const cli *c, const char *name);       /* of a flag of its own, the last one typed; NULL: none */
const char *args_text(const cli *c, const char *name);        /* as typed, else the flag's default */
int args_own_option(cli *c, const char *name); /* the library's option takes that text, unless it is "" */
/* Unchanged if not typed. Between infinities any number will do: its range is checked by the library. */
int args_choice(const cli *c, const char *name, int *value); /* the index of one of the words in its metavar */
int args_count(const cli *c, const char *name, ptrdiff_t lo, ptrdiff_t hi, ptrdiff_t *value);
int args_real(const cli *c, const char *name, double lo, double hi, double *value);
bool args_points(const cli *c, ptrdiff_t i); /* the flag typed there names a file of points, */
bool args_input(const cli *c, ptrdiff_t i);  /* another that the verb reads */

bool listed(const char *name, const char *const *list); /* up to NULL */
/* About a name that is none: "did you mean --members?", or else what lists them. Until the next call. */
const char *near_miss(const char *name, const char *(*candidate)(const void *from, ptrdiff_t index), const void *from,
                      const char *dashes, const char *otherwise);

/* Every flag of the verb through row, the name of a section between before and after as it begins. */
void each_flag(const verb *v, const char *before, const char *after, void (*row)(const flag *f));
void help_all(void);
void help_verb(const verb *v);
void man_page(void);        /* epiq.1 */
void completion(int shell); /* 0 to 2: for bash, zsh, fish */

/* ---- saying what went wrong ---- */

/* "epiq: ..." on one line; returns code */
__attribute__((format(printf, 2, 3))) int complain(int code, const char *fmt, ...);
void warn(const char *message);
void warn_of_blas(const epiq_options *o); /* if these compute with kernels of OpenBLAS that are far too slow */
int exit_code(int status);                /* of the library */
int failed(const cli *c, int status);     /* the library's sentence and its exit code, or that a signal stopped it */

/* ---- output: whole files or none ---- */

typedef struct {
    const char *path; /* as typed; "-" is standard output */
    epiqp_atomic_file atomic;
    FILE *file;
} output;
int output_open(output *o, const char *path, const cli *c); /* refuses to overwrite what the command reads */
bool same_file(const char *a, const char *b);               /* however they are spelled; they need not exist */
bool same_output(const char *a, const char *b);             /* or both standard output */
bool names_stdout(const char *path);                        /* "-", /dev/stdout, /dev/fd/1 */
bool lies_in(const char *path, const char *folder);
int output_end(output *list, int count, int code); /* code 0: commits all or none; else drops them. Frees them */
void output_drop(output *list, int count);
void output_remove_temporaries(void);            /* for signal handlers */
void output_folder(const char *path, bool ours); /* ours: a signal removes this folder too; else it is forgotten */
int output_stdout(void);                         /* everything printed has arrived */

/* ---- while the library works: signals stop it, a terminal sees how far it is ---- */

void watch_start(epiq_ctx *const *contexts, int count, bool quiet); /* they must live as long as the watch */
int watch_progress(void *user, const epiq_progress *p);             /* for epiq_ctx_on_progress */
int watch_study(void *user, const study_progress *p);               /* for study_crew.report */
void watch_finish(void);              /* from here on Ctrl-C asks for what is finished, not for an end without it */
bool watch_shown(void);               /* a person watches */
void watch_say(const char *sentence); /* to them, above the line of progress */
void watch_end(void);
int watch_signal(void); /* the one that arrived, 0: none */

/* ---- under mpirun or srun: cluster.c ---- */

/* A library that is loaded when it is needed: beside the command, or where it is installed. False: it is in neither. */
enum { LIBRARY_PATH = 8192 };
bool library_path(const char *name, char path[LIBRARY_PATH]);
const epiq_device *device_open(void *user, char *why, size_t room); /* for epiq_ctx_on_device */

int cluster_start(void);   /* loads MPI if a launcher is there; has complained if not 0 */
int cluster_join(cli *c);  /* the command's context, if its verb can be shared out; else refuses on several ranks */
bool cluster_speaks(void); /* on one rank, which prints and writes for all */
bool cluster_there(void);  /* this is one of several ranks, or one under a launcher */
long long cluster_most(long long bytes);         /* the largest of all ranks' */
int cluster_end(int code, const char *sentence); /* the same exit code on all ranks; sentence: the last complaint */

#define FLAG(name, section, metavar, default_text, help)                                                               \
    {                                                                                                                  \
        name, section, help, NULL, default_text, metavar                                                               \
    }

/* Flags of every verb that writes a result. */
#define JSON_FLAG FLAG("json", "Output", "FILE|-", "", "write everything as one JSON object (- is standard output)")
#define QUIET_FLAG FLAG("quiet", "Output", NULL, "", "print no summary, warnings or progress")
#define DRY_RUN_FLAG FLAG("dry-run", "Output", NULL, "", "print the memory and time needed, and stop")
#define OUTPUT_FLAGS                                                                                                   \
    JSON_FLAG, FLAG("csv", "Output", "FILE|-", "", "write one line per point (- is standard output)"), QUIET_FLAG
#define REPORT_FLAGS                                                                                                   \
    FLAG("report", "Output", "FILE.html", "", "write a page with pictures, for any browser"), PICTURE_FLAGS
#define PICTURE_FLAGS                                                                                                  \
    FLAG("pictures", "Output", "DIR", "", "write every picture of that page into this folder"),                        \
        FLAG("picture-format", "Output", "both|svg", "both",                                                           \
             "both is SVG and PNG; PNG takes the program rsvg-convert")
#define VERBOSE_FLAG                                                                                                   \
    FLAG("verbose", "Output", NULL, "", "print variances, intervals, checks and notes too; -v for short")
#define SWEEP_FLAG                                                                                                     \
    FLAG("sweep", "Points", "N", "0",                                                                                  \
         "values of each feature to estimate at, the others as at the first point (0: none; without "                  \
         "this flag up to 25 for a page or pictures)")

#endif
