/* test_model_file.c - a model file that is read back says the same to the last bit, and no file, however damaged or made up, does
 * anything but be refused in a sentence. */
#include "allocations.h"
#include "epiq_model.h"
#include "fitted_model.h"

#include <fcntl.h>
#include <sys/stat.h>

static long read_bytes(const char *from, char *to, size_t room)
{
    FILE *f = fopen(from, "rb");
    long size = f ? (long)fread(to, 1, room, f) : -1;
    if (f) fclose(f);
    return size;
}

static char file[1 << 20];
static long file_size;

static void tiny_file(epiq_ctx *c)
{
    epiq_options o = small();
    o.width = 2;
    o.members = 2;
    o.batches = 2;
    epiq_model *m = fitted(c, 8, &o, NULL);
    EQ(epiq_model_write(c, m, path), EPIQ_OK);
    epiq_model_free(c, m);
    file_size = read_bytes(path, file, sizeof file);
    TRUE(file_size > 0);
}

TEST(a_file_read_back_is_the_model)
{
    static const int engines[] = {EPIQ_ENGINE_NETWORK, EPIQ_ENGINE_LINEAR, EPIQ_ENGINE_LINEAR, EPIQ_ENGINE_INFINITE};
    for (int k = 0; k < 4; k++) {
        epiq_ctx *c = start();
        epiq_options o = small();
        o.engine = engines[k];
        o.linear_kernel = k == 2;
        o.onehot = "a \"quoted\" name,\n\xC3\xA9\x01"; /* not a column here: only text that must survive */
        epiq_model *m = fitted(c, N, &o, NULL), *again = NULL;
        static numbers before, after;
        static char bytes[2][1 << 20];
        EQ(ask(c, m, 2, 0, &before), EPIQ_OK);
        EQ(epiq_model_write(c, m, path), EPIQ_OK);
        epiq_model_free(c, m);
        EQ(epiq_model_read(c, path, &again), EPIQ_OK);
        STR(epiq_message(c), "");
        if (again) {
            EQ(ask(c, again, 2, 0, &after), EPIQ_OK);
            EQ(memcmp(&before, &after, sizeof before), 0);
            STR(again->o.onehot, o.onehot);
            STR(again->feature[2], "x3");
            STR(again->target, "y");
            EQ(epiq_model_write(c, again, other), EPIQ_OK);
            long size = read_bytes(path, bytes[0], sizeof bytes[0]);
            TRUE(size > 0 && size < (long)sizeof bytes[0]);
            EQ(read_bytes(other, bytes[1], sizeof bytes[1]), size);
            EQ(memcmp(bytes[0], bytes[1], (size_t)size), 0);
        }
        epiq_model_free(c, again);
        EQ(epiq_model_write(c, m = fitted(c, N, &o, NULL), "/nonexistent/model"), EPIQ_E_FILE);
        epiq_model_free(c, m);
        end(c);
    }
}

/* ---- taken up again ---- */

typedef struct {
    ptrdiff_t stop_at, resumed; /* members after which it is asked to stop; those there were at the start */
    bool heard;
} interruption;

static int stop_then(void *user, const epiq_progress *p)
{
    interruption *i = user;
    if (strcmp(p->stage, "members") != 0) return 0;
    i->resumed = i->heard ? i->resumed : p->done;
    i->heard = true;
    return p->done >= i->stop_at;
}

static int collect(void *user, const void *bytes, size_t size)
{
    epiqp_sha256_add(user, bytes, size);
    return 0;
}

static void sum_of(epiq_ctx *c, const epiq_model *m, char hex[65])
{
    epiqp_sha256 sum = epiqp_sha256_start();
    EQ(m ? epiq_model_send(c, m, collect, &sum) : EPIQ_E_USAGE, EPIQ_OK);
    epiqp_sha256_end(&sum, hex);
}

/* A fit that was stopped goes on from its state, and is the model of one that was not, to the last byte; and so is one
 * that finds everything there, batches too. */
