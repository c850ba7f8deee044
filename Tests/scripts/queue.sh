#!/usr/bin/env bash
# The queue of modifiers with real processes: what is written shows at once and reaches the origin
# when it can, in order, once; what a hand can do to it; and that nothing is lost over a restart.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/modifiers.sh
source Tests/scripts/modifiers.sh

start_origin --honour-keys --close
configure_queue() {
    configure <<END
origins:
  local: {base_url: "$origin", allow_private: true}
  prompt: {base_url: "$origin/prompt", allow_private: true, modifiers: {respond_async: true}}
queue: {max_modifiers: $1}
END
}
configure_queue 1000
start_daemon
for name in a b c d e f; do
    store "/$name" "{\"name\":\"$name\",\"liked\":false}"
    fetch "$origin/$name" >/dev/null
done

# -- one write, from accept to confirmed

control '{"prefix": "/a", "method": "PATCH", "times": 1, "does": "hold", "applied": true}'
merge m-1 /a '{"liked": true}'
expect_equal "a write is accepted" "202 m-1 /v1/modifiers/m-1" \
    "$status $(member .id) $(header Location)"
expect_match "with the revision of its step" '^[0-9]+$' "$(member .rev)"
expect_equal "its effect shows at once" '{"name":"a","liked":true}' "$(view /a)"
expect_equal "and says that it is pending" "1 0 true m-1" "$(marks) $(header Larder-Pending-Ids)"
expect_match "the view's ETag is none of the origin's" '^"larder-' "$(header ETag)"
expect_equal "show=base gives what the server said last" '{"name":"a","liked":false}' \
    "$(view /a '?show=base')"
expect_match "with the origin's ETag" '^"v[0-9]+"$' "$(header ETag)"
arrives "it is sent" 1
has_state "and in flight until the answer" m-1 in_flight
request DELETE /v1/modifiers/m-1
expect_equal "case 18: what is in flight cannot be taken back" "409 urn:larder:already-sent" \
    "$status $(member .type)"
act discard 'm-1'
expect_equal "nor given up" "409 urn:larder:already-sent" "$status $(member .type)"
release answer
expect_equal "it is confirmed" confirmed "$(fate m-1)"
expect_equal "and shown as before" '{"name":"a","liked":true}' "$(view /a)"
expect_equal "with nothing pending" 0 "$(header Larder-Pending)"
expect_equal "the base is what the server made of it" '{"name":"a","liked":true}' \
    "$(view /a '?show=base')"
expect_equal "it reached the origin once, under its id as the key" m-1 "$(effect_keys /a)"
merge m-2 /a '{"n": 1}' '' '?wait=30s'
expect_equal "wait= answers once it is settled" "200 confirmed" "$status $(member .state)"
control '{"prefix": "/a", "method": "PATCH", "times": 1, "does": "hold", "applied": true}'
merge m-3 /a '{"n": 2}' '' '?wait=10ms'
expect_equal "or when the time is over" "202 false" \
    "$status $(member '.state == "confirmed"')"
arrives "the next one is sent" 1
release answer
expect_equal "and confirmed" confirmed "$(fate m-3)"

# -- the same again

merge m-3 /a '{"n": 2}'
expect_equal "the same modifier again is the same one, which is settled" "200 confirmed true" \
    "$status $(member '"\(.state) \(.settled_at != null)"')"
merge m-3 /a '{"n": 3}'
expect_equal "another one of its id is refused" "409 urn:larder:modifier-exists" \
    "$status $(member .type)"
expect_equal "and nothing was sent twice" "m-1 m-2 m-3" "$(effect_keys /a)"

# -- what is refused

change r-1 /a '{"type": "set", "value": {"set": {"/n": 4}}}'
expect_equal "an effect that has no request of its own needs one" "422 urn:larder:no-request" \
    "$status $(member .type)"
refuse() {
    merge "r-$RANDOM" /a '{"n": 4}' "$2"
    expect_equal "$1 is refused" "$3" "$status $(member .type)"
}
refuse "an if_match that there is not" '{"if_match": "always"}' "400 urn:larder:bad-request"
refuse "a misspelled member" '{"if_matched": "none"}' "400 urn:larder:unknown-member"
refuse "a credential" \
    "{\"request\": {\"method\": \"PATCH\", \"url\": \"$origin/a\", \"headers\": {\"Authorization\": \"x\"}}}" \
    "400 urn:larder:bad-request"
