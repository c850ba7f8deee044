"""What the tests share: the scripted server of the vectors, and waiting for a condition."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
VECTORS = ROOT / "clients" / "vectors"
sys.path.insert(0, str(ROOT / "clients" / "python"))

import larder  # noqa: E402


class ScriptedServer:
    """The server of one vector, a file or its value, at `socket`."""

    def __init__(self, vector):
        self.folder = tempfile.TemporaryDirectory()
        self.socket = os.path.join(self.folder.name, "s")
        if isinstance(vector, dict):
            value, vector = vector, Path(self.folder.name) / "vector.json"
            vector.write_text(json.dumps(value))
        self.process = subprocess.Popen(
            [sys.executable, str(VECTORS / "server.py"), "--socket", self.socket, str(vector)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n"

    def report(self):
        """Ends the scripted server and returns the requests that it got."""
        out, _ = self.process.communicate(timeout=60)
        self.folder.cleanup()
        return json.loads(out.splitlines()[-1])

    def stop(self):
        """Ends the scripted server of a test that has failed before its report."""
        if self.process.returncode is None:
            self.process.kill()
            self.process.communicate()
            self.folder.cleanup()


def await_condition(condition, seconds=60.0, what="the condition"):
    """Tries again and again until the condition is true; returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true within {seconds} s")
        time.sleep(0.01)


BIN = Path(os.environ.get("LARDER_BIN", ROOT / ".build" / "debug")).resolve()


def free_port():
    """A port below those that the kernel gives to connections, so that it stays free."""
    for _ in range(1000):
        port = random.randint(12000, 32000)
        with socket.socket() as made:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                made.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise AssertionError("no port is free")


def answers(port):
    with socket.socket() as made:
        return made.connect_ex(("127.0.0.1", port)) == 0


class Process:
    """A program that is started again with the same arguments."""

    process = None

    def stop(self, how=signal.SIGTERM):
        if self.process:
            self.process.send_signal(how)
            self.process.wait(60)
            self.process = None


class TestOrigin(Process):
    """larder-test-origin; its --help says what it can be told."""

    def __init__(self, folder):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.effects = folder / "effects"
        self.start()

    def start(self):
        options = ["--log", self.effects, "--honour-keys", "--close"]
        self.process = subprocess.Popen(
            [BIN / "larder-test-origin", "--port", str(self.port), *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        await_condition(lambda: answers(self.port), what="the start of the origin")

    def ask(self, method, path, value=None):
        body = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(self.url + path, body, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()

    def put(self, path, value):
        self.ask("PUT", path, value)

    def control(self, **command):
        self.ask("POST", "/_control", command)

    def held(self):
        return json.loads(self.ask("GET", "/_control"))["held"]


class Nginx(Process):
    """nginx that serves the folder `www`."""

    def __init__(self, folder):
        self.folder, self.port = folder / "nginx", free_port()
        self.www = self.folder / "www"
        self.www.mkdir(parents=True)
        self.url = f"http://127.0.0.1:{self.port}"
        names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        paths = "".join(f"{name}_temp_path {self.folder}/{name};\n" for name in names)
        user = "user root;" if os.getuid() == 0 else ""
        (self.folder / "conf").write_text(
            f"{user}daemon off; worker_processes 1; pid {self.folder}/pid;\n"
            f"error_log {self.folder}/error.log; events {{}}\nhttp {{\n{paths}"
            "types { application/json json; text/plain txt; }\n"
            f"access_log {self.folder}/access.log;\n"
            f"server {{ listen 127.0.0.1:{self.port}; root {self.www}; }}\n}}\n"
        )
        self.start()

    def start(self):
        program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        arguments = [program, "-p", self.folder, "-e", self.folder / "error.log", "-c", self.folder / "conf"]
        self.process = subprocess.Popen(arguments)
        await_condition(lambda: answers(self.port), what="the start of nginx")


class Daemon(Process):
    """larderd with its own folders and socket."""

    def __init__(self, folder, configuration):
        self.folder = folder
        self.socket = str(folder / "run" / "api.sock")
        (folder / "run").mkdir()
        self.file = folder / "larder.yaml"
        self.file.write_text(
            f'sockets: {{api: {self.socket}, mode: "0600"}}\n'
            f"storage: {{cache_directory: {folder}/cache, state_directory: {folder}/state}}\n"
            + configuration
        )
        self.log = open(folder / "larderd.log", "ab")
        self.start()

    def start(self):
        self.process = subprocess.Popen([BIN / "larderd", "--config", self.file], stderr=self.log)
        await_condition(self.is_ready, 60, "the start of larderd")

    def is_ready(self):
        assert self.process.poll() is None, (self.folder / "larderd.log").read_text()[-2000:]
        try:
            with larder.Client(self.socket) as client:
                return client.status()
        except larder.Problem:
            return None

    def kill(self):
        self.stop(signal.SIGKILL)


class DaemonTest(unittest.TestCase):
    """A test with a daemon, an origin `api` that is told what to do, and nginx as `files`."""

    has_nginx = False
    more = reads = ""

    def setUp(self):
        if not (BIN / "larderd").exists():
            self.skipTest(f"there is no {BIN}/larderd")
        self.folder = Path(self.enterContext_(tempfile.TemporaryDirectory()))
        self.origin = TestOrigin(self.folder)
        self.addCleanup(self.origin.stop)
        # A busy machine takes longer than the 300 ms after which a cached answer shows.
        fetch = f"fetch: {{network_wait: 60s{self.reads}}}"
        api = f'base_url: "{self.origin.url}", allow_private: true, {fetch}{self.more}'
        origins = f"origins:\n  api: {{{api}}}\n"
        if self.has_nginx:
            self.nginx = Nginx(self.folder)
            self.addCleanup(self.nginx.stop)
            origins += f'  files: {{base_url: "{self.nginx.url}", allow_private: true, {fetch}}}\n'
        self.daemon = Daemon(self.folder, origins + "cache: {max_entry_bytes: 300MiB}\n")
        self.addCleanup(self.daemon.stop)
        self.addCleanup(self.daemon.log.close)
        self.client = larder.Client(self.daemon.socket)
        self.addCleanup(self.client.close)

    def enterContext_(self, manager):
        value = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return value

    def collect(self, stream):
        """The items of a stream, as a thread reads them; the list grows."""
        items = []
        thread = threading.Thread(target=lambda: items.extend(self.each(stream, items)), daemon=True)
        thread.start()
        self.addCleanup(thread.join, 20)
        self.addCleanup(stream.close)
        return items

    @staticmethod
    def each(stream, items):
        for item in stream:
            items.append(item)
        return []
