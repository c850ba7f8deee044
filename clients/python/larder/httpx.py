"""httpx over Larder: `httpx.Client(transport=larder.httpx.Transport())`, or `AsyncTransport`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Optional

import httpx

from ._adapter import Route, told
from ._problem import Problem, no_daemon


class _Common:
    """`offline_writes`: writes are accepted without a network (202).

    If no daemon answers, requests go directly to the origin by the transport `fallback`, with one
    warning; None: they fail.
    """

    def __init__(
        self, *, socket: Optional[str] = None, policy: Optional[str] = None,
        account: Optional[str] = None, offline_writes: bool = False, fallback: Any = "direct",
    ) -> None:  # fmt: skip
        self._route = Route(socket, policy, account, offline_writes)
        self._fallback = self._direct() if fallback == "direct" else fallback
        self._inner: Any = None

    def _direct(self, **options: Any) -> Any:
        raise NotImplementedError

    def _way(self) -> Any:
        if self._inner is None:
            self._inner = self._direct(uds=self._route.path())
        return self._inner

    def _unreached(self, request: httpx.Request, error: Exception) -> Any:
        """The transport for a request that reached no daemon."""
        problem = error if isinstance(error, Problem) else no_daemon(self._route.paths[0])
        if self._fallback is None or self._route.waits(request.method):
            raise httpx.ConnectError(str(problem), request=request) from error
        self._route.warn(problem)
        return self._fallback

    def _sent(self, request: httpx.Request) -> Any:
        """The request with the URL as its target (RFC 9112 3.2.2)."""
        headers, url = httpx.Headers(request.headers), request.url
        try:
            headers.update(self._route.fields(request.method, request.headers))
        except Problem as problem:
            raise httpx.UnsupportedProtocol(str(problem), request=request) from problem
        target = b"%b://%b%b" % (url.raw_scheme, url.netloc, url.raw_path)
        place = SimpleNamespace(raw_scheme=b"http", raw_host=b"larder", port=None, raw_path=target)
        same = {name: getattr(request, name) for name in ("method", "stream", "extensions")}
        return SimpleNamespace(url=place, headers=headers, **same)

    def _marked(self, request: httpx.Request, response: httpx.Response, body: bytes) -> httpx.Response:
        larder, problem = told(response.status_code, response.headers, body)
        setattr(response, "larder", larder)
        if problem:
            is_late = problem.type == "urn:larder:timeout"
            error = httpx.ReadTimeout if is_late else httpx.ConnectError
            raise error(str(problem), request=request) from problem
        return response


class Transport(_Common, httpx.BaseTransport):
    __doc__ = _Common.__doc__

    def _direct(self, **options: Any) -> httpx.HTTPTransport:
        return httpx.HTTPTransport(**options)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        sent = self._sent(request)
        response: httpx.Response
        try:
            response = self._way().handle_request(sent)
        except (Problem, httpx.ConnectError) as error:
            response = self._unreached(request, error).handle_request(request)
            return response
        is_short = response.status_code == 202 or response.status_code >= 400
        return self._marked(request, response, response.read() if is_short else b"")

    def close(self) -> None:
        if self._inner:
            self._inner.close()


class AsyncTransport(_Common, httpx.AsyncBaseTransport):
    __doc__ = _Common.__doc__

    def _direct(self, **options: Any) -> httpx.AsyncHTTPTransport:
        return httpx.AsyncHTTPTransport(**options)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        sent = self._sent(request)
        response: httpx.Response
        try:
            response = await self._way().handle_async_request(sent)
        except (Problem, httpx.ConnectError) as error:
            response = await self._unreached(request, error).handle_async_request(request)
            return response
        is_short = response.status_code == 202 or response.status_code >= 400
        return self._marked(request, response, await response.aread() if is_short else b"")

    async def aclose(self) -> None:
        if self._inner:
            await self._inner.aclose()
