"""The only HTTP client: send a request and classify every answer or failure."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from rankgate.errors import MissingExtraError, UsageError
from rankgate.judging.llm.answers import all_values

if TYPE_CHECKING:
    import urllib3

    from rankgate.judging.llm.protocols import Said, Wire

Kind = Literal["answer", "again", "refused", "fatal"]

_LARGEST = 4 << 20  # bytes of an answer
_PIECE = 1 << 16
_CONNECT = 10.0
_OK, _DENIED, _WRONG = range(200, 300), {401, 402, 403}, {404, 405, 410}
_MOVED = range(300, 400)
_AGAIN = {408, 409, 425, 429}
_SERVER = 500
_SHOWN = 200
_HIDDEN = "[key]"
_HERE = {"localhost", "127.0.0.1", "::1"}
_SHAPES = (ValueError, KeyError, IndexError, TypeError, AttributeError)


@dataclass(frozen=True)
class Reply:
    """What came of one request.

    Attributes:
        kind: ``answer``; ``again``: worth another try; ``refused``: this request will never be
            answered; ``fatal``: no request will be.
        said: the answer.
        problem: why there is none, without any secret.
        wait: seconds that the server asks to wait.
        billed: it may have been paid for although nobody says what it cost.
    """

    kind: Kind
    said: Said | None = None
    problem: str = ""
    wait: float | None = None
    billed: bool = False


class Client:
    """Sends requests to one endpoint; may be used by many threads.

    The key goes into the headers of requests to this endpoint and nowhere else: redirections are
    not followed, and it is cut out of whatever comes back.

    Args:
        wire: the protocol.
        url: the endpoint's base, such as ``http://localhost:11434/v1``; the protocol's own where
            it is empty.
        key: the secret, where the endpoint needs one.
        timeout: seconds that a whole request may take.
        threads: how many will use it.

    Raises:
        MissingExtraError: urllib3 is not installed.
        UsageError: an invalid URL, or one that holds a secret; a key that no header can hold.
    """

    def __init__(
        self, wire: Wire, url: str = "", key: str | None = None, *, timeout: float, threads: int = 1
    ) -> None:
        try:
            import urllib3
        except ImportError:
            message = "language models need urllib3; pip install 'rankgate[llm]'."
            raise MissingExtraError(message) from None
        _refuse_strange(url or wire.url)
        if key is not None and (not key.isascii() or not key.isprintable() or not key.strip()):
            raise UsageError(
                "the key is empty or holds what no header can; set it again.",
                code="invalid-key",
            )
        self._wire, self._key, self._timeout = wire, key, timeout
        self._url = (url or wire.url).rstrip("/") + wire.path
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "rankgate",
            **wire.headers(key),
        }
        self._errors = urllib3.exceptions
        self._limits = urllib3.Timeout(connect=min(_CONNECT, timeout), read=timeout)
        self._pool = _pool(self._url, threads)

    def __repr__(self) -> str:
        """Without the key."""
        return f"Client({self._url!r})"

    def send(self, body: bytes) -> Reply:
        """One request, one reply; never an exception of HTTP."""
        end, status = time.monotonic() + self._timeout, 0
        try:
            response = self._pool.request(
                "POST",
                self._url,
                body=body,
                headers=self._headers,
                redirect=False,
                preload_content=False,
                timeout=self._limits,
            )
            status = response.status
            data = self._body(response, end)
        except self._errors.HTTPError as error:
            return self._broken(error, status)
        if status in _OK:
            return self._read(data)
        return self._failed(status, response.headers, data)

    def scrubbed(self, text: str) -> str:
        """A text without the key."""
        return text.replace(self._key, _HIDDEN) if self._key else text

    def _broken(self, error: Exception, status: int) -> Reply:
        """Nothing came, or not all of it; what was asked may have been answered all the same."""
        known = self._errors
        unsent = (known.ConnectTimeoutError, known.NewConnectionError, known.ProxyError)
        if isinstance(error, unsent):
            return Reply("again", problem="no connection to the endpoint")
        if isinstance(error, self._errors.SSLError):
            return Reply("fatal", problem=self.scrubbed(f"no safe connection: {error}"))
        problem = "the answer breaks off"
        if isinstance(error, self._errors.TimeoutError):
            problem = f"no answer within {self._timeout:g} seconds"
        return Reply("again", problem=problem, billed=status == 0 or status in _OK)

    def _body(self, response: Any, end: float) -> bytes:
        """All bytes of an answer, in time."""
        pieces, size = [], 0
        with closing(response):  # one that was read to its end went back to the pool before
            while piece := response.read1(_PIECE):
                pieces.append(piece)
                size += len(piece)
                if time.monotonic() > end:
                    raise self._errors.TimeoutError
                if size > _LARGEST:
                    raise self._errors.ProtocolError
        return b"".join(pieces)

    def _read(self, data: bytes) -> Reply:
        try:
            value = json.loads(data, object_pairs_hook=all_values)
            said = self._wire.said(value)
        except (*_SHAPES, RecursionError):
            return Reply("again", problem="the answer is not JSON of this protocol", billed=True)
        return Reply("answer", replace(said, text=self.scrubbed(said.text)))

    def _failed(self, status: int, headers: Mapping[str, str], data: bytes) -> Reply:
        if status in _DENIED:  # what such an answer quotes may be a part of the key
            problem = f"HTTP {status}: the endpoint refuses access; check the key and the account"
            return Reply("fatal", problem=problem)
        if status in _MOVED:
            problem = f"HTTP {status}: the endpoint is elsewhere, and redirections are not followed"
            return Reply("fatal", problem=problem)
        result = _short(self.scrubbed(_message(data)))
        problem = f"HTTP {status}" + (f": {result}" if result else "")
        if status in _WRONG:
            return Reply("fatal", problem=problem)
        if status in _AGAIN or status >= _SERVER:
            return Reply("again", problem=problem, wait=_retry_after(headers))
        return Reply("refused", problem=problem)


def _pool(url: str, threads: int) -> urllib3.PoolManager:
    """Connections to an endpoint, through the proxy that the environment names for it, if any."""
    import urllib3

    base = urlsplit(url)
    host = str(base.hostname)
    proxy = getproxies().get(base.scheme)
    if not proxy or host in _HERE or proxy_bypass(host):
        return urllib3.PoolManager(maxsize=threads, retries=False)
    try:
        who = urlsplit(proxy)
        login = f"{unquote(who.username or '')}:{unquote(who.password or '')}"
        headers = urllib3.make_headers(proxy_basic_auth=login) if who.username else None
        return urllib3.ProxyManager(proxy, maxsize=threads, retries=False, proxy_headers=headers)
    except (ValueError, urllib3.exceptions.HTTPError):
        problem = f"the proxy that {base.scheme}_proxy names is not a URL; it begins with http://."
        raise UsageError(problem, code="invalid-url") from None


def _refuse_strange(url: str) -> None:
    """An invalid URL is not shown: what was meant for another place may be a secret."""
    try:
        base = urlsplit(url)
        good = base.scheme in {"http", "https"} and bool(base.hostname) and base.port != 0
    except ValueError:
        good = False
    if not good:
        raise UsageError(
            "the URL of the endpoint is not valid; it begins with http:// or https://.",
            code="invalid-url",
        )
    if base.username or base.password or base.query or base.fragment:
        raise UsageError(
            "the URL of the endpoint holds more than host and path; a secret belongs into an "
            "environment variable.",
            code="invalid-url",
        )


def _message(data: bytes) -> str:
    """The error message of an endpoint, in one line."""
    text = data[:_PIECE].decode(errors="replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    error = value.get("error") if isinstance(value, dict) else None
    result = error.get("message") if isinstance(error, dict) else error
    return " ".join((result if isinstance(result, str) else text).split())


def _short(line: str) -> str:
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds to wait: ``Retry-After`` holds seconds, or a date (RFC 9110, 10.2.3)."""
    result = (headers.get("Retry-After") or "").strip()
    try:
        seconds = float(result)
    except ValueError:
        try:
            when = parsedate_to_datetime(result)
        except (ValueError, TypeError):
            return None
        seconds = (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(seconds, 0.0) if seconds < 1e9 else None  # NaN and nonsense are none
