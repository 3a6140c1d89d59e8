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
/* What that would cost, before anything is spent: as epiq_forecast. */
EPIQ_API int epiq_fit_forecast(epiq_ctx *c, const epiq_data *data, const epiq_options *o, epiq_result **out);
EPIQ_API int epiq_model_read(epiq_ctx *c, const char *path,
                             epiq_model **out); /* maps it: leave the file alone until freed */
EPIQ_API int epiq_model_load(epiq_ctx *c, const void *bytes, size_t size,
                             epiq_model **out); /* a file's bytes in memory: leave them alone until freed */
EPIQ_API int epiq_model_write(epiq_ctx *c, const epiq_model *m, const char *path); /* the whole file or none */
/* The file's bytes, piece by piece; put returns non-zero to end it with EPIQ_E_FILE. */
EPIQ_API int epiq_model_send(epiq_ctx *c, const epiq_model *m, int (*put)(void *user, const void *bytes, size_t size),
                             void *user);
EPIQ_API void epiq_model_free(epiq_ctx *c, epiq_model *m);

enum { /* parts, or-ed together */
       EPIQ_PREDICTION = 1,
       EPIQ_PROCEDURAL = 2,
       EPIQ_DATA = 4,
       EPIQ_ENSEMBLE = 8,
       EPIQ_SD = 16,
       EPIQ_INTERVAL = 32,
       EPIQ_NOISE = 64,
       EPIQ_EXPECTED = 128
};

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
    const struct epiq_fit_error
        *fit;                /* epiq_details.h: the error on rows not seen, as of an estimate, without arrays */
    double most_level;       /* up to which there is an interval; 0: there is none, */
    const char *no_interval; /* and this says why, with a remedy; else NULL */
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
    double *prediction, *procedural, *data, *ensemble; /* but for the first variances, in squared units of the target */
    unsigned char *known; /* count: which parts are known, or-ed; where one is not, its number is 0 and means nothing */
    ptrdiff_t first;      /* rows that came before these, for sentences that name one */
    ptrdiff_t outside;    /* rises by the rows that lie outside the range of those learned from: extrapolations */
    ptrdiff_t threads;    /* 0: all cores */
    /* Double precision throughout. Else networks with one hidden layer and up to 64 features are asked in single
     * precision where their spread is far above its rounding: three times as fast, off by 1e-6 or so of the target's
     * scale, and variances by less than a thousandth. */
    int exact;
    ptrdiff_t few;      /* rises by the rows whose data variance, if wanted, rests on one or two training rows */
    double *sd;         /* standard deviation of the prediction: the root of data + procedural/members */
    double *lo, *hi;    /* interval of y, where a new observation would fall: EPIQ_INTERVAL */
    double *noise;      /* standard deviation of y around the best prediction there */
    double level;       /* of the interval; 0: 0.95 */
    ptrdiff_t withheld; /* rises by the rows outside the data, where there is neither interval nor noise */
    /* An epiq_device_choice: where networks are asked and the data variance is solved for. auto: on the device
     * (epiq_device.h) when these rows and those before them would keep the processor busy for a second with solves or
     * with networks that it asks in double. There all is double precision. */
    int device;
    int on_device; /* set to whether it was used; then more rows at a time are faster, such as 65536 */
    /* interval of the expected prediction at that level, of models fitted with options.confidence: EPIQ_EXPECTED. That of retrain
     * is around the prediction, with its variance: the limit of many rows is for estimates alone */
    double *confidence_lo, *confidence_hi;
} epiq_predictions;
EPIQ_API int epiq_model_predict(epiq_ctx *c, const epiq_model *m, ptrdiff_t count, const double *x,
                                epiq_predictions *out);

/* Rows of a file (CSV, NPY or NPZ; "-": standard input) a block at a time, the model's features found by name among its
 * columns: memory stays the same however long the file is. The model must live as long. */
typedef struct epiq_reader epiq_reader;
EPIQ_API int epiq_reader_open(epiq_ctx *c, const epiq_model *m, const char *path, epiq_reader **out);
/* The same, and the texts of some columns are kept as they are written: those of a list of names with commas between, of
 * CSV alone. */
