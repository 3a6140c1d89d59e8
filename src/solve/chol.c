/* chol.c - storage, factor and solves on one stored triangle (chol.h); inverse.c has the rest.
 * Work is divided into whole blocks, each summed in a fixed order: the bits do not depend on the threads.
 */
#include "solve/chol.h"
#include "solve/tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- storage ---- */

/* Tall panels bring gemm nearer its peak (128 rows 33, 256 41, 512 46, 1024 50 of 58 GFLOP/s; 2048 another 3 %),
 * short ones keep threads busy and waste less above the diagonal. The height depends on n alone, so that the bits do
 * not depend on the number of threads. */
static ptrdiff_t height_of(ptrdiff_t n)
{
    return n <= 1024 ? 128 : n <= 3072 ? 256 : n <= 6144 ? 512 : n <= 16384 ? 1024 : 2048;
}

ptrdiff_t epiqp_tri_bytes(ptrdiff_t n)
{
    ptrdiff_t height = height_of(n), full = n / height, rest = n % height;
    return (ptrdiff_t)sizeof(double) * (full * (full + 1) / 2 * height * height + rest * n);
}

epiqp_tri epiqp_tri_shape(ptrdiff_t n)
{
    ptrdiff_t height = height_of(n);
    return (epiqp_tri){.n = n, .height = height, .panels = (n + height - 1) / height};
}

int epiqp_tri_new(epiq_ctx *c, ptrdiff_t n, epiqp_tri *out)
{
    *out = epiqp_tri_shape(n);
    out->a = epiqp_alloc(c, epiqp_tri_bytes(n), 1);
    if (!out->a) return EPIQ_E_NOMEM;
    /* pages of 2 MB: 512 times fewer page faults and look-ups; only advice, so a failure does not matter */
    const uintptr_t page = 1 << 21, start = ((uintptr_t)out->a + page - 1) / page * page,
                    end = (uintptr_t)out->a + (uintptr_t)epiqp_tri_bytes(n);
    if (start + page <= end) madvise((void *)start, end - start, MADV_HUGEPAGE);
    return EPIQ_OK;
}

int epiqp_tri_scratch(epiq_ctx *c, ptrdiff_t n, const char *folder, ptrdiff_t resident, epiqp_tri *out)
{
    const ptrdiff_t bytes = epiqp_tri_bytes(n);
    *out = epiqp_tri_shape(n);
    out->resident = epiqp_max(resident, 1);
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/epiq-XXXXXX", folder);
    int fd = length > 0 && (size_t)length < sizeof path ? mkostemp(path, O_CLOEXEC) : -1;
    if (fd < 0) {
        return epiqp_fail(c, EPIQ_E_FILE, "%s: no scratch file can be made there (%s); name another folder", folder,
                          strerror(errno));
    }
    unlink(path);                             /* the file disappears with the process */
    int full = posix_fallocate(fd, 0, bytes); /* now: writing to a mapped file on a full disk kills the process */
    void *mapped =
        full ? MAP_FAILED : mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED) {
        return epiqp_fail(c, EPIQ_E_FILE,
                          "%s: the scratch file needs %.1f GB there (%s); free that much, or name another folder",
                          folder, (double)bytes / 1e9, strerror(full ? full : errno));
    }
    out->a = mapped;
    return EPIQ_OK;
}

void epiqp_tri_free(epiq_ctx *c, epiqp_tri *t)
{
    if (t->resident && t->a) {
        munmap(t->a, (size_t)epiqp_tri_bytes(t->n));
    } else {
        epiqp_free(c, t->a);
    }
    t->a = NULL;
}

/* Lets the system drop panels p0 .. p1-1 of a scratch file from memory; it writes them to the file first. */
static void drop_pages(const epiqp_tri *t, ptrdiff_t p0, ptrdiff_t p1)
{
    if (!t->resident || p1 <= p0) return;
    ptrdiff_t page = sysconf(_SC_PAGESIZE), from = (char *)epiqp_tri_at(t, p0, 0, 0) - (char *)t->a,
              to = p1 == t->panels ? epiqp_tri_bytes(t->n) : (char *)epiqp_tri_at(t, p1, 0, 0) - (char *)t->a;
    from = (from + page - 1) / page * page;
    if (to > from) madvise((char *)t->a + from, (size_t)(to - from), MADV_DONTNEED);
}

/* Entry (i, j), j up to the last row of the panel of row i. */
static double *entry(const epiqp_tri *t, ptrdiff_t i, ptrdiff_t j)
{
    return epiqp_tri_at(t, i / t->height, i % t->height, j);
}

