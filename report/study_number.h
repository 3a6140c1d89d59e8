/* study_number.h - numbers for reading: 4.7e-04 ± 0.3e-04, 0.96 ± 0.06. */
#ifndef REPORT_STUDY_NUMBER_H
#define REPORT_STUDY_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    bool exponent; /* always; otherwise where the number is small or large */
    bool compact;  /* 4.7±0.3e-04 */
    int decimals;  /* of the mantissa; 0: as the error needs */
    bool utf8;
} report_notation;

/* Value and standard error with one exponent; se may be NAN. Empty when v is not finite. */
void report_real(char *text, size_t size, double v, double se, report_notation s);
bool report_has_exponent(double v, report_notation s);

int report_exponent(double v, int decimals);         /* of v written so: 9.96 with one decimal is 10 */
int report_decimals(double v, double se, int usual); /* two where the error would be nothing otherwise */
void report_scaled(char *text, size_t size, double v, int exponent, int decimals,
                   const char *sign); /* flag of printf */

#endif
