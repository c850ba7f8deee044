#!/usr/bin/env bash
# Sets of entries that are fetched in advance, with nginx as the origin: the set is sized first, held
# over everything that happens to the cache, replaced and removed.
# `await` calls functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

mkdir -p "$www"/{large,plan,trip,gated,many,late}
for number in {1..3}; do
    head --bytes 4000000 /dev/urandom >"$www/large/$number"
    printf '{"plan":%d}\n' "$number" >"$www/plan/$number.json"
done
for number in {1..8}; do printf '{"trip":%d}\n' "$number" >"$www/trip/$number.json"; done
for number in {1..100}; do
    printf '{"number":%d}\n' "$number" | tee "$www/many/$number.json" >"$www/late/$number.json"
done
printf '{"new":1}\n' >"$www/gated/new.json"
# The first two locations answer 503 until a file is there.
configure_nginx <<END
        location /gated/ { if (!-f $work/gate.gated) { return 503; } }
        location /late/ { if (!-f $work/gate.late) { return 503; } }
        location /never/ { add_header Cache-Control no-store; return 200 "not to be stored"; }
END
start_nginx
configure <<END
pins: {max_bytes: 8MiB}
origins:
  local: {base_url: "$origin", allow_private: true}
END
start_daemon

ctl() {
    "$bin/cachectl" --socket "$socket" "$@" 2>"$work/err"
}
# asked METHOD PATH [STATUS]: lines of nginx's own log; the path is the beginning of one.
asked() {
    grep --count "\"$1 $2[^ ]* HTTP/1.1\" ${3:-}" "$work/nginx/access.log"
}
has_asked() {
    (($(asked "$1" "$2" 200) >= $3))
}
# put SET PATH...: the set has these paths of the origin; as `request`.
put() {
    local set=$1
    shift
    urls "$@" | jq --raw-input --null-input '{items: [inputs | {url: .}]}' >"$work/set.json"
    request PUT "/v1/prefetch/$set" --json "@$work/set.json"
}
urls() {
    printf "$origin/%s\n" "$@"
}
# What the daemon says of a set, by a filter of jq.
set_of() {
    api "http://larder/v1/prefetch/$1" | jq --raw-output "$2"
}
is() { [[ $(set_of "$1" .state) == "$2" ]]; }
# The pins that a set keeps, as paths at the origin.
kept_by() {
    api 'http://larder/v1/pins?limit=1000' | jq --raw-output --arg set "prefetch:$1" \
        '.items[] | select(.kept_by | index([$set])).id' | sed "s|$origin/||" | sort | xargs
}
keeps() {
    [[ $(kept_by "$1") == "$2" ]]
}
# The given files are answered, byte for byte, without the network.
expect_cached() {
    local name=$1 path wrong=''
    shift
    for path in "$@"; do
        ctl get --quiet --policy cache-only "$origin/$path" >"$work/out"
        cmp --silent "$work/out" "$www/$path" || wrong+=" $path"
    done
    expect_equal "$name" '' "$wrong"
}

# -- the size comes first

put large large/{1,2,3}
expect_equal "a set larger than the room for pins is refused (S42)" "507 urn:larder:pins-full" \
    "$status $(member .type)"
expect_equal "the refusal has the bytes that are needed and those that are free (S42)" "true 7549748" \
    "$(member '"\(.needed_bytes >= 12000000 and .needed_bytes < 12010000) \(.free_bytes)"')"
await 60 has_asked HEAD /large/ 3
expect_equal "the origin got three HEAD requests for it and no GET (S42)" "3 0" \
    "$(asked HEAD /large/) $(asked GET /large/)"
mapfile -t list < <(urls plan/{1,2,3}.json)
planned=$(ctl prefetch plan --dry-run "${list[@]}" --json)
expect_equal "cachectl prefetch --dry-run tells the sizes (S42)" "0 planned 3 33 0" \
    "$? $(jq --raw-output '"\(.state) \(.items) \(.estimated_bytes) \(.unknown_sizes)"' <<<"$planned")"
expect_equal "neither the dry run nor the refusal makes a set or a pin (S42)" '[] []' \
    "$(api http://larder/v1/prefetch http://larder/v1/pins | jq .items --compact-output | xargs)"
expect_equal "a dry run fetches no body (S42)" 0 "$(asked GET /plan/)"

# -- a set is held

trip=(trip/{1,2,3,4,5}.json)
mapfile -t list < <(urls "${trip[@]}")
line=$(ctl prefetch trip "${list[@]}")
expect_equal "cachectl prefetch is done when all is held (S43)" "0 ready 5 5 55 - trip" \
    "$? $(tr '\t' ' ' <<<"$line")"
ctl prefetch plan - < <(urls plan/{1,2,3}.json) >"$work/out"
expect_equal "cachectl prefetch takes the URLs of stdin (S45)" "0 ready" "$? $(cut --fields 1 "$work/out")"
ctl evict --all --yes >"$work/out"
expect_cached "it leaves the entries of sets (S43)" "${trip[@]}" plan/{1,2,3}.json
end_daemon KILL
rm -f "$work"/cache/cache.db*
stop_nginx
start_daemon
expect_cached "they outlive kill -9 and the cache, without the origin (S43)" "${trip[@]}" plan/{1,2,3}.json
expect_equal "the set is ready after that (S43)" "ready 5" "$(set_of trip '"\(.state) \(.held)"')"
expect_equal "cachectl prefetch lists the sets (S45)" "ready ready" "$(ctl prefetch | cut --fields 1 | xargs)"

