/* ctx.c - the context: the last message, requests to stop, progress, counted memory. */
#include "base.h"
#include "common/spelling.h"

#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *epiq_version(void)
{
    return EPIQ_VERSION;
}

int epiq_version_number(void)
{
    return EPIQ_VERSION_NUMBER;
}

const char *epiq_status_text(int status)
{
    switch (status) {
#define TEXT(name, value, text)                                                                                        \
    case value:                                                                                                        \
        return text;
        EPIQ_STATUS_LIST(TEXT)
#undef TEXT
    default:
        return "unknown status";
    }
}

int epiq_ctx_new(epiq_ctx **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return EPIQ_E_NOMEM;
    atomic_init(&(*out)->fail_after, -1);
    (*out)->spelling = EPIQ_SPELL_FIELD;
    return EPIQ_OK;
}

void epiq_ctx_free(epiq_ctx *c)
{
    if (c) epiqp_arena_free(c, &c->texts);
    free(c);
}

void epiq_ctx_on_device(epiq_ctx *c, epiq_device_open open, void *user)
{
    c->open_device = open;
    c->device_user = user;
    c->device_opened = false;
    c->device = (epiqp_device){0};
}

const char *epiq_message(const epiq_ctx *c)
{
    return c->message;
}

void epiq_ctx_spelling(epiq_ctx *c, epiq_spelling spelling)
{
    c->spelling = spelling;
}

const epiq_warning_info *epiq_warning_describe(int kind)
{
    static const epiq_warning_info TABLE[] = {
#define ROW(name, its_code, about, when) [name].code = (its_code), [name].meaning = (when), [name].scope = (about),
#define NOTE(name) [name].note = 1,
        EPIQ_WARNING_LIST(ROW) EPIQ_NOTE_LIST(NOTE)
#undef ROW
#undef NOTE
    };
    return kind >= 0 && kind < (int)(sizeof TABLE / sizeof *TABLE) ? &TABLE[kind] : NULL;
}

void epiq_ctx_on_progress(epiq_ctx *c, int (*report)(void *user, const epiq_progress *p), void *user)
{
    c->report = report;
    c->user = user;
}

void epiq_ctx_stop(epiq_ctx *c)
{
    atomic_store(&c->stop, true);
}

void epiq_ctx_finish(epiq_ctx *c)
{
    atomic_store(&c->finish, true);
}

bool epiqp_cancel_requested(epiq_ctx *c)
{
    return atomic_load_explicit(&c->stop, memory_order_relaxed) || epiqp_finish_requested(c);
}

bool epiqp_finish_requested(epiq_ctx *c)
{
    return atomic_load_explicit(&c->finish, memory_order_relaxed) &&
           !atomic_load_explicit(&c->stop, memory_order_relaxed);
}

void epiqp_clear_cancel(epiq_ctx *c)
{
    atomic_store(&c->stop, false);
    atomic_store(&c->finish, false);
}

void epiqp_clear(epiq_ctx *c)
{
    c->message[0] = '\0';
}

static bool begins_character(char byte)
{
    return (byte & 0xC0) != 0x80; /* of UTF-8 */
}

/* A message may contain a long path. It is cut in the middle, because its end says what is wrong and what to do. */
static void keep_sentence(epiq_ctx *c, const char *fmt, va_list args)
{
    char whole[16384]; /* four of the longest paths */
    vsnprintf(whole, sizeof whole, fmt, args);
    epiqp_spell_options(whole, c->spelling == EPIQ_SPELL_FLAG);
    size_t length = strlen(whole), half = (sizeof c->message - 4) / 2, from = length - half;
    if (length < sizeof c->message) {
        memcpy(c->message, whole, length + 1);
        return;
    }
    while (half && !begins_character(whole[half])) {
        half--;
    }
    while (!begins_character(whole[from])) {
        from++;
    }
    snprintf(c->message, sizeof c->message, "%.*s...%s", (int)half, whole, whole + from);
}

int epiqp_fail(epiq_ctx *c, int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
#pragma omp critical(epiqp_message)
    {
        if (!c->message[0]) keep_sentence(c, fmt, args);
    }
    va_end(args);
    return status;
}

int epiqp_report(epiq_ctx *c, const char *stage, ptrdiff_t done, ptrdiff_t all)
{
    if (c->report) {
        epiq_progress p = {stage, done, all};
#pragma omp critical(epiqp_report)
        {
            if (c->report(c->user, &p)) epiq_ctx_stop(c);
        }
    }
    return epiqp_cancel_requested(c) ? epiqp_fail(c, EPIQ_E_STOPPED, "stopped on request while working on %s", stage)
                                     : EPIQ_OK;
}

int epiqp_plain_numbers(char *text)
{
    const char *radix = nl_langinfo(RADIXCHAR);
    const size_t bytes = strlen(radix);
    if (bytes && strcmp(radix, ".") != 0) {
        for (char *at; (at = strstr(text, radix));) {
            *at = '.';
            memmove(at + 1, at + bytes, strlen(at + bytes) + 1);
        }
    }
    return (int)strlen(text);
}

/* ---- structs of callers ---- */

int epiqp_take(epiq_ctx *c, const char *what, const void *from, void *own, size_t size)
{
    size_t given;
    memcpy(&given, from, sizeof given);
    if (given < sizeof given || given > size) {
        return epiqp_fail(
            c, EPIQ_E_USAGE,
            "the size of an %s is %zu; set it to sizeof(%s), of a header no newer than this library, %s, where "
            "it is %zu",
            what, given, what, EPIQ_VERSION, size);
    }
    memcpy(own, from, given);
    memcpy(own, &size, sizeof size);
    return EPIQ_OK;
}

