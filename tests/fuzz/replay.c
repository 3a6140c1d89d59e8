/* replay.c - runs a fuzz target without libFuzzer, so that every compiler's build can: first on each file of the folders
 * named, then on as many mutants of them, always the same. It learns nothing on the way: tools/check-fuzz does that.
 * Usage: fuzz_NAME MUTANTS FOLDER...
 */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed);

enum { MOST_FILES = 4096, LARGEST = 1 << 15 };

static struct {
    char name[512];
    uint8_t *bytes;
    size_t size;
} file[MOST_FILES];
static int files;
static const char *current = "?"; /* said when it crashes */
static uint8_t mutant[LARGEST];
static size_t mutant_size;
static uint64_t state = 1; /* SplitMix64: the same mutants every time */

static uint64_t draw(uint64_t below)
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return below ? (z ^ z >> 31) % below : 0;
}

/* A few bytes changed, taken out, put in twice, or replaced by such as readers stumble over. */
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t room)
{
    static const char *const words[] = {"\"",    ",",   "\n", "\r\n", "0", "-1", "9223372036854775807",
                                        "1e999", "nan", "=",  "'"};
    for (uint64_t left = 1 + draw(4); left; left--) {
        size_t at = draw(size + 1), span = 1 + draw(16);
        const char *word = words[draw(sizeof words / sizeof *words)];
        span = span < size - at ? span : size - at;
        switch (draw(5)) {
        case 0:
            memmove(bytes + at, bytes + at + span, size - at - span);
            size -= span;
            break;
        case 1:
            if (size + span <= room) {
                memmove(bytes + at + span, bytes + at, size - at);
                size += span;
            }
            break;
        case 2:
            memcpy(bytes + at, word, strlen(word) < size - at ? strlen(word) : size - at);
            break;
        case 3:
            if (at < size) bytes[at] ^= (uint8_t)(1 << draw(8));
            break;
        default:
            if (at < size) bytes[at] = (uint8_t)draw(256);
        }
    }
    return size;
}

static void load(const char *folder)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) && files < MOST_FILES;) {
        snprintf(file[files].name, sizeof file->name, "%s/%s", folder, e->d_name);
        FILE *in = *e->d_name == '.' ? NULL : fopen(file[files].name, "rb");
        if (in) {
            file[files].bytes = malloc(LARGEST);
            EXPECT(file[files].bytes);
            file[files].size = fread(file[files].bytes, 1, LARGEST, in);
            EXPECT(fgetc(in) == EOF);
            fclose(in);
            files++;
        }
    }
    if (d) closedir(d);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b); /* the name comes first in it */
}

/* Where a crash came from: the file's name, or the bytes, kept beside. */
static void on_crash(int sig)
{
    dprintf(STDERR_FILENO, "crashed on %s\n", current);
    char name[300];
    snprintf(name, sizeof name, "crash-%s", program_invocation_short_name);
    FILE *out = mutant_size ? fopen(name, "wb") : NULL;
    if (out) {
        fwrite(mutant, 1, mutant_size, out);
        fclose(out);
        dprintf(STDERR_FILENO, "its bytes are in %s; mend it, and keep them in tests/fuzz/found\n", name);
    }
    signal(sig, SIG_DFL);
    raise(sig);
}

/* A copy of just that size, so that a byte too far is seen. */
static void run(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    EXPECT(copy);
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

int main(int argc, char **argv)
{
    static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t k = 0; k < sizeof fatal / sizeof *fatal; k++) {
        signal(fatal[k], on_crash);
    }
    for (int i = 2; i < argc; i++) {
        load(argv[i]);
    }
    qsort(file, (size_t)files, sizeof *file, by_name);
    for (int i = 0; i < files; i++) {
        current = file[i].name;
        run(file[i].bytes, file[i].size);
    }
    current = "a mutant";
    const long long mutants = argc > 1 && files ? atoll(argv[1]) : 0;
    for (long long k = 0; k < mutants; k++) {
        int i = (int)draw((uint64_t)files);
        memcpy(mutant, file[i].bytes, mutant_size = file[i].size);
        for (uint64_t left = 1 + draw(3); left; left--) {
            mutant_size = LLVMFuzzerCustomMutator
                              ? LLVMFuzzerCustomMutator(mutant, mutant_size, LARGEST, (unsigned)draw(UINT32_MAX))
                              : LLVMFuzzerMutate(mutant, mutant_size, LARGEST);
        }
        run(mutant, mutant_size);
    }
    printf("%d files and %lld mutants passed, 0 failed\n", files, mutants);
    return files == 0;
}
