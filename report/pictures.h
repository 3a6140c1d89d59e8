/* pictures.h - finished pictures with all the memory they need, collected so that a page can place each where it
 * belongs; and the names of their files.
 *
 *     picture *p = pictures_add(set, KIND, 0, "members");      NULL: no memory; then so are all later calls,
 *     double *a[2];
 *     pictures_columns(set, n, 2, a);                          and pictures_failed says so once at the end
 */
#ifndef REPORT_PICTURES_H
#define REPORT_PICTURES_H

#include "report/svg.h"

typedef struct {
    int kind;       /* what it shows, in the numbers of whoever made it, */
    ptrdiff_t item; /* and of which point or feature */
    char name[80];  /* of its file: letters, digits, hyphens */
    char title[160], caption[640], describe[320];
    svg_panel panel; /* name, label and describe are set */
} picture;

typedef struct pictures pictures;

pictures *pictures_new(void);
void pictures_free(pictures *set);
bool pictures_failed(const pictures *set); /* memory ran out: what there is, is not all */

picture *pictures_add(pictures *set, int kind, ptrdiff_t item,
                      const char *name);                          /* what a file name cannot hold goes */
void *pictures_room(pictures *set, ptrdiff_t count, size_t size); /* zeroed, lives as long as the set */
bool pictures_columns(pictures *set, ptrdiff_t count, int ways, double **column); /* so many arrays; false: no memory */
svg_series *pictures_series(pictures *set, picture *p, ptrdiff_t most); /* room in its panel; series_count stays 0 */
const char *pictures_text(pictures *set, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The name of a panel's file, from its own or from label and title: what a file name cannot hold becomes a hyphen.
 * Never empty. */
void picture_name(char *name, size_t size, const svg_panel *p);

const picture *pictures_find(const pictures *set, int kind, ptrdiff_t item); /* NULL: it was not drawn */

#endif
