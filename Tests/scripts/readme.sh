#!/usr/bin/env bash
# Every line of README.md that can be run is run, against the real daemon and nginx, and says what
# the README says that it says. What counts:
#
#   ```yaml FILE     is written to the file.
#   ```sh            with lines that begin with "$ " is a session: each command is run where the one
#                    before left off, and what follows it up to the next is what it says, errors
#                    too. Without such lines each names a script of the tree, which is not run here.
#   ```swift         is the program of Examples/Greeting, which a session then runs.
#   <!-- server stops -->, <!-- server starts --> do that to the web server of the examples.
#   The table under "## The API" names every route of schema/openapi.json and no other, and each is
#   asked; the one under "## cachectl" every subcommand and no other, and each is run.
#
# Times, revisions, ages, tags and ids of requests are compared by their form only. The folder
# /tmp/larder and the port 8099 of the README are replaced by others while it runs.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317,SC2016,SC2015,SC1083,SC2119,SC2120
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

shopt -s expand_aliases
tree=$PWD
readme=$tree/README.md
bin=$(cd "$bin" && pwd)
PATH=$bin:$PATH
home=$work/home
mkdir -p "$home" "$www"
unset LARDER_SOCKET XDG_RUNTIME_DIR
export HOME=$home XDG_CONFIG_HOME=$home/.config XDG_CACHE_HOME=$home/.cache
socket=$work/larder/api.sock

# What the README spells, as it is here, and back.
here() {
    sed -e "s|/tmp/larder|$work/larder|g" -e "s|127\.0\.0\.1:8099|127.0.0.1:$port|g"
}

# What differs from one run to the next, as a form of it.
form() {
    sed -E -e "s|$work/larder|/tmp/larder|g" -e "s|127\.0\.0\.1:$port|127.0.0.1:8099|g" \
        -e 's/"(rev|age_ms|last_used|uptime|pid)":[0-9]+/"\1":N/g' \
        -e 's/"(cache_ms|network_ms)":[0-9.]+/"\1":N/g' \
        -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/TIME/g' \
        -e 's/"request_id":"[^"]+"/"request_id":"ID"/g' \
        -e 's/\\"[0-9a-f]{6,}-[0-9a-f]+\\"/TAG/g' -e 's/larder-[0-9a-f]{32}/larder-DIGEST/g' \
        -e 's/\b[0-9]+ (s|min|h|d)\b/SPAN/g' -e 's/[0-9.]+ (B|KiB|MiB|GiB|TiB)\b/SIZE/g' \
        -e 's/ +$//'
}

# Compares by form: the place in the README, what stands there, what came.
expect_said() {
    local wanted got
    wanted=$(form <<<"$2")
    got=$(form <<<"$3")
    if [[ $wanted == "$got" ]]; then
        ok "README.md:$1"
    else
        not_ok "README.md:$1" "as below" "as below"
        diff <(printf '%s\n' "$wanted") <(printf '%s\n' "$got") \
            --label "README.md:$1" --label "what came" --unified >&2
    fi
}

configure_nginx </dev/null
printf '{"hello":"world"}\n' >"$www/hello.json"
start_nginx

# -- sessions

sessions=0

# run LINE COMMAND EXPECTED: one command of a session, in this shell.
run() {
    local line=$1 command said expected=$3
    command=$(here <<<"$2")
    if [[ $command == *'&' ]]; then
        # It goes on: what it says first is what counts.
        said=$work/said.daemon
        eval "$command" >"$said" 2>&1
        daemon=$!
        await 60 says "$said" "$(printf '%s' "$expected" | grep --count '')" || true
    else
        said=$work/said
        eval "$command" >"$said" 2>&1 </dev/null
    fi
    expect_said "$line" "$expected" "$(<"$said")"
}

# says FILE LINES: whether there are as many.
says() {
    (($(grep --count '' "$1") >= $2))
}

# session LINE: the block on stdin, whose first line is LINE.
session() {
    local line=$1 text command='' expected='' at=0
    if ! grep --quiet '^\$ ' "$work/block"; then
        while read -r command _; do
            [[ -n $command ]] || continue
            if [[ -x $tree/$command ]]; then
                ok "README.md:$line: $command is there"
            else
                not_ok "README.md:$line" "a script of the tree" "$command"
            fi
        done <"$work/block"
        return
    fi
    sessions=$((sessions + 1))
    while IFS= read -r text; do
        if [[ $text == '$ '* ]]; then
            [[ -z $command ]] || run "$at" "$command" "$expected"
            command=${text#\$ } expected='' at=$line
        elif [[ $text == '> '* ]]; then
            command+=$'\n'${text#> }
        else
            expected+=${expected:+$'\n'}$text
        fi
        line=$((line + 1))
    done <"$work/block"
    [[ -z $command ]] || run "$at" "$command" "$expected"
}

# -- blocks

# finish_block: what to do with the block that has just ended.
finish_block() {
    case $tag in
        sh) session "$start" ;;
        "yaml "*) here <"$work/block" >"${tag#yaml }" ;;
        swift)
            if cmp --silent "$work/block" "$tree/Examples/Greeting/main.swift"; then
                ok "README.md:$start: the program is that of Examples/Greeting"
            else
                not_ok "README.md:$start" "the lines of Examples/Greeting/main.swift" \
                    "$(diff "$tree/Examples/Greeting/main.swift" "$work/block")"
            fi
            ;;
        *) not_ok "README.md:$start" "a block of sh, yaml FILE or swift" "'$tag'" ;;
    esac
}

