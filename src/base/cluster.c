/* cluster.c - a context with others like it on other ranks: meeting them, so that a failure of one is everybody's. */
#include "base.h"

#include <string.h>

void epiq_ctx_cluster(epiq_ctx *c, const epiq_cluster *cluster)
{
    c->cluster = cluster;
}

int epiq_ctx_agree(epiq_ctx *c, int status)
{
    if (!c->cluster) {
        return status;
    }
    char sentence[sizeof c->message];
    memcpy(sentence, c->message, sizeof sentence);
    int worst = c->cluster->agree(status, sentence, sizeof sentence);
    if (worst >= 0) {
        return status;
    }
    epiqp_clear(c);
    return epiqp_fail(c, worst, "%s", *sentence ? sentence : epiq_status_text(worst));
}
