#!/usr/bin/env bash
# What becomes of a modifier by what the origin answers, or does not: confirmed, tried again, held
# for a person, or failed and taken back; on the wire, with an origin that misbehaves as it is told.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/modifiers.sh
source Tests/scripts/modifiers.sh

start_origin --honour-keys --close
configure <<END
origins:
  local:
    base_url: "$origin"
    allow_private: true
    modifiers: {stalled_after: 2}
  slow: {base_url: "$origin/slow/", allow_private: true, fetch: {timeout: 5s}}
  portal: {base_url: "$origin/portal/", allow_private: true}
  limited: {base_url: "$origin/limited/", allow_private: true}
  guarded: {base_url: "$origin/guarded/", allow_private: true}
END
start_daemon

# have PATH JSON: a document that the cache has as well.
have() {
    store "$1" "$2"
    fetch "$origin$1"
}

# while_reads_fail PATH: base is then what settling left, and no later answer.
while_reads_fail() {
    control "{\"prefix\": \"$1\", \"method\": \"GET\", \"status\": 503}"
}

forget() {
    at_origin DELETE /_control
}

shows() {
    [[ $(view "$1" "${3:-}") == "$2" ]]
}

# shows_soon NAME PATH VIEW: once an answer that comes behind is there.
shows_soon() {
    if await 60 shows "$2" "$3"; then ok "$1"; else not_ok "$1" "$3" "$(view "$2")"; fi
}

# -- what a 2xx says

have /doc '{"title":"A","liked":false}'
while_reads_fail /doc
control '{"prefix": "/doc", "method": "PATCH", "times": 1, "applied": true, "body": {"ok": true}}'
merge c6-1 /doc '{"liked": true}' '' '?wait=30s'
expect_equal 'case 6: {"ok":true} to a PATCH confirms it' "200 confirmed" \
    "$status $(member .state)"
expect_equal "case 6: and is not what is shown" '{"title":"A","liked":true}' "$(view /doc)"
expect_equal "case 6: nor base, which is what the write made of it" '{"title":"A","liked":true}' \
    "$(view /doc '?show=base')"
forget
shows_soon "case 6: the entry is asked for again" /doc "$(at_origin GET /doc)"
while_reads_fail /doc
control '{"prefix": "/doc", "method": "PATCH", "times": 1, "applied": true,
    "headers": {"Content-Location": "/doc"}, "body": {"title": "A", "liked": false, "likes": 7}}'
merge c5-1 /doc '{"liked": false}' '' '?wait=30s'
expect_equal "case 5: what Content-Location names as the target becomes base" \
    'confirmed {"title":"A","liked":false,"likes":7}' \
    "$(member .state) $(view /doc '?show=base')"
control '{"prefix": "/doc", "method": "PATCH", "times": 1, "applied": true,
    "headers": {"Content-Location": "/other"}, "body": {"title": "another"}}'
merge c5-2 /doc '{"liked": true}' '' '?wait=30s'
expect_equal "case 5: what it names as something else does not" \
    'confirmed {"title":"A","liked":true,"likes":7}' \
    "$(member .state) $(view /doc '?show=base')"
forget
control '{"prefix": "/later", "method": "PATCH", "times": 1, "status": 202}'
have /later '{"liked":false}'
merge c7-1 /later '{"liked": true}'
has_state "case 7: 202 is no more than accepted" c7-1 accepted
expect_equal "case 7: which is shown" '{"liked":true} 1' \
    "$(view /later) $(header Larder-Pending)"
fetch "$origin/later"
has_state "case 7: a read that does not show it says nothing" c7-1 accepted
store /later '{"liked":true}'
fetch "$origin/later"
expect_equal "case 7: a read that does confirms it" confirmed "$(fate c7-1)"
control '{"prefix": "/later", "method": "PATCH", "times": 1, "status": 202}'
merge c7-2 /later '{"liked": false, "seen": true}'
has_state "case 7: another one is accepted" c7-2 accepted
merge c7-3 /later '{"liked": true}' '' '?wait=30s'
expect_equal "case 7: which is in nobody's way" confirmed "$(member .state)"
expect_equal "case 7: which settles it" confirmed "$(fate c7-2)"
expect_equal "case 7: and it does not show over that one" true \
    "$(view /later | jq .liked)"

