/* model.h - a fitted model: what estimate keeps (est/est.h), whether it was just made or lies in a mapped file. fit.c
 * makes one, tensors.c, write.c, header.c and read.c are its file, predict.c asks it, and docs/model-file.md describes
 * the file.
 */
#ifndef EPIQP_MODEL_H
#define EPIQP_MODEL_H

#include "est/est.h"
#include "net/single.h"

/* A batch of BA's, to correct it: small.c. */
typedef struct {
    epiqp_rows rows;
    epiqp_tri factor;
} epiqp_small_batch;

struct epiq_model {
    epiqp_arena arena;
    const void *bytes; /* of its file; NULL: it was just made, and everything is in the arena */
    size_t size;
    void *map;      /* the same, where the file is mapped */
    epiq_options o; /* resolved */
    ptrdiff_t n, d, groups;
    const char *target, *version;
    const char **feature; /* d */
    struct epiqp_columns columns;
    char sha256[65]; /* of the data */
    epiqp_warnings warnings;
    /* tensors; NULL where the options do without */
    const double *x;                                /* n by d, scaled */
    const double *shift;                            /* d: given = shift + factor * scaled */
    const double *factor;                           /* d */
    const double *target_scaling;                   /* 2: shift, factor */
    const ptrdiff_t *group;                         /* n */
    epiqp_kept members, batches, retrained;         /* never written to */
    const double *alpha, *used, *residual, *excess; /* n */
    const double *retrain;                          /* EPIQP_KEPT_RETRAIN; the data part is IF's alone without */
    const double *step, *step_size, *alone;         /* o.replicates by n; n; n: as in epiqp_keep */
    const ptrdiff_t *fold;                          /* n */
    const double *smoothed, *spread;                /* n */
    const double *unit;                             /* 1: of excess, smoothed and spread */
    const double *law;                              /* 3: of moderated: kurtosis, how far the noise varies, its mean */
    const double *noise;                            /* 1: what phi is made of, as in epiqp_keep */
    epiqp_tri tri;                                  /* factor of A; never written to */
    /* what follows from them */
    epiqp_fit fit;        /* rows laid out; no y, no points */
    double norm2;         /* of the longest row */
    double kurtosis;      /* of the residuals used; 0: they are not taken row by row */
    double *least, *most; /* d: of the scaled features */
    epiqp_single single_members, single_batches, single_retrained;
    epiqp_steps steps; /* of retraining, for points to be asked about */
    epiqp_ols ols;
    struct {
        epiqp_tri all;            /* the factor of all rows where tri is not there */
        epiqp_small_batch *batch; /* o.batches; NULL: BA is not corrected, or not needed */
    } small;
};

/* From the tensors to what follows from them. */
int epiqp_model_prepare(epiq_ctx *c, epiq_model *m);
epiq_model *epiqp_model_alloc(epiq_ctx *c);

/* What the options ask for; the rest is not there. */
bool epiqp_model_has_members(const epiq_model *m);
bool epiqp_model_has_batches(const epiq_model *m);
bool epiqp_model_has_influence(const epiq_model *m);
bool epiqp_model_has_retrain(const epiq_model *m);
bool epiqp_model_has_retrained(const epiq_model *m);  /* the networks, beside what they told */
ptrdiff_t epiqp_model_retrained(const epiq_model *m); /* how many */
bool epiqp_model_has_factor(const epiq_model *m);
bool epiqp_model_has_alpha(const epiq_model *m);

/* ---- small.c: BA corrected for small batches ---- */

int epiqp_small_new(epiq_ctx *c, epiq_model *m); /* m->small, where the model knows how and BA decides something */
void epiqp_small_free(epiq_ctx *c, epiq_model *m);
const epiqp_tri *epiqp_small_factor(const epiq_model *m); /* of all rows */
/* phi at the points, from c (points by n) of all rows. */
int epiqp_small_phi(const epiqp_env *e, const epiq_model *m, const epiqp_rows *at, const double *c, double *phi);

/* ---- tensors.c: the file's tensors, for writing and for reading ---- */

/* The header begins with these bytes, the version, HASHED, and the checksum: both are known before any JSON is read. */
#define EPIQP_MODEL_START "{\"__metadata__\":{\"format\":\"epiq-model\",\"format_version\":\""
#define EPIQP_MODEL_VERSION "1"
#define EPIQP_MODEL_HASHED "\",\"checksum\":\""
enum {
    EPIQP_MODEL_AT_SUM = 8 + sizeof EPIQP_MODEL_START EPIQP_MODEL_VERSION EPIQP_MODEL_HASHED - 1,
    EPIQP_MODEL_SUM = 64,   /* hexadecimal digits of SHA-256 */
    EPIQP_MODEL_ALIGN = 64, /* where the tensors begin: a multiple of this */
    EPIQP_TENSOR_NAME = 32
};

typedef struct {
    char name[EPIQP_TENSOR_NAME];
    void *at;   /* the pointer to it in the model; NULL: it lies behind the one before */
    bool whole; /* I64 instead of F64 */
    int dims;
    ptrdiff_t shape[2];
} epiqp_tensor;

/* Those that the options ask for, in the file's order. n, d and the options are all it looks at. */
int epiqp_tensors_new(epiq_ctx *c, epiqp_arena *arena, const epiq_model *m, epiqp_tensor **list, ptrdiff_t *count);
ptrdiff_t epiqp_tensor_items(const epiqp_tensor *t);

/* ---- header.c: the JSON of a model file, as strict as our own writer ---- */

typedef struct {
    const char *name;
    char dtype[8];
    int dims;
    ptrdiff_t shape[2], begin, end;
} epiqp_entry;

typedef struct {
    epiqp_entry *tensor;
    struct {
        const char *key, *value;
    } * note; /* the metadata */
    ptrdiff_t tensors, notes, tensor_room, note_room;
} epiqp_header;

/* NULL: there is no such key. */
const char *epiqp_header_note(const epiqp_header *h, const char *key);
int epiqp_header_read(epiq_ctx *c, const char *file, const char *json, ptrdiff_t size, epiqp_arena *arena,
                      epiqp_header *out);
/* [{"name": .., "column": .., "value": .. or null}, ...] */
int epiqp_header_features(epiq_ctx *c, const char *file, const char *json, ptrdiff_t d, epiq_model *m);

#endif
