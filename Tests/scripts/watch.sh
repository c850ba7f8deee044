#!/usr/bin/env bash
# Who watches hears of every change, whatever happens to it and to the daemon: the watcher is
# stopped and goes on, the daemon ends in order and is killed, cache.db is deleted (P-12).
# `await` calls functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/modifiers.sh
source Tests/scripts/modifiers.sh

# shellcheck disable=SC2119
start_origin --close
configure <<END
origins:
  local: {base_url: "$origin", allow_private: true}
END
start_daemon

# watch FILE [PARAMETER...] [-- curl's options]: a stream into the file, in the background; its
# process in `watching`.
watch() {
    local file=$1 options=()
    shift
    while (($# > 0)) && [[ $1 != -- ]]; do
        options+=(--data-urlencode "$1")
        shift
    done
    shift $(($# > 0))
    curl --silent --unix-socket "$socket" --get --no-buffer \
        --header 'Accept: application/jsonl' "${options[@]}" "$@" --output "$file" \
        http://larder/v1/watch &
    watching=$!
}
# begins FILE: it has its first frame.
begins() {
    await 60 has "$1" '"type":' || give_up "a watch says where it begins" "a frame" "nothing"
}
# A watch that is a long poll.
document='Accept: application/json'
# poll SINCE: what has changed since, in `poll`; the status in `status`.
poll() {
    request GET "/v1/watch?since=$1&timeout=0ms" --header "$document"
    poll=$(jq --raw-output '.items[]? | "\(.type) \(.id)"' "$work/body" | xargs)
}
put() {
    local id=$1 data=$2
    shift 2
    request PUT "$(entry "$id")" --data-binary "$data" "$@"
    rev=$(header Larder-Rev)
}
has() { grep --quiet "$2" "$1"; }
types() { jq --raw-output 'select(.type != "heartbeat").type' "$1" | xargs; }
memory() { awk '/^VmRSS/ { print $2 }' "/proc/$daemon/status"; }

# -- live

watch "$work/live" prefix=note: -- --header 'Larder-Client: reader'
begins "$work/live"
put note:1 one
first=$rev
put other two
put note:1 three --header 'Larder-Client: reader'
request DELETE "$(entry note:1)" --header 'Larder-Client: another'
await 60 has "$work/live" '"delete"' || not_ok "a watch hears of changes" delete "$(<"$work/live")"
expect_equal "it hears of what it asked for, in order, and what is its own" \
    "bookmark put put self delete" \
    "$(jq --raw-output '.type, if .self then "self" else empty end' "$work/live" | xargs)"
expect_equal "what is behind the last revision is told on the way back" \
    "put other put note:1 delete note:1" "$(poll "$first" && echo "$poll")"

watch "$work/all" prefix=note: prefix=other initial=1 heartbeat=1s
await 60 has "$work/all" initial_done || not_ok "the entries that there are come" all none
expect_equal "the entries that there are come first" "put other true bookmark" \
    "$(jq --raw-output 'select(.type == "put" or .initial_done)
        | .type, .id // empty, .initial // empty' "$work/all" | xargs)"
await 60 has "$work/all" '"heartbeat"' || not_ok "a quiet stream has heartbeats" heartbeat none
kill "$watching"
expect_equal "every line of it parses" "$(wc -l <"$work/all")" \
    "$(jq --raw-input 'fromjson.type' "$work/all" | wc -l)"

# -- long poll

request GET "/v1/watch?timeout=0ms" --header "$document"
now=$(member .rev)
api --header "$document" "http://larder/v1/watch?since=$now&timeout=45s" >"$work/polled" &
polling=$!
put note:2 one
wait "$polling"
expect_equal "a long poll is answered by the first change" "put note:2 $rev" \
    "$(jq --raw-output '[.items[0].type, .items[0].id, .rev] | join(" ")' "$work/polled")"
expect_equal "and by nothing when the time is over" "200 $rev []" \
    "$(request GET "/v1/watch?since=$rev&timeout=1ms" --header "$document" && echo "$status $(member '.rev, .items' \
        | xargs)")"
request GET "/v1/watch?since=999999999&timeout=0ms" --header "$document"
expect_equal "a revision that was never given is gone" "410 urn:larder:since-too-old" \
    "$status $(member .type)"
request GET "/v1/watch?since=$first&timeout=0ms" --header "$document" \
    --header "Last-Event-ID: $now"
expect_equal "what a browser has seen last counts before where it began" "put note:2" \
    "$(jq --raw-output '.items[] | "\(.type) \(.id)"' "$work/body" | xargs)"
curl --silent --max-time 60 --unix-socket "$socket" --no-buffer \
    --header 'Accept: text/event-stream' "http://larder/v1/watch?since=$now" >"$work/sse" &
watching=$!
await 60 has "$work/sse" "^id: $rev" || not_ok "an event has its revision as id" "$rev" \
    "$(<"$work/sse")"
kill "$watching"

# -- writes

store /1 '{"liked":false}'
fetch "$origin/1"
control '{"prefix": "/1", "method": "PATCH", "times": 1, "does": "hold", "status": 422}'
watch "$work/writes" "id=$origin/1" types=put,delete,modifier
begins "$work/writes"
api --get --data-urlencode "url=$origin/1" --data follow=true --data policy=cache-only \
    --no-buffer --output "$work/follow" http://larder/v1/fetch &
await 60 has "$work/follow" '"liked":false' || not_ok "a follower sees the entry" false nothing
merge one /1 '{"liked":true}'
await 60 has "$work/follow" '"liked":true' || not_ok "a follower sees a write" true nothing
arrives "it is sent" 1
release answer >/dev/null
await 60 has "$work/writes" '"failed"' || not_ok "a refusal is told" failed "$(<"$work/writes")"
reverts() { (($(grep --count '"liked":false' "$work/follow") >= 2)); }
await 60 reverts || not_ok "a follower sees the revert" false "$(<"$work/follow")"
expect_equal "a follower sees what shows, and nothing between" "false true false" \
    "$(jq --raw-output 'select(.type == "snapshot").entry.body.liked' "$work/follow" | xargs)"
expect_equal "a watcher hears what shows, and what became of the write" \
    "put modifier queued put modifier failed 422" \
    "$(jq --raw-output 'select(.type | IN("bookmark", "heartbeat") | not) | .type, .state // empty,
        .problem.origin_status // empty' "$work/writes" | xargs)"
expect_equal "and which views it is no part of any more" "$origin/1" \
    "$(jq --raw-output 'select(.state == "failed").reverted[].id' "$work/writes")"
expect_equal "the view and its modifier are one step" "queued failed" \
    "$(jq --raw-output --slurp '[.[] | select(.type | IN("bookmark", "heartbeat") | not)] | . as $all
        | range(0; length; 2) | select($all[.].rev == $all[. + 1].rev and $all[.].more)
        | $all[. + 1].state' "$work/writes" | xargs)"

# -- a watcher that is stopped

# put_many PREFIX COUNT VALUE: so many entries in one go, and PREFIXlast.
put_many() {
    awk -v prefix="$1" -v count="$2" -v value="$3" -v socket="$socket" 'BEGIN {
        for (i = 0; i <= count; i++) {
            # `next` forgets every option.
            if (i) print "next"
            print "silent\nfail\nunix-socket=\"" socket "\"\nrequest=PUT\noutput=/dev/null"
            print "url=http://larder/v1/entries/" prefix "%3A" (i < count ? i : "last")
            print "data-binary=" value
        } }' | curl --config - || not_ok "entries are put" 0 "$?"
}
counted() {
    jq --slurp '[.[] | select(.type == "put") | .coalesced // 1] | add' "$1"
}
in_order() {
    jq .rev "$1" | sort --numeric-sort --check && echo sorted
}

watch "$work/stopped" prefix=again:
begins "$work/stopped"
kill -STOP "$watching"
put_many again 400 0
put_many again 400 1
kill -CONT "$watching"
all_are_told() { [[ $(counted "$work/stopped") == 802 ]] || has "$work/stopped" '"lagged"'; }
await 120 all_are_told || true
expect_equal "it hears of every change, or of several as one, or that it lagged" yes \
    "$(if all_are_told; then echo yes; else counted "$work/stopped"; fi)"
expect_equal "in the order of the revisions" sorted "$(in_order "$work/stopped")"
kill "$watching"

watch "$work/lagged" prefix=many:
begins "$work/lagged"
kill -STOP "$watching"
before=$(memory)
# More than sockets hold, and what waits for a watcher.
put_many many 6000 0
after=$(memory)
kill -CONT "$watching"
wait "$watching"
expect_equal "who reads nothing is told that it lagged" lagged \
    "$(jq --raw-output .type "$work/lagged" | tail -n 1)"
expect_at_most "meanwhile the daemon keeps little of it (KiB)" $((before + 65536)) "$after"
watch "$work/healed" prefix=many: \
    "since=$(jq 'select(.type == "lagged").dropped_after' "$work/lagged")"
await 120 has "$work/healed" '"many:last"' || not_ok "it comes back" many:last "nothing"
kill "$watching"
expect_equal "coming back it hears of each of them, once" 6001 \
    "$(cat "$work/lagged" "$work/healed" | jq --raw-output 'select(.type == "put").id' \
        | sort | uniq --unique | wc -l)"

# -- the daemon's ends

put before-end 1
since=$rev
watch "$work/ended" "since=$since"
begins "$work/ended"
put at-end 1
end_daemon TERM
expect_equal "SIGTERM ends the daemon with status 0" 0 "$ended"
wait "$watching"
expect_equal "the stream ends with its end" "bookmark put end" "$(types "$work/ended")"
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
