/* completion.c - completion of epiq commands in bash, zsh and fish, from the tables of verbs and flags that --help
 * prints (epiq options --completion SHELL). The build makes the files, make install puts them where the shells look.
 */
#include "cli/cli.h"

#include <string.h>

/* ---- what can follow a flag ---- */

typedef enum { TAKES_NOTHING, TAKES_FILE, TAKES_FOLDER, TAKES_OTHER } value_kind;

static value_kind kind_of(const flag *f)
{
    const char *value = f->metavar;
    return !value                                                                                ? TAKES_NOTHING
           : strcmp(value, "DIR") == 0                                                           ? TAKES_FOLDER
           : strstr(value, "FILE") || strcmp(value, "STATE") == 0 || strcmp(value, "MODEL") == 0 ? TAKES_FILE
                                                                                                 : TAKES_OTHER;
}

/* Of "mean|row:I|FILE" the words that are typed as they are: those without capitals. Valid until the next call. */
static const char *words_of(const flag *f)
{
    static char words[256];
    size_t used = 0;
    *words = '\0';
    for (const char *rest = f->metavar ? f->metavar : ""; *rest; rest += *rest == '|') {
        size_t length = strcspn(rest, "|");
        if (strcspn(rest, "|ABCDEFGHIJKLMNOPQRSTUVWXYZ") == length) {
            used += (size_t)snprintf(words + used, sizeof words - used, "%s%.*s", used ? " " : "", (int)length, rest);
        }
        rest += length;
    }
    return words;
}

/* ... and in the place of the verb's own argument */
static bool operand_is_file(const verb *v)
{
    return v->reads || v->operand2;
}

static const char *operand_words(const verb *v)
{
    static char names[512] = "list";
    const study_info *s;
    size_t used = strlen("list");
    if (v != &VERB_STUDY) return v == &VERB_SYNTH ? "1 2 3" : "";
    for (ptrdiff_t i = 0; (s = study_list(i)); i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, " %s", s->name);
    }
    return names;
}

static void put_verbs(void)
{
    for (const verb *const *v = VERBS; *v; v++) {
        printf("%s ", (*v)->name);
    }
    fputs("help", stdout);
}

/* Inside single quotes, a backslash before the characters in special; quote: what comes before a quote. */
static void put_quoted(const char *text, const char *special, const char *quote)
{
    for (; *text; text++) {
        fputs(*text == '\'' ? quote : strchr(special, *text) ? "\\" : "", stdout);
        putchar(*text);
    }
}

/* ---- bash ---- */

static void bash_kind(const verb *v, value_kind kind, const char *what)
{
    const flag *f;
    int count = 0;
    for (ptrdiff_t i = 0; (f = verb_flag(v, i)); i++) {
        if (kind_of(f) == kind && !*words_of(f)) printf("%s--%s", count++ ? " | " : "        ", f->name);
    }
    if (count) printf(") words='' files=%s ;;\n", what);
}

static void bash_verb(const verb *v)
{
    const flag *f;
    printf("    %s)\n        flags='--help", v->name);
    for (ptrdiff_t i = 0; (f = verb_flag(v, i)); i++) {
        printf(" --%s", f->name);
    }
    printf("' words='%s' files=%s\n", operand_words(v), operand_is_file(v) ? "file" : "");
    if (v->o_flag) printf("        [[ $flag != -o ]] || flag=--%s\n", v->o_flag);
    puts("        case $flag in");
    for (ptrdiff_t i = 0; (f = verb_flag(v, i)); i++) {
        if (*words_of(f)) {
            printf("        --%s) words='%s' files=%s ;;\n", f->name, words_of(f),
                   kind_of(f) == TAKES_FILE ? "file" : "");
        }
    }
    bash_kind(v, TAKES_FILE, "file");
    bash_kind(v, TAKES_FOLDER, "directory");
    bash_kind(v, TAKES_OTHER, "''");
    puts("        *) flag='' ;;\n        esac\n        ;;");
}

static void bash(void)
{
    puts("# Completes epiq in bash. Made by `epiq options --completion bash`.\n"
         "_epiq()\n"
         "{\n"
         "    local current=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD - 1]} flags='' words='' files=''\n"
         "    if [[ $current == '=' ]]; then # --flag=value comes as three words\n"
         "        current=''\n"
         "    elif [[ $flag == '=' ]]; then\n"
         "        flag=${COMP_WORDS[COMP_CWORD - 2]}\n"
         "    fi\n"
         "    COMPREPLY=()");
    printf("    if ((COMP_CWORD == 1)) || { ((COMP_CWORD == 2)) && [[ ${COMP_WORDS[1]} == help ]]; }; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '");
    put_verbs();
    puts(" --help --version' -- \"$current\")\n"
         "        return\n"
         "    fi\n"
         "    case ${COMP_WORDS[1]} in");
    for (const verb *const *v = VERBS; *v; v++) {
        bash_verb(*v);
    }
    puts("    *) return ;;\n"
         "    esac\n"
         "    if [[ -z $flag && $current == -* ]]; then\n"
         "        words=$flags files=''\n"
         "    fi\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\"; [[ -z $files ]] || compgen -A \"$files\" "
         "-- \"$current\")\n"
         "    if [[ -n $files ]]; then\n"
         "        compopt -o filenames 2>/dev/null\n"
         "    fi\n"
         "}\n"
         "complete -F _epiq epiq");
}

