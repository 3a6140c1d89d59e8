/* html.c - the skeleton of a report page: its head and escaping. */
#include "chart/html.h"
#include "chart/svg_parts.h"
#include "chart/text.h"

#include <math.h>
#include <stdint.h>

void html_open(FILE *out, const char *title)
{
    /* A page fetches nothing and runs nothing; should a mistake of ours ever let markup in, the browser still refuses. */
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
          "base-uri 'none'; form-action 'none'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
          out);
    html_print(out, "<title>%s</title>\n", title);
    style_page(out);
    fputs("</head>\n<body>\n<main>\n", out);
}

void html_close(FILE *out)
{
    fputs("</main>\n</body>\n</html>\n", out);
}

void html_part(FILE *out, const char *s, ptrdiff_t most)
{
    static const char *const NAMES[] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    for (; s && *s && most; most--) {
        const char *name = (unsigned char)*s < sizeof NAMES / sizeof *NAMES ? NAMES[(unsigned char)*s] : NULL;
        if (name) fputs(name, out);
        s += name ? 1 : put_character(out, s);
    }
}

void html_text(FILE *out, const char *s)
{
    html_part(out, s, PTRDIFF_MAX);
}

void html_print(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vprint(out, html_text, format, args);
    va_end(args);
}

void html_value(FILE *out, const char *name, double v)
{
    if (isfinite(v)) fprintf(out, " data-%s=\"%s\"", name, number_text(v).text);
}
