"""The server: its tools, and errors as an assistant reads them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from inspect import getdoc, getmembers, isfunction
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

import rankgate
from rankgate.errors import RankgateError
from rankgate.mcp.tools import WRITING, Tools

_ABOUT = (
    "rankgate says whether a ranking got better. Start with list_files and describe. Answers hold "
    "text for people, and result with all figures; intervals and warnings matter more than means. "
    "A verdict is pass, fail or inconclusive: never report inconclusive as a pass."
)


def server_of(tools: Tools, *, write: bool) -> MCPServer:
    """The server of a folder.

    Args:
        tools: the verbs.
        write: whether tools that write files are offered.
    """
    server = MCPServer("rankgate", instructions=_ABOUT, version=rankgate.__version__)
    for name, _ in getmembers(Tools, isfunction):
        if name.startswith("_") or (name in WRITING and not write):
            continue
        verb = getattr(tools, name)
        hints = ToolAnnotations(read_only_hint=name not in WRITING, destructive_hint=False)
        server.add_tool(_reported(verb), name, description=getdoc(verb), annotations=hints)
    return server


def _reported(verb: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """A verb whose errors are one sentence with their code."""

    @functools.wraps(verb)
    def call(*args: Any, **given: Any) -> dict[str, Any]:
        try:
            return verb(*args, **given)
        except RankgateError as error:
            raise ToolError(f"{error} ({error.code})") from None

    return call
