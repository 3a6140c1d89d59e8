/* table.h - a file as cells: CSV, NPY and NPZ are all read into this form, before and after columns are chosen.
 * epiqp_table_begin finds the columns; the caller gives each a role; epiqp_table_fill reads the cells of those in use.
 */
#ifndef EPIQP_TABLE_H
#define EPIQP_TABLE_H

#include "base/keys.h"
#include "base/text.h"
#include "common/cell.h"
#include "data/data.h"

#include <locale.h>

/* ---- input.c: the bytes of a file ---- */

typedef struct {
    char name[256]; /* of the file, as messages show it */
    int fd;
    bool more;            /* the file may have more bytes than have been read */
    bool mapped;          /* bytes is a mapping of the file; otherwise a zero byte follows */
    unsigned char *bytes; /* reading text writes into them, reading arrays does not */
    ptrdiff_t size, room;
    bool begun;              /* the first bytes have been read, which tell whether it is packed */
    struct epiqp_gzip *gzip; /* it is, and bytes are what it unpacks to; NULL: as in the file */
    double limit;            /* bytes that a packed file may unpack to; 0: what the machine has free */
} epiqp_input;

int epiqp_input_open(epiq_ctx *c, const char *path, epiqp_input *in); /* whatever it returns, close it */
int epiqp_input_read(epiq_ctx *c, epiqp_input *in, ptrdiff_t size);   /* until it has that size, or is complete */
int epiqp_input_read_all(epiq_ctx *c, epiqp_input *in);               /* until it is complete */
int epiqp_input_map(epiq_ctx *c, epiqp_input *in);                    /* the same, if possible as a mapping */
void epiqp_input_close(epiq_ctx *c, epiqp_input *in);                 /* keeps the name */
bool epiqp_is_url(const char *path);
int epiqp_input_fails(epiq_ctx *c, const epiqp_input *in); /* with the reason in errno */

/* ---- gunzip.c: a packed file, unpacked while it is read ---- */

enum { EPIQP_GZIP_BYTES = 2 };                      /* by which such a file is recognised */
int epiqp_gzip_begin(epiq_ctx *c, epiqp_input *in); /* if the bytes read are those; else nothing happens */
int epiqp_gzip_read(epiq_ctx *c, epiqp_input *in, ptrdiff_t size); /* up to so many more bytes; may be none */
void epiqp_gzip_end(epiq_ctx *c, epiqp_input *in);

/* ---- table.c ---- */

typedef enum { EPIQP_SKIP, EPIQP_NUMBER, EPIQP_LABEL } epiqp_role;

typedef struct {
    const char *name;
    /* set when columns are chosen */
    epiqp_role role;
    bool feature;          /* is a feature, and may be left out */
    bool index;            /* left out if it only numbers or names the rows */
    ptrdiff_t most_values; /* of a label column */
    bool closed;           /* of a label column: new values are refused */
    /* set when cells are read */
    ptrdiff_t slot;    /* place among the columns in use */
    epiqp_keys values; /* of a label column, or one of texts alone; its cells are numbers of these */
    ptrdiff_t numbers; /* cells with a number, or with a label */
    ptrdiff_t texts;   /* of a number column: other cells */
    ptrdiff_t marked;  /* cells with a number that had to be freed of marks */
    ptrdiff_t units;   /* those of them with a unit */
    const char *unit;  /* the first one's; of the points: that of the data */
    bool any_unit;     /* of the points: that of the data is not known */
} epiqp_column;

/* A feature is the number in its column, or with code >= 0 whether the label there is that value. */
typedef struct {
    const epiqp_column *column;
    ptrdiff_t code;
} epiqp_feature;

typedef struct {
    ptrdiff_t line, column; /* line of the text or row of the array, from 1; line 0: no such place */
    epiqp_kind kind;
    epiqp_shown shown;
} epiqp_place;

typedef struct {
    const unsigned char *data;
    ptrdiff_t rows, columns;
    int dims, size; /* size of an item */
    char type;      /* f, i, u or b */
    bool big, fortran;
} epiqp_array;

/* Of a text; ASCII until something else is found. Bytes in Latin-1 are made UTF-8 when they are read. */
typedef enum { EPIQP_ASCII, EPIQP_UTF8, EPIQP_LATIN1 } epiqp_encoding;

