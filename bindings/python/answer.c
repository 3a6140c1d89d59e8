/* answer.c - a result as the command line would write it: the object of --json, the text for people, the page of --report, and
 * the predictions of the networks behind it.
 */
#include "extension.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

double answer_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long long peak_rss(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return 1024LL * u.ru_maxrss;
}

/* Every point has as many of them. */
static int copy_predictions(const epiq_result *r, answer *out)
{
    const epiq_point *p = r->points;
    out->points = r->point_count;
    out->member_count = p->member_count;
    out->batch_count = p->batch_count;
    size_t members = (size_t)p->member_count, batches = (size_t)p->batch_count;
    out->members = calloc((size_t)out->points, (members + 1) * sizeof(double)); /* at least one, none being no memory */
    out->batches = calloc((size_t)out->points, (batches + 1) * sizeof(double));
    if (!out->members || !out->batches) {
        return EPIQ_E_NOMEM;
    }
    for (size_t i = 0; i < (size_t)out->points; i++) {
        if (members) {
            memcpy(out->members + i * members, p[i].members, members * sizeof(double));
        }
        if (batches) {
            memcpy(out->batches + i * batches, p[i].batches, batches * sizeof(double));
        }
    }
    return EPIQ_OK;
}

static FILE *open_stream(written *w)
{
    return open_memstream(&w->text, &w->size);
}

static int close_stream(FILE *f)
{
    bool bad = ferror(f);
    return fclose(f) || bad ? EPIQ_E_NOMEM : EPIQ_OK;
}

int answer_write(const epiq_result *r, report_run *run, answer *out)
{
    run->peak_rss_bytes = peak_rss();
    int status = copy_predictions(r, out);
    FILE *f = status ? NULL : open_stream(&out->json);
    if (f) {
        report_json(f, r, run);
        status = close_stream(f);
        f = status ? NULL : open_stream(&out->text);
    }
    if (f) {
        report_text(f, r, run, (report_style){.blocks = true});
        status = close_stream(f);
        f = status ? NULL : open_stream(&out->page);
    }
    if (f) {
        svg_album album = {0};
        report_html(f, r, run, &album);
        status = close_stream(f);
        return album.incomplete ? EPIQ_E_NOMEM : status;
    }
    return EPIQ_E_NOMEM;
}

static PyObject *as_bytes(const double *a, ptrdiff_t count)
{
    return PyByteArray_FromStringAndSize((const char *)a, count * (Py_ssize_t)sizeof *a);
}

PyObject *answer_tuple(const answer *a)
{
    return Py_BuildValue("(NNNNnNn)", PyUnicode_DecodeUTF8(a->json.text, (Py_ssize_t)a->json.size, "replace"),
                         PyUnicode_DecodeUTF8(a->text.text, (Py_ssize_t)a->text.size, "replace"),
                         PyBytes_FromStringAndSize(a->page.text, (Py_ssize_t)a->page.size),
                         as_bytes(a->members, a->points * a->member_count), (Py_ssize_t)a->member_count,
                         as_bytes(a->batches, a->points * a->batch_count), (Py_ssize_t)a->batch_count);
}

void answer_free(answer *a)
{
    free(a->json.text);
    free(a->text.text);
    free(a->page.text);
    free(a->members);
    free(a->batches);
}
