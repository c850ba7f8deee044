#!/usr/bin/env python3
"""Scripted server for the vectors of this folder; README.md describes the format."""

import argparse
import array
import fcntl
import json
import socket
import sys
import termios
import threading
import time
import urllib.parse
from typing import Any, Dict, List, Optional

Request = Dict[str, Any]


class Script:
    """The exchanges of a vector, and what was wrong with the requests."""

    def __init__(self, vector: Dict[str, Any]) -> None:
        self.exchanges: List[Dict[str, Any]] = vector["exchanges"]
        self.more = bool(vector.get("more"))
        self.requests: List[Request] = []
        self.mismatches: List[str] = []
        self.served = 0
        self.lock = threading.Lock()

    def take(self, request: Request) -> List[Dict[str, Any]]:
        """The steps of the answer to the next request."""
        with self.lock:
            index = len(self.requests)
            self.requests.append(request)
            if index >= len(self.exchanges):
                if not self.more:
                    self.mismatches.append(f"a further request: {request['method']} {request['path']}")
                return [OVERLOADED]
            exchange = self.exchanges[index]
            self.compare(index, exchange.get("request", {}), request)
            self.served += 1
            print("served", self.served, flush=True)
            steps: List[Dict[str, Any]] = exchange["answer"]
            return steps

    def compare(self, index: int, wanted: Dict[str, Any], request: Request) -> None:
        def check(what: str, expected: Any, got: Any) -> None:
            if expected != got:
                self.mismatches.append(f"request {index}: {what} is {got!r}, not {expected!r}")

        for name in ("method", "path"):
            if name in wanted:
                check(name, wanted[name], request[name])
        for name, value in wanted.get("parameters", {}).items():
            check(name, value, request["parameters"].get(name))
        for name, value in wanted.get("headers", {}).items():
            check(name, value, request["headers"].get(name.lower()))
        if "same_as" in wanted:
            first = self.requests[wanted["same_as"]]
            for name in ("method", "path", "body"):
                check(name, first[name], request[name])

    def report(self) -> Dict[str, Any]:
        with self.lock:
            return {
                "served": self.served,
                "expected": len(self.exchanges),
                "mismatches": self.mismatches,
            }


OVERLOADED: Dict[str, Any] = {
    "status": 503,
    "headers": {"Content-Type": "application/problem+json", "Retry-After": "1"},
    "json": {
        "type": "urn:larder:overloaded",
        "title": "The daemon has too much to do",
        "status": 503,
        "detail": "the vector has no further exchange",
        "request_id": "v-0",
        "retryable": True,
        "hint": "Try again in a moment.",
    },
}


def read_request(stream: Any) -> Optional[Request]:
    """The next request of a connection; None at its end."""
    line = stream.readline().decode("latin-1").strip()
    if not line:
        return None
    method, target, _ = line.split(" ", 2)
    headers: Dict[str, str] = {}
    for raw in iter(stream.readline, b"\r\n"):
        if not raw:
            return None
        name, _, value = raw.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    body = read_body(stream, headers)
    path, _, query = target.partition("?")
    return {
        "method": method,
        "path": path,
        "headers": headers,
        "body": body.decode("utf-8", "replace"),
        "parameters": parameters(path, query, body),
    }


def read_body(stream: Any, headers: Dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return bytes(stream.read(int(headers.get("content-length", "0"))))
    body = b""
    while True:
        size = int(stream.readline().split(b";")[0], 16)
        body += stream.read(size)
        stream.readline()
        if size == 0:
            return body


def parameters(path: str, query: str, body: bytes) -> Dict[str, Any]:
    """The query and the body's object in one, as the README describes."""
    found: Dict[str, Any] = {}
    for name, text in urllib.parse.parse_qsl(query, keep_blank_values=True):
        if path == "/v1/watch" and name in ("prefix", "id", "types"):
            name = {"prefix": "prefixes", "id": "ids"}.get(name, name)
            found.setdefault(name, []).append(text)
        elif text in ("true", "false"):
            found[name] = text == "true"
        elif name == "since":
            found[name] = int(text)
        else:
            found[name] = text
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    if isinstance(value, dict):
        found.update({name: member for name, member in value.items() if member is not None})
    return found


class Answer:
    """Sends the steps of one answer."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.has_head = False

    def send(self, steps: List[Dict[str, Any]]) -> bool:
        """Whether the connection stays open."""
        for step in steps:
            if not self.take(step):
                return False
        return True

    def take(self, step: Dict[str, Any]) -> bool:
        if "json" in step:
            body = json.dumps(step["json"]).encode()
            self.head(step, {"Content-Length": str(len(body))}, body)
            return True
        if "head" in step:
            self.head(step["head"], {"Transfer-Encoding": "chunked"})
            return True
        if not self.has_head:
            self.head({}, {"Transfer-Encoding": "chunked"})
        if "frame" in step:
            line = json.dumps(step["frame"], ensure_ascii=False).encode() + b"\n"
            places = [0, *step.get("cuts", []), len(line)]
            for start, end in zip(places, places[1:]):
                self.chunk(line[start:end])
        elif "frames" in step:
            lines = [json.dumps(frame, ensure_ascii=False) + "\n" for frame in step["frames"]]
            self.chunk("".join(lines).encode())
        elif "text" in step:
            self.chunk(step["text"].encode())
        elif "silence" in step:
            while self.connection.recv(4096):
                pass
            return False
        elif "finish" in step:
            self.connection.sendall(b"0\r\n\r\n")
            return not step.get("close")
        elif "cut" in step:
            self.wait_until_read()
            return False
        else:
            raise ValueError(f"unknown step {step}")
        return True

    def wait_until_read(self) -> None:
        """A close may make a client lose what it has not read, as any broken connection does."""
        unread = array.array("i", [1])
        end = time.monotonic() + 60
        while time.monotonic() < end:
            fcntl.ioctl(self.connection, termios.TIOCOUTQ, unread)
            if unread[0] == 0:
                return
            time.sleep(0.001)

    def head(self, given: Dict[str, Any], framing: Dict[str, str], body: bytes = b"") -> None:
        self.has_head = True
        status = given.get("status", 200)
        kind = "application/json" if body else "application/jsonl"
        headers = {"Server": "larderd/0.0.0", "Content-Type": kind}
        headers.update(given.get("headers", {}))
        if status != 204:
            headers.update(framing)
        lines = [f"HTTP/1.1 {status} Scripted"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        self.connection.sendall(head + (body if status != 204 else b""))

    def chunk(self, data: bytes) -> None:
        if data:
            self.connection.sendall(b"%x\r\n%b\r\n" % (len(data), data))


def serve(connection: socket.socket, script: Script) -> None:
    stream = connection.makefile("rb")
    try:
        while True:
            request = read_request(stream)
            if request is None or not Answer(connection).send(script.take(request)):
                break
    except (ConnectionError, OSError):
        pass
    finally:
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        stream.close()
        connection.close()


def accept(listener: socket.socket, script: Script) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, script), daemon=True).start()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--socket", required=True, help="path of the Unix socket")
    parser.add_argument("vector", help="file of the vector")
    options = parser.parse_args()
    with open(options.vector, encoding="utf-8") as file:
        script = Script(json.load(file))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(options.socket)
    listener.listen(64)
    threading.Thread(target=accept, args=(listener, script), daemon=True).start()
    print("ready", flush=True)
    while sys.stdin.buffer.read(4096):
        pass
    print(json.dumps(script.report()), flush=True)


if __name__ == "__main__":
    main()
