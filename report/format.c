/* format.c - what the writers share: intervals in words, warnings, option values. */
#include "report/format.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

phrase phrase_of(const char *format, ...)
{
    phrase said;
    va_list args;
    va_start(args, format);
    vsnprintf(said.text, sizeof said.text, format, args);
    va_end(args);
    return said;
}

phrase fit_by(const epiq_fit_error *f)
{
    return f->folds > 0 ? phrase_of("%td folds%s", f->folds, f->by_group ? " of groups" : "")
                        : phrase_of("leave-one-%sout", f->by_group ? "group-" : "");
}

const char *confidence_method(const epiq_point *p)
{
    return p->confidence.method == EPIQ_CONFIDENCE_BATCHING    ? "batching"
           : p->confidence.method == EPIQ_CONFIDENCE_BOOTSTRAP ? "bootstrap"
           : p->confidence.method == EPIQ_CONFIDENCE_JACKKNIFE ? "jackknife"
           : p->confidence.method == EPIQ_CONFIDENCE_HALVES    ? "halves"
                                                               : epiq_method_text(p->data.method);
}

phrase interval_text(const epiq_part *p)
{
    return phrase_of(!p->has_interval ? "no interval"
                     : p->open        ? "at least %s"
                                      : "between %s and %s",
                     epiqp_rounded_to(p->lo, 3).text, epiqp_rounded_to(p->hi, 3).text);
}

phrase sd_interval_text(const epiq_part *p)
{
    return phrase_of(!p->has_interval ? "no interval"
                     : p->open        ? "at least %s"
                                      : "%s to %s",
                     epiqp_rounded_sd(sqrt(p->lo)).text, epiqp_rounded_sd(sqrt(p->hi)).text);
}

double part_variance(const epiq_part *p)
{
    return p->known ? p->variance : NAN;
}

double part_sd(const epiq_part *p)
{
    return sqrt(part_variance(p));
}

double interval_lower(const epiq_part *p)
{
    return p->known && p->has_interval ? p->lo : NAN;
}

double interval_upper(const epiq_part *p)
{
    return p->known && p->has_interval && !p->open ? p->hi : NAN;
}

const epiq_warning *report_warning(const report_answer *a, ptrdiff_t i)
{
    return a->scores       ? a->scores->warnings[i]
           : a->comparison ? a->comparison->warnings[i]
           : a->result     ? a->result->warnings[i]
                           : NULL;
}

const epiq_warning *report_note(const report_answer *a, ptrdiff_t i)
{
    return a->result && a->result->notes ? a->result->notes[i] : NULL;
}

const char *plural(ptrdiff_t count)
{
    return count == 1 ? "" : "s";
}

const char *point_prefix(const char *at)
{
    return at[strspn(at, "0123456789")] ? "" : "point ";
}

const char *sha_text(const report_run *run)
{
    return run->data.sha256 && *run->data.sha256 ? run->data.sha256 : NULL;
}

/* Texts may be of any length, and there may be no memory for a copy: they are shown where they are. */
const char *option_text(const epiq_options *o, const char *name, option_buffer *room)
{
    const ptrdiff_t i = epiq_options_index(name);
    const char *text = epiq_options_string(o, i);
    if (!text && epiq_options_text(o, i, room->text, sizeof room->text) == EPIQ_OK) text = room->text;
    return text && *text ? text : NULL;
}
