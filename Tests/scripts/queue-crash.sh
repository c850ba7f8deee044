#!/usr/bin/env bash
# The daemon is killed while clients write and while it sends, again and again; at the end the
# origin has had everything that was accepted, once, in order (P-01, P-02, P-03, P-05).
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/modifiers.sh
source Tests/scripts/modifiers.sh

rounds=8
# Writers, each with a lane of its own: those with even numbers put one document again and again,
# the others post to a list.
writers=4
# What a writer gives in one round at most.
writes=40

# What one writer gives, one modifier a line; a client that has heard nothing gives the same again.
plan() {
    awk -v writer="$1" -v first="$2" -v writes="$writes" -v origin="$origin" -v socket="$socket" '
        BEGIN {
            for (n = first; n < first + writes; n++) {
                body = "{\"n\":" n "}"
                if (writer % 2 == 0)
                    what = "\"changes\":[{\"target\":{\"id\":\"" origin "/" writer \
                        "\"},\"effect\":{\"type\":\"put\",\"value\":" body "}}]"
                else
                    what = "\"lane\":\"" writer "\",\"request\":{\"method\":\"POST\",\"url\":\"" \
                        origin "/" writer "\",\"body\":" body "}"
                json = "{\"id\":\"w" writer "-" n "\"," what "}"
                gsub(/"/, "\\\"", json)
                print "url = \"http://larder/v1/modifiers\""
                print "unix-socket = \"" socket "\""
                print "header = \"Content-Type: application/json\""
                print "data = \"" json "\""
                print "silent\nmax-time = 20\noutput = /dev/null"
                print "write-out = \"%{http_code} " n "\\n\"\nnext"
            }
            print "url = \"file:///dev/null\"\noutput = /dev/null"
        }'
}

effects_at_least() {
    (($(wc -l <"$work/effects") >= $1))
}

# Whether each writer has had an effect by what it gave last.
each_has_effects() {
    local writer
    for ((writer = 1; writer <= writers; writer++)); do
        (($(effects "select(.path == \"/$writer\" and .body.n > ${last[writer]})" | wc -l) > 0)) \
            || return 1
    done
}

# Writes with several clients and kills the daemon in the middle of it. `last` is what each of them
# heard was accepted last.
kill_while_writing() {
    local round=$1 writer pids=() effects
    effects=$(wc -l <"$work/effects")
    for ((writer = 1; writer <= writers; writer++)); do
        plan "$writer" $((last[writer] + 1)) >"$work/plan-$writer"
        curl --disable --config "$work/plan-$writer" >"$work/answers-$writer" 2>/dev/null &
        pids+=($!)
    done
    # At another moment in each round.
    await 60 effects_at_least $((effects + 5 * round)) \
        || not_ok "kill $round: what is written is sent" "$((effects + 5 * round)) effects" \
            "$(wc -l <"$work/effects")"
    await 60 each_has_effects || not_ok "kill $round: each writer comes to write" 4 fewer
    end_daemon KILL
    wait "${pids[@]}"
    for ((writer = 1; writer <= writers; writer++)); do
        last[writer]=$(awk -v last="${last[writer]}" '
            # 200: it was accepted before the kill, and is settled by now.
            $1 != 202 && $1 != 200 { exit }
            { last = $2 }
            END { print last }' "$work/answers-$writer")
    done
}

# Whatever has become of it, what was accepted shows.
expect_shown() {
    local writer
    for ((writer = 2; writer <= writers; writer += 2)); do
        # The one after may be on disk without anybody having heard of it.
        expect_match "$1: writer $writer sees what was accepted" \
            "^(${last[writer]}|$((last[writer] + 1)))$" "$(view "/$writer" | jq .n)"
    done
}

start_origin --honour-keys
# A kill finds many between their effect and its answer.
control '{"prefix": "/", "delay_ms": 5}'
configure <<END
origins:
  local:
    base_url: "$origin"
    allow_private: true
    modifiers: {idempotency: {honoured: true}}
END
last=()
for ((writer = 1; writer <= writers; writer++)); do last[writer]=0; done
start_daemon
for ((round = 1; round <= rounds; round++)); do
    kill_while_writing "$round"
    if ((round % 3 == 0)); then
        # And while it begins to send what was left.
        start_daemon
        end_daemon KILL
    fi
    start_daemon
    expect_shown "kill $round"
done
printf '%s modifiers were accepted, %s requests reached the origin\n' \
    "$((last[1] + last[2] + last[3] + last[4]))" "$(origin_of .received)" >&2

settles "everything is sent"
for ((writer = 1; writer <= writers; writer++)); do
    effects "select(.path == \"/$writer\") | .body.n" >"$work/sent"
    sent=$(wc -l <"$work/sent")
    expect_match "writer $writer: nothing is lost, or one more was accepted unheard" \
        "^(${last[writer]}|$((last[writer] + 1)))$" "$sent"
    expect_equal "writer $writer: each came to its effect once, in order" "" \
        "$(diff <(seq "$sent") "$work/sent" | head -n 5)"
done
expect_equal "the origin saw no key in two effects" 0 "$(effects 'select(.seen) | .key' | wc -l)"
expect_equal "every effect has its modifier's key" "" \
    "$(effects 'select(.key != "w\(.path[1:])-\(.body.n)") | .key' | head -n 5)"
for ((writer = 2; writer <= writers; writer += 2)); do
    expect_equal "writer $writer: what is shown is what the origin has" \
        "$(at_origin GET "/$writer") 0" "$(view "/$writer") $(header Larder-Pending)"
done
expect_equal "and nothing is failed" 0 \
    "$(api 'http://larder/v1/modifiers?state=failed' | jq '.items | length')"
finish
