/* sentences.h - the wording of messages, warnings and advice is pinned in one file, golden/sentences.txt: a section for each
 * test, "[name]", and in it the sentences that the test meets, in their order, one per line and indented by two blanks.
 * tools/sentences writes it: it runs every test with EPIQ_SENTENCES=FILE, and each appends what it meets to FILE.
 *
 * Masked, because they differ from run to run or from machine to machine: a path in the folder for temporary files is
 * written PATH; roughly, a number with a decimal point or an exponent is written #, as is one that counts MB, GB or products
 * with a matrix, and a time, in s, min or h, is written # s. A new line is written \n.
 */
#ifndef SENTENCES_H
#define SENTENCES_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE_MOST = 4096 };
static int sentence_number; /* how many the test has met */
static char sentence_got[SENTENCE_MOST], sentence_want[SENTENCE_MOST];

static inline size_t sentence_path(const char *s)
{
    const char *top = getenv("TMPDIR"), *tops[] = {"/tmp", top ? top : "/tmp"};
    for (int k = 0; k < 2; k++) {
        size_t length = strlen(tops[k]);
        if (strncmp(s, tops[k], length) == 0 && s[length] == '/') return length + strcspn(s + length, " :;,\"'()");
    }
    return 0;
}

/* The length of a number that starts here and is masked, with its unit where it is a time; or 0. */
static inline size_t sentence_rough(const char *s, bool *time)
{
    static const char *const UNITS[] = {" s", " min", " h", " MB", " GB", " products"};
    size_t whole = strspn(s, "0123456789"), end = whole;
    if (s[end] == '.' && isdigit((unsigned char)s[end + 1])) end += 1 + strspn(s + end + 1, "0123456789");
    size_t sign = end + 1 + (s[end] == 'e' && (s[end + 1] == '-' || s[end + 1] == '+'));
    if (s[end] == 'e' && isdigit((unsigned char)s[sign])) end = sign + strspn(s + sign, "0123456789");
    bool masked = end > whole;
    *time = false;
    for (int k = 0; whole && k < 6; k++) {
        size_t unit = strlen(UNITS[k]);
        if (strncmp(s + end, UNITS[k], unit) == 0 && !isalnum((unsigned char)s[end + unit])) {
            *time = k < 3;
            return end + (*time ? unit : 0);
        }
    }
    return whole && masked ? end : 0;
}

static inline void sentence_mask(const char *s, bool rough)
{
    size_t used = 0;
    bool inside = false; /* a word or a number */
    while (*s && used < SENTENCE_MOST - 8) {
        bool time = false;
        size_t path = inside ? 0 : sentence_path(s), number = inside || path || !rough ? 0 : sentence_rough(s, &time);
        const char *mask = path ? "PATH" : time ? "# s" : number ? "#" : *s == '\n' ? "\\n" : NULL;
        inside = isalnum((unsigned char)*s) || *s == '.';
        if (mask) {
            used += (size_t)sprintf(sentence_got + used, "%s", mask);
            s += path ? path : number ? number : 1;
        } else {
            sentence_got[used++] = *s++;
        }
    }
    sentence_got[used] = '\0';
}

/* Line number `line` of the test's section, from 1; false where it has no such line. */
static inline bool sentence_find(const char *test, int line)
{
    char heading[256], *text = sentence_want;
    snprintf(heading, sizeof heading, "[%s]\n", test);
    snprintf(text, SENTENCE_MOST, "nothing");
    FILE *f = fopen(GOLDEN "sentences.txt", "r");
    bool found = false;
    static char next[SENTENCE_MOST];
    while (f && fgets(next, sizeof next, f)) {
        if (found && strncmp(next, "  ", 2) != 0) break;
        if (found && --line == 0) {
            next[strcspn(next, "\n")] = '\0';
            snprintf(text, SENTENCE_MOST, "%s", next + 2);
        }
        found |= strcmp(next, heading) == 0;
    }
    if (f) fclose(f);
    return found && line <= 0;
}

static inline bool sentence_holds(const char *test, const char *got, bool rough)
{
    sentence_number++;
    sentence_mask(got ? got : "(null)", rough);
    const char *path = getenv("EPIQ_SENTENCES");
    if (!path) return sentence_find(test, sentence_number) && strcmp(sentence_got, sentence_want) == 0;
    FILE *f = fopen(path, "a");
    if (!f) return false;
    if (sentence_number == 1) fprintf(f, "[%s]\n", test);
    fprintf(f, "  %s\n", sentence_got);
    return fclose(f) == 0 && got != NULL;
}

/* The file has no sentence for the test beyond those that it met. */
static inline bool sentences_end(const char *test)
{
    return getenv("EPIQ_SENTENCES") || !sentence_find(test, sentence_number + 1);
}

#endif
