"""Writes, conflicts and credentials against the real daemon (S27, S30b)."""

import datetime
import json
import subprocess
import sys
import unittest

from support import DaemonTest, await_condition

import larder
from larder._clients import run


class WriteTests(DaemonTest):
    def setUp(self):
        super().setUp()
        self.url = self.origin.url + "/a"
        self.origin.put("/a", {"n": 0, "liked": False})
        self.client.get(self.url)

    def offline(self, is_offline):
        # The client has no method for the administration of origins.
        run(run(self.client.command("PATCH", "/v1/origins/api", {"offline": is_offline})).body())

    def reaches(self, write, state):
        def has_state():
            write.refresh()
            return write.state == state

        await_condition(has_state, what=f"the state {state}, not {write.state}")

    def refuses(self, write, type="urn:larder:already-sent"):
        with self.assertRaises(larder.Problem) as caught:
            write.cancel()
        self.assertEqual(caught.exception.type, type)
        self.assertIsInstance(caught.exception, larder.TooLate)

    def test_a_write_is_confirmed_with_the_answer_of_the_origin(self):
        write = self.client.modify(self.url, merge={"liked": True})
        self.assertEqual(self.client.get(self.url, policy="cache-only").json()["liked"], True)
        self.assertTrue(write.wait(30))
        self.assertEqual((write.state, write.answer["status"], write.problem), ("confirmed", 200, None))
        self.refuses(write, "urn:larder:already-settled")

    def test_a_refused_write_has_a_problem_and_is_retried_or_dropped(self):
        self.origin.control(prefix="/a", method="PATCH", times=1, status=422, body={"error": "no"})
        write = self.client.modify(self.url, merge={"liked": True})
        self.assertTrue(write.wait(30))
        self.assertEqual((write.state, write.problem.origin_status, write.problem.body), ("failed", 422, {"error": "no"}))
        self.assertEqual(self.client.get(self.url, policy="cache-only").failed, 1)
        self.refuses(write, "urn:larder:already-settled")
        self.assertEqual([one.id for one in self.client.writes("failed")], [write.id])
        write.retry()
        self.assertTrue(write.wait(30))
        self.assertEqual(write.state, "confirmed")
        self.origin.control(prefix="/a", method="PATCH", times=1, status=422)
        other = self.client.modify(self.url, merge={"n": 2})
        other.wait(30)
        other.drop()
        self.assertEqual((other.state, self.client.writes()), ("dropped", []))

    def test_cancel_while_nothing_was_sent(self):
        self.offline(True)
        held = self.client.modify(self.url, merge={"n": 1}, hold="1h")
        queued = self.client.modify(self.url, merge={"n": 2})
        self.assertEqual((held.state, queued.state), ("held", "queued"))
        for write in (queued, held):
            write.cancel()
            self.assertEqual(write.state, "cancelled")
            self.refuses(write, "urn:larder:already-settled")
        self.assertEqual(self.client.get(self.url, policy="cache-only").json()["n"], 0)

    def test_cancel_while_in_flight_is_refused(self):
        self.origin.control(prefix="/a", method="PATCH", times=1, does="hold")
        write = self.client.modify(self.url, merge={"n": 1})
        await_condition(lambda: self.origin.held() == 1)
        self.reaches(write, "in_flight")
        self.refuses(write)
        self.origin.ask("POST", "/_release", {"as": "answer"})
        self.assertTrue(write.wait(30))
        self.assertEqual(write.state, "confirmed")

    def test_cancel_while_it_waits_for_a_retry(self):
        self.origin.control(prefix="/a", method="PATCH", times=1, status=429, headers={"Retry-After": "60"})
        write = self.client.modify(self.url, merge={"n": 1})
        self.reaches(write, "retry_wait")
        write.cancel()
        self.assertEqual(write.state, "cancelled")

    def test_cancel_while_it_waits_for_a_credential(self):
        self.origin.control(prefix="/a", method="PATCH", times=1, status=401)
        write = self.client.modify(self.url, merge={"n": 1})
        self.reaches(write, "auth_wait")
        write.cancel()
        self.assertEqual(write.state, "cancelled")

    def test_cancel_of_an_unknown_write_is_refused_and_discard_gives_it_up(self):
        self.origin.control(prefix="/list", method="POST", times=1, does="close")
        request = {"method": "POST", "url": self.origin.url + "/list", "body": {"t": 1}}
        write = self.client.modify(self.url, add={"/n": 1}, request=request)
        self.reaches(write, "unknown")
        self.refuses(write)
        write.discard()
        self.assertEqual(write.state, "failed")
        write.drop()
        self.assertEqual(write.state, "dropped")

    def test_cancel_of_an_accepted_write_is_refused(self):
        self.origin.control(prefix="/a", method="PATCH", times=1, status=202)
        write = self.client.modify(self.url, merge={"n": 1})
        self.reaches(write, "accepted")
        with self.assertRaises(larder.TooLate):
            write.cancel()

    def test_conflicts_are_listed_and_resolved(self):
        for keep, title in (("mine", 5), ("theirs", 9)):
            self.client.get(self.url, policy="network-only")
            self.offline(True)
            write = self.client.modify(self.url, merge={"n": 5})
            self.origin.put("/a", {"n": 9, "liked": False})
            self.offline(False)
            self.reaches(write, "conflict")
            conflict = await_condition(self.client.conflicts)[0]
            self.assertEqual(conflict.id, write.id)
            self.assertEqual(conflict.conflict[0]["mine"], {"/n": 5})
            self.assertEqual(conflict.conflict[0]["theirs"], {"/n": 9})
            conflict.resolve(keep)
            self.assertTrue(write.wait(30))
            self.assertEqual(json.loads(self.origin.ask("GET", "/a"))["n"], title)

    def test_a_wait_goes_on_over_kill_9(self):
        self.origin.control(prefix="/a", method="PATCH", times=1, status=503, headers={"Retry-After": "1"})
        write = self.client.modify(self.url, merge={"n": 1})
        self.daemon.kill()
        self.daemon.start()
        self.assertTrue(write.wait(30))
        self.assertEqual(write.state, "confirmed")

    def test_a_created_thing_has_a_temporary_id_and_then_the_real_one(self):
        self.origin.put("/list", [])
        url = self.origin.url + "/list"
        self.client.get(url)
        self.offline(True)
        item = self.client.create(url, {"title": "milk"}, into="")
        self.assertTrue(item.id.startswith("tmp:"), item.id)
        rows = self.client.get(url, policy="cache-only").rows()
        self.assertEqual(rows[0][0], {"title": "milk", "id": item.id})
        edit = self.client.modify(item.id, merge={"done": True})
        alone = self.client.create(url, {"title": "tea"})
        self.assertTrue(alone.id.startswith("tmp:"))
        self.offline(False)
        self.assertTrue(item.wait(30) and edit.wait(30) and alone.wait(30))
        self.assertEqual((item.state, alone.state), ("confirmed", "confirmed"))
        for one in (item, alone):
            self.assertRegex(one.id, f"^{url}/[0-9]+$")
        path = item.id[len(self.origin.url) :]
        self.assertEqual(json.loads(self.origin.ask("GET", path))["done"], True)


    def test_a_refused_create_is_edited_and_keeps_its_temporary_id_for_its_dependants(self):
        self.origin.put("/list", [])
        url = self.origin.url + "/list"
        self.origin.control(prefix="/list", method="POST", times=1, status=422)
        self.offline(True)
        item = self.client.create(url, {"title": ""})
        done = self.client.modify(item.id, merge={"done": True})
        self.offline(False)
        self.assertTrue(item.wait(30) and done.wait(30))
        self.assertEqual((item.state, done.report["reason"]), ("failed", "parent_failed"))
        tea = {"title": "tea"}
        change = {"target": {"id": item.id}, "effect": {"type": "put", "value": tea}}
        item.edit([change], request={"method": "POST", "url": url, "body": tea})
        self.assertEqual(item.state, "failed")
        item.retry()
        done.retry()
        self.assertTrue(item.wait(30) and done.wait(30))
        self.assertEqual((item.state, done.state), ("confirmed", "confirmed"))
        value = json.loads(self.origin.ask("GET", item.id[len(self.origin.url) :]))
        self.assertEqual((value["title"], value["done"]), ("tea", True))
        with self.assertRaises(larder.TooLate):
            item.edit([change], request={"method": "POST", "url": url, "body": {}})

    def test_an_edit_of_another_account_is_sent_with_that_account(self):
        self.offline(True)
        with larder.Client(self.daemon.socket, account="work") as client:
            write = client.modify(self.url, merge={"n": 1})
            write.edit([{"target": {"id": self.url}, "effect": {"type": "merge", "value": {"n": 2}}}])
            self.assertEqual(write.state, "queued")
            self.assertEqual(client.get(self.url, policy="cache-only").json()["n"], 2)


