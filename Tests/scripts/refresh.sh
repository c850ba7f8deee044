#!/usr/bin/env bash
# Entries that are refreshed: the log of the origin shows how often it is asked with 0, 1 and 50
# followers, after the last one has left, for a pin without a client, under Retry-After, over an
# outage and while the origin is set offline. Another origin on the same server is asked once a second
# all the time: its lines in the log are the clock of this script. The test of a suspend of an hour is
# in RefreshTests.swift, as it needs a clock that a test can move.
# `await` calls functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

mkdir -p "$www/clock" "$www/data"
printf '{"tick":1}\n' >"$www/clock/tick.json"
printf '{"n":1}\n' >"$www/data/a.json"
printf '{"n":1}\n' >"$www/data/b.json"
configure_nginx <<END
        location = /data/b.json {
            if (-f $work/busy) {
                add_header Retry-After 6 always;
                return 429;
            }
        }
END
start_nginx
configure <<END
origins:
  clock: {base_url: "$origin/clock", allow_private: true, fetch: {ttl: 1d, min_refresh: 1s}}
  data: {base_url: "$origin/data", allow_private: true, fetch: {ttl: 1d, min_refresh: 1s}}
END
start_daemon

# polls PATH [STATUS]: the lines of nginx's own log.
polls() {
    grep --count "\"GET $1 HTTP/1.1\" ${2:-}" "$work/nginx/access.log"
}
has_polls() {
    (($(polls "$1" "${3:-}") >= $2))
}
# Waits until the clock has gone on by so many requests, of about a second each.
ticks() {
    local from
    from=$(polls /clock/tick.json)
    await 120 has_polls /clock/tick.json $((from + $1)) || not_ok "the clock goes on" "$1 ticks" none
}
# What the daemon says of a row: its interval and what pauses it.
refresh_of() {
    api "http://larder$(entry "$origin/data/$1")/explain" \
        | jq --raw-output '"\(.refresh) \(.refresh_paused_by)"'
}
says() {
    [[ $(refresh_of "$1") == "$2" ]]
}
# Whether no request for a row is planned.
has_no_next() {
    [[ $(api "http://larder$(entry "$origin/data/$1")/explain" | jq .next_refresh_at) == null ]]
}
# In the background only: the process is curl's, so that it can be killed.
follow() {
    exec curl --silent --max-time 300 --unix-socket "$socket" --get --no-buffer \
        --data-urlencode "url=$origin/$1" --data follow=true --data refresh=1s \
        --data heartbeat=1s --data policy=cache-first --output "$2" http://larder/v1/fetch
}
has_view() {
    grep --quiet snapshot "$1"
}

follow clock/tick.json "$work/tick" &
await 60 has_view "$work/tick" || give_up "the clock goes" snapshot none

# -- the limits

fetch "$origin/data/a.json" --data follow=true --data refresh=999ms
expect_equal "an interval below min_refresh is refused (S38)" \
    "400 refresh: '999ms' is not within 1s to 30d" "$status $(member .detail)"
fetch "$origin/data/a.json" --data refresh=10s
expect_equal "so is one without follow (S38)" 400 "$status"
request PUT "/v1/pins/$(jq --raw-output --null-input --arg id "$origin/data/a.json" '$id | @uri')?refresh=31d"
expect_equal "so is one above 30 days (S38)" \
    "400 refresh: '31d' is not within 1s to 30d" "$status $(member .detail)"

# -- followers

fetch "$origin/data/a.json"
ticks 3
expect_equal "without a follower an entry is not asked for again (S39)" 1 "$(polls /data/a.json)"

follow data/a.json "$work/follower" &
first=$!
await 60 says a.json "1s null" || not_ok "explain says the interval (S41)" "1s null" "$(refresh_of a.json)"
from=$(polls /data/a.json)
ticks 5
polled=$(($(polls /data/a.json) - from))
expect_match "one follower has it asked for about once a second (S39)" '^[3-7]$' "$polled"
# The first fetch is the only request that had nothing to confirm.
expect_equal "each poll is conditional (S40)" 1 "$(polls /data/a.json 200)"
expect_equal "the follower has one snapshot and heartbeats (S40)" "heartbeat snapshot" \
    "$(jq --raw-output .type "$work/follower" | sort --unique | xargs)"

followers=("$first")
for number in {2..50}; do
    follow data/a.json "$work/follower.$number" &
    followers+=($!)
done
for number in {2..50}; do
    await 60 has_view "$work/follower.$number" || not_ok "follower $number has a view" snapshot none