cd "$work" || exit 1
number=0 tag='' start=0 inside=0
while IFS= read -r text <&3; do
    number=$((number + 1))
    if ((inside)); then
        if [[ $text == '```' ]]; then
            inside=0
            finish_block
        else
            printf '%s\n' "$text" >>"$work/block"
        fi
        continue
    fi
    case $text in
        '```'*)
            inside=1 tag=${text#\`\`\`} start=$((number + 1))
            : >"$work/block"
            ;;
        '<!-- server stops -->') stop_nginx ;;
        '<!-- server starts -->') start_nginx ;;
    esac
done 3<"$readme"
expect_match "the README has sessions" '^[1-9]' "$sessions"
((nginx != 0)) || start_nginx

# -- the tables

# section TITLE: the rows of the tables under a heading.
section() {
    awk -v title="## $1" '/^## / { inside = $0 == title } inside && /^\| *`/' "$readme"
}

# first_cell ROW, other_cells ROW: \| is no end of a cell.
first_cell() {
    sed -E 's/\\\|/\x01/g; s/^\| *([^|]*[^| ]) *\|.*/\1/; s/\x01/|/g' <<<"$1"
}
other_cells() {
    sed -E 's/\\\|/\x01/g; s/^\|[^|]*\|//; s/\x01/|/g' <<<"$1"
}

# spans: what stands between `…` in the text on stdin, one a line.
spans() {
    grep --only-matching --extended-regexp '`[^`]+`' | tr --delete '`'
}