# -- not now

for code in 408 425 429 500 503; do
    have "/busy/$code" '{"n":1}'
    control "{\"prefix\": \"/busy/$code\", \"method\": \"PATCH\", \"times\": 1, \"status\": $code,
        \"headers\": {\"Retry-After\": \"600\"}}"
    merge "c10-$code" "/busy/$code" '{"n": 2}'
    has_state "case 10: $code is for now" "c10-$code" retry_wait
    expect_equal "case 10: $code leaves the effect shown" '{"n":2}' "$(view "/busy/$code")"
    act retry "c10-$code"
    expect_equal "case 10: and after $code a hand has it sent at once" confirmed \
        "$(fate "c10-$code")"
done
expect_equal "P-05: each time with the same key" "c10-503 c10-503" "$(received_keys /busy/503)"
control '{"prefix": "/busy/500", "method": "PATCH", "times": 2, "status": 500,
    "headers": {"Retry-After": "600"}}'
merge c10-long /busy/500 '{"n": 3}'
has_state "case 10: Retry-After is a floor" c10-long retry_wait
expect_match "case 10: which is told" '^(5[0-9][0-9]|600)$' "$(modifier c10-long '
    (.next_attempt_at | sub("\\.[0-9]+"; "") | fromdate) - now | ceil')"
act retry c10-long
has_state "case 10: twice" c10-long retry_wait
stalls() {
    [[ $(modifier c10-long '.marks | join(" ")') == stalled ]]
}
if await 60 stalls; then
    ok "case 10: after stalled_after answers it is marked"
else
    not_ok "case 10: after stalled_after answers it is marked" stalled "$(modifier c10-long)"
fi
expect_equal "case 10: status counts it and says so" "degraded 1 1 true" "$(status_of '
    "\(.state) \(.queue.stalled) \(.queue.states.retry_wait) \(.queue.oldest_age_ms > 0)"')"
expect_match "case 10: in a sentence" '^1 modifiers are stalled' "$(status_of '.warnings[0]')"
code=0
"$bin/cachectl" --socket "$socket" status >"$work/out" || code=$?
expect_match "case 10: and cachectl status exits 1" '^1 .*retry_wait: 1, .*of them stalled: 1, ' \
    "$code $(grep '^queue' "$work/out")"
merge c15-1 /doc '{"n": 1}' '' '?wait=30s'
expect_equal "case 15: only its lanes wait" confirmed "$(member .state)"
merge c15-2 /busy/500 '{"m": 1}'
expect_equal "case 15: as they must" "queued lane" \
    "$(modifier c15-2 '"\(.state) \(.waiting_for.reason)"')"
act discard 'c10-long'
expect_equal "case 15: until a hand gives it up" "200 failed discarded" \
    "$status $(fate c10-long)"
expect_equal "case 15: and they go on" confirmed "$(fate c15-2)"
request DELETE /v1/modifiers/c10-long
expect_equal "case 15: without its dead letter status is well again" "204 ok 0" \
    "$status $(status_of '"\(.state) \(.queue.stalled)"')"
expect_equal "case 15: without it" '{"n":2,"m":1}' "$(view /busy/500)"
control '{"prefix": "/doc", "method": "PATCH", "times": 1, "status": 503}'
merge c15-3 /doc '{"n": 2}' '{"max_attempts": 1}'
expect_equal "case 15: or a rule" "failed attempts" "$(fate c15-3)"

# -- told to wait

have /limited/a '{"n":0}'
have /limited/b '{"n":0}'
control '{"prefix": "/limited/a", "method": "PATCH", "times": 1, "status": 429,
    "headers": {"Retry-After": "600"}}'
merge c10-told /limited/a '{"n": 1}'
has_state "case 10: a 429 with Retry-After" c10-told retry_wait
merge c10-behind /limited/b '{"n": 1}'
expect_equal "case 10: has its account leave the origin alone, and says so" \
    "queued retry_after true" \
    "$(modifier c10-behind '"\(.state) \(.waiting_for.reason) \(.waiting_for.until != null)"')"
