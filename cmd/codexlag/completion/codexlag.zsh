#compdef codexlag
# zsh completion of codexlag
_codexlag() {
  local -a lines plain open shown
  local line fits files
  lines=("${(@f)$("${(Q)words[1]/#\~/$HOME}" __complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    fits=${line%%$'\t'*}
    if [[ $fits == :files ]]; then
      files=1
    elif [[ $fits == *= ]]; then
      open+=("$fits")
    elif [[ $line == *$'\t'* ]]; then
      plain+=("${fits//:/\\:}:${line#*$'\t'}")
    elif [[ -n $fits ]]; then
      plain+=("${fits//:/\\:}")
    fi
  done
  (( $#plain )) && _describe -t values codexlag plain
  (( $#open )) && compadd -S '' -- $open
  if [[ -n $files ]]; then
    compset -P '--*='
    _files
  fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _codexlag "$@"
else
  compdef _codexlag codexlag
fi
