#!/usr/bin/env bash
# SIGTERM ends the daemon within 10 s whatever the disk does: one that does not answer, and one that
# fails. What was answered before is there at the next start, as after a crash (P-01). A quota of the
# disk that is used up counts as a full disk.
# `await` calls functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

# A disk of our own: no sync comes to its end while the file $SYNC_STUCK is there, and each fails
# while $SYNC_FAILS is. While $QUOTA_FULL is there, nothing can be written.
cat >"$work/disk.c" <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_there(const char *name) {
    const char *path = getenv(name);
    return path && access(path, F_OK) == 0;
}

static int sync_by(long call, int file) {
    while (is_there("SYNC_STUCK")) usleep(10000);
    if (is_there("SYNC_FAILS")) { errno = EIO; return -1; }
    return (int)syscall(call, file);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    if (is_there("QUOTA_FULL")) { errno = EDQUOT; return -1; }
    return syscall(SYS_pwrite64, file, bytes, count, offset);
}

int fsync(int file) { return sync_by(SYS_fsync, file); }
int fdatasync(int file) { return sync_by(SYS_fdatasync, file); }
END
compiler=$(command -v cc || command -v clang || command -v gcc)
if [[ -z $compiler ]]; then
    skip "a disk that does not answer" "there is no C compiler to make one with"
    finish
fi
"$compiler" -shared -fPIC -o "$work/disk.so" "$work/disk.c" \
    || give_up "a disk is made" "a library" "nothing"
export SYNC_STUCK=$work/stuck SYNC_FAILS=$work/fails QUOTA_FULL=$work/full

configure <<'END'
origins:
  away: {base_url: "https://origin.invalid"}
END

# Holds its sends: the origin is away, and the order does not matter here.
accept() {
    request POST /v1/modifiers --header 'Content-Type: application/json' --data "$(jq --null-input \
        --arg id "$1" '{id: $id, hold: "1h", request: {method: "POST",
            url: "https://origin.invalid/1"}, changes: [{target: {id: "https://origin.invalid/1"},
            effect: {type: "none"}}]}')"
}


is_under_way() {
    [[ -s $work/during ]] || (($(status_of .connections) >= 2))
}

# expect_end FILE ID NAME: with the file there, what is being written does not come to its end; the
# daemon does.
expect_end() {
    local file=$1 id=$2 name=$3 began writing
    LD_PRELOAD=$work/disk.so start_daemon
    accept "before-$id"
    expect_equal "$name: before, a write is accepted" 202 "$status"
    request PUT "$(entry "note:$id")" --data-binary "kept"
    expect_equal "$name: before, a put is answered" 201 "$status"
    rm -f "$work/during"
    touch "$file"
    (accept "during-$id"; printf '%s\n' "$status" >"$work/during") &
    writing=$!
    await 60 is_under_way || not_ok "$name: a write is under way" "a connection, or its end" "none"
    began=$SECONDS
    end_daemon TERM
    expect_at_most "$name: SIGTERM ends it within 10 s" 20 $((SECONDS - began))
    expect_match "$name: with a status that says that the disk is at fault" '^74$' "$ended"
    wait "$writing"
    rm "$file"
    start_daemon
    request GET "/v1/modifiers/before-$id"
    expect_equal "$name: what was accepted is there" "200 held" "$status $(member .state)"
    request GET "/v1/modifiers/during-$id"
    expect_match "$name: what was not answered is there, or it is not" '^(200|404)$' "$status"
    request DELETE "/v1/modifiers/before-$id"
    end_daemon TERM
    expect_equal "$name: a later end is in order" 0 "$ended"
}

expect_end "$SYNC_STUCK" stuck "a disk that does not answer"
expect_match "the log says so" "the end takes too long" "$(cat "$work/larderd.log")"
expect_end "$SYNC_FAILS" fails "a disk that fails"

# SQLite fails the COMMIT, and has no errno for it.
LD_PRELOAD=$work/disk.so start_daemon
touch "$QUOTA_FULL"
accept over
expect_equal "a write over the quota of the disk is refused as on a full disk" \
    "507 urn:larder:disk-full" "$status $(member .type)"
rm "$QUOTA_FULL"
is_accepted() {
    accept within
    ((status == 202))
}
await 60 is_accepted || not_ok "with room again a write is accepted" 202 "$status"
end_daemon TERM
expect_equal "and the end is in order" 0 "$ended"
finish
