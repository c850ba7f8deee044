#!/usr/bin/env bash
# A daemon that takes over what is left of a damaged state.db, killed before each step with which the
# new file takes the place of the old one: renames, syncs, removals. The next start has every
# modifier, the old file lies where it was set aside, with its WAL and its copy, whole, and status
# and doctor name all three (P-02).
# `await` calls functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

state=$work/state
db=$state/state.db

# Kills its process before the step $KILL_AT of those on files of $KILL_FOLDER, from the first on that
# the salvage takes; what step that was is in $KILL_NOTE.
cat >"$work/kill.c" <<'END'
#define _GNU_SOURCE
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int steps = 0;

static void step(const char *what, const char *path) {
    const char *folder = getenv("KILL_FOLDER"), *at = getenv("KILL_AT");
    if (!folder || !at || strncmp(path, folder, strlen(folder)) != 0) return;
    if (strstr(path, "reserve") || strstr(path, "-journal") || (steps == 0 && !strstr(path, "state.db.new"))) return;
    if (__atomic_add_fetch(&steps, 1, __ATOMIC_SEQ_CST) != atoi(at)) return;
    FILE *note = fopen(getenv("KILL_NOTE"), "w");
    fprintf(note, "%s%s", what, path + strlen(folder));
    fclose(note);
    kill(getpid(), SIGKILL);
}

static void step_on(const char *what, int file) {
    char name[64], path[PATH_MAX + 1];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t length = readlink(name, path, PATH_MAX);
    if (length <= 0) return;
    path[length] = 0;
    step(what, path);
}

int fsync(int file) {
    step_on("sync ", file);
    return (int)syscall(SYS_fsync, file);
}
int fdatasync(int file) {
    step_on("sync ", file);
    return (int)syscall(SYS_fdatasync, file);
}
int unlink(const char *path) {
    if (access(path, F_OK) == 0) step("remove ", path);
    return (int)syscall(SYS_unlink, path);
}
int rename(const char *path, const char *place) {
    step("rename ", path);
    return (int)syscall(SYS_rename, path, place);
}
END
compiler=$(command -v cc || command -v clang || command -v gcc)
if [[ -z $compiler ]]; then
    skip "kills between the steps of a salvage" "there is no C compiler to make them with"
    finish
fi
"$compiler" -shared -fPIC -o "$work/kill.so" "$work/kill.c" \
    || give_up "what kills is made" "a library" "nothing"

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
page=$(sqlite3 "$work/look.db" "SELECT rootpage FROM sqlite_schema WHERE name = 'kept_pinned'")
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

is_over() {
    ! kill -0 "$daemon" || is_ready
}

for ((n = 1; n < 100; n++)); do
    rm -rf "$state" "$work/killed"
    cp --archive "$damaged" "$state"
    KILL_AT=$n KILL_FOLDER=$state KILL_NOTE=$work/killed LD_PRELOAD=$work/kill.so \
        "$bin/larderd" --config "$config" 2>>"$work/larderd.log" &
    daemon=$!
    await 60 is_over || give_up "step $n: the daemon is killed or starts" "an end" "none"
    [[ -e $work/killed ]] || break
    wait "$daemon" 2>/dev/null
    start_daemon
    expect_kept "killed before '$(<"$work/killed")'"
    end_daemon KILL
done
expect_kept "not killed"
expect_match "there were steps to be killed at" '^[0-9]{2}$' "$((n - 1))"
end_daemon TERM
finish
