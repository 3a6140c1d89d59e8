/* zip.c - NPZ: the .npy members of a zip archive, stored or deflated, found through its central directory. Every offset
 * and size comes from the file and is checked against it; zip64, which only archives past 4 GiB need, is refused.
 */
#include "data/table.h"

#include <string.h>
#include <zlib.h>

enum { END_SIZE = 22, ENTRY_SIZE = 46, LOCAL_SIZE = 30, MOST_COMMENT = 65535, MOST_RATIO = 1032 /* of deflate */ };

static ptrdiff_t u16(const unsigned char *p)
{
    return p[0] | p[1] << 8;
}

static ptrdiff_t u32(const unsigned char *p)
{
    return u16(p) | u16(p + 2) << 16;
}

static const unsigned char *find_end(const epiqp_table *t)
{
    for (ptrdiff_t at = t->in.size - END_SIZE; at >= 0 && at >= t->in.size - END_SIZE - MOST_COMMENT; at--) {
        const unsigned char *p = t->in.bytes + at;
        if (!memcmp(p, "PK\5\6", 4) && u16(p + 20) == t->in.size - at - END_SIZE) return p;
    }
    return NULL;
}

/* Returns Z_OK, Z_MEM_ERROR or another code of zlib. */
static int inflate_all(const unsigned char *from, ptrdiff_t from_size, unsigned char *to, ptrdiff_t to_size)
{
    z_stream z = {0};
    int begin = inflateInit2(&z, -MAX_WBITS); /* negative: no zlib header */
    if (begin != Z_OK) return begin;
    z.next_in = (unsigned char *)(uintptr_t)from;
    z.avail_in = (uInt)from_size;
    z.next_out = to;
    z.avail_out = (uInt)to_size;
    int end = inflate(&z, Z_FINISH);
    bool good = end == Z_STREAM_END && z.avail_out == 0;
    inflateEnd(&z);
    return good ? Z_OK : end == Z_MEM_ERROR ? end : Z_DATA_ERROR;
}

static int damaged(epiq_ctx *c, const epiqp_table *t, const char *what)
{
    return epiqp_fail(c, EPIQ_E_DATA, "%s: %s; copy or save the archive again", t->in.name, what);
}

static int zip64(epiq_ctx *c, const epiqp_table *t)
{
    return epiqp_fail(c, EPIQ_E_DATA, "%s: zip64 archives are not read; save an NPY array instead", t->in.name);
}

/* entry: in the central directory, with its bounds checked */
static int add_member(epiq_ctx *c, epiqp_table *t, const unsigned char *entry)
{
    ptrdiff_t method = u16(entry + 10), packed = u32(entry + 20), size = u32(entry + 24), local = u32(entry + 42);
    if (u16(entry + 8) & 1 || (method != 0 && method != 8)) {
        return epiqp_fail(
            c, EPIQ_E_DATA,
            "%s: the archive is encrypted or packed in another way than deflate; save it with numpy.savez", t->in.name);
    }
    if (packed == UINT32_MAX || size == UINT32_MAX || local == UINT32_MAX) return zip64(c, t);
    if (local + LOCAL_SIZE > t->in.size || memcmp(t->in.bytes + local, "PK\3\4", 4) != 0) {
        return damaged(c, t, "the zip directory points outside the archive");
    }
    ptrdiff_t at = local + LOCAL_SIZE + u16(t->in.bytes + local + 26) + u16(t->in.bytes + local + 28);
    if (at > t->in.size || packed > t->in.size - at || size > MOST_RATIO * (packed + 1) ||
        (method == 0 && size != packed)) {
        return damaged(c, t, "the zip directory promises more than the archive holds");
    }
    const unsigned char *bytes = t->in.bytes + at;
    if (method == 8) {
        unsigned char *out = epiqp_arena_alloc(c, &t->arena, size, 1);
        if (!out) return EPIQ_E_NOMEM;
        int unpacked = inflate_all(bytes, packed, out, size);
        if (unpacked == Z_MEM_ERROR) {
            return epiqp_fail(c, EPIQ_E_NOMEM, "%s: no memory to unpack it; end other programs", t->in.name);
        }
        if (unpacked != Z_OK) return damaged(c, t, "a deflated array cannot be unpacked");
        bytes = out;
    }
    if ((ptrdiff_t)crc32_z(0, bytes, (size_t)size) != u32(entry + 16)) {
        return damaged(c, t, "the checksum of an array is wrong");
    }
    const char *name = epiqp_text_clean(c, &t->arena, (const char *)entry + ENTRY_SIZE, u16(entry + 28) - 4);
    if (!name) return EPIQ_E_NOMEM;
    return epiqp_npz_add(c, t, name, bytes, size);
}

int epiqp_npz_open(epiq_ctx *c, epiqp_table *t)
{
    const unsigned char *end = find_end(t);
    if (!end) return damaged(c, t, "the end of the zip archive is missing");
    ptrdiff_t entries = u16(end + 10), start = u32(end + 16), stop = start + u32(end + 12), all = 0;
    if (entries == UINT16_MAX || start == UINT32_MAX) return zip64(c, t);
    if (stop > end - t->in.bytes) return damaged(c, t, "the zip directory lies outside the archive");
    if (!(t->array = epiqp_arena_alloc(c, &t->arena, entries, sizeof *t->array))) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0, at = start; i < entries; i++) {
        const unsigned char *entry = stop - at < ENTRY_SIZE ? NULL : t->in.bytes + at;
        if (!entry || memcmp(entry, "PK\1\2", 4) != 0 || stop - at - ENTRY_SIZE < u16(entry + 28)) {
            return damaged(c, t, "the zip directory is cut off");
        }
        ptrdiff_t name_size = u16(entry + 28);
        all += u32(entry + 20);
        if (all > t->in.size) { /* members that share bytes could unpack to any size */
            return damaged(c, t, "the zip directory promises more than the archive holds");
        }
        if (name_size >= 4 && !memcmp(entry + ENTRY_SIZE + name_size - 4, ".npy", 4)) {
            int status = add_member(c, t, entry);
            if (status) return status;
        }
        at += ENTRY_SIZE + name_size + u16(entry + 30) + u16(entry + 32);
    }
    if (t->arrays) return EPIQ_OK;
    return epiqp_fail(c, EPIQ_E_DATA, "%s: the zip archive holds no .npy array; a spreadsheet must be saved as CSV",
                      t->in.name);
}
