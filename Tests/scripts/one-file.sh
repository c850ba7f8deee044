#!/usr/bin/env bash
# A row is read in one file: content, revisions and pending writes never go back, by any route, over
# kills between the commits of the two files, and over the loss of cache.db (P-02, P-12).
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
    fetch: {ttl: 1h}
    normalize:
      by_type: true
      types:
        - {type: Todo, url: "/todo/{id}"}
  all: {base_url: "$origin/all", allow_private: true, shared: true, fetch: {ttl: 1h}}
END
start_killable

ask() {
    fetch "$origin$1" --data policy=network-only
}
pin() {
    request "$1" "/v1/pins/$(jq --raw-output --null-input --arg id "$origin$2" '$id | @uri')"
}
# The revision of what is shown under a path; 0 where nothing is.
rev_of() {
    view "$1" >/dev/null
    header Larder-Rev | grep . || echo 0
}
# Starts the daemon after a kill, by a plan or by this; the command runs between the two.
restart() {
    if was_killed; then wait_for_kill; else end_daemon KILL; fi
    drop_plan
    "$@"
    start_killable
} 2>/dev/null
lose_cache() {
    restart rm -f "$work"/cache/cache.db*
}

put() {
    api --request PUT --data 2 --output /dev/null "http://larder/v1/entries/$1" 2>/dev/null
}
are_waiting() {
    (($(status_of .connections) >= $1))
}
# gather COMMAND...: has them done in one group, after a commit that a plan holds.
gather() {
    local command
    put lead &
    gathered=($!)
    await 60 test -e "$KILL_PLAN.held" || give_up "a commit waits" "a put's" "none"
    for command in "$@"; do
        $command &
        gathered+=($!)
    done
    await 2 are_waiting $(($# + 2))
    sleep 0.1
    touch "$KILL_PLAN.go"
}

# -- kills between the two commits

# A write of a shared row is taken back, and no write keeps the row any more.
store /all/liked '{"liked":false}'
ask /all/liked
merge like /all/liked '{"liked":true}' '{"hold": "1h"}'
expect_equal "a write of a shared row shows" '{"liked":true}' "$(view /all/liked)"
request DELETE /v1/modifiers/like
told=$(rev_of /all/liked)
# Now nothing keeps the row: it leaves state.db within seconds.
plan_kill cache-begun 2
{ await 7 was_killed; } 2>/dev/null
restart
expect_equal "a write that was taken back does not show after a kill" '{"liked":false}' \
    "$(view /all/liked)"
expect_at_most "the shared row has the revision that its user was told" "$(rev_of /all/liked)" "$told"

# A write is confirmed that shows in each variant of its URL.
store /varied '{}'
for language in en de; do
    control "{\"prefix\": \"/varied\", \"times\": 1, \"body\": {\"l\": \"$language\"},
        \"headers\": {\"Vary\": \"Accept-Language\", \"Cache-Control\": \"max-age=1000\"}}"
    fetch_with "{\"url\": \"$origin/varied\", \"headers\": {\"Accept-Language\": \"$language\"}}"
done
# Whether a variant is stale, and what is shown.
variant() {
    fetch_with "{\"url\": \"$origin/varied\", \"policy\": \"cache-only\",
        \"headers\": {\"Accept-Language\": \"$1\"}}"
    member 'select(.type == "snapshot") | "\(.stale) \(.entry.body | tojson)"'
}
control '{"prefix": "/varied", "method": "GET", "status": 500}'
control '{"prefix": "/varied", "method": "PATCH", "times": 1, "status": 204, "does": "hold"}'
merge mark /varied '{"marked":true}'
arrives "a write is sent" 1
plan_kill cache-begun 1 hold
gather 'release answer' 'put other'
{ await 60 was_killed; } 2>/dev/null || give_up "the daemon is killed" "a kill" "none"
restart
expect_equal "a write is confirmed by the commit before a kill" confirmed "$(modifier mark .state)"
for language in en de; do
    expect_match "the variant $language shows a confirmed write or is stale" \
        "^(true .*|false \{\"l\":\"$language\",\"marked\":true\})\$" "$(variant $language)"
done

# -- an evicted own row and an older shared one

for kind in pinned private; do
    store "/all/$kind" '{"v":1}'
    ask "/all/$kind"
    store "/all/$kind" '{"v":2}'
    if [[ $kind == pinned ]]; then
        pin PUT "/all/$kind"
    else
        control "{\"prefix\": \"/all/$kind\", \"times\": 1, \"body\": {\"v\": 2},
            \"headers\": {\"Cache-Control\": \"private, max-age=1000\"}}"
    fi
    ask "/all/$kind"
    expect_equal "a $kind answer is shown" '{"v":2}' "$(view "/all/$kind")"
    told=$(rev_of "/all/$kind")
    [[ $kind == private ]] || pin DELETE "/all/$kind"
    request POST /v1/evict --data "{\"ids\": [\"$origin/all/$kind\"]}"
    expect_match "an older shared row does not show once a $kind answer is evicted" \
        '^(404 urn:larder:miss|\{"v":2\})$' "$(view "/all/$kind")"
    now=$(rev_of "/all/$kind")
    ((now == 0)) || expect_at_most "no revision shows that is older than that of a $kind answer" \
        "$now" "$told"
done

# -- lists and GET, while a commit of cache.db is under way

request PUT '/v1/entries/kept?pin=true' --data 1
plan_kill cache-begun 1 hold pause
gather 'put kept?pin=true' 'put other'
await 60 test -e "$KILL_PLAN.paused" || give_up "a commit of cache.db waits" "one" "none"
# What a client is told by each list, and after it by GET.
compare() {
    local list
    for list in 'entries?prefix=kept' pins; do
        api "http://larder/v1/$list" | jq '.items[] | select(.id == "kept").rev'
        api --head http://larder/v1/entries/kept | sed -n 's/^Larder-Rev: \([0-9]*\).*/\1/Ip'
    done
}
compare >"$work/compared" &
comparing=$!
has_compared() { (($(wc -l <"$work/compared") == 4)); }
await 1 has_compared
touch "$KILL_PLAN.on"
wait "$comparing" "${gathered[@]}"
mapfile -t revs <"$work/compared"
expect_at_most "GET has the revision that /v1/entries has told" "${revs[1]}" "${revs[0]}"
expect_at_most "GET has the revision that /v1/pins has told" "${revs[3]}" "${revs[2]}"
drop_plan

# -- entities of lists

# The objects of a list, in a document under a path.
items() {
    store "$1" "$(jq --compact-output --slurp '{items: .}' <<<"${@:2}")"
}
# titles PATH: of a list's objects, and how many writes show in it.
titles() {
    printf '%s; %s' "$(view "$1" | jq --raw-output '.items | map(.title) | join(" ")' 2>&1)" "$(
        header Larder-Pending)"
}
edit() {
    modify "{\"id\": \"$1\", \"hold\": \"1h\", \"changes\": [{\"target\": {\"id\": \"entity:local/$2\"},
        \"effect\": {\"type\": \"merge\", \"value\": {\"title\": \"edited\"}}}]}"
}
items /todos '{"type":"Todo","id":1,"title":"one"}'
ask /todos
edit edit-1 Todo:1
control '{"prefix": "/todos", "method": "POST", "times": 1, "status": 201}'
control '{"prefix": "/todos", "method": "GET", "status": 500}'
change create /todos '{"type": "list_add",
    "value": {"/items": [{"type": "Todo", "id": 2, "title": "two"}]}}' \
    "{\"request\": {\"method\": \"POST\", \"url\": \"$origin/todos\", \"body\": {\"title\": \"two\"}}}"
expect_equal "a create in a list is confirmed" confirmed "$(fate create)"
expect_equal "a pending edit shows in the list of a confirmed create that cannot be read again" \
    "edited two; 1" "$(titles /todos)"

# Another answer brings newer entities of a pinned list, one of which has a pending edit.
items /feed '{"type":"Todo","id":3,"title":"three"} {"type":"Todo","id":4,"title":"four"}'
ask /feed
pin PUT /feed
items /other '{"type":"Todo","id":3,"title":"newest"} {"type":"Todo","id":4,"title":"newest"}'
ask /other
edit edit-4 Todo:4
expect_equal "a pinned list shows its entities and their edits" "newest edited; 1" "$(titles /feed)"
stop_origin
lose_cache
expect_equal "a pinned list shows its entities and their edits without cache.db" \
    "newest edited; 1" "$(titles /feed)"
request DELETE /v1/modifiers/edit-4
expect_equal "a pinned list shows no older entity without cache.db" "newest newest; 0" \
    "$(titles /feed)"
finish
