/* 3_resume.c - a long run that is stopped half way and taken up again: finished members are kept in a state file. */
#include <epiq_details.h>

#include <stdio.h>

enum { N = 60, D = 2, MEMBERS = 8 };
static const char STATE[] = "3_resume.state";

/* Called after each finished network; anything but 0 asks to stop. user is the number of members to stop at. */
static int stop_at(void *user, const epiq_progress *p)
{
    printf("  %s %td of %td\n", p->stage, p->done, p->all);
    return p->stage[0] == 'm' && p->done >= *(const ptrdiff_t *)user;
}

/* The whole job with a context of its own; how many trainings came from the state file, or a negative status. */
static ptrdiff_t run(ptrdiff_t stop, double *variance)
{
    static double x[N * D], y[N];
    epiq_ctx *c = NULL;
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    epiq_result *r = NULL;
    epiq_options o = epiq_options_default();
    o.methods = EPIQ_EV;
    o.members = MEMBERS;
    o.width = 64;
    o.state = STATE;

    int status = EPIQ_E_NOMEM;
    if (epiq_ctx_new(&c) >= 0 && epiq_synth(c, 1, N, D, 1, x, y) >= 0 &&
        epiq_data_new(c, N, D, x, y, NULL, &o, &data) >= 0 && epiq_points_new(c, data, &at) >= 0 &&
        epiq_points_add(c, at, "mean") >= 0) {
        epiq_ctx_on_progress(c, stop_at, &stop);
        status = epiq_estimate(c, data, at, &o, &r);
    }
    printf("  %s\n", status < 0 && c ? epiq_message(c) : epiq_status_text(status));
    ptrdiff_t resumed = status < 0 ? status : r->training->resumed;
    *variance = status < 0 ? -1 : r->points[0]->procedural.variance;
    epiq_result_free(c, r);
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    epiq_ctx_free(c);
    return resumed;
}

int main(void)
{
    double first, second;
    remove(STATE);
    printf("stopped half way:\n");
    ptrdiff_t stopped = run(MEMBERS / 2, &first);
    printf("the same again:\n");
    ptrdiff_t resumed = run(MEMBERS + 1, &second);
    printf("%td of %d members were taken from %s; procedural variance %.2e\n", resumed, MEMBERS, STATE, second);
    remove(STATE);
    return stopped == EPIQ_E_STOPPED && resumed >= MEMBERS / 2 && second > 0 ? 0 : 1;
}
