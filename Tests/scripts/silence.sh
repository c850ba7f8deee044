#!/usr/bin/env bash
# cachectl where the daemon cannot start: it says which command shows why.
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
finish
