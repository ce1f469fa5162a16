# Completion of mpsweep's command lines in bash, which asks the program for the candidates.
# shellcheck shell=bash

_mpsweep() {
  local line=${COMP_LINE:0:COMP_POINT} words word tail kept option='' candidate candidates=()
  # shellcheck disable=SC2162 # a backslash is the shell's here, too
  read -a words <<<"$line"
  [[ $line == *[[:space:]] && $line != *\\[[:space:]] ]] && words+=('')
  word=${words[-1]}
  [[ $word == --*=* ]] && option=${word%%=*}=
  while IFS=$'\t' read -r candidate _; do
    case $candidate in
      :files | :directories)
        compopt -o filenames 2>/dev/null
        mapfile -t -O ${#candidates[@]} candidates < <(compgen -"${candidate:1:1}" -- "${word#"$option"}")
        ;;
      :commands) mapfile -t candidates < <(compgen -c -- "$word") ;;
      *) candidates+=("$candidate") ;;
    esac
  done < <("${1/#\~/$HOME}" completion -- "${words[@]:1}" 2>/dev/null)
  # Readline may end words at ':' and '=': then it replaces only what is behind the last one.
  tail=$word
  [[ $COMP_WORDBREAKS == *:* ]] && tail=${tail##*:}
  [[ $COMP_WORDBREAKS == *=* ]] && tail=${tail##*=}
  kept=${word%"$tail"}
  COMPREPLY=()
  for candidate in "${candidates[@]}"; do
    candidate=$option$candidate
    COMPREPLY+=("${candidate#"$kept"}")
    # What goes on behind its ':' gets no blank.
    [[ $candidate != *: ]] || compopt -o nospace 2>/dev/null
  done
}

complete -F _mpsweep mpsweep
