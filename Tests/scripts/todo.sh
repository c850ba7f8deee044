#!/usr/bin/env bash
# Examples/Todo against the real daemon and an origin with a to-do list: a first start without a
# network, edits before and after a create was sent, a delete of what was never sent, also with
# coalescing, a new order, a token that expires, a refused create, conflicts with another device,
# restarts and kills of the daemon. A second program watches the list all the time.
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
# configure_todo RULE: the rule says which writes are joined to one request.
configure_todo() {
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
      coalesce: $1
END
}

todo() {
    "$bin/Todo" "$socket" "$origin/todos" "$@" 2>&1
}
cachectl() {
    "$bin/cachectl" --socket "$socket" "$@" >/dev/null
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
restart() {
    end_daemon TERM
    expect_equal "the daemon ends when it is told to" 0 "$ended"
    start_daemon
}
has_waiting() {
    [[ $(api 'http://larder/v1/modifiers?state=unsettled' \
        | jq --arg state "$1" '[.items[] | select(.state == $state)] | length > 0') == true ]]
}
watcher_shows() {
    [[ $(tail -n "$#" "$work/watched") == "$(printf '%s\n' "$@")" ]]
}
# lists NAME LINE...: the list, of a program that asks for it and of the one that watches it.
lists() {
    local name=$1
    shift
    expect_equal "$name" "$(printf '%s\n' "$@")" "$(todo list)"
    if await 60 watcher_shows "$@"; then
        ok "$name, to the watcher"
    else
        not_ok "$name, to the watcher" "$*" "$(tail -n 8 "$work/watched")"
    fi
}
# shows NAME LINE...: the list, as soon as nothing waits to be sent.
shows() {
    settles "$1: nothing waits"
    lists "$@"
}

configure_todo none
start_daemon
# Each line is in the file immediately, as on a terminal.
stdbuf --output=L "$bin/Todo" "$socket" "$origin/todos" watch >"$work/watched" 2>&1 &
expect_equal "offline, nothing is known at first" "Nothing is known yet." "$(todo list)"
todo add eggs
todo add milk
todo add bread
lists "what is added offline shows" "1. [ ] eggs (waits)" "2. [ ] milk (waits)" \
    "3. [ ] bread (waits)"
todo rename 1 "six eggs"
todo move 3 1
kill_daemon
lists "edits and order show after a kill" "1. [ ] bread (waits)" "2. [ ] six eggs (waits)" \
    "3. [ ] milk (waits)"
todo delete 3
restart
lists "a delete shows after a restart" "1. [ ] bread (waits)" "2. [ ] six eggs (waits)"

start_todo_origin
await 60 has_waiting auth_wait || not_ok "without a token the server refuses" auth_wait "$(todo list)"
lists "without a token everything still waits" "1. [ ] bread (waits)" "2. [ ] six eggs (waits)"
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
lists "an edit shows while the create is being sent" "1. [ ] bread" "2. [ ] six eggs" \
    "3. [ ] plum jam (waits)"
kill_daemon
kill -s CONT "$test_origin"
shows "and is sent after it" "1. [ ] bread" "2. [ ] six eggs" "3. [ ] plum jam"
expect_equal "the create counted once" 1 "$(grep --count 'POST.*"jam"' "$work/log")"

printf 'second' >"$work/token"
todo "done" 1
await 60 has_waiting auth_wait || not_ok "the token expires" auth_wait "$(todo list)"
kill_daemon
lists "with an expired token the change shows, after a kill too" "1. [x] bread (waits)" \
    "2. [ ] six eggs" "3. [ ] plum jam"
todo login second
shows "and the new token sends it" "1. [x] bread" "2. [ ] six eggs" "3. [ ] plum jam"

todo add "forbidden fruit"
shows "a refused create is gone, and what was typed is there" "1. [x] bread" "2. [ ] six eggs" \
    "3. [ ] plum jam" "The server refused: forbidden fruit"
todo again fruit
shows "it can be changed and added again" "1. [x] bread" "2. [ ] six eggs" "3. [ ] plum jam" \
    "4. [ ] fruit"

# This device and another one change the same title, under the default rules. The ETag of the to-do
# tells of the other's title, or a read of the list brings it before the write was sent.
item=$(device GET /todos | jq --raw-output '.items[] | select(.title == "plum jam") | .id')
cachectl get --quiet --policy network-only "$origin/todos/$item"
# conflicts END CHOICE TITLE: the daemon ends while the conflict is open; the choice leaves a title.
conflicts() {
    await 60 has_waiting conflict || not_ok "a conflict waits ($2)" conflict "$(todo list)"
    expect_equal "the server keeps the other's title ($2)" "their jam ($2)" \
        "$(device GET "/todos/$item" | jq --raw-output .title)"
    "$1"
    lists "the device shows its own title, after the end of the daemon too ($2)" "1. [x] bread" \
        "2. [ ] six eggs" "3. [ ] my jam ($2) (waits)" "4. [ ] fruit"
    expect_equal "the conflict is still open ($2)" yes "$(has_waiting conflict && echo yes)"
    todo "$2"
    shows "the conflict is decided ($2)" "1. [x] bread" "2. [ ] six eggs" "3. [ ] $3" "4. [ ] fruit"
    expect_equal "at the server, too ($2)" "$3" \
        "$(device GET "/todos/$item" | jq --raw-output .title)"
}
cachectl origin offline todo
todo rename 3 "my jam (theirs)"
device PATCH "/todos/$item" '{"title": "their jam (theirs)"}' >/dev/null
cachectl origin online todo
conflicts kill_daemon theirs "their jam (theirs)"

cachectl queue pause "id:entity:todo/Todo:$item"
todo rename 3 "my jam (mine)"
device PATCH "/todos/$item" '{"title": "their jam (mine)"}' >/dev/null
cachectl get --quiet --policy network-only "$origin/todos"
sent=$(wc --lines <"$work/log")
cachectl queue resume "id:entity:todo/Todo:$item"
conflicts restart mine "my jam (mine)"
expect_equal "only the decision was sent" 1 "$(($(wc --lines <"$work/log") - sent))"

todo delete 4
shows "a delete is sent" "1. [x] bread" "2. [ ] six eggs" "3. [ ] my jam (mine)"

# With coalescing the server never hears of what is added, changed and deleted offline.
configure_todo writes
restart
cachectl origin offline todo
todo add paper
todo rename 4 "red paper"
lists "a new to-do waits with its edit" "1. [x] bread" "2. [ ] six eggs" "3. [ ] my jam (mine)" \
    "4. [ ] red paper (waits)"
todo delete 4
cp "$work/log" "$work/log-before"
cachectl origin online todo
shows "it is gone" "1. [x] bread" "2. [ ] six eggs" "3. [ ] my jam (mine)"
expect_same_file "and nothing of it was sent" "$work/log-before" "$work/log"
end_daemon TERM
finish
