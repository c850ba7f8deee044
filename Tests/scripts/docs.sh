#!/usr/bin/env bash
# Runs every line of README.md and docs/*.md that can be run, against the real programs, and
# compares what each command prints with what the document says that it prints.
#
# Each document runs in a temporary folder of its own, with no daemon and no server at its start.
# The script knows these conventions; it shows other blocks no attention.
#
#   ```sh            A session if lines begin with "$ ": each of them is a command, which runs in
#                    the shell of the command before. A line that begins with "> " continues it.
#                    The lines after it are its output, errors included. A command that ends with
#                    "&" goes on; the script waits for as many lines as the document shows.
#                    A block without "$ " must be marked as not run.
#   ```yaml FILE     The script writes the block to FILE. The same holds for json.
#   ```swift FILE    The block is a part of FILE in the tree, apart from its indentation. The same
#                    holds for python and js.
#   <!-- not run: WHY -->
#                    On the line above a block of sh: nothing of it runs. The script counts its
#                    lines as left out. It checks that a script of the tree exists and that each
#                    command of cachectl and larderd takes the options that the block gives it.
#   <!-- run at the end: WHY -->
#                    On the line above a session: it runs after all other blocks of the document.
#   <!-- set up: FILE -->
#                    Runs the blocks of the section "Set up" of docs/FILE here.
#   …                In an output: any text.
#
# Times, revisions, ages, sizes, the version and ids of requests are compared by their form only.
# While a document runs, the folder /tmp/larder and the port 8099 are replaced by others.
#
# Links to files of the tree lead to a file, and links to a section to a heading.
# Usage: Tests/scripts/docs.sh [DOCUMENT...]
# `await` and the like call functions by their names.
# shellcheck disable=SC2317,SC2016,SC2001,SC2030,SC2031
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

shopt -s expand_aliases
tree=$PWD
bin=$(cd "$bin" && pwd)
PATH=$bin:$PATH
unset LARDER_SOCKET LARDER_CONFIG XDG_RUNTIME_DIR

# here: replaces what documents spell by what this run uses.
here() {
    sed -E -e "s|/tmp/larder|$folder/larder|g" -e "s/\b8099\b/$port/g"
}

# form: the opposite, with a form in place of each value that differs from run to run.
form() {
    sed -E -e "s|$folder/larder|/tmp/larder|g" -e "s/\b$port\b/8099/g" \
        -e 's/"(rev|age_ms|last_used|uptime|pid|user|uid)":[0-9]+/"\1":N/g' \
        -e 's/("type":"unchanged",.*"status":)(200|304)/\1N/' \
        -e 's/"(cache_ms|network_ms)":[0-9.]+/"\1":N/g' \
        -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/TIME/g' \
        -e 's/[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT/TIME/g' \
        -e 's/^(Age|Larder-Rev): [0-9]+/\1: N/' \
        -e 's/(larderd[ /]+|version=)[0-9]+\.[0-9]+\.[0-9]+/\1VERSION/' \
        -e 's/"request_id":"[^"]+"/"request_id":"ID"/g' -e 's/\b01[0-9A-Z]{24}\b/ULID/g' \
        -e 's/larder-[0-9a-f]{32}/larder-DIGEST/g' \
        -e 's/\b[0-9]+ (s|min|h|d)\b/SPAN/g' -e 's/[0-9.]+ (B|KiB|MiB|GiB|TiB)\b/SIZE/g' \
        -e 's/\r//g' -e 's/ +$//'
}

