/* cmd_synth.c - epiq synth: one of the three synthetic sets of docs/method.md as CSV on standard output. */
#include "cli/cli.h"
#include "report/format.h"

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
            printf("%s,", number_text(x[i * d + k]).text);
        }
        puts(number_text(y[i]).text);
    }
}

static int run(cli *c)
{
    ptrdiff_t n = 200, d = 2;
    if (strlen(c->operand) != 1 || !strchr("123", *c->operand)) {
        return complain(CODE_USAGE, "there is no synthetic set \"%s\"; usage: epiq synth %s", c->operand,
                        c->verb->usage);
    }
    int code = args_count(c, "n", 1, 1000000000, &n);
    code = code ? code : args_count(c, "d", 1, 1000000, &d);
    code = code ? code : args_own_option(c, "seed");
    if (code) return code;
    int status;
    double *x = calloc((size_t)n * (size_t)d, sizeof *x), *y = calloc((size_t)n, sizeof *y);
    if (!x || !y) {
        code = complain(CODE_NUMERIC, "no memory for %td x %td numbers; ask for fewer rows or columns", n, d);
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
    FLAG("n", "Size", "N", "200", "rows"),
    FLAG("d", "Size", "D", "2", "features"),
    FLAG("seed", "Size", "S", "1", "of all random numbers"),
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
