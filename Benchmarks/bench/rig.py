"""What the cases share: the folder, the servers beside the daemon, the rounds."""

import contextlib
import functools
import os
import subprocess
import sys
import urllib.parse

import load
from figures import Figure
from servers import Broken, Larder, Loop, Nginx, Redis, Varnish

IDS = 1000
BODY_BYTES = 1024
COALESCING = {"modifiers": {"coalesce": "net"}}


def say(text):
    print(text, file=sys.stderr, flush=True)


class Rig:
    """Programs by the name that the table gives them: `larder`, and with `--before` another build."""

    def __init__(self, folder, programs, rounds, python_path, origin, accounts=None):
        self.folder = folder
        self.programs = programs
        self.rounds = rounds
        self.python_path = python_path
        # Settings of the origins of `larder`, which another build perhaps does not know.
        self.origin = origin
        # By program the account of writes and of reads of origins, which then join writes.
        self.accounts = accounts or {}
        self.numbered = load.Numbered(programs["larder"])
        self.started = []
        # No two accepts of a run have a target in common.
        self.next_number = 1

    def numbers(self, count):
        first = self.next_number
        self.next_number += count
        return first

    # -- servers

    def start(self, server):
        self.started.append(server)
        return server.start()

    def stop_all(self):
        for server in reversed(self.started):
            server.stop()

    @contextlib.contextmanager
    def running(self, server):
        """The server, started; it is stopped behind its use."""
        self.start(server)
        try:
            yield server
        finally:
            server.stop()
            self.started.remove(server)

    def daemon(self, suffix, settings=None):
        """The daemon alone, on files of its own."""
        return self.larder("larder", suffix, settings)

    @contextlib.contextmanager
    def daemons(self, suffix, settings=None):
        """A daemon of each build, on files of its own."""
        with contextlib.ExitStack() as started:
            yield {
                name: started.enter_context(self.larder(name, suffix, settings))
                for name in self.programs
            }

    @contextlib.contextmanager
    def larder(self, name, suffix, settings):
        account = self.accounts.get(name)
        common = COALESCING if account else {}
        origin = {**common, **(self.origin if name == "larder" else {})}
        with self.running(Larder(
                self.folder, self.programs[name], self.nginx.port, f"{name}-{suffix}", settings,
                origin, account)) as daemon:
            daemon.log_in()
            yield daemon

    @functools.cached_property
    def nginx(self):
        return self.start(Nginx(self.folder, self.body.decode(), self.document))

    @functools.cached_property
    def others(self):
        """What has a cache or an answer of its own, where it is installed."""
        found = {"nginx": self.nginx}
        for name, kind, argument in [("varnish", Varnish, self.nginx), ("epoll", Loop, self.body)]:
            if started := self.start_if_installed(kind, argument):
                found[name] = started
        return found

    @functools.cached_property
    def redis(self):
        return self.start_if_installed(Redis)

    def start_if_installed(self, kind, *arguments):
        if kind.is_installed():
            return self.start(kind(self.folder, *arguments))
        say(f"left out: {kind.program} is not installed; see scripts/bench --install-peers")
        return None

    # -- what is asked for

    body = b"x" * BODY_BYTES
    document = '{"liked": false, "text": "' + "x" * (BODY_BYTES - 29) + '"}'

    @functools.cached_property
    def body_file(self):
        path = os.path.join(self.folder, "body")
        with open(path, "wb") as file:
            file.write(self.body)
        return path

    def urls(self, name, targets):
        return load.url_list(self.folder, name, targets)

    def url(self, origin, number):
        """The URL of an answer of the origin's, which is its id."""
        return f"http://localhost:{self.nginx.port}/{origin}/{number}"

    def entry(self, origin, number):
        return "/v1/entries/" + urllib.parse.quote(self.url(origin, number), safe="")

    def merge(self, url):
        """A write that changes one member."""
        effect = {"type": "merge", "value": {"liked": True}}
        return {"changes": [{"target": {"id": url}, "effect": effect}]}

    # -- the rounds

    def compare(self, target, name, unit, ways, aims=(), rounds=None, requests=None):
        """A figure of one value a round of each way, a callable by its server's name, in turns.

        `requests` is how many a way makes of the daemon, a pair with it; then its processor time is
        measured, too."""
        figure = Figure(target, name, unit, aims=list(aims))
        names = list(ways)
        for number in range(rounds or self.rounds):
            # Nobody is always the one after the same other.
            turn = number % len(names)
            for way in names[turn:] + names[:turn]:
                daemon = requests and way == "larder" and requests[0]
                before = daemon.processor_seconds() if daemon else 0
                figure.add(way, ways[way]())
                if daemon:
                    spent = daemon.processor_seconds() - before
                    figure.processor.append(spent / requests[1] * 1e6)
        medians = {way: server["median"] for way, server in figure.summary()["servers"].items()}
        say(f"  {name}: " + ", ".join(f"{way} {median} {unit}" for way, median in medians.items()))
        return figure

    def run(self, *arguments, **options):
        """What a program prints; Broken with its last words when it fails."""
        done = subprocess.run(arguments, capture_output=True, text=True, **options)
        if done.returncode != 0:
            raise Broken(f"{arguments[0]} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def has_python(self, module):
        if os.path.isdir(os.path.join(self.python_path, module)):
            return True
        say(f"left out: Python's {module} is not installed; see scripts/bench --install-peers")
        return False

    def python(self, script, *arguments):
        environment = dict(os.environ, PYTHONPATH=self.python_path)
        path = os.path.join(os.path.dirname(__file__), script)
        return self.run(sys.executable, path, *map(str, arguments), env=environment)
