"""Many renewals by two programs with one account and one rotating refresh token, and kill -9 (S27).

LARDER_RENEWALS is their number. A renewal takes a second at least: the daemon pauses that long
between two orders, and after seven orders in a row it asks once in a minute. So after six renewals
the test kills the programs and starts the daemon again.
"""

import datetime
import faulthandler
import json
import os
import socket
import subprocess
import sys
import threading
import unittest

from support import ROOT, DaemonTest, await_condition

import larder

COUNT = int(os.environ.get("LARDER_RENEWALS", "18"))
# Of seven orders in a row, one may die with its program.
EACH = 6

PROGRAM = """
import datetime, json, os, socket, sys
sys.path.insert(0, sys.argv[1])
import larder

daemon, tokens, name, file = sys.argv[2:]

def login(reason):
    with socket.create_connection(("127.0.0.1", int(tokens))) as server:
        stream = server.makefile("rw")
        with open(file) as saved:
            refresh = saved.read()
        print(json.dumps([name, refresh]), file=stream, flush=True)
        access, refresh = json.loads(stream.readline())
        # The programs share the file, so the new token is there before the callback returns.
        with open(f"{file}.{name}", "w") as saved:
            saved.write(refresh)
        os.replace(saved.name, file)
        print("saved", file=stream, flush=True)
        if not stream.readline():
            raise RuntimeError("no end")
    soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=2)
    return larder.Credential(f"Bearer {access}", soon)

larder.Client(daemon).provide_credential("api", login)
print("ready", flush=True)
sys.stdin.read()
"""


class TokenServer:
    """Takes each refresh token once, and gives the next one with an access token.

    A renewal waits until the access token before it has been used. The programs in `holds` wait
    at a point of their callback until they are killed: "asked" is before the server takes the
    refresh token, "saved" is after the program has saved the next one.
    """

    def __init__(self):
        self.lock = threading.Condition()
        # The number of the last tokens, and that of an access token which is not used yet.
        self.current, self.unused, self.faults = 0, None, []
        # The program that renews now, and the one that waits to be killed.
        self.active, self.held, self.killed = None, None, set()
        self.holds, self.point = set(), "asked"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("rw") as stream:
            try:
                self.renew(stream)
            except (OSError, ValueError):
                pass  # The program was killed.

    def renew(self, stream):
        name, refresh = json.loads(stream.readline())
        with self.lock:
            if name in self.killed:
                return
            if self.active:
                self.faults.append(f"{name} and {self.active} renew at the same time")
            self.active = name
            self.lock.wait_for(lambda: self.unused is None or name in self.killed, 60)
            if self.dies(name, "asked"):
                return
            if refresh != f"refresh {self.current}":
                self.faults.append(f"{name} used {refresh!r} after {self.current} renewals")
            self.current += 1
            answer = [str(self.current), f"refresh {self.current}"]
        print(json.dumps(answer), file=stream, flush=True)
        saved = stream.readline()
        with self.lock:
            if not saved:
                self.faults.append(f"{name} has lost {answer[1]!r}")
            if self.dies(name, "saved"):
                return
            # From here on the program may give its credential to the daemon.
            self.active, self.unused = None, self.current
        print("end", file=stream, flush=True)

    def dies(self, name, point):
        """Whether a program is killed at a point of its callback."""
        if name in self.holds and point == self.point:
            self.held = name
            self.lock.wait_for(lambda: name in self.killed, 60)
        return name in self.killed


class RenewalTests(DaemonTest):
    def setUp(self):
        super().setUp()
        self.tokens = TokenServer()
        self.addCleanup(self.tokens.listener.close)
        self.file = self.folder / "refresh"
        self.file.write_text("refresh 0")
        self.origin.put("/r", {"n": 1})
        soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=2)
        first = larder.Credential("Bearer 0", soon)
        self.set_at = self.client.set_credential("api", first)["set_at"]
        # The access tokens that were used, and those that died with their program.
        self.used, self.unsent, self.programs = [], 0, {}

    def start(self, name):
        package = str(ROOT / "clients" / "python")
        arguments = [package, self.daemon.socket, str(self.tokens.port), name, str(self.file)]
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for clean_up in (program.wait, program.stdout.close, program.stdin.close, program.kill):
            self.addCleanup(clean_up)
        self.assertEqual(program.stdout.readline(), b"ready\n")
        self.programs[name] = program

    def use(self):
        """Sends a request with the credential that the last renewal gave, once."""
        tokens = self.tokens
        with tokens.lock:
            unused = tokens.unused
        set_at = self.client.credential("api")["set_at"]
        if unused is None or set_at == self.set_at:
            return
        self.client.get(self.origin.url + "/r", policy="network-only")
        self.set_at = set_at
        self.used.append(unused)
        with tokens.lock:
            tokens.unused = None
            tokens.lock.notify_all()

    def use_until(self, condition, what):
        """Uses each credential until none is unused and the condition is true."""

        def is_met():
            self.use()
            with self.tokens.lock:
                return self.tokens.unused is None and condition()

        await_condition(is_met, 60, what)

    def kill(self, names, point):
        """Ends programs with SIGKILL, the one that renews at a point of its callback.

        No program is killed between the answer of the token server and the end of its save: it
        would lose the only refresh token that counts.
        """
        tokens = self.tokens
        with tokens.lock:
            tokens.holds, tokens.point = set(names), point or "asked"
        self.use_until(
            lambda: tokens.held or (not point and tokens.active not in names),
            f"a moment to kill {names}: {point}",
        )
        with tokens.lock:
            self.unsent += point == "saved"
            tokens.killed |= tokens.holds
            if tokens.active in names:
                tokens.active = None
            tokens.held = None
        for program in map(self.programs.pop, names):
            with program:
                program.kill()
        with tokens.lock:
            tokens.lock.notify_all()

    def run_round(self, number, point):
        tokens, victim, before = self.tokens, f"victim-{number}", self.tokens.current
        # The time limit of run.py counts for each round.
        faulthandler.dump_traceback_later(180, exit=True)
        self.start(victim)
        self.start(f"other-{number}")
        self.use_until(lambda: tokens.current > before, "the first renewal")
        self.kill([victim], point)
        reached = tokens.current
        self.use_until(lambda: tokens.current > reached, f"a renewal after a kill: {point}")
        self.start(f"again-{number}")
        self.use_until(lambda: tokens.current >= before + EACH, "all renewals of a round")
        self.kill(list(self.programs), None)
        self.daemon.stop()
        self.daemon.start()

    def test_no_renewal_is_doubled_or_lost_while_programs_are_killed(self):
        number = 0
        while self.tokens.current < COUNT:
            self.run_round(number, ("asked", "saved", None)[number % 3])
            number += 1
        self.assertEqual(self.tokens.faults, [])
        self.assertEqual(len(self.used) + self.unsent, self.tokens.current)
        requests = map(json.loads, self.origin.ask("GET", "/_received").splitlines())
        carried = [one.get("authorization") for one in requests if one["method"] == "GET"]
        self.assertEqual(carried, [f"Bearer {token}" for token in self.used])
        self.assertEqual(self.used, sorted(set(self.used)))
        print(f"# {self.tokens.current} renewals in {number} rounds, with a kill -9 in each")


if __name__ == "__main__":
    unittest.main()
