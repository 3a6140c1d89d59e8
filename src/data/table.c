/* table.c - a file as a table: its bytes, its columns, and the cells of those in use, whatever the format; and the
 * sentence for the first cell that cannot be used.
 */
#include "data/table.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_COLUMNS = 1 << 20 }; /* a table this wide is more likely a mistake, and its columns alone take 200 MB */

/* ---- bytes ---- */

static int read_all(epiq_ctx *c, int fd, epiqp_table *t)
{
    struct stat about;
    ptrdiff_t room = 0, first = 1 << 16;
    if (!fstat(fd, &about) && S_ISREG(about.st_mode)) {
        first = (ptrdiff_t)about.st_size + 2; /* one to see the end of the file, one to end the text */
    }
    for (;;) {
        unsigned char *bytes = epiqp_grown(c, t->bytes, &room, epiqp_max(first, t->size + 2), 1);
        if (!bytes) {
            return EPIQ_E_NOMEM;
        }
        t->bytes = bytes;
        ssize_t got = read(fd, bytes + t->size, (size_t)(room - t->size - 1));
        if (got == 0) {
            bytes[t->size] = '\0';
            return EPIQ_OK;
        }
        if (got > 0) {
            t->size += got;
        } else if (errno != EINTR) {
            return epiqp_fail(c, EPIQ_E_FILE, "%s: %s; name a file that can be read", t->file, strerror(errno));
        } else if (epiqp_stopping(c)) {
            epiqp_go_on(c);
            return epiqp_fail(c, EPIQ_E_STOPPED, "stopped on request while reading %s", t->file);
        }
    }
}

static int read_bytes(epiq_ctx *c, const char *path, epiqp_table *t)
{
    int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return epiqp_fail(c, EPIQ_E_FILE, "%s: %s; name a file that can be read", t->file, strerror(errno));
    }
    int status = read_all(c, fd, t);
    if (fd != STDIN_FILENO) {
        close(fd);
    }
    if (!status) {
        epiqp_sha256 sum;
        epiqp_sha256_start(&sum);
        epiqp_sha256_add(&sum, t->bytes, (size_t)t->size);
        epiqp_sha256_end(&sum, t->sha256);
    }
    return status;
}

/* ---- columns ---- */

int epiqp_table_columns(epiq_ctx *c, epiqp_table *t, ptrdiff_t count)
{
    if (count > MOST_COLUMNS) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: there are more than %d columns; keep those that matter", t->file,
                          MOST_COLUMNS);
    }
    epiqp_column *column = epiqp_grown(c, t->column, &t->column_room, count, sizeof *column);
    if (!column) {
        return EPIQ_E_NOMEM;
    }
    t->column = column;
    for (; t->columns < count; t->columns++) {
        column[t->columns] = (epiqp_column){.name = ""};
    }
    return EPIQ_OK;
}

static int check_names(epiq_ctx *c, epiqp_table *t)
{
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        const char *name = t->column[j].name;
        char shown[EPIQP_SHOWN];
        ptrdiff_t length = (ptrdiff_t)strlen(name), number = epiqp_keys_add(c, &t->names, name, length);
        if (number < 0) {
            return EPIQ_E_NOMEM;
        }
        if (!length) {
            return epiqp_fail(c, EPIQ_E_DATA,
                              "%s: column %td of %td has no name; give it one in the header (%s it if it only numbers "
                              "the rows)",
                              t->file, j + 1, t->columns, t->matrix ? "or remove" : "then --drop");
        }
        if (number < j) {
            return epiqp_fail(c, EPIQ_E_DATA,
                              "%s: columns %td and %td are both named \"%s\"; give each a name of its own", t->file,
                              number + 1, j + 1, epiqp_text_show(shown, sizeof shown, name, length));
        }
    }
    return EPIQ_OK;
}

const char *epiqp_table_list(const epiqp_table *t, epiqp_list *l)
{
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        epiqp_list_add(l, t->column[j].name, (ptrdiff_t)strlen(t->column[j].name));
    }
    return epiqp_list_end(l);
}

epiqp_column *epiqp_table_column(epiq_ctx *c, epiqp_table *t, const char *name, ptrdiff_t length, const char *why)
{
    ptrdiff_t number = epiqp_keys_find(&t->names, name, length);
    if (number >= 0) {
        return &t->column[number];
    }
    char shown[EPIQP_SHOWN], near[EPIQP_SHOWN + 32] = "", close[EPIQP_SHOWN];
    epiqp_text_show(shown, sizeof shown, name, length);
    if (!epiqp_text_is_clean(name, length)) {
        epiqp_fail(c, EPIQ_E_DATA, "%s: the column's name \"%s\" is not UTF-8; save the file as UTF-8, and name it so",
                   t->file, shown);
        return NULL;
    }
    int best = 3;
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        const char *other = t->column[j].name;
        int distance = epiqp_text_distance(shown, other);
        if (distance < best && distance < length) {
            best = distance;
            epiqp_text_show(close, sizeof close, other, (ptrdiff_t)strlen(other));
            snprintf(near, sizeof near, " (did you mean \"%s\"?)", close);
        }
    }
    epiqp_list list = {0};
    epiqp_fail(c, EPIQ_E_DATA, "%s: there is no column \"%s\" %s%s; the file has %s", t->file, shown, why, near,
               epiqp_table_list(t, &list));
    return NULL;
}

