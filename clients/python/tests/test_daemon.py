"""Reads, streams and blobs against the real daemon (S30b)."""

import asyncio
import hashlib
import json
import os
import re
import resource
import shutil
import socket
import tempfile
import threading
import traceback
import unittest
from unittest import mock

from support import DaemonTest, await_condition

import larder
from larder._connections import BlockingConnection, LoopConnection


class ReadTests(DaemonTest):
    has_nginx = True

    def test_an_entry_is_answered_without_a_network(self):
        (self.nginx.www / "a.json").write_text('{"n": 1.50,\n "z": [1]}')
        url = self.nginx.url + "/a.json"
        first = self.client.get(url)
        self.assertEqual((first.source, first.stale, first.json()), ("network", False, {"n": 1.5, "z": [1]}))
        self.assertEqual(first.content, b'{"n": 1.50,  "z": [1]}')
        self.nginx.stop()
        again = self.client.get(url)
        self.assertEqual((again.source, again.stale, again.rev), ("cache", True, first.rev))
        views = [type(view).__name__ for view in self.client.fetch(url)]
        self.assertEqual(views, ["Entry", "Failure"])
        with self.assertRaises(larder.Offline) as caught:
            self.client.get(self.nginx.url + "/never.json")
        self.assertTrue(caught.exception.retryable)
        self.assertIn(caught.exception.hint, str(caught.exception))
        with self.assertRaises(larder.Miss):
            self.client.get(self.nginx.url + "/never.json", policy="cache-only")
        with self.assertRaises(larder.UnknownOrigin):
            self.client.get("http://127.0.0.1:9/x")

    def test_a_large_body_is_read_and_saved_as_it_is(self):
        data = b'{"text": "' + os.urandom(3 << 20).hex().encode() + b'"}\n\n'
        (self.nginx.www / "big.json").write_bytes(data)
        url = self.nginx.url + "/big.json"
        self.assertEqual(self.client.get(url).content.strip(), data.strip())
        self.assertEqual(self.client.save(url, self.folder / "saved"), len(data))
        self.assertEqual((self.folder / "saved").read_bytes(), data)
        (self.folder / "saved").chmod(0o600)
        self.client.save(url, self.folder / "saved")
        self.assertEqual((self.folder / "saved").stat().st_mode & 0o777, 0o600)
        names = [name for name in os.listdir(self.folder) if name.startswith(".larder-")]
        self.assertEqual(names, [])
        with self.assertRaises(larder.Problem):
            self.client.save(self.nginx.url + "/none", self.folder / "none")
        self.assertFalse((self.folder / "none").exists())

    def cut_once(self, kind, count):
        """Kills the daemon when the client has received so many bytes, and starts it again."""
        receive, requests, received = kind.receive, [], [0]

        async def watched(connection, timeout):
            data = await receive(connection, timeout)
            received[0] += len(data)
            if received[0] >= count and self.daemon.process:
                received[0] = -(1 << 40)
                self.daemon.kill()
                self.daemon.start()
            return data

        send = kind.send

        async def recorded(connection, data):
            requests.append(bytes(data).partition(b"\r\n\r\n")[0].decode("latin-1"))
            await send(connection, data)

        self.enterContext_(mock.patch.object(kind, "receive", watched))
        self.enterContext_(mock.patch.object(kind, "send", recorded))
        return requests

    def begins(self, requests):
        """The first byte that each request of a body asks for."""
        found = [re.search(r"\r\nRange: bytes=(\d+)-", one) for one in requests if "/v1/status" not in one]
        return [int(one[1]) if one else 0 for one in found]

    def test_a_save_goes_on_after_kill_9_in_the_middle(self):
        data = os.urandom(1 << 20) * 48
        self.client.put("films/1", data)
        (self.nginx.www / "film").write_bytes(data)
        for id in ("films/1", self.nginx.url + "/film"):
            requests = self.cut_once(BlockingConnection, 20 << 20)
            self.assertEqual(self.client.save(id, self.folder / "copy"), len(data))
            self.assertTrue((self.folder / "copy").read_bytes() == data, "other bytes")
            first, second = self.begins(requests)
            self.assertEqual(first, 0)
            self.assertGreaterEqual(second, 20 << 20)

    def test_a_save_of_asyncio_goes_on_after_kill_9_in_the_middle(self):
        data = os.urandom(1 << 20) * 48
        self.client.put("films/1", data)
        requests = self.cut_once(LoopConnection, 20 << 20)

        async def main():
            async with larder.AsyncClient(self.daemon.socket) as cache:
                return await cache.save("films/1", self.folder / "copy")

        self.assertEqual(asyncio.run(main()), len(data))
        self.assertTrue((self.folder / "copy").read_bytes() == data, "other bytes")
        self.assertGreaterEqual(self.begins(requests)[1], 20 << 20)

    def test_a_blob_of_100_MiB_is_stored_and_saved_in_chunks(self):
        source = self.folder / "source"
        digest = hashlib.sha256()
        with open(source, "wb") as file:
            for _ in range(100):
                block = os.urandom(1 << 20)
                digest.update(block)
                file.write(block)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with open(source, "rb") as file:
            receipt = self.client.put("films/1", file, content_type="video/mp4")
        self.assertTrue(receipt.is_new)
        self.assertEqual(self.client.save("films/1", self.folder / "copy"), 100 << 20)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.assertLess(after - before, 48 << 10, "KiB of memory")
        with open(self.folder / "copy", "rb") as file:
            copy = hashlib.sha256()
            for block in iter(lambda: file.read(1 << 20), b""):
                copy.update(block)
        self.assertEqual(copy.hexdigest(), digest.hexdigest())

    def test_a_blob_that_is_too_large_is_refused_with_the_daemons_problem(self):
        chunks = (bytes(1 << 20) for _ in range(400))
        with self.assertRaises(larder.TooLarge):
            self.client.put("films/2", chunks)

    def test_blobs_conditions_lists_and_pins(self):
        first = self.client.put("notes/1", "milk", content_type="text/plain; charset=utf-8")
        self.assertEqual((first.is_new, self.client.get("notes/1").text), (True, "milk"))
        with self.assertRaises(larder.Invalid) as caught:
            self.client.put("notes/1", b"eggs", only_new=True)
        self.assertEqual(caught.exception.type, "urn:larder:precondition-failed")
        self.client.put("notes/1", b"eggs", if_match=first.etag, content_type="text/plain")
        self.assertEqual([item["id"] for item in self.client.entries("notes/")], ["notes/1"])
        self.client.pin("notes/1")
        self.assertEqual([pin["state"] for pin in self.client.pins()], ["held"])
        with self.assertRaises(larder.Invalid):
            self.client.delete("notes/1")
        self.client.unpin("notes/1")
        self.client.delete("notes/1")
        with self.assertRaises(larder.Miss):
            self.client.get("notes/1")

    def test_one_client_serves_threads_and_a_closed_client_ends_streams(self):
        self.client.put("notes/1", b"milk")
        failures = []

        def read():
            for _ in range(100):
                if self.client.get("notes/1").content != b"milk":
                    failures.append("other bytes")

        threads = [threading.Thread(target=read) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        self.assertEqual(failures, [])
        stream = self.client.watch()
        thread = threading.Thread(target=lambda: list(stream))
        thread.start()
        await_condition(lambda: stream._items.answer)
        self.client.close()
        thread.join(20)
        self.assertFalse(thread.is_alive())

    def test_a_child_of_a_fork_has_its_own_connections(self):
        self.client.put("notes/1", b"milk")
        events = self.collect(self.client.watch(since=0))
        await_condition(lambda: events)
        name = self.client.name
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                entry = self.client.get("notes/1")
                self.client.put("notes/2", b"eggs")
                os.write(writer, json.dumps([entry.text, self.client.name]).encode())
            except BaseException:
                os.write(writer, traceback.format_exc().encode())
            finally:
                os._exit(0)
        os.close(writer)
        self.assertEqual(self.client.get("notes/1").content, b"milk")
        text, child_name = json.loads(os.read(reader, 4096))
        os.waitpid(child, 0)
        self.assertEqual(text, "milk")
        self.assertNotEqual(child_name, name)
        put = await_condition(lambda: [event for event in events if event.id == "notes/2"])[0]
        self.assertFalse(put.own)
        self.client.put("notes/3", b"tea")
        put = await_condition(lambda: [event for event in events if event.id == "notes/3"])[0]
        self.assertTrue(put.own)

    def test_asyncio_reads_concurrently_and_a_cancelled_task_closes_its_stream(self):
        self.client.put("notes/1", b"milk")
        socket_path = self.daemon.socket

        async def main():
            async with larder.AsyncClient(socket_path) as cache:
                entries = await asyncio.gather(*[cache.get("notes/1") for _ in range(50)])
                events = []

                async def watch():
                    async for event in cache.watch(prefix="notes/", since=0):
                        events.append(event)

                task = asyncio.ensure_future(watch())
                while not events:
                    await asyncio.sleep(0)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await asyncio.wait_for(asyncio.shield(task), 20)
                other = asyncio.ensure_future(watch())
                while len(events) < 2:
                    await asyncio.sleep(0)
                await cache.save("notes/1", self.folder / "note")
                await cache.close()
                await asyncio.wait_for(other, 20)
                return {entry.text for entry in entries}

        self.assertEqual(asyncio.run(main()), {"milk"})
        self.assertEqual((self.folder / "note").read_bytes(), b"milk")


class BodyReadTests(DaemonTest):
    reads = ", post_reads: [/search]"

    def test_a_read_with_a_body_comes_offline_too_S31(self):
        self.origin.control(prefix="/search", method="POST", status=200, body={"found": 1})
        url, query = self.origin.url + "/search", {"text": "milk"}
        first = self.client.get(url, method="POST", json=query)
        self.assertEqual((first.json(), first.source), ({"found": 1}, "network"))
        self.assertIn(" POST=sha256-", first.id)
        self.origin.stop()
        again = self.client.get(url, method="POST", body=query)
        self.assertEqual((again.id, again.source), (first.id, "cache"))
        views = list(self.client.fetch(url, method="POST", json=query, policy="cache-only"))
        self.assertEqual([view.json() for view in views], [{"found": 1}])
        self.assertEqual(next(self.client.follow(url, method="POST", json=query)).json(), {"found": 1})
        with self.assertRaises(larder.Miss):
            self.client.get(url, method="POST", json={"text": "tea"}, policy="cache-only")
        with self.assertRaises(larder.Invalid) as caught:
            self.client.get(self.origin.url + "/list", method="POST", json=query)
        self.assertEqual(caught.exception.type, "urn:larder:not-a-read")
        with self.assertRaises(TypeError):
            self.client.get(url, method="POST", json=query, body=query)

        async def main():
            async with larder.AsyncClient(self.daemon.socket) as cache:
                return await cache.get(url, method="POST", json=query)

        self.assertEqual(asyncio.run(main()).json(), {"found": 1})


class StreamTests(DaemonTest):
    def bodies(self, views):
        return [view.json()["n"] for view in views if isinstance(view, larder.Entry)]

    def test_a_follower_goes_on_over_kill_9_and_repeats_no_view(self):
        self.origin.put("/a", {"n": 0})
        url = self.origin.url + "/a"
        views = self.collect(self.client.follow(url))
        await_condition(lambda: self.bodies(views) == [0])
        for n in range(1, 4):
            self.daemon.kill()
            self.origin.put("/a", {"n": n})
            self.daemon.start()
            await_condition(lambda: self.bodies(views)[-1] == n, what=f"view {n}")
        self.assertEqual(self.bodies(views), [0, 1, 2, 3])
        revisions = [view.rev for view in views if isinstance(view, larder.Entry)]
        self.assertEqual(len(revisions), len(set(revisions)))

    def test_a_follower_waits_for_an_origin_that_fails_S25(self):
        self.origin.put("/a", {"n": 0})
        self.origin.control(prefix="/a", times=1, status=500)
        views = self.collect(self.client.follow(self.origin.url + "/a"))
        await_condition(lambda: len(views) == 2, what="the failure and the entry")
        self.assertEqual((views[0].problem.origin_status, views[0].problem.retryable), (500, True))
        self.assertEqual(self.bodies(views), [0])

    def test_a_follower_shows_a_write_and_its_end(self):
        self.origin.put("/a", {"n": 0, "liked": False})
        url = self.origin.url + "/a"
        views = self.collect(self.client.follow(url))
        await_condition(lambda: self.bodies(views))
        self.client.modify(url, merge={"liked": True})
        await_condition(lambda: [view for view in views if getattr(view, "pending", 0)])
        await_condition(lambda: isinstance(views[-1], larder.Entry) and views[-1].pending == 0)
        self.assertEqual(json.loads(self.origin.ask("GET", "/a")), {"n": 0, "liked": True})

    def test_a_follower_and_a_pin_have_an_entry_refreshed_S38(self):
        self.origin.put("/r", {"n": 0})
        url = self.origin.url + "/r"
        views = self.collect(self.client.follow(url, refresh="5s"))
        await_condition(lambda: self.bodies(views) == [0])
        self.client.pin(url, refresh=3600.0)
        self.assertEqual(self.client.pins()[0]["refresh"], "5s")
        self.origin.put("/r", {"n": 1})
        await_condition(lambda: self.bodies(views) == [0, 1], what="the new answer")
        with self.assertRaises(larder.Invalid) as caught:
            self.client.pin(url, refresh="1s")
        self.assertIn("within 5s to 30d", str(caught.exception))
        self.client.unpin(url)

    def test_a_set_is_fetched_in_advance_and_watched_until_it_is_removed_S43(self):
        self.origin.put("/s/1", {"n": 1})
        urls = [f"{self.origin.url}/s/{n}" for n in (1, 2)]
        events = self.collect(self.client.watch(types=["prefetch"]))
        await_condition(lambda: events, what="the bookmark")
        planned = self.client.prefetch("tonight", [urls[0], {"url": urls[1]}], dry_run=True)
        self.assertEqual((planned["state"], planned["items"]), ("planned", 2))
        self.assertEqual(self.client.prefetches(), [])
        report = self.client.prefetch("tonight", iter(urls), expires=3600.0, refresh="1h", wait=30)
        self.assertEqual((report["state"], report["held"], report["refresh"]), ("incomplete", 1, "1h"))
        failed = [(one["id"], one["problem"]["type"]) for one in report["failed"]]
        self.assertEqual(failed, [(urls[1], "urn:larder:deleted")])
        self.assertEqual(self.client.prefetched("tonight")["failed"], report["failed"])
        self.assertEqual([one["name"] for one in self.client.prefetches()], ["tonight"])
        self.assertEqual(self.client.pins()[0]["kept_by"], ["prefetch:tonight"])
        with larder.Client(self.daemon.socket, account="work") as other:
            self.assertEqual(other.prefetch("tonight", urls[:1], wait="30s")["state"], "ready")
            self.assertEqual(other.prefetches()[0]["items"], 1)
        self.client.remove_prefetch("tonight")
        await_condition(lambda: len(events) >= 4, what="the last event")
        told = [(event.name, event.account, event.state) for event in events if isinstance(event, larder.Prefetch)]
        self.assertEqual(told, [("tonight", "default", state) for state in ("filling", "incomplete", "removed")])
        with self.assertRaises(larder.Invalid) as caught:
            self.client.prefetched("tonight")
        self.assertEqual(caught.exception.type, "urn:larder:no-such-set")

    def test_a_watch_misses_nothing_over_kill_9_and_shutdown(self):
        events = self.collect(self.client.watch(prefix="notes/", since=0))
        for n in range(30):
            self.client.put(f"notes/{n}", b"x")
            if n % 10 == 4:
                self.daemon.kill()
                self.daemon.start()
            if n % 10 == 9:
                self.daemon.stop()
                self.daemon.start()
        wanted = [f"notes/{n}" for n in range(30)]

        def ids():
            return [event.id for event in events if isinstance(event, larder.Put)]

        await_condition(lambda: len(ids()) >= 30, what="all events")
        self.assertEqual(ids(), wanted)

    def test_a_watch_whose_log_is_lost_begins_again_with_a_reset(self):
        self.client.put("notes/1", b"x", pin=True)
        self.client.put("notes/2", b"x", pin=True)
        events = self.collect(self.client.watch(prefix="notes/", since=0))
        await_condition(lambda: len(events) >= 2)
        self.daemon.kill()
        shutil.rmtree(self.folder / "cache")
        self.daemon.start()
        await_condition(lambda: [e for e in events if isinstance(e, larder.Reset)], what="the reset")
        kinds = await_condition(
            lambda: [e for e in events if isinstance(e, larder.Bookmark) and e.initial_done]
            and [type(e) for e in events]
        )
        self.assertEqual(kinds.count(larder.Reset), 1)
        initial = {e.id for e in events if isinstance(e, larder.Put) and e.initial}
        self.assertEqual(initial, {"notes/1", "notes/2"})
        self.client.put("notes/3", b"x")
        await_condition(lambda: events[-1].frame.get("id") == "notes/3")

    def test_a_slow_reader_gets_every_change_after_it_lagged(self):
        stream = self.client.watch(prefix="notes/", since=0)
        self.client.put("notes/first", b"x")
        self.assertEqual(next(stream).id, "notes/first")
        wanted = [f"notes/{n}-" + "x" * 6000 for n in range(1500)]
        for id in wanted:
            self.client.put(id, b"")
        lagged = []
        take = stream._items.take

        async def spied(frame, line):
            lagged.append(frame["type"] == "lagged")
            await take(frame, line)

        stream._items.take = spied
        got = []
        for event in stream:
            got += [event.id] if isinstance(event, larder.Put) else []
            if event.id == wanted[-1]:
                break
        self.assertEqual(got, wanted)
        self.assertTrue(any(lagged), "the reader has not lagged")


class CancellationTests(unittest.TestCase):
    def test_a_cancellation_that_comes_with_data_is_not_lost(self):
        async def main(path, listener):
            for steps in range(8):
                connection = LoopConnection(path)
                peer, _ = listener.accept()
                task = asyncio.ensure_future(connection.receive(20))
                for _ in range(3):
                    await asyncio.sleep(0)
                peer.sendall(b"x")
                for _ in range(steps):
                    await asyncio.sleep(0)
                was_done = task.done()
                task.cancel()
                await asyncio.wait([task], timeout=20)
                self.assertTrue(was_done or task.cancelled(), f"after {steps} steps of the loop")
                connection.close()
                peer.close()

        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/s")
            listener.listen()
            asyncio.run(main(f"{folder}/s", listener))


class SaveTests(unittest.TestCase):
    def test_a_save_that_gets_no_further_ends_with_the_last_problem(self):
        head = b"HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 9\r\n\r\n1234"
        asked = []

        def serve(listener):
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                with peer:
                    asked.append(peer.recv(1 << 16))
                    # Each answer is cut off at the same byte.
                    peer.sendall(head)

        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/s")
            listener.listen()
            thread = threading.Thread(target=serve, args=(listener,))
            thread.start()
            pause = mock.patch("larder._streams.PAUSE_MAX", 0.1)
            with pause, larder.Client(f"{folder}/s") as client, self.assertRaises(larder.CutOff):
                client.save("film", f"{folder}/film")
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(20)
            self.assertEqual(os.listdir(folder), ["s"])
        self.assertEqual(len(asked), 1 + larder._clients.SAVE_TRIES_MAX)


class NoDaemonTests(unittest.TestCase):
    def test_without_a_daemon_the_error_names_three_ways_to_begin(self):
        client = larder.Client("/nonexistent/api.sock")
        for call in (client.status, lambda: next(client.watch()), lambda: client.put("a", b"b")):
            with self.assertRaises(larder.NoDaemon) as caught:
                call()
            self.assertIn("sudo adduser NAME larder-clients", str(caught.exception))
            self.assertIn("systemctl --user enable --now larder.socket", str(caught.exception))
            self.assertIn("`larderd &` and its socket in LARDER_SOCKET", str(caught.exception))
            self.assertIn("/nonexistent/api.sock", str(caught.exception))

    def test_the_socket_is_looked_up_in_the_order_of_the_manual_S21(self):
        from larder._core import socket_paths

        self.assertEqual(socket_paths("/a", {"LARDER_SOCKET": "/b"}), ["/a"])
        self.assertEqual(socket_paths(None, {"LARDER_SOCKET": "/b"}), ["/b"])
        found = socket_paths(None, {"XDG_RUNTIME_DIR": "/r", "XDG_CACHE_HOME": "/c"})
        if os.getuid() == 0:
            self.assertEqual(found, ["/run/larder/api.sock"])
        else:
            wanted = ["/r/larder/api.sock", "/c/larder/api.sock", "/run/larder/api.sock"]
            self.assertEqual(found, wanted)


if __name__ == "__main__":
    unittest.main()
