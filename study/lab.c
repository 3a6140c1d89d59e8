/* lab.c - all repetitions of some cells, over threads: those in the resume file are taken from there, the others are
 * made and kept. Also failing with a sentence.
 */
#include "study/lab.h"

#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int lab_fail(study_crew *crew, int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(crew->message, sizeof crew->message, fmt, args);
    va_end(args);
    return status;
}

ptrdiff_t lab_reps(const lab *l, ptrdiff_t quick, ptrdiff_t usual, ptrdiff_t full)
{
    const study_job *job = l->job;
    return job->reps > 0 ? job->reps : job->size == STUDY_QUICK ? quick : job->size == STUDY_FULL ? full : usual;
}

bool lab_wanted(const lab *l, ptrdiff_t n, ptrdiff_t d)
{
    return (!l->job->n || l->job->n == n) && (!l->job->d || l->job->d == d);
}

epiq_options lab_options(const lab *l)
{
    epiq_options o = l->result->options;
    o.data_by = o.data_by == EPIQ_DATA_BY_AUTO ? EPIQ_DATA_BY_IF : o.data_by;
    o.fold_members = 0; /* no study looks at the networks' error on rows left out */
    return o;
}

lab_cell lab_synthetic(const lab *l, int set, ptrdiff_t n, ptrdiff_t d, ptrdiff_t reps)
{
    return (lab_cell){.set = set, .n = n, .d = d, .reps = reps, .o = lab_options(l)};
}

enum { KEY = 1 << 14 }; /* room for every option */

__attribute__((format(printf, 2, 3))) static void append(char key[static KEY], const char *fmt, ...)
{
    va_list args;
    size_t used = strlen(key);
    va_start(args, fmt);
    vsnprintf(key + used, KEY - used, fmt, args);
    va_end(args);
}

/* A real table must be the paper's; its checksum is part of the key. */
static int append_table(lab *l, const lab_cell *c, char key[static KEY])
{
    epiq_ctx *worker = l->job->crew.workers[0];
    epiq_options o = c->o;
    epiq_data *data = NULL;
    o.target = c->table->target;
    int s = lab_read_table(worker, c, l->job->data_dir, &o, &data);
    if (s) return lab_fail(&l->job->crew, s, "%s", epiq_message(worker));
    epiq_data_info info = epiq_data_describe(data);
    append(key, "; data %s", info.sha256);
    if (info.rows != c->table->n || info.features != c->table->d) {
        s = lab_fail(&l->job->crew, EPIQ_E_DATA,
                     "%s.csv has %td rows and %td features, the paper's table %td and %td; get that one",
                     c->table->name, info.rows, info.features, c->table->n, c->table->d);
    }
    epiq_data_free(worker, data);
    return s;
}

/* All a sample depends on, in words: the cell and every option but those that change no bit. */
static int make_key(lab *l, const lab_cell *c, char key[static KEY])
{
    /* raise the number when what a sample holds, or how it is computed, changes */
    snprintf(key, KEY, "sample 7; %s; set %d %s%s n %td d %td noise %s %g%s points %td%s stream %d seed %llu",
             epiq_version(), c->set, c->table ? c->table->name : "-", c->planted ? " planted" : "", c->n, c->d,
             LAB_NOISES[c->noise], c->noise_sd, c->target ? " target" : "", lab_points(c), c->control ? " control" : "",
             c->stream, (unsigned long long)c->o.seed);
    const epiq_option_info *info;
    for (ptrdiff_t i = 0; (info = epiq_options_info(i)); i++) {
        char text[256] = "";
        bool there = strcmp(info->name, "seed") == 0, silent = epiq_options_scope(i) & EPIQ_OPTION_SILENT;
        if (!there && !silent && epiq_options_text(&c->o, i, text, sizeof text) == EPIQ_OK) {
            append(key, "; %s %s", info->name, text);
        }
    }
    if (c->make) append(key, "; %s digest %llx", c->name, c->digest);
    return c->table && !c->make ? append_table(l, c, key) : EPIQ_OK;
}

/* Roughly what a repetition costs, to tell the time left: members by rows by features, plus the factor. */
static double cost(const lab_cell *c)
{
    const epiq_options *o = &c->o;
    double n = (double)c->n, work = n * n * n / 3e6 + n * n * (double)c->d / 1e6;
    double one = n * ((double)c->d + 6) * (double)o->width / 1e6;
    if (o->engine == EPIQ_ENGINE_NETWORK && o->methods & (EPIQ_EV | EPIQ_BA)) {
        double gradients = o->steps > 0 ? (double)o->steps : 1000;
        work += gradients * one * (double)((o->methods & EPIQ_EV ? o->members : 0) + (o->methods & EPIQ_BA ? 1 : 0));
    } else if (o->engine == EPIQ_ENGINE_LINEAR) {
        work += one * (double)(o->members + 1);
    }
    return work;
}

