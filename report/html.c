/* html.c - the skeleton of a report page: its head, escaping, tables. */
#include "report/html.h"
#include "report/report.h"
#include "report/style.h"

#include <math.h>
#include <string.h>

void html_open(FILE *out, const char *title)
{
    /* A page fetches nothing and runs nothing; should a mistake of ours ever let markup in, the browser still refuses. */
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
          "base-uri 'none'; form-action 'none'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
          out);
    html_element(out, "title", title);
    style_page(out);
    fputs("</head>\n<body>\n<main>\n", out);
}

void html_close(FILE *out)
{
    fputs("</main>\n</body>\n</html>\n", out);
}

void html_text(FILE *out, const char *s)
{
    while (s && *s) {
        unsigned char ch = (unsigned char)*s;
        size_t length = report_utf8(s);
        const char *name = ch == '&' ? "&amp;" : ch == '<' ? "&lt;" : ch == '>' ? "&gt;" : ch == '"' ? "&quot;" : NULL;
        name = ch == '\'' ? "&#39;" : name;
        if (!length || (report_steering(s) && ch != '\n' && ch != '\t')) {
            fputs("\xef\xbf\xbd", out); /* U+FFFD: what decoders put in its place */
        } else if (name) {
            fputs(name, out);
        } else {
            fwrite(s, 1, length, out);
        }
        s += length ? length : 1;
    }
}

void html_element(FILE *out, const char *tag, const char *text)
{
    fprintf(out, "<%s>", tag);
    html_text(out, text);
    fprintf(out, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

void html_value(FILE *out, const char *name, double v)
{
    if (isfinite(v)) {
        fprintf(out, " data-%s=\"%s\"", name, report_double(v).text);
    }
}

void html_table_open(FILE *out, const char *caption, bool shown)
{
    fputs("<div class=\"box\" role=\"region\" tabindex=\"0\" aria-label=\"", out);
    html_text(out, caption);
    fputs("\"><table>\n", out);
    fputs(shown ? "<caption>" : "<caption class=\"aside\">", out);
    html_text(out, caption);
    fputs("</caption>\n", out);
    fputs("<thead><tr>", out);
}

void html_column(FILE *out, const char *head, bool left)
{
    fprintf(out, "<th scope=\"col\"%s>", left ? " class=\"l\"" : "");
    html_text(out, head);
    fputs("</th>", out);
}

void html_table_body(FILE *out)
{
    fputs("</tr></thead>\n<tbody>\n", out);
}

void html_table_group(FILE *out)
{
    fputs("</tbody>\n<tbody>\n", out);
}

void html_table_close(FILE *out)
{
    fputs("</tbody>\n</table></div>\n", out);
}

void html_pair(FILE *out, const char *name, const char *value)
{
    fputs("<tr><th scope=\"row\" class=\"l\">", out);
    html_text(out, name);
    fputs("</th><td class=\"l wide\">", out);
    html_text(out, value);
    fputs("</td></tr>\n", out);
}

void html_upper(FILE *out, const epiq_part *p)
{
    if (p->known && p->has_interval && p->open) {
        fputs("<td title=\"the upper end cannot be known\">open</td>", out);
    } else {
        html_number(out, "hi", report_upper(p), 3);
    }
}

void html_number(FILE *out, const char *name, double v, int digits)
{
    fputs("<td", out);
    html_value(out, name, v);
    if (isfinite(v)) {
        fprintf(out, " title=\"%s\">%.*g</td>", report_double(v).text, digits, v);
    } else {
        fputs("></td>", out);
    }
}
