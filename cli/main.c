/* main.c - the table of verbs, --help and --version, and complaining in one sentence. */
#include "cli/cli.h"
#include "common/blas_start.h"
#include "report/format.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

const verb *const VERBS[] = {&VERB_DEMO,    &VERB_ESTIMATE, &VERB_COMBINE, &VERB_PLAN,  &VERB_COMPARE,
                             &VERB_EXPLORE, &VERB_FIT,      &VERB_PREDICT, &VERB_SCORE, &VERB_SYNTH,
                             &VERB_KERNEL,  &VERB_STUDY,    NULL};

static char said[2048]; /* the last complaint */

int complain(int code, const char *fmt, ...)
{
    static char whole[1 << 18]; /* an argument of the command line has at most half of that */
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(whole, sizeof whole, fmt, args), half = (int)(sizeof said - 4) / 2;
    va_end(args);
    if (length < (int)sizeof said) {
        memcpy(said, whole, sizeof said);
    } else { /* the end, with the remedy, is kept whole; what is quoted before it is cut */
        snprintf(said, sizeof said, "%.*s...%s", half, whole, whole + strlen(whole) - half);
    }
    if (cluster_speaks()) {
        fputs("epiq: ", stderr);
        put_sanitized(stderr, said); /* what a file or a flag held may be quoted in it */
        putc('\n', stderr);
    }
    return code;
}

void warn(const char *message)
{
    complain(CODE_OK, "warning: %s", message);
}

void warn_of_blas(const epiq_options *o)
{
    const epiq_machine_info m = epiq_machine_describe();
    if (o->backend == EPIQ_BACKEND_REF || !m.better_core) return;
    complain(CODE_OK, "warning: " EPIQP_SLOW_BLAS, m.core, m.better_core, m.better_core);
}

int failed(const cli *c, int status)
{
    if (watch_signal()) return complain(CODE_SIGNAL + watch_signal(), "stopped");
    const char *message = epiq_message(c->ctx);
    return complain(exit_code(status), "%s", *message ? message : epiq_status_text(status));
}

int exit_code(int status)
{
    return status == EPIQ_E_USAGE                           ? CODE_USAGE
           : status == EPIQ_E_DATA || status == EPIQ_E_FILE ? CODE_FILE
                                                            : CODE_NUMERIC;
}

/* What may stand first: the verbs, and two flags. */
static const char *first_word(const void *from, ptrdiff_t index)
{
    static const char *const FLAGS[] = {"--version", "--help", NULL};
    const verb *const *v = from;
    while (*v && index) {
        v++;
        index--;
    }
    return *v ? (*v)->name : FLAGS[index];
}

static const verb *find_verb(const char *name)
{
    const verb *const *v = VERBS;
    while (*v && strcmp((*v)->name, name) != 0) {
        v++;
    }
    return *v || strcmp(name, VERB_OPTIONS.name) != 0 ? *v : &VERB_OPTIONS;
}

/* About a word that is no verb: a file is to be estimated from, a verb may be misspelled. */
static int not_a_verb(const char *name)
{
    if (access(name, R_OK) == 0 || strchr(name, '/') || strchr(name, '.')) {
        return complain(CODE_USAGE, "\"%s\" is not a verb of epiq; did you mean epiq estimate %s?", name, name);
    }
    return complain(CODE_USAGE, "\"%s\" is not a verb of epiq; %s", name,
                    near_miss(name, first_word, VERBS, "",
                              *name == '-' ? "a verb comes first, as in epiq estimate DATA --target COL"
                                           : "epiq --help lists them"));
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (is_help(argv[i])) return true;
    }
    return false;
}

static bool wants_details(int argc, char **argv)
{
    return argc > 2 && strcmp(argv[1], "--version") == 0 &&
           (strcmp(argv[2], "--verbose") == 0 || strcmp(argv[2], "-v") == 0);
}

/* What an answer was computed with, for those who wonder about its last digits or how long it took. */
static int print_details(void)
{
    enum { FAIR = 4 }; /* a good BLAS reaches two thirds of what is possible and more, on a core that is not shared */
    const epiq_machine_info m = epiq_machine_describe();
    double product, most;
    epiq_ctx *ctx;
    int status = epiq_ctx_new(&ctx);
    if (status || (status = epiq_machine_rate(ctx, &product, &most))) {
        epiq_ctx_free(ctx);
        return complain(exit_code(status), "%s", epiq_status_text(status));
    }
    printf("BLAS: %s%s%s, %.0f of %.0f GFLOP/s that one core can do%s\n", m.blas, m.core ? " with kernels for " : "",
           m.core ? m.core : "", product / 1e9, most / 1e9, FAIR * product < most ? ": slow" : "");
    if (m.better_core) printf("better: OPENBLAS_CORETYPE=%s\n", m.better_core);
    printf("vectors: %s\nthreads: %d\n", m.vectors, m.threads);
    const char *why;
    epiq_ctx_on_device(ctx, device_open, NULL);
    const epiq_device *gpu = epiq_ctx_device(ctx, &why);
    if (gpu) {
        printf("GPU: %s, %.0f GB, compute capability %d.%d, driver for CUDA %d.%d\n", gpu->model, gpu->bytes / 1e9,
               gpu->capability / 10, gpu->capability % 10, gpu->driver / 1000, gpu->driver % 1000 / 10);
    } else {
        printf("GPU: none (%s)\n", *why ? why : "the part for GPUs is not installed");
    }
    epiq_ctx_free(ctx);
    return CODE_OK;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) return complain(CODE_USAGE, "which verb? epiq --help lists them, epiq demo shows what it does");
    if (strcmp(argv[1], "--version") == 0) {
        printf("epiq %s\n", epiq_version());
        return wants_details(argc, argv) ? print_details() : CODE_OK;
    }
    bool help = is_help(argv[1]) || strcmp(argv[1], "help") == 0;
    if (help && (argc == 2 || argv[2][0] == '-')) {
        help_all();
        return CODE_OK;
    }
    const char *name = argv[help ? 2 : 1];
    const verb *v = find_verb(name);
    if (!v) return not_a_verb(name);
    if (help || wants_help(argc, argv)) {
        help_verb(v);
        return CODE_OK;
    }
    cli c;
    int code = args_parse(&c, v, argc, argv);
    code = code ? code : cluster_join(&c);
    if (!code) epiq_ctx_on_device(c.ctx, device_open, NULL);
    if (!code) code = v->run(&c);
    args_free(&c);
    return code;
}

