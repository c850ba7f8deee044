#!/usr/bin/env bash
# Examples/Todo against the real daemon and an origin with a to-do list: a first start without a
# network, edits before and after a create was sent, a delete of what was never sent, a new order, a
# token that expires, a refused create, conflicts with another device, and kills of the daemon.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/modifiers.sh
source Tests/scripts/modifiers.sh
command -v python3 >/dev/null || {
    skip "a to-do list" "there is no python3"
    finish
}

port=$(free_port)
origin=http://127.0.0.1:$port
printf 'first' >"$work/token"
touch "$work/log"
configure <<END
origins:
  todo:
    base_url: "$origin"
    allow_private: true
    normalize:
      by_type: true
      types: [{type: Todo, url: "/todos/{id}"}]
    modifiers:
      empty: {"/todos": {"items": []}}
      idempotency: {honoured: true}
      created_id: /id
END

todo() {
    "$bin/Todo" "$socket" "$origin/todos" "$@" 2>&1
}
origin_answers() {
    curl --silent --output /dev/null "$origin/todos"
}
start_todo_origin() {
    python3 Tests/scripts/todo-origin.py "$port" "$work/token" "$work/log" &
    test_origin=$!
    await 60 origin_answers || give_up "the origin starts" "it answers within 60 s" "nothing"
}
# device METHOD PATH [JSON]: what another device asks the origin.
device() {
    curl --silent --max-time 50 --request "$1" --header "Authorization: Bearer $(<"$work/token")" \
        ${3:+--data "$3"} "$origin$2"
}
kill_daemon() {
    end_daemon KILL
    start_daemon
}
has_waiting() {
    [[ $(api 'http://larder/v1/modifiers?state=unsettled' \
        | jq --arg state "$1" '[.items[] | select(.state == $state)] | length > 0') == true ]]
}
# shows NAME LINE...: the list, as soon as nothing waits to be sent.
shows() {
    local name=$1
    shift
    settles "$name: nothing waits"
    expect_equal "$name" "$(printf '%s\n' "$@")" "$(todo list)"
}

start_daemon
expect_equal "offline, nothing is known at first" "Nothing is known yet." "$(todo list)"
todo add eggs
todo add milk
todo add bread
expect_equal "what is added offline shows" "1. [ ] eggs (waits)
2. [ ] milk (waits)
3. [ ] bread (waits)" "$(todo list)"
todo rename 1 "six eggs"
todo move 3 1
todo delete 3
kill_daemon
expect_equal "edits, order and delete show after a kill" "1. [ ] bread (waits)
2. [ ] six eggs (waits)" "$(todo list)"

start_todo_origin
await 60 has_waiting auth_wait || not_ok "without a token the server refuses" auth_wait "$(todo list)"
expect_equal "without a token everything still waits" "1. [ ] bread (waits)
2. [ ] six eggs (waits)" "$(todo list)"
todo login first
shows "with a token it is sent" "1. [ ] bread" "2. [ ] six eggs"
expect_equal "the server has the same" '["six eggs","bread"]' \
    "$(device GET /todos | jq --compact-output '[.items[].title]')"
expect_equal "and saw no temporary id" 0 "$(grep --count 'tmp' "$work/log")"

# The answer to the create comes late.
kill -s STOP "$test_origin"
todo add jam
await 60 has_waiting in_flight
todo rename 3 "plum jam"
expect_equal "an edit shows while the create is being sent" "1. [ ] bread
2. [ ] six eggs
3. [ ] plum jam (waits)" "$(todo list)"
kill_daemon
kill -s CONT "$test_origin"
shows "and is sent after it" "1. [ ] bread" "2. [ ] six eggs" "3. [ ] plum jam"
expect_equal "the create counted once" 1 "$(grep --count 'POST.*"jam"' "$work/log")"

printf 'second' >"$work/token"
todo "done" 1
await 60 has_waiting auth_wait || not_ok "the token expires" auth_wait "$(todo list)"
expect_equal "with an expired token the change shows" "1. [x] bread (waits)" \
    "$(todo list | head -n 1)"
todo login second
shows "and the new token sends it" "1. [x] bread" "2. [ ] six eggs" "3. [ ] plum jam"

todo add "forbidden fruit"
shows "a refused create is gone, and what was typed is there" "1. [x] bread" "2. [ ] six eggs" \
    "3. [ ] plum jam" "The server refused: forbidden fruit"
todo again fruit
shows "it can be changed and added again" "1. [x] bread" "2. [ ] six eggs" "3. [ ] plum jam" \
    "4. [ ] fruit"

# The phone is offline, and the laptop changes the same title.
for choice in theirs mine; do
    "$bin/cachectl" --socket "$socket" origin offline todo >/dev/null
    todo rename 3 "my jam ($choice)"
    item=$(device GET /todos | jq --raw-output '.items[] | select(.title | test("jam")) | .id')
    device PATCH "/todos/$item" "{\"title\": \"their jam ($choice)\"}" >/dev/null
    "$bin/cachectl" --socket "$socket" origin online todo >/dev/null
    await 60 has_waiting conflict || not_ok "a conflict waits ($choice)" conflict "$(todo list)"
    expect_equal "the device shows its own title ($choice)" "3. [ ] my jam ($choice) (waits)" \
        "$(todo list | sed -n 3p)"
    todo "$choice"
    case $choice in theirs) title="their jam (theirs)" ;; mine) title="my jam (mine)" ;; esac
    settles "the conflict is decided ($choice)"
    expect_equal "by the person ($choice)" "3. [ ] $title" "$(todo list | sed -n 3p)"
    expect_equal "at the server, too ($choice)" "$title" \
        "$(device GET "/todos/$item" | jq --raw-output .title)"
done

todo delete 4
shows "a delete is sent" "1. [x] bread" "2. [ ] six eggs" "3. [ ] my jam (mine)"
end_daemon TERM
finish
