/* lbfgs_device.c - quasi-Newton steps (lbfgs.h) with vectors on a device: operations on them are added to the list of
 * the network's place (remote.h). An attempt also requests the products that are needed if its step is accepted, so
 * that a step runs the list once.
 */
#include "train/lbfgs.h"

#include <math.h>
#include <string.h>

/* Terms for every stored vector: s and y of each pair from the newest on, then the v. Returns how many. */
static ptrdiff_t kept(const epiqp_lbfgs *m, epiq_device_term *terms)
{
    ptrdiff_t count = 0;
    for (int i = 1; i <= m->count; i++) {
        terms[count++] = (epiq_device_term){m->s + epiqp_lbfgs_slot(m, i) * m->p, 1, 0};
        terms[count++] = (epiq_device_term){m->y + epiqp_lbfgs_slot(m, i) * m->p, 1, 0};
    }
    for (int l = 0; l < m->f->slowed; l++) {
        terms[count++] = (epiq_device_term){m->f->leading + l * m->p, 1, 0};
    }
    return count;
}

/* Requests the inner products of a vector with others. out holds them once the list has been run. */
static void ask_products(const epiqp_lbfgs *m, const double *with, ptrdiff_t count, const epiq_device_term *terms,
                         double *out)
{
    epiqp_remote_add(
        m->f->remote,
        (epiq_device_do){.op = EPIQ_DEVICE_PRODUCTS, .at = with, .count = count, .terms = terms, .own = out});
}

/* Likewise of g with every stored vector. */
static void ask_kept(const epiqp_lbfgs *m, const double *g, double *out)
{
    epiq_device_term terms[EPIQP_MOST_KEPT];
    const ptrdiff_t count = kept(m, terms);
    if (count) ask_products(m, g, count, terms, out);
}

static void take_kept(epiqp_lbfgs *m, const double *out)
{
    for (int i = 0; i < m->count; i++) {
        m->sg[epiqp_lbfgs_slot(m, i + 1)] = out[2 * i];
        m->yg[epiqp_lbfgs_slot(m, i + 1)] = out[2 * i + 1];
    }
    memcpy(m->vg, out + 2 * m->count, (size_t)m->f->slowed * sizeof *out);
}

static void products(epiqp_lbfgs *m)
{
    double out[EPIQP_MOST_KEPT] = {0};
    ask_kept(m, m->f->grad, out);
    m->gg = epiqp_remote_product(m->f->remote, m->f->grad, m->f->grad);
    take_kept(m, out);
}

/* The product with g follows from known products, so that the list need not be run. */
static double direct(epiqp_lbfgs *m, const double *alpha, const double *more)
{
    epiq_device_term terms[1 + EPIQP_MOST_KEPT] = {{m->f->grad, 0, m->gamma}};
    const ptrdiff_t count = 1 + kept(m, terms + 1);
    double slope = m->gamma * m->gg;
    for (int i = 0; i < m->count; i++) {
        const int j = epiqp_lbfgs_slot(m, i + 1);
        terms[1 + 2 * i].by = more[j];
        terms[2 + 2 * i].by = -m->gamma * alpha[j];
        slope += more[j] * m->sg[j] - m->gamma * alpha[j] * m->yg[j];
    }
    for (int l = 0; l < m->f->slowed; l++) {
        terms[1 + 2 * m->count + l].by = -m->gamma * m->v[l];
        slope -= m->gamma * m->v[l] * m->vg[l];
    }
    epiqp_remote_combine(m->f->remote, m->direction, false, count, terms);
    return slope;
}

static double attempt(epiqp_lbfgs *m, double length)
{
    epiqp_flow *f = m->f;
    double out[4] = {NAN, NAN, NAN, NAN};
    const epiq_device_term difference[2] = {{m->next, 0, 1}, {f->grad, 0, -1}},
                           factors[3] = {{m->direction, 0, 1}, {f->change, 0, 1}, {m->next, 0, 1}};
    epiqp_flow_step(f, m->end, m->theta, length, m->direction);
    epiqp_there_ask_loss(f, m->end, m->next, out);
    epiqp_remote_combine(f->remote, f->change, false, 2, difference);
    ask_kept(m, m->next, m->of_next);
    ask_products(m, f->change, 3, factors, m->of_pair);
    ask_products(m, m->next, 1, factors, m->of_pair + 3);
    epiqp_remote_run(f->remote);
    m->square = out[3];
    return epiqp_there_take_loss(f, out, &m->rel);
}

static epiqp_pair_products take(epiqp_lbfgs *m, double length, ptrdiff_t j)
{
    const epiqp_flow *f = m->f;
    const epiq_device_term step = {m->direction, 0, -length}, same = {f->change, 0, 1};
    epiqp_remote_combine(f->remote, m->s + j * m->p, true, 1, &step);
    epiqp_remote_combine(f->remote, m->y + j * m->p, true, 1, &same);
    take_kept(m, m->of_next);
    m->gg = m->square;
    epiqp_flow_copy(f, m->theta, m->end);
    epiqp_flow_copy(f, f->grad, m->next);
    return (epiqp_pair_products){
        .sy = -length * m->of_pair[0], .yy = m->of_pair[1], .sg = -length * m->of_pair[3], .yg = m->of_pair[2]};
}

const epiqp_lbfgs_way epiqp_lbfgs_device = {.products = products,
                                            .direct = direct,
                                            .attempt = attempt,
                                            .take = take,
                                            .reduce = epiqp_lbfgs_slow,
                                            .reduced = epiqp_lbfgs_slowed,
                                            .reduce_change = epiqp_lbfgs_slow_change};
