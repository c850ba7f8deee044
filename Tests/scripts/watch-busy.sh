#!/usr/bin/env bash
# Several writers put entries and give modifiers at the same time, and the daemon is killed in the
# middle of it: what watchers are told is what was answered, in the order of the revisions, nothing
# more and nothing less (P-12).
# `await` calls functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/modifiers.sh
source Tests/scripts/modifiers.sh

rounds=4
# Writers of each kind: those of modifiers have a document each, which another part of the time
# refuses them.
writers=3
# What a writer gives in one round at most.
writes=60

# plan KIND WRITER ROUND: what one writer gives, an id of its own each.
plan() {
    awk -v kind="$1" -v writer="$2" -v round="$3" -v writes="$writes" -v origin="$origin" \
        -v socket="$socket" '
        BEGIN {
            for (n = 1; n <= writes; n++) {
                if (n > 1) print "next"
                id = kind writer "-" round "-" n
                print "unix-socket = \"" socket "\"\nsilent\nmax-time = 50"
                if (kind == "put") {
                    print "url = \"http://larder/v1/entries/" id "\"\nrequest = PUT"
                    print "data-binary = " n "\noutput = /dev/null"
                    print "write-out = \"" id " %{http_code} %header{larder-rev}\\n\""
                } else {
                    path = origin "/" (n % 5 ? "doc" : "closed") writer
                    json = "{\"id\":\"" id "\",\"changes\":[{\"target\":{\"id\":\"" path \
                        "\"},\"effect\":{\"type\":\"put\",\"value\":\"" id "\"}}]}"
                    gsub(/"/, "\\\"", json)
                    print "url = \"http://larder/v1/modifiers\""
                    print "header = \"Content-Type: application/json\"\ndata = \"" json "\""
                    print "write-out = \"\\n\""
                }
            }
        }'
}

# A watcher that comes back with the last revision that it has seen, until the last line is there.
# One that was cut off in the middle of a line has not seen it.
watch_on() {
    local since=0 file=$1
    shift
    : >"$file"
    until [[ -e $work/enough ]]; do
        curl --silent --unix-socket "$socket" --get --no-buffer "$@" --data "since=$since" \
            --data heartbeat=1s --header 'Accept: application/jsonl' \
            http://larder/v1/watch >"$file.part" 2>/dev/null
        grep '}$' "$file.part" >"$file.whole"
        # What comes after the last whole step is told again.
        since=$(jq --slurp --argjson since "$since" '[$since, (.[] | select((.more or .initial)
            | not) | if .type == "lagged" then .dropped_after else .rev end)] | max' "$file.whole")
        jq --compact-output --argjson since "$since" \
            'select(.rev <= $since and (.type | IN("put", "delete", "modifier")))' \
            "$file.whole" >>"$file"
    done
}

# shellcheck disable=SC2119
start_origin
control '{"prefix": "/closed", "method": "PUT", "status": 403}'
configure <<END
origins:
  local: {base_url: "$origin", allow_private: true}
END
start_daemon
request PUT "$(entry begin)" --data-binary 1
begin=$(header Larder-Rev)
watch_on "$work/told" &
watchers=($!)
watch_on "$work/modifiers" --data types=modifier &
watchers+=($!)

: >"$work/puts"
: >"$work/accepts"
for ((round = 1; round <= rounds; round++)); do
    pids=()
    for ((writer = 1; writer <= writers; writer++)); do
        plan put "$writer" "$round" >"$work/plan-put-$writer"
        curl --disable --config "$work/plan-put-$writer" >"$work/puts-$writer" 2>/dev/null &
        pids+=($!)
        plan write "$writer" "$round" >"$work/plan-write-$writer"
        curl --disable --config "$work/plan-write-$writer" >"$work/accepts-$writer" \
            2>/dev/null &
        pids+=($!)
    done
    if ((round < rounds)); then
        some_are_put() { (($(cat "$work"/puts-* | wc -l) >= 12 * round)); }
        await 60 some_are_put || not_ok "round $round: entries are put" "$((12 * round))" "fewer"
        end_daemon KILL
        wait "${pids[@]}"
        start_daemon
    else
        wait "${pids[@]}"
    fi
    awk '$2 == 201 || $2 == 204 { print $1, $3 }' "$work"/puts-* >>"$work/puts"
    # A line that was cut off was not heard.
    cat "$work"/accepts-* | grep '}$' | jq --raw-output 'select(.state == "queued")
        | "\(.id) \(.rev)"' >>"$work/accepts"
