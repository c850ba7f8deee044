#!/usr/bin/env bash
# Asks each route of schema/openapi.json with the document's own examples, and runs each subcommand
# of cachectl. docs/http-api.md names each of these routes, docs/cachectl.md each subcommand.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

document=schema/openapi.json

# target METHOD PATH: the request target, with the examples of its parameters.
target() {
    jq --raw-output --arg method "${1,,}" --arg path "$2" '
        .paths[$path] | ((.parameters // []) + (.[$method].parameters // [])) as $parameters
        | reduce ($parameters[] | select(.in == "path")) as $one
            ($path; sub("{\($one.name)}"; $one.example | tostring | @uri))
        | . + ([$parameters[] | select(.in == "query" and .required)
            | "\(.name)=\(.example | tostring | @uri)"] | if . == [] then "" else "?" + join("&") end)
        ' "$document"
}

# example_body METHOD PATH: the example of its body, or nothing.
example_body() {
    jq --compact-output --arg method "${1,,}" --arg path "$2" '
        .paths[$path][$method].requestBody.content["application/json"].example // empty' "$document"
}

# A variable of nginx.
# shellcheck disable=SC2016
configure_nginx <<<'        if ($request_method = OPTIONS) { return 204; }'
start_nginx
mkdir -p "$www/articles"
printf '{"title":"Larder"}\n' >"$www/articles/42"
printf '{"hello":"world"}\n' >"$www/hello.json"
# What the examples name: the origin `example` at another URL, and an entry of two accounts.
configure <<END
origins:
  example: {base_url: "$origin", allow_private: true, normalize: {by_type: true}}
  iso: {base_url: "$origin/iso", allow_private: true}
END
start_daemon
request PUT "$(entry notes/1)" --data-binary hello
request PUT "$(entry notes/1)?account=work" --data-binary hello

# -- routes

# A modifier that the server has refused, so that it can be read, sent again and dropped.
modifier=$(jq --compact-output --arg url "$origin/articles/42" '
    {id: .paths["/v1/modifiers/{modifier}"].parameters[0].example,
     changes: [{target: {id: $url}, effect: {type: "merge", value: {liked: true}}}]}' "$document")
encoded_origin=$(jq --raw-output --null-input --arg origin "$origin" '$origin | @uri')

while read -r method path; do
    target=$(target "$method" "$path" | sed "s|https%3A%2F%2Fapi.example.com|$encoded_origin|g")
    # It waits until there is an order.
    [[ $path != */renewal ]] || target+="?wait=0ms"
    # A DELETE before may have taken it away.
    [[ $path != */entries/"{id}"* ]] || request PUT "$(entry notes/1)" --data-binary hello
    # A PUT of a path above comes later.
    [[ "$method $path" != "PUT "*/credential ]] \
        || request PUT /v1/origins/files --header 'Content-Type: application/json' \
            --data '{"base_url":"https://files.example.com"}'
    [[ $path != */modifiers/"{modifier}"* ]] \
        || request POST "/v1/modifiers?wait=60s" --header 'Content-Type: application/json' \
            --data "$modifier"
    options=()
    # Without this header the daemon passes a write under /o/ on, which nginx does not take.
    [[ $path != /o/* || $method == @(GET|HEAD) ]] || options=(--header 'Prefer: respond-async')
    # A stream without an end: its status is enough.
    [[ $path != /v1/watch ]] || options=(--max-time 6)
    body=$(example_body "$method" "$path" | sed "s|https://api.example.com|$origin|g")
    if [[ -n $body ]]; then
        request "$method" "$target" "${options[@]}" --header 'Content-Type: application/json' \
            --data "$body" 2>/dev/null
    elif [[ $method == PUT && $path != /v1/pins/* ]]; then
        request "$method" "$target" "${options[@]}" --data-binary bytes
    else
        request "$method" "$target" "${options[@]}" 2>/dev/null
    fi
    expect_match "$method $path is answered" '^2' \
        "$status $(head -c 300 "$work/body" 2>/dev/null)"
    [[ ! -e docs/http-api.md || $method == HEAD ]] \
        || expect_match "docs/http-api.md names $path" yes \
            "$(grep --quiet --fixed-strings "$path" docs/http-api.md && echo yes)"
done < <(jq --raw-output '
    # A PUT makes what the others need; a DELETE takes it away. An entry is unpinned before its own.
    [.paths | to_entries[] | .key as $path | .value | keys[] | select(. != "parameters")
        | {path: $path, method: ascii_upcase}]
    | sort_by(.path) | reverse
    | sort_by(.method as $method
        | ["PUT", "POST", "GET", "HEAD", "PATCH", "DELETE", "OPTIONS"] | index($method))[]
    | "\(.method) \(.path)"' "$document")

# -- subcommands

# subcommands WORDS: those that the help lists.
subcommands() {
    "$bin/cachectl" "$@" --help \
        | awk '/^SUBCOMMANDS:/ { inside = 1; next } /^$|^[^ ]/ { inside = 0 }
            inside && /^  [a-z]/ { print $1 }'
}

# The modifier that `queue` works on: the origin refuses it, so it can be retried and dropped.
refused() {
    request POST "/v1/modifiers?wait=60s" --header 'Content-Type: application/json' \
        --data "{\"id\":\"like\",\"changes\":[{\"target\":{\"id\":\"$origin/articles/42\"},
            \"effect\":{\"type\":\"merge\",\"value\":{\"liked\":true}}}]}"
}

# A modifier that waits, so that it can be cancelled.
waiting() {
    request POST /v1/modifiers --header 'Content-Type: application/json' \
        --data "{\"id\":\"later\",\"hold\":\"1h\",\"changes\":[{\"target\":
            {\"id\":\"$origin/articles/42\"},\"effect\":{\"type\":\"merge\",\"value\":{\"a\":1}}}]}"
}

# check WORDS: the daemon has what a subcommand needs, and it ends with 0; two may end with 1.
check() {
    local code=0
    request PUT "$(entry notes/1)" --data-binary hello
    "$bin/cachectl" --socket "$socket" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
    expect_match "cachectl $*" '^(0|1 doctor|1 status)' "$code ${1:-} $(head -n 2 "$work/err")"
    checked+=("$1")
    [[ $1 != @(queue|origin) ]] || checked+=("$1 $2")
}

checked=()
check status
check get "$origin/hello.json"
check get notes/1
request PUT /v1/entries/entity:example/User:7 --data '{"id":7}'
check get User:7
check put notes/2 "$www/hello.json" --type application/json
check rm notes/1
check ls notes
check ls --type User
check inspect notes/1
check inspect User:7 --explain
check evict --all --dry-run
check purge --uid 64999 --yes
check pin notes/1
check pin --list
check unpin notes/1
check prefetch week "$origin/hello.json"
check prefetch --remove week
refused
check queue list
check queue show like
printf '{"changes":[{"target":{"id":"%s/articles/42"},"effect":{"type":"merge","value":{"b":1}}}]}' \
    "$origin" >"$work/write.json"
check queue edit like --file "$work/write.json"
check queue retry like
check queue wait --timeout 60s
check queue drop like
waiting
check queue cancel later
check queue pause name:cart
check queue resume name:cart
check watch --initial --count 1
check df -v
check doctor --config "$config"
printf 'Bearer token\n' >"$work/token"
check origin login example --file "$work/token"
check origin logout example
check origin list
check origin add photos "$origin/photos"
check origin check photos
check origin offline photos
check origin online photos
check origin rm photos
check stats
check reload

expected=$(for command in $(subcommands); do
    printf '%s\n' "$command"
    subcommands "$command" | sed "s/^/$command /"
done | sort)
expect_equal "each subcommand was run" "$expected" "$(printf '%s\n' "${checked[@]}" | sort --unique)"
[[ ! -e docs/cachectl.md ]] || while IFS= read -r command; do
    expect_match "docs/cachectl.md names cachectl $command" yes \
        "$(grep --quiet --fixed-strings "cachectl $command" docs/cachectl.md && echo yes)"
done <<<"$expected"

end_daemon TERM
finish
