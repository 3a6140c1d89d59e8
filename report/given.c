/* given.c - networks that were brought along (epiq_combine): how many, of what kernel, kept where, and whether they are
 * enough, in the words of the text and the page and in the JSON.
 */
#include "report/json.h"
#include "report/report.h"

#include <math.h>

const char *const REPORT_GIVEN_OPTIONS[] = {"ensemble-size", "level", "influential", "lambda", "correction", "probes",
                                            "mem-limit",     "seed",  "threads",     "state",  "backend",    NULL};

epiq_data_info report_given_data(const epiq_result *r)
{
    return (epiq_data_info){.rows = r->given.rows, .target = "y", .factor = 1};
}

const char *report_given_kernel(const epiq_result *r)
{
    return !(r->methods & EPIQ_IF) ? NULL : r->given.parameters ? "jacobian" : "gram";
}

/* ---- for people ---- */

void report_given_text(FILE *out, const epiq_result *r, const report_run *run)
{
    ptrdiff_t members = r->given.members, batches = r->given.batches, rows = r->given.rows;
    if (members) {
        fprintf(out, "%td network%s trained on all rows", members, report_plural(members));
    }
    if (batches) {
        fprintf(out, members ? ", %td%s" : "%td network%s trained", batches, members ? "" : report_plural(batches));
        fputs(batches == 1 ? " on a batch of them" : " on a batch of them each", out);
    }
    if (rows) {
        fprintf(out, "%s%td row%s", members || batches ? "; " : "", rows, report_plural(rows));
    }
    if (report_given_kernel(r)) {
        fputs(r->given.parameters ? ", kernel of a Jacobian" : ", kernel as given", out);
        if (r->given.parameters) {
            fprintf(out, " of %td parameter%s", r->given.parameters, report_plural(r->given.parameters));
        }
        fprintf(out, ", lambda %.4g", run->options->lambda);
    }
    fprintf(out, "; %.3g s\n", run->seconds);
    if (r->retrain.known) {
        fprintf(out,
                "%td networks retrained on %td pairs of target vectors; noise %.4g (standard deviation, if equal "
                "everywhere)",
                r->retrain.networks, r->retrain.replicates, sqrt(r->retrain.noise_variance));
        if (r->retrain.kappa > 0) {
            fprintf(out, "; they follow the data %.3g +- %.2g times as much as the kernel", r->retrain.kappa,
                    r->retrain.kappa_se);
        }
        putc('\n', out);
    }
    if (run->options->state) {
        report_plain(out, run->options->state);
        fprintf(out, ": %td network%s added, %td there now\n", r->given.added, report_plural(r->given.added),
                r->given.kept);
    }
}

report_sentence report_until(const epiq_result *r, const report_run *run)
{
    report_sentence s = {""};
    char enough[64] = "which is enough";
    if (!run->given || !(run->given->until > 0)) {
        return s;
    }
    ptrdiff_t members = r->given.members, needed = epiq_members_for(run->given->until, run->options->level);
    if (members < needed) {
        snprintf(enough, sizeof enough, "so train %td more", needed - members);
    }
    snprintf(s.text, sizeof s.text,
             "%td members bring half the width of the %.4g %% interval of the procedural variance down to "
             "%.4g %% of it; there %s %td, %s.",
             needed, 100 * run->options->level, 100 * run->given->until, members == 1 ? "is" : "are", members, enough);
    return s;
}

/* ---- for programs ---- */

static void known_count(json *j, const char *key, bool known, ptrdiff_t value)
{
    if (known) {
        json_integer(j, key, value);
    } else {
        json_null(j, key);
    }
}

void report_json_given(json *j, const epiq_result *r, const report_run *run)
{
    if (!run->given) {
        return;
    }
    json_object(j, "given", JSON_FLAT);
    json_integer(j, "members", r->given.members);
    json_integer(j, "batches", r->given.batches);
    known_count(j, "rows", r->given.rows, r->given.rows);
    json_integer(j, "points", r->point_count);
    known_count(j, "added", run->options->state, r->given.added);
    known_count(j, "kept", run->options->state, r->given.kept);
    json_end(j);
    if (run->given->until > 0) {
        ptrdiff_t needed = epiq_members_for(run->given->until, run->options->level);
        json_object(j, "until", JSON_FLAT);
        json_real(j, "relative", run->given->until);
        json_bool(j, "reached", r->given.members >= needed);
        json_integer(j, "members", r->given.members);
        json_integer(j, "needed", needed);
        json_end(j);
    }
}
