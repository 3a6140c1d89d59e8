/* rounded.h - numbers for people: two significant digits of an uncertainty, a value rounded to match, no exponent between 1e-4
 * and 1e7, nor where it would hide what differs.
 */
#ifndef COMMON_ROUNDED_H
#define COMMON_ROUNDED_H

typedef struct {
    char text[40];
} epiqp_digits;

epiqp_digits epiqp_rounded_sd(double sd);                   /* 0.0834 is 0.083; 1234 is 1200 */
epiqp_digits epiqp_rounded_beside(double value, double sd); /* 22.9156 beside 0.442 is 22.92; sd NAN or 0: six digits */
epiqp_digits epiqp_rounded_end(double value, double sd);    /* of an interval: -0.067 beside 0.22 is -0.07 */
epiqp_digits epiqp_rounded_plain(double value);             /* up to six digits: 0.0001, 1e-5, 305700 */
epiqp_digits epiqp_rounded_to(double value, int digits);    /* as %g with so many, but 305700 and not 3.06e+05 */
epiqp_digits epiqp_rounded_r2(double r2);                   /* 0.86, 0.997 */

#endif
