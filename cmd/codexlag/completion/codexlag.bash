# bash completion of codexlag
_codexlag() {
  # bash parts words at = and : as well; put them together again.
  local word=${COMP_WORDS[COMP_CWORD]} line last=-1 i glued=1 part
  line=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    part=${COMP_WORDS[i]}
    if [[ $part == [=:] && $i -gt 1 ]]; then
      line[last]+=$part glued=1
    elif [[ $glued && $last -ge 0 ]]; then
      line[last]+=$part glued=
    else
      last=$((last + 1)) glued=
      line[last]=$part
    fi
  done
  [[ $word == [=:] ]] && word=
  local before=${line[last]%"$word"} fits file
  COMPREPLY=()
  while IFS=$'\t' read -r fits _; do
    if [[ $fits == :files ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$word")
    else
      [[ $fits == *= ]] && compopt -o nospace 2>/dev/null
      COMPREPLY+=("${fits#"$before"}")
    fi
  done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete -- "${line[@]}" 2>/dev/null)
}
complete -F _codexlag codexlag