typedef struct epiqp_table epiqp_table;
struct epiqp_table {
    epiqp_input in;
    epiqp_arena arena;
    int (*fill)(epiq_ctx *c, epiqp_table *t);
    bool lines;  /* positions are file:line:column, not row and column of an array */
    int bare;    /* dimensions of a single array, whose columns have no names; 0: columns have names */
    bool matrix; /* set by the caller: all cells are numbers; if the first line is too, columns have no names */
    bool whole;  /* set by the caller: texts are kept until the whole column has been read and can be judged */
    ptrdiff_t rows, columns, used;
    bool gaps;              /* set by the caller, of a file read in blocks: cells may be missing */
    ptrdiff_t most, before; /* of a file read in blocks of rows: rows of a block (0: all), rows of earlier blocks */
    epiqp_column *column;
    epiqp_keys names;
    epiqp_feature *feature; /* features */
    ptrdiff_t features;
    double *cell; /* rows by used; NaN where missing */
    ptrdiff_t cell_room, column_room;
    epiqp_place wrong, gap;   /* the first cell that cannot be used, the first that is missing */
    epiqp_place *text;        /* columns: the first cell of a number column that is no number, if all texts are kept */
    epiqp_place comma, point; /* where semicolons separate: the first number with a decimal comma, and with a point */
    epiqp_place mark;         /* the first number with marks, and what it was read as */
    double mark_value;
    struct {
        epiqp_keys texts;
        double *value; /* values, of those that are numbers */
        ptrdiff_t values;
    } na; /* what means a missing cell besides the usual words */
    struct {
        ptrdiff_t at, line; /* where the next row begins */
        char delimiter;
        locale_t plain;    /* numbers are in C's notation */
        ptrdiff_t whole;   /* if there is more to read: end of the last complete record in bytes */
        ptrdiff_t moved;   /* bytes of the file before the first of bytes */
        ptrdiff_t decoded; /* bytes whose encoding has been looked at */
        epiqp_encoding encoding;
    } csv;
    struct {
        ptrdiff_t count; /* columns whose texts are kept; 0: none */
        const char **name;
        ptrdiff_t *place; /* columns: the place among those that are kept, or -1 */
        char *text;       /* of the rows in memory, each with a zero byte behind it */
        ptrdiff_t size, room, starts;
        ptrdiff_t *start; /* rows by count */
    } copied;
    epiqp_array *array; /* of NPY and NPZ */
    ptrdiff_t arrays;
};

/* Decided by the first EPIQP_FORMAT_BYTES; anything else is text. */
typedef enum { EPIQP_TEXT, EPIQP_NPY, EPIQP_NPZ } epiqp_format;
enum { EPIQP_FORMAT_BYTES = 6 };
epiqp_format epiqp_table_format(const epiqp_table *t);
int epiqp_table_begin(epiq_ctx *c, epiqp_table *t); /* the columns, from the input */
int epiqp_table_fill(epiq_ctx *c, epiqp_table *t);  /* appends rows: t->most, or all */
void epiqp_table_close(epiq_ctx *c, epiqp_table *t);
void epiqp_table_features(const epiqp_table *t, double *x); /* as given: rows by features */

/* Fails with a message about the first cell that cannot be used; whole: also for columns without any value.
 * missing_remedy: the end of the sentence about a missing cell; NULL: cells may be missing. */
int epiqp_table_judge(epiq_ctx *c, const epiqp_table *t, bool whole, const char *missing_remedy);

/* Texts that mean a missing cell, in a list as of --na; before cells are read. */
int epiqp_table_missing(epiq_ctx *c, epiqp_table *t, const char *list);

/* ---- latin.c ---- */

int epiqp_text_decode(epiq_ctx *c, epiqp_table *t); /* the bytes that were read since the last call */

/* ---- whatif.c ---- */

int epiqp_whatif(epiq_ctx *c, const epiq_data *data, const char *text, double *x); /* "name=value,...": d features */

/* ---- foreign.c ---- */

int epiqp_foreign_refuse(epiq_ctx *c, const epiqp_table *t); /* fails if the file is of a format that is not read */
/* Once columns were looked for and not found: fails if the lines after the header are sentences, and no rows. */
int epiqp_foreign_refuse_prose(epiq_ctx *c, const epiqp_table *t);

/* ---- ordinary.c: what is made, unasked, of columns that hold other things than numbers ---- */

/* After the cells have been read; refuses a column that cannot be used, and warns of what a person should know. */
int epiqp_columns_settle(epiq_ctx *c, epiqp_table *t, const epiqp_column *target, epiqp_warnings *w);

