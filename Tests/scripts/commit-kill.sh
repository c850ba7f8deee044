#!/usr/bin/env bash
# The daemon is killed between every two commits of accept, news, settle, pin and unpin, others in
# their group, and of the maintenance behind them: at the start after it, and without a cache.db
# too, rows, views, revisions, the queue, pins, sums and watches are right (P-01, P-02, P-07, P-12).
# Usage: commit-kill.sh [all]
# Without `all` one group has all the commands, and meets each point once; with it a group has one
# command and others, and meets each point as often as it comes to it: with small bodies and such in
# chunks, with and without cache.db at the start after it.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/modifiers.sh
source Tests/scripts/modifiers.sh
# shellcheck source=Tests/scripts/kill.sh
source Tests/scripts/kill.sh
# shellcheck source=Tests/scripts/commit-rows.sh
source Tests/scripts/commit-rows.sh

points=(state-begun state-torn state-written state-synced cache-begun cache-torn cache-written)

# -- what there is

# By key, what is there now; by row, its revision, what it was before, and the least that it may be.
declare -A now rev rev_before least
# The ids of cases before this one, and what is shown under them.
: >"$work/earlier"

# Reads the rows: their revisions into `rev`, and those of cases before into `got/earlier`.
ask_for_rows() {
    local row ids
    ids=$(tail -n 1000 "$work/earlier")
    for row in "${rows[@]}"; do ask "row-$row" GET "/v1/entries/${path[$row]}"; done
    ask earlier POST /v1/entries/batch "${json[@]}" data "{\"ids\":[${ids//$'\n'/,}]}"
}
# Last of all: what was read before was told by then.
ask_for_frames() {
    ask watch GET "/v1/watch?timeout=0ms${since:+&since=$since}" header "Accept: application/json"
}
lists=(pins unsettled failed settled)
ask_for_lists() {
    local list
    ask pins GET '/v1/pins?limit=1000'
    for list in "${lists[@]:1}"; do ask "$list" GET "/v1/modifiers?state=$list&limit=1000"; done
}
read_revisions() {
    local row
    for row in "${rows[@]}"; do rev[$row]=${told[row-$row]}; done
}

# What is wrong, in words.
wrong=()

# look: reads everything, and finds wrong what one can tell without knowing the case.
look() {
    local what key said
    # A frame that was cut off was not told.
    for what in live ma me news-b news-c; do
        [[ ! -e $work/got/$what ]] || sed --in-place --quiet '/}$/p' "$work/got/$what"
    done
    # Who watched until the kill comes back; of a step with `more` not all was told.
    since=$(sed --quiet '/"more":true/!s/.*"rev":\([0-9]*\).*/\1/p' "$work/got/live" | tail -n 1)
    since=${since:-$since_before}
    ask_for_rows
    ask_for_lists
    ask_for_frames
    code[watch]=
    answers
    read_revisions
    for key in pin-{b,f,g,h,y} m{a,c,d,e}; do now[$key]=none; done
    for key in "${rows[@]}"; do
        now[$key]=${code[row-$key]}
        if [[ ${now[$key]} == 200 ]]; then
            read_value now "$work/got/row-$key"
            now[$key]=${value[now]}
        fi
    done
    : >"$work/frames"
    while read -r what key said; do
        case $what in
            state) now[$key]=$said ;;
            told) printf '%s %s\n' "$key" "$said" >>"$work/frames" ;;
            heard) raise_least "$key" "$said" ;;
            wrong) wrong+=("$key $said;") ;;
        esac
    done < <(report)
}
raise_least() {
    [[ -n $2 ]] && ((${least[$1]:-0} < $2)) && least[$1]=$2
}

