/* table.h - a file as cells: the one shape that CSV, NPY and NPZ are read into, before and after columns are chosen.
 * epiqp_table_open finds the columns; the caller gives each a role; epiqp_table_fill reads the cells of those in use.
 */
#ifndef EPIQP_TABLE_H
#define EPIQP_TABLE_H

#include "data/data.h"

#include <locale.h>

/* ---- keys.c: distinct byte strings, numbered in order of first appearance ---- */

typedef struct {
    ptrdiff_t count;
    char *pool;       /* all keys, one after the other */
    ptrdiff_t *start; /* count + 1 offsets into the pool */
    struct epiqp_slot *slot;
    ptrdiff_t pool_room, start_room, slots;
} epiqp_keys;

ptrdiff_t epiqp_keys_add(epiq_ctx *c, epiqp_keys *k, const void *key, ptrdiff_t size); /* its number; -1: no memory */
ptrdiff_t epiqp_keys_find(const epiqp_keys *k, const void *key, ptrdiff_t size);       /* its number; -1: not there */
void epiqp_keys_free(epiq_ctx *c, epiqp_keys *k);

/* p with room for `need` items, at least doubled; NULL: no memory, and p is still the caller's. */
void *epiqp_grown(epiq_ctx *c, void *p, ptrdiff_t *room, ptrdiff_t need, size_t size);

/* ---- text.c: text from a file, made fit to keep and to show ---- */

#define EPIQP_SHOWN 48 /* bytes of a cell or name that a sentence quotes */

/* A copy in which each byte that is not UTF-8 has become U+FFFD. */
char *epiqp_text_clean(epiq_ctx *c, epiqp_arena *a, const char *text, ptrdiff_t length);
bool epiqp_text_is_clean(const char *text, ptrdiff_t length);
/* A short copy without control characters, "..." at the end if it was cut. */
const char *epiqp_text_show(char *out, size_t size, const char *text, ptrdiff_t length);
int epiqp_text_distance(const char *a, const char *b); /* edits between two names, case apart; 3: three or more */

/* "a, b, c, ... (17 in all)", as many as fit. */
typedef struct {
    char text[320];
    ptrdiff_t used, shown, count;
} epiqp_list;
void epiqp_list_add(epiqp_list *l, const char *name, ptrdiff_t length);
const char *epiqp_list_end(epiqp_list *l);

/* ---- cell.c: what one cell of text says ---- */

typedef enum {
    EPIQP_IS_NUMBER,
    EPIQP_IS_MISSING,
    EPIQP_IS_INFINITE,
    EPIQP_IS_TEXT,
    EPIQP_IS_UNSEEN,
    EPIQP_IS_GARBLED
} epiqp_kind;

typedef struct {
    epiqp_kind kind;
    double value;
    const char *text; /* not ended by a zero byte */
    ptrdiff_t length;
} epiqp_cell;

/* The byte after the text must not be able to continue a number. */
epiqp_cell epiqp_cell_number(const char *text, ptrdiff_t length, locale_t plain);
epiqp_cell epiqp_cell_label(const char *text, ptrdiff_t length);

/* ---- table.c ---- */

typedef enum { EPIQP_SKIP, EPIQP_NUMBER, EPIQP_LABEL } epiqp_role;

typedef struct {
    const char *name;
    /* set by whoever chooses the columns */
    epiqp_role role;
    bool feature;          /* could be left out */
    ptrdiff_t most_values; /* of a label column */
    bool closed;           /* of a label column: no values but those already there */
    /* set by reading the cells */
    ptrdiff_t slot;    /* place among the columns in use */
    epiqp_keys values; /* of a label column; its cells are numbers of these */
    ptrdiff_t numbers; /* or labels */
    const char *text;  /* the first cell that is no number, NULL if there is none */
    ptrdiff_t length;
    /* set by leaving out rows */
    ptrdiff_t *kept; /* of a label column: the values still in use; cells are numbers of these */
    ptrdiff_t kept_count;
} epiqp_column;

typedef struct {
    ptrdiff_t line, column; /* line of the text or row of the array, from 1; line 0: no such place */
    epiqp_kind kind;
    char shown[EPIQP_SHOWN];
} epiqp_place;

typedef struct {
    const unsigned char *data;
    ptrdiff_t rows, columns;
    int dims, size; /* size of an item */
    char type;      /* f, i, u or b */
    bool big, fortran;
} epiqp_array;

typedef struct epiqp_table epiqp_table;
struct epiqp_table {
    char file[256]; /* its name, fit to show */
    unsigned char *bytes;
    ptrdiff_t size;
    char sha256[65];
    struct {              /* of a file read a block of rows at a time: window.c */
        bool more;        /* bytes may follow those that are here */
        bool mapped;      /* bytes are a mapping */
        ptrdiff_t most;   /* rows to have in the cells before fill returns; 0: all */
        ptrdiff_t before; /* rows of the blocks before this one */
        ptrdiff_t whole;  /* of text, while more may follow: where the last whole record that is here ends */
        ptrdiff_t moved;  /* bytes of the file before the first that is here */
    } block;
    epiqp_arena arena;
    int (*fill)(epiq_ctx *c, epiqp_table *t);
    bool lines;  /* a place is file:line:column, not row and column of an array */
    int bare;    /* dimensions of a lone array, whose columns have no names of their own; 0: columns have names */
    bool matrix; /* set before it begins: all of it is numbers, and so may its first line be, which is then bare */
    ptrdiff_t rows, columns, used;
    epiqp_column *column;
    epiqp_keys names;
    double *cell; /* rows by used; NaN where missing */
    ptrdiff_t cell_room, column_room;
    epiqp_place wrong, gap; /* the first cell that cannot be used, the first that is missing */
    struct {
        ptrdiff_t at, line; /* where the next row begins */
        char delimiter;
    } csv;
    epiqp_array *array; /* of NPY and NPZ */
    ptrdiff_t arrays;
};