/* ---- cells ---- */

int epiqp_table_row(epiq_ctx *c, epiqp_table *t)
{
    double *cell = epiqp_grown(c, t->cell, &t->cell_room, (t->rows + 1) * t->used, sizeof *cell);
    if (!cell) {
        return EPIQ_E_NOMEM;
    }
    t->cell = cell;
    return EPIQ_OK;
}

/* Arrays may come column by column, so the first place is not always the first seen. */
static void note(epiqp_place *first, ptrdiff_t line, ptrdiff_t j, epiqp_kind kind, const epiqp_cell *cell)
{
    if (!first->line || line < first->line || (line == first->line && j + 1 < first->column)) {
        *first = (epiqp_place){.line = line, .column = j + 1, .kind = kind};
        epiqp_text_show(first->shown, sizeof first->shown, cell->text, cell->length);
    }
}

static int put_label(epiq_ctx *c, epiqp_table *t, ptrdiff_t line, ptrdiff_t j, epiqp_cell *cell)
{
    epiqp_column *column = &t->column[j];
    if (!epiqp_text_is_clean(cell->text, cell->length)) { /* cleaned, two labels could become one */
        note(&t->wrong, line, j, EPIQP_IS_GARBLED, cell);
        cell->value = 0;
        return EPIQ_OK;
    }
    ptrdiff_t number = column->closed ? epiqp_keys_find(&column->values, cell->text, cell->length)
                                      : epiqp_keys_add(c, &column->values, cell->text, cell->length);
    if (number < 0 && !column->closed) {
        return EPIQ_E_NOMEM;
    }
    if (number < 0) {
        note(&t->wrong, line, j, EPIQP_IS_UNSEEN, cell);
    }
    if (!column->closed && column->values.count > column->most_values) {
        char name[EPIQP_SHOWN];
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: column %s has more than %td values, too many for --onehot; leave it out with --drop",
                          t->file, epiqp_text_show(name, sizeof name, column->name, (ptrdiff_t)strlen(column->name)),
                          column->most_values);
    }
    cell->value = (double)number;
    return EPIQ_OK;
}

int epiqp_table_put(epiq_ctx *c, epiqp_table *t, ptrdiff_t line, ptrdiff_t j, epiqp_cell cell)
{
    epiqp_column *column = &t->column[j];
    int status = EPIQ_OK;
    if (cell.kind == EPIQP_IS_MISSING) {
        note(&t->gap, line, j, cell.kind, &cell);
        cell.value = NAN;
    } else if (column->role == EPIQP_LABEL) {
        status = put_label(c, t, line, j, &cell);
        column->numbers++;
    } else if (cell.kind == EPIQP_IS_TEXT) {
        note(&t->wrong, line, j, cell.kind, &cell);
        if (!column->text) {
            column->text = cell.text;
            column->length = cell.length;
        }
    } else {
        if (cell.kind == EPIQP_IS_INFINITE) {
            note(&t->wrong, line, j, cell.kind, &cell);
        }
        column->numbers++;
    }
    t->cell[t->rows * t->used + column->slot] = cell.value;
    return status;
}

static int judge_column(epiq_ctx *c, const epiqp_table *t, const epiqp_column *column)
{
    char name[EPIQP_SHOWN], first[EPIQP_SHOWN];
    if (column->role == EPIQP_SKIP || column->numbers || !t->rows) {
        return EPIQ_OK;
    }
    epiqp_text_show(name, sizeof name, column->name, (ptrdiff_t)strlen(column->name));
    if (!column->text) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: column %s has no value in any row; %s", t->file, name,
                          column->feature ? "leave it out with --drop" : "name another column");
    }
    epiqp_text_show(first, sizeof first, column->text, column->length);
    return epiqp_fail(c, EPIQ_E_DATA, "%s: column %s holds no number (its first cell is \"%s\"); %s", t->file, name,
                      first,
                      strchr(first, ',') ? "write numbers with a decimal point and no other marks"
                      : column->feature  ? "leave it out with --drop, or turn its values into 0/1 columns with --onehot"
                                         : "name a column of numbers with --target");
}

