/* utf8.h - characters of text that comes from outside: whether they are UTF-8, whether a terminal may show them, how
 * JSON writes them, and the number of edits between two names.
 */
#ifndef EPIQP_UTF8_H
#define EPIQP_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the well-formed UTF-8 character at text, 0 if there is none. `left` bytes may be read; in text that ends
 * with a zero byte EPIQP_UTF8_MOST may be given, because no byte after the zero is read. */
enum { EPIQP_UTF8_MOST = 4 };
size_t epiqp_utf8_size(const char *text, size_t left);
unsigned epiqp_utf8_code(const char *text, size_t size); /* the code point of such a character */

/* Control characters, and characters that end a line or change the direction of others (U+2028..202E, U+2066..2069). */
bool epiqp_is_unsafe_char(unsigned code);

/* Writes the character at text as a JSON string holds it, with a zero byte at the end; returns the bytes it took. A
 * byte that is not UTF-8 becomes U+FFFD, and an unsafe character an escape, so that any terminal may show the JSON. */
enum { EPIQP_JSON_CHAR = 8 };
size_t epiqp_json_char(const char *text, char out[EPIQP_JSON_CHAR]);

/* Insertions, deletions, replacements and swaps of neighbours from a to b, ignoring case; EPIQP_EDITS_MOST if a name is
 * longer than that. */
enum { EPIQP_EDITS_MOST = 64 };
int epiqp_edit_distance(const char *a, const char *b);

/* The edits up to which another name may be meant by the one typed: none for one or two characters, one for up to
 * seven, and another for each four more. */
int epiqp_edits_likely(const char *typed);

#endif
