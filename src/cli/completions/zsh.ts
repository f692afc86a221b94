/**
 * The script for zsh. Evaluate it after `compinit`, or save it as `_service-api` in a directory of `fpath`.
 *
 * The script ignores case, because the program accepts roles and permissions in upper and lower case. If the user types
 * a comma right after a completed word, the comma replaces the space that zsh has appended.
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
