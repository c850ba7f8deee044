"""httpx over the daemon next to httpx without it, and cancelled requests (S22)."""

import asyncio
import unittest

from support import DaemonTest, await_condition

import larder

try:
    import httpx
except ImportError:
    httpx = None


@unittest.skipIf(httpx is None, "httpx is not installed")
class HttpxTests(DaemonTest):
    def setUp(self):
        super().setUp()
        self.origin.put("/a", {"n": 1})
        self.url = self.origin.url + "/a"

    def test_answers_are_those_of_a_direct_request_with_httpx(self):
        answer = {"type": "text/plain; charset=iso-8859-1", "text": "taken"}
        self.origin.control(prefix="/names", status=422, headers={"X-Limit": "3"}, **answer)
        requests = [("GET", "/a"), ("HEAD", "/a"), ("GET", "/none"), ("GET", "/names"), ("POST", "/names")]

        def told(answer):
            names = ("content-type", "etag", "x-limit")
            fields = [answer.headers.get(name) for name in names]
            body = (answer.content, answer.encoding, str(answer.url), answer.request.method)
            return (answer.status_code, answer.reason_phrase, fields, answer.history, body)

        async def asked(transport):
            async with httpx.AsyncClient(transport=transport, timeout=30) as client:
                return [told(await client.request(method, self.origin.url + path)) for method, path in requests]

        with httpx.Client(timeout=30) as client:
            direct = [told(client.request(method, self.origin.url + path)) for method, path in requests]
        self.assertEqual([one[0] for one in direct], [200, 200, 404, 422, 422])
        with httpx.Client(transport=larder.httpx.Transport(socket=self.daemon.socket), timeout=30) as client:
            for (method, path), wanted in zip(requests, direct):
                self.assertEqual(told(client.request(method, self.origin.url + path)), wanted)
        transport = larder.httpx.AsyncTransport(socket=self.daemon.socket)
        self.assertEqual(asyncio.run(asked(transport)), direct)

    def test_a_cancelled_request_of_asyncio_leaves_its_client_usable(self):
        self.origin.control(prefix="/slow", does="hold")
        self.addCleanup(lambda: self.origin.ask("POST", "/_release", {"as": "close"}))

        async def main():
            transport = larder.httpx.AsyncTransport(socket=self.daemon.socket)
            # A connection that was not given back would leave none for the next request.
            limits = httpx.Limits(max_connections=1)
            transport._inner = httpx.AsyncHTTPTransport(uds=self.daemon.socket, limits=limits)
            async with httpx.AsyncClient(transport=transport, timeout=30) as client:
                for count in (1, 2):
                    task = asyncio.ensure_future(client.get(f"{self.origin.url}/slow/{count}"))
                    await asyncio.to_thread(await_condition, lambda: self.origin.held() == count)
                    task.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await task
                    self.assertEqual((await client.get(self.url)).json(), {"n": 1})

        asyncio.run(main())


if __name__ == "__main__":
    unittest.main()
