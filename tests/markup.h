/* markup.h - is what a writer wrote whole? For tests of pages and pictures. */
#ifndef MARKUP_H
#define MARKUP_H

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* No number that is none: nan, inf and infinity as words. */
static bool has_no_number(const char *s)
{
    for (const char *p = s; *p; p++) {
        bool starts = p == s || !isalpha((unsigned char)p[-1]);
        size_t length = 0;
        while (isalpha((unsigned char)p[length])) {
            length++;
        }
        if (starts && ((length == 3 && (!strncmp(p, "nan", 3) || !strncmp(p, "inf", 3))) ||
                       (length == 8 && !strncmp(p, "infinity", 8)))) {
            return true;
        }
    }
    return false;
}

/* Every tag that opens is closed in its turn; attributes are quoted; & begins an entity. */
static bool whole_html(const char *s)
{
    char stack[64][16];
    int depth = 0;
    s = strstr(s, "<html") ? strstr(s, "<html") : strstr(s, "<svg");
    while (s && *s) {
        if (*s == '&') {
            size_t length = strcspn(s, ";");
            if (length > 6) return false;
        }
        if (*s++ != '<') continue;
        bool closes = *s == '/';
        s += closes;
        size_t length = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789");
        char name[16];
        if (!length || length >= sizeof name) return false;
        memcpy(name, s, length);
        name[length] = 0;
        for (s += length; *s && *s != '>'; s++) {
            if (*s == '"') {
                s += 1 + strcspn(s + 1, "\"<");
                if (*s != '"') return false;
            } else if (*s == '<') {
                return false;
            }
        }
        bool empty = s[-1] == '/' || !strcmp(name, "meta");
        if (closes) {
            if (!depth || strcmp(stack[--depth], name) != 0) return false;
        } else if (!empty) {
            if (depth == 64) return false;
            strcpy(stack[depth++], name);
        }
    }
    return s && depth == 0;
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text += strlen(part)) {
        n++;
    }
    return n;
}

#endif