/* A closed descriptor 0, 1 or 2 would be given to the first file opened, and what is printed would land in it.
 * Opened for reading, printing to it fails as it should. */
static void hold_standard_descriptors(void)
{
    int fd;
    while ((fd = open("/dev/null", O_RDONLY)) >= 0 && fd <= 2) {
    }
    if (fd > 2) close(fd);
}

/* OpenBLAS starts threads of its own when it is loaded. The library never uses them, and they spin for some 30 ms on
 * cores that small problems need: one run of IF on 506 rows in five took 0.11 s instead of 0.01. Absent in other
 * BLAS libraries and in OpenBLAS built without threads. */
extern int blas_thread_shutdown_(void) __attribute__((weak));
extern void openblas_set_num_threads(int n) __attribute__((weak));

/* OpenBLAS maps 128 MB for each of its threads, and retries for ever where that is refused: with a limit on the address
 * space it starts without threads of its own, which takes a fresh start, or not at all. */
static int limit_blas(char **argv)
{
    enum { LEAST_MB = 256 };
    struct rlimit space;
    if (!openblas_set_num_threads || getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) {
        return CODE_OK;
    }
    if (space.rlim_cur < (rlim_t)LEAST_MB << 20) {
        return complain(CODE_NUMERIC,
                        "the address space is limited to %llu MB, and %d are needed; raise it (ulimit -v)",
                        (unsigned long long)space.rlim_cur >> 20, (int)LEAST_MB);
    }
    epiqp_start_with("OPENBLAS_NUM_THREADS", "1", argv);
    return CODE_OK;
}

/* OpenBLAS knows processors by their numbers, and for one newer than itself it takes kernels that are several times too
 * slow. */
static void mend_blas(int argc, char **argv)
{
    const verb *v = argc < 2 ? NULL : find_verb(argv[1]);
    bool computes = v && v != &VERB_SYNTH && v != &VERB_OPTIONS && !wants_help(argc, argv);
    if (!computes && !wants_details(argc, argv)) return;
    epiqp_start_with("OPENBLAS_CORETYPE", epiq_machine_describe().better_core, argv);
}

/* A file that is mapped was cut short, or its disk failed: what cannot be read cannot be gone on with. */
// NOLINTBEGIN(bugprone-signal-handler, cert-sig30-c): errno is the thread's, and the rest makes system calls only
static void on_lost_page(int sig)
{
    static const char text[] =
        "epiq: a file changed, or its disk failed, while it was being read; leave it alone and try again\n";
    static atomic_flag taken = ATOMIC_FLAG_INIT;
    (void)sig;
    while (atomic_flag_test_and_set(&taken)) {
        pause(); /* another thread was here first: it prints and exits */
    }
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) {
        errno = 0; /* standard error is closed: nothing else can be done */
    }
    output_remove_temporaries();
    _exit(CODE_FILE);
}
// NOLINTEND(bugprone-signal-handler, cert-sig30-c)

int main(int argc, char **argv)
{
    if (limit_blas(argv)) {
        _exit(CODE_NUMERIC); /* without OpenBLAS's own end, which would wait for its threads */
    }
    mend_blas(argc, argv);
    if (blas_thread_shutdown_ && openblas_set_num_threads) {
        openblas_set_num_threads(1);
        blas_thread_shutdown_();
    }
    hold_standard_descriptors();
    setlocale(LC_CTYPE, "");  /* only to know whether the terminal takes UTF-8 */
    signal(SIGPIPE, SIG_IGN); /* the write fails instead, and is noticed */
    signal(SIGXFSZ, SIG_IGN); /* likewise */
    signal(SIGBUS, on_lost_page);
    atexit(output_remove_temporaries); /* libgomp and OpenBLAS end the process when they find no memory */
    int code = cluster_start();
    if (code) return code;
    code = dispatch(argc, argv);
    code = code ? code : output_stdout();
    return cluster_end(code, said);
}
