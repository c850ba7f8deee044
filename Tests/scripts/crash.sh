#!/usr/bin/env bash
# The daemon is killed while clients put; after a new start everything that was answered is there,
# nothing is torn, and the sums are right (P-07, P-08).
# `await` calls functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

writers=4
puts=150
expected=$work/expected
got=$work/got
mkdir "$expected"

# The bodies of one round: small ones that stand in their rows, and each tenth in chunks. Each
# writer also puts one id again and again.
write_bodies() {
    awk -v round="$1" -v writers="$writers" -v puts="$puts" -v folder="$expected" '
        BEGIN {
            for (writer = 1; writer <= writers; writer++)
                for (n = 1; n <= puts; n++) {
                    file = folder "/" round "-" writer "-" n
                    lines = n % 10 == 0 ? 4000 + n * 20 : n
                    for (line = 0; line < lines; line++)
                        printf "round %d writer %d body %d line %d\n", round, writer, n, line >file
                    close(file)
                }
        }'
}

# What curl does for one writer: a put of each body, and of the number to the writer's counter.
write_plan() {
    local n
    for ((n = 1; n <= puts; n++)); do
        cat <<END
url = "http://larder/v1/entries/$1-$2-$n"
upload-file = "$expected/$1-$2-$n"
unix-socket = "$socket"
silent
output = /dev/null
write-out = "%{http_code} $1-$2-$n\n"
next
url = "http://larder/v1/entries/counter-$2"
request = PUT
data-binary = "round $1 number $n."
unix-socket = "$socket"
silent
output = /dev/null
write-out = "%{http_code} counter-$2 round $1 number $n.\n"
next
END
    done
    printf 'url = "file:///dev/null"\noutput = /dev/null\n'
}

entries_at_least() {
    (($(status_of .cache.entries) >= $1))
}

# Puts bodies with several clients and kills the daemon in the middle of it; what was answered
# stands in the file `answers`.
kill_while_putting() {
    local round=$1 writer pids=()
    write_bodies "$round"
    for ((writer = 1; writer <= writers; writer++)); do
        write_plan "$round" "$writer" >"$work/plan-$writer"
        curl --disable --config "$work/plan-$writer" >"$work/answers-$writer" 2>/dev/null &
        pids+=($!)
    done
    await 60 "${@:2}" || not_ok "round $round: puts are answered" "$*" "$(status_of .cache)"
    end_daemon KILL
    wait "${pids[@]}"
    cat "$work"/answers-? | grep '^20' >>"$work/answers"
    cut --delimiter=' ' --fields=2 "$work/answers" | grep --invert-match counter | sort --unique \
        >"$work/answered"
    printf 'round %d: %d puts were answered in all, %d were not\n' "$round" \
        "$(wc -l <"$work/answers")" "$(cat "$work"/answers-? | grep --count '^000')" >&2
}

# Reads every id of a list into the folder `got`.
read_entries() {
    local id
    rm -rf "$got"
    mkdir "$got"
    while read -r id; do
        printf 'url = "http://larder/v1/entries/%s"\noutput = "%s"\nunix-socket = "%s"\n' \
            "$id" "$got/$id" "$socket"
        printf 'silent\nfail\n'
        printf 'next\n'
    done <"$1" >"$work/plan-read"
    printf 'url = "file:///dev/null"\noutput = /dev/null\n' >>"$work/plan-read"
    curl --disable --config "$work/plan-read"
}

# Writes every id to the file `listed`, and sums up their sizes.
list_entries() {
    local cursor=''
    sum=0
    : >"$work/listed"
    while :; do
        api --get --data limit=1000 ${cursor:+--data-urlencode "cursor=$cursor"} \
            --output "$work/page" http://larder/v1/entries
        jq --raw-output '.items[].id' "$work/page" >>"$work/listed"
        sum=$((sum + $(jq '[.items[].accounted_bytes] | add // 0' "$work/page")))
        cursor=$(jq --raw-output '.next // ""' "$work/page")
        [[ -n $cursor ]] || break
    done
}

