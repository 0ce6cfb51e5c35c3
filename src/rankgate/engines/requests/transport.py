"""The HTTP client, and requests to a server for JSON.

The client sends one request, and classifies every reply or failure.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.answers.engine_answers import Answer, Failure
from rankgate.engines.requests.secrets import value_text

if TYPE_CHECKING:
    import urllib3

    from rankgate.core.value_types import Json, JsonObject


HOSTS = "RANKGATE_HOSTS"
"""Allowed hosts, separated by commas; any where it is not set."""

_CHUNK_BYTES = 1 << 16
_CONNECT = 10.0
_OK, _DENIED, _WRONG = range(200, 300), {401, 402, 403}, {404, 405, 410}
_REDIRECT_STATUSES = range(300, 400)
_RETRY_STATUSES = {408, 409, 425, 429}
_SERVER = 500
_LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True)
class Response:
    """A reply with status 2xx.

    Attributes:
        data: its body.
        status: the status of the reply.
    """

    data: bytes
    status: int = 200


@dataclass(frozen=True)
class FailedRequest(Failure):
    """A failure of one request; its problem quotes the server, and may contain secrets.

    Attributes:
        status: the status of the reply; 0 without a reply.
        sent: True if the server may have carried out the request.
    """

    status: int = 0
    sent: bool = False


class _TooLargeError(Exception):
    """An answer that is larger than the limit."""


class Transport:
    """Sends requests to one server; may be used by many threads.

    Redirects are not followed, so that headers with secrets go to no other host.

    Args:
        url: the server, and the beginning of the path.
        headers: the headers of every request.
        timeout: seconds that a whole request may take.
        threads: the number of threads that use it.
        largest: bytes of a reply, at most.
        authority: a file of certificates to trust instead of the system's.

    Raises:
        UsageError: an invalid URL, or one that holds a secret; a host that is not allowed.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        timeout: float,
        threads: int = 1,
        largest: int = 64 << 20,
        authority: str | None = None,
    ) -> None:
        import urllib3

        refuse_invalid_url(url)
        _refuse_host(str(urlsplit(url).hostname))
        self.url: str = url.rstrip("/")
        self._headers = {"Accept-Encoding": "identity", "User-Agent": "rankgate", **headers}
        self._timeout, self._largest = timeout, largest
        self._errors = urllib3.exceptions
        if authority is not None:
            _refuse_no_certificates(authority)
        self._limits = urllib3.Timeout(connect=min(_CONNECT, timeout), read=timeout)
        self._pool = _pool(self.url, threads, authority)

    def __repr__(self) -> str:
        """The URL without headers."""
        return f"Transport({self.url!r})"

    def send(self, method: str, path: str = "", body: bytes | None = None) -> Response | FailedRequest:
        """Send one request and return its reply or failure; never raise an exception of HTTP.

        Args:
            method: GET or POST.
            path: the end of the URL, encoded.
            body: the JSON to send; None without a body.
        """
        end, status = time.monotonic() + self._timeout, 0
        kind = {"Content-Type": "application/json"} if body is not None else {}
        try:
            response = self._pool.request(
                method,
                self.url + path,
                body=body,
                headers={**kind, **self._headers},
                redirect=False,
                preload_content=False,
                timeout=self._limits,
            )
            status = response.status
            data = self._body(response, end)
        except _TooLargeError:
            problem = f"the answer is larger than {self._largest:,} bytes"
            return FailedRequest("refused", problem, status=status, sent=True)
        except self._errors.HTTPError as error:
            return self._broken(error, status)
        if status in _OK:
            return Response(data, status)
        return self._failed(status, response.headers, data)

    def _broken(self, error: Exception, status: int) -> FailedRequest:
        """The failure of a request without a full reply; the server may have carried it out."""
        urllib3_errors = self._errors
        if isinstance(
            error,
            urllib3_errors.ConnectTimeoutError
            | urllib3_errors.NewConnectionError
            | urllib3_errors.ProxyError,
        ):
            return FailedRequest("again", "no connection to the endpoint")
        if isinstance(error, urllib3_errors.SSLError):
            return FailedRequest("fatal", f"no secure connection: {error}")
        problem = "the answer is cut off"
        if isinstance(error, urllib3_errors.TimeoutError):
            problem = f"no answer within {self._timeout:g} seconds"
        return FailedRequest("again", problem, status=status, sent=True)

    def _body(self, response: Any, end: float) -> bytes:
        """All bytes of an answer, in time."""
        chunks, size = [], 0
        with closing(response):  # a fully read one is already back in the pool
            while piece := response.read1(_CHUNK_BYTES):
                chunks.append(piece)
                size += len(piece)
                if time.monotonic() > end:
                    raise self._errors.TimeoutError
                if size > self._largest:
                    raise _TooLargeError
        return b"".join(chunks)

    def _failed(self, status: int, headers: Mapping[str, str], data: bytes) -> FailedRequest:
        if status in _DENIED:  # the answer may quote a part of the key
            problem = f"HTTP {status}: the endpoint refuses access; check the key and the account"
            return FailedRequest("fatal", problem, status=status)
        if status in _REDIRECT_STATUSES:
            problem = f"HTTP {status}: the endpoint redirects, and redirects are not followed"
            return FailedRequest("fatal", problem, status=status)
        message = _message(data)
        problem = f"HTTP {status}" + (f": {message}" if message else "")
        if status in _WRONG:
            return FailedRequest("fatal", problem, status=status)
        if status in _RETRY_STATUSES or status >= _SERVER:
            return FailedRequest("again", problem, _retry_after(headers), status=status)
        return FailedRequest("refused", problem, status=status)


