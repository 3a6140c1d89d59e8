/* watch.c - while the library works: SIGINT and SIGTERM ask it to stop, and a terminal sees a line with the time left.
 */
#include "cli/cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static epiq_ctx *working; /* set before the handlers are */
static volatile sig_atomic_t caught;

static struct {
    bool shown, drawn;
    char stage[32];
    ptrdiff_t first;      /* units done when the stage was first heard of: resumed ones took no time */
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
    if (!caught) {
        caught = sig;
        epiq_ctx_stop(working);
        return;
    }
    output_remove_temporaries();
    signal(sig, SIG_DFL);
    raise(sig);
}

static void draw(const epiq_progress *p, double time_s)
{
    enum { BAR = 30 };
    char left[32] = "";
    double spent = time_s - line.began;
    if (p->done > line.first && spent > 1) {
        double rest = spent * (double)(p->all - p->done) / (double)(p->done - line.first);
        if (rest < 100) {
            snprintf(left, sizeof left, "  %.0f s left", rest);
        } else {
            snprintf(left, sizeof left, "  %.0f min left", rest / 60);
        }
    }
    int filled = p->all > 0 ? (int)(BAR * p->done / p->all) : 0;
    char bar[BAR + 1];
    memset(bar, ' ', BAR);
    memset(bar, '#', (size_t)filled);
    bar[BAR] = '\0';
    fprintf(stderr, "\r%-8s %td/%td [%s]%s\033[K", p->stage, p->done, p->all, bar, caught ? "  stopping" : left);
    line.drawn = true;
}

static int on_progress(void *user, const epiq_progress *p)
{
    (void)user;
    double t = now();
    bool fresh = strncmp(line.stage, p->stage, sizeof line.stage - 1) != 0;
    if (fresh) {
        snprintf(line.stage, sizeof line.stage, "%s", p->stage);
        line.first = p->done;
        line.began = t;
    }
    if (line.shown && t >= line.redraw) {
        draw(p, t);
        line.redraw = t + 0.1;
    }
    return caught != 0;
}

void watch_start(epiq_ctx *c, bool quiet)
{
    const char *terminal = getenv("TERM");
    working = c;
    line.shown = !quiet && isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
    line.redraw = now() + 0.2; /* what is over by then needs no line */
    epiq_ctx_on_progress(c, on_progress, NULL);
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

void watch_end(void)
{
    epiq_ctx_on_progress(working, NULL, NULL);
    if (line.drawn) {
        fputs("\r\033[K", stderr);
        line.drawn = false;
    }
}
