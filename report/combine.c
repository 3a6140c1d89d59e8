/* combine.c - networks trained elsewhere (epiq_combine): how many, of what kernel, kept where, and whether they are
 * enough, in the words of the text and the page and in the JSON.
 */
#include "report/doc.h"
#include "report/manifest.h"

#include <math.h>

epiq_data_info combine_data(const epiq_result *r)
{
    return (epiq_data_info){.rows = r->given->rows, .target = "y", .factor = 1};
}

const char *combine_kernel(const epiq_result *r)
{
    return !(r->ran->methods & EPIQ_IF) ? NULL : r->given->parameters ? "jacobian" : "gram";
}

void describe_combined(doc *d)
{
    const report_run *run = d->run;
    const ptrdiff_t members = d->r->given->members, batches = d->r->given->batches, rows = d->r->given->rows,
                    parameters = d->r->given->parameters;
    const bool kernel = combine_kernel(d->r), retrained = d->r->retrain->known;
    doc_when(d, members, "%td network%s trained on all rows", members, plural(members));
    doc_when(d, batches, members ? ", %td%s" : "%td network%s trained", batches, members ? "" : plural(batches));
    doc_when(d, batches, batches == 1 ? " on a batch of them" : " on a batch of them each");
    doc_when(d, rows, "%s%td row%s", members || batches ? "; " : "", rows, plural(rows));
    doc_when(d, kernel, parameters ? ", kernel of a Jacobian" : ", kernel as given");
    doc_when(d, kernel && parameters, " of %td parameter%s", parameters, plural(parameters));
    doc_when(d, kernel, ", lambda %.4g", run->options->lambda);
    doc_say(d, "; %s s\n", epiqp_rounded_sd(run->seconds).text);
    doc_when(d, run->options->state, "%s: %td network%s added, %td there now\n", run->options->state,
             d->r->given->added, plural(d->r->given->added), d->r->given->kept);
    if (!run->verbose) return;
    doc_when(
        d, retrained,
        "%td networks retrained on %td pairs of target vectors; noise %.4g (standard deviation, if equal everywhere)",
        d->r->retrain->networks, d->r->retrain->replicates, sqrt(d->r->retrain->noise_variance));
    doc_when(d, retrained && d->r->retrain->kappa > 0,
             "; they follow the data %.3g +- %.2g times as much as the kernel", d->r->retrain->kappa,
             d->r->retrain->kappa_se);
    doc_when(d, retrained, "\n");
}

phrase members_needed(const epiq_result *r, const report_run *run)
{
    if (!run->given || !(run->given->until > 0)) return (phrase){""};
    const ptrdiff_t members = r->given->members, needed = epiq_members_for(run->given->until, run->options->level);
    return phrase_of("%td networks bring half the width of the %.4g %% interval of the retraining variance down to "
                     "%.4g %% of it; there %s %td, %s.",
                     needed, 100 * run->options->level, 100 * run->given->until, members == 1 ? "is" : "are", members,
                     members < needed ? phrase_of("so train %td more", needed - members).text : "which is enough");
}

void json_combined(json *j, const epiq_result *r, const report_run *run)
{
    if (!run->given) return;
#define GIVEN(member) FIELD(#member, COUNT, &r->given->member)
    const bool kept = run->options->state;
    json_struct(j, "given", true, JSON_FLAT,
                FIELDS(GIVEN(members), GIVEN(batches), FIELD_IF("rows", COUNT, &r->given->rows, FIELD_NONZERO),
                       FIELD("points", COUNT, &r->point_count), FIELD("added", COUNT, kept ? &r->given->added : NULL),
                       FIELD("kept", COUNT, kept ? &r->given->kept : NULL)));
    if (run->given->until > 0) {
        const ptrdiff_t needed = epiq_members_for(run->given->until, run->options->level);
        const int reached = r->given->members >= needed;
        json_struct(j, "until", true, JSON_FLAT,
                    FIELDS(FIELD("relative", REAL, &run->given->until), FIELD("reached", BOOL, &reached),
                           GIVEN(members), FIELD("needed", COUNT, &needed)));
    }
}
