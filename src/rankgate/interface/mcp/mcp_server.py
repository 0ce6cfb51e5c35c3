"""The server: its tools, and errors as an assistant reads them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from inspect import Parameter, getdoc, getmembers, isfunction, signature
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from rankgate.core.errors import RankgateError
from rankgate.interface.mcp.mcp_answers import Page, answer_of, error_text
from rankgate.interface.mcp.mcp_tools import WRITING, Tools

_INSTRUCTIONS = (
    "rankgate measures whether a ranking got better. Start with list_files and describe. Answers "
    "hold text for people, and result with all figures; intervals and warnings matter more than "
    "means. A verdict is pass, fail or inconclusive: never report inconclusive as a pass."
)

_OFFSET_HELP = (
    "    offset: rows of each table to skip; the next_offset of an answer gives its next page."
)


def make_server(tools: Tools, rows: int, largest: int, *, write: bool) -> MCPServer:
    """The server of a folder.

    Args:
        tools: the verbs.
        rows: of each table that an answer holds at most.
        largest: bytes of an answer.
        write: whether tools that write files are offered.
    """
    server = MCPServer("rankgate", instructions=_INSTRUCTIONS, version=version("rankgate"))
    for name, _ in getmembers(Tools, isfunction):
        if name.startswith("_") or (name in WRITING and not write):
            continue
        verb = getattr(tools, name)
        hints = ToolAnnotations(read_only_hint=name not in WRITING, destructive_hint=False)
        call = _bounded_verb(verb, Page(rows, 0, largest))
        server.add_tool(
            call, name, description=f"{getdoc(verb)}\n{_OFFSET_HELP}", annotations=hints
        )
        _refuse_unknown_arguments(server, name)
    return server


def _bounded_verb(verb: Callable[..., dict[str, Any]], page: Page) -> Callable[..., dict[str, Any]]:
    """A verb whose answers and errors have a bounded size, with an argument that turns pages."""

    @functools.wraps(verb)
    def call(offset: int = 0, **arguments: Any) -> dict[str, Any]:
        try:
            return answer_of(verb(**arguments), replace(page, offset=max(offset, 0)))
        except RankgateError as error:
            raise ToolError(error_text(f"{error} ({error.code})", arguments)) from None

    verb_signature = signature(verb, eval_str=True)
    rows = Parameter("offset", Parameter.KEYWORD_ONLY, default=0, annotation=int)
    call.__signature__ = verb_signature.replace(  # type: ignore[attr-defined]
        parameters=[*verb_signature.parameters.values(), rows]
    )
    call.__annotations__ = {
        name: parameter.annotation for name, parameter in verb_signature.parameters.items()
    } | {"offset": int, "return": dict[str, Any]}
    return call


def _refuse_unknown_arguments(server: MCPServer, name: str) -> None:
    """An argument that a tool does not have is an error, not ignored."""
    tool = server._tool_manager.get_tool(name)  # noqa: SLF001 - the package has no setting for it
    assert tool is not None
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    tool.parameters = model.model_json_schema(by_alias=True)
