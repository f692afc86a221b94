/**
 * The script for zsh: to be evaluated after `compinit`, or to be put into a directory of `fpath` as `_service-api`.
 *
 * The matches that zsh is given stand in any case in place of what is typed, since the program accepts roles and
 * permissions in any case. Each goes with its description, and a comma typed right after one takes its place before
 * the space that zsh has put there.
 */
export const script = `#compdef service-api
# zsh completion of service-api

_service-api() {
  local line directive before program=\${\${(Q)words[1]}/#\\~\\//$HOME/}
  local -a answer candidates after=()
  answer=("\${(@f)$("$program" __complete -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2> /dev/null < /dev/null)}")
  directive=\${answer[-1]%%$'\\t'*} before=\${answer[-1]#*$'\\t'}

  case $directive in
    :files | :directories)
      compset -p \${#before}
      if [[ $directive == :files ]]; then _files; else _files -/; fi
      return
      ;;
    :nospace) after=(-S '') ;;
    :space) [[ -z $compstate[quote] ]] && after=(-S ' ' -r ',') ;;
    *) return 1 ;;
  esac
  for line in "\${(@)answer[1,-2]}"; do
    candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe -V 'service-api' candidates -M 'm:{[:lower:][:upper:]}={[:upper:][:lower:]}' "\${after[@]}"
}

if [[ $funcstack[1] == _service-api ]]; then
  _service-api "$@"
else
  compdef _service-api service-api
fi
`;