refuse "a parent that is not there" '{"depends_on": ["nobody"]}' "404 urn:larder:no-such-modifier"
modify '{"changes": [{"target": {"id": "entity:none/A:1"}, "effect": {"type": "delete"}}]}'
expect_equal "an entity of no origin is refused" "404 urn:larder:no-such-origin" \
    "$status $(member .type)"
modify "$(jq --null-input --arg url "$origin/b" '
    {modifiers: [{id: "l-1", changes: [{target: {id: $url}, effect: {type: "merge", value: {n: 1}}}]},
        {id: "m-3", changes: [{target: {id: $url}, effect: {type: "delete"}}]}]}')"
expect_equal "of several, all are accepted or none" "409 404" \
    "$status $(api http://larder/v1/modifiers/l-1 | jq .status)"
expect_equal "and nothing of them shows" '{"name":"b","liked":false}' "$(view /b)"
modify "$(jq --null-input --arg url "$origin/b" '
    {modifiers: [range(1; 4) | {id: "l-\(.)",
        changes: [{target: {id: $url}, effect: {type: "merge", value: {n: .}}}]}]}')"
expect_equal "several are accepted in their order" "202 l-1 l-2 l-3" \
    "$status $(member '[.items[].id] | join(" ")')"
settles "and confirmed"
expect_equal "in this order" "l-1 l-2 l-3" "$(effect_keys /b)"

"$bin/cachectl" --socket "$socket" queue list --settled --json --limit 1 >"$work/history"
expect_equal "the history has who, what, when and the outcome, an object a line" \
    "1 l-3 $(id --user) default PATCH $origin/b $origin/b confirmed null 1 l-3 7 true" \
    "$(wc --lines <"$work/history") $(jq --raw-output '[.id, .user, .account, .request.method,
        .request.url, .targets[0].id, .state, .reason, .attempts, .request.idempotency_key,
        .request.body_bytes, .accepted_at <= .settled_at] | map(tostring) | join(" ")' \
        "$work/history")"

# -- without the network

stop_origin
merge o-1 /a '{"n": 10}'
merge o-2 /b '{"n": 20}'
merge o-3 /a '{"m": 30}'
expect_equal "without the network writes are accepted" 202 "$status"
expect_equal "case 9: and shown, those of one entry together" \
    '{"name":"a","liked":true,"n":10,"m":30}' "$(view /a)"
expect_equal "with their ids in order" "2 0 true o-1, o-3" \
    "$(marks) $(header Larder-Pending-Ids)"
fetch "$origin/a"
expect_equal "a fetch shows the view as well" \
    'cache 2 o-1 o-3 0 true {"name":"a","liked":true,"n":10,"m":30}' "$(member '
        select(.type == "snapshot") | "\(.source) \(.pending) \(.pending_ids | join(" ")) " +
            "\(.failed) \(.complete) \(.entry.body | tojson)"')"
expect_match "and then that nobody answers" 'problem unreachable;end error$' "$(outline)"
request POST /v1/entries/batch --data "{\"ids\": [\"$origin/a\"]}"
expect_equal "so does a batch" '2 {"name":"a","liked":true,"n":10,"m":30}' "$(member '
    select(.type == "snapshot") | "\(.pending) \(.entry.body | tojson)"')"
# But while it is tried whether the origin is back.
is_uncounted() {
    [[ $(modifier o-1 '"\(.state) \(.attempts)"') == "queued 0" ]]
}
if await 60 is_uncounted; then
    ok "case 9: what could not leave is queued, and not counted"
else
    not_ok "case 9: what could not leave is queued, and not counted" "queued 0" "$(modifier o-1)"
fi
expect_equal "the later one waits for the earlier" "lane id:$origin/a" \
    "$(modifier o-3 '.waiting_for | "\(.reason) \(.name)"')"
