/* completion.c - what completes the words of an epiq command in bash, zsh and fish, from the tables of verbs and flags that
 * --help prints (epiq options --completion SHELL). The build makes the files, make install puts them where the shells look.
 */
#include "cli/cli.h"

#include <ctype.h>
#include <string.h>

/* ---- what can stand behind a flag ---- */

static bool takes_file(const flag *f)
{
    return f->metavar &&
           (strstr(f->metavar, "FILE") || strcmp(f->metavar, "STATE") == 0 || strcmp(f->metavar, "MODEL") == 0);
}

static bool takes_folder(const flag *f)
{
    return f->metavar && strcmp(f->metavar, "DIR") == 0;
}

/* Of "mean|row:I|FILE" the words that are typed as they stand: no capital is in them. The next one, *rest behind it; 0: none. */
static int next_word(const char **rest, const char **word)
{
    while (*rest && **rest) {
        int length = (int)strcspn(*rest, "|"), capitals = 0;
        *word = *rest;
        for (int i = 0; i < length; i++) {
            capitals += isupper((unsigned char)(*word)[i]) != 0;
        }
        *rest += length + ((*rest)[length] == '|');
        if (!capitals) {
            return length;
        }
    }
    return 0;
}

static bool has_words(const flag *f)
{
    const char *rest = f->metavar, *word;
    return next_word(&rest, &word) > 0;
}

static void put_words(const flag *f)
{
    const char *rest = f->metavar, *word;
    for (int length, count = 0; (length = next_word(&rest, &word)); count++) {
        printf("%s%.*s", count ? " " : "", length, word);
    }
}

/* ... and in the place of the verb's own argument */
static bool operand_is_file(const verb *v)
{
    return v->reads || v->second;
}

static void put_operands(const verb *v)
{
    const study_info *s;
    if (v == &VERB_SYNTH) {
        fputs("1 2 3", stdout);
    }
    if (v == &VERB_STUDY) {
        fputs("list", stdout);
        for (ptrdiff_t i = 0; (s = study_list(i)); i++) {
            printf(" %s", s->name);
        }
    }
}

static bool has_operands(const verb *v)
{
    return v == &VERB_SYNTH || v == &VERB_STUDY;
}

static void put_verbs(void)
{
    for (const verb *const *v = VERBS; *v; v++) {
        if (!(*v)->hidden) {
            printf("%s ", (*v)->name);
        }
    }
    fputs("help", stdout);
}

/* Inside single quotes; before: what the shell wants before one of these. */
static void put_quoted(const char *text, const char *these, const char *before)
{
    for (; *text; text++) {
        fputs(strchr(these, *text) ? before : "", stdout);
        putchar(*text);
    }
}

/* ---- bash ---- */

static void bash_kind(const verb *v, bool (*is)(const flag *f), const char *what)
{
    const flag *f;
    int count = 0;
    for (ptrdiff_t i = 0; (f = verb_flag(v, i)); i++) {
        if (is(f) && !has_words(f)) {
            printf("%s--%s", count++ ? " | " : "        ", f->name);
        }
    }
    if (count) {
        printf(") %s ;;\n", what);
    }
}

static bool takes_other(const flag *f)
{
    return f->metavar && !takes_file(f) && !takes_folder(f);
}

static void bash_verb(const verb *v)
{
    const flag *f;
    printf("    %s)\n        flags='--help", v->name);
    for (ptrdiff_t i = 0; (f = verb_flag(v, i)); i++) {
        printf(" --%s", f->name);
    }
    printf("' words='");
    put_operands(v);
    printf("' files=%s\n", operand_is_file(v) ? "file" : "");
    if (v->o) {
        printf("        [[ $flag != -o ]] || flag=--%s\n", v->o);
    }
    puts("        case $flag in");
    for (ptrdiff_t i = 0; (f = verb_flag(v, i)); i++) {
        if (has_words(f)) {
            printf("        --%s) words='", f->name);
            put_words(f);
            printf("' files=%s ;;\n", takes_file(f) ? "file" : "");
        }
    }
    bash_kind(v, takes_file, "words='' files=file");
    bash_kind(v, takes_folder, "words='' files=directory");
    bash_kind(v, takes_other, "words='' files=''");
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
        if (!(*v)->hidden) {
            bash_verb(*v);
        }
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
    printf("            '%s--%s%s[", strstr(f->help, "repeatable") ? "*" : "", f->name, f->metavar ? "=" : "");
    for (const char *text = f->help; *text; text++) {
        if (*text == '\'') {
            fputs("'\\''", stdout); /* ends the quotes, is one, and opens them again */
        } else {
            fputs(strchr("[]:", *text) ? "\\" : "", stdout);
            putchar(*text);
        }
    }
    putchar(']');
    if (f->metavar) {
        putchar(':');
        put_quoted(f->metavar, ":", "\\");
        putchar(':');
        if (takes_file(f)) {
            fputs("_files", stdout);
        } else if (takes_folder(f)) {
            fputs("_files -/", stdout);
        } else if (has_words(f)) {
            putchar('(');
            put_words(f);
            putchar(')');
        }
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
    } else if (has_operands(v)) {
        fputs(" '1:which:(", stdout);
        put_operands(v);
        fputs(")'", stdout);
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
        if (!(*v)->hidden) {
            zsh_verb(*v);
        }
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
        if (!(*v)->hidden && has_flag(*v, f)) {
            printf(" %s", (*v)->name);
        }
    }
    printf("' -l %s", f->name);
    if (f->metavar) {
        fputs(takes_file(f) ? " -r -F" : takes_folder(f) ? " -x -a '(__fish_complete_directories)'" : " -x", stdout);
    }
    if (f->metavar && has_words(f)) {
        fputs(" -a '", stdout);
        put_words(f);
        putchar('\'');
    }
    fputs(" -d '", stdout);
    put_quoted(f->help, "'\\", "\\");
    puts("'");
}

static void fish_verb(const verb *v)
{
    printf("complete -c epiq -n __fish_use_subcommand -f -a %s -d '", v->name);
    put_quoted(v->summary, "'\\", "\\");
    puts("'");
    for (const flag *f = v->flags; f && f->name; f++) {
        fish_flag(f);
    }
    if (has_operands(v)) {
        printf("complete -c epiq -n '__fish_seen_subcommand_from %s' -f -a '", v->name);
        put_operands(v);
        puts("'");
    }
}

static void fish(void)
{
    puts("# Completes epiq in fish. Made by `epiq options --completion fish`.\n"
         "complete -c epiq -n __fish_use_subcommand -f -l version -d 'which epiq this is'\n"
         "complete -c epiq -f -l help -d 'what there is'");
    for (const verb *const *v = VERBS; *v; v++) {
        if (!(*v)->hidden) {
            fish_verb(*v);
        }
    }
    const flag *f;
    for (ptrdiff_t i = 0; (f = epiq_options_info(i)); i++) {
        fish_flag(f);
    }
}

int completion(const char *shell)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].print();
            return CODE_OK;
        }
    }
    return complain(CODE_USAGE, "--completion is \"%s\"; it must be bash, zsh or fish", shell);
}
