/* html.c - the skeleton of a report page: its head with the style sheet, escaping, tables. */
#include "report/html.h"
#include "report/report.h"

#include <math.h>
#include <string.h>

/* Colours: Okabe and Ito's hues, darkened until they stand out 4.5 to 1 from white, lightened for dark. */
static const char *const STYLE[] = {
    ":root{color-scheme:light "
    "dark;--back:#fff;--ink:#1b1f24;--soft:#57606a;--rule:#d0d7de;--stripe:#f6f8fa;--note:#8a4b00;",
    "--s0:#0065a3;--s1:#b84a00;--s2:#007a58;--s3:#a03a78;--s4:#7a5c00;--s5:#5a4fcf}\n",
    "@media(prefers-color-scheme:dark){:root{--back:#12161c;--ink:#e6edf3;--soft:#9aa7b4;--rule:#39424d;--stripe:#"
    "1a2028;",
    "--note:#ffc56e;--s0:#6cb6ff;--s1:#ff9d5c;--s2:#3fd3a3;--s3:#f29ac8;--s4:#e3bf4f;--s5:#b3a9ff}}\n",
    "*{box-sizing:border-box}\n",
    "body{margin:0;background:var(--back);color:var(--ink);font:16px/1.55 system-ui,-apple-system,\"Segoe UI\",Roboto,",
    "\"Noto Sans\",\"DejaVu Sans\",sans-serif}\n",
    "main{max-width:68rem;margin:0 auto;padding:1.5rem 1rem 4rem}\n",
    "h1{font-size:1.7rem;line-height:1.25;margin:.2em 0 .4em}h2{font-size:1.25rem;margin:2.2em 0 .6em;",
    "padding-top:.6em;border-top:1px solid var(--rule)}\n",
    "p,li{max-width:46rem}.kicker{color:var(--soft);margin:0;letter-spacing:.02em}.small{color:var(--soft);font-size:."
    "9rem}\n",
    ".answer{font-size:1.2rem;line-height:1.5;max-width:50rem}.warnings li{color:var(--note)}\n",
    ".box{position:relative;overflow-x:auto;margin:1rem 0 1.5rem}.box:focus-visible,summary:focus-visible{outline:2px "
    "solid var(--s0);",
    "outline-offset:2px}\n",
    "table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}\n",
    "caption{text-align:left;font-weight:600;padding:0 0 .5rem}\n",
    "th,td{padding:.22rem .7rem;text-align:right;white-space:nowrap;vertical-align:top}th.l,td.l{text-align:left}\n",
    "thead th{border-bottom:2px solid var(--rule);font-weight:600}tbody th{font-weight:400}\n",
    "tbody+tbody tr:first-child>*{border-top:1px solid var(--rule);padding-top:.5rem}tbody "
    "tr:last-child>*{padding-bottom:",
    ".5rem}tbody tr:hover{background:var(--stripe)}\n",
    "abbr{text-decoration:none}td.off{color:var(--note);font-weight:600}td.wide{white-space:normal;overflow-wrap:"
    "anywhere}\n",
    "figure{margin:1rem 0 2rem}figcaption{max-width:46rem;margin-bottom:.4rem}figcaption b{display:block}\n",
    "svg.chart{display:block;width:100%;height:auto;max-width:34rem}\n",
    ".panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:.5rem 1rem}\n",
    ".panels svg.chart{max-width:26rem}\n",
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr));gap:0 2rem}\n",
    ".figures>*,.panels>*{min-width:0}caption.aside{position:absolute;width:1px;height:1px;padding:0;overflow:hidden;"
    "clip-path:inset(50%)}\n",
    ".legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;padding:0;margin:.4rem 0;font-size:.9rem}\n",
    ".key{width:28px;height:14px;margin-right:.4rem;vertical-align:-2px}\n",
    "svg "
    "text{font-size:12px;fill:var(--ink)}text.mid{text-anchor:middle}text.end{text-anchor:end}text.name{font-weight:"
    "600}\n",
    "svg .grid{stroke:var(--rule);stroke-width:1;opacity:.6}svg .axis{stroke:var(--soft);fill:none}",
    "svg .rule{stroke:var(--ink);stroke-width:1.3;stroke-dasharray:5 4}\n",
    ".s0{--c:var(--s0);--d:none}.s1{--c:var(--s1);--d:7 4}.s2{--c:var(--s2);--d:2 4}.s3{--c:var(--s3);--d:9 3 2 3}",
    ".s4{--c:var(--s4);--d:12 4}.s5{--c:var(--s5);--d:5 2}\n",
    "svg g>*{fill:var(--c);stroke:var(--c)}svg "
    "g>.line{fill:none;stroke-width:2;stroke-linecap:round;stroke-linejoin:round;",
    "stroke-dasharray:var(--d)}svg g>.band{stroke:none;opacity:.18}svg g>.bar{fill:none;stroke-width:1.6}",
    "svg g.hollow>*{fill:var(--back);stroke-width:1.5}svg g.many>*{fill-opacity:.55;stroke-opacity:.7}\n",
    "summary{cursor:pointer;padding:.3rem 0}code{overflow-wrap:anywhere;font-size:.9em}\n",
    "@page{margin:14mm}\n",
    "@media print{:root{--back:#fff;--ink:#000;--soft:#444;--rule:#aaa;--stripe:#fff;--note:#6b3a00;",
    "--s0:#0065a3;--s1:#b84a00;--s2:#007a58;--s3:#a03a78;--s4:#7a5c00;--s5:#5a4fcf}",
    "body{font-size:9.5pt}main{max-width:none;padding:0}h1{font-size:16pt}h2{font-size:12pt;margin:1em 0 .3em}",
    ".box{overflow:visible;margin:.4rem 0}table{font-size:7pt}th,td{padding:.08rem .35rem}figure{margin:.4rem 0}",
    ".panels{grid-template-columns:repeat(3,1fr)}.figures{grid-template-columns:1fr 1fr}",
    ".legend,.small{font-size:8.5pt}details:not([open]){display:none}",
    "figure,tbody,tr{break-inside:avoid}h2,figcaption{break-after:avoid}}\n",
};

void html_open(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
          out);
    html_element(out, "title", title);
    fputs("<style>\n", out);
    for (size_t i = 0; i < sizeof STYLE / sizeof *STYLE; i++) {
        fputs(STYLE[i], out);
    }
    fputs("</style>\n</head>\n<body>\n<main>\n", out);
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
        bool control = (ch < 0x20 && ch != '\n' && ch != '\t') || ch == 0x7f ||
                       (length == 2 && ch == 0xc2 && (unsigned char)s[1] < 0xa0);
        if (!length || control) {
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
