"""Ask a language model's endpoint, and classify every answer or failure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.engines.requests.secrets import Secrets
from rankgate.engines.requests.transport import FailedRequest, Transport
from rankgate.judging.llm.answers import all_values

if TYPE_CHECKING:
    from typing import Literal

    from rankgate.data.answers.answer import FailureKind
    from rankgate.judging.llm.protocols import EndpointAnswer, Wire

_MAX_BYTES = 4 << 20  # bytes of an answer
_OK = range(200, 300)
_KEY_MASK = "[key]"
_SHAPE_ERRORS = (ValueError, KeyError, IndexError, TypeError, AttributeError)


@dataclass(frozen=True)
class Reply:
    """The result of one request.

    Attributes:
        kind: ``answer``; ``again``: worth another try; ``refused``: this request will never be
            answered; ``fatal``: no request will be.
        said: the answer.
        problem: why there is none, without any secret.
        wait: seconds that the server asks to wait.
        billed: it may have been paid for although nobody says what it cost.
    """

    kind: Literal["answer"] | FailureKind
    said: EndpointAnswer | None = None
    problem: str = ""
    wait: float | None = None
    billed: bool = False


class Client:
    """Sends requests to one endpoint; may be used by many threads.

    The key goes into the headers of requests to this endpoint and nowhere else: redirections are
    not followed, and `storable` removes it from all that is kept of answers.

    Args:
        wire: the protocol.
        url: the endpoint's base, such as ``http://localhost:11434/v1``; the protocol's own where
            it is empty.
        key: the secret, where the endpoint needs one.
        timeout: seconds that a whole request may take.
        threads: how many will use it.

    Raises:
        UsageError: an invalid URL, or one that holds a secret; a key that no header can hold.
    """

    def __init__(
        self, wire: Wire, url: str = "", key: str | None = None, *, timeout: float, threads: int = 1
    ) -> None:
        if key is not None and (not key.isascii() or not key.isprintable() or not key.strip()):
            raise UsageError(
                "the key is empty or holds what no header can; set it again.",
                code="invalid-key",
            )
        self._wire, self._secrets = wire, Secrets(_KEY_MASK)
        self._secrets.add(key or "")
        self._transport = Transport(
            (url or wire.url).rstrip("/") + wire.path,
            {"Accept": "application/json", **wire.headers(key)},
            timeout=timeout,
            threads=threads,
            largest=_MAX_BYTES,
        )

    def __repr__(self) -> str:
        """The URL, without the key."""
        return f"Client({self._transport.url!r})"

    def send(self, body: bytes) -> Reply:
        """Send one request and return its reply; HTTP errors raise no exception."""
        reply = self._transport.send("POST", body=body)
        if isinstance(reply, FailedRequest):
            billed = reply.sent and (reply.status == 0 or reply.status in _OK)
            return Reply(
                reply.kind,
                problem=self.storable(self._secrets.message(reply.problem)),
                wait=reply.wait,
                billed=billed,
            )
        return self._read(reply.data)

    def storable(self, text: str) -> str:
        """A text of the endpoint as files and databases can keep it: valid, and without the key.

        It is for texts that were read already: a key may look like a grade.
        """
        text = text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
        return self._secrets.scrubbed(text)

    def _read(self, data: bytes) -> Reply:
        try:
            value = json.loads(data, object_pairs_hook=all_values)
            answer = self._wire.said(value)
        except (*_SHAPE_ERRORS, RecursionError):
            return Reply("again", problem="the answer is not JSON of this protocol", billed=True)
        return Reply("answer", answer)