request GET '/v1/modifiers?limit=2'
expect_equal "a list has pages" "o-1 o-2" "$(member '[.items[].id] | join(" ")')"
request GET "/v1/modifiers?limit=2&cursor=$(member .next)"
expect_equal "of which one is the last" "o-3 null" \
    "$(member '"\([.items[].id] | join(" ")) \(.next)"')"
request GET /v1/modifiers --get --data-urlencode "lane=id:$origin/a"
expect_equal "a list goes by lane" "o-1 o-3" "$(member '[.items[].id] | join(" ")')"
request GET '/v1/modifiers?state=failed'
expect_equal "and by state" 0 "$(member '.items | length')"
request GET '/v1/modifiers?state=settled&limit=1'
expect_equal "the history has the last one first" "l-3 confirmed" \
    "$(member '.items[0] | "\(.id) \(.state)"')"

request GET "$(entry "$origin/a")/explain"
expect_equal "explain tells base, and the view after each and without it" \
    '2 {"name":"a","liked":true,"n":2} targeted o-1 10 null 2 30 o-3 10 30 10 null' "$(member '
        "\(.pending) \(.base.body | tojson) \(.protected_by | join(" ")) " + ([.modifiers[]
            | "\(.id) \(.after.body.n) \(.after.body.m) \(.without.body.n) \(.without.body.m)"]
            | join(" "))')"
"$bin/cachectl" --socket "$socket" inspect "$origin/a" --diff >"$work/diff"
expect_equal "inspect --diff is base against view" "- /n 2;+ /n 10;+ /m 30" \
    "$(paste --serial --delimiters ';' "$work/diff")"
"$bin/cachectl" --socket "$socket" inspect "$origin/a" --diff --json >"$work/diff"
expect_equal "and as JSON" '[{"path":"/n","base":2,"view":10},{"path":"/m","view":30}]' \
    "$(jq --compact-output .diff "$work/diff")"
"$bin/cachectl" --socket "$socket" inspect "$origin/a" --explain >"$work/diff"
expect_match "inspect --explain shows each" 'modifier +o-1, (queued|in_flight), merge' "$(grep o-1 "$work/diff")"
expect_equal "of what nothing is to be sent to there is no difference" "" \
    "$("$bin/cachectl" --socket "$socket" inspect "$origin/c" --diff 2>"$work/err")"
end_daemon TERM
expect_equal "the daemon ends in order" 0 "$ended"
start_daemon
merge o-4 /b '{"m": 40}'
end_daemon KILL
start_daemon
expect_equal "P-02: a restart and a crash keep all" "o-1 o-2 o-3 o-4" \
    "$(api 'http://larder/v1/modifiers?state=unsettled' | jq --raw-output '[.items[].id] | join(" ")')"
expect_equal "and what they show" '{"name":"a","liked":true,"n":10,"m":30}' "$(view /a)"
request POST /v1/evict --data '{"all": true}'
expect_equal "case 24: evicting everything" 200 "$status"
expect_equal "leaves what is written" '{"name":"b","liked":false,"n":20,"m":40}' "$(view /b)"
start_origin --honour-keys --close
fetch "$origin/c"
settles "with the network back all are sent"
expect_equal "P-03: in the order of their lanes" "o-1 o-3, o-2 o-4" \
    "$(effect_keys /a | grep -o 'o-.*'), $(effect_keys /b | grep -o 'o-.*')"
expect_equal "the origin has what was shown" '{"name":"a","liked":true,"n":10,"m":30}' \
    "$(at_origin GET /a)"
expect_equal "and so has the cache" "0 $(at_origin GET /b)" \
    "$(view /b >/dev/null && header Larder-Pending) $(view /b)"

# -- lanes

for name in c d e f; do fetch "$origin/$name"; done
control '{"prefix": "/c", "method": "PATCH", "times": 1, "does": "hold", "applied": true}'
merge n-1 /c '{"n": 1}'
arrives "case 14: the head of a lane is in flight" 1
merge n-2 /c '{"n": 2}'
merge n-3 /d '{"n": 3}' '' '?wait=30s'
expect_equal "case 14: one of another lane overtakes" "200 confirmed" "$status $(member .state)"
expect_equal "case 14: one of the same lane waits" "queued lane" \
    "$(modifier n-2 '"\(.state) \(.waiting_for.reason)"')"
