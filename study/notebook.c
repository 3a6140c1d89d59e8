/* notebook.c - what a study finds, line by line: cells, notes, figures. Running out of memory is remembered and
 * reported once, at the end.
 */
#include "study/lab.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct study_block {
    struct study_block *next;
    max_align_t bytes[];
};

void *lab_block(lab *l, ptrdiff_t count, size_t size)
{
    struct study_block *block = NULL;
    if (count >= 0 && (size_t)count <= (SIZE_MAX - sizeof *block) / (size ? size : 1)) {
        block = calloc(1, sizeof *block + (size_t)count * size);
    }
    if (!block) {
        l->no_memory = true;
        return NULL;
    }
    block->next = l->result->blocks;
    l->result->blocks = block;
    return block->bytes;
}

void study_result_free(study_result *r)
{
    if (!r) return;
    for (struct study_block *next, *block = r->blocks; block; block = next) {
        next = block->next;
        free(block);
    }
    free(r->figures);
    free(r->cells);
    free(r->notes);
    free(r);
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
    if (text) vsnprintf(text, (size_t)length + 1, fmt, again);
    va_end(again);
    va_end(args);
    return text;
}

void lab_note(lab *l, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const char *kept = lab_text(l, "%s", text), **slot;
    if (kept && (slot = grow(l, (void **)&l->result->notes, &l->result->note_count, sizeof *slot))) {
        *slot = kept;
    }
}

study_cell lab_line(const lab_cell *c, const char *quantity, const char *method)
{
    static const char *const SETS[] = {"", "1", "2", "3", "smooth"};
    study_cell line = {.set = c->table ? c->table->name : SETS[c->set],
                       .n = c->n,
                       .d = c->d,
                       .cell = c->name,
                       .noise = c->table ? NULL : LAB_NOISES[c->noise],
                       .quantity = quantity,
                       .method = method,
                       .reps = c->reps};
    line.truth = line.paper_truth = line.estimate = line.ratio = (study_number){NAN, NAN};
    line.published_truth = line.published = (study_number){NAN, NAN};
    line.lo = line.hi = line.difference = line.rms_log = line.p_value = NAN;
    line.coverage = line.coverage90 = (study_rate){NAN, NAN, NAN};
    return line;
}

void lab_add(lab *l, study_cell line)
{
    study_cell *slot = grow(l, (void **)&l->result->cells, &l->result->cell_count, sizeof *slot);
    if (slot) {
        const double truth = line.truth.value;
        line.difference = line.estimate.value - truth;
        line.ratio.value = truth > 0 ? line.estimate.value / truth : NAN;
        *slot = line;
    }
}

void lab_figure(lab *l, study_figure figure)
{
    study_figure *f = grow(l, (void **)&l->result->figures, &l->result->figure_count, sizeof *f);
    if (f) *f = figure;
}

static const double *copy_of(lab *l, const double *v, ptrdiff_t count)
{
    double *kept = v ? lab_block(l, count, sizeof *kept) : NULL;
    return kept ? memcpy(kept, v, (size_t)count * sizeof *v) : NULL;
}

void lab_curve(lab *l, study_line line)
{
    study_figure *f = l->result->figure_count ? &l->result->figures[l->result->figure_count - 1] : NULL;
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