expect_nothing_torn() {
    local id torn=()
    list_entries
    expect_equal "$1: the sum of the sizes is the total" "$sum" "$(status_of .cache.accounted_bytes)"
    expect_equal "$1: the number of the rows is the total" "$(wc -l <"$work/listed")" \
        "$(status_of .cache.entries)"
    expect_at_most "$1: the total is within max_bytes" "$(status_of .cache.max_bytes)" "$sum"
    read_entries "$work/listed"
    while read -r id; do
        if [[ $id == counter-* ]]; then
            grep --quiet --extended-regexp '^round [0-9]+ number [0-9]+\.$' "$got/$id" && continue
        else
            cmp -s "$expected/$id" "$got/$id" && continue
        fi
        torn+=("$id")
    done <"$work/listed"
    expect_equal "$1: nothing is torn" "" "${torn[*]}"
}

# expect_answered NAME ROUND
expect_answered() {
    local writer last round number
    grep --invert-match counter "$work/listed" | LC_ALL=C sort >"$work/present"
    expect_equal "$1: everything that was answered is there" "" \
        "$(LC_ALL=C comm -23 <(LC_ALL=C sort "$work/answered") "$work/present" | head -n 5)"
    for ((writer = 1; writer <= writers; writer++)); do
        last=$(grep " counter-$writer " "$work/answers" | tail -n 1)
        # What was answered last, or a later one that was committed without an answer, in this
        # round or one before.
        if [[ -n $last ]]; then
            read -r _ _ _ round _ number <<<"$last"
            number=${number%.}
            last="round $round number ($number|$((number + 1)))\.|round [$round-$2] number 1\."
        else
            last="(round [1-$2] number 1\.)?"
        fi
        expect_match "$1: counter $writer is what was answered last, or the one after" \
            "^($last)$" "$(cat "$got/counter-$writer" 2>/dev/null)"
    done
}

configure </dev/null
start_daemon

# A second daemon on the same socket.
sed "s#$work/cache#$work/cache-2#; s#$work/state#$work/state-2#" "$config" >"$work/second.yaml"
ended=0
timeout 20 "$bin/larderd" --config "$work/second.yaml" 2>"$work/second.log" || ended=$?
expect_match "a live socket is not taken over" "^[1-9]" "$ended"
expect_match "the refusal names the socket" "$socket" "$(cat "$work/second.log")"
expect_equal "the first daemon still answers" ok "$(status_of .state)"
# And one on the same files.
sed "s#$socket#$work/run/second.sock#" "$config" >"$work/second.yaml"
ended=0
timeout 20 "$bin/larderd" --config "$work/second.yaml" 2>"$work/second.log" || ended=$?
expect_match "files in use are not taken over" "^[1-9]" "$ended"
expect_match "the refusal names the folder" "$work/(cache|state)" "$(cat "$work/second.log")"

wanted=0
for round in 1 2 3; do
    wanted=$((wanted + 60 * round))
    kill_while_putting "$round" entries_at_least "$wanted"
    [[ -S $socket ]] || not_ok "a killed daemon leaves its socket" "$socket" "nothing"
    start_daemon
    expect_nothing_torn "kill $round"
    expect_answered "kill $round" "$round"
done
ok "a dead socket is removed"

# Now with a budget that evicts all the time.
end_daemon TERM
configure <<'END'
cache: {max_bytes: 2MiB}
END
start_daemon
# Without a put; what is on its way to go has gone some moments after the start.
fits() {
    (($(status_of .cache.accounted_bytes) <= 2 << 20))
}
await 60 fits || true
expect_at_most "a smaller budget holds from the start" $((2 << 20)) "$(status_of .cache.accounted_bytes)"
most=0
evicted_at_least() {
    local evictions bytes
    read -r evictions bytes < <(status_of '.cache | "\(.evictions) \(.accounted_bytes)"')
    ((bytes <= most)) || most=$bytes
    ((evictions >= $1))
}
kill_while_putting 4 evicted_at_least 200
expect_at_most "the total is within max_bytes while clients put" $((2 << 20)) "$most"
start_daemon
expect_nothing_torn "kill while evicting"
finish
