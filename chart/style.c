/* style.c - how pages and pictures look. In the rules of pictures @NAME is a colour: a variable on a page, which
 * follows light, dark and paper, and the colour itself in a file alone.
 */
#include "chart/svg.h"
#include "chart/svg_parts.h"

#include <string.h>

/* Okabe and Ito's hues, darkened until they stand out 4.5 to 1 from white, lightened for dark. */
typedef enum { LIGHT, DARK, PAPER } scheme;
static const struct {
    const char *name, *in[PAPER + 1];
} COLOURS[] = {
    {"back", {"#fff", "#12161c", "#fff"}},
    {"ink", {"#1b1f24", "#e6edf3", "#000"}},
    {"soft", {"#57606a", "#9aa7b4", "#444"}},
    {"rule", {"#d0d7de", "#39424d", "#aaa"}},
    {"stripe", {"#f6f8fa", "#1a2028", "#fff"}},
    {"note", {"#8a4b00", "#ffc56e", "#6b3a00"}},
    {"shade", {"rgba(0,0,0,.3)", "rgba(255,255,255,.3)", "transparent"}},
    {"s0", {"#0065a3", "#6cb6ff", "#0065a3"}},
    {"s1", {"#b84a00", "#ff9d5c", "#b84a00"}},
    {"s2", {"#007a58", "#3fd3a3", "#007a58"}},
    {"s3", {"#a03a78", "#f29ac8", "#a03a78"}},
    {"s4", {"#7a5c00", "#e3bf4f", "#7a5c00"}},
    {"s5", {"#5a4fcf", "#b3a9ff", "#5a4fcf"}},
};
static const char *const DASHES[SVG_COLOURS] = {"none", "7 4", "2 4", "9 3 2 3", "12 4", "5 2"};

static const char *const PICTURE[] = {
    "svg "
    "text{font-size:12px;fill:@ink}text.mid{text-anchor:middle}text.end{text-anchor:end}text.name{font-weight:600}\n",
    "svg .grid{stroke:@rule;stroke-width:1;opacity:.6}svg .axis{stroke:@soft;fill:none}\n",
    "svg text.tag{paint-order:stroke;stroke:@back;stroke-width:3px;stroke-linejoin:round}\n",
    "svg .rug{stroke:@soft;stroke-width:1;opacity:.45}\n",
    "svg .rule{stroke:@ink;stroke-width:1.3;stroke-dasharray:5 4}\n",
    "svg g>.line{fill:none;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}\n",
    "svg g>.band{stroke:none;opacity:.22}svg g>.edge{fill:none;stroke-width:1.3;stroke-dasharray:4 3}\n",
    "svg g>.bar{fill:none;stroke-width:1.6}svg g.ink>*{fill:@ink;stroke:@ink}\n",
    "svg g.hollow>*{fill:@back;stroke-width:1.5}svg g.hollow>.edge{fill:none}\n",
    "svg g.alone>.line{stroke-dasharray:none}svg g.many>*{fill-opacity:.55;stroke-opacity:.7}\n",
};

