#!/usr/bin/env bash
# The unit files under the real systemd, as the first process of fresh namespaces: activation by the
# first connection, users that are told apart, files that are nobody else's, a restart that no client
# notices, a watchdog that bites, and a daemon of a user's own under that user's manager. Needs root
# and a cgroup of its own; is skipped without.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

hierarchy=/sys/fs/cgroup
[[ ! -d $hierarchy/unified ]] || hierarchy=$hierarchy/unified
cgroup=$hierarchy/larder-test.$$
outer=0
init=0

# Without all of this there is no systemd to be booted.
can_boot() {
    local program
    ((EUID == 0)) || return 1
    for program in systemctl unshare nsenter setpriv; do
        command -v "$program" >/dev/null || return 1
    done
    [[ -x /lib/systemd/systemd && -f $hierarchy/cgroup.procs ]] && mkdir "$cgroup" 2>/dev/null
}

if ! can_boot; then
    skip "the units under systemd" "it cannot be booted here"
    finish
fi

end_systemd() {
    ((outer == 0)) || kill -KILL "$outer" 2>/dev/null
    wait "$outer" 2>/dev/null
    local tries=50
    # Its groups are empty a moment after its processes are gone.
    until find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null && [[ ! -d $cgroup ]]; do
        ((tries -= 1)) || break
        sleep 0.1
    done
}
trap 'end_systemd; clean_up' EXIT

# -- what it boots

programs=$(realpath "$bin")
units=$work/units
mkdir -p "$units"
cp config/systemd/larder.socket config/systemd/larder.service "$units"
sed -i 's|^ExecStart=.*|ExecStart=/mnt/bin/larderd --config /mnt/larder.yaml|; s|^WatchdogSec=.*|WatchdogSec=3s|' \
    "$units/larder.service"
printf '[Unit]\nRequires=larder.socket\nAfter=larder.socket\n' >"$units/larder-test.target"
# The manager of a user, as logind starts it at a login.
owner=20004
runtime=/run/user/$owner
mkdir "$work/user-units"
cp config/systemd/user/larder.* "$work/user-units"
sed -i 's|^ExecStart=.*|ExecStart=/mnt/bin/larderd|' "$work/user-units/larder.service"
cat >"$units/session.service" <<END
[Service]
Type=notify
User=$owner
Delegate=yes
RuntimeDirectory=user/$owner
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=restart
Environment=XDG_RUNTIME_DIR=$runtime HOME=$runtime/home
ExecStart=/lib/systemd/systemd --user
END
printf 'cache: {max_bytes: 64MiB, min_free_bytes: 0B}\n' >"$work/boot.yaml"
# The group that config/sysusers.d makes, and two members of it.
members=20010
{
    cat /etc/group
    printf 'larder-clients:x:%d:\nlarder-config:x:%d:\n' "$members" "$((members + 1))"
} >"$work/group"
{
    cat /etc/passwd
    printf 'owner:x:%d:%d::%s/home:/bin/sh\n' "$owner" "$owner" "$runtime"
} >"$work/passwd"

# Runs as the first process of the namespaces. Every place of the machine that systemd writes to is
# covered, and what would empty /tmp is masked besides.
cat >"$work/boot" <<'END'
set -eu
work=$1
programs=$2
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/bin
mount --bind "$programs" /mnt/bin
cp -a "$work/units" "$work/user-units" /mnt
cp "$work/boot.yaml" /mnt/larder.yaml
for file in group passwd; do
    cp "$work/$file" "/mnt/$file"
    mount --bind "/mnt/$file" "/etc/$file"
done
mount -t proc proc /proc
mount --bind /proc/sys /proc/sys
mount -o remount,ro,bind /proc/sys
for folder in /run /var/lib /var/cache /var/log /etc/systemd/system; do
    mount -t tmpfs -o mode=755 tmpfs "$folder"
done
for folder in /tmp /var/tmp; do mount -t tmpfs -o mode=1777 tmpfs "$folder"; done
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /run/systemd/system
cp -a /mnt/units/. /run/systemd/system/
cp -a /mnt/user-units /run/systemd/user
for unit in setup.service setup-dev.service clean.service clean.timer; do
    ln -s /dev/null "/run/systemd/system/systemd-tmpfiles-$unit"
done
mount --make-rshared /
export container=other
exec setpriv --bounding-set=-sys_time,-sys_boot,-sys_module,-syslog \
    /lib/systemd/systemd --system --unit=larder-test.target \
    --log-target=console --log-level=warning --show-status=0
END

(
    echo "$BASHPID" >"$cgroup/cgroup.procs"
    exec unshare --fork --kill-child --pid --mount --ipc --uts --cgroup \
        bash "$work/boot" "$work" "$programs" >"$work/larderd.log" 2>&1
) &
outer=$!

inside() {
    nsenter --target "$init" --all "$@"
}