# routes: the routes of the API's table, as METHOD TEMPLATE QUERY; HEAD goes without saying.
routes() {
    section "The API" | while IFS= read -r row; do
        local methods=() span path=''
        while IFS= read -r span; do
            if [[ $span =~ ^[A-Z]+$ ]]; then
                methods+=("$span")
            elif [[ $span =~ ^([A-Z]+)\ (/.*)$ ]]; then
                methods+=("${BASH_REMATCH[1]}")
                path=${BASH_REMATCH[2]}
                printf "%s $path\n" "${methods[@]}"
                methods=()
            elif [[ $span == /* ]]; then
                printf '%s\n' "GET $span"
            fi
        done < <(first_cell "$row" | spans)
    done | sed -E -e 's/(PUT|PATCH|DELETE|POST|GET|HEAD) ([^?]*)\??(.*)/\1 \2 \3/' \
        -e 's#/(ID)(/| )#/{id}\2#; s#/(NAME)(/| )#/{name}\2#; s#/(MODIFIER)(/| )#/{modifier}\2#; s#/(LANE)(/| )#/{lane}\2#; s#/o/ORIGIN/PATH#/o/{origin}/{path}#' |
        awk '{ print } $1 == "GET" && $2 !~ /^\/v1\/(fetch|watch)$/ { $1 = "HEAD"; print }'
}

document=$tree/schema/openapi.json
documented=$(jq --raw-output \
    '.paths | to_entries[] | .key as $path | .value | keys[] | select(. != "parameters")
    | "\(ascii_upcase) \($path)"' "$document" | sort)
expect_equal "the table of routes is that of the API's document" "$documented" \
    "$(routes | cut --delimiter=' ' --fields=1,2 | sort --unique)"

# example METHOD PATH: the target and, where there is one, the body that the document gives.
example_target() {
    jq --raw-output --arg method "${1,,}" --arg path "$2" '
        .paths[$path] | ((.parameters // []) + (.[$method].parameters // [])) as $parameters
        | reduce ($parameters[] | select(.in == "path")) as $one
            ($path; sub("{\($one.name)}"; $one.example | tostring | @uri))
        | . + ([$parameters[] | select(.in == "query" and .required)
            | "\(.name)=\(.example | tostring | @uri)"] | if . == [] then "" else "?" + join("&") end)
        ' "$document"
}
example_body() {
    jq --compact-output --arg method "${1,,}" --arg path "$2" '
        .paths[$path][$method].requestBody.content["application/json"].example // empty' "$document"
}

# A daemon that has what the examples of the document speak of.
((daemon == 0)) || end_daemon TERM
mkdir -p "$work/run"
socket=$work/run/api.sock
mkdir -p "$www/articles"
printf '{"title":"Larder"}\n' >"$www/articles/42"
# The examples' host is api.example.com: the URL is another here.
configure <<END
origins:
  example: {base_url: "$origin", allow_private: true, normalize: {by_type: true}}
  iso: {base_url: "$origin/iso", allow_private: true}
END
start_daemon
request PUT "$(entry notes/1)" --data-binary hello
request PUT "$(entry notes/1)?account=work" --data-binary hello

# A modifier that the server has refused, so that it can be asked for, sent again and dropped.
modifier=$(jq --compact-output --arg url "$origin/articles/42" '
    {id: .paths["/v1/modifiers/{modifier}"].parameters[0].example,
     changes: [{target: {id: $url}, effect: {type: "merge", value: {liked: true}}}]}' "$document")

while read -r method path query; do
    target=$(example_target "$method" "$path" | sed "s|https%3A%2F%2Fapi.example.com|$(
        jq --raw-output --null-input --arg o "$origin" '$o | @uri')|g")
    # Each parameter that the README names is one that the document has, and so the server.
    for parameter in ${query//&/ }; do
        name=${parameter%%=*}
        jq --exit-status --arg method "${method,,}" --arg path "$path" --arg name "$name" '
            .paths[$path][$method].parameters // [] | any(.name == $name and .in == "query")' "$document" >/dev/null \
            && ok "$method $path takes $name" \
            || not_ok "README.md: $method $path takes $name" "a parameter of the document" "none"
    done
    # What a DELETE took away is there again for whoever comes next.
    [[ $path != */entries/{id}* ]] || request PUT "$(entry notes/1)" --data-binary hello
    [[ $path != */modifiers/{modifier}* ]] \
        || request POST "/v1/modifiers?wait=60s" --header 'Content-Type: application/json' \
            --data "$modifier"
    # Without it there is no write that is taken.
    wish=()
    [[ $path != /o/* || $method == @(GET|HEAD) ]] || wish=(--header 'Prefer: respond-async')
    body=$(example_body "$method" "$path" | sed "s|https://api.example.com|$origin|g")
    if [[ -n $body ]]; then
        request "$method" "$target" --header 'Content-Type: application/json' --data "$body"
    elif [[ $method == PUT && $path != /v1/pins/* ]]; then
        request "$method" "$target" "${wish[@]}" --data-binary bytes
    else
        request "$method" "$target" "${wish[@]}"
    fi
    expect_match "README.md: $method $path is answered" '^2' \
        "$status $(head -c 300 "$work/body" 2>/dev/null)"
done < <(routes)

# The subcommands of cachectl, with those of the second level.
subcommands() {
    "$bin/cachectl" "$@" --help \
        | awk '/^SUBCOMMANDS:/ { inside = 1; next } /^$|^[^ ]/ { inside = 0 }
            inside && /^  [a-z]/ { print $1 }'
}

# The commands of the table, without cachectl itself.
commands() {
    section cachectl | while IFS= read -r row; do
        first_cell "$row" | spans | sed --quiet 's/^cachectl //p'
    done
}

expect_equal "the table of commands is that of cachectl --help" "$(subcommands | sort)" \
    "$(commands | cut --delimiter=' ' --fields=1 | sort --unique)"

# sample WORDS: arguments in the place of those that the README leaves open.
sample() {
    local words=$1
    words=${words//"URL|ID|KEY"/ID}
    words=${words//"ID|KEY"/ID}
    words=${words//KEY/User:7}
    words=${words//URL/$origin/hello.json}
    words=${words//ID/notes/1}
    words=${words//"[FILE]"/$www/hello.json}
    words=${words//"[PREFIX]"/notes}
    words=${words//FILE/$www/hello.json}
    case $words in
        "evict …") words="evict --all --dry-run" ;;
        "purge --uid N") words="purge --uid 64999 --yes" ;;
        "origin list|"*) words="origin list" ;;
        "queue list|"*) words="queue list" ;;
        "watch "*) words="watch --initial --count 1" ;;
        "doctor"*) words="doctor --config $config" ;;
        *) words=${words//"[-v]"/-v} ;;
    esac
    printf '%s' "$words"
}

run_command() {
    local words=$1 code=0
    request PUT "$(entry notes/1)" --data-binary hello
    # shellcheck disable=SC2086
    "$bin/cachectl" --socket "$socket" $words >"$work/out" 2>"$work/err" </dev/null || code=$?
    expect_match "README.md: cachectl $words" '^(0|1 doctor|1 status)' \
        "$code ${words%% *} $(head -n 2 "$work/err")"
}

while IFS= read -r row; do
    options=$(other_cells "$row" | spans | grep --only-matching --extended-regexp -- '^--[a-z-]+')
    while IFS= read -r words; do
        name=${words%% *}
        for option in $options; do
            expect_match "README.md: cachectl $name takes $option" "$option" \
                "$("$bin/cachectl" "$name" --help 2>&1)"
        done
        if [[ $words == *'URL|ID|KEY'* ]]; then
            run_command "$(sample "${words//"URL|ID|KEY"/URL}")"
        fi
        if [[ $words == *'ID|KEY'* ]]; then
            request PUT /v1/entries/entity:example/User:7 --data '{"id":7}'
            words_of_key=${words//"URL|ID|KEY"/KEY}
            run_command "$(sample "${words_of_key//"ID|KEY"/KEY}")"
        fi
        run_command "$(sample "$words")"
    done < <(first_cell "$row" | spans | sed --quiet 's/^cachectl //p')
done < <(section cachectl)

end_daemon TERM
finish