# What the answers say, a line each.
report() {
    local file files=()
    for file in earlier-before "${lists[@]/%/-before}" "${lists[@]}" earlier watch live ma \
        me news-b news-c; do
        [[ -e $work/got/$file ]] || : >"$work/got/$file"
        files+=(--slurpfile "${file/-/_}" "$work/got/$file")
    done
    jq --null-input --raw-output "${files[@]}" --arg origin "$origin/" --arg case "$number-" \
        --arg loses "$loses" '
        def key: ltrimstr($origin) | select(startswith($case)) | ltrimstr($case);
        def shown: map(select(.type != "end") | {id: (.id // .entry.id), rev, pending, complete,
            shows: (.entry // .problem | [.status, .etag, .body])});
        def listed: map(.items[] | {id, state, bytes} | select(.id | ltrimstr($origin)
            | startswith($case) | not)) | sort;

        # Pins and modifiers of this case.
        ($pins[0].items[] | "state pin-\(.id | key) \(.state)"),
        (($unsettled + $failed + $settled)[].items[] | "state \(.id | key) \(.state
            | if IN("failed", "confirmed") then . else "unsettled" end)"),

        # Rows and modifiers of which frames have told, before the kill and after; revisions of which
        # somebody has heard.
        (($live + [$watch[].items[]?])[] | select(.type | IN("put", "delete", "modifier"))
            | "told \(.id | key) \(.rev)"),
        ($live[] | select(.type | IN("put", "delete")) | "heard \(.id | key) \(.rev)"),
        ($ma[] | select(.state) | "heard a \(.rev)"), ($me[] | select(.state) | "heard e \(.rev)"),
        ($news_b[] | select(.source == "network" and .rev) | "heard b \(.rev)"),
        ($news_c[] | select(.source == "network" and .rev) | "heard c \(.rev)"),

        # What cases before have left is as it was; without cache.db what nothing claims may be gone.
        ([$pins[0].items[] | {(.id): true}] | add) as $pinned
        | ([$earlier_before, $earlier | shown] | transpose[] | select(.[0] != .[1])
            | select($loses != "" and .[1].shows == [null, null, null] and .[0].pending == 0
                and ($pinned[.[0].id] | not) | not) | "wrong a row of before is another: \(tojson)"),
        ([$pins_before + $unsettled_before + $failed_before + $settled_before,
            $pins + $unsettled + $failed + $settled | listed] | select(.[0] != .[1])
            | "wrong a list of before is another: \(.[0] - .[1] | tojson) \(.[1] - .[0] | tojson)")'
}

# What is counted is what there is; of rows that state.db has and cache.db has not yet, once
# maintenance has given back what nothing keeps.
check_sums() {
    ask entries GET '/v1/entries?limit=1000'
    ask status GET /v1/status
    ask usage GET /v1/usage
    ask check POST /v1/check
    ask_for_lists
    answers
    sums=$(jq --slurp --raw-output '. as [$entries, $status, $usage, $check, $pins, $unsettled,
            $failed]
        | [$entries.items[] | select(.source == "cache")] as $rows
        # What is pinned or targeted is not in the cache.
        | [$unsettled.items[].targets[].id] as $targets
        | ([["rows", $status.cache.entries,
                ([$rows[] | select((.pinned or (.id | IN($targets[]))) | not)] | length)],
            ["bytes", $status.cache.accounted_bytes, $usage.accounted_bytes],
            ["pins", $status.pins.count, ($pins.items | length)],
            ["pinned bytes", $status.pins.accounted_bytes, ([$rows[] | select(.pinned).accounted_bytes] | add // 0)],
            ["unsettled", $status.queue.unsettled, ($unsettled.items | length)],
            ["failed", $status.queue.failed, ($failed.items | length)]][]
            | select(.[1] != .[2]) | "\(.[0]) are said to be \(.[1]), there are \(.[2]);"),
        ($check.items[] | select(.state == "failed") | "\(.subject): \(.detail);")' \
        "$work"/got/{entries,status,usage,check,pins,unsettled,failed})
    [[ -z $sums ]]
}
expect_sums() {
    await 60 check_sums
    expect_equal "$1: what is counted is what there is" "" "$sums"
}

# What a command was to bring about is there or not, as a whole, and what was answered is.
check_facts() {
    local fact command key before after
    local -A is_there=()
    unheard=0
    for fact in "${facts[@]}"; do
        read -r command key before after <<<"$fact"
        if is_lost "$key"; then
            continue
        elif [[ ${now[$key]} == "$after" ]]; then
            is_there[$command]+=" after"
            [[ $key == pin-* ]] || is_log_lost || grep --quiet "^$key " "$work/frames" \
                || wrong+=("nobody is told that $key is $after;")
        elif [[ ${now[$key]} == "$before" ]]; then
            is_there[$command]+=" before"
        else
            wrong+=("$key is ${now[$key]}, which is neither $before nor $after;")
        fi
    done
    for command in "${!is_there[@]}"; do
        [[ ${code[$command]:-000} == @(000|20?) ]] \
            || wrong+=("$command is answered ${code[$command]};")
        case ${is_there[$command]} in
            # It goes on at the start, while this is looked at.
            *before*after* | *after*before*)
                [[ $command == md ]] || wrong+=("half of $command is there;")
                ;;
            *before*) ! is_answered "$command" || wrong+=("$command was answered and is not there;") ;;
            *) is_answered "$command" || unheard=$((unheard + 1)) ;;
        esac
    done
}
# Whether cache.db was lost, and who comes back is told so.
is_log_lost() {
    [[ -n $loses && ${code[watch]} == 410 ]]
}
# Whether cache.db was lost, and a row with it that nothing claims.
is_lost() {
    [[ -n $loses && ${now[$1]} == 404 ]] || return 1
    case $1 in
        a) [[ ${now[ma]} == none ]] ;;
        d) [[ ${now[md]} != unsettled ]] ;;
        f | g | h) [[ ${now[pin-$1]} == none ]] ;;
        x) true ;;
        *) false ;;
    esac
}

