/* foreign.c - formats that are not read, recognised by their first bytes, so that the refusal can name them; and texts that are no
 * tables, recognised by their lines.
 */
#include "data/table.h"

#include <string.h>
#include <strings.h>

#define PANDAS(reader) "save the table as CSV (in pandas: " reader ", then to_csv)"
#define UNPACK "unpack it, or pack the CSV with gzip"

static const struct {
    const char *bytes;
    int size;
    const char *name, *remedy;
} FORMATS[] = {
    {"\xFF\xFE", 2, "UTF-16 text", "save it as CSV in UTF-8"},
    {"\xFE\xFF", 2, "UTF-16 text", "save it as CSV in UTF-8"},
    {"PAR1", 4, "a Parquet file", PANDAS("read_parquet")},
    {"ARROW1", 6, "an Arrow or Feather file", PANDAS("read_feather")},
    {"FEA1", 4, "a Feather file", PANDAS("read_feather")},
    {"\x89HDF\r\n\x1A\n", 8, "an HDF5 file", "save the table as CSV, NPY or NPZ (in Python: h5py, then numpy.save)"},
    {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", 8, "an Excel workbook", "save the sheet as CSV"},
    {"SQLite format 3", 15, "an SQLite database", "export the table as CSV"},
    {"MATLAB 5.0 MAT-file", 19, "a MATLAB file", "save the table as CSV (in MATLAB: writetable)"},
    {"\x80\x04\x95", 3, "a Python pickle", "save the table as CSV (in pandas: to_csv)"},
    {"\x80\x05\x95", 3, "a Python pickle", "save the table as CSV (in pandas: to_csv)"},
    {"BZh", 3, "packed with bzip2", UNPACK},
    {"\xFD"
     "7zXZ",
     5, "packed with xz", UNPACK},
    {"\x28\xB5\x2F\xFD", 4, "packed with Zstandard", UNPACK},
    {"%PDF-", 5, "a PDF document", "save the table as CSV"},
    {"\x89PNG", 4, "a picture", "give the numbers behind it, as CSV"},
    {"\xFF\xD8\xFF", 3, "a picture", "give the numbers behind it, as CSV"},
    {"GIF8", 4, "a picture", "give the numbers behind it, as CSV"},
    {"{\\rtf", 5, "a text document", "save the table in it as CSV"},
};

/* Beginnings of markup, in any case. "<DATE>" and the like are names of columns in some tables of prices. */
static const char *const HTML[] = {"<!doctype", "<html", "<head", "<body", "<table", "<!--"};

static int refuse(epiq_ctx *c, const epiqp_table *t, const char *name, const char *remedy)
{
    return epiqp_fail(c, EPIQ_E_DATA, "%s: the file is %s; %s", t->in.name, name, remedy);
}

static const char *after_blanks(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

/* An object or a list of objects or lists. A zero byte ends the text. */
static bool is_json(const char *text)
{
    const char *p = after_blanks(text), first = *p;
    if (first != '{' && first != '[') return false;
    p = after_blanks(p + 1);
    return first == '{' ? *p == '"' : *p == '{' || *p == '[';
}

static bool begins(const char *text, const char *with)
{
    return strncasecmp(text, with, strlen(with)) == 0;
}

int epiqp_foreign_refuse(epiq_ctx *c, const epiqp_table *t)
{
    const char *bytes = (const char *)t->in.bytes, *text = after_blanks(bytes + epiqp_csv_mark(t));
    for (size_t k = 0; k < sizeof FORMATS / sizeof *FORMATS; k++) {
        if (t->in.size >= FORMATS[k].size && !memcmp(bytes, FORMATS[k].bytes, (size_t)FORMATS[k].size)) {
            return refuse(c, t, FORMATS[k].name, FORMATS[k].remedy);
        }
    }
    for (size_t k = 0; k < sizeof HTML / sizeof *HTML; k++) {
        if (begins(text, HTML[k])) return refuse(c, t, "a page of HTML", "download the table itself");
    }
    if (begins(text, "<?xml")) return refuse(c, t, "XML", "save the table as CSV");
    if (t->in.size > 9 && !memcmp(bytes + 5, "\0\0\0{\"", 5)) { /* a length below 2^40, then an object: safetensors */
        return refuse(c, t, "a model", "give the table that it was fitted to, or ask it with predict");
    }
    return is_json(text) ? refuse(c, t, "JSON", PANDAS("read_json")) : EPIQ_OK;
}

/* ---- texts ---- */

static ptrdiff_t words_in(const char *p, const char *end)
{
    ptrdiff_t words = 0;
    for (bool inside = false; p < end && *p; p++) {
        const bool space = *p == ' ' || *p == '\t';
        words += !space && !inside;
        inside = !space;
    }
    return words;
}

/* Lines with different numbers of words and of separators, some of them as long as a sentence. Comments are looked past. */
static bool is_prose(const char *p, const char *end)
{
    enum { LINES = 30, FEWEST = 2, SENTENCE = 4 };
    static const char SEPARATORS[] = {',', ';', '\t'};
    ptrdiff_t lines = 0, least = PTRDIFF_MAX, most = 0, first[3] = {0};
    bool rows[3] = {true, true, true};
    for (const char *next; p < end && lines < LINES; p = next) {
        const char *stop = p;
        while (stop < end && *stop != '\n' && *stop != '\r') {
            stop++;
        }
        next = stop + 1;
        const ptrdiff_t words = words_in(p, stop);
        if (!words || *p == '#') continue;
        for (int k = 0; k < 3; k++) {
            const ptrdiff_t count = epiqp_csv_count(p, stop, SEPARATORS[k]);
            first[k] = lines ? first[k] : count;
            rows[k] = rows[k] && count > 0 && count == first[k];
        }
        least = epiqp_min(least, words);
        most = epiqp_max(most, words);
        lines++;
    }
    return lines >= FEWEST && least < most && most >= SENTENCE && !rows[0] && !rows[1] && !rows[2];
}

int epiqp_foreign_refuse_prose(epiq_ctx *c, const epiqp_table *t)
{
    enum { LOOKED_AT = 1 << 16 }; /* bytes */
    const char *name = t->column[0].name, *bytes = (const char *)t->in.bytes;
    if (!t->lines || (t->columns > 1 && *name != '#')) return EPIQ_OK;
    if (*name == '|') return refuse(c, t, "a table in Markdown", "save it as CSV, with commas between the cells");
    if (!is_prose(bytes + t->csv.at, bytes + epiqp_min(t->in.size, t->csv.at + LOOKED_AT))) return EPIQ_OK;
    return epiqp_fail(c, EPIQ_E_DATA,
                      "%s: the file is text, not a table: it begins with \"%s\"; give a CSV file, with the columns' "
                      "names on the first line, then one line per row, with commas between the cells",
                      t->in.name, epiqp_show(name).text);
}