# compare PLACE EXPECTED OUTPUT: … in what is expected stands for any text.
compare() {
    local expected output pattern
    expected=$(form <<<"$2")
    output=$(form <<<"$3")
    pattern=$(sed 's/[][\\*?]/\\&/g' <<<"$expected")
    # shellcheck disable=SC2053
    if [[ $output == ${pattern//…/*} ]]; then
        ok "$1"
    else
        not_ok "$1" "the lines below with -" "the lines below with +"
        diff --unified --label document <(printf '%s\n' "$expected") \
            --label output <(printf '%s\n' "$output") >&2
    fi
}

# -- sessions

# has_lines FILE COUNT
has_lines() {
    (($(grep --count '' "$1") >= $2))
}

# run PLACE COMMAND EXPECTED: one command of a session, in this shell.
run() {
    local place=$1 command output=$folder/.output expected=$3
    command=$(here <<<"$2")
    # If the script hangs, this line says where.
    printf '# %s: %s\n' "$place" "${command%%$'\n'*}"
    ran=$((ran + 1))
    if [[ $command == *'&' ]]; then
        # It goes on to write to its file, so the next one has another.
        output=$(mktemp "$folder/.output.XXXX")
        eval "$command" >"$output" 2>&1 </dev/null
        await 60 has_lines "$output" "$(printf '%s' "$expected" | grep --count '')" || true
    else
        eval "$command" >"$output" 2>&1 </dev/null
    fi
    compare "$place" "$expected" "$(<"$output")"
    # A server that starts again needs its port.
    [[ $command != 'kill '* ]] || eval "wait ${command#kill }" 2>/dev/null
}

# session PLACE LINE: the block, whose first line is LINE.
session() {
    local line=$2 text command='' expected='' at=0
    while IFS= read -r text; do
        if [[ $text == '$ '* ]]; then
            [[ -z $command ]] || run "$1:$at" "$command" "$expected"
            command=${text#\$ } expected='' at=$line
        elif [[ $text == '> '* ]]; then
            command+=$'\n'${text#> }
        else
            expected+=${expected:+$'\n'}$text
        fi
        line=$((line + 1))
    done <<<"$block"
    [[ -z $command ]] || run "$1:$at" "$command" "$expected"
}

# -- blocks that are not run

# check_options PLACE WORDS: the command of cachectl or larderd that a line runs exists, and the
# options that the line gives it are in its help.
check_options() {
    local place=$1 help option words=2
    local name=("$2")
    shift 2
    if [[ ${name[0]} == cachectl ]]; then
        # `queue list` is a command, `status --json` and `get notes` have one word.
        while (($# > 0 && words > 0)) && [[ $1 =~ ^[a-z]+$ ]]; do
            name+=("$1") words=$((words - 1))
            shift
        done
    fi
    help=$("${name[@]}" --help 2>&1)
    if [[ $help != *"USAGE: ${name[*]} "* ]]; then
        name=("${name[@]:0:2}")
        help=$("${name[@]}" --help 2>&1)
    fi
    expect_match "$place: ${name[*]}" "USAGE: ${name[*]} " "$help"
    for option in $(printf '%s\n' "$@" | grep --extended-regexp --only-matching '^--?[a-z-]+'); do
        expect_match "$place: ${name[*]} $option" "(^|[ ,])$option\b" "$help"
    done
}

# left_out PLACE LINE: the block, whose first line is LINE.
left_out() {
    local line=$(($2 - 1)) text words
    while IFS= read -r text; do
        line=$((line + 1))
        read -ra words <<<"${text#\$ }"
        [[ ${words[0]:-} != sudo ]] || words=("${words[@]:1}")
        case ${words[0]:-} in
            '' | '#'*) continue ;;
            scripts/* | Tests/* | .ci/*)
                expect_equal "$1:$line: ${words[0]} is there" yes \
                    "$([[ -x $tree/${words[0]} ]] && echo yes)"
                ;;
            cachectl | larderd) check_options "$1:$line" "${words[@]}" ;;
        esac
        skipped=$((skipped + 1))
    done <<<"$block"
}

# -- links

# anchors FILE: the names of its headings, as GitHub makes them, and its own anchors.
anchors() {
    awk '/^```/ { fenced = !fenced } !fenced && /^#+ /' "$1" | sed -E -e 's/^#+ //' \
        -e 's/[^[:alnum:]_ -]//g' -e 's/ /-/g' | tr '[:upper:]' '[:lower:]'
    sed --quiet -E 's/.*<a id="([^"]+)">.*/\1/p' "$1"
}

# check_links PLACE FILE TEXT: the links of a line of the file.
check_links() {
    local link path target
    [[ $3 == *']('* ]] || return
    while read -r link; do
        path=${link%%#*}
        target=$tree/$2
        [[ -z $path ]] || target=$tree/$(dirname "$2")/$path
        if [[ ! -e $target ]]; then
            not_ok "$1: a link to $link" "a file of the tree" "none"
        elif [[ $link == *'#'* ]] && ! anchors "$target" | grep --quiet --line-regexp --fixed-strings "${link#*#}"; then
            not_ok "$1: a link to $link" "a heading of $path" "none"
        fi
    done < <(grep --extended-regexp --only-matching '\]\([^):]+\)' <<<"$3" | sed 's/^](//; s/)$//')
}

# -- documents

# excerpt PLACE FILE: the block is a part of the file.
excerpt() {
    local part whole
    part=$(sed 's/^ *//' <<<"$block")
    whole=$(sed 's/^ *//' "$tree/$2")
    ran=$((ran + $(wc -l <<<"$block")))
    if [[ $whole == *"$part"* ]]; then
        ok "$1: a part of $2"
    else
        not_ok "$1" "a part of $2" "$block"
    fi
}

# finish_block PLACE LINE TAG WHY LATER: handles the block that has just ended.
finish_block() {
    case $3 in
        sh)
            if [[ -n $5 ]]; then
                last_places+=("$1:$2") last_blocks+=("$block")
            elif [[ -n $4 ]]; then
                left_out "$1" "$2"
            elif grep --quiet '^\$ ' <<<"$block"; then
                session "$1" "$2"
            else
                not_ok "$1:$2" 'commands that begin with "$ ", or <!-- not run: WHY -->' "$block"
            fi
            ;;
        'yaml '* | 'json '*) here <<<"$block" >"${3#* }" ;;
        'swift '* | 'python '* | 'js '*) excerpt "$1:$2" "${3#* }" ;;
        swift) not_ok "$1:$2" '```swift FILE' "$block" ;;
    esac
}

# run_lines FILE [HEADING]: the blocks of a document, or of one section of it.
run_lines() {
    local place=$1 section=${2:-} text tag='' why='' later='' number=0 start=0 inside=0 chosen=1
    local descriptor
    exec {descriptor}<"$tree/$1"
    [[ -z $section ]] || chosen=0
    while IFS= read -r text <&"$descriptor"; do
        number=$((number + 1))
        if ((inside)); then
            if [[ $text == '```' ]]; then
                inside=0
                ((!chosen)) || finish_block "$place" "$start" "$tag" "$why" "$later"
                why='' later=''
            else
                block+=${block:+$'\n'}$text
            fi
            continue
        fi
        # A section for another document was checked in its own.
        [[ -n $section ]] || check_links "$place:$number" "$1" "$text"
        case $text in
            '```'*) inside=1 tag=${text#\`\`\`} start=$((number + 1)) block='' ;;
            '<!-- not run: '?*' -->') why=${text#*: } ;;
            '<!-- run at the end: '?*' -->') later=${text#*: } ;;
            '<!-- set up: '*' -->')
                text=${text#*: }
                run_lines "docs/${text% -->}" "Set up"
                ;;
            '## '*) [[ -z $section ]] || chosen=$([[ $text == "## $section" ]] && echo 1 || echo 0) ;;
            '') ;;
            *) why='' later='' ;;
        esac
    done
    exec {descriptor}<&-
}

