/* foreign.c - formats that are not read, recognised by their first bytes, so that the refusal can name them. */
#include "data/table.h"

#include <string.h>

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
    {"<!DOCTYPE", 9, "a page of HTML", "download the table itself"},
    {"<!doctype", 9, "a page of HTML", "download the table itself"},
    {"<html", 5, "a page of HTML", "download the table itself"},
    {"<?xml", 5, "XML", "save the table as CSV"},
};

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

int epiqp_foreign_refuse(epiq_ctx *c, const epiqp_table *t)
{
    const char *bytes = (const char *)t->in.bytes;
    for (size_t k = 0; k < sizeof FORMATS / sizeof *FORMATS; k++) {
        if (t->in.size >= FORMATS[k].size && !memcmp(bytes, FORMATS[k].bytes, (size_t)FORMATS[k].size)) {
            return refuse(c, t, FORMATS[k].name, FORMATS[k].remedy);
        }
    }
    return is_json(bytes) ? refuse(c, t, "JSON", PANDAS("read_json")) : EPIQ_OK;
}