class RowTests(DaemonTest):
    more = ', normalize: {by_type: true, types: [{type: T, url: "/list/{id}"}]}, modifiers: {created_id: /id}'

    def test_rows_of_a_list_have_marks_of_their_own(self):
        self.origin.put("/list", [{"type": "T", "id": 7, "title": "a"}, {"type": "T", "id": 8, "title": "b"}])
        url = self.origin.url + "/list"
        self.client.get(url)
        self.origin.stop()
        like = self.client.modify("entity:api/T:8", merge={"liked": True})
        item = self.client.create(url, {"type": "T", "title": "c"}, into="")
        self.assertTrue(item.id.startswith("entity:api/T:tmp:"), item.id)
        rows = self.client.get(url, policy="cache-only").rows()
        self.assertEqual([row["title"] for row, _ in rows], ["a", "b", "c"])
        marks = [mark for _, mark in rows]
        self.assertEqual(marks[0], larder.Mark(None, [], []))
        self.assertEqual(marks[1], larder.Mark("entity:api/T:8", [like.id], []))
        self.assertEqual(marks[2], larder.Mark(item.id, [item.write_id], []))
        self.origin.start()
        self.assertTrue(item.wait(60))
        self.assertRegex(item.id, r"^entity:api/T:\d+$")


def soon():
    """A credential that has to be renewed in a second."""
    expires = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=2)
    return larder.Credential("Bearer old", expires)


