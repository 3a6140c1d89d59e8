/* gunzip.c - a gzip file unpacked while it is read, of one member or several; zlib checks length and checksum. */
#include "data/table.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

struct epiqp_gzip {
    z_stream z;
    bool between; /* a member has ended; another may follow */
    unsigned char packed[1 << 16];
};

static int no_memory(epiq_ctx *c, const epiqp_input *in)
{
    return epiqp_fail(c, EPIQ_E_NOMEM, "%s: no memory to unpack it; end other programs", in->name);
}

int epiqp_gzip_begin(epiq_ctx *c, epiqp_input *in)
{
    enum { GZIP = 16 }; /* zlib's way to ask for this header */
    if (memcmp(in->bytes, "\x1F\x8B", EPIQP_GZIP_BYTES) != 0) return EPIQ_OK;
    struct epiqp_gzip *g = epiqp_alloc(c, 1, sizeof *g);
    if (!g) return EPIQ_E_NOMEM;
    memset(&g->z, 0, sizeof g->z);
    g->between = false;
    if (inflateInit2(&g->z, MAX_WBITS + GZIP) != Z_OK) {
        epiqp_free(c, g);
        return no_memory(c, in);
    }
    memcpy(g->packed, in->bytes, EPIQP_GZIP_BYTES);
    g->z.next_in = g->packed;
    g->z.avail_in = EPIQP_GZIP_BYTES;
    in->gzip = g;
    in->size = 0;
    in->limit = in->limit > 0 ? in->limit : epiqp_memory();
    return EPIQ_OK;
}

int epiqp_gzip_read(epiq_ctx *c, epiqp_input *in, ptrdiff_t size)
{
    struct epiqp_gzip *g = in->gzip;
    const bool pending = !g->between && !g->z.avail_out; /* the last call had no room for more */
    if (!g->z.avail_in && !pending) {
        const ssize_t got = read(in->fd, g->packed, sizeof g->packed);
        if (got < 0) return errno == EINTR ? EPIQ_OK : epiqp_input_fails(c, in);
        in->more = got > 0;
        if (!got && !g->between) {
            return epiqp_fail(c, EPIQ_E_DATA, "%s: the gzip file is cut off; copy it again", in->name);
        }
        g->z.next_in = g->packed;
        g->z.avail_in = (uInt)got;
        if (!got) return EPIQ_OK;
    }
    if (g->between) inflateReset(&g->z);
    g->z.next_out = in->bytes + in->size;
    g->z.avail_out = (uInt)epiqp_min(size, (ptrdiff_t)1 << 30);
    const uInt room = g->z.avail_out;
    const int z = inflate(&g->z, Z_NO_FLUSH);
    g->between = z == Z_STREAM_END;
    in->size += room - g->z.avail_out;
    if (z == Z_MEM_ERROR) return no_memory(c, in);
    if (z == Z_OK || z == Z_STREAM_END || z == Z_BUF_ERROR) return EPIQ_OK;
    return epiqp_fail(c, EPIQ_E_DATA, "%s: the gzip file is damaged; copy or pack it again", in->name);
}

void epiqp_gzip_end(epiq_ctx *c, epiqp_input *in)
{
    if (in->gzip) inflateEnd(&in->gzip->z);
    epiqp_free(c, in->gzip);
    in->gzip = NULL;
}
