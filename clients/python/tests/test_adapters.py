"""The adapters for requests and httpx (S22, S23), with the versions of the running Python."""

import asyncio
import itertools
import json
import os
import pickle
import re
import socketserver
import tempfile
import threading
import traceback
import unittest
import warnings

from support import DaemonTest, await_condition

import larder

try:
    import requests
except ImportError:
    requests = None
try:
    import httpx
except ImportError:
    httpx = None


class Recorder:
    """A socket that answers each request with 200, and keeps its head."""

    def __enter__(self):
        self.folder, self.heads = tempfile.TemporaryDirectory(), []
        self.socket = self.folder.name + "/s"
        recorder = self

        class Handler(socketserver.StreamRequestHandler):
            def lines(self, end):
                return b"".join(itertools.takewhile(lambda line: line != end, self.rfile))

            def handle(self):
                head = self.lines(b"\r\n")
                if not head:
                    return  # The transport of httpx looks for the daemon.
                recorder.heads.append(head.decode())
                if b"chunked" in head:
                    self.lines(b"0\r\n")
                    self.rfile.readline()
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

        self.server = socketserver.ThreadingUnixStreamServer(self.socket, Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.folder.cleanup()

    def names(self):
        """The name of the client in each request."""
        found = [re.search(r"^larder-client: (.+)\r$", head, re.I | re.M) for head in self.heads]
        return [one and one[1] for one in found]


class Numbering:
    """A socket that keeps its connections, and answers with the number of the connection.

    With `answer`, it answers with these bytes, and does with the connection what they say.
    """

    def __init__(self, answer=b""):
        self.answer = answer

    def __enter__(self):
        answer = self.answer
        self.folder, numbers = tempfile.TemporaryDirectory(), itertools.count()
        self.socket = self.folder.name + "/s"

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                number = b"%d" % next(numbers)
                # Each request has an empty line at its end, and no body.
                while any(line == b"\r\n" for line in self.rfile):
                    own = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(number) + number
                    self.wfile.write(answer or own)
                    if b"Connection: close" in answer:
                        return

        class Server(socketserver.ThreadingUnixStreamServer):
            daemon_threads = True

        self.server = Server(self.socket, Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.folder.cleanup()


class ConnectionTests(unittest.TestCase):
    """The connections of the adapters, without a daemon."""

    url = "http://api.example.com/a"
    # An error of the origin, and a write that the daemon has accepted.
    missing = (
        b"HTTP/1.1 404 Not Found\r\nCache-Status: larder; fwd=miss; fwd-status=404\r\n"
        b"Content-Type: application/problem+json\r\nContent-Length: 2\r\n\r\n{}"
    )
    accepted = (
        b"HTTP/1.1 202 Accepted\r\nPreference-Applied: respond-async\r\n"
        b'Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{"id": "m"}'
    )

    def in_a_child(self, read):
        """What `read` returns in a child of a fork."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                warnings.simplefilter("ignore")
                os.write(writer, read().encode())
            except BaseException:
                os.write(writer, traceback.format_exc().encode())
            finally:
                os._exit(0)
        os.close(writer)
        with open(reader) as file:
            text = file.read()
        os.waitpid(child, 0)
        return text

    def check(self, read):
        """The child of a fork has its own connection, and the parent keeps its one."""
        first = read()
        self.assertEqual(read(), first)
        child = self.in_a_child(read)
        self.assertTrue(child.isdigit(), child)
        self.assertNotEqual(child, first)
        self.assertEqual(read(), first)

    @unittest.skipIf(requests is None, "requests is not installed")
    def test_a_child_of_a_fork_has_its_own_connections_with_requests(self):
        with Numbering() as daemon, requests.Session() as session:
            session.mount("http://", larder.requests.Adapter(socket=daemon.socket))
            self.check(lambda: session.get(self.url, timeout=20).text)

    @unittest.skipIf(requests is None, "requests is not installed")
    def test_a_session_is_used_after_its_close_with_requests(self):
        with Numbering() as daemon, requests.Session() as session:
            session.mount("http://", larder.requests.Adapter(socket=daemon.socket))
            first = session.get(self.url, timeout=20).text
            session.close()
            second = session.get(self.url, timeout=20).text
            self.assertNotEqual(second, first)

    @unittest.skipIf(requests is None, "requests is not installed")
    def test_a_session_can_be_pickled_with_requests(self):
        with Recorder() as daemon, requests.Session() as session:
            options = {"socket": daemon.socket, "account": "work", "fallback": None}
            session.mount("http://", larder.requests.Adapter(**options))
            with pickle.loads(pickle.dumps(session)) as copy:
                self.assertEqual(copy.get(self.url, timeout=20).status_code, 200)
        self.assertIn("Larder-Account: work\r\n", daemon.heads[0])
        self.assertIsNone(copy.get_adapter(self.url)._fallback)

    @unittest.skipIf(requests is None, "requests is not installed")
    def test_a_body_whose_connection_ends_early_is_an_error_with_requests(self):
        cut = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\n1234"
        with Numbering(cut) as daemon, requests.Session() as session:
            session.mount("http://", larder.requests.Adapter(socket=daemon.socket))
            with self.assertRaises(requests.exceptions.ChunkedEncodingError):
                session.get(self.url, timeout=20)
            with session.get(self.url, stream=True, timeout=20) as answer:
                with self.assertRaises(requests.exceptions.ChunkedEncodingError):
                    list(answer.iter_content(2))

    @unittest.skipIf(requests is None, "requests is not installed")
    def test_the_body_of_an_error_of_the_origin_is_left_to_the_program_with_requests(self):
        with Numbering(self.missing) as daemon, requests.Session() as session:
            session.mount("http://", larder.requests.Adapter(socket=daemon.socket))
            with session.get(self.url, stream=True, timeout=20) as answer:
                self.assertEqual((answer.status_code, answer.raw.read()), (404, b"{}"))

    @unittest.skipIf(httpx is None, "httpx is not installed")
    def test_each_answer_is_streamed_and_has_the_time_that_it_took_with_httpx(self):
        for wanted, modifier in ((self.missing, None), (self.accepted, "m")):
            body = wanted.partition(b"\r\n\r\n")[2]
            with Numbering(wanted) as daemon:
                transport = larder.httpx.Transport(socket=daemon.socket)
                with httpx.Client(transport=transport, timeout=20) as client:
                    whole = client.get(self.url)
                    self.assertEqual((whole.content, whole.larder.modifier), (body, modifier))
                    self.assertGreater(whole.elapsed.total_seconds(), 0)
                    with client.stream("GET", self.url) as answer:
                        self.assertEqual(b"".join(answer.iter_raw()), body)

    @unittest.skipIf(httpx is None, "httpx is not installed")
    def test_each_answer_is_streamed_with_the_asyncio_transport(self):
        async def main(path, body):
            transport = larder.httpx.AsyncTransport(socket=path)
            async with httpx.AsyncClient(transport=transport, timeout=20) as client:
                async with client.stream("GET", self.url) as answer:
                    self.assertEqual(b"".join([part async for part in answer.aiter_raw()]), body)
                self.assertGreater(answer.elapsed.total_seconds(), 0)

        for wanted in (self.missing, self.accepted):
            with Numbering(wanted) as daemon:
                asyncio.run(main(daemon.socket, wanted.partition(b"\r\n\r\n")[2]))

    @unittest.skipIf(httpx is None, "httpx is not installed")
    def test_a_child_of_a_fork_has_its_own_connections_with_httpx(self):
        with Numbering() as daemon:
            transport = larder.httpx.Transport(socket=daemon.socket)
            with httpx.Client(transport=transport, timeout=20) as client:
                self.check(lambda: client.get(self.url).text)

    @unittest.skipIf(httpx is None, "httpx is not installed")
    def test_a_child_of_a_fork_has_its_own_connections_with_the_asyncio_transport(self):
        parent, loop = os.getpid(), asyncio.new_event_loop()
        with Numbering() as daemon:
            transport = larder.httpx.AsyncTransport(socket=daemon.socket)
            client = httpx.AsyncClient(transport=transport, timeout=30)

            def read():
                own = loop if os.getpid() == parent else asyncio.new_event_loop()
                return own.run_until_complete(client.get(self.url)).text

            try:
                self.check(read)
            finally:
                loop.run_until_complete(client.aclose())
                loop.close()


class Common(DaemonTest):
    has_nginx = True
    __test__ = False

    def setUp(self):
        super().setUp()
        self.origin.put("/a", {"n": 1})
        self.origin.put("/list", [])
        self.url = self.origin.url + "/a"

    def received(self):
        lines = self.origin.ask("GET", "/_received").splitlines()
        return [json.loads(line) for line in lines]

    def refuse(self, path):
        """The origin answers writes with a problem of its own, as many APIs do."""
        problem = {"type": "https://example.com/taken", "title": "The name is taken", "status": 422}
        more = {"type": "application/problem+json", "body": problem}
        self.origin.control(prefix=path, method="POST", status=422, **more)
        return problem

    def check_head(self, head, *errors):
        """A HEAD gets what an origin has answered; without that, it raises an error."""
        head(self.url)
        problem = {"type": "application/problem+json", "body": {"status": 422}}
        self.origin.control(prefix="/names", status=422, **problem)
        for path, status in (("/a", 200), ("/none", 404), ("/names", 422)):
            self.assertEqual(head(self.origin.url + path).status_code, status)
        self.origin.stop()
        for path, status in (("/a", 200), ("/none", 404)):
            answer = head(self.origin.url + path)
            self.assertEqual((answer.status_code, answer.larder.source), (status, "cache"))
        for url in (self.origin.url + "/never", "http://10.0.0.1/"):
            with self.assertRaises(errors) as caught:
                head(url)
            self.assertIn("refused a HEAD", str(caught.exception))

    def check_redirect(self, get):
        """The answer has the URL that gave it, online and offline, as without the daemon."""
        self.origin.control(prefix="/old", status=302, headers={"Location": "/a"})
        for source in ("network", "cache"):
            answer = get(self.origin.url + "/old")
            self.assertEqual((str(answer.url), answer.json(), answer.larder.source), (self.url, {"n": 1}, source))
            self.origin.stop()

    def check_user(self, get):
        """A user name in a URL becomes a header field, as without the daemon."""
        place = self.origin.url.replace("://", "://ann:s%20t@")
        for path in ("/a", "/a?at=http://x@y/"):
            self.assertEqual(get(place + path).status_code, get(self.origin.url + path).status_code)
        named = [(one["authorization"], one["path"]) for one in self.received() if one["authorization"]]
        self.assertEqual(named, [("Basic YW5uOnMgdA==", path) for path in ("/a", "/a?at=http://x@y/")])

    def hold(self, path):
        self.origin.control(prefix=path, does="hold")
        self.addCleanup(lambda: self.origin.process and self.origin.ask("POST", "/_release", {"as": "close"}))


@unittest.skipIf(requests is None, "requests is not installed")
class RequestsTests(Common):
    def session(self, **options):
        options.setdefault("socket", self.daemon.socket)
        session = requests.Session()
        self.addCleanup(session.close)
        session.mount("http://", larder.requests.Adapter(**options))
        return session

    def test_answers_are_those_of_the_origin_and_come_offline_too(self):
        direct, session = requests.Session(), self.session()
        self.addCleanup(direct.close)
        for path in ("/a", "/none"):
            wanted, got = direct.get(self.origin.url + path), session.get(self.origin.url + path)
            self.assertEqual(got.status_code, wanted.status_code)
        self.assertEqual(session.get(self.url).json(), {"n": 1})
        first = session.get(self.url)
        self.assertEqual((first.headers["ETag"], first.larder.stale), (direct.get(self.url).headers["ETag"], False))
        self.origin.stop()
        offline = session.get(self.url)
        self.assertEqual((offline.status_code, offline.json()), (200, {"n": 1}))
        self.assertEqual((offline.larder.source, offline.larder.stale), ("cache", True))
        self.assertGreaterEqual(offline.larder.age, 0)
        with self.assertRaises(requests.ConnectionError) as caught:
            session.get(self.origin.url + "/never")
        self.assertIn("cannot be reached", str(caught.exception))

    def test_each_byte_of_the_url_reaches_the_origin(self):
        query = "x=%2f~y&e=&a/b;c?d&z=%C3%A4"
        request = requests.Request("GET", self.origin.url).prepare()
        request.url = self.origin.url + "/none?" + query
        self.session().send(request)
        self.assertIn(f"/none?{query}", [one["path"] for one in self.received()])

    def test_policy_and_account_become_headers(self):
        kept = self.session(policy="cache-only")
        with self.assertRaises(requests.ConnectionError) as caught:
            kept.get(self.url)
        self.assertEqual(caught.exception.args[0].type, "urn:larder:miss")
        self.session().get(self.url)
        self.assertEqual(kept.get(self.url).larder.source, "cache")
        # Another account has another cache.
        with self.assertRaises(requests.ConnectionError):
            self.session(policy="cache-only", account="work").get(self.url)

    def test_writes_are_passed_to_the_origin(self):
        session = self.session()
        answer = session.post(self.origin.url + "/list", json={"t": 1})
        self.assertEqual((answer.status_code, answer.json()["t"]), (201, 1))
        self.assertIn("/list/", answer.headers["Location"])
        self.assertEqual(session.put(self.url, json={"n": 2}).status_code, 204)
        self.assertEqual(session.get(self.url).json(), {"n": 2})

    def test_offline_writes_are_accepted_and_sent_later(self):
        session = self.session(offline_writes=True)
        session.get(self.url)
        self.origin.stop()
        answer = session.put(self.url, json={"n": 3})
        self.assertEqual((answer.status_code, answer.larder.modifier), (202, answer.json()["id"]))
        self.assertEqual(session.get(self.url).json(), {"n": 3})
        self.assertEqual(session.get(self.url).larder.pending, 1)
        with self.assertRaises(requests.exceptions.InvalidHeader) as caught:
            session.put(self.url, json={}, headers={"Authorization": "Bearer x"})
        self.assertIn("cachectl origin login", str(caught.exception))
        self.origin.start()
        await_condition(lambda: json.loads(self.origin.ask("GET", "/a")) == {"n": 3})

    def test_a_large_body_is_streamed(self):
        with open(self.nginx.www / "big", "wb") as file:
            file.truncate(20 << 20)
        with self.session().get(self.nginx.url + "/big", stream=True) as answer:
            self.assertEqual(sum(map(len, answer.iter_content(1 << 16))), 20 << 20)

    def test_a_large_body_is_sent(self):
        text = "x" * (8 << 20)
        self.assertEqual(self.session().put(self.url, json={"t": text}).status_code, 204)
        self.assertEqual(json.loads(self.origin.ask("GET", "/a"))["t"], text)

    def test_a_body_without_a_length_is_sent_to_its_own_url(self):
        # The first request of a thread, and one after a request of another URL.
        session = self.session()
        for n in (1, 2):
            answer = session.post(self.origin.url + "/list", data=iter([b'{"n": ', b"%d}" % n]))
            self.assertEqual((answer.status_code, answer.json()["n"]), (201, n))
            self.assertEqual(session.get(self.url).json(), {"n": 1})
        self.assertEqual([one["n"] for one in json.loads(self.origin.ask("GET", "/list"))], [1, 2])

    def test_a_body_without_a_length_goes_to_the_origin_without_a_daemon(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = self.session(socket="/nonexistent")
            answer = session.post(self.origin.url + "/list", data=iter([b'{"n": 1}']))
        self.assertEqual((answer.status_code, answer.json()["n"]), (201, 1))
        with self.assertRaises(requests.ConnectionError):
            self.session(socket="/nonexistent", fallback=None).post(self.url, data=iter([b"1"]))

    def test_a_problem_of_the_origin_is_an_answer(self):
        problem = self.refuse("/names")
        answer = self.session().post(self.origin.url + "/names", json={})
        self.assertEqual((answer.status_code, answer.json()), (422, problem))
        self.assertEqual(answer.larder.source, "network")

    def test_a_head_that_no_origin_has_answered_is_an_error(self):
        self.check_head(self.session().head, requests.ConnectionError)

    def test_an_answer_after_a_redirect_has_its_own_url(self):
        self.check_redirect(self.session().get)

    def test_a_user_name_in_a_url_becomes_a_header_field(self):
        self.check_user(self.session().get)

    def test_requests_have_the_name_of_their_client(self):
        with Recorder() as daemon:
            sessions = [self.session(socket=daemon.socket) for _ in range(2)]
            for session in (sessions[0], *sessions):
                session.get(self.url)
            sessions[0].post(self.url, data=iter([b"1"]))
        names = daemon.names()
        self.assertTrue(all(names), daemon.heads)
        self.assertEqual(names[0], names[1])
        self.assertEqual((names[3], len(set(names))), (names[0], 2))

    def test_a_wrong_option_is_refused(self):
        with self.assertRaises(TypeError):
            larder.requests.Adapter(polcy="cache-only")

    def test_timeouts_are_those_of_the_library(self):
        self.hold("/slow")
        with self.assertRaises(requests.ReadTimeout):
            self.session().get(self.origin.url + "/slow", timeout=1)

    def test_a_session_goes_on_after_a_restart_of_the_daemon(self):
        session = self.session()
        session.get(self.url)
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(session.get(self.url).json(), {"n": 1})

    def test_without_a_daemon_requests_go_to_the_origin_with_one_warning(self):
        session = self.session(socket="/nonexistent")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.assertEqual(session.get(self.url).json(), {"n": 1})
            self.assertEqual(session.post(self.origin.url + "/list", json={}).status_code, 201)
        told = [str(one.message) for one in caught if "larder" in str(one.message)]
        self.assertEqual(len(told), 1, told)
        self.assertIn("systemctl --user enable --now larder.socket", told[0])
        for options in ({"fallback": None}, {"offline_writes": True}):
            with self.assertRaises(requests.ConnectionError):
                self.session(socket="/nonexistent", **options).put(self.url, json={})

    def test_an_installation_without_a_url_is_refused(self):
        before = requests.Session.get_adapter
        for urls in ((), ("https://",), ("https://api.example.com", "api.example.com")):
            with self.assertRaises(ValueError) as caught:
                larder.requests.install(*urls, socket=self.daemon.socket)
            self.assertIn("install('https://", str(caught.exception))
        self.assertIs(requests.Session.get_adapter, before)

    def test_an_installation_takes_its_origins_and_paths_only(self):
        before, session = requests.Session.get_adapter, requests.Session()
        self.addCleanup(session.close)
        bases = ("https://api.example.com", "http://example.com/v1/")
        try:
            adapter = larder.requests.install(*bases, socket="/nonexistent")
            self.addCleanup(adapter.close)
            for url, is_taken in (
                ("https://api.example.com", True),
                ("https://API.example.com:443/a?b", True),
                ("http://example.com/v1", True),
                ("http://example.com/v1/a", True),
                ("https://api.example.com.other.example/", False),
                ("https://api.example.com@other.example/", False),
                ("https://api.example.com:8443/", False),
                ("http://api.example.com/", False),
                ("http://example.com/v10", False),
                ("http://example.com/", False),
            ):
                self.assertEqual(session.get_adapter(url) is adapter, is_taken, url)
            own = requests.adapters.HTTPAdapter()
            session.mount("mock://", own)
            self.assertIs(session.get_adapter("mock://x:abc/"), own)
        finally:
            requests.Session.get_adapter = before

    def test_one_line_changes_an_existing_program(self):
        session = requests.Session()
        self.addCleanup(session.close)
        before = requests.Session.get_adapter
        try:
            adapter = larder.requests.install(self.origin.url + "/", socket=self.daemon.socket)
            self.addCleanup(adapter.close)
            self.assertEqual(session.get(self.url).larder.source, "network")
            self.assertFalse(hasattr(session.get(self.nginx.url + "/none"), "larder"))
            self.origin.stop()
            self.assertEqual(requests.get(self.url).json(), {"n": 1})
        finally:
            requests.Session.get_adapter = before


@unittest.skipIf(httpx is None, "httpx is not installed")
class HttpxTests(Common):
    def open(self, **options):
        options.setdefault("socket", self.daemon.socket)
        client = httpx.Client(transport=larder.httpx.Transport(**options), timeout=30)
        self.addCleanup(client.close)
        return client

    def test_answers_are_those_of_the_origin_and_come_offline_too(self):
        client = self.open()
        first = client.get(self.url)
        self.assertEqual((first.status_code, first.json(), first.larder.source), (200, {"n": 1}, "network"))
        self.assertEqual(client.get(self.origin.url + "/none").status_code, 404)
        self.origin.stop()
        offline = client.get(self.url)
        self.assertEqual((offline.json(), offline.larder.source, offline.larder.stale), ({"n": 1}, "cache", True))
        with self.assertRaises(httpx.ConnectError):
            client.get(self.origin.url + "/never")

    def test_policy_and_account_become_headers(self):
        self.open().get(self.url)
        self.assertEqual(self.open(policy="cache-only").get(self.url).larder.source, "cache")
        with self.assertRaises(httpx.ConnectError):
            self.open(policy="cache-only", account="work").get(self.url)

    def test_writes_are_passed_on_or_accepted(self):
        self.assertEqual(self.open().post(self.origin.url + "/list", json={"t": 1}).json()["t"], 1)
        client = self.open(offline_writes=True)
        client.get(self.url)
        self.origin.stop()
        answer = client.put(self.url, json={"n": 3})
        self.assertEqual((answer.status_code, answer.larder.modifier), (202, answer.json()["id"]))
        with self.assertRaises(httpx.UnsupportedProtocol):
            client.put(self.url, json={}, headers={"Authorization": "Bearer x"})
        self.origin.start()
        await_condition(lambda: json.loads(self.origin.ask("GET", "/a")) == {"n": 3})

    def test_streams_timeouts_and_restarts(self):
        with open(self.nginx.www / "big", "wb") as file:
            file.truncate(20 << 20)
        client = self.open()
        with client.stream("GET", self.nginx.url + "/big") as answer:
            self.assertEqual(sum(map(len, answer.iter_bytes())), 20 << 20)
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(client.get(self.url).json(), {"n": 1})
        self.hold("/slow")
        with self.assertRaises(httpx.ReadTimeout):
            client.get(self.origin.url + "/slow", timeout=1)

    def test_a_problem_of_the_origin_is_an_answer(self):
        problem = self.refuse("/names")
        answer = self.open().post(self.origin.url + "/names", json={})
        self.assertEqual((answer.status_code, answer.json()), (422, problem))
        self.assertEqual(answer.larder.source, "network")

    def test_a_head_that_no_origin_has_answered_is_an_error(self):
        self.check_head(self.open().head, httpx.ConnectError)

    def test_an_answer_after_a_redirect_has_its_own_url(self):
        self.check_redirect(self.open().get)

    def test_a_user_name_in_a_url_becomes_a_header_field(self):
        self.check_user(self.open().get)

    def test_requests_have_the_name_of_their_client(self):
        with Recorder() as daemon:
            clients = [self.open(socket=daemon.socket) for _ in range(2)]
            for client in (clients[0], *clients):
                client.get(self.url)
        names = daemon.names()
        self.assertTrue(all(names), daemon.heads)
        self.assertEqual((names[0], len(set(names))), (names[1], 2))

    def test_without_a_daemon_requests_go_to_the_origin_with_one_warning(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            client = self.open(socket="/nonexistent")
            self.assertEqual([client.get(self.url).json() for _ in range(2)], [{"n": 1}] * 2)
        self.assertEqual(len([one for one in caught if "larder" in str(one.message)]), 1)
        with self.assertRaises(httpx.ConnectError):
            self.open(socket="/nonexistent", fallback=None).get(self.url)

    def test_the_asyncio_transport_does_the_same(self):
        async def main():
            transport = larder.httpx.AsyncTransport(socket=self.daemon.socket)
            async with httpx.AsyncClient(transport=transport, timeout=30) as client:
                answers = await asyncio.gather(*[client.get(self.url) for _ in range(20)])
                self.assertEqual([answer.json() for answer in answers], [{"n": 1}] * 20)
                self.assertEqual((await client.put(self.url, json={"n": 4})).status_code, 204)
                await client.get(self.url)
                self.origin.stop()
                offline = await client.get(self.url)
                self.assertEqual((offline.json(), offline.larder.source), ({"n": 4}, "cache"))
                task = asyncio.ensure_future(client.get(self.nginx.url + "/none"))
                self.assertEqual((await task).status_code, 404)

        asyncio.run(main())


del Common

if __name__ == "__main__":
    unittest.main()
