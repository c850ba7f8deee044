#!/usr/bin/env bash
# The real daemon and clients that mean no good or know no better: each of their requests ends in a
# problem or a closed connection, others are served meanwhile, and memory stays bounded.
# `await` and the like call functions by their names.
# shellcheck disable=SC2317
# shellcheck source=Tests/scripts/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

if ! command -v python3 >/dev/null; then
    skip "clients that mean no good" "there is no python3"
    finish
fi
configure <<'END'
cache: {max_bytes: 256MiB, max_entry_bytes: 32MiB}
origins:
  o: {base_url: "http://127.0.0.1:9", allow_private: true, modifiers: {respond_async: true}}
END
# A soft limit that the daemon has to raise, or 1,000 connections would not fit.
ulimit -Sn 256
start_daemon
ulimit -Sn "$(ulimit -Hn)"

# Prints `ok …` and `not ok …` as the checks of support.sh do; it ends with 1 if one failed.
python3 - "$socket" "$daemon" <<'END' || failures=$((failures + 1))
import os, random, re, resource, signal, socket, sys, threading, time

path, pid = sys.argv[1], sys.argv[2]
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
failures = 0
HOST = b"Host: x\r\n"


def check(name, good, got=""):
    global failures
    print(("ok " if good else "not ok ") + name, flush=True)
    if not good:
        failures += 1
        print(f"  got: {got!r}"[:2000], file=sys.stderr, flush=True)


def connect():
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(30)
    client.connect(path)
    return client


def resident():
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) // 1024


def open_files():
    return len(os.listdir(f"/proc/{pid}/fd"))


def open_sockets():
    # Not counted are files: a reader of the store opens them when it is used first.
    count = 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            count += os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:")
        except FileNotFoundError:
            pass
    return count


def until_closed(client):
    got = b""
    try:
        while piece := client.recv(1 << 16):
            got += piece
    except ConnectionResetError:
        pass
    return got


def send(client, data):
    """Sends what the daemon takes; it may close before it has taken all."""
    try:
        client.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        pass


def ask(data, pieces=None):
    """The whole answer to requests of which the last one closes the connection."""
    with connect() as client:
        for piece in pieces or [data]:
            send(client, piece)
        return until_closed(client)


def request(method, target, body=None, *fields):
    head = f"{method} {target} HTTP/1.1\r\n".encode() + HOST
    for field in fields:
        head += field.encode() + b"\r\n"
    if body is not None:
        head += b"Content-Length: %d\r\n" % len(body)
    return head + b"\r\n" + (body or b"")


def status(answer):
    return int(answer[9:12]) if answer.startswith(b"HTTP/1.") else 0


def one(method, target, body=None, *fields):
    return ask(request(method, target, body, "Connection: close", *fields))


# Within less than any time-out of the daemon's own, however slow the machine is.
def is_served():
    begin = time.monotonic()
    good = status(one("PUT", "/v1/entries/others", b"x")) in (201, 204) \
        and one("GET", "/v1/entries/others").endswith(b"\r\n\r\nx")
    return good and time.monotonic() - begin < 25


def problem(answer, code, kind=None):
    return status(answer) == code and b"application/problem+json" in answer \
        and (kind is None or b"urn:larder:" + kind.encode() + b'"' in answer)


check("the daemon serves", is_served())
files = open_files()

# -- many idle connections

before = resident()
idle = [connect() for _ in range(1000)]
deadline = time.monotonic() + 60
while open_files() < files + 1000 and time.monotonic() < deadline:
    time.sleep(0.02)
check("1,000 idle connections are taken", open_files() >= files + 1000, open_files())
check("others are served meanwhile", is_served())
check("which cost less than 64 MiB", resident() - before < 64, (before, resident()))
idle[500].sendall(request("GET", "/v1/health"))
check("each of them can still ask", idle[500].recv(100).startswith(b"HTTP/1.1 200"))
for client in idle:
    client.close()