release answer
expect_equal "case 14: until its turn comes" confirmed "$(fate n-2)"
control '{"prefix": "/c", "method": "PATCH", "times": 1, "does": "hold", "applied": true}'
merge n-4 /c '{"n": 4}' '{"lane": "cart"}'
arrives "case 14: a lane with a name" 1
merge n-5 /d '{"n": 5}' '{"lane": "cart"}'
expect_equal "case 14: orders what has other targets" "queued lane name:cart" \
    "$(modifier n-5 '"\(.state) \(.waiting_for.reason) \(.waiting_for.name)"')"
release answer
settles "case 14: all are sent"
expect_equal "case 14: in order" "n-1 n-3 n-2 n-4 n-5" \
    "$(effect_keys / | grep -o 'n-.*')"
control '{"prefix": "/many/", "method": "PUT", "times": 10, "does": "hold", "applied": true}'
for ((n = 1; n <= 10; n++)); do
    change "w-$n" "/many/$n" "{\"type\": \"put\", \"value\": $n}"
done
arrives "case 14: eight are in flight at once" 8
expect_equal "case 14: and two wait for their turn" 2 \
    "$(api 'http://larder/v1/modifiers?state=queued' | jq '.items | length')"
release answer
arrives "case 14: which comes then" 2
release answer
settles "case 14: for all of them"

request PUT "/v1/lanes/$(jq --raw-output --null-input --arg lane "id:$origin/e" '$lane | @uri')" \
    --header 'Content-Type: application/json' --data '{"paused": true}'
expect_equal "a lane is paused" 204 "$status"
request GET /v1/lanes
expect_equal "and is listed" "id:$origin/e true" "$(member '.items[] | "\(.lane) \(.paused)"')"
merge p-1 /e '{"n": 1}'
merge p-2 /f '{"n": 2}' '' '?wait=30s'
expect_equal "others go on" confirmed "$(member .state)"
expect_equal "what is in it waits and says why" "queued paused" \
    "$(modifier p-1 '"\(.state) \(.marks | join(" "))"')"
expect_equal "and shows" '{"name":"e","liked":false,"n":1}' "$(view /e)"
end_daemon TERM
start_daemon
expect_equal "a restart keeps the pause" paused "$(modifier p-1 '.marks | join(" ")')"
request PUT "/v1/lanes/$(jq --raw-output --null-input --arg lane "id:$origin/e" '$lane | @uri')" \
    --header 'Content-Type: application/json' --data '{"paused": false}'
expect_equal "until it is resumed" "204 confirmed" "$status $(fate p-1)"

# -- by hand

merge h-1 /d '{"n": "held"}' '{"hold": "1h"}'
expect_equal "what is held is accepted as such" "202 held" "$status $(member .state)"
expect_equal "and shows" '{"name":"d","liked":false,"n":"held"}' "$(view /d)"
expect_match "it says until when" '^hold 20' "$(modifier h-1 '.waiting_for | "\(.reason) \(.until)"')"
"$bin/cachectl" --socket "$socket" queue retry h-1 >/dev/null 2>"$work/told" || true
expect_match "a retry of a write that is held names the command that says what it waits for" \
    'is held.*See what it waits for: cachectl queue show' \
    "$(paste --serial --delimiters=' ' "$work/told")"
merge h-2 /d '{"m": 1}' '{"depends_on": ["h-1"]}'
expect_equal "one that depends on it waits" "queued" "$(modifier h-2 .state)"
expect_equal "which it tells" h-2 "$(modifier h-1 '.dependants | join(" ")')"
request DELETE /v1/modifiers/h-1
expect_equal "case 18: what was not sent is cancelled" "204 cancelled" "$status $(fate h-1)"
expect_equal "case 18: with what depends on it" cancelled "$(modifier h-2 .state)"
expect_equal "case 18: nothing of it shows" '{"name":"d","liked":false,"n":5}' "$(view /d)"
expect_equal "case 18: nothing of it was sent" "" "$(received_keys / | grep -o 'h-.*')"
request DELETE /v1/modifiers/h-1
expect_equal "what is settled is settled" "409 urn:larder:already-settled" "$status $(member .type)"
"$bin/cachectl" --socket "$socket" queue cancel h-1 >/dev/null 2>"$work/told" || true
expect_match "cachectl advises a drop only for a write that failed" \
    'is cancelled.*If it failed, drop it' "$(paste --serial --delimiters=' ' "$work/told")"