RENEWER = """
import json, sys, threading, time
sys.path.insert(0, sys.argv[1])
import larder

socket, folder, name, is_slow = sys.argv[2:]

def login(reason):
    # The refresh token is good for one use; a second use at the same time is an error.
    with open(folder + "/log", "a") as log:
        with open(folder + "/refresh") as file:
            used = int(file.read())
        print(json.dumps(["begin", name, used, time.monotonic()]), file=log, flush=True)
        threading.Event().wait(0.05)
        with open(folder + "/refresh", "w") as file:
            file.write(str(used + 1))
        print(json.dumps(["end", name, used, time.monotonic()]), file=log, flush=True)
    return larder.Credential(f"Bearer {used}", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2)))

client = larder.Client(socket)
client.provide_credential("api", login)
print("ready", flush=True)
sys.stdin.read()
"""


class CredentialTests(DaemonTest):
    def start(self, name):
        from support import ROOT

        arguments = [sys.executable, "-c", RENEWER, str(ROOT / "clients" / "python"), self.daemon.socket]
        program = subprocess.Popen(
            [*arguments, str(self.folder), name, ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.addCleanup(program.wait, 30)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.stdin.close)
        self.addCleanup(program.kill)
        program.stdout.readline()
        return program

    def log(self):
        file = self.folder / "log"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def test_two_programs_never_renew_at_the_same_time(self):
        (self.folder / "refresh").write_text("0")
        self.client.set_credential("api", soon())
        first, _ = self.start("first"), self.start("second")
        # The daemon asks seven times in a row at most, then once in a minute.
        await_condition(lambda: len(self.log()) >= 8, 60, "four renewals")
        first.kill()
        self.daemon.kill()
        count = len(self.log())
        self.daemon.start()
        await_condition(lambda: len(self.log()) >= count + 8, 60, "four more renewals")
        log = self.log()
        whole = log[: len(log) // 2 * 2]
        for begin, end in zip(whole[::2], whole[1::2]):
            self.assertEqual((begin[0], end[0], begin[1], begin[2]), ("begin", "end", end[1], end[2]))
        used = [entry[2] for entry in whole[::2]]
        self.assertEqual(used, list(range(len(used))))
        self.assertEqual(self.client.credential("api")["source"], "user")

    def test_a_failed_callback_is_asked_again(self):
        reasons = []

        def login(reason):
            reasons.append(reason)
            if len(reasons) == 1:
                raise RuntimeError("the first try fails")
            return larder.Credential("Bearer new", "2099-01-01T00:00:00Z")

        with self.assertLogs("larder"):
            self.client.set_credential("api", soon())
            self.client.provide_credential("api", login)
            await_condition(lambda: (self.client.credential("api")["expires"] or "").startswith("2099"))
        self.assertEqual(reasons[:2], ["expiring", "expiring"])


if __name__ == "__main__":
    unittest.main()
