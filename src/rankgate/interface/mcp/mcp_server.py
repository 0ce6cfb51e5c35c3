"""The server: its tools, and errors in a form for assistants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.metadata import version
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from rankgate.core.errors import RankgateError
from rankgate.interface.mcp.mcp_answers import Page, answer_of, error_text

if TYPE_CHECKING:
    from rankgate.interface.mcp.mcp_tools import Tool

_INSTRUCTIONS = (
    "rankgate measures whether a ranking got better. Start with list_files and describe. Answers hold text "
    "for people, and result with all figures; intervals and warnings matter more than means. A verdict is "
    "pass, fail or inconclusive: never report inconclusive as a pass."
)

_OFFSET_HELP = "    offset: rows of each table to skip; the next_offset of an answer gives its next page."


def make_server(tools: Iterable[Tool], rows: int, largest: int, *, write: bool) -> MCPServer:
    """The server of a folder.

    Args:
        tools: the verbs.
        rows: the largest number of rows of each table in an answer.
        largest: the largest size of an answer, in bytes.
        write: True if tools that write files are offered.
    """
    server = MCPServer("rankgate", instructions=_INSTRUCTIONS, version=version("rankgate"))
    for tool in tools:
        if tool.writes and not write:
            continue
        hints = ToolAnnotations(read_only_hint=not tool.writes, destructive_hint=False)
        server.add_tool(
            _bounded_call(tool, Page(rows, 0, largest)),
            tool.name,
            description=f"{tool.description}\n{_OFFSET_HELP}",
            annotations=hints,
        )
        _refuse_unknown_arguments(server, tool.name)
    return server


def _bounded_call(tool: Tool, page: Page) -> Callable[..., dict[str, Any]]:
    """The tool with answers and errors of limited size, and an argument for the page."""

    def call(offset: int = 0, **arguments: Any) -> dict[str, Any]:
        try:
            return answer_of(tool(**arguments), replace(page, offset=max(offset, 0)))
        except RankgateError as error:
            raise ToolError(error_text(f"{error} ({error.code})", arguments)) from None

    parameters = [argument.parameter for argument in tool.arguments]
    parameters.append(Parameter("offset", Parameter.KEYWORD_ONLY, default=0, annotation=int))
    answer = dict[str, Any]
    call.__name__ = tool.name
    call.__signature__ = Signature(  # type: ignore[attr-defined]
        parameters, return_annotation=answer
    )
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {
        "return": answer
    }
    return call


def _refuse_unknown_arguments(server: MCPServer, name: str) -> None:
    """Make unknown arguments of a tool an error; they are not ignored."""
    tool = server._tool_manager.get_tool(name)  # noqa: SLF001 - the package has no setting for it
    assert tool is not None
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    tool.parameters = model.model_json_schema(by_alias=True)