TEST(a_stopped_fit_goes_on_and_ends_with_equal_bytes)
{
    static const int engines[] = {EPIQ_ENGINE_NETWORK, EPIQ_ENGINE_LINEAR, EPIQ_ENGINE_LINEAR};
    for (int k = 0; k < 3; k++) {
        epiq_ctx *c = start();
        epiq_options o = small();
        epiq_data *data;
        epiq_model *m = NULL;
        char want[65], got[65];
        o.engine = engines[k];
        o.linear_kernel = k == 2;
        o.hbar = k == 2 ? EPIQ_HBAR_KERNEL : EPIQ_HBAR_ENSEMBLE; /* members at the rows too */
        o.threads = 2;
        EQ(epiq_data_new(c, N, D, X, Y, NULL, &o, &data), EPIQ_OK);
        EQ(epiq_fit(c, data, &o, &m), EPIQ_OK);
        sum_of(c, m, want);
        epiq_model_free(c, m);
        o.state = other;
        interruption first = {.stop_at = 3}, second = {.stop_at = 1000}, third = second;
        epiq_ctx_on_progress(c, stop_then, &first);
        EQ(epiq_fit(c, data, &o, &m), EPIQ_E_STOPPED);
        EQ(first.resumed, 0);
        epiq_ctx_on_progress(c, stop_then, &second);
        EQ(epiq_fit(c, data, &o, &m), EPIQ_OK);
        TRUE(second.resumed >= 3 && second.resumed <= 4); /* one may have been in the making */
        sum_of(c, m, got);
        STR(got, want);
        epiq_model_free(c, m);
        epiq_ctx_on_progress(c, stop_then, &third);
        EQ(epiq_fit(c, data, &o, &m), EPIQ_OK);
        EQ(third.resumed, o.members);
        sum_of(c, m, got);
        STR(got, want);
        epiq_model_free(c, m);
        epiq_ctx_on_progress(c, NULL, NULL);
        epiq_data_free(c, data);
        end(c);
    }
}

TEST(bytes_in_memory_are_a_model_wherever_they_begin)
{
    epiq_ctx *c = start();
    epiq_options o = small();
    epiq_model *m = fitted(c, N, &o, NULL);
    static numbers before, after;
    static _Alignas(64) char bytes[(1 << 20) + 64];
    EQ(ask(c, m, 2, 0, &before), EPIQ_OK);
    EQ(epiq_model_write(c, m, path), EPIQ_OK);
    epiq_model_free(c, m);
    for (int shift = 0; shift < 64; shift += shift < 9 ? 1 : 16) {
        long size = read_bytes(path, bytes + shift, 1 << 20);
        EQ(epiq_model_load(c, bytes + shift, (size_t)size, &m), EPIQ_OK);
        memset(&after, 0, sizeof after);
        if (m) EQ(ask(c, m, 2, 0, &after), EPIQ_OK);
        EQ(memcmp(&before, &after, sizeof before), 0);
        epiq_model_free(c, m);
        EQ(epiq_model_load(c, bytes + shift, (size_t)size - 1, &m), EPIQ_E_FILE);
        SENTENCE(epiq_message(c));
        TRUE(!m);
    }
    EQ(epiq_model_load(c, bytes, 10, &m), EPIQ_E_FILE);
    SAYS(epiq_message(c), "10");
    EQ(epiq_model_load(c, NULL, 0, &m), EPIQ_E_FILE);
    long size = read_bytes(path, bytes + 1, 1 << 20);
    FAIL_EACH(c, epiq_model_load(c, bytes + 1, (size_t)size, &m), !m, 1);
    epiq_model_free(c, m);
    end(c);
}

/* What the run was to do beside the model leaves no trace in it. */
TEST(only_what_the_model_is_is_kept)
{
    static char bytes[2][1 << 20];
    epiq_ctx *c = start();
    long size[2];
    for (int k = 0; k < 2; k++) {
        epiq_options o = small();
        o.threads = 1 + k;
        o.level = k ? 0.8 : 0.95;
        o.influential = 3 * k;
        o.sweep = 5 * k;
        o.mem_limit = (ptrdiff_t)k << 30;
        char *scratch = strdup("/tmp"); /* the caller's, who may free it */
        o.scratch = k ? scratch : NULL;
        epiq_model *m = fitted(c, N, &o, NULL);
        free(scratch);
        EQ(epiq_model_write(c, m, path), EPIQ_OK);
        epiq_model_free(c, m);
        size[k] = read_bytes(path, bytes[k], sizeof bytes[k]);
    }
    EQ(size[0], size[1]);
    EQ(memcmp(bytes[0], bytes[1], (size_t)size[0]), 0);
    end(c);
}

static mode_t mode_of(const char *name)
{
    struct stat about = {0};
    EQ(lstat(name, &about), 0);
    return about.st_mode & (S_IFMT | 0777);
}