request GET /v1/origins
expect_equal "case 10: for five minutes at most" "limited true" "$(member '
    .items[] | select(.name == "limited")
    | "\(.name) \((.retry_after_until | sub("\\.[0-9]+"; "") | fromdate) - now <= 300)"')"
expect_match "case 10: cachectl origin list says until when, and for which account" \
    "^[0-9]{4}-[^ ]*Z $(id --user)/default$" \
    "$("$bin/cachectl" --socket "$socket" origin list | grep '^limited' \
        | cut --fields=7-8 --output-delimiter=' ')"
expect_match "case 10: and so does cachectl status" \
    ", no background requests for $(id --user)/default until [0-9]{4}-" \
    "$("$bin/cachectl" --socket "$socket" status | grep 'limited (')"
fetch "$origin/limited/b" --data policy=network-only
expect_equal "case 10: but a client's own request is tried" network \
    "$(member 'select(.type == "snapshot").source')"
act retry c10-told
expect_equal "case 10: then one is tried, and the others follow it" "confirmed confirmed" \
    "$(fate c10-behind) $(fate c10-told)"

# -- refused for good

have /page '{"title":"A","liked":false}'
control '{"prefix": "/page", "method": "PATCH", "times": 1, "does": "hold", "status": 413,
    "type": "text/html", "text": "<html>too much</html>"}'
merge c11-1 /page '{"liked": true}'
arrives "case 11: a write that will be refused" 1
merge c11-2 /page '{"by": "c11-1"}' '{"depends_on": ["c11-1"]}'
merge c11-3 /page '{"seen": 1}'
expect_equal "case 11: shows until then" '{"title":"A","liked":true,"by":"c11-1","seen":1}' \
    "$(view /page)"
release answer
expect_equal "case 11: an HTML 413 is a refusal" "failed refused" "$(fate c11-1)"
expect_equal "case 13: what depends on it dies with it" "failed parent_failed" "$(fate c11-2)"
expect_equal "case 13: what does not goes on" confirmed "$(fate c11-3)"
expect_equal "case 11: the view is base with what remains" \
    '{"title":"A","liked":false,"seen":1}' "$(view /page)"
expect_equal "case 11: and says what failed" "0 2" \
    "$(header Larder-Pending) $(header Larder-Failed)"
expect_equal "case 11: the dead letter has the answer" "413 true" \
    "$(modifier c11-1 '"\(.answer.status) \(.answer | tojson | contains("too much"))"')"
expect_equal "case 11: and the view without it and with it" 'false true' \
    "$(modifier c11-1 '[.targets[] | .before.body.liked, .after.body.liked] | join(" ")')"
request GET '/v1/modifiers?state=failed&lane='"$(jq -rn --arg lane "id:$origin/page" '$lane | @uri')"
expect_equal "case 11: dead letters are listed, with why and what was answered" \
    "c11-1 refused 413 true, c11-2 parent_failed null false" \
    "$(member '[.items[] | "\(.id) \(.reason) \(.answer.status) \(.answer | tojson
        | contains("too much"))"] | join(", ")')"
act retry c11-1
expect_equal "a dead letter is tried again by hand" confirmed "$(fate c11-1)"
expect_equal "case 21: in its next round, with the next key" "c11-1 c11-3 c11-1.2" \
    "$(received_keys /page)"
expect_equal "and shows then" '{"title":"A","liked":true,"seen":1}' "$(view /page)"
words=$(printf 'no %.0s' {1..1000})
control "{\"prefix\": \"/page\", \"method\": \"PATCH\", \"times\": 1, \"status\": 422,
    \"type\": \"text/plain\", \"text\": \"$words\"}"
merge c11-4 /page '{"n": 4}' '' '?wait=30s'
request GET '/v1/modifiers?state=failed'
expect_equal "case 11: a list has a long answer whole" "422 3000" \
    "$(member '.items[] | select(.id == "c11-4")
        | "\(.answer.status) \(.answer | .body // .body_text | length)"')"
expect_equal "case 11: the dead letter has all of it" 3000 \
    "$(modifier c11-4 '.answer | .body // .body_text | length')"
