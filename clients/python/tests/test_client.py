"""Both clients against scripted answers that only Python's tests have."""

import asyncio
import io
import os
import pathlib
import socket
import socketserver
import tempfile
import threading
import unittest
from types import SimpleNamespace
from unittest import mock

from support import ScriptedServer

import larder
from larder._clients import download
from larder._connections import run
from larder._problem import cut_off
from larder._streams import FollowStream

URL = "https://api.example.com/a"
HREF = "/v1/entries/https%3A%2F%2Fapi.example.com%2Fa"
RENEWAL = "/v1/origins/example/credential/renewal"
ROWS = [{"pointer": "/0", "id": "entity:api/T:7", "pending": ["m1"], "failed": []}]
PARK = {"request": {"path": RENEWAL}, "answer": [{"silence": True}]}


def snapshot(rev, **entry):
    """A frame of a list whose first row has a mark."""
    frame = {"type": "snapshot", "source": "network", "rev": rev, "stale": False, "age_ms": 0}
    marks = {"pending": 1, "pending_ids": ["m1"], "failed": 0, "complete": True, "rows": ROWS}
    told = {"id": URL, "status": 200, "media_type": "application/json", "etag": f'"v{rev}"'}
    return {"frame": {**frame, **marks, "entry": {**told, **entry}}}


def refusal(type, status):
    members = {"type": f"urn:larder:{type}", "status": status, "detail": f"the detail of {type}"}
    return {"status": status, "headers": {"Content-Type": "application/problem+json"}, "json": members}


def order(lease):
    answer = [{"frame": {"reason": "expiring", "lease": lease}}, {"finish": True}]
    return {"request": {"method": "POST", "path": RENEWAL}, "answer": answer}


def setting(lease, answer):
    path = RENEWAL.rpartition("/")[0]
    return {"request": {"method": "PUT", "path": path, "parameters": {"lease": lease}}, "answer": [answer]}


class ScriptedTest(unittest.TestCase):
    """A test with a scripted server."""

    def serve(self, *exchanges):
        self.count, self.server = len(exchanges), ScriptedServer({"exchanges": exchanges})
        # Without its requests, a server does not keep the test waiting.
        timer = threading.Timer(30, self.server.process.kill)
        timer.start()
        for clean_up in (self.server.stop, timer.cancel):
            self.addCleanup(clean_up)
        return self.server.socket

    def served(self):
        """Waits until the server has received the request of each exchange."""
        for _ in range(self.count):
            self.assertTrue(self.server.process.stdout.readline().startswith("served"))

    def finish(self):
        self.assertEqual(self.server.report()["mismatches"], [])


