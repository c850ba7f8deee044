#!/usr/bin/env bash
# Who watches hears of every change, whatever happens to it and to the daemon: the watcher is
# stopped and goes on, the daemon ends in order and is killed, cache.db is deleted.
# `await` calls functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

configure </dev/null
start_daemon

# watch FILE PARAMETER...: a stream into the file, in the background; its process in `watching`.
watch() {
    local file=$1
    shift
    local options=()
    for parameter; do options+=(--data-urlencode "$parameter"); done
    curl --silent --unix-socket "$socket" --get --no-buffer --header 'Accept: application/jsonl' "${options[@]}" \
        --output "$file" http://larder/v1/watch &
    watching=$!
}
# poll SINCE: what has changed since, in `poll`; the status in `status`.
poll() {
    request GET "/v1/watch?since=$1&timeout=0ms"
    poll=$(jq --raw-output '.events[]? | "\(.type) \(.id)"' "$work/body" | xargs)
}
put() {
    request PUT "$(entry "$1")" --data-binary "$2"
    rev=$(header Larder-Rev)
}
has() { grep --quiet "$2" "$1"; }

# -- live

watch "$work/live" prefix=note:
await 60 has "$work/live" bookmark || not_ok "a watch says where it begins" bookmark "nothing"
put note:1 one
first=$rev
put other two
put note:1 three
request DELETE "$(entry note:1)"
await 60 has "$work/live" '"delete"' || not_ok "a watch hears of changes" delete "$(<"$work/live")"
expect_equal "it hears of what it asked for, in order" "bookmark put put delete" \
    "$(jq --raw-output .type "$work/live" | xargs)"
expect_equal "what is behind the last revision is told on the way back" \
    "put other put note:1 delete note:1" "$(poll "$first" && echo "$poll")"

# -- a watcher that is stopped

watch "$work/stopped" prefix=many:
stopped=$watching
await 60 has "$work/stopped" bookmark || not_ok "another watch begins" bookmark "nothing"
kill -STOP "$stopped"
# put_many TURN: 401 entries in one go; the last is many:last.
put_many() {
    for ((i = 0; i <= 400; i++)); do
        ((i == 0)) || echo next
        name=$i
        ((i < 400)) || name=last
        # `next` forgets every option.
        printf 'silent\nfail\nunix-socket="%s"\nurl=http://larder/v1/entries/many%%3A%s\n' "$socket" "$name"
        printf 'request=PUT\ndata-binary=%d\noutput=/dev/null\n' "$1"
    done | curl --config - || not_ok "entries are put" 0 "$?"
}
put_many 0
put_many 1
kill -CONT "$stopped"
is_told() { has "$work/stopped" '"many:last"' || has "$work/stopped" '"lagged"'; }
await 120 is_told || not_ok "a watcher goes on where it was stopped" "the last, or lagged" "none"
counted() {
    jq --slurp '[.[] | select(.type == "put") | .coalesced // 1] | add' "$work/stopped"
}
all_or_lagged() { [[ $(counted) == 802 ]] || has "$work/stopped" '"lagged"'; }
await 120 all_or_lagged || true
expect_equal "it hears of every change, or of several as one, or that it lagged" yes \
    "$(if all_or_lagged; then echo yes; else counted; fi)"
expect_equal "in the order of the revisions" sorted \
    "$(jq .rev "$work/stopped" | sort --numeric-sort --check && echo sorted)"

# -- the daemon's ends

put before-end 1
since=$rev
watch "$work/ended" "since=$since"
await 60 has "$work/ended" bookmark || not_ok "a watch of what comes" bookmark "nothing"
put at-end 1
end_daemon TERM
expect_equal "SIGTERM ends the daemon with status 0" 0 "$ended"
wait "$watching"
expect_equal "the stream ends with its end" "bookmark put end" \
    "$(jq --raw-output .type "$work/ended" | xargs)"
start_daemon
put after-end 1
poll "$since"
expect_equal "after a start in order the log goes on" "put at-end put after-end" "$poll"
end_daemon KILL
start_daemon
put after-kill 1
poll "$since"
expect_equal "and after kill -9" "put at-end put after-end put after-kill" "$poll"
last=$rev

# -- a lost cache.db

end_daemon TERM
rm "$work/cache/cache.db"
start_daemon
poll "$last"
expect_equal "without its cache.db an older since is gone" "410 urn:larder:since-too-old" \
    "$status $(member .type)"
oldest=$(member .oldest)
put anew 1
poll "$oldest"
expect_equal "and from the oldest one on it goes on" "200 put anew" "$status $poll"

# -- cachectl

"$bin/cachectl" --socket "$socket" watch --since "$oldest" --json >"$work/printed" &
printing=$!
await 60 has "$work/printed" '"id":"anew"' || not_ok "cachectl watch prints" anew "nothing"
end_daemon TERM
start_daemon
put again 1
await 120 has "$work/printed" '"id":"again"' \
    || not_ok "cachectl watch goes on after a start" again "$(<"$work/printed")"
kill "$printing"
expect_equal "each change is printed once" "anew again" \
    "$(jq --raw-output 'select(.type == "put") | .id' "$work/printed" | xargs)"
finish