/* ---- zsh ---- */

static void zsh_flag(const flag *f)
{
    static const char *const QUOTE = "'\\'"; /* ends the quotes, is one, and opens them again */
    printf("            '%s--%s%s[", strstr(f->help, "repeatable") ? "*" : "", f->name, f->metavar ? "=" : "");
    put_quoted(f->help, "[]:", QUOTE);
    putchar(']');
    if (f->metavar) {
        value_kind kind = kind_of(f);
        bool words = kind == TAKES_OTHER && *words_of(f);
        putchar(':');
        put_quoted(f->metavar, ":", QUOTE);
        printf(":%s%s%s",
               kind == TAKES_FILE     ? "_files"
               : kind == TAKES_FOLDER ? "_files -/"
               : words                ? "("
                                      : "",
               words ? words_of(f) : "", words ? ")" : "");
    }
    puts("' \\");
}

static void zsh_verb(const verb *v)
{
    const flag *f;
    printf("    %s)\n        _arguments \\\n", v->name);
    for (ptrdiff_t i = 0; (f = verb_flag(v, i)); i++) {
        zsh_flag(f);
    }
    fputs("            '--help[what this verb does, and its flags]'", stdout);
    if (operand_is_file(v)) {
        fputs(" '*:file:_files'", stdout);
    } else if (*operand_words(v)) {
        printf(" '1:which:(%s)'", operand_words(v));
    }
    puts("\n        ;;");
}

static void zsh(void)
{
    puts("#compdef epiq\n"
         "# Completes epiq in zsh. Made by `epiq options --completion zsh`.\n"
         "_epiq() {\n"
         "    if ((CURRENT == 2)) || [[ $words[2] == help ]]; then");
    fputs("        compadd -- ", stdout);
    put_verbs();
    puts(" --help --version\n"
         "        return\n"
         "    fi\n"
         "    local verb=$words[2]\n"
         "    shift words\n"
         "    ((CURRENT--))\n"
         "    case $verb in");
    for (const verb *const *v = VERBS; *v; v++) {
        zsh_verb(*v);
    }
    puts("    esac\n"
         "}\n"
         "_epiq \"$@\"");
}

/* ---- fish ---- */

static bool has_flag(const verb *v, const flag *f)
{
    const flag *other;
    ptrdiff_t i = 0;
    while ((other = verb_flag(v, i)) && other != f) {
        i++;
    }
    return other;
}

/* One of the library's options once for all verbs that take it. */
static void fish_flag(const flag *f)
{
    fputs("complete -c epiq -n '__fish_seen_subcommand_from", stdout);
    for (const verb *const *v = VERBS; *v; v++) {
        if (has_flag(*v, f)) printf(" %s", (*v)->name);
    }
    printf("' -l %s", f->name);
    static const char *const VALUE[] = {[TAKES_NOTHING] = "",
                                        [TAKES_FILE] = " -r -F",
                                        [TAKES_FOLDER] = " -x -a '(__fish_complete_directories)'",
                                        [TAKES_OTHER] = " -x"};
    fputs(VALUE[kind_of(f)], stdout);
    if (*words_of(f)) printf(" -a '%s'", words_of(f));
    fputs(" -d '", stdout);
    put_quoted(f->help, "\\", "\\");
    puts("'");
}

static void fish_verb(const verb *v)
{
    printf("complete -c epiq -n __fish_use_subcommand -f -a %s -d '", v->name);
    put_quoted(v->summary, "\\", "\\");
    puts("'");
    for (const flag *f = v->flags; f && f->name; f++) {
        fish_flag(f);
    }
    if (*operand_words(v)) {
        printf("complete -c epiq -n '__fish_seen_subcommand_from %s' -f -a '%s'\n", v->name, operand_words(v));
    }
}

static void fish(void)
{
    puts("# Completes epiq in fish. Made by `epiq options --completion fish`.\n"
         "complete -c epiq -n __fish_use_subcommand -f -l version -d 'which epiq this is'\n"
         "complete -c epiq -f -l help -d 'what there is'");
    for (const verb *const *v = VERBS; *v; v++) {
        fish_verb(*v);
    }
    const flag *f;
    for (ptrdiff_t i = 0; (f = epiq_options_info(i)); i++) {
        fish_flag(f);
    }
}

void completion(int shell)
{
    static void (*const SHELLS[])(void) = {bash, zsh, fish};
    SHELLS[shell]();
}
