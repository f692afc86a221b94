/**
 * The script for fish. Fish ignores case, quotes candidates, and appends no space after a colon. So the script handles
 * the directives `:space` and `:nospace` in the same way.
 */
export const script = `# fish completion of service-api

function __service_api_complete
    set -l words (commandline -opc)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    # Remove an open quotation mark and backslashes.
    set -l word (commandline -ct | string replace -r '^(--[^=]+=)?["\\']' '$1' | string replace -ra '\\\\\\\\(.)' '$1')
    set -l answer ($program __complete -- $words[2..-1] "$word" 2> /dev/null < /dev/null)
    set -l directive (string split \\t -- $answer[-1])
    switch "$directive[1]"
        case :files :directories
            set -l start (string length -- "$directive[2]")
            set -l path (string sub -s (math $start + 1) -- "$word")
            for found in (complete -C "'' $path")
                if test "$directive[1]" = :files; or string match -q '*/' -- (string split -f 1 \\t -- $found)
                    printf '%s\\n' "$directive[2]$found"
                end
            end
        case :space :nospace
            if set -q answer[2]
                printf '%s\\n' $answer[1..-2]
            end
    end
end

complete -c service-api -f -k -a '(__service_api_complete)'
`;