typedef struct {
    lab *l;
    lab_cell *cell;
    const char *key, *label;
    ptrdiff_t number, cells, done;
    double before, share, whole; /* work done in earlier cells, in this one, in all */
    int status;
} round_trip;

/* partial: of the repetition at work */
static int say(round_trip *t, double partial)
{
    study_job *job = t->l->job;
    double done = ((double)t->done + partial) / (double)t->cell->reps;
    study_progress p = {t->label, t->number,     t->cells,
                        t->done,  t->cell->reps, (t->before + t->share * done) / t->whole};
    return job->crew.report && job->crew.report(job->crew.user, &p) ? lab_fail(&job->crew, EPIQ_E_STOPPED, "stopped")
                                                                    : EPIQ_OK;
}

/* A repetition that has all threads to itself may be long: its members are reported too. */
static int relay(void *user, const epiq_progress *p)
{
    return strcmp(p->stage, "members") == 0 && p->all > 0 ? say(user, (double)p->done / (double)p->all) : EPIQ_OK;
}

/* Repetition rep, on a worker of its own. */
static void one(round_trip *t, ptrdiff_t rep, epiq_ctx *worker)
{
    study_job *job = t->l->job;
    lab_cell *c = t->cell;
    double *sample = c->samples + rep * c->length;
    int before;
#pragma omp atomic read
    before = t->status;
    if (before) return;
    int s = c->make ? c->make(worker, c, rep, sample) : lab_sample(worker, c, job->data_dir, rep, sample);
#pragma omp critical(lab)
    {
        if (s && !t->status) {
            const char *message = epiq_message(worker);
            lab_fail(&job->crew, s, "%s", *message ? message : epiq_status_text(s));
        }
        s = !s && t->l->store.path && !t->status ? lab_store_save(&t->l->store, t->key, rep, c->length, sample) : s;
        t->done += !s;
        s = s ? s : say(t, 0);
        if (s && !t->status) {
#pragma omp atomic write
            t->status = s;
        }
    }
}

static int run_cell(round_trip *t)
{
    lab *l = t->l;
    study_job *job = l->job;
    lab_cell *c = t->cell;
    bool *there = lab_block(l, c->reps, sizeof *there);
    c->length = lab_sample_length(c);
    c->samples = lab_block(l, c->reps * c->length, sizeof *c->samples);
    if (!there || !c->samples) {
        return lab_fail(&job->crew, EPIQ_E_NOMEM, "no memory for %td repetitions; ask for fewer --reps", c->reps);
    }
    for (ptrdiff_t rep = 0; l->store.path && rep < c->reps; rep++) {
        int s = lab_store_load(&l->store, t->key, rep, c->length, c->samples + rep * c->length, &there[rep]);
        if (s) return s;
        t->done += there[rep];
    }
    l->result->repetitions += c->reps;
    l->result->resumed += t->done;
    int s = say(t, 0);
    if (s) return s;
    const bool alone = c->reps < job->crew.threads; /* too few to share out: each repetition gets all threads */
    c->o.threads = alone ? job->crew.threads : 1;
    if (alone) {
        c->o.state = !c->make && l->store.path && !c->timed && c->o.engine == EPIQ_ENGINE_NETWORK
                         ? lab_text(l, "%s" LAB_MEMBERS, job->state)
                         : NULL;
        epiq_ctx_on_progress(job->crew.workers[0], relay, t);
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(job->crew.threads) if (!alone)
    for (ptrdiff_t rep = 0; rep < c->reps; rep++) {
        if (!there[rep]) one(t, rep, job->crew.workers[omp_get_thread_num()]);
    }
    if (alone) epiq_ctx_on_progress(job->crew.workers[0], NULL, NULL);
    return t->status;
}

int lab_run(lab *l, lab_cell *cells, ptrdiff_t count)
{
    double whole = 0, before = 0;
    if (count == 0) {
        return lab_fail(&l->job->crew, EPIQ_E_USAGE, "%s has no such cells; leave out %s--n and --d%s", l->job->name,
                        l->job->cell ? "--cell, " : "",
                        l->job->size == STUDY_QUICK  ? ", or --quick"
                        : l->job->size == STUDY_FULL ? ""
                                                     : ", or add --full, which may have them");
    }
    for (ptrdiff_t k = 0; k < count; k++) {
        whole += cost(&cells[k]) * (double)cells[k].reps;
    }
    int s = EPIQ_OK;
    for (lab_cell *c = cells; c < cells + count && !s; c++) {
        char key[KEY], label[160];
        double share = cost(c) * (double)c->reps;
        snprintf(label, sizeof label, "set %d, n = %td, d = %td%s%s", c->set, c->n, c->d, c->noise ? ", noise " : "",
                 c->noise ? LAB_NOISES[c->noise] : "");
        const char *name = c->name && !c->make ? c->name : c->table ? c->table->name : label;
        round_trip t = {l, c, key, name, c - cells + 1, count, 0, before, share, whole, EPIQ_OK};
        s = make_key(l, c, key);
        s = s ? s : run_cell(&t);
        before += share;
    }
    return s;
}
