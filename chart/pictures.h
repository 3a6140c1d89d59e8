/* pictures.h - finished pictures with all the memory they need, collected so that a page can place each where it
 * belongs; and the names of their files.
 *
 *     pictures set = {0};
 *     picture *p = pictures_add(&set, KIND, 0, "members", "What each network predicts");
 *     const ink a = picture_ink(p, SVG_MARKS, "one network", 0, n, false);
 *     ink_add(&a, x, y, NAN, NAN);      n times at most
 *     pictures_free(&set);
 *
 * Where memory is lacking nothing is added, set.failed says so, and no picture of the set is found.
 */
#ifndef CHART_PICTURES_H
#define CHART_PICTURES_H

#include "chart/svg.h"

enum { PICTURE_SERIES = 5 };
typedef struct pictures pictures;
typedef struct picture {
    pictures *set;
    struct picture *next;
    int kind;       /* what it shows, in the numbers of the caller, */
    ptrdiff_t item; /* and of which point or feature */
    char name[80];  /* of its file: letters, digits, hyphens */
    char title[160];
    const char *caption;
    svg_panel panel; /* name and label (the title) are set */
    svg_series series[PICTURE_SERIES];
    svg_rule rule;
} picture;

struct pictures {
    struct picture_block *blocks;
    picture *first, *last;
    picture none; /* what is drawn when there is no memory */
    bool failed;
};
void pictures_free(pictures *set);

/* What a file name cannot hold is left out of the name. */
picture *pictures_add(pictures *set, int kind, ptrdiff_t item, const char *name, const char *title);
void *pictures_room(pictures *set, ptrdiff_t count, size_t size); /* zeroed, freed with the set; NULL: no memory */
const char *pictures_text(pictures *set, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define picture_text(picture, ...) pictures_text((picture)->set, __VA_ARGS__)

/* One more series of the picture, without points, and room for so many; without a range lo and hi are not drawn. */
typedef struct {
    double *x, *y, *lo, *hi;
    svg_series *series;
} ink;
ink picture_ink(picture *p, svg_kind kind, const char *name, int look, ptrdiff_t room, bool ranged);
void ink_add(const ink *a, double x, double y, double lo, double hi);
void picture_axes(picture *p, int width, int height, const char *x_name, const char *y_name);
void picture_rule(picture *p, double value, bool vertical, const char *name);
void picture_rows(picture *p, const char *const *names, ptrdiff_t count);

/* The name of a panel's file, from its own or from label and title: what a file name cannot hold becomes a hyphen.
 * Never empty. */
void picture_name(char *name, size_t size, const svg_panel *p);
/* NULL: it was not drawn, or memory failed. */
const picture *pictures_find(const pictures *set, int kind, ptrdiff_t item);

#endif
