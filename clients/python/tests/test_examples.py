"""The programs of Examples/python through outage, restart, lag, 410 and an expiring token."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import unittest

from support import ROOT, DaemonTest, await_condition

import larder


class ExampleTests(DaemonTest):
    more = ', normalize: {by_type: true, types: [{type: T, url: "/list/{id}"}]}, modifiers: {created_id: /id}'

    def start(self, name, *arguments):
        environment = {**os.environ, "LARDER_SOCKET": self.daemon.socket}
        environment["PYTHONPATH"] = str(ROOT / "clients" / "python")
        program = subprocess.Popen(
            [sys.executable, ROOT / "Examples" / "python" / name, *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        lines = []
        thread = threading.Thread(target=lambda: [lines.append(line.rstrip("\n")) for line in program.stdout])
        thread.start()
        self.addCleanup(program.stdout.close)
        self.addCleanup(thread.join, 20)
        self.addCleanup(program.wait, 20)
        self.addCleanup(program.kill)
        return program, lines

    def setUp(self):
        super().setUp()
        self.url = self.origin.url + "/list"
        self.rows = [{"type": "T", "id": n, "title": title, "liked": False} for n, title in ((7, "a"), (8, "b"))]
        self.origin.put("/list", self.rows)
        for row in self.rows:
            self.origin.put(f"/list/{row['id']}", row)

    def last(self, lines):
        """The rows of the last view."""
        starts = [i for i, line in enumerate(lines) if line.startswith("-- new") or line.startswith("-- old")]
        return lines[starts[-1] + 1 :] if starts else []

    def test_the_list_follows_over_outage_and_kill_9(self):
        _, lines = self.start("offline_list.py", self.url)
        await_condition(lambda: self.last(lines) == ["  a", "  b"], what=f"the list: {lines}")
        self.origin.stop()
        self.daemon.kill()
        self.daemon.start()
        item = self.client.create(self.url, {"type": "T", "title": "c"}, into="")
        await_condition(lambda: "~ c" in lines, what=f"the new row: {lines}")
        self.daemon.stop()
        self.daemon.start()
        self.origin.start()
        self.assertTrue(item.wait(60))
        await_condition(lambda: self.last(lines)[:3] == ["  a", "  b", "  c"], 60, f"the end of the mark: {lines}")

    def test_the_list_goes_on_after_lag_and_410(self):
        program, lines = self.start("offline_list.py", self.url)
        await_condition(lambda: self.last(lines) == ["  a", "  b"], what=f"the list: {lines}")
        # The program reads nothing while the list changes, more than the connection holds.
        program.send_signal(signal.SIGSTOP)
        count = 60
        for n in range(count):
            row = {"type": "T", "id": 100 + n, "title": f"{n}" + "x" * 50_000}
            self.origin.put("/list", [*self.rows, row])
            self.client.get(self.url, policy="network-only")
        program.send_signal(signal.SIGCONT)
        newest = f"  {count - 1}x"
        await_condition(lambda: self.last(lines)[2:] and lines[-1].startswith(newest), what="the newest list")
        self.assertLess(sum(line.startswith("-- ") for line in lines), count, "the program has not lagged")

        self.origin.control(prefix="/list", method="GET", times=1, status=410)
        with self.assertRaises(larder.Gone):
            self.client.get(self.url, policy="network-only")
        await_condition(lambda: lines[-1] == "-- the list is gone", what="the end of the list")
        self.origin.put("/list", self.rows)
        self.client.get(self.url, policy="network-only")
        await_condition(lambda: self.last(lines) == ["  a", "  b"], what="the list is back")

        # The daemon has lost its cache, so that its revisions begin again.
        self.daemon.kill()
        shutil.rmtree(self.folder / "cache")
        self.origin.put("/list", self.rows[1:])
        self.daemon.start()
        await_condition(lambda: self.last(lines) == ["  b"], 60, "the list after the loss")

    def test_a_refused_row_is_marked(self):
        self.client.get(self.url)
        self.origin.control(prefix="/list", method="POST", times=1, status=422)
        item = self.client.create(self.url, {"type": "T", "title": "c"}, into="")
        self.assertTrue(item.wait(30))
        _, lines = self.start("offline_list.py", self.url)
        await_condition(lambda: "! c" in lines, what=f"the failed row: {lines}")

    def test_like_and_create_over_outage_kill_9_and_a_token_that_has_expired(self):
        self.client.get(self.url)
        self.client.get(f"{self.url}/7")
        self.client.set_credential("api", larder.Credential("Bearer old"))
        self.client.get(self.url, policy="network-only")
        self.client.get(f"{self.url}/7", policy="network-only")
        self.origin.stop()
        program, lines = self.start("like_and_create.py", self.url, "", "c", "api", "echo Bearer new")
        await_condition(lambda: len(lines) >= 4, what=f"the marks: {lines}")
        self.assertRegex(lines[0], "^created entity:api/T:tmp:")
        self.assertEqual(lines[1:4], ["~ a True", "  b False", "~ c False"])
        # The writes are there while neither the daemon nor the origin is.
        self.daemon.kill()
        self.origin.start()
        for method in ("PATCH", "POST"):
            self.origin.control(prefix="/list", method=method, status=401, unless_authorization="Bearer new")
        self.daemon.start()
        self.assertEqual(program.wait(60), 0)
        await_condition(lambda: len(lines) == 6, what=f"the states: {lines}")
        self.assertRegex("\n".join(lines[4:]), r"^\S+ confirmed \nentity:api/T:\d+ confirmed $")
        received = map(json.loads, self.origin.ask("GET", "/_received").splitlines())
        tokens = {one["authorization"] for one in received if one["method"] in ("PATCH", "POST")}
        self.assertEqual(tokens, {"Bearer old", "Bearer new"})
        self.assertTrue(json.loads(self.origin.ask("GET", "/list/7"))["liked"])

    def test_the_program_of_the_first_page_reads_online_and_offline(self):
        url = self.origin.url + "/hello.json"
        self.origin.put("/hello.json", {"hello": "world"})
        program, lines = self.start("greeting.py", url)
        self.assertEqual(program.wait(30), 0)
        self.origin.stop()
        program, offline = self.start("greeting.py", url)
        self.assertEqual(program.wait(30), 0)
        await_condition(lambda: (lines, offline) == (["network False world"], ["cache True world"]))

    def test_each_program_has_at_most_40_lines(self):
        for file in (ROOT / "Examples" / "python").glob("*.py"):
            self.assertLessEqual(len(file.read_text().splitlines()), 40, file)


if __name__ == "__main__":
    unittest.main()
