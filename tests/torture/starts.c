/* starts.c - the weights that networks start from, for judge.py, which computes by itself what follows from them.
 *
 * Usage: starts D MEMBERS [OPTION VALUE]...: one line per network of D features, its weights in hexadecimal.
 */
#include "../usual.h"
#include "epiq_combine.h"

#include <stdio.h>
#include <stdlib.h>

static int print_starts(epiq_ctx *c, ptrdiff_t d, ptrdiff_t members, int pairs, char *const *text)
{
    epiq_options o = usual_options();
    for (int i = 0; i < pairs; i++) {
        if (epiq_options_set(c, &o, text[2 * i], text[2 * i + 1]) < 0) return 1;
    }
    const ptrdiff_t size = epiq_network_size(&o, d);
    double *theta = malloc((size_t)size * sizeof *theta);
    int status = size > 0 && theta ? 0 : 1;
    for (ptrdiff_t k = 0; k < members && status == 0; k++) {
        status = epiq_network_start(c, &o, d, k, theta) < 0;
        for (ptrdiff_t i = 0; i < size && status == 0; i++)
            printf("%a%c", theta[i], i + 1 < size ? ' ' : '\n');
    }
    free(theta);
    return status;
}

int main(int argc, char **argv)
{
    epiq_ctx *c = NULL;
    if (argc < 3 || argc % 2 == 0 || epiq_ctx_new(&c) < 0) return 2;
    const int status = print_starts(c, strtol(argv[1], NULL, 10), strtol(argv[2], NULL, 10), (argc - 3) / 2, argv + 3);
    if (status != 0) fprintf(stderr, "starts: %s\n", epiq_message(c));
    epiq_ctx_free(c);
    return status;
}