request DELETE /v1/modifiers/c11-4
request GET '/v1/modifiers?state=settled&limit=1'
expect_equal "case 11: dropped, it is in the history, with why it died" "c11-4 failed refused 422" \
    "$(member '.items[0] | "\(.id) \(.state) \(.reason) \(.answer.status)"')"

# -- the like that was liked elsewhere

have /like '{"title":"A","liked":false}'
set_origin offline
merge c12-1 /like '{"liked": true}'
expect_equal "case 12: liked on the phone, without a network" '{"title":"A","liked":true} 1' \
    "$(view /like) $(header Larder-Pending)"
store /like '{"title":"A","liked":true}'
control '{"prefix": "/like", "method": "PATCH", "times": 1, "does": "hold", "status": 403}'
set_origin online
arrives "case 12: liked on the laptop; then the phone's own like is sent" 1
fetch "$origin/like"
expect_equal "case 3, 12: meanwhile the phone reads what the laptop wrote" \
    '{"title":"A","liked":true}' "$(view /like '?show=base')"
expect_equal "case 4: which is what it wants itself" '{"title":"A","liked":true} 1' \
    "$(view /like) $(header Larder-Pending)"
release answer
expect_equal "case 12: its own like fails for good" "failed refused" "$(fate c12-1)"
expect_equal "case 12: and the view is still liked" '{"title":"A","liked":true} 0 1' \
    "$(view /like) $(header Larder-Pending) $(header Larder-Failed)"
have /like-2 '{"liked":false,"n":1}'
control '{"prefix": "/like-2", "method": "PATCH", "times": 1, "does": "hold", "status": 403}'
merge c12-2 /like-2 '{"liked": true}'
arrives "case 12: the same the other way" 1
store /like-2 '{"liked":false,"n":2}'
fetch "$origin/like-2"
expect_equal "case 3: what the server says meanwhile shows below the write" \
    '{"liked":true,"n":2}' "$(view /like-2)"
release answer
expect_equal "case 12: a like that nobody else gave" "failed refused" "$(fate c12-2)"
expect_equal "case 12: is taken back, to what the server said last" '{"liked":false,"n":2}' \
    "$(view /like-2)"
have /same '{"liked":false}'
store /same '{"liked":true}'
fetch "$origin/same"
merge c4-1 /same '{"liked": true}' '' '?wait=30s'
expect_equal "case 4: what is so already is sent all the same" "confirmed c4-1" \
    "$(member .state) $(received_keys /same | grep -o 'c4-1')"

# -- a read that set out before a write

have /old '{"liked":false,"n":1}'
control '{"prefix": "/old", "method": "GET", "times": 1, "does": "hold", "applied": true}'
api --get --data-urlencode "url=$origin/old" --data policy=network-only \
    http://larder/v1/fetch >"$work/late" &
late=$!
arrives "case 8: a read is on its way" 1
merge c8-1 /old '{"liked": true}' '' '?wait=30s'
expect_equal "case 8: a write overtakes it" confirmed "$(member .state)"
release answer
wait "$late"
expect_equal "case 8: P-06: the read does not undo it" true "$(view /old | jq .liked)"
expect_equal "case 8: nor where it asked" true \
    "$(jq 'select(.type == "snapshot") | .entry.body.liked' "$work/late")"
expect_equal "case 8: the rest of it is used" 1 "$(view /old | jq .n)"

# Writes follow each other faster than the origin answers a read: each read is overtaken. Another
# device changes a member of its own meanwhile.
have /run '{"n":0,"seen":0}'
control '{"prefix": "/run", "method": "GET", "delay_ms": 100}'
control '{"prefix": "/run", "method": "PATCH", "status": 204, "applied": true, "delay_ms": 50}'
write_run() {
    local number=0
    while [[ -e $work/running ]]; do
        number=$((number + 1))
        api http://larder/v1/modifiers --header 'Content-Type: application/json' --output /dev/null \
            --data "{\"changes\": [{\"target\": {\"id\": \"$origin/run\"},
                \"effect\": {\"type\": \"merge\", \"value\": {\"n\": $number}}}]}"
        sleep 0.02
    done
    printf '%s\n' "$number" >"$work/written"
}
touch "$work/running"
write_run &
writer=$!
for number in $(seq 20); do
    at_origin PATCH /run --header 'Content-Type: application/json' --output /dev/null \
        --data "{\"seen\": $number}"
    api --get --data-urlencode "url=$origin/run" --data policy=network-only http://larder/v1/fetch