done
printf '%s entries and %s modifiers were answered\n' "$(wc -l <"$work/puts")" \
    "$(wc -l <"$work/accepts")" >&2
# A refusal that a kill kept from being stored comes again, as one of a repeat: a person decides.
decide() {
    local id
    for id in $(api 'http://larder/v1/modifiers?state=unknown' | jq --raw-output '.items[].id'); do
        act discard "$id"
    done
    [[ $(api 'http://larder/v1/modifiers?state=unsettled' | jq '.items | length') == 0 ]]
}
await 60 decide || true
settles "every modifier is settled"

# The last thing to be told.
request PUT "$(entry end)" --data-binary 1
ended=$(header Larder-Rev)
is_told() { grep --quiet "\"rev\":$ended,\"id\":\"end\"" "$work/told.part"; }
await 120 is_told || not_ok "the end is told" "$ended" "$(tail -n 3 "$work/told.part")"
# The daemon's end is that of the streams.
touch "$work/enough"
curl --silent --max-time 50 --unix-socket "$socket" --no-buffer --get --data "since=$begin" \
    --header 'Accept: application/jsonl' http://larder/v1/watch >"$work/replay" 2>/dev/null &
replaying=$!
is_replayed() { grep --quiet '"bookmark"' "$work/replay"; }
await 60 is_replayed || not_ok "the whole is told to who comes late" bookmark "nothing"
end_daemon TERM
wait "$replaying" "${watchers[@]}"
jq --compact-output 'select(.type | IN("put", "delete", "modifier"))' "$work/replay" \
    >"$work/replayed"

for list in told replayed; do
    expect_equal "$list: the revisions rise" sorted \
        "$(jq .rev "$work/$list" | sort --numeric-sort --check && echo sorted)"
    expect_equal "$list: and no two steps have the same" "" \
        "$(jq --slurp '[range(1; length) as $i | select(.[$i].rev == .[$i - 1].rev
            and (.[$i - 1].more | not)) | .[$i].rev] | .[]' "$work/$list" | head -n 5)"
    jq --raw-output 'select(.source == "client" and (.id | startswith("put"))) | "\(.id) \(.rev)"' \
        "$work/$list" | sort >"$work/$list.puts"
    expect_equal "$list: nothing that was put is missing, and none has another revision" "" \
        "$(sort "$work/puts" | comm -23 - "$work/$list.puts" | head -n 5)"
    expect_equal "$list: each is told once" "" \
        "$(cut -d' ' -f1 "$work/$list.puts" | uniq --repeated | head -n 5)"
    jq --raw-output 'select(.state == "queued") | "\(.id) \(.rev)"' "$work/$list" | sort \
        >"$work/$list.queued"
    expect_equal "$list: nothing that was accepted is missing" "" \
        "$(sort "$work/accepts" | comm -23 - "$work/$list.queued" | head -n 5)"
    jq --raw-output 'select(.state == "confirmed" or .state == "failed").id' "$work/$list" | sort \
        >"$work/$list.settled"
    expect_equal "$list: each is settled once" "" \
        "$(cut -d' ' -f1 "$work/$list.queued" | diff - "$work/$list.settled" | head -n 5)"
    expect_equal "$list: those that the origin refuses are failed" "" \
        "$(jq --raw-output 'select(.type == "modifier" and (.state | IN("confirmed", "failed")))
            | select((.state == "failed") != (.id | split("-")[2] | tonumber % 5 == 0)) | .id' \
            "$work/$list" | head -n 5)"
done
expect_equal "who watches modifiers alone hears the same of them" "" \
    "$(diff <(jq --compact-output 'select(.type == "modifier") | [.rev, .id, .state]' \
        "$work/told") <(jq --compact-output '[.rev, .id, .state]' "$work/modifiers") | head -n 5)"
# What was coalesced for a slow watcher counts as many.
expect_equal "who comes late hears of each change that was told live" "" \
    "$(diff <(jq --raw-output 'select(.type != "put") | "\(.rev) \(.type) \(.id)"' "$work/told") \
        <(jq --raw-output 'select(.type != "put") | "\(.rev) \(.type) \(.id)"' \
            "$work/replayed") | head -n 5)"
finish
