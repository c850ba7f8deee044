
# bash splits words at ':', which ids and URLs have: the words are put together for _cachectl, and the
# part before the last ':', which bash keeps, is taken off each of its completions.
_cachectl_whole_words() {
    local -a whole=()
    local -i place index=0
    local word before line=$COMP_LINE
    for place in "${!COMP_WORDS[@]}"; do
        word=${COMP_WORDS[place]}
        before=$line
        line=${line#"${line%%[![:space:]]*}"}
        if ((place > 0)) && [[ $line == "$before" ]] && [[ $word == :* || ${whole[-1]} == *: ]]; then
            whole[-1]+=$word
        else
            whole+=("$word")
        fi
        line=${line#"$word"}
        ((place > COMP_CWORD)) || index=$((${#whole[@]} - 1))
    done
    local -a COMP_WORDS=("${whole[@]}")
    local -i COMP_CWORD=index
    local typed=${whole[index]}
    _cachectl "$1" "$typed" "${whole[index - 1]}"
    COMPREPLY=("${COMPREPLY[@]#"${typed%"${typed##*:}"}"}")
}

complete -o filenames -F _cachectl_whole_words cachectl