done
"$bin/cachectl" --socket "$socket" get --follow --refresh 1s --policy cache-first \
    "$origin/data/a.json" >"$work/printed" 2>"$work/err" &
followers+=($!)
await 60 test -s "$work/printed" || not_ok "cachectl get --follow prints the body" "a body" none
from=$(polls /data/a.json)
ticks 5
expect_match "50 followers cause as many polls as one (S39)" '^[3-7]$' \
    "$(($(polls /data/a.json) - from))"
printf '{"n":22}\n' >"$www/data/a.json"
for number in {2..50}; do
    await 60 grep --quiet '"n":22' "$work/follower.$number" \
        || not_ok "follower $number sees the new answer" '{"n":22}' none
done
await 60 grep --quiet 22 "$work/printed" || not_ok "so does cachectl" 22 "$(cat "$work/printed")"
kill "${followers[@]}"
await 60 says a.json "null null" || not_ok "the last follower's end stops it" null "$(refresh_of a.json)"
# A poll may be on its way.
ticks 1
from=$(polls /data/a.json)
ticks 3
expect_equal "after the last follower no poll leaves (S39)" "$from" "$(polls /data/a.json)"

# -- a pin, over a restart

"$bin/cachectl" --socket "$socket" pin --refresh 1s "$origin/data/b.json" 2>"$work/err"
expect_equal "cachectl pin takes an interval" 0 "$?"
await 60 has_polls /data/b.json 3 || not_ok "a pin needs no client (S39)" "3 polls" "$(polls /data/b.json)"
end_daemon KILL
start_daemon
follow clock/tick.json "$work/tick.2" &
from=$(polls /data/b.json)
await 60 has_polls /data/b.json $((from + 3)) \
    || not_ok "it goes on after a restart (S39)" "3 polls" "$(polls /data/b.json)"
expect_equal "cachectl pin --list shows the interval (S41)" "1s -" \
    "$("$bin/cachectl" --socket "$socket" pin --list | cut --fields 6,8 | tr '\t' ' ')"

# -- Retry-After

touch "$work/busy"
await 60 says b.json "1s retry_after" \
    || not_ok "Retry-After pauses it (S41)" "1s retry_after" "$(refresh_of b.json)"
nginx_has_logged
expect_equal "after one refusal (S41)" 1 "$(polls /data/b.json 429)"
ticks 3
expect_equal "no poll leaves meanwhile (S41)" 1 "$(polls /data/b.json 429)"
rm "$work/busy"
from=$(polls /data/b.json)
await 60 has_polls /data/b.json $((from + 2)) \
    || not_ok "it is asked again after that time (S41)" "2 polls" "$(polls /data/b.json)"

# -- an outage: the process of the server ends, and another one begins

stop_nginx
await 60 says b.json "1s offline" \
    || not_ok "an outage pauses it (S41)" "1s offline" "$(refresh_of b.json)"
await 60 has_no_next b.json || not_ok "no poll is planned meanwhile (S41)" null "a time"
from=$(polls /data/b.json)
start_nginx
await 120 has_polls /data/b.json $((from + 2)) \
    || not_ok "polls go on when the server is back (S41)" "2 polls" "$(polls /data/b.json)"
# The clock had stopped, too.
ticks 2
from=$(polls /data/b.json)
ticks 5
expect_match "the server is asked as often as before the outage (S41)" '^[3-7]$' \
    "$(($(polls /data/b.json) - from))"

# -- offline

"$bin/cachectl" --socket "$socket" origin offline data 2>"$work/err"
expect_equal "the origin is set offline" 0 "$?"
await 60 says b.json "1s set_offline" \
    || not_ok "that pauses it (S41)" "1s set_offline" "$(refresh_of b.json)"
ticks 1
from=$(polls /data/b.json)
ticks 4
expect_equal "no poll leaves while an origin is set offline (S41)" "$from" "$(polls /data/b.json)"
"$bin/cachectl" --socket "$socket" origin online data 2>"$work/err"
await 60 has_polls /data/b.json $((from + 2)) \
    || not_ok "polls go on when it is online (S41)" "2 polls" "$(polls /data/b.json)"
"$bin/cachectl" --socket "$socket" unpin "$origin/data/b.json" 2>"$work/err"
from=$(polls /data/b.json)
ticks 3
expect_at_most "after unpin no poll leaves (S39)" $((from + 1)) "$(polls /data/b.json)"

end_daemon TERM
expect_equal "the daemon ends in order" 0 "$ended"
finish
