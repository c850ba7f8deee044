#!/usr/bin/env bash
# Writes that get other changes and another request, before they are sent and after a refusal. The
# daemon is killed after the edit, and at points of its commit: then the write is wholly as before or
# wholly as edited (case 18).
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/modifiers.sh
source Tests/scripts/modifiers.sh
# shellcheck source=Tests/scripts/kill.sh
source Tests/scripts/kill.sh

# shellcheck disable=SC2119
start_origin --close
configure <<END
origins:
  local:
    base_url: "$origin"
    allow_private: true
END
start_killable

# edit ID PATH VALUE: a merge instead of what the write was.
edit() {
    request PATCH "/v1/modifiers/$1" --header 'Content-Type: application/json' \
        --data "$(jq --null-input --compact-output --arg target "$origin$2" --argjson value "$3" \
            '{changes: [{target: {id: $target}, effect: {type: "merge", value: $value}}]}')"
}
body_at_origin() {
    at_origin GET "$1"
}
restart() {
    { end_daemon KILL; } 2>/dev/null
    start_killable
}

store /a '{"a": 1}'
store /b '{"b": 1}'
view /a >/dev/null
view /b >/dev/null
fetch "$origin/a"
fetch "$origin/b"
set_origin offline

# -- a write that waits

merge one /a '{"x": 1}'
merge two /a '{"y": 2}' '{"depends_on": ["one"]}'
edit one /a '{"x": 5}'
expect_equal "an edit is answered with the state of the write" "200 queued" \
    "$status $(member .state)"
expect_equal "an edit shows immediately, beneath later writes" '{"a":1,"x":5,"y":2}' "$(view /a)"
edit one /b '{"x": 6}'
expect_equal "a target that the edit drops does not show it" '{"a":1,"y":2}' "$(view /a)"
expect_equal "a target that the edit adds shows it" '{"b":1,"x":6}' "$(view /b)"
restart
expect_equal "after kill -9 the dropped target does not show it" '{"a":1,"y":2}' "$(view /a)"
expect_equal "after kill -9 the added target shows it" '{"b":1,"x":6}' "$(view /b)"
expect_equal "the write is reported with its new request" "$origin/b"' {"x":6}' \
    "$(modifier one '"\(.request.url) \(.request.body | tojson)"')"
merge one /a '{"x": 1}'
expect_equal "the first body is another modifier" "409 urn:larder:modifier-exists" \
    "$status $(member .type)"
edit none /a '{}'
expect_equal "an unknown write is not edited" "404 urn:larder:no-such-modifier" \
    "$status $(member .type)"
request PATCH /v1/modifiers/one --data '{"lane": "x"}'
expect_equal "an edit has changes and a request only" "400 urn:larder:unknown-member" \
    "$status $(member .type)"
request PATCH /v1/modifiers/one --data '{"changes": []}'
expect_equal "an edit needs a request, as a write does" "422 urn:larder:no-request" \
    "$status $(member .type)"

# -- kills at the commit of an edit

value=10
for point in state-begun state-torn state-written state-synced; do
    plan_kill "$point" 1
    { edit one /b "{\"x\": $((value + 1))}"; } 2>/dev/null
    { await 60 was_killed; } 2>/dev/null
    expect_equal "the daemon is killed as it edits ($point)" yes "$(was_killed && echo yes)"
    wait_for_kill
    drop_plan
    start_killable
    shown=$(view /b | jq .x)
    expect_equal "what is shown is what is sent ($point)" "$shown" \
        "$(modifier one .request.body.x)"
    expect_match "it is as before or as edited ($point)" "^(6|$value|$((value + 1)))\$" "$shown"
    [[ $point != state-synced ]] \
        || expect_equal "a synced edit is kept" $((value + 1)) "$shown"
    value=$((value + 10))
    edit one /b "{\"x\": $value}"
    expect_equal "the edit can be given again ($point)" "200 $value" "$status $(view /b | jq .x)"
done

set_origin online
settles "nothing is left"
expect_equal "the origin has the edit only" '{"b":1,"x":50}' "$(body_at_origin /b | jq -c .)"
expect_equal "what depends on it was sent after it" "one two" \
    "$(effects 'select(.key != null) | .key' | paste --serial --delimiters ' ')"
edit one /b '{"x": 51}'
expect_equal "a confirmed write is not edited, and the hint is where its result is" \
    "409 urn:larder:already-sent Read its result with GET /v1/modifiers/ID." \
    "$status $(member .type) $(member .hint)"

# -- after an attempt

control '{"prefix": "/a", "method": "PATCH", "times": 1, "does": "hold", "status": 429,
    "headers": {"Retry-After": "2"}}'
merge three /a '{"x": 1}'
arrives "the write is with the origin" 1
edit three /a '{"x": 7}'
expect_equal "a write in flight is not edited" "409 urn:larder:already-sent" \
    "$status $(member .type)"
release answer
has_state "a 429 denies that it was applied" three retry_wait
edit three /a '{"x": 7}'
expect_equal "it can be edited then" "200 retry_wait" "$status $(member .state)"
restart
expect_equal "it is sent as edited" confirmed "$(fate three)"
expect_equal "the origin has the edit" 7 "$(body_at_origin /a | jq .x)"
expect_equal "the edit has the next key" "three three.2" \
    "$(received_keys /a | tr ' ' '\n' | grep three | paste --serial --delimiters ' ')"

control '{"prefix": "/a", "method": "POST", "times": 1, "does": "close", "applied": true}'
send four POST /a '{"n": 1}'
has_state "a lost answer leaves open whether it was applied" four unknown
edit four /a '{"x": 8}'
expect_equal "such a write is not edited" "409 urn:larder:already-sent" "$status $(member .type)"
act discard four

# -- a dead letter

control '{"prefix": "/a", "method": "PATCH", "times": 1, "status": 422, "body": {"error": "x"}}'
merge five /a '{"x": "wrong"}'
expect_equal "a refused write fails" "failed refused" "$(fate five)"
expect_equal "the list of failed writes has what was typed" '{"x":"wrong"}' \
    "$(api 'http://larder/v1/modifiers?state=failed' \
        | jq --compact-output '.items[] | select(.id == "five") | .request.body')"
edit five /a '{"x": "right"}'
expect_equal "it stays failed" "200 failed" "$status $(member .state)"
expect_equal "nothing of it shows" 7 "$(view /a | jq .x)"
restart
act retry five
expect_equal "once retried it is sent" confirmed "$(fate five)"
expect_equal "it is sent as edited" '"right"' "$(body_at_origin /a | jq .x)"
expect_equal "it has the next key" five.2 "$(modifier five .request.idempotency_key)"

# -- by hand

set_origin offline
merge six /a '{"x": 1}'
printf '{"changes": [{"target": {"id": "%s/a"}, "effect": {"type": "merge", "value": {"x": 9}}}]}' \
    "$origin" | "$bin/cachectl" queue edit --socket "$socket" six
expect_equal "cachectl edits a write with the JSON on stdin" 9 "$(view /a | jq .x)"
printf '{"change": []}' >"$work/wrong.json"
"$bin/cachectl" queue edit --socket "$socket" six --file "$work/wrong.json" 2>"$work/error"
expect_equal "cachectl refuses another member" 64 $?
finish
