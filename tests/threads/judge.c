/* judge.c - whether tools/check-threads can tell: two threads meet at one number, with a barrier between them (argument
 * "ordered") or without ("race"). The first must pass, the second must be reported.
 */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    const int ordered = argc > 1 && strcmp(argv[1], "ordered") == 0;
    long number = 0, seen = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(static)
        for (int k = 0; k < 2; k++) {
            if (k == 0) {
                number = 1;
            } else if (!ordered) {
                number = 2;
            }
        }
        /* the end of the loop is a barrier */
#pragma omp for schedule(static)
        for (int k = 0; k < 2; k++) {
            if (k == 1) seen = number;
        }
    }
    return printf("%ld\n", seen) < 0;
}
