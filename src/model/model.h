/* model.h - a fitted model: what an estimate leaves behind (run/run.h), or its file (docs/model-file.md). */
#ifndef EPIQP_MODEL_H
#define EPIQP_MODEL_H

#include "epiq_details.h"
#include "epiq_model.h"
#include "run/run.h"

/* A batch of BA's, to correct it: small.c. */
typedef struct {
    epiqp_rows rows;
    epiqp_tri factor;
    epiqp_ols ols;
} epiqp_small_batch;

enum { EPIQP_MODEL_ERROR = 10 }; /* numbers of an epiq_fit_error, without its arrays */

typedef enum { EPIQP_MEMBERS, EPIQP_BATCHES, EPIQP_RETRAINED, EPIQP_ENSEMBLES } epiqp_ensemble_kind;
typedef struct {
    ptrdiff_t count;     /* networks; 0: the options do without */
    epiqp_kept *weights; /* in `kept` below */
    epiqp_shallow32_ensemble single;
} epiqp_ensemble;

struct epiq_model {
    epiqp_arena arena;
    const void *bytes; /* of its file; NULL: it was just made */
    size_t size;
    void *map;      /* the same, where the file is mapped */
    epiq_options o; /* resolved, without those of one run alone */
    ptrdiff_t n, d, groups;
    const char *target, *version;
    const char **feature; /* d */
    struct epiqp_columns columns;
    char sha256[65]; /* of the data */
    epiqp_warnings warnings;
    const epiq_warning *const *warning_list; /* NULL: the model is from a file, which has none */
    struct {
        bool influence, retrain, factor, alpha, rowwise, moderated; /* rowwise: excess, of moderated as well */
        bool error;                                                 /* fit_error: files of before have none */
    } has;                                                          /* what the options ask for */
    epiqp_ensemble ensemble[EPIQP_ENSEMBLES];
    /* tensors; NULL where the options do without. Those of a file are never written to. */
    const double *x;          /* n by d, scaled */
    const double *shift;      /* d: given = shift + factor * scaled */
    const double *factor;     /* d */
    const ptrdiff_t *group;   /* n */
    double target_scaling[2]; /* shift, factor */
    epiqp_model_parts kept;
    double error[EPIQP_MODEL_ERROR]; /* fit_error below as numbers */
    /* what follows from them */
    epiq_fit_error fit_error; /* on rows not seen, without its arrays */
    epiqp_spread spread;      /* of points, if there is an interval of y; */
    const char *no_interval;  /* else why there is none */
    ptrdiff_t inputs;         /* of a network: d, or coordinates in the span of the rows */
    epiqp_fit fit;            /* rows laid out; no y, no points */
    double norm2;             /* of the longest row */
    double kurtosis;          /* of the residuals used; 0: they are not taken row by row */
    double *least, *most;     /* d: of the scaled features */
    epiq_data rows;           /* x and groups, as networks have them */
    epiqp_steps steps;        /* of retraining, for points to be asked about */
    epiqp_ols ols;
    struct {
        epiqp_tri all;            /* the factor of all rows where kept.factor is not there */
        epiqp_small_batch *batch; /* o.batches; NULL: BA is not corrected, or not needed */
    } small;
};

enum { EPIQP_FEATURE_TEXTS = 4 }; /* of each feature: its name, column, value and unit */
static inline void epiqp_model_texts(epiq_model *m, const char **texts) /* EPIQP_FEATURE_TEXTS times d */
{
    m->feature = texts;
    m->columns = (struct epiqp_columns){.source = texts + m->d, .value = texts + 2 * m->d, .unit = texts + 3 * m->d};
}

static inline bool epiqp_model_wide(const epiq_model *m) /* networks have coordinates instead of features */
{
    return m->kept.span.rank > 0;
}

epiq_model *epiqp_model_alloc(epiq_ctx *c);
void epiqp_model_list_contents(epiq_model *m);       /* has, and the counts of ensembles, from the options */
int epiqp_model_prepare(epiq_ctx *c, epiq_model *m); /* from the tensors to what follows from them */
bool epiqp_model_error_of(const double *numbers, epiq_fit_error *out); /* false: they are not those of an error */

/* ---- reader.c ---- */

/* copy: columns whose texts are kept, or NULL; target: rows have it behind their features. */
int epiqp_reader_new(epiq_ctx *c, const epiq_model *m, const char *path, const char *copy, bool target,
                     epiq_reader **out);

/* ---- small.c: BA corrected for small batches ---- */

int epiqp_small_new(epiq_ctx *c, epiq_model *m); /* m->small, where the model knows how and BA decides something */
void epiqp_small_free(epiq_ctx *c, epiq_model *m);
/* phi at the points x (points by inputs), laid out in `at`, from c (points by n) of all rows. */
int epiqp_small_phi(const epiqp_env *e, const epiq_model *m, const epiqp_rows *at, const double *x, const double *c,
                    double *phi);

/* ---- ask_device.c: networks asked and columns solved for on a device ---- */

typedef struct epiqp_asked epiqp_asked;
/* Whether that gains time for so many rows: networks of these ensembles, if the processor asks them in double, and with
 * solves c = A^-1 k0 of each row. */
bool epiqp_asked_worth(const epiqp_env *e, const epiq_model *m, const bool *use, bool solves, double rows);
/* For blocks of up to `points` points. factor: of all rows; NULL: nothing is solved for. */
int epiqp_asked_new(const epiqp_env *e, const epiq_model *m, const bool *use, const epiqp_tri *factor, ptrdiff_t points,
                    epiqp_asked **out);
void epiqp_asked_free(epiqp_asked *t);
/* What is done there: solves, and outputs of networks. t NULL: nothing. */
bool epiqp_asked_solves(const epiqp_asked *t);
bool epiqp_asked_networks(const epiqp_asked *t);
/* h: networks by points, one ensemble after the other; where starts are taken off, behind each network what is taken off. */
int epiqp_asked_outputs(epiqp_asked *t, ptrdiff_t points, const double *x, double *h);
int epiqp_asked_solve(const epiqp_asked *t, ptrdiff_t cols, double *b);

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

typedef enum {
    EPIQP_TENSOR_INSIDE = 1, /* the numbers are in the model itself, at `at`; else a pointer to them is */
    EPIQP_TENSOR_WHOLE = 2,  /* I64 instead of F64 */
    EPIQP_TENSOR_AMOUNT = 4  /* no number is negative */
} epiqp_tensor_flags;

typedef struct {
    char name[EPIQP_TENSOR_NAME];
    void *at; /* NULL: behind the tensor before it */
    unsigned flags;
    int dims;
    ptrdiff_t shape[2];
} epiqp_tensor;

/* Those that the options ask for, in the file's order. It reads `has`, ensembles, n, d, inputs, the rank of the span and the
 * options. */
int epiqp_tensors_new(epiq_ctx *c, epiqp_arena *arena, const epiq_model *m, epiqp_tensor **out, ptrdiff_t *count);
ptrdiff_t epiqp_tensor_items(const epiqp_tensor *t);

/* ---- header.c: the JSON of a model file, as strict as our own writer ---- */

typedef struct {
    const char *name, *dtype;
    int dims;
    ptrdiff_t shape[2], range[2]; /* range: of its bytes behind the header */
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
