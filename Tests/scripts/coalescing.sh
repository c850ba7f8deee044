#!/usr/bin/env bash
# Writes that wait for the network are joined to one request, or need none. The daemon is killed at
# points of the commit that sets the origin online, of the send step and of the commit that settles
# them: nothing is lost, and nothing is applied twice (case 17).
# `await` and the like call functions by their names.
# shellcheck disable=SC2016,SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/modifiers.sh
source Tests/scripts/modifiers.sh
# shellcheck source=Tests/scripts/kill.sh
source Tests/scripts/kill.sh

start_origin --honour-keys
# origin_named NAME RULE
origin_named() {
    cat <<END
  $1:
    base_url: "$origin/$1"
    allow_private: true
    modifiers: {created_id: /id, idempotency: {honoured: true}, empty: {/todos: []}, coalesce: $2}
    normalize:
      by_type: true
      types:
        - {type: Todo, url: "/todos/{id}"}
END
}
configure <<END
origins:
$(origin_named plain none)
$(origin_named joined writes)
$(origin_named net net)
END
start_killable

# requests ORIGIN METHOD: how many the origin got under the origin's path.
requests() {
    received --arg prefix "/$1/" --arg method "$2" \
        'select((.path | startswith($prefix)) and .method == $method) | .method' | wc --lines
}
# offline_life ORIGIN: a thing is created, edited three times and deleted.
offline_life() {
    local number uuid=6f1c0a52-0000-4000-8000-00000000000${#1}
    local thing='"target": {"id": "entity:'$1'/Todo:tmp:'$uuid'"}'
    modify '{"id": "'"$1"'-create", "changes": [{"target": {"id": "'"$origin/$1"'/todos"}, "effect":
        {"type": "list_add", "value": {"": [{"type": "Todo", "id": "tmp:'"$uuid"'", "title": "eggs"}]}}}],
        "request": {"method": "POST", "url": "'"$origin/$1"'/todos", "body": {"type": "Todo", "title": "eggs"}}}'
    for number in 1 2 3; do
        modify '{"id": "'"$1-edit-$number"'", "changes": [{'"$thing"',
            "effect": {"type": "merge", "value": {"title": "'"$number"' eggs"}}}]}'
    done
    [[ -n ${2:-} ]] || modify '{"id": "'"$1"'-delete", "changes": [{'"$thing"', "effect": {"type": "delete"}}]}'
}

# -- create, edit, edit, edit, delete

for name in plain joined; do
    set_origin offline "$name"
    offline_life "$name"
    expect_equal "the deletion is accepted ($name)" 202 "$status"
    set_origin online "$name"
    settles "nothing is left ($name)"
done
expect_equal "without coalescing each write is a request" "1 3 1" \
    "$(requests plain POST) $(requests plain PATCH) $(requests plain DELETE)"
reads() { received 'select((.path | startswith("/plain/")) and .method == "GET") | .path'; }
is_read() { [[ -n $(reads) ]]; }
await 60 is_read
expect_equal "one read follows them, of the list" "/plain/todos" "$(reads)"
expect_equal "with it there is no request, and no read" "" \
    "$(received 'select(.path | startswith("/joined/")) | .method')"
for id in create edit-1 edit-2 edit-3 delete; do
    expect_equal "$id is cancelled" cancelled "$(fate "joined-$id")"
done

# -- create and edits

set_origin offline net
offline_life net kept
set_origin online net
settles "nothing is left (net)"
expect_equal "a create and its edits are one request" "1 0" \
    "$(requests net POST) $(requests net PATCH)"
expect_equal "the server has the last edit" "3 eggs" \
    "$(at_origin GET /net/todos | jq --raw-output '.[0].title')"
expect_equal "the last edit was joined to the create" "confirmed net-create" \
    "$(modifier net-edit-3 '"\(.state) \(.joined_into)"')"

# -- like and unlike

for name in joined net; do
    store "/$name/photo" '{"liked": false}'
    fetch "$origin/$name/photo"
    set_origin offline "$name"
    merge "$name-like" "/$name/photo" '{"liked": true}'
    merge "$name-unlike" "/$name/photo" '{"liked": false}'
    set_origin online "$name"
    settles "nothing is left ($name)"
done
expect_equal "writes are joined" "joined-like" "$(received_keys /joined/photo)"
expect_equal "what changes nothing is not sent with net" "" "$(received_keys /net/photo)"
expect_equal "it is cancelled" "cancelled cancelled" "$(fate net-like) $(fate net-unlike)"

# -- kills

# The first commit after the plan sets the origin online, the second is the send step, the third
# settles the writes.
for point in state-begun state-torn state-written state-synced; do
    for n in 1 2 3; do
        path=/joined/$point-$n
        store "$path" '{"n": 0}'
        fetch "$origin$path"
        set_origin offline joined
        for member in a b c; do
            merge "$point-$n-$member" "$path" "{\"$member\": 1}"
        done
        plan_kill "$point" "$n"
        { set_origin online joined; } 2>/dev/null
        { await 60 was_killed; } 2>/dev/null
        expect_equal "the daemon is killed ($point, commit $n)" yes "$(was_killed && echo yes)"
        wait_for_kill
        drop_plan
        start_killable
        expect_equal "all is shown ($point, commit $n)" '{"n":0,"a":1,"b":1,"c":1}' "$(view "$path")"
        set_origin online joined
        for member in a b c; do
            expect_equal "$member is confirmed ($point, commit $n)" confirmed \
                "$(fate "$point-$n-$member")"
        done
        expect_equal "the server has all of it ($point, commit $n)" '{"n":0,"a":1,"b":1,"c":1}' \
            "$(at_origin GET "$path" | jq --compact-output .)"
        expect_equal "it was applied once ($point, commit $n)" "$point-$n-a" \
            "$(effects --arg path "$path" \
                'select(.path == $path and .key != null and .seen == false) | .key')"
    done
done
settles "nothing is left"
finish
