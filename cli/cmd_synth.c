/* cmd_synth.c - epiq synth: one of the three synthetic sets of docs/method.md as CSV on standard output. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

static void print_rows(ptrdiff_t n, ptrdiff_t d, const double *x, const double *y)
{
    for (ptrdiff_t k = 0; k < d; k++) {
        printf("x%td,", k + 1);
    }
    puts("y");
    for (ptrdiff_t i = 0; i < n && !ferror(stdout); i++) {
        for (ptrdiff_t k = 0; k < d; k++) {
            printf("%s,", report_double(x[i * d + k]).text);
        }
        puts(report_double(y[i]).text);
    }
}

static int run(cli *c)
{
    long long n = 200, d = 2;
    const char *seed = args_value(c, "seed");
    if (strlen(c->operand) != 1 || !strchr("123", *c->operand)) {
        return complain(CODE_USAGE, "there is no synthetic set \"%s\"; usage: epiq synth %s", c->operand,
                        c->verb->usage);
    }
    int code = args_count(c, "n", 1, 1000000000, &n);
    if (!code) {
        code = args_count(c, "d", 1, 1000000, &d);
    }
    if (!code && seed) {
        code = args_option(c, "seed", seed);
    }
    if (code) {
        return code;
    }
    int status;
    double *x = calloc((size_t)n * (size_t)d, sizeof *x), *y = calloc((size_t)n, sizeof *y);
    if (!x || !y) {
        code = complain(CODE_NUMERIC, "no memory for %lld x %lld numbers; ask for fewer rows or columns", n, d);
    } else if ((status = epiq_synth(c->ctx, *c->operand - '0', n, d, c->options.seed, x, y)) < 0) {
        code = failed(c, status);
    } else {
        print_rows(n, d, x, y);
    }
    free(x);
    free(y);
    return code;
}

static const flag FLAGS[] = {
    {"n", "Size", "rows", NULL, "200", "N"},
    {"d", "Size", "features", NULL, "2", "D"},
    {"seed", "Size", "of all random numbers", NULL, "1", "S"},
    {0},
};

const verb VERB_SYNTH = {
    .name = "synth",
    .operand = "the set",
    .usage = "1|2|3 [--n N] [--d D] [--seed S]",
    .summary = "the paper's synthetic sets as CSV on standard output: columns x1..xd,y",
    .flags = FLAGS,
    .run = run,
};