static const char *const PAGE[] = {
    "*{box-sizing:border-box}\n",
    "body{margin:0;background:var(--back);color:var(--ink);font:16px/1.55 system-ui,-apple-system,\"Segoe UI\",Roboto,",
    "\"Noto Sans\",\"DejaVu Sans\",sans-serif}\n",
    "main{max-width:68rem;margin:0 auto;padding:1.5rem 1rem 4rem}\n",
    "h1{font-size:1.7rem;line-height:1.25;margin:.2em 0 .4em}h2{font-size:1.25rem;margin:2.2em 0 .6em;",
    "padding-top:.6em;border-top:1px solid var(--rule)}h1,h2,h3,p,li,figcaption,summary{overflow-wrap:anywhere}\n",
    "h3{font-size:1.05rem;margin:1.6em 0 .4em}\n",
    "p,li{max-width:46rem}.kicker{color:var(--soft);margin:0;letter-spacing:.02em}\n",
    ".small{color:var(--soft);font-size:.9rem}.answer{font-size:1.2rem;line-height:1.5;max-width:50rem}\n",
    ".warnings li{color:var(--note)}a{color:var(--s0)}\n",
    ".across{grid-column:1/-1}.across .box{margin-bottom:.5rem}\n",
    /* a table that is wider than its box has a shadow at the side to which it can be moved */
    ".box{position:relative;overflow-x:auto;margin:1rem 0 1.5rem;background:",
    "linear-gradient(to right,var(--back) 40%,transparent) 0 0/3rem 100% no-repeat local,",
    "linear-gradient(to left,var(--back) 40%,transparent) 100% 0/3rem 100% no-repeat local,",
    "linear-gradient(to right,var(--shade),transparent) 0 0/.9rem 100% no-repeat scroll,",
    "linear-gradient(to left,var(--shade),transparent) 100% 0/.9rem 100% no-repeat scroll}\n",
    ".box:focus-visible,summary:focus-visible{outline:2px solid var(--s0);outline-offset:2px}\n",
    "table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}\n",
    "caption{text-align:left;font-weight:600;padding:0 0 .5rem}\n",
    "th,td{padding:.22rem .7rem;text-align:right;white-space:nowrap;vertical-align:top}th.l,td.l{text-align:left}\n",
    "thead th{border-bottom:2px solid var(--rule);font-weight:600}tbody th{font-weight:400}\n",
    "tbody+tbody tr:first-child>*{border-top:1px solid var(--rule);padding-top:.5rem}\n",
    "tbody tr:last-child>*{padding-bottom:.5rem}tbody tr:hover{background:var(--stripe)}\n",
    "abbr{text-decoration:none}td.off{color:var(--note);font-weight:600}\n",
    "td.wide{white-space:normal;overflow-wrap:anywhere}\n",
    /* on a phone words wrap, and columns that say what others or a picture say are left out */
    "@media(max-width:40rem){table{font-size:.78rem}th,td{white-space:normal;padding:.22rem .14rem}",
    "thead th{font-size:.7rem}tbody th{min-width:4.6rem}tbody th,td.l{overflow-wrap:anywhere}.fold{display:none}}\n",
    "figure{margin:1rem 0 2rem}figcaption{max-width:46rem;margin-bottom:.4rem}figcaption b{display:block}\n",
    "svg.chart{display:block;width:100%;height:auto;max-width:30rem}\n",
    ".panels{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,17rem),1fr));gap:.5rem 1rem}\n",
    ".panels svg.chart{max-width:26rem}\n",
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr));gap:0 2rem}\n",
    ".figures>*,.panels>*{min-width:0}\n",
    "caption.aside{position:absolute;width:1px;height:1px;padding:0;overflow:hidden;clip-path:inset(50%)}\n",
    ".legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;padding:0;margin:.4rem 0;font-size:.9rem}\n",
    ".key{width:28px;height:14px;margin-right:.4rem;vertical-align:-2px}\n",
    ".words{max-width:46rem;font-size:.9rem;margin:0}.words dt{font-weight:600;margin-top:.5rem}.words dd{margin:0}\n",
    "summary{cursor:pointer;padding:.3rem 0}code{overflow-wrap:anywhere;font-size:.9em}\n",
    "@page{margin:14mm}\n",
    "@media print{body{font-size:9.5pt}main{max-width:none;padding:0}h1{font-size:16pt}\n",
    "h2{font-size:12pt;margin:1em 0 .3em}h3{font-size:10.5pt;margin:.8em 0 .2em}.answer{font-size:11.5pt}\n",
    ".box{overflow:visible;margin:.4rem 0}table{font-size:7pt}th,td{padding:.08rem .35rem}figure{margin:.4rem 0}\n",
    ".panels{grid-template-columns:repeat(3,1fr)}.figures{grid-template-columns:1fr 1fr}\n",
    ".legend,.small{font-size:8.5pt}details:not([open]){display:none}\n",
    "figure,tbody,tr,svg{break-inside:avoid}figure:has(.panels){break-inside:auto}h2,h3,figcaption{break-after:avoid}}"
    "\n",
};

enum { COLOUR_COUNT = sizeof COLOURS / sizeof *COLOURS };

static void put_scheme(FILE *out, scheme s)
{
    fprintf(out, ":root{%s", s == LIGHT ? "color-scheme:light dark;" : "");
    for (int i = 0; i < COLOUR_COUNT; i++) {
        fprintf(out, "--%s:%s;", COLOURS[i].name, COLOURS[i].in[s]);
    }
    fputs("}\n", out);
}

static void put_colour(FILE *out, const char *name, size_t length, bool alone)
{
    int i = 0;
    while (i < COLOUR_COUNT - 1 && (strlen(COLOURS[i].name) != length || memcmp(COLOURS[i].name, name, length) != 0)) {
        i++;
    }
    fprintf(out, alone ? "%s" : "var(--%s)", alone ? COLOURS[i].in[LIGHT] : COLOURS[i].name);
}

static void put_rule(FILE *out, const char *rule, bool alone)
{
    for (const char *at; (at = strchr(rule, '@'));) {
        size_t length = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789");
        fwrite(rule, 1, (size_t)(at - rule), out);
        put_colour(out, at + 1, length, alone);
        rule = at + 1 + length;
    }
    fputs(rule, out);
}

static void put_picture(FILE *out, bool alone)
{
    for (int k = 0; k < SVG_COLOURS; k++) {
        char rule[128];
        snprintf(rule, sizeof rule, ".s%d>*{fill:@s%d;stroke:@s%d}.s%d>.line{stroke-dasharray:%s}\n", k, k, k, k,
                 DASHES[k]);
        put_rule(out, rule, alone);
    }
    for (size_t i = 0; i < sizeof PICTURE / sizeof *PICTURE; i++) {
        put_rule(out, PICTURE[i], alone);
    }
}

void style_page(FILE *out)
{
    fputs("<style>\n", out);
    put_scheme(out, LIGHT);
    fputs("@media(prefers-color-scheme:dark){", out);
    put_scheme(out, DARK);
    fputs("}\n@media print{", out);
    put_scheme(out, PAPER);
    fputs("}\n", out);
    put_picture(out, false);
    for (size_t i = 0; i < sizeof PAGE / sizeof *PAGE; i++) {
        fputs(PAGE[i], out);
    }
    fputs("</style>\n", out);
}

void style_picture(FILE *out)
{
    fputs("<style>\nsvg{font-family:\"Noto Sans\",\"DejaVu Sans\",Helvetica,Arial,sans-serif}\n", out);
    put_picture(out, true);
    fputs("</style>\n", out);
}
