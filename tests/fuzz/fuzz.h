/* fuzz.h - what the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput, called by libFuzzer
 * (tools/check-fuzz) or by replay.c, which needs no clang. It asks for more than no crash: EXPECT says what epiq.h promises.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "base/base.h"

/* libFuzzer's names. The mutator is a target's own where bytes alone would never get past a checksum. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t room);

#define EXPECT(cond) ((cond) ? (void)0 : fuzz_broken(__FILE__, __LINE__, #cond))
_Noreturn void fuzz_broken(const char *file, int line, const char *promise);

epiq_ctx *fuzz_ctx(void);                              /* one for all inputs, empty again after each */
void fuzz_end(void);                                   /* of an input: nothing is left in the context */
int fuzz_status(int status);                           /* it and its sentence fit together; returns it */
void fuzz_text(const char *text);                      /* UTF-8 that would not move a terminal's cursor, not empty */
uint64_t fuzz_hash(const uint8_t *bytes, size_t size); /* chooses options, so that inputs stay plain files */

enum { FUZZ_FILES = 2 };
const char *fuzz_file(int which, const void *bytes, size_t size); /* in memory, under a name that can be opened */

/* epiq_data_read and all that reads the same file again: points, and blocks of rows. They must agree. */
void fuzz_table(const uint8_t *bytes, size_t size);

/* What a result promises; rows: those of the data, 0 where there is none. Returns a checksum of every number that the same
 * question must give again, so neither seconds nor threads. */
uint64_t fuzz_result(const epiq_result *r, ptrdiff_t rows);

#endif