done >"$work/reads"
rm "$work/running"
wait "$writer"
expect_equal "case 8: however fast writes follow, no read fails" "20 0" "$(jq --slurp --raw-output '
    "\([.[] | select(.type == "snapshot")] | length) \([.[] | select(.problem)] | length)"
    ' "$work/reads")"
expect_equal "case 8: reads show what other devices write meanwhile" true "$(jq --slurp '
    [.[] | select(.type == "snapshot") | .entry.body.seen] | (unique | length) > 10 and . == sort
    ' "$work/reads")"
settles "case 8: the writes end"
shows_soon "case 8: the last of them is what there is" /run \
    "{\"n\":$(<"$work/written"),\"seen\":20}"
forget

# -- no clear answer

at_origin POST /slow/list --data '{"t": 0}' --output /dev/null
fetch "$origin/slow/list"
post() {
    send "$1" POST /slow/list "$2" "$(jq --null-input --arg id "$origin/slow/list" --argjson body "$2" '
        {changes: [{target: {id: $id}, effect: {type: "list_add", value: {"": [$body]}}}]}')"
}
control '{"prefix": "/slow", "method": "POST", "does": "hold", "applied": true}'
post c22-1 '{"t": 1}'
expect_equal "case 22: a POST is accepted" "202 2" "$status $(view /slow/list | jq length)"
has_state "case 22: when the origin has its body and says nothing, nobody knows" c22-1 unknown
expect_equal "case 22: it was sent" c22-1 "$(effect_keys /slow)"
expect_equal "case 22: it stays shown" 2 "$(view /slow/list | jq length)"
expect_equal "case 22: waits for a person" decision "$(modifier c22-1 .waiting_for.reason)"
request GET '/v1/modifiers?state=unknown'
expect_equal "case 22: and can be found" c22-1 "$(member '.items[].id')"
request DELETE /v1/modifiers/c22-1
expect_equal "case 18: it can no more be taken back" "409 urn:larder:already-sent" \
    "$status $(member .type)"
end_daemon KILL
start_daemon
has_state "case 22: a crash does not decide it" c22-1 unknown
expect_equal "case 22: it was sent once" c22-1 "$(received_keys /slow)"
forget
act retry c22-1
expect_equal "case 22: a hand sends it again" confirmed "$(fate c22-1)"
expect_equal "case 21: with the same key" "c22-1 c22-1" "$(received_keys /slow)"
expect_equal "P-05: by which the origin knows it" c22-1 "$(effect_keys /slow)"
control '{"prefix": "/slow", "method": "POST", "times": 1, "does": "close"}'
post c22-2 '{"t": 2}'
has_state "case 22: a connection that is lost" c22-2 unknown
act discard 'c22-2'
expect_equal "case 22: may be given up" "200 failed discarded" "$status $(fate c22-2)"
shows_soon "case 22: and its target is asked again" /slow/list "$(at_origin GET /slow/list)"
have /lost '{"n":0}'
control '{"prefix": "/lost", "method": "PATCH", "times": 1, "does": "close", "applied": true}'
merge c22-3 /lost '{"n": 1}' '' '?wait=30s'
expect_equal "case 22: a merge whose answer is lost is sent again" "confirmed c22-3 c22-3" \
    "$(member .state) $(received_keys /lost)"
control '{"prefix": "/lost", "method": "PATCH", "times": 1, "status": 502}'
merge c22-4 /lost '{"n": 2}' '' '?wait=30s'
expect_equal "case 22: and one that a gateway answered" confirmed "$(member .state)"
control '{"prefix": "/lost", "method": "PATCH", "times": 1, "does": "close", "applied": true}'
control '{"prefix": "/lost", "method": "PATCH", "times": 1, "status": 412}'
merge c22-6 /lost '{"n": 6}' '' '?wait=30s'
expect_equal "case 22: a 412 to what was sent again is checked: it was the first attempt" \
    "confirmed 6" "$(member .state) $(view /lost | jq .n)"
