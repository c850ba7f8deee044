#!/usr/bin/env bash
# What cachectl advises on the rights of a socket, for the daemon that is meant.
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "$0")/support.sh"

unset LARDER_SOCKET

# -- the mode that is configured

mode=0660 configure </dev/null
start_daemon

# finding: what doctor says of the socket, and its fix.
finding() {
    "$bin/cachectl" --socket "$socket" doctor --json </dev/null 2>/dev/null \
        | jq --raw-output 'select(.subject == "socket") | "\(.state)|\(.detail)|\(.fix)"'
}

expect_match "a socket of the mode that is configured is well" "^ok\|.* has the mode 0660 .*\|null$" \
    "$(finding)"
chmod 0600 "$socket"
expect_match "one that only its owner may open is well: nobody is advised to open it to others" \
    "^ok\|.* has the mode 0600 .*\|null$" "$(finding)"
chmod 0640 "$socket"
expect_match "one of another mode is told, with the command that gives it the configured one" \
    "^warning\|.*the mode 0640 .*, and sockets.mode is 0660\|chmod 0660 '$socket'$" "$(finding)"
eval "$(finding | sed 's/.*|//')"
expect_match "which does" "^ok\|.*0660" "$(finding)"
end_daemon TERM

# -- a umask that would close the folder of the socket

rm -r "$work/run"
mask=$(umask)
umask 077
start_daemon
umask "$mask"
expect_equal "the folder that the daemon makes is open to the group's clients, whatever the umask" \
    755 "$(stat --format %a "$work/run")"
end_daemon TERM
rm -r "$work/run"
mode=0600 configure </dev/null
umask 077
start_daemon
umask "$mask"
expect_equal "the umask counts for the folder of a socket that is for its owner only" \
    700 "$(stat --format %a "$work/run")"
end_daemon TERM
mode=0660 configure </dev/null

# -- the system's socket, for whoever may not open it

if ((EUID != 0)) || ! unshare --mount mount -t tmpfs none /run 2>/dev/null \
    || ! setpriv --reuid=64021 --regid=64021 --clear-groups "$bin/cachectl" --version \
        >/dev/null 2>&1; then
    skip "the advice on the system's socket" "root's rights are needed, and programs that all may run"
    finish
fi

# -- no daemon answers

# nowhere ARGUMENTS: what cachectl tells another user.
nowhere() {
    local nowhere=$work/nowhere
    mkdir -p "$nowhere" && chmod 0711 "$work" && chmod 0777 "$nowhere"
    # Variables of the inner shell.
    # shellcheck disable=SC2016
    unshare --mount bash -c 'mount -t tmpfs none /run
        HOME=$1 XDG_RUNTIME_DIR=$1 setpriv --reuid=64021 --regid=64021 --clear-groups "${@:2}" 2>&1
        echo "exit $?"' - "$nowhere" "$bin/cachectl" "$@" </dev/null | tr '\n' ' '
}

own='systemctl --user enable --now larder.socket'
expect_match "both ways to begin are named where no daemon answers (S4)" \
    "sudo adduser NAME larder-clients .*log in again.*$own.*exit 69" "$(nowhere status)"
expect_match "without the user's daemon the command that starts it is named" \
    "Start it: $own .*exit 69" "$(nowhere --user status)"
expect_match "without the system's daemon a daemon of the user's own is named, too" \
    "sudo systemctl start larder .*$own.*exit 69" "$(nowhere --system status)"

# advised MODE GID: what another user is told of a socket with these rights at the system's path.
advised() {
    # shellcheck disable=SC2016
    unshare --mount bash -c '
        mount -t tmpfs none /run && mkdir /run/larder
        perl -MIO::Socket::UNIX -e \
            "IO::Socket::UNIX->new(Local => \"/run/larder/api.sock\", Listen => 1) or die"
        chmod "$2" /run/larder/api.sock && chgrp "$3" /run/larder/api.sock
        setpriv --reuid=64021 --regid=64021 --clear-groups "$1" --system status 2>&1
        echo "exit $?"' - "$bin/cachectl" "$1" "$2" </dev/null | tr '\n' ' '
}

expect_match "one whose mode shuts all groups out is given another mode" \
    'The socket has mode 0600, which admits no group. .*sockets.mode: "0660".*exit 77' "$(advised 0600 0)"
expect_match "one whose group is root is given a group" \
    'The socket has the group root. .*SocketGroup=.*exit 77' "$(advised 0660 0)"
expect_match "else its group is to be joined" \
    'sudo usermod -aG 64090 NAME .*log in again.*systemctl --user enable --now larder.socket.*exit 77' \
    "$(advised 0660 64090)"
expect_match "a group with a name by adduser" \
    'sudo adduser NAME daemon .*log in again.*systemctl --user enable --now larder.socket.*exit 77' \
    "$(advised 0660 "$(getent group daemon | cut -d: -f3)")"

finish