# run_document FILE: all of it, in a subshell, as its commands set variables and aliases.
run_document() (
    folder=$work/${1//\//-}
    port=$(free_port)
    ran=0 skipped=0 failures=0 block='' last_places=() last_blocks=()
    trap 'exec 2>/dev/null; jobs -p | xargs --no-run-if-empty kill -KILL; wait' EXIT
    mkdir "$folder" "$folder/home"
    export HOME=$folder/home XDG_CONFIG_HOME=$folder/home/.config XDG_CACHE_HOME=$folder/home/.cache
    cd "$folder" || exit 1
    run_lines "$1"
    for index in "${!last_blocks[@]}"; do
        block=${last_blocks[index]}
        session "${last_places[index]%:*}" "${last_places[index]##*:}"
    done
    printf '# %s: %d lines run, %d left out\n' "$1" "$ran" "$skipped"
    printf '%d %d\n' "$ran" "$skipped" >>"$work/counts"
    exit "$((failures > 0))"
)

documents=("$@")
(($# > 0)) || documents=(README.md docs/*.md)
for document in "${documents[@]}"; do
    # `not_ok` has printed what is wrong.
    run_document "$document" || failures=$((failures + 1))
done
read -r ran skipped < <(awk '{ ran += $1; skipped += $2 } END { print ran, skipped }' "$work/counts")
printf '# %d documents: %d lines run, %d left out\n' "${#documents[@]}" "$ran" "$skipped"
expect_match "lines of the documents were run" '^[1-9]' "$ran"
finish