control '{"prefix": "/lost", "method": "PATCH", "times": 1, "does": "close"}'
control '{"prefix": "/lost", "method": "PATCH", "times": 1, "status": 412}'
merge c22-7 /lost '{"n": 7}' '{"on_conflict": "server"}' '?wait=30s'
expect_equal "case 22: or it was not" "failed conflict 6" \
    "$(member '"\(.state) \(.reason)"') $(view /lost | jq .n)"
act cancel 'c22-7'
expect_equal "a cancellation that comes after its death leaves the dead letter" \
    "409 urn:larder:already-settled failed conflict" "$status $(member .type) $(fate c22-7)"
control '{"prefix": "/lost", "method": "PATCH", "times": 1, "status": 502}'
control '{"prefix": "/lost", "method": "PATCH", "times": 1, "status": 403}'
merge c22-8 /lost '{"n": 8}'
has_state "case 22: where the repeat is refused, nobody knows of the first" c22-8 unknown
is_refused() { [[ $(modifier c22-8 .answer.status) == 403 ]]; }
await 60 is_refused || :
expect_equal "case 22: and both answers are told" "403 502" \
    "$(modifier c22-8 '"\(.answer.status) \(.answer.unclear_status)"')"
act discard 'c22-8'
control '{"prefix": "/lost", "method": "PATCH", "times": 1, "does": "hold", "applied": true}'
merge c22-5 /lost '{"n": 3}'
arrives "case 22: one that is in flight" 1
end_daemon KILL
start_daemon
expect_equal "case 22: is sent again after a crash" confirmed "$(fate c22-5)"
expect_equal "P-05: once, as far as the origin is concerned" 1 \
    "$(effect_keys /lost | grep -o 'c22-5' | wc -l)"

# The connection of the first is kept, and too old for what must not be sent twice.
stop_origin
start_origin --honour-keys
post idle-1 '{"t": 1}'
has_state "a POST is confirmed" idle-1 confirmed
sleep 1
post idle-2 '{"t": 2}'
has_state "and one after a pause, on a new connection" idle-2 confirmed
expect_equal "each is sent once" "1 1" "$(received_keys /slow | grep -o idle-1 | wc -l) $(
    received_keys /slow | grep -o idle-2 | wc -l)"
stop_origin
start_origin --honour-keys --close
# Nobody asks the daemon for anything meanwhile.
merge held-1 /alone '{"n": 1}' '{"hold": "2s"}'
end_daemon KILL
start_daemon
is_received() { [[ $(received_keys /alone) == held-1 ]]; }
await 60 is_received || true
expect_equal "a write that waits is sent after a start without anybody's word" held-1 \
    "$(received_keys /alone)"

# -- who is not the server

# Whether a page is a portal's is asked of the origin, which does not answer here.
control '{"prefix": "/portal/larder-", "method": "GET", "does": "close"}'
control '{"prefix": "/portal/box", "method": "POST", "text": "<html>Thanks</html>", "type": "text/html"}'
send c25-0 POST /portal/box '{"n": 1}' \
    "$(jq --null-input --arg id "$origin/portal/box" '{changes: [{target: {id: $id}, effect: {type: "none"}}]}')"
has_state "case 25: a POST that may have been answered by the server is not sent again" c25-0 unknown
expect_equal "case 25: it was sent once" c25-0 "$(received_keys /portal)"
act discard 'c25-0'
forget
have /portal/a '{"n":1}'
control '{"prefix": "/portal", "type": "text/html", "text": "<html>Sign in</html>"}'
merge c25-1 /portal/a '{"n": 2}'
is_captive() {
    [[ $(status_of '.origins[] | select(.name == "portal") | .state') == captive ]]
}
if await 60 is_captive; then
    ok "case 25: a portal's page is not the server's"
else
    not_ok "case 25: a portal's page is not the server's" captive "$(status_of .origins)"
