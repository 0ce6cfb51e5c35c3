"""Ask a server for JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from rankgate.data.answers.answer import Answer, Failure
from rankgate.engines.requests.transport import Response, Transport

_PARTIAL = 206


def with_partial(reply: Answer | Failure, partial: Sequence[str]) -> Answer | Failure:
    """The answer, with the reason why it may lack documents."""
    return replace(reply, partial=partial[0]) if partial and isinstance(reply, Answer) else reply


def request_json(
    transport: Transport,
    method: str,
    path: str,
    params: Mapping[str, Any],
    body: Any = None,
    partial: list[str] | None = None,
) -> Any | Failure:
    """The JSON of a server's answer; a failure where it sends none.

    Args:
        transport: to the server.
        method: GET or POST.
        path: the end of the URL.
        params: of the URL.
        body: the JSON to send.
        partial: a list to which the reason is added why the answer may be incomplete.
    """
    query_string = f"?{urlencode(_flatten_params(params))}" if params else ""
    data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
    reply = transport.send(method, path + query_string, data)
    if not isinstance(reply, Response):
        return reply
    if partial is not None and reply.status == _PARTIAL:
        partial.append(f"HTTP {_PARTIAL}, partial content")
    try:
        return json.loads(reply.data)
    except (ValueError, RecursionError):
        first_bytes = reply.data[:9].lstrip().lower()
        content_name = "HTML" if first_bytes.startswith((b"<!doctype", b"<html")) else "no JSON"
        return Failure("again", f"the answer is {content_name}")


def _flatten_params(params: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Parameters of a URL; a list is one parameter several times."""
    return [
        (name, _param_text(single_value))
        for name, value in params.items()
        for single_value in (value if isinstance(value, list) else [value])
    ]


def _param_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
