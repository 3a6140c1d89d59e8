# What zsh makes of each command line here when Tab is typed at its end. Usage: COMPLETIONS=FOLDER zsh -f tests/complete.zsh LINE...
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PROMPT= RPROMPT=; fpath=($COMPLETIONS \$fpath); autoload -Uz compinit; compinit -u -D; bindkey '^I' complete-word"
zpty -w shell "show() { print -r -- \"<<\$BUFFER>>\"; BUFFER= }; zle -N show; bindkey '^T' show; print ready-\$((1 + 1))"
zpty -r shell said '*ready-2*'
for line in "$@"; do
    zpty -n -w shell "$line"$'\t\C-t'
    zpty -r shell said '*<<*>>*'
    line=${${said##*<<}%%>>*}
    print -r -- "${line%% }"
done
zpty -d shell