fi
expect_equal "case 25: nothing is settled by it" '{"n":2} 1' \
    "$(view /portal/a) $(header Larder-Pending)"
expect_match "case 25: it waits" '^(unknown|queued|in_flight)$' "$(modifier c25-1 .state)"
merge c25-2 /doc '{"n": 25}' '' '?wait=30s'
expect_equal "case 25: other origins go on" confirmed "$(member .state)"
forget
fetch "$origin/portal/a"
expect_equal "case 25: and is sent when the server is back" "confirmed c25-1" \
    "$(fate c25-1) $(effect_keys /portal)"

# -- a credential

have /guarded/a '{"n":1}'
have /guarded/b '{"n":1}'
control '{"prefix": "/guarded", "method": "PATCH", "times": 1, "status": 401}'
merge c23-1 /guarded/a '{"n": 2}'
has_state "case 23: a refused credential" c23-1 auth_wait
merge c23-2 /guarded/b '{"n": 2}'
expect_equal "case 23: lets the other lanes go on" confirmed "$(fate c23-2)"
expect_equal "case 23: waits for a credential of its origin" "credential guarded" \
    "$(modifier c23-1 '[.waiting_for.reason, .waiting_for.name] | join(" ")')"
expect_equal "case 23: status says so" "degraded 1 true" \
    "$(status_of '"\(.state) \(.queue.states.auth_wait) \(.warnings
        | any(contains("1 write must have a credential")))"')"
expect_equal "case 23: nothing is reverted, nothing counted" '{"n":2} 0' \
    "$(view /guarded/a) $(modifier c23-1 .attempts)"
fetch "$origin/guarded/b"
expect_match "case 23: reads go on" 'unchanged 304;end unchanged$|snapshot network;end network$' \
    "$(outline)"
act retry c23-1
expect_equal "case 23: resumed by hand" confirmed "$(fate c23-1)"
have /guarded/c '{"n":1}'
control '{"prefix": "/guarded", "method": "PATCH", "times": 1, "status": 403}'
merge c23-3 /guarded/c '{"n": 2}'
expect_equal "case 23: 403 is for good" "failed refused" "$(fate c23-3)"

# -- targets that are unknown, or gone

while_reads_fail /new
control '{"prefix": "/new", "method": "PUT", "times": 1, "does": "hold", "applied": true}'
control '{"prefix": "/new", "method": "PATCH", "does": "hold", "status": 404}'
change c1-1 /new/put '{"type": "put", "value": {"n": 1}}'
expect_equal "case 1: a put on what is unknown shows whole" '{"n":1} true' \
    "$(view /new/put) $(header Larder-Complete)"
merge c1-2 /new/merge '{"n": 1}'
expect_equal "case 1: a merge shows what it knows" '{"n":1} false' \
    "$(view /new/merge) $(header Larder-Complete)"
change c1-3 /new/patch '{"type": "patch", "value": [{"op": "add", "path": "/n", "value": 1}]}'
expect_equal "case 1: where nothing shows there is a miss" "404 urn:larder:miss" \
    "$(view /new/patch)"
expect_equal "case 1: base is one anyway" "404 urn:larder:miss" "$(view /new/put '?show=base')"
arrives "case 1: all are sent" 3
release answer
expect_equal "case 1: and settled" "confirmed, failed refused, failed refused" \
    "$(fate c1-1), $(fate c1-2), $(fate c1-3)"
forget
have /gone '{"n":1}'
at_origin DELETE /gone
merge c20-1 /gone '{"n": 2}'
expect_equal "case 20: an update of what was deleted is sent, and failed" "failed refused" \
    "$(fate c20-1)"
shows_soon "case 20: the deletion is learned" /gone "410 urn:larder:deleted"
have /gone-2 '{"n":1}'
at_origin DELETE /gone-2
change c20-2 /gone-2 '{"type": "delete"}'
expect_equal "case 20: a delete shows at once" "410 urn:larder:deleted" "$(view /gone-2)"
expect_equal "case 20: one that is answered 404 is confirmed" confirmed "$(fate c20-2)"

# -- what another device has changed meanwhile

