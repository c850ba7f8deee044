#!/usr/bin/env bash
# The daemon as a service: a socket that was opened before it, what it tells the service manager,
# the watchdog, and the unit files. A small program stands for systemd; where systemd's own tools
# are there, they judge the units.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317,SC2069
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

if ! command -v python3 >/dev/null; then
    skip "the daemon as a service" "there is no python3"
    finish
fi
configure <<<''
manager=0
told=$work/told
programs=$(realpath "$bin")

# Opens the socket, starts the daemon with it and with a place for its notices, and writes each
# notice as one line. Arguments: the watchdog's microseconds, or 0.
start_service() {
    : >"$told"
    python3 - "$1" "$socket" "$work/notify" "$programs/larderd" "$config" \
        >"$told" 2>>"$work/larderd.log" <<'END' &
import os, socket, subprocess, sys

watchdog, path, address, program, config = sys.argv[1:]
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
# An abstract address, as systemd uses for services with a root folder of their own.
name = "\0" + address
manager.bind(name)
api = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
api.bind(path)
api.listen(16)


def pass_on():
    os.dup2(api.fileno(), 3)
    os.set_inheritable(3, True)
    environment = {
        "LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "api",
        "NOTIFY_SOCKET": "@" + address, "HOME": os.environ.get("HOME", "/"),
    }
    if watchdog != "0":
        environment |= {"WATCHDOG_USEC": watchdog, "WATCHDOG_PID": str(os.getpid())}
    os.execve(program, [program, "--config", config], environment)


daemon = os.fork()
if daemon == 0:
    pass_on()
print(f"pid {daemon}", flush=True)
manager.settimeout(1)
while True:
    try:
        notice = manager.recv(4096).decode()
    except TimeoutError:
        notice = ""
    if notice:
        print(notice.strip().replace("\n", " "), flush=True)
    done, status = os.waitpid(daemon, os.WNOHANG)
    if done:
        print(f"ended {os.waitstatus_to_exitcode(status)}", flush=True)
        break
END
    manager=$!
    await 60 was_told '^READY=1' || give_up "the service becomes ready" "READY=1" "$(cat "$told")"
    daemon=$(sed -n 's/^pid //p' "$told")
}

was_told() {
    grep -q "$1" "$told"
}

expect_longest_queue() {
    if command -v ss >/dev/null; then
        local longest
        longest=$(cat /proc/sys/net/core/somaxconn)
        expect_equal "$1" "$((longest < 4096 ? longest : 4096))" \
            "$(ss -xlH src "$socket" | awk '{ print $4 }')"
    else
        skip "$1" "there is no ss"
    fi
}

end_service() {
    kill -s TERM "$daemon"
    await 60 was_told '^ended' || give_up "the service ends" "ended 0" "$(cat "$told")"
    wait "$manager"
    daemon=0
}

# -- activation

start_service 0
expect_equal "the daemon says what it does while it starts" "STATUS=opens its files" \
    "$(sed -n 2p "$told")"
expect_equal "and that it is ready, and where" "READY=1 STATUS=serves $socket" \
    "$(sed -n 3p "$told")"
expect_equal "a client is served at the socket that was passed" 200 \
    "$(api --output /dev/null --write-out '%{http_code}' http://larder/v1/health)"
expect_longest_queue "the queue of the socket is as long as the kernel grants"
reloads() { (($(grep -c '^RELOADING=1 MONOTONIC_USEC=[1-9][0-9]*$' "$told") == $1)); }
readies() { (($(grep -c '^READY=1' "$told") == $1)); }
kill -HUP "$daemon"
if await 60 reloads 1 && await 60 readies 2; then
    ok "at SIGHUP the daemon says that it reloads, and that it is ready again"
else
    not_ok "at SIGHUP the daemon says that it reloads" "RELOADING=1, READY=1" "$(cat "$told")"
fi
cp "$config" "$work/right.yaml"
printf 'log: {level: loud}\n' >>"$config"
kill -HUP "$daemon"
if await 60 reloads 2 && await 60 readies 3; then
    ok "also where the configuration is refused"
else
    not_ok "also where the configuration is refused" "RELOADING=1, READY=1" "$(cat "$told")"
fi
mv "$work/right.yaml" "$config"
expect_equal "there is no lock of the daemon's own beside a socket that is not its own" "" \
    "$(find "$work/run" -name '*.lock')"
end_service
expect_match "the daemon says that it ends" 'STOPPING=1 STATUS=lets what runs come to its end' \
    "$(cat "$told")"