/* For the readers of each format. */
int epiqp_table_columns(epiq_ctx *c, epiqp_table *t, ptrdiff_t count);    /* makes room, checks the count */
int epiqp_table_nameless(epiq_ctx *c, const epiqp_table *t, ptrdiff_t j); /* fails with a message about that column */
int epiqp_table_row(epiq_ctx *c, epiqp_table *t);                         /* makes room for one more row */
int epiqp_table_put(epiq_ctx *c, epiqp_table *t, ptrdiff_t line, ptrdiff_t j, epiqp_cell cell); /* a cell of that row */
int epiqp_table_copy(epiq_ctx *c, epiqp_table *t, ptrdiff_t j, const char *text, ptrdiff_t length); /* of that row */
int epiqp_csv_open(epiq_ctx *c, epiqp_table *t);
ptrdiff_t epiqp_csv_mark(const epiqp_table *t); /* bytes of the mark of UTF-8 at the beginning: 3, or 0 */
ptrdiff_t epiqp_csv_count(const char *p, const char *end, char separator); /* on the line at p, outside quotes */
int epiqp_csv_more(epiq_ctx *c, epiqp_table *t); /* drops the records that were read, reads at least one more */
int epiqp_npy_open(epiq_ctx *c, epiqp_table *t);
int epiqp_npz_open(epiq_ctx *c, epiqp_table *t); /* makes room for the arrays, and adds each */
int epiqp_npz_add(epiq_ctx *c, epiqp_table *t, const char *name, const unsigned char *bytes, ptrdiff_t size);

/* An NPY array in memory, used in place; where: the file, and for NPZ the array, that messages name. */
int epiqp_array_open(epiq_ctx *c, const char *where, const unsigned char *bytes, ptrdiff_t size, epiqp_array *a);
double epiqp_array_value(const epiqp_array *a, ptrdiff_t i, ptrdiff_t j);
bool epiqp_array_native(const epiqp_array *a); /* doubles or floats in the byte order of this machine, row-major */

/* The column of that name, or NULL with a message that lists the columns. why: "for --target". */
epiqp_column *epiqp_table_column(epiq_ctx *c, epiqp_table *t, const char *name, const char *why);
const char *epiqp_table_list(const epiqp_table *t, epiqp_list *l); /* the columns' names */

/* A comma-separated list of names, quoted as in CSV, as keys. option: "--drop". */
int epiqp_csv_names(epiq_ctx *c, const char *option, const char *list, epiqp_keys *names);

/* ---- window.c: the same features in another file ---- */

#define EPIQP_UNNAMED "Unnamed: 0" /* pandas' name for an index that was written without one and read again */
#define EPIQP_STRANGERS "%s: column%s %s, which the data does not have, %s ignored"

/* Rows are their features, and behind them the target where known names it.
 * blocks: the file is read one block of rows at a time, so that it may have any length. Whatever it returns, close t.
 * strangers: the columns that the data does not have, which are ignored. */
int epiqp_window_open(epiq_ctx *c, const char *path, ptrdiff_t d, const struct epiqp_columns *known, bool blocks,
                      epiqp_table *t, epiqp_list *strangers);
int epiqp_window_next(epiq_ctx *c, epiqp_table *t, ptrdiff_t most, double *x, ptrdiff_t *count); /* the next block */

/* ---- columns.c, data.c, scale.c ---- */

/* Sets the role of every column; *group is not changed if there is none. */
int epiqp_columns_choose(epiq_ctx *c, epiqp_table *t, const epiq_options *o, epiqp_column **target,
                         epiqp_column **group);
/* d 0: x is a vector of n. */
int epiqp_check_finite(epiq_ctx *c, const char *name, ptrdiff_t n, ptrdiff_t d, const double *x);
/* Computes everything except rows and groups from n, d, x_given, y as given and the names. */
int epiqp_data_scale(epiq_ctx *c, epiq_data *data, int scale);
/* Warnings of scaled data that name its columns; again, after these have other names. */
int epiqp_data_warn(epiq_ctx *c, epiq_data *data);
/* Counts rows with repeated features, and with `group` makes them the groups; after groups and scaling. */
int epiqp_data_repeats(epiq_ctx *c, epiq_data *data, bool group);
/* blocks.c: looks for a feature that seems to name groups; the warning of it, "": there is none, NULL: no memory */
int epiqp_find_blocks(epiq_ctx *c, epiq_data *data);
const char *epiqp_sentence_of_blocks(epiq_ctx *c, epiq_data *data);
const char *epiqp_sentence_of_sentinels(epiq_ctx *c, epiq_data *data); /* sentinel.c */

#endif
