/* server.c - what is to fail, and running the command again and again: a child for each line that arrives on the descriptor
 * EPIQ_FAULTS_FD, which saves loading the libraries each time. A line is
 *
 *     FOLDER <tab> STDIN <tab> STDOUT <tab> STDERR <tab> PLAN
 *
 * with the plan "none", or a class (memory, file, sqlite, disk, any), how (once; rest: that call and all after it; eintr; the
 * number of a signal, with + one that arrives again at every later call) and the number of the call. The answer is a line: the
 * child's status as wait gives it, the calls of each class, what was still held, and the name of the call that failed or -.
 */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 4096, PATIENCE_S = 60 };

/* Shared with the child, so that it can be read however that ended. */
typedef struct {
    atomic_long calls[FAULT_CLASSES], all, held[HELD_KINDS];
    char failed[32];
} tally;
static tally *told;

static struct {
    int what; /* a fault_class; -1: none; FAULT_CLASSES: any */
    long number;
    bool rest, interrupts;
    int signal;
} plan = {.what = -1};

static const char *const CLASSES[] = {"memory", "file", "sqlite", "disk", "any"};

void fault_hold(held_kind what, int more)
{
    if (told) atomic_fetch_add(&told->held[what], more);
}

static bool due(long number)
{
    return number == plan.number || (plan.rest && number > plan.number);
}

bool fault_strikes(fault_class what, const char *name)
{
    if (!told) { /* before main */
        return false;
    }
    long number = atomic_fetch_add(&told->calls[what], 1) + 1, all = atomic_fetch_add(&told->all, 1) + 1;
    bool any = plan.what == FAULT_CLASSES;
    if ((!any && plan.what != (int)what) || !due(any ? all : number)) return false;
    if (!told->failed[0]) snprintf(told->failed, sizeof told->failed, "%s", name);
    if (plan.signal) raise(plan.signal);
    return !plan.signal;
}

int fault_error(int usual)
{
    return plan.interrupts ? EINTR : usual;
}

void fault_fail(int usual)
{
    errno = fault_error(usual);
}

static void make_plan(const char *text)
{
    char class[16] = "", how[16] = "";
    long number = 0;
    plan.what = -1;
    if (sscanf(text, "%15s %15s %ld", class, how, &number) < 3) return;
    for (int k = 0; k <= FAULT_CLASSES; k++) {
        plan.what = strcmp(class, CLASSES[k]) == 0 ? k : plan.what;
    }
    plan.number = number;
    plan.interrupts = strcmp(how, "eintr") == 0;
    plan.signal = atoi(how);
    plan.rest = strcmp(how, "rest") == 0 || strchr(how, '+');
}

/* ---- one run after another ---- */

static void redirect(const char *path, int flags, int to)
{
    int fd = open(path, flags | O_CLOEXEC, 0666);
    if (fd < 0 || dup2(fd, to) < 0) _exit(99);
}

static void run_child(char *line, command *epiq, int argc, char **argv)
{
    char *field[5] = {NULL};
    for (int k = 0; k < 5; k++) {
        field[k] = strsep(&line, "\t\n");
    }
    if (!field[4] || chdir(field[0]) != 0) _exit(98);
    redirect(field[1], O_RDONLY, STDIN_FILENO);
    redirect(field[2], O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect(field[3], O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    alarm(PATIENCE_S); /* whoever hangs is killed, and noticed */
    make_plan(field[4]);
    fault_stdout();
    exit(epiq(argc, argv));
}

static void answer(int fd, int status)
{
    char text[512];
    int length = snprintf(text, sizeof text, "%d", status);
    for (int k = 0; k < FAULT_CLASSES; k++) {
        length += snprintf(text + length, sizeof text - (size_t)length, " %ld", atomic_load(&told->calls[k]));
    }
    for (int k = 0; k < HELD_KINDS; k++) {
        length += snprintf(text + length, sizeof text - (size_t)length, " %ld", atomic_load(&told->held[k]));
    }
    length += snprintf(text + length, sizeof text - (size_t)length, " %s\n", told->failed[0] ? told->failed : "-");
    if (write(fd, text, (size_t)length) != length) exit(97);
}

static int serve(int fd, command *epiq, int argc, char **argv)
{
    char line[LINE];
    FILE *in = fdopen(fd, "r");
    while (in && fgets(line, sizeof line, in)) {
        memset((void *)told, 0, sizeof *told);
        int status = 0;
        pid_t child = fork();
        if (child == 0) run_child(line, epiq, argc, argv);
        while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        answer(fd, child > 0 ? status : -1);
    }
    return 0;
}

int fault_main(command *epiq, int argc, char **argv)
{
    const char *server = getenv("EPIQ_FAULTS_FD"), *one = getenv("EPIQ_FAULT");
    void *shared = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 96;
    fault_sqlite();
    told = shared;
    if (server) return serve(atoi(server), epiq, argc, argv);
    make_plan(one ? one : "");
    fault_stdout();
    return epiq(argc, argv);
}