# -- what is missing

start_nginx
mapfile -t list < <(urls plan/1.json missing.json)
ctl prefetch broken "${list[@]}" >"$work/out"
expect_equal "cachectl prefetch exits 75 if the origin does not have an entry (S45)" 75 "$?"
expect_match "and names that entry only (S43)" "^incomplete 1 [^/]* missing $origin/missing.json [^/]*$" \
    "$(tr '\t\n' '  ' <"$work/out")"
failures_of='[.state, (.failed[] | .id, .problem.type, .problem.retryable)] | join(" ")'
expect_equal "the report has its problem, which no other attempt ends (S43)" \
    "incomplete $origin/missing.json urn:larder:deleted false" \
    "$(set_of broken "$failures_of")"

# -- what keeps an entry

ctl pin "$origin/trip/1.json"
request GET /v1/pins
expect_equal "an entry has each of its keepers in kept_by (S44)" "pin prefetch:trip" \
    "$(member ".items[] | select(.id == \"$origin/trip/1.json\").kept_by | join(\" \")")"
pin=/v1/pins/$(jq --raw-output --null-input --arg id "$origin/trip/1.json" '$id | @uri')
request DELETE "$pin"
expect_equal "the client's pin ends (S44)" 204 "$status"
request DELETE "$pin"
expect_match "then the set is named as what keeps it (S44)" "^409 .*'trip'" "$status $(member .detail)"

# -- another list

api --no-buffer --max-time 120 'http://larder/v1/watch?types=prefetch' >"$work/frames" 2>"$work/err" &
await 60 test -s "$work/frames"
ctl prefetch trip --wait 0s "$origin/trip/5.json" "$origin/gated/new.json" >"$work/out"
expect_equal "a new list that is not there in time is exit code 75 (S45)" 75 "$?"
await 60 is trip incomplete
expect_equal "the report has the problem of what cannot be fetched yet (S43)" \
    "incomplete $origin/gated/new.json urn:larder:origin-status true" "$(set_of trip "$failures_of")"
expect_equal "all of the old list stays pinned meanwhile (S44)" \
    "gated/new.json trip/1.json trip/2.json trip/3.json trip/4.json trip/5.json" "$(kept_by trip)"
touch "$work/gate.gated"
await 60 is trip ready
expect_equal "it is fetched when the origin has it (S43)" ready "$(set_of trip .state)"
await 60 keeps trip "gated/new.json trip/5.json"
expect_equal "then only the new list is pinned (S44)" "gated/new.json trip/5.json" "$(kept_by trip)"
expect_cached "what has left the set is still cached (S44)" trip/{1,2,3,4}.json
has_told() {
    told=$(jq --raw-output 'select(.type == "prefetch" and .name == "trip").state' "$work/frames" | xargs)
    [[ $told == *ready ]]
}
await 60 has_told
expect_match "a watch tells the states (S44)" '^(filling )?incomplete (filling )?ready$' "$told"

# -- kill -9 while a set is filled

put many many/{1..100}.json late/{1..100}.json
expect_equal "a set of 200 is accepted (S45)" "202 filling 200" "$status $(member '"\(.state) \(.items)"')"
await 60 has_asked GET /many/ 40 || not_ok "it is being filled" "40 of 200" "$(asked GET /many/ 200)"
end_daemon KILL
expect_at_most "the daemon was killed in the middle (S43)" 100 "$(asked GET '/\(many\|late\)/' 200)"
touch "$work/gate.late"
start_daemon
await 60 is many ready
expect_equal "after the restart it becomes ready (S43)" "ready 200 200" \
    "$(set_of many '"\(.state) \(.items) \(.held)"')"
# Four can have been in flight.
expect_at_most "what was held is not fetched again (S43)" 204 "$(asked GET '/\(many\|late\)/' 200)"

# -- the end of a set

request PUT /v1/prefetch/short --json "{\"items\":[{\"url\":\"$origin/trip/6.json\"}],\"expires\":\"59s\"}"
expect_match "an end in less than a minute is refused (S44)" "^400 expires: '59s'" "$status $(member .detail)"
request PUT '/v1/prefetch/short?wait=45s' \
    --json "{\"items\":[{\"url\":\"$origin/trip/6.json\"}],\"expires\":\"1m\"}"
expect_equal "an end in a minute is taken and told (S44)" "200 ready true" \
    "$status $(member '"\(.state) \((.expires_at | sub("\\.[0-9]+"; "") | fromdate) - now | . > 30 and . <= 60)"')"
mapfile -t list < <(urls never/1 trip/7.json)
ctl prefetch never --wait 10s "${list[@]}" >"$work/out"
has_one() { [[ $(set_of never '"\(.state) \(.held)"') == "incomplete 1" ]]; }
await 60 has_one
expect_equal "an answer that may not be stored is told, and delays no other entry (S43)" \
    "incomplete 1 $origin/never/1" "$(set_of never '"\(.state) \(.held) \(.failed | map(.id) | join(" "))"')"
ctl prefetch --remove trip
expect_equal "cachectl prefetch --remove removes a set (S44)" 0 "$?"
await 60 keeps trip ''
expect_equal "its entries are pins no more (S44)" '' "$(kept_by trip)"
expect_cached "and are still cached (S44)" gated/new.json trip/5.json
expect_equal "the set is gone (S44)" urn:larder:no-such-set "$(set_of trip .type)"
end_daemon TERM
expect_equal "the daemon ends in order" 0 "$ended"
finish
