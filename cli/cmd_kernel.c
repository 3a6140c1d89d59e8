/* cmd_kernel.c - epiq kernel: the population kernels of the scaled rows as NPY files, to check them or use them
 * elsewhere. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const char *path;
    output out;
    double *a; /* n by n */
} matrix;

/* A machine that promises more memory than it has would kill us half way. */
static bool fits(ptrdiff_t n, int matrices, ptrdiff_t limit)
{
    double wanted = (double)matrices * (double)n * (double)n * sizeof(double);
    return wanted < (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) &&
           (!limit || wanted <= (double)limit);
}

static int compute(cli *c, const epiq_data *data, matrix *m)
{
    ptrdiff_t n = epiq_data_describe(data).rows;
    bool room = fits(n, !!m[0].path + !!m[1].path, c->options.mem_limit);
    for (int i = 0; i < 2 && room; i++) {
        m[i].a = m[i].path ? calloc((size_t)n * (size_t)n, sizeof *m[i].a) : NULL;
        room = m[i].a || !m[i].path;
    }
    if (!room) {
        return complain(CODE_NUMERIC,
                        "a %td x %td kernel does not fit in memory%s; use fewer rows, or one kernel at a time", n, n,
                        c->options.mem_limit ? " or --mem-limit" : "");
    }
    int status = epiq_kernel(c->ctx, data, &c->options, m[0].a, m[1].a);
    if (status < 0) {
        return failed(c, status);
    }
    for (int i = 0; i < 2; i++) {
        if (m[i].a) {
            report_npy(m[i].out.file, n, n, m[i].a);
        }
    }
    return CODE_OK;
}

static int run(cli *c)
{
    matrix m[2] = {{.path = args_value(c, "ntk")}, {.path = args_value(c, "nngp")}};
    if (!m[0].path && !m[1].path) {
        return complain(CODE_USAGE, "nothing to write; give --ntk FILE, --nngp FILE or both");
    }
    if (m[0].path && m[1].path && same_output(m[0].path, m[1].path)) {
        return complain(CODE_USAGE, "--ntk and --nngp both name %s; only one can be written there",
                        names_stdout(m[0].path) ? "standard output" : m[0].path);
    }
    epiq_data *data = NULL;
    output list[2];
    int code = CODE_OK, count = 0;
    watch_start(&c->ctx, 1, args_value(c, "quiet"));
    epiq_ctx_on_progress(c->ctx, watch_progress, NULL);
    for (int i = 0; i < 2 && !code; i++) {
        code = m[i].path ? output_open(&m[i].out, m[i].path, c) : CODE_OK;
    }
    if (!code) {
        int status = epiq_data_read(c->ctx, c->operand, &c->options, &data);
        code = status < 0 ? failed(c, status) : compute(c, data, m);
    }
    watch_end();
    for (int i = 0; i < 2; i++) {
        if (m[i].out.file) {
            list[count++] = m[i].out;
        }
        free(m[i].a);
    }
    if (code) {
        output_drop(list, count);
    } else {
        code = output_commit(list, count);
    }
    epiq_data_free(c->ctx, data);
    return code;
}

static const flag FLAGS[] = {
    {"ntk", "Output", "write the tangent kernel here, n x n float64", NULL, "", "FILE.npy"},
    {"nngp", "Output", "write the covariance of untrained networks here, n x n float64", NULL, "", "FILE.npy"},
    {"quiet", "Output", "print no progress", NULL, "", NULL},
    {0},
};

/* Neither trained nor solved with, and of no width. */
static const char *const WITHOUT[] = {"Estimates", "Training",  "Influence", "engine",  "width", "lambda", "solver",
                                      "rank",      "tolerance", "parts",     "scratch", "seed",  "state",  NULL};

const verb VERB_KERNEL = {
    .name = "kernel",
    .operand = "DATA",
    .usage = "DATA --target COL [--ntk FILE.npy] [--nngp FILE.npy] [flags]",
    .summary = "the kernels of infinitely wide networks between the scaled rows of DATA",
    .flags = FLAGS,
    .model = true,
    .without = WITHOUT,
    .reads = true,
    .run = run,
};
