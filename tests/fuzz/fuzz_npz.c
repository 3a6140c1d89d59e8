/* fuzz_npz.c - any bytes as an NPZ archive. Mutants get the checksums they need, or nothing past them would be tried. */
#include "fuzz.h"

#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_table(bytes, size);
    return 0;
}

static size_t u16(const uint8_t *p)
{
    return (size_t)(p[0] | p[1] << 8);
}

static size_t u32(const uint8_t *p)
{
    return u16(p) | u16(p + 2) << 16;
}

/* What zip.c will compare with: the checksum of an entry's bytes, unpacked if they are packed. */
static bool checksum(const uint8_t *bytes, size_t size, const uint8_t *entry, uint32_t *sum)
{
    static uint8_t unpacked[1 << 16];
    size_t packed = u32(entry + 20), at = u32(entry + 42), whole = sizeof unpacked;
    if (at + 30 > size) return false;
    at += 30 + u16(bytes + at + 26) + u16(bytes + at + 28);
    if (at > size || packed > size - at) return false;
    if (u16(entry + 10) == 0) {
        *sum = (uint32_t)crc32(0, bytes + at, (uInt)packed);
        return true;
    }
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)bytes + at,
                  .avail_in = (uInt)packed,
                  .next_out = unpacked,
                  .avail_out = (uInt)whole};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return false;
    bool good = inflate(&z, Z_FINISH) == Z_STREAM_END;
    whole -= z.avail_out;
    inflateEnd(&z);
    *sum = (uint32_t)crc32(0, unpacked, (uInt)whole);
    return good;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed)
{
    size = LLVMFuzzerMutate(bytes, size, room);
    for (size_t at = 0; seed % 8 && at + 46 <= size; at++) { /* one in 8 keeps what checksums it has */
        uint32_t sum;
        if (!memcmp(bytes + at, "PK\1\2", 4) && checksum(bytes, size, bytes + at, &sum)) {
            for (int k = 0; k < 4; k++) {
                bytes[at + 16 + (size_t)k] = (uint8_t)(sum >> 8 * k);
            }
        }
    }
    return size;
}
