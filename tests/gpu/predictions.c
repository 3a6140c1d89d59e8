/* predictions.c - a fitted model at many rows: on the GPU, and on the processor in double precision; and how long both take. */
#include "epiq_model.h"
#include "gpu/agree.h"

enum { COLUMNS = 5 };
static const char *const NAMES[COLUMNS] = {"prediction", "procedural", "data", "sd", "noise"};

static double predicted(const epiq_model *m, ptrdiff_t rows, const double *x, int device, int exact, double *out,
                        unsigned char *known)
{
    epiq_predictions p = {.size = sizeof p,
                          .prediction = out,
                          .procedural = out + rows,
                          .data = out + 2 * rows,
                          .known = known,
                          .exact = exact,
                          .sd = out + 3 * rows,
                          .noise = out + 4 * rows,
                          .device = device};
    const double start = epiqp_now();
    MUST(epiq_model_predict(c, m, rows, x, &p));
    judge(p.on_device != (device == EPIQ_DEVICE_GPU), 0, "  on the %s",
          device == EPIQ_DEVICE_GPU ? "GPU" : "processor");
    return epiqp_now() - start;
}

/* n rows to learn from; `rows` are asked about, of which `compared` in double on the processor. */
static void model_agrees(const char *what, ptrdiff_t n, ptrdiff_t d, epiq_options o, ptrdiff_t rows, ptrdiff_t compared)
{
    double *x = numbers(n * d), *y = numbers(n), *at = numbers(rows * d), *unused = numbers(rows);
    double *got = numbers(COLUMNS * rows), *want = numbers(COLUMNS * rows), *again = numbers(COLUMNS * rows);
    unsigned char *known = calloc(3, (size_t)rows);
    epiq_data *data = NULL;
    epiq_model *m = NULL;
    MUST(epiq_synth(c, 1, n, d, 3, x, y));
    MUST(epiq_synth(c, 1, rows, d, 4, at, unused));
    MUST(epiq_data_new(c, n, d, x, y, NULL, &o, &data));
    MUST(epiq_fit(c, data, &o, &m));
    if (!m) exit(1);
    printf("%s: %td rows, %td features\n", what, n, d);
    const double host_s = predicted(m, rows, at, EPIQ_DEVICE_CPU, 0, again, known);
    const double there_s = predicted(m, rows, at, EPIQ_DEVICE_GPU, 0, got, known);
    predicted(m, rows, at, EPIQ_DEVICE_GPU, 0, again, known + rows);
    predicted(m, compared, at, EPIQ_DEVICE_CPU, 1, want, known + 2 * rows);
    judge(memcmp(known, known + rows, (size_t)rows) || memcmp(got, again, (size_t)(COLUMNS * rows) * sizeof *got), 0,
          "  the same bits again");
    judge(memcmp(known, known + 2 * rows, (size_t)compared), 0, "  the same is known");
    for (int k = 0; k < COLUMNS; k++) {
        /* of n numbers the largest difference, each beside its own; predictions beside the largest */
        double most = 0, largest = 1e-300;
        for (ptrdiff_t i = 0; i < compared; i++) {
            const double a = got[k * rows + i], b = want[k * compared + i], off = fabs(a - b);
            const double relative = k == 0 || off == 0 ? off : off / fabs(b);
            most = relative <= most ? most : relative;
            largest = fmax(largest, fabs(b));
        }
        judge(k == 0 ? most / largest : most, 1e-6, "  %s", NAMES[k]);
    }
    printf("        %td rows asked about: processor %.2f s, GPU %.2f s\n", rows, host_s, there_s);
    epiq_model_free(c, m);
    epiq_data_free(c, data);
    free(x), free(y), free(at), free(unused), free(got), free(want), free(again), free(known);
}

void predictions_agree(void)
{
    epiq_options o = usual_options();
    o.lambda = 1e-3;
    o.methods = EPIQ_EV | EPIQ_IF;
    model_agrees("50 networks of width 1024, and their data variance", 506, 13, o, 200000, 5000);
    o.predictor = EPIQ_PREDICTOR_PNC;
    o.members = 10;
    model_agrees("10 networks without their start", 506, 13, o, 20000, 2000);
    o.predictor = EPIQ_PREDICTOR_ENSEMBLE;
    o.depth = 3;
    o.width = 512;
    o.methods = EPIQ_EV;
    model_agrees("10 networks of three layers", 400, 10, o, 100000, 1000);
    o = usual_options();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.methods = EPIQ_EV | EPIQ_IF;
    model_agrees("infinitely wide networks", 4000, 8, o, 40000, 2000);
}
