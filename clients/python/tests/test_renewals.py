"""Many renewals by two programs with rotating refresh tokens, and kill -9 (S27).

The daemon asks for one account seven times in a row, then once in a minute. So the renewals are
spread over accounts, each with a refresh token of its own. LARDER_RENEWALS is their number.
"""

import datetime
import json
import os
import socket
import subprocess
import sys
import threading
import unittest

from support import ROOT, DaemonTest, await_condition

import larder

COUNT = int(os.environ.get("LARDER_RENEWALS", "100"))
# Of seven orders of an account, one may die with its program. 100 clients of a user may wait.
EACH, ACCOUNTS_MAX = 6, 48

PROGRAM = """
import datetime, json, socket, sys
sys.path.insert(0, sys.argv[1])
import larder

daemon, tokens, name, *accounts = sys.argv[2:]

def renewer(account):
    def login(reason):
        # The connection is open while the callback runs, also until a kill.
        with socket.create_connection(("127.0.0.1", int(tokens))) as server:
            stream = server.makefile("rw")
            print(json.dumps([name, account]), file=stream, flush=True)
            refresh = stream.readline().strip()
            print(refresh, file=stream, flush=True)
            access = stream.readline().strip()
        if not access:
            raise RuntimeError("no token")
        soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=2)
        return larder.Credential(f"Bearer {access}", soon)
    return login

for account in accounts:
    larder.Client(daemon, account).provide_credential("api", renewer(account))
print("ready", flush=True)
sys.stdin.read()
"""


class TokenServer:
    """Gives each program the refresh token of an account, and takes each token once.

    The refresh token is stored when it is rotated, so a killed program loses none.
    """

    def __init__(self):
        self.lock = threading.Condition()
        self.current, self.active, self.faults = {}, {}, []
        # `doomed` is about to be killed: its last renewals do not end here.
        self.doomed, self.killed, self.held, self.holds = set(), set(), [], None
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
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
        name, account = json.loads(stream.readline())
        with self.lock:
            other = self.active.get(account)
            if other and other not in self.doomed:
                self.faults.append(f"{name} and {other} renew {account} at the same time")
            self.active[account] = name
            refresh = self.current.setdefault(account, 0)
            if name == self.holds:
                # The program waits in its callback until it is killed.
                self.held.append(account)
                self.lock.wait_for(lambda: name in self.killed, 60)
        try:
            print(refresh, file=stream, flush=True)
            given = int(stream.readline())
            with self.lock:
                if given != self.current[account]:
                    self.faults.append(f"{name} used token {given} of {account} again")
                self.current[account] = given + 1
            print(f"{account}-{given + 1}", file=stream, flush=True)
            stream.readline()  # The end of the callback.
        finally:
            with self.lock:
                if self.active.get(account) == name:
                    del self.active[account]

    def renewals(self):
        with self.lock:
            return sum(self.current.values())


class RenewalTests(DaemonTest):
    def setUp(self):
        super().setUp()
        self.tokens = TokenServer()
        self.addCleanup(self.tokens.listener.close)

    def start(self, name, accounts):
        package = str(ROOT / "clients" / "python")
        arguments = [package, self.daemon.socket, str(self.tokens.port), name, *accounts]
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for clean_up in (program.wait, program.stdout.close, program.stdin.close, program.kill):
            self.addCleanup(clean_up)
        self.assertEqual(program.stdout.readline(), b"ready\n")
        return program

    def run_round(self, number, accounts):
        tokens, before = self.tokens, self.tokens.renewals()
        soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=2)
        for account in accounts:
            with larder.Client(self.daemon.socket, account) as client:
                client.set_credential("api", larder.Credential("Bearer first", soon))
        victim = f"victim {number}"
        first, second = self.start(victim, accounts), self.start(f"other {number}", accounts)
        await_condition(lambda: tokens.renewals() - before >= len(accounts), 60, "one renewal each")
        with tokens.lock:
            tokens.holds = victim
        await_condition(lambda: tokens.held, 60, "a renewal to kill")
        with tokens.lock:
            tokens.doomed.add(victim)
        first.kill()
        first.wait()
        with tokens.lock:
            lost, tokens.held = list(tokens.held), []
            tokens.killed.add(victim)
            tokens.holds = None
            reached = {account: tokens.current[account] for account in lost}
            tokens.lock.notify_all()
        await_condition(
            lambda: all(tokens.current[account] > reached[account] for account in lost),
            60,
            f"the other program's renewal after the kill: {lost}",
        )
        third = self.start(f"again {number}", accounts)
        await_condition(
            lambda: tokens.renewals() - before >= EACH * len(accounts), 120, "all renewals of a round"
        )
        for program in (second, third):
            program.kill()
            program.wait()

    def test_no_renewal_is_doubled_or_lost_while_programs_are_killed(self):
        done, number = 0, 0
        while done < COUNT:
            size = min(ACCOUNTS_MAX, -(-(COUNT - done) // EACH))
            self.run_round(number, [f"account-{number}-{n}" for n in range(size)])
            done, number = self.tokens.renewals(), number + 1
        self.assertEqual(self.tokens.faults, [])
        self.assertGreaterEqual(done, COUNT)
        print(f"# {done} renewals in {number} rounds, one kill -9 in each")


if __name__ == "__main__":
    unittest.main()
