/* input.c - the bytes of a file: read up to a size, read whole, or mapped. */
#include "data/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool epiqp_is_url(const char *path)
{
    const size_t scheme = strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+");
    return scheme && strncmp(path + scheme, "://", 3) == 0;
}

int epiqp_input_fails(epiq_ctx *c, const epiqp_input *in)
{
    return epiqp_fail(c, EPIQ_E_FILE, "%s: %s; name a file that can be read", in->name, strerror(errno));
}

int epiqp_input_open(epiq_ctx *c, const char *path, epiqp_input *in)
{
    const size_t length = strlen(path), most = 200; /* the end of a path is shown, not its beginning */
    const bool cut = length > most, standard = strcmp(path, "-") == 0;
    char end[sizeof in->name];
    epiqp_text_show(end, sizeof end, cut ? path + length - most : path, (ptrdiff_t)(cut ? most : length));
    *in = (epiqp_input){.more = true};
    snprintf(in->name, sizeof in->name, "%.3s%.*s", cut ? "..." : "", (int)most + 3, standard ? "standard input" : end);
    in->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0 && epiqp_is_url(path)) {
        return epiqp_fail(c, EPIQ_E_FILE, "%s: addresses are not read; download the file and give its name", in->name);
    }
    return in->fd < 0 ? epiqp_input_fails(c, in) : EPIQ_OK;
}

/* Some more bytes, of up to `size`; the first ones tell whether the file is packed. */
static int read_some(epiq_ctx *c, epiqp_input *in, ptrdiff_t size)
{
    if (in->gzip) return epiqp_gzip_read(c, in, size - in->size);
    const ptrdiff_t most = in->begun ? size : epiqp_min(size, EPIQP_GZIP_BYTES);
    const ssize_t got = read(in->fd, in->bytes + in->size, (size_t)(most - in->size));
    if (got < 0) return errno == EINTR ? EPIQ_OK : epiqp_input_fails(c, in);
    in->size += got;
    in->more = got != 0;
    if (in->begun || in->size < EPIQP_GZIP_BYTES) return EPIQ_OK;
    in->begun = true;
    return epiqp_gzip_begin(c, in);
}

int epiqp_input_read(epiq_ctx *c, epiqp_input *in, ptrdiff_t size)
{
    unsigned char *bytes = epiqp_grown(c, in->bytes, &in->room, size + 1, 1);
    if (!bytes) return EPIQ_E_NOMEM;
    in->bytes = bytes;
    while (in->size < size && in->more) {
        int status = read_some(c, in, size);
        if (status) return status;
        if (epiqp_cancel_requested(c)) {
            epiqp_clear_cancel(c);
            return epiqp_fail(c, EPIQ_E_STOPPED, "stopped on request while reading %s", in->name);
        }
    }
    if (in->gzip && (double)in->size > in->limit) {
        return epiqp_fail(c, EPIQ_E_NOMEM, "%s unpacks to more than the %.1f GB that may be used; give it fewer rows",
                          in->name, in->limit / 1e9);
    }
    bytes[in->size] = '\0';
    return EPIQ_OK;
}

static bool is_file(const epiqp_input *in, struct stat *about)
{
    return !fstat(in->fd, about) && S_ISREG(about->st_mode);
}

int epiqp_input_read_all(epiq_ctx *c, epiqp_input *in)
{
    struct stat about;
    ptrdiff_t size = 1 << 16;
    if (is_file(in, &about)) {
        size = epiqp_max(size, (ptrdiff_t)about.st_size + 1); /* one byte more than there are, to detect the end */
    }
    int status = EPIQ_OK;
    for (; in->more && !status; size *= 2) {
        status = epiqp_input_read(c, in, size);
    }
    return status;
}

static void close_file(epiqp_input *in)
{
    if (in->fd > STDIN_FILENO) close(in->fd);
    in->fd = -1;
}

int epiqp_input_map(epiq_ctx *c, epiqp_input *in)
{
    struct stat about;
    if (in->gzip || !is_file(in, &about) || about.st_size < 1 || lseek(in->fd, 0, SEEK_CUR) != in->size) {
        return epiqp_input_read_all(
            c, in); /* a packed file, a pipe, a device, or a file whose beginning was read before */
    }
    void *map = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, in->fd, 0);
    if (map == MAP_FAILED) {
        return epiqp_fail(c, errno == ENOMEM ? EPIQ_E_NOMEM : EPIQ_E_FILE,
                          "%s: the file cannot be mapped (%s); copy it to a local disk, or free memory", in->name,
                          strerror(errno));
    }
    close_file(in);
    epiqp_free(c, in->bytes);
    in->bytes = map;
    in->size = (ptrdiff_t)about.st_size;
    in->mapped = true;
    in->more = false;
    return EPIQ_OK;
}

void epiqp_input_close(epiq_ctx *c, epiqp_input *in)
{
    epiqp_gzip_end(c, in);
    if (in->mapped) {
        munmap(in->bytes, (size_t)in->size);
    } else {
        epiqp_free(c, in->bytes);
    }
    close_file(in);
    in->bytes = NULL;
    in->mapped = false;
}