expect_equal "and ends well" "ended 0" "$(tail -n 1 "$told")"
expect_equal "the socket that was passed is left where it was" socket "$(stat -c %F "$socket")"
rm -f "$socket"

# -- the watchdog

start_service 200000
fed() { (($(grep -c '^WATCHDOG=1$' "$told") >= 5)); }
if await 60 fed; then ok "the watchdog is fed"; else
    not_ok "the watchdog is fed" "five times" "$(cat "$told")"
fi
end_service
rm -f "$socket"

start_service 600000000
expect_equal "the watchdog is fed at once, and then only in its time" 1 \
    "$(await 60 was_told '^WATCHDOG=1$'; grep -c '^WATCHDOG=1$' "$told")"
end_service
rm -f "$socket"

# -- without a service manager

start_daemon
expect_longest_queue "the queue of a socket of the daemon's own is as long"
end_daemon TERM
expect_equal "which is taken away at its end" "" "$(find "$work/run" -name '*.sock')"

# -- what cannot be used

# refusal VARIABLE=VALUE …: what the daemon says when it is started with descriptor 3 and these.
refusal() {
    env LISTEN_FDS=1 "$@" bash -c 'LISTEN_PID=$$ exec "$@" 3</dev/null' bash \
        "$programs/larderd" --config "$config" 2>&1 >/dev/null
}

expect_equal "what is passed and is no socket is refused in words" \
    "larderd: the descriptor 3 that was passed is no socket" \
    "$(refusal LISTEN_FDNAMES=api)"
expect_equal "a socket of another name too" \
    "larderd: a socket named 'web' was passed, which has no use; FileDescriptorName=api names one" \
    "$(refusal LISTEN_FDNAMES=web)"
expect_equal "and a variable that systemd does not set so" \
    "larderd: NOTIFY_SOCKET is 'nowhere', which systemd does not set" \
    "$(refusal NOTIFY_SOCKET=nowhere)"

# -- the same with systemd's own starter

if command -v systemd-socket-activate >/dev/null; then
    systemd-socket-activate --listen="$socket" --fdname=api \
        "$programs/larderd" --config "$config" 2>>"$work/larderd.log" &
    daemon=$!
    await 60 test -S "$socket"
    expect_equal "the first client starts the daemon and is served" 200 \
        "$(api --output /dev/null --write-out '%{http_code}' http://larder/v1/health)"
    end_daemon TERM
    expect_equal "which ends well" 0 "$ended"
    rm -f "$socket"
else
    skip "the first client starts the daemon" "there is no systemd-socket-activate"
fi

# -- the unit files

if command -v systemd-analyze >/dev/null; then
    units=$work/units
    mkdir -p "$units/user"
    cp config/systemd/larder.* "$units"
    cp config/systemd/user/larder.* "$units/user"
    sed -i "s|^ExecStart=/usr/bin/larderd|ExecStart=$programs/larderd|" \
        "$units"/larder.service "$units"/user/larder.service
    expect_equal "systemd finds nothing wrong with the system's units (S8)" "" \
        "$(systemd-analyze verify "$units"/larder.* 2>&1)"
    expect_equal "nor with the user's (S8)" "" \
        "$(XDG_RUNTIME_DIR=$work/run systemd-analyze --user verify "$units"/user/larder.* 2>&1)"
    verdict=$(systemd-analyze security --offline=true --threshold=15 \
        config/systemd/larder.service 2>&1) && verdict=
    expect_equal "the system's service is exposed as little as can be (S8)" "" "$verdict"
    # A user's service has no capabilities, and no mounts without a user namespace, in which it could not
    # tell its clients apart. The tool counts both nevertheless, so that this unit cannot have 1.5: it has 6.6.
    verdict=$(XDG_RUNTIME_DIR=$work/run systemd-analyze --user security --offline=true --threshold=66 \
        config/systemd/user/larder.service 2>&1) && verdict=
    expect_equal "the user's service is exposed no further than it has to be (S8)" "" "$verdict"
else
    skip "the unit files" "there is no systemd-analyze"
fi
for unit in config/systemd/larder.service config/systemd/user/larder.service; do
    expect_equal "$unit reloads by SIGHUP" "ExecReload=/bin/kill -HUP \$MAINPID" \
        "$(grep '^ExecReload=' "$unit")"
    expect_equal "$unit gives the start as long as a migration takes" "TimeoutStartSec=infinity" \
        "$(grep '^TimeoutStartSec=' "$unit")"
    expect_equal "$unit sets nothing that hides who asks or deletes the socket" "" \
        "$(grep -E '^(PrivateUsers|RuntimeDirectory)=' "$unit")"
done
finish