double epiqp_tri_get(const epiqp_tri *t, ptrdiff_t i, ptrdiff_t j)
{
    return *entry(t, epiqp_max(i, j), epiqp_min(i, j));
}

static void copy_stored(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                        ptrdiff_t ld)
{
    const epiqp_tri *t = self;
    for (ptrdiff_t k = 0; k < cols; k++) {
        memcpy(out + k * ld, entry(t, i0, j0 + k), (size_t)rows * sizeof *out);
    }
}

epiqp_source epiqp_source_stored(const epiqp_tri *t)
{
    return (epiqp_source){.block = copy_stored, .self = t};
}

/* Panels p0 .. p1-1 */
static void fill(const epiqp_env *e, const epiqp_source *from, epiqp_tri *t, ptrdiff_t p0, ptrdiff_t p1)
{
    ptrdiff_t top = p0 * t->height / EPIQP_BLOCK,
              bottom = (epiqp_min(p1 * t->height, t->n) + EPIQP_BLOCK - 1) / EPIQP_BLOCK;
#pragma omp parallel for schedule(dynamic) num_threads(e->threads) if (t->n > EPIQP_ALONE || from->heavy)
    for (ptrdiff_t k = top * (top + 1) / 2; k < bottom * (bottom + 1) / 2; k++) {
        ptrdiff_t i = 0, before = 0;
        while (before + i + 1 <= k) { /* tile row i starts at tile number i (i + 1) / 2 */
            before += ++i;
        }
        ptrdiff_t i0 = i * EPIQP_BLOCK, j0 = (k - before) * EPIQP_BLOCK;
        from->block(from->self, i0, epiqp_min(EPIQP_BLOCK, t->n - i0), j0, epiqp_min(EPIQP_BLOCK, t->n - j0),
                    entry(t, i0, j0), epiqp_tri_rows(t, i0 / t->height));
    }
}

void epiqp_tri_fill(const epiqp_env *e, const epiqp_source *from, epiqp_tri *t)
{
    fill(e, from, t, 0, t->panels);
}

/* ---- factor ---- */

typedef struct {
    epiqp_tri *t;
    const epiqp_la *la;
    ptrdiff_t width;         /* of a block column */
    atomic_ptrdiff_t *done;  /* block columns finished in each panel */
    atomic_ptrdiff_t next;   /* the next task */
    atomic_ptrdiff_t failed; /* index of the failed pivot, or 0; non-zero makes all workers return */
} factoring;

/* Subtracts what columns from .. from+k-1 contribute to block column j of panel p, from row r0 down. */
static void subtract(const factoring *f, ptrdiff_t p, ptrdiff_t r0, ptrdiff_t j0, ptrdiff_t cols, ptrdiff_t from,
                     ptrdiff_t k)
{
    const epiqp_tri *t = f->t;
    ptrdiff_t q = j0 / t->height, ld = epiqp_tri_rows(t, p), rows = ld - r0;
    const double *a = epiqp_tri_at(t, p, r0, from), *b = entry(t, j0, from);
    double *c = epiqp_tri_at(t, p, r0, j0);
    if (k > 0 && p == q) { /* the block on the diagonal needs its lower half only */
        f->la->syrk('N', cols, k, -1, a, ld, c, ld);
        a += cols;
        c += cols;
        rows -= cols;
    }
    if (k > 0 && rows > 0) f->la->gemm('N', 'T', rows, cols, k, -1, a, ld, b, epiqp_tri_rows(t, q), 1, c, ld);
}

/* Block column j of panel p, left-looking: everything to the left in its rows and in those of block j must be
 * finished. The last block of that is awaited only when the rest is done. Panel q holds the diagonal block. */
static void factor_block(factoring *f, ptrdiff_t p, ptrdiff_t j)
{
    const epiqp_tri *t = f->t;
    ptrdiff_t j0 = j * f->width, cols = epiqp_min(f->width, t->n - j0), q = j0 / t->height;
    ptrdiff_t ld = epiqp_tri_rows(t, p), r0 = p == q ? j0 % t->height : 0, early = epiqp_max(j - 1, 0);
    if (!epiqp_await(&f->done[p], early, &f->failed) || !epiqp_await(&f->done[q], early, &f->failed)) return;
    subtract(f, p, r0, j0, cols, 0, early * f->width);
    if (!epiqp_await(&f->done[p], j, &f->failed) || !epiqp_await(&f->done[q], j, &f->failed)) return;
    subtract(f, p, r0, j0, cols, early * f->width, j > 0 ? f->width : 0);
    double *diagonal = entry(t, j0, j0), *below = epiqp_tri_at(t, p, r0, j0);
    ptrdiff_t rows = ld - r0;
    if (p == q) {
        ptrdiff_t pivot = f->la->potrf(cols, diagonal, ld);
        if (pivot) {
            atomic_store(&f->failed, j0 + pivot);
            return;
        }
        below += cols;
        rows -= cols;
    } else if (!epiqp_await(&f->done[q], j + 1, &f->failed)) {
        return;
    }
    if (rows > 0) f->la->trsm('R', 'T', rows, cols, diagonal, epiqp_tri_rows(t, q), below, ld);
    atomic_store(&f->done[p], j + 1);
}

