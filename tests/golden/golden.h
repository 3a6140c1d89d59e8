/* golden.h - reads the golden files of make_golden.py: golden_load(GOLDEN "if.txt"), then golden_get("p0_V", &rows,
 * &cols) or golden_number("p0_noise"). A file, a name or a number that is not there ends the program with a sentence.
 */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char name[64];
    ptrdiff_t rows, cols;
    double *a; /* rows by cols, row-major */
} golden_entry;

static struct {
    const char *path;
    golden_entry entry[256];
    int count;
} golden; /* the file loaded last; what golden_get returned stays good until the next golden_load */

static inline void golden_die(const char *what, const char *name)
{
    fprintf(stderr, "%s: %s%s\n", golden.path ? golden.path : "golden.h", what, name);
    exit(1);
}

static inline void golden_load(const char *path)
{
    for (int i = 0; i < golden.count; i++) {
        free(golden.entry[i].a);
    }
    golden.count = 0;
    golden.path = path;
    FILE *f = fopen(path, "r");
    if (!f) {
        golden_die("cannot be opened", "");
        return;
    }
    for (;;) {
        int c = fgetc(f);
        if (c == '#') {
            while (c != '\n' && c != EOF) {
                c = fgetc(f);
            }
        }
        if (c == EOF) break;
        if (isspace(c)) continue;
        ungetc(c, f);
        if (golden.count == (int)(sizeof golden.entry / sizeof *golden.entry)) {
            golden_die("more entries than golden.h has room for", "");
        }
        golden_entry *e = &golden.entry[golden.count];
        if (fscanf(f, "%63s %td %td", e->name, &e->rows, &e->cols) != 3 || e->rows < 1 || e->cols < 1 ||
            e->rows > 100000 || e->cols > 100000) {
            golden_die("no name, rows and columns after ", golden.count ? e[-1].name : "the comments");
        }
        ptrdiff_t size = e->rows * e->cols;
        e->a = (double *)malloc((size_t)size * sizeof *e->a);
        if (!e->a) {
            golden_die("out of memory at ", e->name);
            return;
        }
        golden.count++;
        for (ptrdiff_t i = 0; i < size; i++) {
            if (fscanf(f, "%lf", &e->a[i]) != 1) golden_die("too few numbers in ", e->name);
        }
    }
    fclose(f);
}

/* The numbers of an entry, row-major; rows and cols may be NULL. */
static inline const double *golden_get(const char *name, ptrdiff_t *rows, ptrdiff_t *cols)
{
    for (int i = 0; i < golden.count; i++) {
        const golden_entry *e = &golden.entry[i];
        if (strcmp(e->name, name) == 0) {
            if (rows) *rows = e->rows;
            if (cols) *cols = e->cols;
            return e->a;
        }
    }
    golden_die("has no entry ", name);
    return NULL;
}

static inline double golden_number(const char *name)
{
    ptrdiff_t rows, cols;
    const double *a = golden_get(name, &rows, &cols);
    if (rows != 1 || cols != 1) golden_die("not a single number: ", name);
    return a[0];
}

#endif
