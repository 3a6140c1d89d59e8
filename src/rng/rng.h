/* rng.h - numbered random streams: a number is a pure function of (seed, purpose, stream, index), so that members can
 * be made in any order, on any thread, on any machine. Philox4x64-10 counts; Box-Muller makes normals.
 */
#ifndef EPIQP_RNG_H
#define EPIQP_RNG_H

#include <stddef.h>
#include <stdint.h>

/* What a stream is for. The numbers are part of the promise "same seed, same bits": add, never renumber. */
typedef enum {
    EPIQP_FOR_SYNTH_X = 1,
    EPIQP_FOR_SYNTH_NOISE = 2,
    EPIQP_FOR_MEMBER = 3,      /* stream = member */
    EPIQP_FOR_BATCH = 4,       /* stream = batch */
    EPIQP_FOR_SHUFFLE = 5,     /* of rows into batches */
    EPIQP_FOR_ORDER = 6,       /* of a member's mini-batches; stream = member */
    EPIQP_FOR_BATCH_ORDER = 7, /* of the mini-batches of a batch's network; stream = batch */
    EPIQP_FOR_PROBE = 8,       /* stream = probe */
    EPIQP_FOR_SEARCH = 9,      /* the search for leading directions; the rows that training begins with */
    EPIQP_FOR_LANDMARK = 10,   /* rows of a preconditioner */
    EPIQP_FOR_PARTS = 11,      /* of rows into parts */
    EPIQP_FOR_WILD = 12,       /* signs of steps; stream = replicate */
    EPIQP_FOR_FOLD = 13,       /* networks of a fold and of its retraining, in a state file; */
    EPIQP_FOR_RETRAINED = 14,  /* their starting weights are those of members */
    EPIQP_FOR_NEIGHBOURS = 16, /* of the rows among which neighbours are chosen */
    EPIQP_FOR_HALVES = 17,     /* of rows into halves; stream = split */
    EPIQP_FOR_ALONE = 18,      /* signs for an estimate of the noise alone; stream = vector */
    EPIQP_FOR_QUESTION = 19,   /* of the groups whose rows are asked about */
    EPIQP_FOR_RESAMPLE = 20,   /* of groups with replacement; stream = resample */
    EPIQP_FOR_BETWEEN = 21     /* of pairs of rows, halfway between which networks are asked */
} epiqp_purpose;

typedef struct {
    uint64_t seed, purpose, stream;
} epiqp_stream;

void epiqp_uniforms(epiqp_stream s, ptrdiff_t count, double *u); /* in (0, 1), 52 bits */
void epiqp_normals(epiqp_stream s, ptrdiff_t count, double *z);
void epiqp_signs(epiqp_stream s, ptrdiff_t count, signed char *z); /* -1 or 1 */
/* round: distinguishes repeated shuffles */
void epiqp_shuffle(epiqp_stream s, uint64_t round, ptrdiff_t count, ptrdiff_t *v);

#endif