class BodyTests(ScriptedTest):
    def read(self, *headers):
        """The entry of a fetch whose body is read with these header fields."""
        fields = {"Content-Type": "application/json", **dict(headers)}
        end = {"type": "end", "outcome": "network", "rev": 5, "timing": {}}
        fetch = [snapshot(5, body_href=HREF), {"frame": end}, {"finish": True}]
        body = [{"head": {"headers": fields}}, {"text": "[1, 2]"}, {"finish": True}]
        with larder.Client(self.serve({"answer": fetch}, {"answer": body})) as client:
            entry = client.get(URL)
        self.finish()
        self.assertEqual(entry.json(), [1, 2])
        return entry

    def test_a_body_of_the_revision_of_its_frame_has_the_marks_of_the_frame(self):
        entry = self.read(("Larder-Rev", "5"), ("ETag", '"v5"'))
        self.assertEqual((entry.rev, entry.etag, list(entry.marks)), (5, '"v5"', ["/0"]))

    def test_a_body_of_another_revision_has_its_own_revision_and_tag_and_no_marks(self):
        entry = self.read(("Larder-Rev", "6"), ("ETag", '"v6"'))
        self.assertEqual((entry.rev, entry.etag, entry.marks), (6, '"v6"', {}))

    def test_the_same_body_with_another_revision_has_the_marks_of_the_frame(self):
        entry = self.read(("Larder-Rev", "6"), ("ETag", '"v5"'))
        self.assertEqual((entry.rev, list(entry.marks)), (5, ["/0"]))

    def test_a_text_without_a_known_charset_is_utf_8(self):
        for charset in ("undefined", "x-none", "idna", "a\0b"):
            entry = larder.Entry("a", 200, f"text/html; charset={charset}", None, *[0] * 7, "ä".encode())
            self.assertEqual(entry.text, "ä")

    def test_a_follower_gets_the_marks_of_a_later_body_with_its_frame(self):
        head = {"head": {"headers": {"Larder-Rev": "6", "ETag": '"v6"'}}}
        follow = [snapshot(5, body_href=HREF), snapshot(6, body=[1, 2]), {"silence": True}]
        path = self.serve({"answer": follow}, {"answer": [head, {"text": "[1, 2]"}, {"finish": True}]})

        async def views():
            async with larder.AsyncClient(path) as client:
                stream = client.follow(URL)
                return [await stream.__anext__() for _ in range(2)]

        first, second = asyncio.run(views())
        self.finish()
        self.assertEqual((first.rev, first.etag, first.marks), (6, '"v6"', {}))
        self.assertEqual((second.rev, list(second.marks)), (6, ["/0"]))


    def test_a_follower_whose_wait_was_cancelled_gets_the_view_that_was_not_read(self):
        follow = {"answer": [snapshot(5, body_href=HREF), {"silence": True}]}
        head = {"head": {"headers": {"Larder-Rev": "5", "ETag": '"v5"'}}}
        body = {"answer": [head, {"text": "[1, 2]"}, {"finish": True}]}
        path = self.serve(follow, {"answer": [head, {"silence": True}]}, follow, body)
        self.count = 2

        async def view():
            async with larder.AsyncClient(path) as client:
                stream = client.follow(URL)
                wait = asyncio.ensure_future(stream.__anext__())
                await asyncio.get_running_loop().run_in_executor(None, self.served)
                wait.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await wait
                return await asyncio.wait_for(stream.__anext__(), 20)

        self.assertEqual(asyncio.run(view()).rev, 5)
        self.finish()


