/* pictures.c - pictures with their memory: blocks in a chain, freed together. */
#include "chart/pictures.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct picture_block {
    struct picture_block *next;
    max_align_t room[];
} block;

void pictures_free(pictures *set)
{
    while (set->blocks) {
        block *next = set->blocks->next;
        free(set->blocks);
        set->blocks = next;
    }
}

void *pictures_room(pictures *set, ptrdiff_t count, size_t size)
{
    bool fits = count >= 0 && (size_t)count <= (SIZE_MAX / 2 - sizeof(block)) / (size ? size : 1);
    block *b = set->failed || !fits ? NULL : calloc(1, sizeof *b + (size_t)count * size + 1);
    if (!b) {
        set->failed = true;
        return NULL;
    }
    b->next = set->blocks;
    set->blocks = b;
    return b->room;
}

const char *pictures_text(pictures *set, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = pictures_room(set, length + 1, 1);
    if (text) {
        va_start(args, format);
        vsnprintf(text, (size_t)length + 1, format, args);
        va_end(args);
    }
    return text ? text : "";
}

static void put_name(char *name, size_t size, const char *from)
{
    size_t used = 0;
    for (; *from && used + 1 < size; from++) {
        if (isalnum((unsigned char)*from) && (unsigned char)*from < 0x80) {
            name[used++] = *from;
        } else if (used && name[used - 1] != '-') {
            name[used++] = '-';
        }
    }
    while (used && name[used - 1] == '-') {
        used--;
    }
    name[used] = '\0';
}

void picture_name(char *name, size_t size, const svg_panel *p)
{
    char words[400];
    snprintf(words, sizeof words, "%s %s", p->label ? p->label : "", p->title ? p->title : "");
    for (char *w = words; *w; w++) {
        *w = (char)tolower((unsigned char)*w);
    }
    put_name(name, size, p->name ? p->name : words);
    if (!*name) put_name(name, size, "picture");
}

picture *pictures_add(pictures *set, int kind, ptrdiff_t item, const char *name, const char *title)
{
    picture *p = pictures_room(set, 1, sizeof *p);
    if (p) {
        set->first = set->first ? set->first : p;
        set->last = set->last ? (set->last->next = p) : p;
    }
    p = p ? p : &set->none;
    *p = (picture){.set = set, .kind = kind, .item = item};
    put_name(p->name, sizeof p->name, name);
    snprintf(p->title, sizeof p->title, "%s", title);
    p->panel = (svg_panel){.name = p->name, .label = p->title, .series = p->series};
    return p;
}

ink picture_ink(picture *p, svg_kind kind, const char *name, int look, ptrdiff_t room, bool ranged)
{
    double *a = room <= PTRDIFF_MAX / 4 ? pictures_room(p->set, 4 * room, sizeof *a) : NULL;
    p->set->failed = p->set->failed || !a;
    if (!a) return (ink){.series = p->series};
    const ink out = {a, a + room, a + 2 * room, a + 3 * room, &p->series[p->panel.series_count++]};
    *out.series = (svg_series){.name = name, .kind = kind, .look = look, .x = out.x, .y = out.y};
    out.series->lo = ranged ? out.lo : NULL;
    out.series->hi = ranged ? out.hi : NULL;
    return out;
}

void ink_add(const ink *a, double x, double y, double lo, double hi)
{
    if (!a->x) return; /* no memory */
    const ptrdiff_t i = a->series->count++;
    a->x[i] = x;
    a->y[i] = y;
    a->lo[i] = lo;
    a->hi[i] = hi;
}

void picture_axes(picture *p, int width, int height, const char *x_name, const char *y_name)
{
    p->panel.width = width;
    p->panel.height = height;
    p->panel.x_name = x_name;
    p->panel.y_name = y_name;
}

void picture_rule(picture *p, double value, bool vertical, const char *name)
{
    p->rule = (svg_rule){value, vertical, name};
    p->panel.rules = &p->rule;
    p->panel.rule_count = 1;
}

void picture_rows(picture *p, const char *const *names, ptrdiff_t count)
{
    p->panel.rows = names;
    p->panel.row_count = (int)count;
}

const picture *pictures_find(const pictures *set, int kind, ptrdiff_t item)
{
    const picture *p = set->failed ? NULL : set->first;
    while (p && (p->kind != kind || p->item != item)) {
        p = p->next;
    }
    return p;
}
