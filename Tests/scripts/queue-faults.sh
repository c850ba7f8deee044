#!/usr/bin/env bash
# state.db with a queue in it: damaged, cut, of another version, with rows that nobody can read, and
# on a full disk. What was accepted is sent, or is told of; nothing goes silently (P-02, P-13).
# `await` calls functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/modifiers.sh
source Tests/scripts/modifiers.sh

db=$work/state/state.db
# So many modifiers wait, on ten targets; each is about a page long.
count=120
targets=10

configure_queue() {
    configure <<END
origins:
  local:
    base_url: "$origin"
    allow_private: true
    modifiers: {idempotency: {honoured: true}}
END
}

# waiting FIRST LAST: a list of modifiers m-FIRST to m-LAST; each sets a member of its target.
waiting() {
    jq --null-input --compact-output --arg origin "$origin" --argjson first "$1" \
        --argjson last "$2" --argjson targets "$targets" '
        ("x" * 3000) as $text
        | {modifiers: [range($first; $last + 1) as $n | {
            id: "m-\($n)",
            changes: [{target: {id: "\($origin)/\($n % $targets)"},
                effect: {type: "merge", value: {n: $n, ("at\($n)"): $n, text: $text}}}]}]}' \
        >"$work/list"
    request POST /v1/modifiers --header 'Content-Type: application/json' --data "@$work/list"
}

# Starts a daemon of its own whose queue has `count` modifiers that cannot be sent.
begin() {
    local n
    rm -rf "$work/cache" "$work/state" "$work/effects"
    start_origin --honour-keys
    configure_queue
    for ((n = 0; n < targets; n++)); do store "/$n" '{"n": 0}'; done
    start_daemon
    for ((n = 0; n < targets; n++)); do fetch "$origin/$n"; done
    stop_origin
    waiting 1 "$count"
    [[ $status == 202 ]] || give_up "the modifiers are accepted" 202 "$status $(<"$work/body")"
}

# The states of all that there are, settled ones too: each id once, in order.
known() {
    local list
    for list in unsettled failed settled; do
        api "http://larder/v1/modifiers?state=$list&limit=1000" | jq --raw-output '.items[].id'
    done | grep '^m-' | sort --unique --version-sort
}

are_known() {
    ((count - $(known | wc -l) <= $1))
}
# expect_known NAME ATMOST: at most so many are missing without a word, once those that nobody can read
# are dead letters.
expect_known() {
    await 60 are_known "$2" || true
    expect_at_most "$1: what was accepted is there" "$2" "$((count - $(known | wc -l)))"
}

# expect_sent NAME: with the origin back everything that can be sent is, once and in the order of
# each lane, and what cannot is a dead letter.
expect_sent() {
    local n sent failed
    start_origin --honour-keys
    # Documents of the new origin: those of before, as its log has them.
    fetch "$origin/0"
    settles "$1: what can be sent is"
    effects 'select(.key) | "\(.path) \(.key[2:])"' >"$work/sent"
    sent=$(wc -l <"$work/sent")
    failed=$(api 'http://larder/v1/modifiers?state=failed&limit=1000' | jq '.items | length')
    expect_at_most "$1: all is sent or a dead letter" "$2" "$((count - sent - failed))"
    expect_equal "$1: nothing is sent twice" "" "$(sort "$work/sent" | uniq --repeated)"
    for ((n = 0; n < targets; n++)); do
        grep "^/$n " "$work/sent" | cut -d ' ' -f 2 >"$work/lane"
        sort --check=quiet --numeric-sort "$work/lane" \
            || not_ok "$1: lane $n is in order" "rising numbers" "$(tr '\n' ' ' <"$work/lane")"
    done
    ok "$1: each lane is in order"
    stop_origin
}

# case_damaged NAME SIGNAL ATMOST COMMAND...: harms the file between an end and a start; at most so
# many modifiers may be gone for good.
case_damaged() {
    local name=$1 signal=$2 at_most=$3
    shift 3
    begin
    end_daemon "$signal"
    "$@"
    start_daemon
    expect_known "$name" "$at_most"
    if [[ -e $db.aside ]]; then
        expect_equal "$name: the state is degraded" degraded "$(status_of .state)"
        expect_match "$name: and status says why" "set aside as .*state.db.*taken over" \
            "$(status_of '.warnings | join("; ")')"
        "$bin/cachectl" --socket "$socket" doctor >"$work/doctor" 2>&1
        expect_match "$name: and so does doctor" "state.db" "$(grep -i 'set aside' "$work/doctor")"
        expect_match "$name: and the log" "set aside" "$(grep -c 'set aside' "$work/larderd.log") set aside"
    fi
    expect_sent "$name" "$at_most"
    end_daemon TERM
    expect_equal "$name: the end is orderly" 0 "$ended"
    : >"$work/larderd.log"
}

pages() {
    echo $(($(stat --format %s "$db") / 4096))
}
# overwrite_page NUMBER: with noise.
overwrite_page() {
    head -c 4096 /dev/urandom | dd of="$db" bs=4096 seek="$1" conv=notrunc status=none
}
damage_header() {
    overwrite_page 0
}
damage_page() {
    overwrite_page $(($(pages) / 2))
}
cut_tail() {
    truncate --size "$((($(pages) - 2) * 4096))" "$db"
}
nothing() {
    :
}