has_booted() {
    init=$(pgrep --parent "$outer" | head -n 1)
    [[ -n $init ]] && inside systemctl is-active --quiet larder.socket
}

await 60 has_booted || give_up "systemd boots with the socket" "larder.socket is active" \
    "$(tail -n 20 "$work/larderd.log")"

# as UID curl's options …: asks the daemon as this user, who is in the group of its clients.
as() {
    local uid=$1
    shift
    inside setpriv --reuid="$uid" --regid="$uid" --groups="$members" \
        curl --silent --max-time 50 --unix-socket /run/larder/api.sock "$@"
}

code() {
    as "$@" --output /dev/null --write-out '%{http_code}'
}

property() {
    inside systemctl show --value --property="$1" larder.service
}

# -- activation

expect_equal "nothing runs before somebody asks" inactive "$(property ActiveState)"
expect_equal "the first connection starts the daemon, and is served" 200 \
    "$(code 20001 http://larder/v1/health)"
expect_equal "systemd knows that it is ready" active "$(property ActiveState)"
expect_equal "and what it does" "serves /run/larder/api.sock" "$(property StatusText)"

# -- users

expect_equal "one user puts an entry" 201 \
    "$(code 20001 --request PUT --data-binary x http://larder/v1/entries/a)"
expect_equal "and reads it" 200 "$(code 20001 http://larder/v1/entries/a)"
expect_equal "which another does not see" 404 "$(code 20002 http://larder/v1/entries/a)"
for uid in 20001 20002; do
    expect_equal "the daemon sees who asks: $uid" "$uid" \
        "$(as "$uid" http://larder/v1/status | jq .you.user)"
done
stranger=$(inside setpriv --reuid=20003 --regid=20003 --clear-groups \
    curl --silent --unix-socket /run/larder/api.sock http://larder/v1/status; echo "$?")
expect_equal "whoever is not in the group does not get in" 7 "$stranger"

main=$(property MainPID)
expect_equal "the daemon has no rights of root" "0000000000000000" \
    "$(inside sed -n 's/^CapEff:\t//p' "/proc/$main/status")"
expect_equal "its files are nobody else's" "600 600 700 700" \
    "$(inside stat --format=%a /var/cache/larder/cache.db /var/lib/larder/state.db \
        /var/cache/larder/ /var/lib/larder/ | paste --serial --delimiters ' ')"

# -- restarts

was_restarted() {
    (($(property NRestarts) > 0)) && [[ $(property ActiveState) == active ]]
}

inside systemctl restart larder.service &
restart=$!
served=
for _ in 1 2 3 4 5 6 7 8; do
    # With curl's own status: a client that is served sees neither a code but 200 nor a failure.
    served+=" $(code 20001 http://larder/v1/entries/a || echo "curl: $?")"
done
wait "$restart"
expect_equal "clients are served all through a restart" " 200 200 200 200 200 200 200 200" "$served"
expect_equal "which is no failure" "0 success" "$(property NRestarts) $(property Result)"

inside kill -STOP "$(property MainPID)"
if await 60 was_restarted; then ok "a daemon that hangs is started anew"; else
    not_ok "a daemon that hangs is started anew" "a restart" \
        "$(inside systemctl status --no-pager larder.service)"
fi
expect_equal "and still has what was put" 200 "$(code 20001 http://larder/v1/entries/a)"

inside systemctl stop larder.service
expect_equal "it ends well when it is told to" "inactive success" \
    "$(property ActiveState) $(property Result)"
expect_equal "its socket stays, and starts it again" 200 \
    "$(code 20001 http://larder/v1/health)"

# -- a user's own daemon

# in_session COMMAND…: as the user, with what a login sets.
in_session() {
    inside setpriv --reuid="$owner" --regid="$owner" --clear-groups \
        env XDG_RUNTIME_DIR="$runtime" HOME="$runtime/home" "$@"
}

own_property() {
    in_session systemctl --user show --value --property="$1" larder.service
}

own_status() {
    in_session curl --silent --max-time 50 --unix-socket "$runtime/larder/api.sock" \
        http://larder/v1/status | jq .you.user
}

inside systemctl start session.service
expect_equal "the command of the README takes a user's own socket" 0 \
    "$(in_session systemctl --user enable --now larder.socket >&2; echo "$?")"
expect_equal "which no other user may open" "700 600" \
    "$(inside stat --format=%a "$runtime/larder" "$runtime/larder/api.sock" \
        | paste --serial --delimiters ' ')"
expect_equal "nothing runs before the user's first request" inactive "$(own_property ActiveState)"
expect_equal "the user's manager starts the daemon, which serves the user" "$owner active" \
    "$(own_status) $(own_property ActiveState)"
expect_equal "as a process of the user" "$owner" \
    "$(inside stat --format=%u "/proc/$(own_property MainPID)")"
inside systemctl restart session.service
expect_equal "after the next login the socket listens without a command" "inactive $owner" \
    "$(own_property ActiveState) $(own_status)"
finish