int epiqp_table_open(epiq_ctx *c, const char *path, epiqp_table *t); /* whatever it returns, close t */
int epiqp_table_fill(epiq_ctx *c, epiqp_table *t);
void epiqp_table_use(epiqp_table *t); /* fill's first part: the columns in use get their places */
void epiqp_table_close(epiq_ctx *c, epiqp_table *t);

/* The first cell that stands in the way, as a sentence; whole: also columns without any number or value. */
int epiqp_table_judge(epiq_ctx *c, const epiqp_table *t, bool whole, bool missing_allowed, const char *missing_remedy);

/* The parts of epiqp_table_open: what sentences call the file, its bytes (with the name), and from them to its columns. */
void epiqp_table_name(epiqp_table *t, const char *path);
int epiqp_table_read(epiq_ctx *c, const char *path, epiqp_table *t);
int epiqp_table_begin(epiq_ctx *c, epiqp_table *t);
/* By its first bytes; anything else is text. Of text some is written to while it is read, of arrays nothing. */
typedef enum { EPIQP_TEXT, EPIQP_NPY, EPIQP_NPZ } epiqp_format;
epiqp_format epiqp_table_format(const epiqp_table *t);

/* For the readers of each format. */
int epiqp_table_columns(epiq_ctx *c, epiqp_table *t, ptrdiff_t count); /* makes room, checks the count */
int epiqp_table_row(epiq_ctx *c, epiqp_table *t);                      /* makes room for one more row */
int epiqp_table_put(epiq_ctx *c, epiqp_table *t, ptrdiff_t line, ptrdiff_t j, epiqp_cell cell); /* into that row */
int epiqp_csv_open(epiq_ctx *c, epiqp_table *t);
ptrdiff_t epiqp_csv_complete(const epiqp_table *t); /* where the last record from csv.at on that is whole ends */
int epiqp_npy_open(epiq_ctx *c, epiqp_table *t);
int epiqp_npz_open(epiq_ctx *c, epiqp_table *t);

/* An NPY array in memory, its data in place; where: the file, and for NPZ the array, that a sentence names. */
int epiqp_array_open(epiq_ctx *c, const char *where, const unsigned char *bytes, ptrdiff_t size, epiqp_array *a);
double epiqp_array_value(const epiqp_array *a, ptrdiff_t i, ptrdiff_t j);
bool epiqp_array_native(const epiqp_array *a); /* doubles or floats of this machine, row after row */

/* The column of that name; NULL leaves a sentence that lists the columns. why: "for --target". */
epiqp_column *epiqp_table_column(epiq_ctx *c, epiqp_table *t, const char *name, ptrdiff_t length, const char *why);
const char *epiqp_table_list(const epiqp_table *t, epiqp_list *l); /* the columns' names */

/* A comma-separated list of names, quoted as in CSV, as keys. option: "--drop". */
int epiqp_csv_names(epiq_ctx *c, const char *option, const char *list, epiqp_keys *names);

/* ---- window.c: the features in another file, a block of rows at a time ---- */

typedef struct {
    epiqp_table t;
    int fd; /* negative: it could not be opened */
    ptrdiff_t d, room;
    epiqp_column **from; /* d: a feature's column, */
    ptrdiff_t *code;     /* d: and the number of its value in a one-hot one, or -1 */
} epiqp_window;

int epiqp_window_open(epiq_ctx *c, const char *path, ptrdiff_t d, const struct epiqp_columns *known,
                      epiqp_window *s); /* whatever it returns, close s */
int epiqp_window_next(epiq_ctx *c, epiqp_window *s, ptrdiff_t most, double *x, ptrdiff_t *count); /* as given */
void epiqp_window_close(epiq_ctx *c, epiqp_window *s);

/* points.c: finds each feature's column, and the number of its value in a one-hot one. */
int epiqp_columns_match(epiq_ctx *c, epiqp_table *t, ptrdiff_t d, const struct epiqp_columns *known,
                        epiqp_column **from, ptrdiff_t *code);

/* ---- zip.c ---- */

typedef struct {
    const char *name; /* cleaned, ".npy" taken off */
    const unsigned char *bytes;
    ptrdiff_t size;
} epiqp_member;
int epiqp_zip_members(epiq_ctx *c, epiqp_table *t, epiqp_member **out, ptrdiff_t *count); /* the .npy ones */

/* ---- columns.c, data.c, scale.c ---- */

/* Gives every column its role; *group stays as it is when there is none. */
int epiqp_columns_choose(epiq_ctx *c, epiqp_table *t, const epiq_options *o, epiqp_column **target,
                         epiqp_column **group);

/* Features as given, rows by d: feature k is from[k]'s number, or whether its label is number code[k] if code[k] >= 0.
 */
void epiqp_table_features(const epiqp_table *t, ptrdiff_t d, epiqp_column *const *from, const ptrdiff_t *code,
                          double *x);

int epiqp_check_finite(epiq_ctx *c, const char *name, ptrdiff_t n, ptrdiff_t d, const double *x);

/* From n, d, x_given, y as given and the names: everything else but rows and groups. */
int epiqp_data_scale(epiq_ctx *c, epiq_data *data, int scale);
/* Repeated features are counted, and with `group` they make the groups: the last step, after groups and scaling. */
int epiqp_data_repeats(epiq_ctx *c, epiq_data *data, bool group);
double epiqp_scaled(double given, double shift, double factor);

#endif