EPIQ_API int epiq_reader_open_with(epiq_ctx *c, const epiq_model *m, const char *path, const char *copy,
                                   epiq_reader **out);
/* What to do with rows that lack a cell, an epiq_missing: refused unless this is called before the first block; EPIQ_MISSING_DROP:
 * they stay in their places, and all their numbers are NaN; leave them out of what epiq_model_predict is asked. */
EPIQ_API void epiq_reader_missing(epiq_reader *r, int missing);
EPIQ_API int epiq_reader_next(epiq_ctx *c, epiq_reader *r, ptrdiff_t most, double *x,
                              ptrdiff_t *count); /* x: most by features; *count is 0 at the end */
/* The k-th of these columns in row i of the last block, both from 0, or with i = -1 its name; NULL: there is none. */
EPIQ_API const char *epiq_reader_copied(const epiq_reader *r, ptrdiff_t i, ptrdiff_t k);
/* A sentence about the file that a person should read: columns that are ignored. NULL: there is nothing to say. */
EPIQ_API const char *epiq_reader_note(const epiq_reader *r);
EPIQ_API void epiq_reader_free(epiq_ctx *c, epiq_reader *r);

/* ---- a model against rows whose target is known ---- */

typedef struct {
    int known; /* 0: the model has too few rows for an interval of this level, or no interval */
    double level;
    ptrdiff_t inside;     /* rows whose y lies in its interval */
    double share, lo, hi; /* that over the rows judged, and what it could be by chance: Wilson's interval at 95 % */
} epiq_coverage;

enum { EPIQ_PIT = 10 };
typedef struct {
    ptrdiff_t rows;
    double rmse, mae, r2; /* of all rows; r2 needs has_r2, and is about the mean of these rows */
    int has_r2;
    ptrdiff_t judged;   /* rows whose noise and sd are known: everything below is about these */
    ptrdiff_t withheld; /* rows outside the data, where they are not */
    double level;       /* of lo and hi */
    const epiq_coverage *coverage;
    double width, interval_score; /* mean of hi - lo, and of Winkler's score: width, and 2/(1 - level) times the miss */
    const epiq_coverage *const *calibration; /* at levels 0.5, 0.8, 0.9 and 0.95 */
    /* of a normal distribution around the prediction, with variance sd^2 + noise^2 */
    double crps;                      /* mean of the continuous ranked probability score, in units of the target */
    int has_likelihood;               /* 0: some of these variances are 0 */
    double log_likelihood, squared_z; /* means: of the log density; of squared errors over the variance */
    const ptrdiff_t *pit;             /* EPIQ_PIT: rows whose y lies in each tenth of the distribution, from below */
    /* rows each; what known does not name is 0 and means nothing */
    const double *y, *prediction, *sd, *lo, *hi, *noise;
    const double *within;       /* of rows judged: intervals of higher levels hold y, as far as there are any */
    const unsigned char *known; /* as of epiq_predictions */
    const epiq_warning *const *warnings;
    ptrdiff_t warning_count;
    ptrdiff_t dropped;    /* rows left out because a cell was missing, */
    const ptrdiff_t *row; /* and then rows: the number of each among all of them, from 1; NULL: none was left out */
} epiq_scores;

typedef struct {
    size_t size;       /* sizeof(epiq_score_request) */
    double level;      /* of the interval of y; 0: 0.95 */
    int exact;         /* as of epiq_predictions, */
    ptrdiff_t threads; /* and so is this */
    ptrdiff_t missing; /* an epiq_missing; EPIQ_MISSING_DROP: rows with a missing cell, or NaN, are left out */
} epiq_score_request;

EPIQ_API int epiq_score_rows(epiq_ctx *c, const epiq_model *m, ptrdiff_t rows, const double *x, const double *y,
                             const epiq_score_request *ask, epiq_scores **out);
/* Rows of a file with the model's features and its target by name, which fit into memory. */
EPIQ_API int epiq_score_file(epiq_ctx *c, const epiq_model *m, const char *path, const epiq_score_request *ask,
                             epiq_scores **out);
EPIQ_API void epiq_scores_free(epiq_ctx *c, epiq_scores *s);

#ifdef __cplusplus
}
#endif
#endif