# theirs PATH PATCH: another device writes.
theirs() {
    at_origin PATCH "$1" --header 'Content-Type: application/merge-patch+json' --data "$2" \
        --output /dev/null
}

disputed='[.conflict[0] | .base, .mine, .theirs] | tojson'
have /shared/a '{"n":1,"m":1}'
theirs /shared/a '{"m": 2}'
merge c19-1 /shared/a '{"n": 2}' '' '?wait=30s'
expect_equal "case 19: an edit of another member is kept" \
    'confirmed c19-1 c19-1.2 {"n":2,"m":2}' \
    "$(member .state) $(received_keys /shared/a) $(at_origin GET /shared/a)"
theirs /shared/a '{"n": 3}'
merge c19-2 /shared/a '{"n": 4}'
has_state "case 19: an edit of the same member is not overwritten" c19-2 conflict
expect_equal "case 19: what is disputed is shown" \
    '[{"/n":2},{"/n":4},{"/n":3}] decision' \
    "$(modifier c19-2 "$disputed") $(modifier c19-2 .waiting_for.reason)"
expect_equal "case 19: queue show prints it" \
    'base={"/n":2} mine={"/n":4} theirs={"/n":3}' \
    "$("$bin/cachectl" --socket "$socket" queue show c19-2 |
        awk '$1 ~ /^(base|mine|theirs)$/ {printf "%s%s=%s", sep, $1, $2; sep = " "}')"
expect_match "case 19: and names the commands that end it" \
    'waits for .*queue retry keeps it, queue drop --discard takes theirs' \
    "$("$bin/cachectl" --socket "$socket" queue show c19-2 | grep 'waits for')"
expect_equal "case 19: status counts it" "degraded 1" \
    "$(status_of '"\(.state) \(.queue.states.conflict)"')"
expect_equal "case 19: the user's own value shows" '{"n":4,"m":2}' "$(view /shared/a)"
act retry c19-2
expect_equal "case 19: retry keeps mine" 'confirmed {"n":4,"m":2}' \
    "$(fate c19-2) $(at_origin GET /shared/a)"
set_origin offline
merge c19-3 /shared/a '{"n": 5}'
theirs /shared/a '{"n": 6}'
set_origin online
has_state "case 19: the same after an outage" c19-3 conflict
act cancel c19-3
expect_equal "case 19: cancel takes theirs" '{"n":6,"m":2} {"n":6,"m":2}' \
    "$(view /shared/a) $(at_origin GET /shared/a)"
theirs /shared/a '{"n": 7}'
merge c19-4 /shared/a '{"n": 8}' '{"on_conflict": "server"}'
expect_equal "case 19: with 'server' it fails" "failed conflict" "$(fate c19-4)"
theirs /shared/a '{"n": 9}'
merge c19-5 /shared/a '{"n": 10}' '{"on_conflict": "client"}'
expect_equal "case 19: with 'client' it goes over theirs" 'confirmed {"n":10,"m":2}' \
    "$(fate c19-5) $(at_origin GET /shared/a)"
control '{"prefix": "/shared/a", "method": "PATCH", "times": 1, "status": 409}'
merge c19-6 /shared/a '{"n": 11}'
expect_equal "case 19: a 409 while nothing has changed is a refusal" "failed refused" \
    "$(fate c19-6)"
stats_of() {
    api http://larder/v1/stats | jq --raw-output ".modifiers | $1"
}
counts='"\(.accepted) \(.confirmed) \(.failed) \(.reverts) \(.attempts)"'
before=$(stats_of "$counts")
merge s-1 /doc '{"n": 99}' '' '?wait=30s'
control '{"prefix": "/doc", "method": "PATCH", "times": 1, "status": 403}'
merge s-2 /doc '{"n": 100}' '' '?wait=30s'
expect_equal "stats count what is accepted, sent, confirmed, failed and taken back" \
    "$(awk '{ print $1 + 2, $2 + 1, $3 + 1, $4 + 1, $5 + 2 }' <<<"$before")" "$(stats_of "$counts")"
expect_equal "and the daemon lives" 200 "$(api --output /dev/null --write-out '%{http_code}' \
    http://larder/v1/health)"
finish
