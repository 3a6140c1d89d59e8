/* pictures.c - pictures with their memory: blocks in a chain, freed together. */
#include "report/pictures.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct block {
    struct block *next;
    max_align_t room[];
} block;

typedef struct node {
    struct node *next;
    picture picture;
} node;

struct pictures {
    block *blocks;
    node *first, **end;
    bool failed;
};

pictures *pictures_new(void)
{
    pictures *set = calloc(1, sizeof *set);
    if (set) {
        set->end = &set->first;
    }
    return set;
}

void pictures_free(pictures *set)
{
    while (set && set->blocks) {
        block *next = set->blocks->next;
        free(set->blocks);
        set->blocks = next;
    }
    free(set);
}

bool pictures_failed(const pictures *set)
{
    return set->failed;
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

bool pictures_columns(pictures *set, ptrdiff_t count, int ways, double **column)
{
    double *a = count <= PTRDIFF_MAX / ways ? pictures_room(set, ways * count, sizeof *a) : NULL;
    for (int k = 0; k < ways; k++) {
        column[k] = a ? a + k * count : NULL;
    }
    return a;
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
    return text;
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
    if (!*name) {
        put_name(name, size, "picture");
    }
}

picture *pictures_add(pictures *set, int kind, ptrdiff_t item, const char *name)
{
    node *n = name ? pictures_room(set, 1, sizeof *n) : NULL;
    if (!n) {
        return NULL;
    }
    n->picture = (picture){.kind = kind, .item = item};
    n->picture.panel.label = n->picture.title;
    n->picture.panel.describe = n->picture.describe;
    put_name(n->picture.name, sizeof n->picture.name, name);
    n->picture.panel.name = n->picture.name;
    *set->end = n;
    set->end = &n->next;
    return &n->picture;
}

svg_series *pictures_series(pictures *set, picture *p, ptrdiff_t most)
{
    svg_series *series = pictures_room(set, most, sizeof *series);
    p->panel.series = series;
    return series;
}

const picture *pictures_find(const pictures *set, int kind, ptrdiff_t item)
{
    const node *n = set->first;
    while (n && (n->picture.kind != kind || n->picture.item != item)) {
        n = n->next;
    }
    return n ? &n->picture : NULL;
}
