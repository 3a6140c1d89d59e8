/* data.h - rows as the rest of the library uses them: checked, scaled, grouped; and the points to predict at.
 * csv.c and npy.c turn files into a table of cells, columns.c chooses among its columns, data.c selects the complete
 * rows, scale.c scales, points.c adds points in the same columns and scaling.
 */
#ifndef EPIQP_DATA_H
#define EPIQP_DATA_H

#include "base/base.h"
#include "epiq_combine.h"
#include "rng/rng.h"

/* How to read the same features from another file. */
struct epiqp_columns {
    ptrdiff_t count;
    const char **name;   /* count: every column of the file, used or not */
    const char **source; /* d: the column a feature comes from */
    const char **value;  /* d: the value for which a one-hot feature is 1; NULL: the number itself */
    const char **unit;   /* d: "%" or a currency that the numbers of the column are written with; NULL: none */
    const char *na;      /* texts that mean a missing cell, as the option names them; NULL: none */
    const char *target;  /* column that is read behind the features; NULL: none */
    const char *copy;    /* columns whose texts are kept, in a list as the options have them; NULL: none */
    bool any;            /* other columns of a file of points are as expected: it is not known which the data had */
};

struct epiq_data {
    epiqp_arena arena;
    ptrdiff_t n, d, groups;
    double *x;       /* n by d, scaled */
    double *y;       /* n, scaled */
    double *x_given; /* n by d, as given */
    double *shift;   /* d: given = shift + factor * scaled */
    double *factor;  /* d */
    double *mean;    /* d, of the features as given */
    double *least;   /* d, of the features as given */
    double *most;    /* d */
    double y_shift, y_factor;
    const char **feature;
    const char *target;
    ptrdiff_t *row;          /* n: the row's number in the file, from 1, header not counted */
    ptrdiff_t *group;        /* n: 0 .. groups-1, in order of first appearance */
    ptrdiff_t largest_group; /* rows of the largest; 0: the data was assembled elsewhere and every row is a group */
    bool grouped;            /* the caller has said which rows belong together */
    ptrdiff_t dropped, duplicates, constant;
    ptrdiff_t blocks, block_by, block_with; /* values of a feature that seems to name groups; it, and one it decides */
    char sha256[65];
    epiqp_warnings warnings;
    struct epiqp_columns *columns;
};

double epiqp_scaled(double given, double shift, double factor); /* (given - shift) / factor, without overflow */

/* A value of --group: rows with equal features are one group, unless a column has this name. */
#define EPIQP_SAME_FEATURES "same-features"

/* partition.c: a random partition of the rows that keeps groups whole. Without groups the sizes differ by at most one.
 * sizes: the rows of each part, or NULL. */
int epiqp_partition(epiq_ctx *c, const epiq_data *data, epiqp_stream s, ptrdiff_t parts, ptrdiff_t *part_of_row,
                    ptrdiff_t *sizes);

struct epiq_points {
    epiqp_arena arena;
    const epiq_data *data;
    ptrdiff_t count, room;
    double *x;               /* count by d, scaled */
    const char **at;         /* count: "mean", "row:7", "new.csv:3" (third row of the file), "3" (third of an array) */
    epiqp_warnings warnings; /* about the files that points came from */
    ptrdiff_t *left_out;     /* count: the row of the data that is left out and asked about, from 0; -1: none is */
};

/* ---- matrix.c: numbers computed elsewhere ---- */

#define EPIQP_LARGEST_GIVEN 1e100 /* the largest number accepted: products and sums of them stay finite */
static inline double epiqp_matrix_at(const epiq_matrix *m, ptrdiff_t i, ptrdiff_t j)
{
    ptrdiff_t k = i * m->columns + j;
    return m->real == EPIQ_FLOAT32 ? (double)((const float *)m->a)[k] : ((const double *)m->a)[k];
}
/* Row i from column j on, as doubles. Returns the index, counted from j, of the first number that cannot be used, or
 * -1. */
ptrdiff_t epiqp_matrix_row(const epiq_matrix *m, ptrdiff_t i, ptrdiff_t j, ptrdiff_t count, double *out);
int epiqp_matrix_refuse(epiq_ctx *c, const epiq_matrix *m, ptrdiff_t i,
                        ptrdiff_t j); /* fails with a message about that number */

#endif