# No revision is below what somebody has heard of, and who comes back is told of each new one: by
# the frame of its modifier if a read has brought the content before.
check_revisions() {
    local row
    raise_least x "${told[put-x]:-}"
    raise_least y "${told[put-y]:-}"
    for row in "${rows[@]}"; do
        ! is_lost "$row" || continue
        ((${rev[$row]:-0} >= ${least[$row]:-0})) \
            || wrong+=("$row has the revision ${rev[$row]:-none}, ${least[$row]} was told;")
        [[ ${rev[$row]} == "${rev_before[$row]}" ]] || is_log_lost \
            || grep --quiet --extended-regexp "^m?$row ${rev[$row]}\$" "$work/frames" \
            || wrong+=("nobody is told that $row has the revision ${rev[$row]};")
    done
    [[ ${code[watch]} == 200 ]] || is_log_lost \
        || wrong+=("who comes back with since=$since hears ${code[watch]};")
}

# -- a case

# How many commands are there of which nobody has heard: in a case, and the most of all.
unheard=0
most_unheard=0

are_connected() {
    [[ $(api http://larder/v1/status) =~ \"connections\":([0-9]+) ]] && ((BASH_REMATCH[1] >= $1))
}

# Reads what there is before, and has somebody watch from then on; its process in `watching`.
begin_watching() {
    since=
    ask_for_rows
    ask_for_lists
    ask_for_frames
    answers
    read_revisions
    local file row
    for file in earlier "${lists[@]}"; do mv "$work/got/$file" "$work/got/$file-before"; done
    least=() rev_before=()
    for row in "${rows[@]}"; do least[$row]=${rev[$row]} rev_before[$row]=${rev[$row]}; done
    [[ $(<"$work/got/watch") =~ \"next\":null,\"rev\":([0-9]+) ]] && since_before=${BASH_REMATCH[1]}
    code=() told=()
    : >"$work/got/live"
    api --no-buffer --header 'Accept: application/jsonl' --output "$work/got/live" \
        "http://larder/v1/watch?since=$since_before" 2>/dev/null &
    watching=$!
}

# end_case NAME: the daemon is killed, if it was not, and starts; whether it was is in `killed`.
end_case() {
    killed=
    if was_killed; then
        killed=1
        wait_for_kill
    elif ((daemon != 0)); then
        end_daemon KILL
    fi
    wait "$watching" 2>/dev/null
    drop_plan
    [[ -z $loses ]] || rm -f "$work"/cache/cache.db*
    start_killable
    wrong=()
    look
    check_facts
    check_revisions
    expect_equal "$1${loses:+, without cache.db}" "" "${wrong[*]}"
}

# A refusal that was not stored comes again, as one of a repeat: a person decides.
refused_end() {
    if [[ ${now[md]} == failed ]]; then
        echo 'failed refused {"n":1}'
    else
        echo 'unknown {"n":1,"d":1}'
    fi
}

# run_case POINT N COMMAND...: with the commands in one group.
run_case() {
    local point=$1 count=$2 command watching leading connections name
    shift 2
    name="$*, killed at $point $count${large_bytes:+, bodies of $large_bytes bytes}"
    set_up "$@"
    begin_watching
    plan_kill "$point" "$count" hold
    # What follows gathers behind a put, whose commit does not come to its end meanwhile.
    api --request PUT --data lead --output /dev/null "http://larder/v1/entries/lead" 2>/dev/null &
    leading=$!
    await 60 test -e "$KILL_PLAN.held" || give_up "$name: a commit waits" "a put's" "none"
    for command in "$@"; do "ask_for_$command"; done
    # With the watch, the put, and the look itself.
    connections=$(($(grep --count '^unix-socket' "$work/asked") + 3))
    {
        await 2 are_connected "$connections"
        sleep 0.1
        touch "$KILL_PLAN.go"
    } &
    answers --parallel --parallel-immediate --parallel-max 20 2>/dev/null
    wait "$leading" $! 2>/dev/null
    end_case "$name"
    ((unheard <= most_unheard)) || most_unheard=$unheard
    case " $* " in
        *" settle "*) expect_equal "$name, and then settled" 'confirmed {"n":2,"d":1}' \
            "$(fate "$number-md") $(view "/$number-d")" ;;
        *" refuse "*) expect_equal "$name, and then settled" "$(refused_end)" \
            "$(fate "$number-md") $(view "/$number-d")" ;;
    esac
    for row in "${rows[@]}"; do printf '"%s"\n' "${id[$row]}"; done >>"$work/earlier"
}

# run_quietly POINT N WHAT: killed while it does by itself what alters nothing that is shown.
run_quietly() {
    # What house is kept for: rows that nothing claims any more, and such as cache.db has not.
    [[ $3 != maintenance ]] || run_case state-synced 1 news settle unpin others
    local watching number=none
    facts=()
    # A new cache.db has no log before its first change.
    request PUT /v1/entries/lead --data quiet
    begin_watching
    "${3}_until_killed" "$1" "$2"
    end_case "$3, killed at $1 $2"
}
# House is kept every five seconds.
maintenance_seconds=30
maintenance_until_killed() {
    plan_kill "$@"
    { await "$maintenance_seconds" was_killed; } 2>/dev/null
}
end_until_killed() {
    plan_kill "$@"
    end_daemon TERM 2>/dev/null
}
start_until_killed() {
    end_daemon KILL
    plan_kill "$@"
    start_killable
}

# -- all of them

expect_killed() {
    "$@"
    expect_equal "it comes to $2" 1 "$killed"
}

start_origin --honour-keys --close
configure <<CONFIGURATION
origins:
  local:
    base_url: "$origin"
    allow_private: true
    modifiers: {idempotency: {honoured: true}}
CONFIGURATION
start_killable

# forget: a daemon with nothing.
forget() {
    end_daemon KILL 2>/dev/null
    rm -rf "$work/cache" "$work/state"
    : >"$work/earlier"
    start_killable
}

if [[ ${1:-} == all ]]; then
    for large_bytes in '' 200000; do
        for loses in '' 1; do
            for command in accept news settle refuse pin unpin; do
                each_time run_case "$command" others
                expect_sums "$command"
                forget
            done
        done
    done
    loses=
    points+=(state-checkpoint cache-checkpoint)
    # It is not come to again and again.
    maintenance_seconds=8
    for what in maintenance start end; do
        each_time run_quietly "$what"
        expect_sums "$what"
    done
    finish
fi

for point in "${points[@]}"; do
    expect_killed run_case "$point" 1 accept news settle pin unpin others
done
large_bytes=100000 loses=1
for point in "${points[@]}"; do
    expect_killed run_case "$point" 1 accept news refuse pin unpin others
done
expect_match "commands of which nobody had heard were in one group" '^([5-9]|10)$' "$most_unheard"
large_bytes='' loses=''
# Five seconds each: another one each day.
expect_killed run_quietly "${points[10#$(date +%j) % ${#points[@]}]}" 1 maintenance
expect_killed run_quietly state-written 1 start
for point in cache-written state-checkpoint cache-checkpoint; do
    expect_killed run_quietly "$point" 1 end
done
expect_sums "at the end"
finish