/* Factors panels p0 .. p1-1; those above are finished. Returns 0 or the number of the failed pivot. Tasks are taken
 * column by column from the top, so a task waits only for tasks taken before it, and any number of threads
 * terminates. So does a request to stop, because every task taken is completed. */
static ptrdiff_t factor(const epiqp_env *e, epiqp_tri *t, atomic_ptrdiff_t *done, ptrdiff_t p0, ptrdiff_t p1)
{
    factoring f = {.t = t, .la = e->la, .width = epiqp_min(t->height, t->height > 1024 ? 512 : 256), .done = done};
    ptrdiff_t columns = (epiqp_min(p1 * t->height, t->n) + f.width - 1) / f.width;
    for (ptrdiff_t p = p0; p < p1; p++) {
        atomic_store(&done[p], 0);
    }
#pragma omp parallel num_threads(e->threads) if (t->n > EPIQP_ALONE)
    {
        ptrdiff_t j = 0, first = 0, top = p0; /* block column, its first task, its first panel */
        for (ptrdiff_t task; !atomic_load(&f.failed) && !epiqp_cancel_requested(e->c);) {
            task = atomic_fetch_add(&f.next, 1);
            while (j < columns && task >= first + p1 - top) {
                first += p1 - top;
                top = epiqp_max(p0, ++j * f.width / t->height);
            }
            if (j == columns) break;
            ptrdiff_t panel =
                j * f.width / t->height; /* all these blocks read it; the one before may still be in use */
            if (task == first && panel <= p0 && j * f.width % t->height == 0) drop_pages(t, 0, panel - 1);
            if (task == first && !t->resident) {
                double x = (double)j / (double)columns;
                epiqp_report_share(e->c, "factor", t->n, x * x * (3 - 2 * x));
            }
            factor_block(&f, top + task - first, j);
        }
    }
    return atomic_load(&f.failed);
}

/* The end of the panels from p0 on that may be in memory together, besides two above them that are being read. */
static ptrdiff_t resident_end(const epiqp_tri *t, ptrdiff_t p0)
{
    if (!t->resident) return t->panels;
    const ptrdiff_t square = (ptrdiff_t)sizeof(double) * t->height * t->height;
    ptrdiff_t p1 = p0 + 1, used = 3 * p1 * square;
    while (p1 < t->panels && (used += (p1 + 1) * square) <= t->resident) {
        p1++;
    }
    return p1;
}

ptrdiff_t epiqp_tri_most(ptrdiff_t n, ptrdiff_t resident)
{
    epiqp_tri t = epiqp_tri_shape(n);
    t.resident = resident;
    ptrdiff_t most = 0;
    for (ptrdiff_t p0 = 0, p1; p0 < t.panels; p0 = p1) {
        p1 = resident_end(&t, p0);
        ptrdiff_t blocks = (p1 * (p1 + 1) - p0 * (p0 + 1)) / 2 + (p0 > 1 ? 2 * p0 - 1 : p0);
        most = epiqp_max(most, blocks * (ptrdiff_t)sizeof(double) * t.height * t.height);
    }
    return epiqp_min(most, epiqp_tri_bytes(n));
}

int epiqp_not_definite(epiq_ctx *c, ptrdiff_t pivot, ptrdiff_t n, double ridge)
{
    return epiqp_fail(c, EPIQ_E_NUMERIC,
                      "the kernel matrix is not positive definite (pivot %td of %td) with ridge %.3g; use a larger "
                      "{--lambda}, or {--scale} standard",
                      pivot, n, ridge);
}