modify "$(jq --null-input --arg url "$origin/d" '
    {id: "h-4", hold: "1h", changes: [{target: {id: $url}, effect: {type: "delete"}}]}')"
expect_match "inspect does not say that the origin deleted what a waiting write deletes" \
    '^kind +deleted$' "$("$bin/cachectl" --socket "$socket" inspect "$origin/d" | grep '^kind')"
request DELETE /v1/modifiers/h-4
merge h-3 /d '{"n": 6}' '{"hold": "200ms"}' '?wait=30s'
expect_equal "a hold that is over ends by itself" confirmed "$(member .state)"
set_origin offline
merge x-1 /d '{"n": 7}' '{"expires": "300ms"}'
expect_equal "case 27: what was not sent in its time is failed" "failed expired" "$(fate x-1)"
expect_equal "and not shown" '{"name":"d","liked":false,"n":6}' "$(view /d)"
expect_equal "the entry says so" 1 "$(header Larder-Failed)"
request DELETE /v1/modifiers/x-1
expect_equal "a dead letter can be dropped" 204 "$status"
view /d >/dev/null
expect_match "and is then no more told of" '^0?$' "$(header Larder-Failed)"
set_origin online
request GET /v1/modifiers/nobody
expect_equal "what is not there is named" "404 urn:larder:no-such-modifier" \
    "$status $(member .type)"

# -- plain HTTP, for programs that can only set a base URL

# raw METHOD PATH [curl's options]
raw() {
    request "$1" "/o/local$2" --header 'Prefer: respond-async' "${@:3}"
}
store /r '{"name":"r","n":1}'
fetch "$origin/r"
set_origin offline
raw PUT /r --header 'Content-Type: application/json' --header 'Idempotency-Key: w-put' \
    --data '{"name":"r","n":2}'
expect_equal "a PUT with Prefer: respond-async is a modifier" \
    "202 w-put queued /v1/modifiers/w-put respond-async" \
    "$status $(member '"\(.id) \(.state)"') $(header Location) $(header Preference-Applied)"
expect_equal "which shows" '{"name":"r","n":2}' "$(view /r)"
raw PATCH /r --header 'Content-Type: application/merge-patch+json' --header 'Transfer-Encoding: chunked' \
    --header 'Idempotency-Key: w-merge' --data '{"m":3}'
expect_equal "a merge patch in chunks as well" '{"name":"r","n":2,"m":3}' "$(view /r)"
raw PATCH /r --header 'Content-Type: application/json-patch+json' \
    --header 'Idempotency-Key: "w-patch"' --data '[{"op":"remove","path":"/n"}]'
expect_equal "and a JSON patch" 'w-patch {"name":"r","m":3}' "$(member .id) $(view /r)"
raw PUT /r-text --header 'Content-Type: text/plain' --header 'Idempotency-Key: w-text' --data 'words'
request GET "$(entry "$origin/r-text")"
expect_equal "a body that is no JSON shows as it is" "text/plain words" \
    "$(header Content-Type) $(<"$work/body")"
raw POST /r-list --header 'Idempotency-Key: w-post' --data '{"is": not JSON'
expect_equal "a POST is taken as it is, and changes nothing here" "202 404" \
    "$status $(view /r-list | cut --characters=-3)"
raw POST /r-list --header 'Idempotency-Key: w-post' --data '{"is": not JSON'
expect_match "the same again is the same one, settled or not" '^20[02] w-post$' \
    "$status $(member .id)"
raw POST /r-list --header 'Idempotency-Key: w-post' --data 'another'
expect_equal "another one of its key is refused" "409 urn:larder:modifier-exists" \
    "$status $(member .type)"