int epiqp_table_judge(epiq_ctx *c, const epiqp_table *t, bool whole, bool missing_allowed, const char *missing_remedy)
{
    for (ptrdiff_t j = 0; whole && j < t->columns; j++) {
        int status = judge_column(c, t, &t->column[j]);
        if (status) {
            return status;
        }
    }
    const epiqp_place *p = &t->wrong, *gap = &t->gap;
    if (!missing_allowed && gap->line &&
        (!p->line || gap->line < p->line || (gap->line == p->line && gap->column < p->column))) {
        p = gap;
    }
    if (!p->line) {
        return EPIQ_OK;
    }
    const epiqp_column *column = &t->column[p->column - 1];
    epiqp_list values = {0};
    char name[EPIQP_SHOWN], place[320];
    epiqp_text_show(name, sizeof name, column->name, (ptrdiff_t)strlen(column->name));
    snprintf(place, sizeof place, t->lines ? "%s:%td:%td" : "%s: row %td, column %td", t->file, p->line, p->column);
    switch (p->kind) {
    case EPIQP_IS_MISSING:
        return p->shown[0]
                   ? epiqp_fail(c, EPIQ_E_DATA, "%s: \"%s\" is a missing cell (column %s); %s", place, p->shown, name,
                                missing_remedy)
                   : epiqp_fail(c, EPIQ_E_DATA, "%s: the cell is empty (column %s); %s", place, name, missing_remedy);
    case EPIQP_IS_INFINITE:
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: \"%s\" is not a finite number (column %s); correct the cell, or remove the row", place,
                          p->shown, name);
    case EPIQP_IS_GARBLED:
        return epiqp_fail(c, EPIQ_E_DATA, "%s: \"%s\" is not UTF-8 (column %s); save the file as UTF-8", place,
                          p->shown, name);
    case EPIQP_IS_UNSEEN:
        for (ptrdiff_t v = 0; v < column->values.count; v++) {
            const ptrdiff_t *start = column->values.start + v;
            epiqp_list_add(&values, column->values.pool + start[0], start[1] - start[0]);
        }
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: \"%s\" is a value that the data does not have (column %s); use one of %s", place,
                          p->shown, name, epiqp_list_end(&values));
    default:
        return epiqp_fail(c, EPIQ_E_DATA, "%s: \"%s\" is not a number (column %s); %s", place, p->shown, name,
                          strchr(p->shown, ',') ? "write it with a decimal point and no other marks"
                          : column->feature     ? "correct the cell, or leave the column out with --drop"
                                                : "correct the cell");
    }
}

/* ---- the whole ---- */

void epiqp_table_name(epiqp_table *t, const char *path)
{
    size_t length = strlen(path), most = 200; /* the end of a path says more than its beginning */
    char end[sizeof t->file];
    epiqp_text_show(end, sizeof end, length > most ? path + length - most : path,
                    (ptrdiff_t)(length > most ? most : length));
    snprintf(t->file, sizeof t->file, "%.3s%.*s", length > most ? "..." : "", (int)most + 3,
             strcmp(path, "-") == 0 ? "standard input" : end);
}

epiqp_format epiqp_table_format(const epiqp_table *t)
{
    if (t->size >= 6 && !memcmp(t->bytes, "\x93NUMPY", 6)) {
        return EPIQP_NPY;
    }
    bool zip = t->size >= 4 && (!memcmp(t->bytes, "PK\3\4", 4) || !memcmp(t->bytes, "PK\5\6", 4));
    return zip ? EPIQP_NPZ : EPIQP_TEXT;
}

int epiqp_table_begin(epiq_ctx *c, epiqp_table *t)
{
    static int (*const OPEN[])(epiq_ctx * c, epiqp_table * t) = {epiqp_csv_open, epiqp_npy_open, epiqp_npz_open};
    int status = OPEN[epiqp_table_format(t)](c, t);
    return status || (t->matrix && t->bare) ? status : check_names(c, t);
}

int epiqp_table_read(epiq_ctx *c, const char *path, epiqp_table *t)
{
    *t = (epiqp_table){0};
    epiqp_table_name(t, path);
    return read_bytes(c, path, t);
}

int epiqp_table_open(epiq_ctx *c, const char *path, epiqp_table *t)
{
    int status = epiqp_table_read(c, path, t);
    return status ? status : epiqp_table_begin(c, t);
}

void epiqp_table_use(epiqp_table *t)
{
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        if (t->column[j].role != EPIQP_SKIP) {
            t->column[j].slot = t->used++;
        }
    }
}

int epiqp_table_fill(epiq_ctx *c, epiqp_table *t)
{
    epiqp_table_use(t);
    return t->fill(c, t);
}

void epiqp_table_close(epiq_ctx *c, epiqp_table *t)
{
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        epiqp_keys_free(c, &t->column[j].values);
    }
    epiqp_keys_free(c, &t->names);
    epiqp_free(c, t->column);
    epiqp_free(c, t->cell);
    epiqp_free(c, t->bytes);
    epiqp_arena_free(c, &t->arena);
    *t = (epiqp_table){0};
}