def _pool(url: str, threads: int, authority: str | None) -> urllib3.PoolManager:
    """A pool of connections to an endpoint, through the proxy of the environment, if any."""
    import urllib3

    base = urlsplit(url)
    host = str(base.hostname)
    proxy = getproxies().get(base.scheme)
    if not proxy or host in _LOCAL_HOSTS or proxy_bypass(host):
        return urllib3.PoolManager(maxsize=threads, retries=False, ca_certs=authority)
    try:
        proxy_url = urlsplit(proxy)
        login = f"{unquote(proxy_url.username or '')}:{unquote(proxy_url.password or '')}"
        headers = urllib3.make_headers(proxy_basic_auth=login) if proxy_url.username else None
        return urllib3.ProxyManager(
            proxy, maxsize=threads, retries=False, ca_certs=authority, proxy_headers=headers
        )
    except (ValueError, urllib3.exceptions.HTTPError):
        problem = f"the proxy that {base.scheme}_proxy names is not a URL; it begins with http://."
        raise UsageError(problem, code="invalid-url") from None


def refuse_invalid_url(url: str) -> None:
    """Refuse an invalid URL without quoting it, as it may be a secret in the wrong place."""
    try:
        base = urlsplit(url)
        is_valid = base.scheme in {"http", "https"} and bool(base.hostname) and base.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise UsageError(
            "the URL of the endpoint is not valid; it begins with http:// or https://.", code="invalid-url"
        )
    if base.username or base.password or base.query or base.fragment:
        raise UsageError(
            "the URL of the endpoint holds more than host and path; put a secret into an environment "
            "variable.",
            code="invalid-url",
        )


_DEFAULT_PORTS = {"http": 80, "https": 443}


def server_address(url: str) -> str:
    """The server of a URL as ``host:port``.

    >>> server_address("https://Search.example.org/shop"), server_address("http://[::1]:9200")
    ('search.example.org:443', '::1:9200')

    Raises:
        UsageError: the URL is not valid, or holds more than host and path.
    """
    refuse_invalid_url(url)
    base = urlsplit(url)
    return f"{base.hostname}:{base.port or _DEFAULT_PORTS[base.scheme]}"


def _refuse_host(host: str) -> None:
    """Refuse hosts outside of the list of allowed hosts in the environment, if it has one."""
    allowed = {host_name.strip() for host_name in os.environ.get(HOSTS, "").split(",")} - {""}
    if allowed and host not in allowed:
        raise UsageError(
            f"the host {host} is not allowed; {HOSTS} allows {', '.join(sorted(allowed))}.",
            code="host-not-allowed",
        )


def _refuse_no_certificates(path: str) -> None:
    """Refuse a file without certificates before any request."""
    import ssl

    try:
        ssl.create_default_context(cafile=path)
    except (OSError, ssl.SSLError) as error:
        reason = "it holds no certificates" if isinstance(error, ssl.SSLError) else error.strerror
        raise UsageError(
            f"{Path(path).name}: {reason}; ca names a file of certificates in PEM form.", code="cannot-read"
        ) from None


def _message(data: bytes) -> str:
    """The error message of an endpoint."""
    text = data[:_CHUNK_BYTES].decode(errors="replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    error = value.get("error") if isinstance(value, dict) else None
    result = _reason(error) if isinstance(error, dict) else error
    return result if isinstance(result, str) else text


def _reason(error: JsonObject) -> Any:
    """The message of an error; the first root cause if the server names one."""
    causes = error.get("root_cause")
    cause = causes[0] if isinstance(causes, list) and causes else error
    cause = cause if isinstance(cause, dict) else error
    while isinstance(inner := cause.get("caused_by"), dict):
        cause = inner
    return cause.get("message") or cause.get("reason") or error.get("reason")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds to wait: ``Retry-After`` holds seconds, or a date (RFC 9110, 10.2.3)."""
    result = (headers.get("Retry-After") or "").strip()
    try:
        seconds = float(result)
    except ValueError:
        try:
            date = parsedate_to_datetime(result)
        except (ValueError, TypeError):
            return None
        seconds = (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(seconds, 0.0) if seconds < 1e9 else None  # NaN and invalid values give no wait


_PARTIAL = 206


def with_partial(reply: Answer | Failure, partial: Sequence[str]) -> Answer | Failure:
    """The answer, with the reason why it may lack documents."""
    return replace(reply, partial=partial[0]) if partial and isinstance(reply, Answer) else reply


def request_json(
    transport: Transport,
    method: str,
    path: str,
    params: JsonObject,
    body: Json = None,
    partial: list[str] | None = None,
) -> Json | Failure:
    """The JSON of a server's answer; a failure if the answer is not JSON.

    Args:
        transport: the HTTP client of the server.
        method: GET or POST.
        path: the end of the URL.
        params: the parameters of the URL.
        body: the JSON to send.
        partial: a list; the reason is added if the answer may be incomplete.
    """
    query_string = f"?{urlencode(_flatten_params(params))}" if params else ""
    data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
    reply = transport.send(method, path + query_string, data)
    if not isinstance(reply, Response):
        return reply
    if partial is not None and reply.status == _PARTIAL:
        partial.append(f"HTTP {_PARTIAL}, partial content")
    try:
        document: Json = json.loads(reply.data)
    except (ValueError, RecursionError):
        first_bytes = reply.data[:9].lstrip().lower()
        content_name = "HTML" if first_bytes.startswith((b"<!doctype", b"<html")) else "not JSON"
        return Failure("again", f"the answer is {content_name}")
    return document


def _flatten_params(params: JsonObject) -> list[tuple[str, str]]:
    """The parameters of a URL; a list repeats its parameter."""
    return [
        (name, str(single_value).lower() if isinstance(single_value, bool) else value_text(single_value))
        for name, value in params.items()
        for single_value in (value if isinstance(value, list) else [value])
    ]
