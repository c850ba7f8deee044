#!/usr/bin/env bash
# More connections than there are files for: each further client is told so, the log too, and who has
# a connection is served meanwhile.
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

if ! command -v python3 >/dev/null; then
    skip "many connections" "there is no python3"
    finish
fi
configure </dev/null
hard=$(ulimit -Hn)
if ! ulimit -n 128; then
    skip "many connections" "the limit of open files cannot be set"
    finish
fi
start_daemon
ulimit -Hn "$hard" 2>/dev/null || :
# Prints what further clients get, and what a connection that is open gets.
python3 - "$socket" >"$work/told" <<'END'
import socket, sys

def connect():
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(30)
    client.connect(sys.argv[1])
    return client

def ask(client):
    client.sendall(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
    return client.recv(65536)

first = connect()
ask(first)
clients = [connect() for _ in range(70)]
last = connect()
try:
    last.send(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
except BrokenPipeError:
    pass
print(last.recv(65536).decode().replace("\r\n", "|"))
print(ask(first)[:12].decode())
for client in clients:
    client.close()
END
expect_match "a further client is told 503, why, and what helps" \
    '^HTTP/1.1 503 .*Retry-After: 1.*urn:larder:overloaded.*too many connections.*LimitNOFILE' \
    "$(head -n 1 "$work/told")"
expect_equal "one that has a connection is served" "HTTP/1.1 200" "$(tail -n 1 "$work/told")"
expect_equal "the log says it once" 1 \
    "$(grep --count 'there are too many connections, clients are refused' "$work/larderd.log")"
request GET /v1/health
expect_equal "and once they have gone, others are served" 200 "$status"
end_daemon TERM
finish