class PutTests(ScriptedTest):
    def test_neither_nothing_nor_a_dict_nor_a_number_is_the_content_of_an_entry(self):
        path = self.serve()
        for content in (None, {"n": 1}, 7):
            with larder.Client(path) as client, self.assertRaises(TypeError) as caught:
                client.put("notes/1", content)
            kind = type(content).__name__
            self.assertEqual(str(caught.exception), f"the content is {kind}: give bytes, text or a file")
        self.finish()

    def test_a_text_file_is_refused(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/s")
            listener.listen()
            for text in ("", "milk"):
                with larder.Client(f"{folder}/s") as client, self.assertRaises(TypeError):
                    client.put("notes/1", io.StringIO(text))

    def test_an_event_loop_goes_on_while_a_file_is_read(self):
        path = self.serve({"request": {"parameters": {"n": 1}}, "answer": [{"status": 201, "json": {}}]})

        async def main():
            loop, has_run = asyncio.get_running_loop(), threading.Event()

            class File(io.BytesIO):
                def read(self, size):
                    loop.call_soon_threadsafe(has_run.set)
                    return super().read(size) if has_run.wait(10) else b""

            async with larder.AsyncClient(path) as client:
                await client.put("notes/1", File(b'{"n": 1}'))

        asyncio.run(main())
        self.finish()

    def test_bytearray_and_memoryview_are_bytes(self):
        kinds = (bytes, bytearray, memoryview)
        wanted = {"headers": {"Content-Length": "8"}, "parameters": {"n": 1}}
        path = self.serve(*[{"request": wanted, "answer": [{"status": 201, "json": {}}]} for _ in kinds])
        with larder.Client(path) as client:
            for kind in kinds:
                self.assertTrue(client.put("notes/1", kind(b'{"n": 1}')).is_new)
        self.finish()


class HandleTests(ScriptedTest):
    """Values that a program may pass to a write or as a credential."""

    def test_a_wait_takes_a_duration_as_text(self):
        report = {"json": {"id": "m1", "state": "queued"}}
        path = self.serve({"request": {"parameters": {"wait": "0ms"}}, "answer": [report]})
        with larder.Client(path) as client:
            write = larder.Write(client, {"id": "m1", "state": "queued"})
            self.assertIs(write.wait("0s"), False)
            with self.assertRaisesRegex(ValueError, "^'5 s' is not a duration"):
                write.wait("5 s")
        self.finish()

    def test_a_conflict_is_resolved_by_mine_or_theirs_only(self):
        write = larder.Write(larder.Client("/nonexistent/s"), {"id": "m1", "state": "conflict"})
        with self.assertRaisesRegex(ValueError, "by 'mine' or 'theirs', not 'both'"):
            write.resolve("both")

    def test_a_write_and_an_item_print_their_id_and_state(self):
        receipt, client = {"id": "m1", "state": "queued"}, larder.Client("/nonexistent/s")
        handles = [larder.Write(client, receipt), larder.Item(client, receipt)]
        self.assertEqual(repr(handles), "[<Write m1 queued>, <Item m1 queued>]")

    def test_the_problem_of_a_failed_write_names_the_status_of_the_server(self):
        write = larder.Write(larder.Client("/nonexistent/s"), {"id": "m1", "state": "failed"})
        report = {"state": "failed", "reason": "refused", "answer": {"status": 422, "body": {}}}
        write._heard(report)
        text = "The write m1 failed (refused, status 422). Retry it, or drop it."
        self.assertEqual(str(write.problem), text)
        write._heard({"state": "failed", "reason": "expired"})
        self.assertEqual(str(write.problem), text.replace("refused, status 422", "expired"))

    def test_a_credential_may_be_a_text_and_nothing_else_is_one(self):
        path = self.serve(setting(None, {"json": {}}))
        with larder.Client(path) as client:
            client.set_credential("example", "Bearer x")
            with self.assertRaises(TypeError) as caught:
                client.set_credential("example", ["Bearer y"])
        self.assertEqual(str(caught.exception), "list is neither larder.Credential nor a text")
        self.finish()


class RepetitionTests(unittest.TestCase):
    """The second request gets no answer; `is_silent` says whether its connection stays open."""

    is_silent = True

    def setUp(self):
        test, self.requests = self, []

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                while data := self.request.recv(1 << 16):
                    test.requests.append(data.split(b" ")[0])
                    if len(test.requests) == 1:
                        self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                    elif not test.is_silent:
                        return

        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        server = socketserver.ThreadingUnixStreamServer(f"{folder.name}/s", Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.client = larder.Client(f"{folder.name}/s")
        for clean_up in (server.server_close, server.shutdown, self.client.close):
            self.addCleanup(clean_up)
        self.assertEqual(self.client.status(), {})

    def test_a_request_without_an_answer_in_time_is_not_repeated(self):
        with self.assertRaises(larder.CutOff):
            run(self.client.report("GET", "/v1/status", timeout=0.1))
        self.assertEqual(self.requests, [b"GET", b"GET"])

    def test_a_delete_and_a_put_of_a_new_entry_are_not_repeated_after_a_cut(self):
        self.is_silent = False
        with self.assertRaises(larder.CutOff):
            self.client.put("notes/1", b"milk", only_new=True)
        with self.assertRaises(larder.CutOff):
            self.client.delete("notes/1")
        self.assertEqual(self.requests, [b"GET", b"PUT", b"DELETE"])


class RightsTests(unittest.TestCase):
    def test_a_download_has_the_rights_of_the_file_that_it_replaces_from_its_first_moment(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "saved")
            path.touch(0o600)
            # A file system without rights refuses a later change.
            with mock.patch("os.chmod", side_effect=PermissionError), download(path) as file:
                self.assertEqual(os.fstat(file.fileno()).st_mode & 0o777, 0o600)
                file.write(b"new")
            self.assertEqual((path.read_bytes(), os.listdir(folder)), (b"new", ["saved"]))


class PauseTests(unittest.TestCase):
    def pauses(self, error, closed_after=None):
        """The steps of the longest pause of a follow after an error."""
        steps = []

        async def pause(time):
            steps.append(time)
            if len(steps) == closed_after:
                stream.close()

        stream = FollowStream(SimpleNamespace(is_closed=False, _pause=pause), {})
        stream.resumption.failures = 20
        with mock.patch("random.uniform", lambda least, most: most):
            run(stream.failed(error))
        return steps

    def test_a_follow_rests_longer_if_its_origin_fails_and_no_longer_than_its_stream_is_open(self):
        members = {"type": "urn:larder:unreachable", "status": 502, "retryable": True}
        offline = larder.Problem.of({**members, "detail": "no route"})
        self.assertEqual(self.pauses(cut_off("It ended.")), [1.0] * 5)
        self.assertEqual(self.pauses(offline), [1.0] * 30)
        self.assertEqual(self.pauses(offline, closed_after=2), [1.0] * 2)


class RenewalTests(ScriptedTest):
    """`provide_credential` of both clients; `results` are what the callback returns, in turn."""

    def blocking(self, path, *results):
        answers = iter(results)
        with larder.Client("/nonexistent/s") as client:
            client._paths = ["/nonexistent/s", path]
            before = set(threading.enumerate())
            client.provide_credential("example", lambda reason: next(answers))
            threads = set(threading.enumerate()) - before
            self.served()
            if not results:
                [thread.join(20) for thread in threads]
                self.assertFalse([thread for thread in threads if thread.is_alive()])
        [thread.join(20) for thread in threads]
        self.finish()

    def awaited(self, path, *results):
        answers = iter(results)

        async def renew(reason):
            return next(answers)

        async def main():
            async with larder.AsyncClient("/nonexistent/s") as client:
                client._paths = ["/nonexistent/s", path]
                before = asyncio.all_tasks()
                await client.provide_credential("example", renew)
                (task,) = asyncio.all_tasks() - before
                await asyncio.get_running_loop().run_in_executor(None, self.served)
                if not results:
                    await asyncio.wait_for(task, 20)

        asyncio.run(asyncio.wait_for(main(), 60))
        self.finish()

    def test_a_provider_looks_for_the_daemon_at_each_candidate(self):
        for provide in (self.blocking, self.awaited):
            provide(self.serve(PARK), larder.Credential("unused"))

    def test_a_wrong_result_of_a_callback_is_logged_and_the_next_order_is_taken(self):
        good = larder.Credential("Bearer new")
        for provide in (self.blocking, self.awaited):
            for wrong in (None, ["Bearer text"], larder.Credential(b"bytes")):
                script = (order("L1"), order("L2"), setting("L2", {"json": {}}), PARK)
                with self.assertLogs("larder") as logs:
                    provide(self.serve(*script), wrong, good)
                self.assertEqual(len(logs.output), 1)
                self.assertNotIn("Bearer text", logs.output[0])

    def test_a_credential_that_the_daemon_refuses_is_logged_and_the_next_order_is_taken(self):
        wrong, good = larder.Credential("Bearer new", "soon"), larder.Credential("Bearer new")
        for provide in (self.blocking, self.awaited):
            refused, taken = setting("L1", refusal("bad-request", 400)), setting("L2", {"json": {}})
            script = (order("L1"), refused, order("L2"), taken, PARK)
            with self.assertLogs("larder") as logs:
                provide(self.serve(*script), wrong, good)
            self.assertIn("the detail of bad-request", logs.output[0])

    def test_a_final_refusal_ends_the_renewal_and_is_logged(self):
        for provide in (self.blocking, self.awaited):
            asked = {"request": {"path": RENEWAL}, "answer": [refusal("no-such-origin", 404)]}
            with self.assertLogs("larder", "ERROR") as logs:
                provide(self.serve(asked))
            self.assertIn("no credential of example is renewed", logs.output[0])
            self.assertIn("the detail of no-such-origin", logs.output[0])


if __name__ == "__main__":
    unittest.main()
