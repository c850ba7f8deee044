#!/usr/bin/env bash
# Pins outlive everything: kill -9, the loss of cache.db, and an origin that is away.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

printf '{"title":"kept"}' >"$www/kept.json"
printf '{"title":"later"}' >"$www/later.json"
head --bytes 50000000 /dev/urandom >"$work/large"

configure_nginx </dev/null
start_nginx
configure <<END
cache: {max_bytes: 128MiB}
origins:
  local: {base_url: "$origin", allow_private: true}
END
start_daemon

pin() {
    printf '/v1/pins/%s' "$(jq --raw-output --null-input --arg id "$1" '$id | @uri')"
}

state_of() {
    api http://larder/v1/pins | jq --raw-output --arg id "$1" '.items[] | select(.id == $id).state'
}

is_held() {
    [[ $(state_of "$1") == held ]]
}

# Pinned while cached, and a large blob in one with its put

kept=$origin/kept.json
fetch "$kept"
request PUT "$(pin "$kept")"
expect_equal "what is cached is pinned" 201 "$status"
request PUT "$(pin "$kept")"
expect_equal "it is pinned already" 204 "$status"
request PUT "/v1/entries/large?pin=true" --upload-file "$work/large"
expect_equal "50 MB are stored and pinned in one" 201 "$status"
memory=$(awk '/VmHWM/ { print $2 }' "/proc/$daemon/status")
expect_at_most "with no more memory than for a small one" 150000 "$memory"
expect_equal "the status counts both" 2 "$(status_of .pins.count)"

# kill -9, and no cache

end_daemon KILL
rm -f "$work"/cache/cache.db*
stop_nginx
start_daemon
request GET "$(entry "$kept")"
expect_same_file "a pinned entry outlives kill -9 and the cache" "$www/kept.json" "$work/body"
request GET /v1/entries/large
expect_same_file "so do 50 MB" "$work/large" "$work/body"
fetch "$kept"
expect_equal "it is served while the origin is away" \
    "snapshot cache stale;problem unreachable;end error" "$(outline)"
memory=$(awk '/VmHWM/ { print $2 }' "/proc/$daemon/status")
expect_at_most "it is read with bounded memory" 150000 "$memory"

# While the origin is away

later=$origin/later.json
request PUT "$(pin "$later")"
expect_equal "a pin of what is not cached waits" 202 "$status"
expect_equal "and says so" waiting "$(member .state)"
message=$("$bin/cachectl" --socket "$socket" pin --wait 100ms "$later" 2>&1)
expect_equal "cachectl pin exits 75 when it is not held in time" 75 "$?"
expect_match "and says what comes next" "cannot be reached.*as soon as its origin gives it" "$message"
end_daemon KILL
start_daemon
expect_equal "it waits after a restart" waiting "$(state_of "$later")"
start_nginx
await 60 is_held "$later" || not_ok "it is fetched when the origin is back" held "$(state_of "$later")"
request GET "$(entry "$later")"
expect_same_file "with its bytes" "$www/later.json" "$work/body"
"$bin/cachectl" --socket "$socket" pin "$later" 2>"$work/err"
expect_equal "cachectl pin is done with what is held" 0 "$?"
expect_equal "cachectl pin --list shows each" "held held held" \
    "$("$bin/cachectl" --socket "$socket" pin --list | cut -f 1 | paste --serial --delimiters ' ')"

# Back to the cache

request DELETE "$(entry "$kept")"
expect_equal "what is pinned is not deleted" 409 "$status"
"$bin/cachectl" --socket "$socket" unpin "$kept" 2>"$work/err"
expect_equal "it is unpinned" 0 "$?"
request GET "$(entry "$kept")"
expect_same_file "and is cached as before" "$www/kept.json" "$work/body"
request DELETE "$(pin "$kept")"
expect_equal "it is pinned no more" 404 "$status"
end_daemon TERM
expect_equal "the daemon ends in order" 0 "$ended"

finish