raw PUT /r --header 'Content-Type: application/json' --data '{"is": not JSON'
expect_equal "a body that is not what its type says is refused" "400 urn:larder:bad-request" \
    "$status $(member .type)"
raw PUT /r --header 'Cookie: a=b' --data ''
expect_equal "and a secret" "400 urn:larder:bad-request" "$status $(member .type)"
head -c 16777217 /dev/zero >"$work/large"
raw PUT /r --data-binary "@$work/large"
expect_equal "and what is too large" "413 urn:larder:body-too-large" "$status $(member .type)"
request PUT /o/local/r --data '1'
expect_equal "without the wish it would be passed on, which an origin that is set offline ends" \
    "503 urn:larder:offline" "$status $(member .type)"
raw DELETE /r --header 'Idempotency-Key: w-delete'
expect_equal "a DELETE shows too" "202 410 urn:larder:deleted" "$status $(view /r)"
expect_match "and says who deletes it" 'deleted by a write that waits to be sent' "$(member .detail)"
request GET /o/local/r
expect_equal "on the raw route as well" "410 urn:larder:deleted" "$status $(member .type)"
for policy in cache-then-network cache-first network-first stale-while-revalidate cache-only \
    network-only; do
    fetch "$origin/r" --data-urlencode "policy=$policy"
    expect_equal "$policy tells it, too" "200 modifier deleted 410;end deleted" \
        "$status $(jq --raw-output 'select(.type == "deleted") | .source' "$work/body") $(outline)"
done
fetch "$origin/r-text" --data-urlencode policy=cache-only
expect_equal "what only a write has made is a modifier's" "snapshot modifier stale;end cache" \
    "$(outline)"
request POST /v1/entries/batch --header 'Content-Type: application/json' \
    --data "{\"ids\": [\"$origin/r-text\", \"$origin/r\"]}"
expect_equal "in a batch as well" "snapshot modifier 200;deleted modifier 410" "$(
    jq --raw-output 'select(.type != "end") | "\(.type) \(.source) \(.status // .entry.status)"' \
        "$work/body" | paste --serial --delimiters ';')"
set_origin online
settles "all of them are sent"
expect_equal "in their order, each with its key" "w-put w-merge w-patch w-delete" \
    "$(received 'select(.path == "/r") | .key // empty' | paste --serial --delimiters ' ')"
expect_equal "as they were given" "PUT text/plain words" "$(effects '
    select(.key == "w-text") | "\(.method) \(.type) \(.text)"')"
for id in w-patch w-post; do
    expect_equal "what this origin does not take is failed: $id" "failed refused" "$(fate "$id")"
    request DELETE "/v1/modifiers/$id"
done
request PUT /o/prompt/r --header 'Content-Type: application/json' --data '{"n":9}'
expect_equal "with respond_async for the origin nobody has to ask" "202 respond-async" \
    "$status $(header Preference-Applied)"
settles "and it is sent"
expect_equal "to where the origin is" '{"n":9}' "$(at_origin GET /prompt/r)"

# -- a full queue

end_daemon TERM
configure_queue 3
start_daemon
stop_origin
for ((n = 1; n <= 3; n++)); do merge "q-$n" /f "{\"q\": $n}"; done
expect_equal "case 2: as many as there may be are accepted" 202 "$status"
merge q-4 /f '{"q": 4}'
expect_equal "case 2: one more is refused" "507 urn:larder:queue-full" "$status $(member .type)"
expect_equal "case 2: and never shown" '{"name":"f","liked":false,"n":2,"q":3}' "$(view /f)"
end_daemon KILL
start_daemon
expect_equal "case 2: nor there after a crash" "q-1 q-2 q-3" \
    "$(api 'http://larder/v1/modifiers?state=unsettled' | jq --raw-output '[.items[].id] | join(" ")')"
start_origin --honour-keys --close
fetch "$origin/f"
settles "case 2: what was accepted is sent"
merge q-4 /f '{"q": 4}' '' '?wait=30s'
expect_equal "case 2: then there is room again" confirmed "$(member .state)"
expect_equal "P-05: nothing reached the origin twice" "" \
    "$(effects 'select(.key) | .key' | sort | uniq --repeated)"
finish
