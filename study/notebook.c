/* notebook.c - what a study finds, line by line: cells, notes, figures. Running out of memory is remembered and told
 * once, at the end.
 */
#include "study/lab.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lab_blocks {
    struct lab_blocks *next;
    max_align_t bytes[];
};

/* The result's own memory: its list of blocks hangs on the whole thing, of which callers see the first part. */
typedef struct {
    study_result result;
    struct lab_blocks *blocks;
    study_figure *figures;
    study_cell *cells;
    const char **notes;
} notebook;

void *lab_block(lab *l, ptrdiff_t count, size_t size)
{
    notebook *b = (notebook *)l->result;
    struct lab_blocks *block = NULL;
    if (count >= 0 && (size_t)count <= (SIZE_MAX - sizeof *block) / (size ? size : 1)) {
        block = calloc(1, sizeof *block + (size_t)count * size);
    }
    if (!block) {
        l->no_memory = true;
        return NULL;
    }
    block->next = b->blocks;
    b->blocks = block;
    return block->bytes;
}

study_result *lab_result_new(void)
{
    notebook *b = calloc(1, sizeof *b);
    // cppcheck-suppress memleak ; the result is b's first member: who frees one frees the other
    return b ? &b->result : NULL;
}

void study_result_free(study_result *r)
{
    notebook *b = (notebook *)r;
    if (b) {
        for (struct lab_blocks *next, *block = b->blocks; block; block = next) {
            next = block->next;
            free(block);
        }
        free(b->figures);
        free(b->cells);
        free(b->notes);
        free(b);
    }
}

/* Room for one more at the end of a growing list, zeroed. */
static void *grow(lab *l, void **list, ptrdiff_t *count, size_t size)
{
    void *bigger = realloc(*list, (size_t)(*count + 1) * size);
    if (!bigger) {
        l->no_memory = true;
        return NULL;
    }
    *list = bigger;
    return memset((char *)bigger + (size_t)(*count)++ * size, 0, size);
}

const char *lab_text(lab *l, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    char *text = lab_block(l, length + 1, 1);
    if (text) {
        vsnprintf(text, (size_t)length + 1, fmt, again);
    }
    va_end(again);
    va_end(args);
    return text;
}

void lab_note(lab *l, const char *fmt, ...)
{
    notebook *b = (notebook *)l->result;
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const char *kept = lab_text(l, "%s", text), **slot;
    if (kept && (slot = grow(l, (void **)&b->notes, &l->result->note_count, sizeof *slot))) {
        *slot = kept;
    }
    l->result->notes = b->notes;
}

study_cell lab_line(const lab_cell *c, const char *quantity, const char *method)
{
    static const char *const SETS[] = {"", "1", "2", "3", "smooth"};
    const study_rate none = {NAN, NAN, NAN};
    return (study_cell){
        .set = c->table ? c->table->name : SETS[c->set],
        .n = c->n,
        .d = c->d,
        .cell = c->name,
        .noise = c->table ? NULL : lab_noise_name(c->noise),
        .quantity = quantity,
        .method = method,
        .reps = c->reps,
        .truth = NAN,
        .truth_se = NAN,
        .paper_truth = NAN,
        .paper_truth_se = NAN,
        .estimate = NAN,
        .estimate_se = NAN,
        .lo = NAN,
        .hi = NAN,
        .difference = NAN,
        .ratio = NAN,
        .ratio_se = NAN,
        .coverage = none,
        .coverage90 = none,
        .rms_log = NAN,
        .p_value = NAN,
        .published_truth = NAN,
        .published = NAN,
    };
}

void lab_add(lab *l, study_cell line)
{
    notebook *b = (notebook *)l->result;
    study_cell *slot = grow(l, (void **)&b->cells, &l->result->cell_count, sizeof *slot);
    if (slot) {
        line.difference = line.estimate - line.truth;
        line.ratio = line.truth > 0 ? line.estimate / line.truth : NAN;
        *slot = line;
    }
    l->result->cells = b->cells;
}

study_figure *lab_figure(lab *l, const char *title, const char *x_name, const char *y_name, const char *caption)
{
    notebook *b = (notebook *)l->result;
    study_figure *f = grow(l, (void **)&b->figures, &l->result->figure_count, sizeof *f);
    if (f) {
        *f = (study_figure){.title = title, .x_name = x_name, .y_name = y_name, .caption = caption};
    }
    l->result->figures = b->figures;
    return f;
}

static const double *copy_of(lab *l, const double *v, ptrdiff_t count)
{
    double *kept = v ? lab_block(l, count, sizeof *kept) : NULL;
    return kept ? memcpy(kept, v, (size_t)count * sizeof *v) : NULL;
}

void lab_curve(lab *l, study_line line)
{
    notebook *b = (notebook *)l->result;
    study_figure *f = l->result->figure_count ? &b->figures[l->result->figure_count - 1] : NULL;
    study_line *lines = f ? lab_block(l, f->line_count + 1, sizeof *lines) : NULL;
    line.x = copy_of(l, line.x, line.count);
    line.y = copy_of(l, line.y, line.count);
    line.lo = copy_of(l, line.lo, line.count);
    line.hi = copy_of(l, line.hi, line.count);
    if (lines) {
        for (ptrdiff_t k = 0; k < f->line_count; k++) {
            lines[k] = f->lines[k];
        }
        lines[f->line_count++] = line;
        f->lines = lines;
    }
}
