/* cmd_kernel.c - epiq kernel: the population kernels of the scaled rows as NPY files, to check them or use them
 * elsewhere. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compute(cli *c, const epiq_data *data, const output *out)
{
    double *k[2] = {NULL, NULL}; /* n by n */
    ptrdiff_t n = epiq_data_describe(data).rows;
    double wanted = (double)(!!out[0].file + !!out[1].file) * (double)n * (double)n * sizeof **k;
    /* a machine that promises more memory than it has would kill the process half way */
    bool room = wanted < epiqp_memory() && (!c->options.mem_limit || wanted <= (double)c->options.mem_limit);
    for (int i = 0; i < 2 && room; i++) {
        k[i] = out[i].file ? calloc((size_t)n * (size_t)n, sizeof **k) : NULL;
        room = k[i] || !out[i].file;
    }
    int status = room ? epiq_kernel(c->ctx, data, &c->options, k[0], k[1]) : EPIQ_OK;
    int code = status < 0 ? failed(c, status) : CODE_OK;
    if (!room) {
        code = complain(CODE_NUMERIC,
                        "a %td x %td kernel does not fit in memory%s; use fewer rows, or one kernel at a time", n, n,
                        c->options.mem_limit ? " or --mem-limit" : "");
    }
    for (int i = 0; i < 2; i++) {
        if (!code && k[i]) write_npy(out[i].file, n, n, k[i]);
        free(k[i]);
    }
    return code;
}

static int run(cli *c)
{
    const char *path[] = {args_value(c, "ntk"), args_value(c, "nngp")};
    if (!path[0] && !path[1]) return complain(CODE_USAGE, "nothing to write; give --ntk FILE, --nngp FILE or both");
    if (path[0] && path[1] && same_output(path[0], path[1])) {
        return complain(CODE_USAGE, "--ntk and --nngp both name %s; only one can be written there",
                        names_stdout(path[0]) ? "standard output" : path[0]);
    }
    epiq_data *data = NULL;
    output out[2] = {0};
    int code = CODE_OK;
    watch_start(&c->ctx, 1, args_value(c, "quiet"));
    epiq_ctx_on_progress(c->ctx, watch_progress, NULL);
    for (int i = 0; i < 2 && !code; i++) {
        code = path[i] ? output_open(&out[i], path[i], c) : CODE_OK;
    }
    if (!code) {
        int status = epiq_data_read(c->ctx, c->operand, &c->options, &data);
        code = status < 0 ? failed(c, status) : compute(c, data, out);
    }
    watch_end();
    epiq_data_free(c->ctx, data);
    code = output_end(out, 2, code);
    if (!code && !args_value(c, "quiet")) warn_of_blas(&c->options);
    return code;
}

static const flag FLAGS[] = {
    FLAG("ntk", "Output", "FILE.npy", "", "write the tangent kernel here, n x n float64"),
    FLAG("nngp", "Output", "FILE.npy", "", "write the covariance of untrained networks here, n x n float64"),
    FLAG("quiet", "Output", NULL, "", "print no warnings or progress"),
    {0},
};

const verb VERB_KERNEL = {
    .name = "kernel",
    .operand = "DATA",
    .usage = "DATA --target COL [--ntk FILE.npy] [--nngp FILE.npy] [flags]",
    .summary = "the kernels of infinitely wide networks between the scaled rows of DATA",
    .flags = FLAGS,
    .takes = EPIQ_FOR_KERNEL,
    .reads = true,
    .run = run,
};
