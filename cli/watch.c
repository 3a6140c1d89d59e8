/* watch.c - while the library works: SIGINT and SIGTERM ask it to stop, and a terminal sees a line with the time left. And
 * the contexts of those who work in several threads.
 */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static epiq_ctx *const *working; /* set before the handlers are */
static int working_count;
static volatile sig_atomic_t caught, finishing; /* finishing: Ctrl-C asks for what there is */

static struct {
    bool shown, drawn;
    char stage[32];
    double first, last;   /* share done when the stage was first heard of (resumed work took no time), and last time */
    double began, redraw; /* seconds */
} line;

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int watch_signal(void)
{
    return caught;
}

/* The first asks; the second ends at once, as it would without us. */
static void on_signal(int sig)
{
    if (cluster_there()) { /* the others may be gone, and who waits for them hears nothing: end at once */
        static const char text[] = "epiq: ended by the launcher: a rank was lost, or the job was cancelled\n";
        if (cluster_speaks() && write(STDERR_FILENO, text, sizeof text - 1) < 0) {
            errno = 0; /* then nobody reads it */
        }
    } else if (!caught) {
        caught = sig;
        for (int i = 0; i < working_count; i++) {
            (finishing && sig == SIGINT ? epiq_ctx_finish : epiq_ctx_stop)(working[i]);
        }
        return;
    }
    output_remove_temporaries();
    signal(sig, SIG_DFL);
    raise(sig);
}

static void draw(const char *head, double share, double time_s)
{
    enum { BAR = 30 };
    char left[32] = "";
    double spent = time_s - line.began;
    if (share > line.first && spent > 1) {
        double rest = spent * (1 - share) / (share - line.first);
        if (rest < 100) {
            snprintf(left, sizeof left, "  %.0f s left", rest);
        } else {
            snprintf(left, sizeof left, "  %.0f min left", rest / 60);
        }
    }
    if (share < 0) { /* nobody knows how much there is */
        fprintf(stderr, "\r%s%s\033[K", head, caught ? "  stopping" : "");
        line.drawn = true;
        return;
    }
    int filled = (int)(BAR * share);
    char bar[BAR + 1];
    memset(bar, ' ', BAR);
    memset(bar, '#', (size_t)filled);
    bar[BAR] = '\0';
    fprintf(stderr, "\r%s [%s]%s\033[K", head, bar, caught ? "  stopping" : left);
    line.drawn = true;
}

/* stage: what the time left is about; skipped: this share of the work was found finished. */
static int heard(const char *stage, const char *head, double share, bool skipped)
{
    double t = now();
    if (strncmp(line.stage, stage, sizeof line.stage - 1) != 0) {
        snprintf(line.stage, sizeof line.stage, "%s", stage);
        line.first = share;
        line.began = t;
    } else if (skipped) {
        line.first += share - line.last;
    }
    line.last = share;
    if (line.shown && t >= line.redraw) {
        draw(head, share, t);
        line.redraw = t + 0.1;
    }
    return caught && !(finishing && caught == SIGINT);
}

int watch_progress(void *user, const epiq_progress *p)
{
    (void)user;
    char head[64];
    if (p->all > 0) {
        snprintf(head, sizeof head, "%-8s %td/%td", p->stage, p->done, p->all);
    } else {
        snprintf(head, sizeof head, "%-8s %td", p->stage, p->done);
    }
    return heard(p->stage, head, p->all > 0 ? (double)p->done / (double)p->all : -1, false);
}

int watch_study(void *user, const study_progress *p)
{
    static ptrdiff_t cell;
    (void)user;
    char head[160];
    snprintf(head, sizeof head, "cell %td/%td (%s): %td/%td", p->number, p->cells, p->cell, p->done, p->all);
    bool fresh = cell != p->number; /* what is finished when a cell begins was found so */
    cell = p->number;
    return heard("study", head, p->fraction, fresh);
}

void watch_start(epiq_ctx *const *contexts, int count, bool quiet)
{
    const char *terminal = getenv("TERM");
    working = contexts;
    working_count = count;
    line.shown = !quiet && isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
    line.redraw = now() + 0.2; /* what is over by then needs no line */
    /* A shell script starts background jobs with SIGINT ignored; a signal sent by name is still meant. nohup is too.
     * Without SA_RESTART, so that waiting for standard input ends as well. */
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction act = {.sa_handler = on_signal}, old;
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        sigaction(signals[i], NULL, &old);
        if (signals[i] != SIGHUP || old.sa_handler != SIG_IGN) {
            sigaction(signals[i], &act, NULL);
        }
    }
}

void watch_finish(void)
{
    finishing = 1;
}

void watch_end(void)
{
    epiq_ctx_on_progress(working[0], NULL, NULL);
    working_count = 0; /* a signal from now on finds nobody to stop */
    if (line.drawn) {
        fputs("\r\033[K", stderr);
        line.drawn = false;
    }
}

int workers_new(epiq_ctx ***workers, int count)
{
    int made = 0;
    epiq_ctx **list = *workers = calloc((size_t)count, sizeof *list);
    while (list && made < count && epiq_ctx_new(&list[made]) >= 0) {
        made++;
    }
    if (made == count) {
        return CODE_OK;
    }
    workers_free(list, made);
    *workers = NULL;
    return complain(CODE_NUMERIC, "no memory for %d threads", count);
}

void workers_free(epiq_ctx **workers, int count)
{
    for (int i = 0; i < count; i++) {
        epiq_ctx_free(workers[i]);
    }
    free(workers);
}
