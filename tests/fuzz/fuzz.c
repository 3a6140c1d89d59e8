/* fuzz.c - promises that hold for every call (epiq.h), and files that never touch a disk. */
#include "fuzz.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static epiq_ctx *context;
static const char *looked_at = ""; /* the text that was last judged */

void fuzz_broken(const char *file, int line, const char *promise)
{
    dprintf(STDERR_FILENO, "%s:%d: not so: %s\nthe last message: %s\nthe last text: %s\n", file, line, promise,
            context ? epiq_message(context) : "", looked_at);
    abort();
}

epiq_ctx *fuzz_ctx(void)
{
    if (!context) EXPECT(epiq_ctx_new(&context) == EPIQ_OK);
    return context;
}

void fuzz_end(void)
{
    EXPECT(atomic_load(&context->live_blocks) == 0);
}

void fuzz_text(const char *text)
{
    EXPECT(text && *text);
    looked_at = text;
    ptrdiff_t length = (ptrdiff_t)strlen(text);
    bool cut = length == (ptrdiff_t)sizeof context->message - 1; /* a sentence so long may end within a character */
    EXPECT(cut || epiqp_text_is_clean(text, length));
    for (const char *p = text; *p; p++) {
        EXPECT((unsigned char)*p >= ' ' && *p != '\x7F');
    }
}

int fuzz_status(int status)
{
    EXPECT(status <= EPIQ_PARTIAL && status >= EPIQ_E_STOPPED);
    if (status < 0) {
        fuzz_text(epiq_message(context));
    } else {
        EXPECT(!*epiq_message(context));
    }
    return status;
}

uint64_t fuzz_hash(const uint8_t *bytes, size_t size)
{
    uint64_t h = 0xCBF29CE484222325u; /* FNV-1a */
    for (size_t i = 0; i < size; i++) {
        h = (h ^ bytes[i]) * 0x100000001B3u;
    }
    return h ^ h >> 32;
}

const char *fuzz_file(int which, const void *bytes, size_t size)
{
    static struct {
        int fd;
        char path[32];
    } files[FUZZ_FILES];
    if (!*files[which].path) {
        files[which].fd = memfd_create("fuzz", MFD_CLOEXEC);
        EXPECT(files[which].fd >= 0);
        snprintf(files[which].path, sizeof files[which].path, "/proc/self/fd/%d", files[which].fd);
    }
    EXPECT(ftruncate(files[which].fd, 0) == 0);
    EXPECT(!size || pwrite(files[which].fd, bytes, size, 0) == (ssize_t)size);
    return files[which].path;
}
