/* student.h - quantiles of Student's t, of any real number of degrees of freedom. */
#ifndef COMMON_STUDENT_H
#define COMMON_STUDENT_H

/* t with P(|T| <= t) = level, df > 0 and 0 < level < 1, to some 12 digits; df of 1e9 and more: the normal's. */
double epiqp_student_quantile(double df, double level);

#endif
