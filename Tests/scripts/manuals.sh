#!/usr/bin/env bash
# The examples of the man pages, as packaging/manuals writes them: each runs as it stands, against the
# real daemon, and ends with 0. Replaced are only the server https://api.example.com, the path of the
# socket and the id of a write. A page without an example is on the list below.
# `await` calls a function by its name.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

NO_EXAMPLE="larder.yaml.5"
bin=$(realpath "$bin")
packaging/manuals "$bin" "$work/manuals" 2020-01-02 1.2.3 || give_up "the pages are written" 0 "$?"
PATH=$bin:$PATH
export LARDER_SOCKET=$socket
cd "$work" || exit 1

# No user is removed, and no unit of this machine is asked.
userdel() { [[ $* == "--remove anna" ]]; }
systemctl() { false; }
export -f userdel systemctl

configure <<<''
# shellcheck disable=SC2119
start_origin
start_daemon

# examples PAGE: the commands of a page, one a line.
examples() {
    sed 's/\\-/-/g; s/\\(ti/~/g; s/\\(ha/^/g; s/\\e/\\/g' "$work/manuals/$1" |
        sed -n -e 's/^Example: \(.*cachectl.*\)/\1/p' -e 's/^ *\(\(curl\|larderd\) --.*\)/\1/p'
}

# run EXAMPLE: its exit code in `code`, what it prints in the file `out`.
run() {
    code=0
    timeout 50 bash -o pipefail -c "$1" >"$work/out" 2>&1 <<<"Bearer token" || code=$?
}

has_state() { [[ $(api "http://larder/v1/modifiers/$write" | jq --raw-output .state) == "$1" ]]; }

# add_write MORE: a write with the id in `write`.
count=0
add_write() {
    write=write-$((count += 1))
    api --output "$work/body" http://larder/v1/modifiers --json \
        '{"id":"'"$write"'",'"$1"'"changes":[{"target":{"id":"'"$origin"'/articles/42"},
            "effect":{"type":"merge","value":{"liked":true}}}]}'
}

# What has to be there before the example of a page.
prepare() {
    write=
    case $1 in
        cachectl-origin.1 | cachectl-origin-add.1) cachectl origin rm api ;;
        cachectl-origin-logout.1) cachectl origin login api <<<"Bearer token" ;;
        cachectl-inspect.1) cachectl get "$origin/articles/42" ;;
        cachectl-rm.1) cachectl put clock <<<now ;;
        cachectl-unpin.1) cachectl pin "$origin/articles/42" ;;
        cachectl-queue-show.1 | cachectl-queue-cancel.1 | cachectl-queue-edit.1)
            add_write '"hold":"1h",'
            jq --null-input --compact-output --arg id "$origin/articles/42" \
                '{changes: [{target: {$id}, effect: {type: "merge", value: {liked: false}}}]}' >write.json
            ;;
        cachectl-queue-retry.1 | cachectl-queue-drop.1)
            control '{"prefix": "/articles", "method": "PATCH", "times": 1, "status": 422}'
            add_write ''
            await 60 has_state failed || give_up "a write fails" failed "$(<"$work/body")"
            ;;
    esac >"$work/prepared" 2>&1
}

# The origin and its document are the same before each example, and no write waits.
tidy() {
    [[ -z $write ]] || cachectl queue cancel "$write"
    at_origin PUT /articles/42 --data '{"title": "Example"}'
    at_origin PUT /v1/health --data '{}'
    cachectl origin add api "$origin" --allow-private --replace
    cachectl origin online api
    cachectl origin logout api
} >"$work/tidied" 2>&1

# here: an example with the server, the socket and the write of this run.
here() {
    case $1 in
        *"origin add "*) cat ;;
        *) sed "s|https://api.example.com|$origin|; s|/run/larder/api.sock|$socket|; s|01JD2Q4W6Z0*|$write|" ;;
    esac <<<"$1"
}

# A watch ends when it is interrupted.
watch_example() {
    env --default-signal=INT bash -c "exec $1" >"$work/out" 2>&1 &
    local watch=$!
    changes() {
        at_origin PUT /articles/42 --data '{"title": "'"$RANDOM"'"}'
        cachectl get --quiet "$origin/articles/42" >"$work/got"
        grep --quiet '"type":"put"' "$work/out"
    }
    await 60 changes || not_ok "the watch tells of a change" "an event" "$(<"$work/out")"
    kill -INT "$watch"
    code=0
    wait "$watch" || code=$?
}

write=
seen=0
for page in "$work"/manuals/*; do
    page=${page##*/}
    mapfile -t lines < <(examples "$page")
    if [[ " $NO_EXAMPLE " == *" $page "* ]]; then
        expect_equal "$page has no example" 0 "${#lines[@]}"
        continue
    fi
    ((${#lines[@]} > 0)) || not_ok "$page has an example" "a command" "none"
    [[ $page != larderd.8 ]] || continue
    for line in "${lines[@]}"; do
        tidy
        prepare "$page"
        command=$(here "$line")
        expected=0
        if [[ $page == cachectl-watch.1 ]]; then
            # Ended by SIGINT, as any command.
            expected=130
            watch_example "$command"
        else
            run "$command"
        fi
        expect_equal "$page: $line" "$expected" \
            "$code$( ((code == expected)) || printf ' %s' "$(<"$work/out")")"
        seen=$((seen + 1))
    done
done
expect_equal "each page of cachectl was run (S2)" \
    "$(find "$work/manuals" -name 'cachectl*' | wc -l)" "$((seen - 1))"

# The page of larderd starts a daemon, and asks it.
end_daemon TERM
mapfile -t lines < <(examples larderd.8)
expect_equal "larderd.8 starts a daemon and asks it (S2)" 2 "${#lines[@]}"
bash -c "exec ${lines[0]}" 2>>"$work/larderd.log" &
daemon=$!
await 60 is_ready || not_ok "larderd.8: ${lines[0]}" "it is ready" "$(tail -n 5 "$work/larderd.log")"
run "${lines[1]/SOCKET/$socket}"
expect_match "larderd.8: ${lines[1]}" '^0\|.*"version"' "$code|$(<"$work/out")"
end_daemon TERM
expect_equal "larderd.8: ${lines[0]} ends in order" 0 "$ended"
finish
