#!/usr/bin/env bash
# A thing that a program creates before the origin has an id for it: edits and a delete wait for the
# id, also when the daemon is killed between the origin's answer and the commit that settles the
# create. The origin never sees a temporary id (case 16).
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/modifiers.sh
source Tests/scripts/modifiers.sh
# shellcheck source=Tests/scripts/kill.sh
source Tests/scripts/kill.sh

start_origin --honour-keys --close
configure <<END
origins:
  local:
    base_url: "$origin"
    allow_private: true
    modifiers: {created_id: /id, idempotency: {honoured: true}}
    normalize:
      by_type: true
      types:
        - {type: Todo, url: "/todos/{id}"}
END
start_killable

uuid=6f1c0a52-0000-4000-8000-00000000000
# create N: the N-th thing of the test.
create() {
    local name=tmp:$uuid$1
    modify '{"id": "create-'"$1"'", "changes": [{"target": {"id": "entity:local/Todo:'"$name"'"},
        "effect": {"type": "put", "value": {"type": "Todo", "id": "'"$name"'", "title": "eggs"}}}],
        "request": {"method": "POST", "url": "'"$origin"'/todos", "body": {"type": "Todo", "title": "eggs"}}}'
}
# edit ID N TITLE
edit() {
    modify '{"id": "'"$1"'", "changes": [{"target": {"id": "entity:local/Todo:tmp:'"$uuid$2"'"},
        "effect": {"type": "merge", "value": {"title": "'"$3"'"}}}]}'
}
# entity KEY: its title.
title() {
    api "http://larder/v1/entries/entity:local%2FTodo:$1" | jq --raw-output '.title // .type'
}

number=0
for point in state-begun state-torn state-written state-synced; do
    ((++number))
    control '{"prefix": "/todos", "method": "POST", "times": 1, "does": "hold", "applied": true}'
    create "$number"
    edit "edit-$number" "$number" "milk $number"
    arrives "the create is with the origin ($point)" 1
    plan_kill "$point" 1
    release answer
    { await 60 was_killed; } 2>/dev/null
    expect_equal "the daemon is killed as it settles the create ($point)" yes \
        "$(was_killed && echo yes)"
    wait_for_kill
    drop_plan
    start_killable
    expect_equal "the create is confirmed ($point)" confirmed "$(fate "create-$number")"
    expect_equal "the edit is confirmed ($point)" confirmed "$(fate "edit-$number")"
    expect_equal "the old name leads to the thing ($point)" "milk $number" \
        "$(title "tmp:$uuid$number")"
    edit "late-$number" "$number" "late $number"
    expect_equal "a later edit by the old name is confirmed ($point)" confirmed \
        "$(fate "late-$number")"
done
settles "nothing is left"
expect_equal "each thing was created once" 4 "$(effects 'select(.method == "POST" and .seen == false) | .key' | wc -l)"
expect_equal "the origin saw no temporary id" 0 "$(grep --count 'tmp' "$work/effects")"
finish