# -- half requests

half = []
whole = request("PUT", "/v1/entries/half", b"y" * 5000)
for size in range(1, len(whole), max(1, len(whole) // 60)):
    client = connect()
    client.sendall(whole[:size])
    half.append(client)
check("others are served while 60 requests are half there", is_served())
for client in half:
    client.close()
check("nothing of half a request is kept", status(one("GET", "/v1/entries/half")) == 404)

# -- endless heads and bodies

before = resident()
for name, start, piece, code in [
    ("an endless target", b"GET /", b"x" * 60000, 431),
    ("an endless header", b"GET / HTTP/1.1\r\nHost: x\r\nA: ", b"x" * 60000, 431),
    ("endless headers", b"GET / HTTP/1.1\r\nHost: x\r\n", b"A: b\r\n" * 9000, 431),
    ("an endless method", b"", b"G" * 60000, 400),
    ("endless empty lines", b"", b"\r\n" * 30000, 0),
]:
    with connect() as client:
        send(client, start)
        for _ in range(40):
            send(client, piece)
        if not code:
            client.shutdown(socket.SHUT_WR)
        answer = until_closed(client)
        check(f"{name}: {code or 'closed'}", status(answer) == code, answer)
with connect() as client:
    send(client, b"PUT /v1/entries/endless HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"10000\r\n" + b"z" * 65536 + b"\r\n"
    for _ in range(700):
        send(client, chunk)
    check("a body without an end is 413", problem(until_closed(client), 413, "entry-too-large"))
check("a length over the limit is 413 before a byte of it came", problem(ask(
    b"PUT /v1/entries/long HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"
), 413, "entry-too-large"))
check("a command over 1 MiB is 413", problem(
    one("POST", "/v1/evict", b" " * (1 << 20) + b'{"all":true}'), 413, "body-too-large"))
check("nothing of these is kept", status(one("GET", "/v1/entries/endless")) == 404
      and status(one("GET", "/v1/entries/long")) == 404)
check("and they cost less than 64 MiB", resident() - before < 64, (before, resident()))

# -- a client that never reads

large = b"L" * (24 << 20)
check("a large entry is taken", status(one("PUT", "/v1/entries/large", large)) == 201)
before = resident()
deaf = [connect() for _ in range(100)]
for client in deaf:
    send(client, request("GET", "/v1/entries/large"))
    send(client, request("GET", "/v1/entries/others") * 500)
check("others are served while 100 clients read nothing", is_served())
check("who cost less than 128 MiB", resident() - before < 128, (before, resident()))
got = b""
while len(got) < len(large):
    got += deaf[0].recv(1 << 20)
check("one that reads after all gets what it asked for", got.split(b"\r\n\r\n", 1)[1][:100] == large[:100])
for client in deaf:
    client.close()

# -- a client that asks and asks, and reads nothing

def asked(count):
    """A client that asks for as much as it can send, in the background."""
    client = connect()
    client.settimeout(None)
    sender = threading.Thread(target=send, daemon=True, args=(
        client, request("GET", "/v1/openapi.json") * count + request(
            "GET", "/v1/health", None, "Connection: close")))
    sender.start()
    return client


before = resident()
greedy = [asked(6000) for _ in range(4)]
for _ in range(50):
    is_served()
check("others are served while four clients ask 6,000 times and read nothing", is_served())
check("who cost less than 24 MiB", resident() - before < 24, (before, resident()))
length = len(one("GET", "/v1/openapi.json").split(b"\r\n\r\n", 1)[1])
reading, answers, body = asked(600), 0, None
stream = reading.makefile("rb")
while (line := stream.readline()).startswith(b"HTTP/1.1 200"):
    fields = dict(f.rstrip().lower().split(b": ", 1) for f in iter(stream.readline, b"\r\n"))
    body = stream.read(int(fields[b"content-length"]))
    answers += len(body) == length
check("one that reads after all gets all of them, in order",
      (answers, body) == (600, b'{"status":"ok"}'), (answers, body, line))
for client in greedy:
    client.shutdown(socket.SHUT_RDWR)
    client.close()
check("and the memory of those that have gone is not kept", resident() - before < 24,
      (before, resident()))

# -- bodies that are collected and never whole

before = resident()
head = (b"PUT /o/o/x HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n"
        b"Content-Length: %d\r\n\r\n" % (16 << 20))
halves = [connect() for _ in range(4)]
for client in halves:
    send(client, head + b"h" * (15 << 20))
check("four bodies of a user are collected", resident() - before > 40, (before, resident()))
check("a fifth is refused until one has gone", problem(ask(head), 503, "overloaded"))
check("a small one is not, and others are served", is_served())
for client in halves:
    client.close()
begin = time.monotonic()
while resident() - before > 24 and time.monotonic() < begin + 60:
    time.sleep(0.01)
check("what they have sent goes back", resident() - before <= 24, (before, resident()))
check("a write larger than one may be is 413 before a byte of it came", problem(ask(
    head.replace(b"%d" % (16 << 20), b"%d" % (59 << 20))), 413, "body-too-large"))

# -- clients that send no more

for target in ["/v1/entries/others", "/v1/openapi.json", "/v1/status"]:
    with connect() as client:
        send(client, request("GET", target))
        client.shutdown(socket.SHUT_WR)
        check(f"who shuts its writing side gets {target}", status(until_closed(client)) == 200)
with connect() as client:
    send(client, request("GET", "/v1/entries/others") * 3 + b"no HTTP\r\n\r\n")
    client.shutdown(socket.SHUT_WR)
    answer = until_closed(client)
    check("what is no request comes after what was asked before it",
          re.findall(rb"HTTP/1\.1 (\d+)", answer) == [b"200"] * 3 + [b"400"], answer)
opened = open_sockets()
pipe = os.pipe()
child = os.fork()
if child == 0:
    client = connect()
    send(client, request("GET", "/v1/watch?id=others"))
    client.shutdown(socket.SHUT_WR)
    os.write(pipe[1], b"x")
    signal.pause()
os.read(pipe[0], 1)
for _ in range(5):
    is_served()
check("one that only listens is listened to", open_sockets() > opened, (opened, open_sockets()))
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
begin = time.monotonic()
while open_sockets() > opened and time.monotonic() < begin + 60:
    time.sleep(0.01)
check("and is missed at once when it is killed", open_sockets() <= opened,
      (opened, open_sockets()))

# -- ids

for name, target, code in [
    ("an id with NUL", "/v1/entries/a%00b", 400), ("an empty id", "/v1/entries/", 400),
    ("an id with a line feed", "/v1/entries/a%0Ab", 400),
    ("an id of bytes that are no UTF-8", "/v1/entries/%ff%fe", 400),
    ("an id of 8,193 bytes", "/v1/entries/" + "i" * 8193, 400),
    ("an id of 60,000 bytes", "/v1/entries/" + "i" * 60000, 400),
    ("an id of 64 KiB", "/v1/entries/" + "i" * 65536, 431),
]:
    for method in ["GET", "PUT", "DELETE"]:
        answer = one(method, target, b"x" if method == "PUT" else None)
        if not problem(answer, code):
            check(f"{name} is refused", False, answer)
            break
    else:
        check(f"{name} is refused", True)
for name, target in [
    ("slashes", "/v1/entries/a%2Fb%2F..%2Fc"), ("bare slashes", "/v1/entries/a/b//c"),
    ("spaces", "/v1/entries/a%20b%20"), ("an emoji", "/v1/entries/%F0%9F%A6%8A"),
    ("8,192 bytes", "/v1/entries/" + "i" * 8192), ("dots", "/v1/entries/.."),
]:
    body = name.encode()
    answers = [status(one("PUT", target, body)), one("GET", target),
               status(one("DELETE", target)), status(one("GET", target))]
    check(f"an id with {name} is taken", answers[0] == 201 and answers[1].endswith(body)
          and answers[2:] == [204, 404], answers)

# -- the same bytes in other pieces

URL = "/v1/fetch?url=http%3A%2F%2Fnowhere.example%2F"
CONVERSATION = [
    request("PUT", "/v1/entries/cut", b"one"), request("GET", "/v1/entries/cut"),
    request("HEAD", "/v1/entries/cut"), request("GET", "/v1/entries/cut/explain"),
    request("PUT", "/v1/entries/cut?ttl=1d", b"t" * 70000), request("GET", "/v1/entries/cut"),
    b"PUT /v1/entries/cut HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nT: u\r\n\r\n",
    request("GET", "http://x/v1/entries/cut"), request("GET", "/v1/entries?prefix=cut"),
    request("POST", "/v1/fetch", b'{"url":"http://nowhere.example/"}'), request("GET", URL),
    request("POST", "/v1/evict", b'{"ids":["cut"],"dry_run":true}'),
    request("GET", "/v1/health"),
    request("GET", "/v1/openapi.json"), request("GET", "/nothing"),
    request("DELETE", "/v1/entries/cut"), request("DELETE", "/v1/entries/cut"),
    request("POST", "/v1/evict", b"{]"), request("GET", "/v1/entries/cut?bogus=1", None,
                                                 "Connection: close"),
]


def essence(answer):
    """Without what differs from one moment to the next."""
    for pattern in [rb"Date: [^\r]*", rb"Last-Modified: [^\r]*", rb'"request_id":"[^"]*"',
                    rb"Larder-Rev: \d+", rb"Age: \d+", rb'"rev":\d+', rb'"(stored_at|last_used)":[^,]*',
                    rb"Cache-Status: [^\r]*", rb'"fresh_until":[^,]*', rb"Content-Length: \d+"]:
        answer = re.sub(pattern, b"", answer)
    return answer


data = b"".join(CONVERSATION)
expected = essence(ask(data))
check("a conversation over all routes is answered whole",
      len(re.findall(rb"HTTP/1\.1 \d{3} ", expected)) == len(CONVERSATION), expected[-500:])
small = b"".join(r for r in CONVERSATION if len(r) < 1000)
whole_small = essence(ask(small))
check("byte by byte it is answered the same",
      essence(ask(small, [small[i:i + 1] for i in range(len(small))])) == whole_small)
seed = int.from_bytes(os.urandom(4), "big")
for index in range(20):
    chance = random.Random(seed + index)
    pieces, rest = [], data
    while rest:
        size = chance.choice([1, 2, 7, 100, 5000, 40000])
        pieces.append(rest[:size])
        rest = rest[size:]
    if essence(ask(data, pieces)) != expected:
        check(f"cut anywhere it is answered the same (seed {seed + index})", False)
        break
else:
    check("cut anywhere it is answered the same", True)

# -- noise

for index in range(300):
    chance = random.Random(seed + index)
    noise = bytearray(data[:chance.randrange(20, 4000)])
    for _ in range(chance.randrange(1, 20)):
        noise[chance.randrange(len(noise))] = chance.randrange(256)
    with connect() as client:
        send(client, bytes(noise))
        client.shutdown(socket.SHUT_WR)
        answer = until_closed(client)
        if answer and status(answer) == 0:
            check(f"noise is answered in HTTP (seed {seed + index})", False, answer)
check("others are served after all that", is_served())
deadline = time.monotonic() + 60
while open_files() > files + 2 and time.monotonic() < deadline:
    time.sleep(0.05)
check("no file is left open", open_files() <= files + 2, (files, open_files()))
check("the daemon has less than 256 MiB", resident() < 256, resident())
sys.exit(failures > 0)
END

expect_equal "the daemon has nothing to complain of" ok "$(status_of .state)"
end_daemon TERM
expect_equal "and ends well" 0 "$ended"
finish
