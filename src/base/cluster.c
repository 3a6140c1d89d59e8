/* cluster.c - collective error handling: all ranks return the worst status, with its message. */
#include "base.h"

#include <string.h>

int epiq_ctx_cluster(epiq_ctx *c, const epiq_cluster *cluster)
{
    epiqp_clear(c);
    c->cluster = NULL;
    if (!cluster) return EPIQ_OK;
    epiq_cluster own = {0};
    int status = epiqp_take(c, "epiq_cluster", cluster, &own, sizeof own);
    if (status) return status;
    if (own.block < 1 || own.block > EPIQ_BLOCK_MOST) {
        return epiqp_fail(c, EPIQ_E_USAGE, "the cluster's block is %td; it must lie in [1, %d]", own.block,
                          EPIQ_BLOCK_MOST);
    }
    if (own.rank < 0 || own.rank >= own.ranks || own.rows < 1 || own.cols < 1 || own.ranks / own.rows != own.cols ||
        own.ranks % own.rows) {
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "rank %d of %d in a grid of %d by %d is impossible; rank is from 0, and rows times "
                          "cols are the ranks",
                          own.rank, own.ranks, own.rows, own.cols);
    }
    if (own.ranks_on_node < 1 || own.ranks_on_node > own.ranks) {
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "the cluster has %d ranks and %d of them on this machine; it must be 1 to all", own.ranks,
                          own.ranks_on_node);
    }
    if (!own.allreduce_status || !own.bcast || !own.allreduce_sum || !own.factor || !own.solve) {
        return epiqp_fail(c, EPIQ_E_USAGE, "the cluster lacks a function; give all five of epiq_cluster");
    }
    c->own_cluster = own;
    c->cluster = &c->own_cluster;
    return EPIQ_OK;
}

int epiq_ctx_agree(epiq_ctx *c, int status)
{
    if (!c->cluster) return status;
    char sentence[sizeof c->message];
    memcpy(sentence, c->message, sizeof sentence);
    int worst = c->cluster->allreduce_status(c->cluster->user, status, sentence, sizeof sentence);
    if (worst >= 0) return status;
    epiqp_clear(c);
    return epiqp_fail(c, worst, "%s", *sentence ? sentence : epiq_status_text(worst));
}