case_damaged "killed" KILL 0 nothing
case_damaged "the WAL is lost after an orderly end" TERM 0 rm -f "$db-wal" "$db-shm"
case_damaged "the header is noise" TERM 0 damage_header
# A page holds the row of one of them, or a part of it.
case_damaged "a page is noise" TERM 2 damage_page
case_damaged "the last pages are cut off" TERM 3 cut_tail

# -- rows that nobody can read

begin
end_daemon TERM
sqlite3 "$db" "
    UPDATE change SET effect = CAST('{\"type\":\"teleport\"}' AS BLOB)
        WHERE modifier = (SELECT number FROM modifier WHERE id = 'm-5');
    UPDATE modifier SET state = 'levitating' WHERE id = 'm-7'"
start_daemon
expect_known "case 26: a row of the future" 0
expect_equal "case 26: an effect of the future is a dead letter" "failed unreadable" "$(fate m-5)"
expect_equal "case 26: so is a state of the future" "failed unreadable" "$(fate m-7)"
expect_match "case 26: what waits behind it goes on" queued "$(modifier m-15 .state)"
expect_sent "case 26" 0
end_daemon TERM
expect_equal "case 26: its bytes are kept as they were" '{"type":"teleport"}' \
    "$(sqlite3 "$db" "SELECT CAST(effect AS TEXT) FROM change
        WHERE modifier = (SELECT number FROM modifier WHERE id = 'm-5')")"

# -- a file of the future

begin
end_daemon TERM
version=$(sqlite3 "$db" 'PRAGMA user_version')
cp "$db" "$work/before.db"
sqlite3 "$db" 'PRAGMA user_version = 99'
cp "$db" "$work/future.db"
ended=0
timeout 60 "$bin/larderd" --config "$config" 2>"$work/refused.log" || ended=$?
expect_equal "a file of a later version: the daemon ends with 78" 78 "$ended"
expect_match "and says which version it is of" "99" "$(<"$work/refused.log")"
expect_same_file "and leaves it as it is" "$work/future.db" "$db"
sqlite3 "$db" "PRAGMA user_version = $version"
start_daemon
expect_known "with a daemon that can read it" 0
expect_sent "with a daemon that can read it" 0
end_daemon TERM

# -- a full disk

small_disk() {
    mkdir -p "$work/state"
    mount -t tmpfs -o size=32m,mode=0700 tmpfs "$work/state" 2>/dev/null
}
fill_disk() {
    local piece
    for piece in 1M 64k 4k 1k; do
        dd if=/dev/zero of="$work/state/ballast" bs=$piece oflag=append conv=notrunc status=none \
            2>/dev/null
    done
}
unmount_all() {
    umount --lazy "$work/state" 2>/dev/null
}
has_no_warning() {
    [[ $(status_of '.warnings | length') == 0 ]]
}

is_given_back() {
    [[ ! -e $work/state/reserve ]]
}

# begin_full: a daemon with a queue on a disk that is full, while its origin is away.
begin_full() {
    local n
    rm -rf "$work/cache" "$work/effects"
    start_origin --honour-keys
    configure_queue
    for ((n = 0; n < targets; n++)); do store "/$n" '{"n": 0}'; done
    start_daemon
    for ((n = 0; n < targets; n++)); do fetch "$origin/$n"; done
    stop_origin
    # Nothing is tried meanwhile: what an attempt had the reserve give back, this would fill, too.
    set_origin offline
    count=60
    waiting 1 "$count"
    fill_disk
    status=202
    while ((status == 202 && count < 3000)); do
        waiting $((count + 1)) $((count + 1))
        ((status != 202)) || count=$((count + 1))
        fill_disk
    done
}
has_space_again() {
    rm "$work/state/ballast"
    await 60 has_no_warning || not_ok "with space the reserve is taken again" "no warning" \
        "$(status_of '.warnings | join("; ")')"
}

rm -rf "$work/state"
if ((EUID != 0)) || ! small_disk; then
    skip "a full disk" "mounting a small one is not permitted"
    finish
fi
trap 'unmount_all; clean_up' EXIT
begin_full
expect_match "case 2: on a full disk a modifier is refused" \
    '^507 urn:larder:(queue-full|disk-full)$' "$status $(member .type)"
expect_match "case 2: with a hint" "space" "$(member .hint)"
expect_equal "case 2: it is not shown" "$count" "$(known | wc -l)"
expect_equal "case 2: status says so" degraded "$(status_of .state)"
expect_known "a full disk" 0
end_daemon KILL
start_daemon
expect_known "a full disk, after a crash" 0
# The reserve is for what is under way: everything is sent and settled.
set_origin online
expect_sent "a full disk" 0
has_space_again
waiting $((count + 1)) $((count + 1))
expect_equal "with space again there are accepts" 202 "$status"
end_daemon TERM
expect_equal "a full disk: the end is orderly" 0 "$ended"
unmount_all

# Somebody else takes what the reserve gave back: nothing can be written down, so nothing is sent.
small_disk
begin_full
set_origin online
await 60 is_given_back || not_ok "an attempt has the reserve give its space back" "no reserve" \
    "$(ls "$work/state")"
fill_disk
start_origin --honour-keys
fetch "$origin/0"
sleep 2
expect_at_most "a disk filled by others: most of it waits" $((count / 2)) \
    "$(effects 'select(.key) | .key' | wc -l)"
expect_known "a disk filled by others" 0
stop_origin
has_space_again
expect_sent "with space again" 0
end_daemon TERM
expect_equal "a disk filled by others: the end is orderly" 0 "$ended"
finish
