#!/usr/bin/env bash
# A daemon that takes over what is left of a damaged state.db, killed before each step with which the
# new file takes the place of the old one: renames, syncs, removals. The next start has every
# modifier, the old file lies where it was set aside, with its WAL and its copy, whole, and status
# and doctor name all three (P-02).
# `await` calls functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"
# shellcheck source=Tests/scripts/kill.sh
source Tests/scripts/kill.sh

state=$work/state
db=$state/state.db

configure <<'END'
origins:
  away: {base_url: "https://origin.invalid"}
END

# accept FIRST LAST: modifiers m-FIRST to m-LAST, which are not sent.
accept() {
    request POST /v1/modifiers --header 'Content-Type: application/json' --data "$(jq --null-input \
        --argjson first "$1" --argjson last "$2" '{modifiers: [range($first; $last + 1) as $n
            | "https://origin.invalid/\($n)" as $url
            | {id: "m-\($n)", hold: "1h", request: {method: "PUT", url: $url},
                changes: [{target: {id: $url}, effect: {type: "put", value: {n: $n}}}]}]}')"
    [[ $status == 202 ]] || give_up "modifiers are accepted" 202 "$status $(<"$work/body")"
}
known() {
    api "http://larder/v1/modifiers?limit=1000" | jq --raw-output '.items[].id' | sort
}

# -- a file with half of its modifiers in a WAL, and a page of an index that is noise

start_daemon
accept 1 40
end_daemon TERM
start_daemon
accept 41 80
end_daemon KILL
cp "$db" "$work/look.db"
page=$(sqlite3 "$work/look.db" "SELECT rootpage FROM sqlite_schema WHERE name = 'claim_pinned'")
head -c 4096 /dev/urandom | dd of="$db" bs=4096 seek=$((page - 1)) conv=notrunc status=none
printf 'a copy' >"$db.snapshot"
rm -f "$db-shm"
damaged=$work/damaged
cp --archive "$state" "$damaged"
all=$(for ((n = 1; n <= 80; n++)); do echo "m-$n"; done | sort)

# expect_kept STEP: what there is once the daemon has started.
expect_kept() {
    local told suffix
    expect_equal "$1: every modifier is there" "$all" "$(known)"
    for suffix in "" -wal .snapshot; do
        expect_same_file "$1: the old file$suffix is there" "$damaged/state.db$suffix" \
            "$db.aside$suffix"
    done
    expect_equal "$1: and nothing else of it" "" \
        "$(find "$state" -name 'state.db.*' ! -name state.db.aside ! -name state.db.aside-wal \
            ! -name state.db.aside.snapshot -printf '%f ')"
    for told in "$(status_of '.warnings | join("; ")')" \
        "$("$bin/cachectl" --socket "$socket" doctor 2>&1)"; do
        for suffix in "" -wal .snapshot; do
            [[ $told == *"'$db.aside$suffix'"* ]] || not_ok "$1: it is named" "$db.aside$suffix" "$told"
        done
    done
    expect_equal "$1: no file is malformed" "" "$(grep -i malformed "$work/larderd.log")"
}

for ((n = 1; n < 100; n++)); do
    rm -rf "$state"
    cp --archive "$damaged" "$state"
    plan_kill step "$n"
    start_killable
    was_killed || break
    killed=$(<"$KILL_PLAN.done")
    drop_plan
    start_daemon
    expect_kept "killed before '$killed'"
    end_daemon KILL
done
expect_kept "not killed"
expect_match "there were steps to be killed at" '^[0-9]{2}$' "$((n - 1))"
end_daemon TERM
finish
