/* epiq_model.h - fit once, predict often: everything needed to ask about points that are not known yet, in memory or in
 * one file (docs/model-file.md).
 */
#ifndef EPIQ_MODEL_H
#define EPIQ_MODEL_H

#include "epiq.h"

#ifdef __cplusplus
extern "C" {
#endif

/*     epiq_model *m;          epiq_fit(c, data, &o, &m);   epiq_model_write(c, m, "y.epiq");
 *
 * and later, perhaps elsewhere,
 *
 *     epiq_model *m;          epiq_model_read(c, "y.epiq", &m);
 *     double h[100], v[100];  unsigned char known[100];
 *     epiq_predictions out = {.size = sizeof out, .prediction = h, .data = v, .known = known};
 *     epiq_model_predict(c, m, 100, x, &out);              x: 100 by features, as given
 *
 * The numbers are those of epiq_estimate at these points, with the same data, options and seed, apart from single
 * precision, which .exact turns off.
 */
typedef struct epiq_model epiq_model;

EPIQ_API int epiq_fit(epiq_ctx *c, const epiq_data *data, const epiq_options *o, epiq_model **out);
EPIQ_API int epiq_model_read(epiq_ctx *c, const char *path,
                             epiq_model **out); /* maps it: leave the file alone until freed */
EPIQ_API int epiq_model_load(epiq_ctx *c, const void *bytes, size_t size,
                             epiq_model **out); /* a file's bytes in memory: leave them alone until freed */
EPIQ_API int epiq_model_write(epiq_ctx *c, const epiq_model *m, const char *path); /* the whole file or none */
/* The file's bytes, piece by piece; put returns non-zero to end it with EPIQ_E_FILE. */
EPIQ_API int epiq_model_send(epiq_ctx *c, const epiq_model *m, int (*put)(void *user, const void *bytes, size_t size),
                             void *user);
EPIQ_API void epiq_model_free(epiq_ctx *c, epiq_model *m);

enum { EPIQ_PREDICTION = 1, EPIQ_PROCEDURAL = 2, EPIQ_DATA = 4, EPIQ_ENSEMBLE = 8 }; /* parts, or-ed together */

typedef struct {
    ptrdiff_t rows, features;
    const char *const *feature;
    const char *target;
    double shift, factor;        /* target as given = shift + factor * scaled target */
    const char *sha256;          /* of the data */
    const char *version;         /* of the epiq that made it */
    const epiq_options *options; /* with every choice made; those of one run (threads, level, ..) mean nothing here */
    int parts;                   /* those it can tell */
    const epiq_warning *const *warnings; /* of epiq_fit; a file does not keep them */
    ptrdiff_t warning_count;
} epiq_model_info;
EPIQ_API void epiq_model_info_get(const epiq_model *m, epiq_model_info *info, size_t size); /* size: sizeof *info */
static inline epiq_model_info epiq_model_describe(const epiq_model *m)
{
    epiq_model_info info;
    epiq_model_info_get(m, &info, sizeof info);
    return info;
}

/* What is wanted, and where it goes: count numbers each; NULL where not wanted, except known, which is needed. */
typedef struct {
    size_t size;                                       /* sizeof(epiq_predictions) */
    double *prediction, *procedural, *data, *ensemble; /* variances in squared units of the target */
    unsigned char *known; /* count: which parts are known, or-ed; where one is not, its number is 0 and means nothing */
    ptrdiff_t first;      /* rows that came before these, for sentences that name one */
    ptrdiff_t outside;    /* rises by the rows that lie outside the range of those learned from: extrapolations */
    ptrdiff_t threads;    /* 0: all cores */
    /* Double precision throughout. Else networks with one hidden layer and up to 64 features are asked in single
     * precision where their spread is far above its rounding: three times as fast, off by 1e-6 or so of the target's
     * scale, and variances by less than a thousandth. */
    int exact;
    ptrdiff_t few; /* rises by the rows whose data variance, if wanted, rests on one or two training rows */
} epiq_predictions;
EPIQ_API int epiq_model_predict(epiq_ctx *c, const epiq_model *m, ptrdiff_t count, const double *x,
                                epiq_predictions *out);

/* Rows of a file (CSV, NPY or NPZ; "-": standard input) a block at a time, the model's features found by name among its
 * columns: memory stays the same however long the file is. The model must live as long. */
typedef struct epiq_reader epiq_reader;
EPIQ_API int epiq_reader_open(epiq_ctx *c, const epiq_model *m, const char *path, epiq_reader **out);
EPIQ_API int epiq_reader_next(epiq_ctx *c, epiq_reader *r, ptrdiff_t most, double *x,
                              ptrdiff_t *count); /* x: most by features; *count is 0 at the end */
/* A sentence about the file that a person should read: columns that are ignored. NULL: there is nothing to say. */
EPIQ_API const char *epiq_reader_note(const epiq_reader *r);
EPIQ_API void epiq_reader_free(epiq_ctx *c, epiq_reader *r);

#ifdef __cplusplus
}
#endif
#endif
