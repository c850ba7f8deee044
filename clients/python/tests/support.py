"""What the tests share: the scripted server of the vectors, and waiting for a condition."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
VECTORS = ROOT / "clients" / "vectors"
sys.path.insert(0, str(ROOT / "clients" / "python"))


class ScriptedServer:
    """The server of one vector, at `socket`."""

    def __init__(self, vector):
        self.folder = tempfile.TemporaryDirectory()
        self.socket = os.path.join(self.folder.name, "s")
        self.process = subprocess.Popen(
            [sys.executable, str(VECTORS / "server.py"), "--socket", self.socket, str(vector)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n"

    def report(self):
        """What the server has seen; it ends."""
        out, _ = self.process.communicate(timeout=20)
        self.folder.cleanup()
        return json.loads(out.splitlines()[-1])


def await_condition(condition, seconds=30.0, what="the condition"):
    """Tries again and again until the condition is true; returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true within {seconds} s")
        time.sleep(0.01)
