/* pieces.c - what the writers share: doubles that read back equal, text that cannot harm a terminal, option values. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

report_number report_double(double v)
{
    report_number n;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(n.text, sizeof n.text, "%.*g", digits, v);
        if (strtod(n.text, NULL) == v) {
            break;
        }
    }
    return n;
}

report_phrase report_interval(const epiq_part *p)
{
    report_phrase said = {"no interval"};
    if (p->has_interval) {
        snprintf(said.text, sizeof said.text, p->open ? "at least %.3g" : "between %.3g and %.3g", p->lo, p->hi);
    }
    return said;
}

double report_upper(const epiq_part *p)
{
    return p->known && p->has_interval && !p->open ? p->hi : NAN;
}

void report_paint(FILE *out, report_style style, const char *colour, const char *text)
{
    fputs(style.colour ? colour : "", out);
    report_plain(out, text);
    fputs(style.colour ? "\033[0m" : "", out);
}

static void put_line(FILE *out, report_style style, const char *colour, const char *head, const char *text)
{
    report_paint(out, style, colour, head);
    putc(' ', out);
    report_plain(out, text);
    putc('\n', out);
}

void report_warnings(FILE *out, report_style style, const epiq_warning *warnings, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        put_line(out, style, REPORT_YELLOW, "Warning:", warnings[i].message);
    }
}

void report_conclusion(FILE *out, report_style style, const char *head, const char *text)
{
    put_line(out, style, REPORT_BOLD, head, text);
}

const char *report_plural(ptrdiff_t count)
{
    return count == 1 ? "" : "s";
}

void report_csv_cell(FILE *out, bool known, double v)
{
    fprintf(out, ",%s", known ? report_double(v).text : "");
}

size_t report_utf8(const char *s)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t length = u[0] < 0x80 ? 1 : u[0] < 0xc2 ? 0 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : u[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < length; i++) {
        if ((u[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xf0 && u[1] < 0x90);
    bool surrogate = u[0] == 0xed && u[1] > 0x9f;
    return overlong || surrogate || (u[0] == 0xf4 && u[1] > 0x8f) ? 0 : length;
}

unsigned report_steering(const char *s)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t length = report_utf8(s);
    unsigned code = length == 1   ? u[0]
                    : length == 2 ? (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu)
                    : length == 3 ? (u[0] & 0x0fu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu)
                                  : ' '; /* none, or one of those beyond U+FFFF, which are all shown */
    bool steers = code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
                  (code >= 0x2066 && code <= 0x2069);
    return steers ? code : 0;
}

void report_plain(FILE *out, const char *s)
{
    while (*s) {
        size_t length = report_utf8(s);
        if (length && !report_steering(s)) {
            fwrite(s, 1, length, out);
        } else {
            putc('?', out);
        }
        s += length ? length : 1;
    }
}

int report_columns(const char *s)
{
    int count = 0;
    for (; *s; count++) {
        size_t length = report_utf8(s);
        s += length ? length : 1;
    }
    return count;
}

const char *report_point(const char *at)
{
    return at[strspn(at, "0123456789")] ? "" : "point ";
}

/* Texts may be of any length, and there may be no memory for a copy: they are shown where they are. */
static const char *const *text_option(const epiq_options *o, const char *name)
{
#define TEXT(field)                                                                                                    \
    {                                                                                                                  \
#field, &o->field                                                                                              \
    }
    const struct {
        const char *name, *const *at;
    } texts[] = {TEXT(target), TEXT(features), TEXT(drop), TEXT(onehot), TEXT(group), TEXT(scratch), TEXT(state)};
#undef TEXT
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        if (strcmp(texts[k].name, name) == 0) {
            return texts[k].at;
        }
    }
    return NULL;
}

const char *report_option(const epiq_options *o, const char *name, report_value *room)
{
    const char *const *text = text_option(o, name);
    if (text) {
        return *text && **text ? *text : NULL;
    }
    const epiq_option_info *info;
    ptrdiff_t i = 0;
    while ((info = epiq_options_info(i)) && strcmp(info->name, name) != 0) {
        i++;
    }
    return info && epiq_options_text(o, i, room->text, sizeof room->text) == EPIQ_OK && *room->text ? room->text : NULL;
}