TEST(a_file_takes_the_place_of_what_was_there)
{
    epiq_ctx *c = start();
    tiny_file(c);
    epiq_model *m, *again = NULL;
    char folder[] = "/tmp/epiq-model-XXXXXX", name[64], link[64];
    TRUE(mkdtemp(folder));
    snprintf(name, sizeof name, "%s/m", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    EQ(epiq_model_read(c, path, &m), EPIQ_OK);
    mode_t mask = umask(027);
    EQ(epiq_model_write(c, m, name), EPIQ_OK);
    EQ(mode_of(name), S_IFREG | 0640);
    EQ(chmod(name, 0606), 0);
    EQ(symlink("m", link), 0);
    EQ(truncate(name, 0), 0);
    EQ(epiq_model_write(c, m, link), EPIQ_OK);
    EQ(umask(mask), 027);
    EQ(mode_of(name), S_IFREG | 0606);
    EQ(mode_of(link) & S_IFMT, S_IFLNK);
    EQ(epiq_model_read(c, name, &again), EPIQ_OK);
    epiq_model_free(c, again);
    EQ(epiq_model_write(c, m, folder), EPIQ_E_FILE);
    SENTENCE(epiq_message(c));
    EQ(epiq_model_write(c, m, "/dev/full"), EPIQ_E_FILE); /* no file comes to lie beside it, nor in its place */
    SENTENCE(epiq_message(c));
    EQ(mode_of("/dev/full") & S_IFMT, S_IFCHR);
    epiq_model_free(c, m);
    unlink(link);
    unlink(name);
    EQ(rmdir(folder), 0); /* nothing else was left */
    end(c);
}

/* ---- files that are damaged or made up ---- */

static void put_file(const char *bytes, long size)
{
    FILE *f = fopen(path, "wb");
    fwrite(bytes, 1, (size_t)size, f);
    fclose(f);
}

static int refused(epiq_ctx *c)
{
    epiq_model *m = NULL;
    int s = epiq_model_read(c, path, &m);
    int good = s == EPIQ_E_FILE && !m && strlen(epiq_message(c)) > 40 && strstr(epiq_message(c), path);
    epiq_model_free(c, m);
    return good;
}

TEST(a_file_cut_short_at_any_byte_is_refused)
{
    epiq_ctx *c = start();
    tiny_file(c);
    for (long size = file_size - 1; size >= 0; size--) {
        EQ(truncate(path, size), 0);
        if (!refused(c)) {
            TEST_FAIL("cut to %ld bytes it was not refused: %s\n", size, epiq_message(c));
            break;
        }
    }
    put_file(file, file_size);
    FILE *f = fopen(path, "ab");
    putc(0, f);
    fclose(f);
    TRUE(refused(c)); /* nor may anything follow */
    end(c);
}

TEST(any_flipped_bit_is_noticed)
{
    epiq_ctx *c = start();
    tiny_file(c);
    int fd = open(path, O_WRONLY);
    for (long at = 0; at < file_size; at++) {
        for (int bit = 0; bit < 8; bit++) {
            char flipped = (char)(file[at] ^ 1 << bit);
            EQ(pwrite(fd, &flipped, 1, at), 1);
            if (!refused(c)) TEST_FAIL("bit %d of byte %ld went unnoticed: %s\n", bit, at, epiq_message(c));
        }
        EQ(pwrite(fd, &file[at], 1, at), 1);
    }
    close(fd);
    TRUE(!refused(c));
    end(c);
}

TEST(other_versions_and_byte_orders_are_named)
{
    epiq_ctx *c = start();
    epiq_model *m;
    tiny_file(c);
    char *version = strstr(file + 8, "format_version\":\"") + 17;
    *version = '7';
    put_file(file, file_size);
    EQ(epiq_model_read(c, path, &m), EPIQ_E_FILE);
    SENTENCE(epiq_message(c));
    *version = '1';
    for (int k = 0; k < 4; k++) {
        char kept = file[k];
        file[k] = file[7 - k];
        file[7 - k] = kept;
    }
    put_file(file, file_size);
    EQ(epiq_model_read(c, path, &m), EPIQ_E_FILE);
    SENTENCE(epiq_message(c));
    memset(file, 'x', 4096); /* a version that fills the last page of the map to its end */
    memcpy(file + 8, EPIQP_MODEL_START, sizeof EPIQP_MODEL_START - 1);
    put_file(file, 4096);
    EQ(epiq_model_read(c, path, &m), EPIQ_E_FILE);
    SENTENCE(epiq_message(c));
    memset(file, '7', 500); /* a table, say */
    put_file(file, 500);
    EQ(epiq_model_read(c, path, &m), EPIQ_E_FILE);
    SENTENCE(epiq_message(c));
    EQ(epiq_model_read(c, "/nonexistent", &m), EPIQ_E_FILE);
    EQ(epiq_model_read(c, "/dev/zero", &m), EPIQ_E_FILE);
    TRUE(!m);
    end(c);
}

/* The checksum that docs/model-file.md describes, so that what lies behind it is reached. */
static void sign(char *bytes, long size)
{
    epiqp_sha256 sum = epiqp_sha256_start();
    char hex[65];
    memset(bytes + EPIQP_MODEL_AT_SUM, '0', 64);
    epiqp_sha256_add(&sum, bytes, (size_t)size);
    epiqp_sha256_end(&sum, hex);
    memcpy(bytes + EPIQP_MODEL_AT_SUM, hex, 64);
}

/* The tiny file with `from` in its header replaced, padded and signed again. */
static void forge(const char *from, const char *to)
{
    static char text[1 << 20];
    long length = 0;
    memcpy(&length, file, sizeof length);
    file[8 + length - 1] = '\0'; /* of the padding */
    char *at = strstr(file + 8, from);
    TRUE(at != NULL);
    if (!at) return;
    int used =
        8 + snprintf(text + 8, sizeof text - 8, "%.*s%s%s", (int)(at - file - 8), file + 8, to, at + strlen(from));
    while (used % 64) {
        text[used++] = ' ';
    }
    long header = used - 8, tensors = file_size - 8 - length;
    memcpy(text, &header, sizeof header);
    memcpy(text + used, file + 8 + length, (size_t)tensors);
    file[8 + length - 1] = ' ';
    sign(text, used + tensors);
    put_file(text, used + tensors);
}

TEST(made_up_headers_are_refused)
{
    static const char *const lies[][2] = {
        {"\"byte_order\":\"little\"", "\"byte_order\":\"big\""},
        {"\"byte_order\":\"little\",", ""},
        {"\"target\":\"y\"", "\"target\":1"},
        {"\"target\":\"y\"", "\"target\":\"\\ud800\""},
        {"\"target\":\"y\"", "\"target\":\"\\u0000\""},
        {"\"target\":\"y\"", "\"target\":\"\xff\""},
        {"\"target\":\"y\"", "\"target\":\"y\",\"target\":\"z\""},
        {"\"option.width\":\"2\"", "\"option.width\":\"3\""},
        {"\"option.width\":\"2\"", "\"option.width\":\"10000000\""},
        {"\"option.depth\":\"1\"", "\"option.depth\":\"1000\""},
        {"\"option.members\":\"2\"", "\"option.members\":\"1000000\""},
        {"\"option.members\":\"2\"", "\"option.members\":\"-1\""},
        {"\"option.methods\":\"if,ev,ba\"", "\"option.methods\":\"auto\""},
        {"\"option.methods\":\"if,ev,ba\"", "\"option.methods\":\"ev\""},
        {"\"option.engine\":\"network\"", "\"option.engine\":\"infinite\""},
        {"\"option.engine\":\"network\"", "\"option.engine\":\"linear\""},
        {"\"option.kernel\":\"population\"", "\"option.kernel\":\"empirical\""},
        {"\"option.ensemble-size\":\"2\"", "\"option.ensemble-size\":\"0\""},
        {"\"option.seed\":\"1\"", "\"option.future\":\"1\""},
        {"\"option.seed\":\"1\"", "\"option.state\":\"/tmp/x\""},
        {"\"option.seed\":\"1\"", "\"option.scratch\":\"/tmp\""},
        {"\"dtype\":\"F64\"", "\"dtype\":\"F32\""},
        {"\"dtype\":\"F64\"", "\"dtype\":\"F64 and more than a name may have\""},
        {"\"dtype\":\"I64\"", "\"dtype\":\"F64\""},
        {"\"shape\":[8,8]", "\"shape\":[8]"},
        {"\"shape\":[8,8]", "\"shape\":[8,8,1]"},
        {"\"shape\":[8,8]", "\"shape\":[]"},
        {"\"shape\":[8,8]", "\"shape\":[64,1]"},
        {"\"shape\":[8,8]", "\"shape\":[-8,-8]"},
        {"\"shape\":[8,8]", "\"shape\":[99999999999999999999,8]"},
        {"\"shape\":[8,8]", "\"shape\":[8.0,8]"},
        {"\"shape\":[8,8]", "\"shape\":[[8],8]"},
        {"\"rows\":{\"dtype\":\"F64\",\"shape\":[8,3]",
         "\"rows\":{\"dtype\":\"F64\",\"shape\":[4611686018427387904,8]"},
        {"\"rows\":{\"dtype\":\"F64\",\"shape\":[8,3]", "\"rows\":{\"dtype\":\"F64\",\"shape\":[3,8]"},
        {"\"rows\":{\"dtype\":\"F64\",\"shape\":[8,3]", "\"rows\":{\"dtype\":\"F64\",\"shape\":[0,0]"},
        {"\"rows\":{", "\"rowz\":{"},
        {"\"interval_law\":{", "\"interval_lav\":{"},
        {"\"interval_score\":{", "\"interval_scare\":{"},
        {"\"interval_upto\":{\"dtype\":\"F64\",\"shape\":[8]", "\"interval_upto\":{\"dtype\":\"F64\",\"shape\":[4]"},
        {"\"fit_error\":{", "\"fit_errors\":{"},
        {"\"alpha\":{", "\"group\":{"},
        {"[0,512]", "[8,520]"},
        {"[0,512]", "[0,513]"},
        {"[0,512]", "[512,0]"},
        {"[0,512]", "[0]"},
        {"[0,512]", "[0,9223372036854775807]"},
        {"\"features\":\"[", "\"features\":\"[["},
        {"\"features\":\"[", "\"features\":\""},
        {"\"features\":\"[{", "\"features\":\"[{},{"},
        {"},\"factor.0\"", "},\"extra\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]},\"factor.0\""},
        {"},\"factor.0\"", "},\"__metadata__\":{},\"factor.0\""},
        {"},\"factor.0\"", "},\"factor.0\":{},\"factor.0\""},
        {"},\"factor.0\":{", "},\"factor.0\":{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{"},
        {"},\"factor.0\":{\"dtype\":\"F64\",", "},\"factor.0\":{"},
        {"},\"factor.0\":{\"dtype\":\"F64\",", "},\"factor.0\":{\"dtype\":\"F64\",\"dtype\":\"F64\","},
        {"},\"factor.0\"", "}}\"factor.0\""},
        {"},\"factor.0\"", "\"factor.0\""},
    };
    epiq_ctx *c = start();
    tiny_file(c);
    forge("\"option.", "\"option."); /* the forger himself */
    TRUE(!refused(c));
    for (size_t k = 0; k < sizeof lies / sizeof *lies; k++) {
        forge(lies[k][0], lies[k][1]);
        if (!refused(c)) TEST_FAIL("%s was believed, or said \"%s\"\n", lies[k][1], epiq_message(c));
    }
    end(c);
}

/* One number in a tensor replaced, signed again: what is not finite, or cannot be, is refused. */
TEST(made_up_numbers_are_refused)
{
    static const struct {
        const char *tensor;
        double value;
        int64_t whole;
    } lies[] = {{"rows", NAN, 0},
                {"rows", INFINITY, 0},
                {"rows", 1e300, 0},
                {"factor.0", NAN, 0},
                {"factor.0", 0, 0},
                {"factor.0", -1, 0},
                {"members.theta", NAN, 0},
                {"alpha", INFINITY, 0},
                {"noise_unit", -1, 0},
                {"feature_factor", 0, 0},
                {"feature_factor", -1, 0},
                {"target_scaling", NAN, 0},
                {"group", 0, -1},
                {"group", 0, 8},
                {"group", 0, INT64_MAX},
                {"fit_error", -1, 0},
                {"fit_error", NAN, 0},
                {"interval_law", -1, 0},
                {"interval_law", NAN, 0},
                {"interval_ratio", -1, 0},
                {"interval_score", 1e9, 0},
                {"interval_score", -1, 0},
                {"interval_upto", 0, 0},
                {"interval_upto", 5, 0},
                {"interval_prediction", INFINITY, 0}};
    epiq_ctx *c = start();
    tiny_file(c);
    long length = 0;
    memcpy(&length, file, sizeof length);
    for (size_t k = 0; k < sizeof lies / sizeof *lies; k++) {
        char name[40], kept[8];
        snprintf(name, sizeof name, "\"%s\":{", lies[k].tensor);
        char *at = strstr(file + 8, name);
        long begin = at ? strtol(strstr(at, "data_offsets\":[") + 15, NULL, 10) : 0;
        TRUE(at != NULL);
        char *number = file + 8 + length + begin;
        memcpy(kept, number, 8);
        memcpy(number, strcmp(lies[k].tensor, "group") == 0 ? (const void *)&lies[k].whole : &lies[k].value, 8);
        sign(file, file_size);
        put_file(file, file_size);
        epiq_model *m = NULL;
        int s = epiq_model_read(c, path, &m);
        if (s >= 0 || m || strlen(epiq_message(c)) < 30) {
            TEST_FAIL("%s = %g or %lld was believed\n", lies[k].tensor, lies[k].value, (long long)lies[k].whole);
        }
        epiq_model_free(c, m);
        memcpy(number, kept, 8);
    }
    end(c);
}

/* Bytes replaced at random and signed again: refused, or a model that answers without a NaN. */
TEST(no_header_of_random_bytes_harms)
{
    epiq_ctx *c = start();
    tiny_file(c);
    uint64_t seed = 1;
    static char forged[1 << 20];
    static numbers r;
    int read = 0;
    for (int round = 0; round < 2000; round++) {
        memcpy(forged, file, (size_t)file_size);
        for (int k = 0; k < 1 + round % 4; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            long at = 8 + EPIQP_MODEL_AT_SUM + (long)((seed >> 33) % (uint64_t)(file_size - EPIQP_MODEL_AT_SUM - 8));
            forged[at] = round % 2 ? (char)(seed >> 24) : "\"{}[]:,\\0179eu"[(seed >> 24) % 14];
        }
        sign(forged, file_size);
        put_file(forged, file_size);
        epiq_model *m = NULL;
        if (epiq_model_read(c, path, &m) >= 0) {
            read++;
            epiq_predictions out = {.size = sizeof(epiq_predictions),
                                    .prediction = r.prediction,
                                    .procedural = r.procedural,
                                    .data = r.data,
                                    .ensemble = r.ensemble,
                                    .known = r.known,
                                    .threads = 1,
                                    .sd = r.sd,
                                    .lo = r.lo,
                                    .hi = r.hi,
                                    .noise = r.noise};
            bool answered = m->d == D && epiq_model_predict(c, m, 8, AT, &out) >= 0;
            for (int p = 0; answered && p < 8; p++) {
                TRUE(isfinite(r.prediction[p]) && isfinite(r.procedural[p]) && isfinite(r.data[p]) &&
                     isfinite(r.ensemble[p]) && isfinite(r.sd[p]) && isfinite(r.lo[p]) && isfinite(r.hi[p]) &&
                     isfinite(r.noise[p]));
            }
        } else {
            TRUE(!m && strlen(epiq_message(c)) > 30);
        }
        epiq_model_free(c, m);
    }
    TRUE(read > 0); /* some only touch a number: the test reaches predict too */
    end(c);
}

TEST(no_allocation_may_fail_unnoticed)
{
    epiq_ctx *c = start();
    epiq_options o = small();
    epiq_data *data;
    epiq_model *whole, *m;
    static numbers r;
    EQ(epiq_data_new(c, N, D, X, Y, NULL, &o, &data), EPIQ_OK);
    o.width = 4;
    o.members = o.batches = o.fold_members = 2;
    o.threads = 1;
    EQ(epiq_fit(c, data, &o, &whole), EPIQ_OK);
    const ptrdiff_t live = c->live_blocks;
    for (int step = 0; step < 4; step++) { /* fit, write, read, ask */
        int s = EPIQ_E_NOMEM;
        for (ptrdiff_t k = 0; s == EPIQ_E_NOMEM && k < 20000; k++) {
            m = NULL;
            c->fail_after = k;
            s = step == 0   ? epiq_fit(c, data, &o, &m)
                : step == 1 ? epiq_model_write(c, whole, path)
                : step == 2 ? epiq_model_read(c, path, &m)
                            : ask(c, whole, 1, 0, &r);
            c->fail_after = -1;
            epiq_model_free(c, m);
            EQ(c->live_blocks, live);
            k += step == 0 && k > 60 ? 6 : 0; /* trainings repeat themselves */
        }
        EQ(s, EPIQ_OK);
    }
    epiq_model_free(c, whole);
    epiq_data_free(c, data);
    end(c);
}
