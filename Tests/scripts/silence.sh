#!/usr/bin/env bash
# cachectl where the daemon cannot start or hangs: each command ends, and says which command shows
# why.
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

unset LARDER_SOCKET NO_COLOR
if [[ -e /run/larder/api.sock ]]; then
    skip "without a daemon, status names the service's commands" "a daemon runs here"
else
    code=0
    "$bin/cachectl" --system status 2>"$work/err" || code=$?
    expect_match "without the system's daemon, status exits 69 and names the commands that show why" \
        "^69 .*systemctl status larder .*journalctl -u larder " "$code $(tr '\n' ' ' <"$work/err")"
fi
# user_status: of a user whose daemon does not run, as root's own is the system's.
user_status() {
    env HOME="$work" XDG_CACHE_HOME= XDG_RUNTIME_DIR="$work/runtime" "$@" "$bin/cachectl" --user status
}
as=()
chmod 711 "$work"
((EUID != 0)) || as=(setpriv --reuid 65534 --clear-groups)
if ((EUID == 0)) && ! "${as[@]}" "$bin/cachectl" --version >/dev/null 2>&1; then
    skip "without the user's daemon, status names the user's service" "another user cannot run cachectl"
else
    code=0
    user_status "${as[@]}" 2>"$work/err" || code=$?
    expect_match "without the user's daemon, status names the user's service" \
        "^69 .*systemctl --user status larder .*journalctl --user -u larder " \
        "$code $(tr '\n' ' ' <"$work/err")"
fi

configure <<'END'
origins: {web: {base_url: "http://127.0.0.1:9", allow_private: true}}
END
start_daemon
kill -STOP "$daemon"
url=http://127.0.0.1:9/a
printf x >"$work/file"
commands=(
    "status" "get $url" "get an-id" "get $url --json" "put an-id $work/file" "rm an-id" "ls"
    "ls --type User" "inspect an-id" "evict --all --yes" "evict an-id --yes" "pin $url"
    "pin --list" "unpin an-id" "queue list" "queue show m-1" "queue retry m-1" "queue drop m-1"
    "queue cancel m-1" "queue wait" "queue pause lane" "queue resume lane" "watch" "df" "df -v"
    "doctor" "stats" "reload" "origin list" "origin add other http://127.0.0.1:9/o"
    "origin rm web" "origin check web" "origin offline web" "origin online web"
)
pids=()
for number in "${!commands[@]}"; do
    # shellcheck disable=SC2086
    timeout 120 "$bin/cachectl" --socket "$socket" ${commands[number]} \
        >"$work/out.$number" 2>"$work/err.$number" </dev/null &
    pids+=($!)
done
for number in "${!commands[@]}"; do
    code=0
    wait "${pids[number]}" || code=$?
    expect_match "cachectl ${commands[number]} ends with 69 where the daemon hangs" \
        "^69 .*no larderd answers at $socket \\(it takes connections and does not answer\\)" \
        "$code $(cat "$work/err.$number" "$work/out.$number" | tr '\n' ' ')"
done
kill -CONT "$daemon"
finish