void epiqp_give(const void *own, size_t own_size, void *to, size_t size)
{
    memset(to, 0, size);
    memcpy(to, own, size < own_size ? size : own_size);
}

/* ---- memory ---- */

static bool allowed(epiq_ctx *c)
{
    return atomic_load(&c->fail_after) < 0 || atomic_fetch_sub(&c->fail_after, 1) > 0;
}

void *epiqp_alloc(epiq_ctx *c, ptrdiff_t count, size_t size)
{
    size_t bytes = 0;
    void *p = NULL;
    if (count >= 0 && !__builtin_mul_overflow((size_t)count, size, &bytes) && bytes <= SIZE_MAX - 64 && allowed(c)) {
        p = aligned_alloc(64, (bytes / 64 + 1) * 64);
    }
    if (!p) {
        epiqp_fail(c, EPIQ_E_NOMEM, "no memory for %td items of %zu bytes; use fewer rows, points or networks", count,
                   size);
        return NULL;
    }
    atomic_fetch_add(&c->live_blocks, 1);
    return p;
}

void *epiqp_realloc(epiq_ctx *c, void *p, ptrdiff_t old_count, ptrdiff_t count, size_t size)
{
    void *q = epiqp_alloc(c, count, size);
    if (q && p) {
        memcpy(q, p, (size_t)epiqp_min(old_count, count) * size);
        epiqp_free(c, p);
    }
    return q; /* on failure p is still the caller's */
}

void *epiqp_grown(epiq_ctx *c, void *p, ptrdiff_t *room, ptrdiff_t need, size_t size)
{
    if (need <= *room) return p;
    ptrdiff_t more = epiqp_max(need, 2 * *room);
    void *q = epiqp_realloc(c, p, *room, more, size);
    if (q) *room = more;
    return q;
}

void epiqp_free(epiq_ctx *c, void *p)
{
    if (p) {
        atomic_fetch_sub(&c->live_blocks, 1);
        free(p);
    }
}

struct epiqp_block {
    struct epiqp_block *before;
    _Alignas(64) unsigned char bytes[];
};

void *epiqp_arena_alloc(epiq_ctx *c, epiqp_arena *a, ptrdiff_t count, size_t size)
{
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) || bytes > PTRDIFF_MAX / 2) {
        epiqp_fail(c, EPIQ_E_NOMEM, "no memory for %td items of %zu bytes", count, size);
        return NULL;
    }
    struct epiqp_block *b = epiqp_alloc(c, (ptrdiff_t)(sizeof *b + bytes), 1);
    if (!b) return NULL;
    b->before = a->last;
    a->last = b;
    memset(b->bytes, 0, bytes);
    return b->bytes;
}

/* sentence: options are spelled as in messages. */
static char *arena_vprintf(epiq_ctx *c, epiqp_arena *a, bool sentence, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    char *text = length < 0 ? NULL : epiqp_arena_alloc(c, a, (ptrdiff_t)length + 1, 1);
    if (text) vsnprintf(text, (size_t)length + 1, fmt, again);
    va_end(again);
    if (text && sentence) epiqp_spell_options(text, c->spelling == EPIQ_SPELL_FLAG);
    return text;
}

char *epiqp_arena_printf(epiq_ctx *c, epiqp_arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = arena_vprintf(c, a, false, fmt, args);
    va_end(args);
    return text;
}

char *epiqp_arena_sentence(epiq_ctx *c, epiqp_arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = arena_vprintf(c, a, true, fmt, args);
    va_end(args);
    return text;
}

void epiqp_arena_free(epiq_ctx *c, epiqp_arena *a)
{
    while (a->last) {
        struct epiqp_block *b = a->last;
        a->last = b->before;
        epiqp_free(c, b);
    }
}

static const void *const NO_ITEMS[1];
const void *const epiqp_empty_list = NO_ITEMS;

const void *epiqp_arena_list(epiq_ctx *c, epiqp_arena *a, const void *items, ptrdiff_t count, size_t size)
{
    const void **list = epiqp_arena_alloc(c, a, count + 1, sizeof *list);
    for (ptrdiff_t i = 0; list && i < count; i++) {
        list[i] = (const char *)items + (size_t)i * size;
    }
    return list;
}

bool epiqp_warned(const epiqp_warnings *w, int kind)
{
    for (ptrdiff_t k = 0; k < w->count; k++) {
        if (w->list[k].kind == kind) return true;
    }
    return false;
}

int epiqp_warn(epiq_ctx *c, epiqp_warnings *w, int kind, const char *fmt, ...)
{
    if (w->count == w->room) {
        ptrdiff_t room = epiqp_max(8, 2 * w->room);
        epiq_warning *list = epiqp_arena_alloc(c, w->arena, room, sizeof *list);
        if (!list) return EPIQ_E_NOMEM;
        if (w->count) memcpy(list, w->list, (size_t)w->count * sizeof *list);
        w->list = list;
        w->room = room;
    }
    va_list args;
    va_start(args, fmt);
    char *text = arena_vprintf(c, w->arena, true, fmt, args);
    va_end(args);
    if (!text) return EPIQ_E_NOMEM;
    w->list[w->count++] = (epiq_warning){epiq_warning_describe(kind)->code, text, kind};
    return EPIQ_OK;
}
