/**
 * The script for bash 3.2 and newer. It does not need the bash-completion package.
 *
 * Readline splits words at each character of `COMP_WORDBREAKS`, for example `:` and `=`, and completes only the last
 * part. The program completes whole words: for `DOCKER:RE`, its candidate is `DOCKER:READ_ANY`, and readline needs
 * `READ_ANY`. So the script splits the line itself, and cuts the start of each candidate. Bash before version 4 has no
 * `compopt`, so in these versions the script appends the spaces itself.
 */
export const script = `# bash completion of service-api

# Splits a line into words as the shell does. Sets words (without quotes), raw (the last word with its quotes) and quote
# (the open quotation mark, if any).
__service_api_split() {
  local rest=$1 char word= inside=
  words=() raw= quote=
  while [[ -n $rest ]]; do
    char=\${rest:0:1} rest=\${rest:1}
    if [[ $char == [[:space:]] && -z $quote ]]; then
      [[ -n $inside ]] && words+=("$word")
      word= raw= inside=
      continue
    fi
    raw+=$char inside=1
    if [[ $char == "$quote" ]]; then
      quote=
    elif [[ -z $quote && $char == [\\"\\'] ]]; then
      quote=$char
    elif [[ $char == \\\\ && ( -z $quote || $quote$rest == \\"[\\"\\\\\\$\\\`]* ) ]]; then
      raw+=\${rest:0:1} word+=\${rest:0:1} rest=\${rest:1}
    else
      word+=$char
    fi
  done
  words+=("$word")
}

# Quotes the text $1 for the command line and stores the result in quoted. $2 is the open quotation mark, if any.
__service_api_quote() {
  local text=$1 char
  quoted=
  while [[ -n $text ]]; do
    char=\${text:0:1} text=\${text:1}
    case $2$char in
      \\'\\') quoted+="'\\\\''" ;;
      \\'?* | [A-Za-z0-9_.,:=@/+-]) quoted+=$char ;;
      \\"[\\"\\\\\\$\\\`] | [[:space:][:punct:]]) quoted+=\\\\$char ;;
      *) quoted+=$char ;;
    esac
  done
}

__service_api() {
  local IFS=$' \\t\\n' words raw quote quoted line directive='' before='' candidates=() cut
  __service_api_split "\${COMP_LINE:0:COMP_POINT}"
  local last=$((\${#words[@]} - 1)) typed=$raw open=$quote program=\${words[0]/#~\\//$HOME/}
  local word=\${words[last]}
  type -P -- "$program" > /dev/null || program=service-api
  local arguments=("\${words[@]:1}")
  while IFS= read -r line; do
    [[ $line == :* ]] && directive=\${line%%$'\\t'*} before=\${line#*$'\\t'}
    candidates+=("\${line%%$'\\t'*}")
  done < <("$program" __complete -- "\${arguments[@]}" 2> /dev/null < /dev/null)
  [[ -n $directive ]] && unset "candidates[\${#candidates[@]}-1]"

  # How many characters to cut from the start of each candidate: they are on the line already.
  __service_api_split "\${typed%"$2"}"
  cut=\${#words[0]}
  [[ $typed == *"$2" ]] || cut=0

  COMPREPLY=()
  case $directive in
    :files | :directories)
      local action=-f
      [[ $directive == :directories ]] && action=-d
      while IFS= read -r line; do
        candidates+=("$before$line")
      done < <(compgen "$action" -- "\${word:\${#before}}")
      if type compopt > /dev/null 2>&1; then
        compopt -o filenames
        for line in \${candidates[@]+"\${candidates[@]}"}; do COMPREPLY+=("\${line:cut}"); done
        return
      fi
      ;;
    :nospace) type compopt > /dev/null 2>&1 && compopt -o nospace ;;
  esac
  for line in \${candidates[@]+"\${candidates[@]}"}; do
    __service_api_quote "\${line:cut}" "$open"
    COMPREPLY+=("$quoted")
  done
  if [[ $directive == :space && \${#COMPREPLY[@]} -eq 1 && -z $open ]] && ! type compopt > /dev/null 2>&1; then
    COMPREPLY[0]+=' '
  fi
}

if type compopt > /dev/null 2>&1; then
  complete -F __service_api service-api
else
  complete -o nospace -F __service_api service-api
fi
`;
