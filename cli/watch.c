/* watch.c - while the library works: signals ask it to stop, and a terminal shows a line with the time left, which a thread of
 * its own draws again every second: a network may take minutes, and reports nothing until it is finished.
 */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static epiq_ctx *const *working; /* set before the handlers are */
static int working_count;
static volatile sig_atomic_t caught, finishing; /* finishing: Ctrl-C asks for what there is */

static const double TICK = 0.25,
                    WORTH_SAYING = 60; /* seconds: between looks at the clock; of a run that is announced */

static struct {
    bool shown, drawn, said; /* said: the forecast was */
    bool quiet;
    char stage[32], head[160];
    double first, last; /* share done when the stage was first reported (resumed work took no time), and last time */
    double began, reported,
        redraw;  /* times: of the stage's first report, of the last one; when the line may be drawn again */
    double rest; /* seconds the stage still took at the last report; negative: unknown */
    double started, forecast_s; /* time of the start; seconds the whole run is expected to take, 0: unknown */
} line = {.rest = -1};

static struct {
    pthread_mutex_t lock; /* of the line */
    pthread_cond_t over;
    pthread_t thread;
    bool runs, ends;
} ticker = {.lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};

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

static void draw(double time_s)
{
    enum { BAR = 30 };
    static const char FULL[BAR + 1] = "##############################";
    char left[32] = "";
    const double of_stage = line.rest - (time_s - line.reported), of_run = line.started + line.forecast_s - time_s;
    const bool counted = line.rest >= 0 && of_stage > 0, expected = !counted && line.forecast_s > 0 && of_run > 0;
    if (counted || expected) {
        const double rest = counted ? of_stage : of_run;
        snprintf(left, sizeof left, rest < 100 ? "  %s%.0f s left" : "  %s%.0f min left", counted ? "" : "about ",
                 rest < 100 ? rest : rest / 60);
    }
    const char *last = caught ? "  stopping" : left;
    if (line.last < 0) { /* the total is unknown */
        fprintf(stderr, "\r%s%s\033[K", line.head, last);
    } else {
        const int filled = (int)(BAR * line.last);
        fprintf(stderr, "\r%s [%.*s%*s]%s\033[K", line.head, filled, FULL, BAR - filled, "", last);
    }
    line.drawn = true;
}

static void *tick(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&ticker.lock);
    while (!ticker.ends) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += (long)(TICK * 1e9);
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&ticker.over, &ticker.lock, &until);
        const double t = epiqp_now();
        if (!ticker.ends && *line.head && t >= line.redraw) {
            draw(t);
            line.redraw = t + 0.9;
        }
    }
    pthread_mutex_unlock(&ticker.lock);
    return NULL;
}

/* stage: what the time left is about; skipped: this share of the work was found finished. */
static int redraw(const char *stage, const char *head, double share, bool skipped)
{
    pthread_mutex_lock(&ticker.lock);
    const double t = epiqp_now();
    if (strncmp(line.stage, stage, sizeof line.stage - 1) != 0) {
        snprintf(line.stage, sizeof line.stage, "%s", stage);
        line.first = share;
        line.began = t;
    } else if (skipped) {
        line.first += share - line.last;
    }
    const double spent = t - line.began;
    line.last = share;
    line.reported = t;
    line.rest = share > line.first && spent > 1 ? spent * (1 - share) / (share - line.first) : -1;
    snprintf(line.head, sizeof line.head, "%s", head);
    if (line.shown && t >= line.redraw) {
        draw(t);
        line.redraw = t + 0.1;
    }
    pthread_mutex_unlock(&ticker.lock);
    return caught && !(finishing && caught == SIGINT);
}

static void wipe(void)
{
    if (line.drawn) fputs("\r\033[K", stderr);
    line.drawn = false;
}

/* What the whole run is expected to take; said when it is long, and again when it turns out otherwise. */
static int show_forecast(double seconds)
{
    pthread_mutex_lock(&ticker.lock);
    const bool other = fabs(log(seconds / fmax(line.forecast_s, 1))) > log(1.3);
    if (!line.quiet && seconds >= WORTH_SAYING && (!line.said || other)) {
        const bool minutes = seconds < 5400;
        wipe();
        fprintf(stderr, "%s about %.*f %s.\n", line.said ? "All of it now looks like taking" : "This will take",
                !minutes, seconds / (minutes ? 60 : 3600), minutes ? "min" : "h");
        line.said = true;
    }
    line.forecast_s = seconds;
    pthread_mutex_unlock(&ticker.lock);
    return caught && !(finishing && caught == SIGINT);
}

int watch_progress(void *user, const epiq_progress *p)
{
    (void)user;
    char head[64];
    if (strcmp(p->stage, "forecast") == 0) return show_forecast((double)p->all);
    snprintf(head, sizeof head, p->all > 0 ? "%-8s %td/%td" : "%-8s %td", p->stage, p->done, p->all);
    return redraw(p->stage, head, p->all > 0 ? (double)p->done / (double)p->all : -1, false);
}

int watch_study(void *user, const study_progress *p)
{
    static ptrdiff_t cell;
    (void)user;
    char head[160];
    snprintf(head, sizeof head, "cell %td/%td (%s): %td/%td", p->number, p->cells, p->cell, p->done, p->all);
    bool fresh = cell != p->number; /* what is finished when a cell begins was found so */
    cell = p->number;
    return redraw("study", head, p->fraction, fresh);
}

void watch_start(epiq_ctx *const *contexts, int count, bool quiet)
{
    const char *terminal = getenv("TERM");
    working = contexts;
    working_count = count;
    line.shown = !quiet && isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
    line.quiet = quiet;
    line.started = epiqp_now();
    line.redraw = line.started + 0.2; /* what is over by then needs no line */
    /* A shell script starts background jobs with SIGINT ignored; a signal sent by name is still meant. nohup is too.
     * Without SA_RESTART, so that waiting for standard input ends as well. */
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction act = {.sa_handler = on_signal}, old;
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        sigaction(signals[i], NULL, &old);
        if (signals[i] != SIGHUP || old.sa_handler != SIG_IGN) sigaction(signals[i], &act, NULL);
    }
    if (line.shown && !ticker.runs) { /* signals are for the threads there are already */
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        ticker.ends = false;
        ticker.runs = pthread_create(&ticker.thread, NULL, tick, NULL) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
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

void watch_say(const char *sentence)
{
    pthread_mutex_lock(&ticker.lock);
    wipe();
    fprintf(stderr, "%s\n", sentence);
    pthread_mutex_unlock(&ticker.lock);
}

void watch_end(void)
{
    epiq_ctx_on_progress(working[0], NULL, NULL);
    working_count = 0; /* from now on a signal finds no context to stop */
    if (ticker.runs) {
        pthread_mutex_lock(&ticker.lock);
        ticker.ends = true;
        pthread_cond_signal(&ticker.over);
        pthread_mutex_unlock(&ticker.lock);
        pthread_join(ticker.thread, NULL);
        ticker.runs = false;
    }
    wipe();
}