int epiqp_ridge_factor(const epiqp_env *e, const epiqp_source *from, double ridge, epiqp_tri *t, double *jitter,
                       double *fill_s, double *factor_s)
{
    ptrdiff_t pivot = 0;
    *jitter = 0;
    atomic_ptrdiff_t *done = epiqp_alloc(e->c, t->panels, sizeof *done);
    double mean = 0, *before = epiqp_alloc(e->c, t->n, sizeof *before); /* n: the diagonal before factoring */
    int status = done && before ? EPIQ_OK : EPIQ_E_NOMEM;
    for (double relative = 1e-15; !status && relative < 2e-8; relative *= 10) { /* the first try adds nothing */
        *jitter = relative < 5e-15 ? 0 : relative * mean;
        pivot = 0;
        t->loss = 0;
        for (ptrdiff_t p = 0, next; p < t->panels && !pivot && !status; p = next) {
            double start = epiqp_now();
            next = resident_end(t, p);
            fill(e, from, t, p, next);
            for (ptrdiff_t i = p * t->height; i < epiqp_min(next * t->height, t->n); i++) {
                double *a = entry(t, i, i);
                mean += relative < 5e-15 ? *a / (double)t->n : 0;
                before[i] = *a += ridge + *jitter;
            }
            double filled = epiqp_now();
            pivot = factor(e, t, done, p, next);
            for (ptrdiff_t i = p * t->height; !pivot && i < epiqp_min(next * t->height, t->n); i++) {
                t->loss = fmax(t->loss, epiqp_pivot_loss(*entry(t, i, i), before[i]));
            }
            *fill_s += filled - start;
            *factor_s += epiqp_now() - filled;
            drop_pages(t, 0, next);
            if (t->resident || epiqp_cancel_requested(e->c)) {
                status = epiqp_report(e->c, "factor", next, t->panels);
            }
        }
        if (!pivot || !(mean > 0 && mean <= 1e300) || epiqp_cancel_requested(e->c)) break;
    }
    epiqp_free(e->c, done);
    epiqp_free(e->c, before);
    return status || !pivot ? status : epiqp_not_definite(e->c, pivot, t->n, ridge);
}

/* ---- solves ---- */

enum { FEW = 4 }; /* columns up to which matrix-vector products are faster */

/* y (rows) -= op(L) x for a few columns, in pieces of L that stay in the cache. */
static void product(const epiqp_env *e, char op, ptrdiff_t rows, ptrdiff_t inner, const double *l, ptrdiff_t ld,
                    ptrdiff_t cols, const double *x, double *y, ptrdiff_t n)
{
    if (cols > FEW) {
        e->la->gemm(op, 'N', rows, cols, inner, -1, l, ld, x, n, 1, y, n);
        return;
    }
    const bool plain = op == 'N';
    const ptrdiff_t side = plain ? inner : rows; /* of the block, cut into pieces below */
    for (ptrdiff_t k = 0; k < side; k += EPIQP_BLOCK) {
        for (ptrdiff_t c = 0; c < cols; c++) {
            e->la->gemv(op, plain ? rows : inner, epiqp_min(EPIQP_BLOCK, side - k), -1, l + k * ld, ld,
                        x + c * n + (plain ? k : 0), 1, y + c * n + (plain ? 0 : k));
        }
    }
}

static void solve_together(const epiqp_env *e, const epiqp_tri *l, ptrdiff_t cols, double *b)
{
    for (ptrdiff_t p = 0; p < l->panels; p++) { /* B = L^-1 B */
        ptrdiff_t rows = epiqp_tri_rows(l, p), left = p * l->height;
        product(e, 'N', rows, left, epiqp_tri_at(l, p, 0, 0), rows, cols, b, b + left, l->n);
        e->la->trsm('L', 'N', rows, cols, epiqp_tri_at(l, p, 0, left), rows, b + left, l->n);
        drop_pages(l, p, p + 1);
    }
    for (ptrdiff_t p = l->panels - 1; p >= 0; p--) { /* B = L^-T B */
        ptrdiff_t rows = epiqp_tri_rows(l, p), left = p * l->height;
        e->la->trsm('L', 'T', rows, cols, epiqp_tri_at(l, p, 0, left), rows, b + left, l->n);
        product(e, 'T', left, rows, epiqp_tri_at(l, p, 0, 0), rows, cols, b + left, b, l->n);
        drop_pages(l, p, p + 1);
    }
}

void epiqp_chol_solve(const epiqp_env *e, const epiqp_tri *l, ptrdiff_t cols, double *b)
{
    /* Columns solved together. This depends on their number alone, so that the bits do not depend on the threads. */
    const ptrdiff_t share = cols >= 2048 ? 256 : cols >= 256 ? 64 : 32;
    enum { ENOUGH = EPIQP_ALONE * EPIQP_ALONE * EPIQP_ALONE / 3 }; /* operations: a factor of so many rows */
#pragma omp parallel for schedule(dynamic)                                                                             \
    num_threads(e->threads) if (cols > share && (double)l->n * (double)l->n * (double)cols > ENOUGH)
    for (ptrdiff_t j = 0; j < cols; j += share) {
        solve_together(e, l, epiqp_min(share, cols - j), b + j * l->n);
    }
}
