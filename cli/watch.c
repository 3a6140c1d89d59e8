/* watch.c - while the library works: signals ask it to stop, and a terminal shows a line with the time left. */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
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

int watch_signal(void)
{
    return caught;
}

/* The first asks; the second ends at once, as it would without us. */
static void on_signal(int sig)
{
    if (cluster_there()) { /* other ranks may be gone, and waiting for them would never end */
        static const char text[] = "epiq: ended by the launcher: a rank was lost, or the job was cancelled\n";
        if (cluster_speaks() && write(STDERR_FILENO, text, sizeof text - 1) < 0) {
            errno = 0; /* standard error is closed: nothing else can be done */
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
    static const char FULL[BAR + 1] = "##############################";
    char left[32] = "";
    double spent = time_s - line.began;
    if (share > line.first && spent > 1) {
        double rest = spent * (1 - share) / (share - line.first);
        snprintf(left, sizeof left, rest < 100 ? "  %.0f s left" : "  %.0f min left", rest < 100 ? rest : rest / 60);
    }
    const char *last = caught ? "  stopping" : left;
    int filled = (int)(BAR * share);
    if (share < 0) { /* the total is unknown */
        fprintf(stderr, "\r%s%s\033[K", head, last);
    } else {
        fprintf(stderr, "\r%s [%.*s%*s]%s\033[K", head, filled, FULL, BAR - filled, "", last);
    }
    line.drawn = true;
}

/* stage: what the time left is about; skipped: this share of the work was found finished. */
static int heard(const char *stage, const char *head, double share, bool skipped)
{
    double t = epiqp_now();
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
    snprintf(head, sizeof head, p->all > 0 ? "%-8s %td/%td" : "%-8s %td", p->stage, p->done, p->all);
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
    line.redraw = epiqp_now() + 0.2; /* what is over by then needs no line */
    /* A shell script starts background jobs with SIGINT ignored; a signal sent by name is still meant. nohup is too.
     * Without SA_RESTART, so that waiting for standard input ends as well. */
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction act = {.sa_handler = on_signal}, old;
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        sigaction(signals[i], NULL, &old);
        if (signals[i] != SIGHUP || old.sa_handler != SIG_IGN) sigaction(signals[i], &act, NULL);
    }
}

void watch_finish(void)
{
    finishing = 1;
}

bool watch_shown(void)
{
    return line.shown;
}

static void wipe(void)
{
    if (line.drawn) fputs("\r\033[K", stderr);
    line.drawn = false;
}

void watch_say(const char *sentence)
{
    wipe();
    fprintf(stderr, "%s\n", sentence);
}

void watch_end(void)
{
    epiq_ctx_on_progress(working[0], NULL, NULL);
    working_count = 0; /* from now on a signal finds no context to stop */
    wipe();
}
