"""The page of error codes, from the places in the code where errors are raised."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import rankgate

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(rankgate.__file__).parent
_CODE = re.compile(r"[a-z]+(-[a-z0-9]+)+")
_SHOWN = 3
_LONGEST = 160
_NEAR = 8  # lines between a message and where it is raised

_PAGE = """# Error codes

Every deliberate error has a code, which stays when its message is worded better. Python has it as `code`
of a `rankgate.RankgateError`, JSON of the server and of `rankgate mcp` as `code`, and the command line
shows it with `--verbose`. Exit codes are 2 for all of them.

An error is one of four classes: `InputError` (a file or table, with its location), `UsageError`
(words of a call; a `ValueError` too), `MissingExtraError` (an optional dependency; an `ImportError`
too) and `RankgateError`, the base of all.

The table lists the messages of each code; `…` marks the parts that depend on the case.

"""


def pages() -> Iterator[tuple[str, str]]:
    """The page by its place below ``reference``."""
    yield "errors.md", page()


def page() -> str:
    """The page."""
    rows = [
        f"| `{code}` | {'<br>'.join(_cell(message) for message in messages[:_SHOWN])} |"
        for code, messages in sorted(codes().items())
    ]
    return f"{_PAGE}| code | messages |\n| :-- | :-- |\n" + "\n".join(rows) + "\n"


@cache
def codes() -> dict[str, list[str]]:
    """The messages of each code, in the order of files."""
    messages_by_code: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "code=" not in source and "default_code" not in source:
            continue
        syntax_nodes = list(ast.walk(ast.parse(source)))
        texts = _assigned(syntax_nodes)
        for node in syntax_nodes:
            for code, message in _raised(node, texts):
                if message not in messages_by_code[code]:
                    messages_by_code[code].append(message)
            if isinstance(node, ast.Assign) and _names_default_code(node.targets[0]):
                messages_by_code.setdefault(ast.literal_eval(node.value), [])
            elif isinstance(node, ast.AnnAssign) and _names_default_code(node.target):
                messages_by_code.setdefault(ast.literal_eval(node.value) if node.value else "", [])
    return {code: messages for code, messages in messages_by_code.items() if code}


def _names_default_code(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id == "default_code"


def _assigned(syntax_nodes: list[ast.AST]) -> list[tuple[int, str, str]]:
    """Messages that have a name before they are raised, such as ``problem``, with their lines."""
    return [
        (node.lineno, node.targets[0].id, text)
        for node in syntax_nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and (text := _text(node.value)) is not None
    ]


def _raised(node: ast.AST, texts: list[tuple[int, str, str]]) -> Iterator[tuple[str, str]]:
    """The code and the message of a call that makes an error."""
    if not isinstance(node, ast.Call):
        return
    code = next((keyword.value for keyword in node.keywords if keyword.arg == "code"), None)
    if not isinstance(code, ast.Constant) or not _CODE.fullmatch(str(code.value)):
        return
    first = node.args[0] if node.args else None
    text = _text(first) if first is not None else None
    if text is None and isinstance(first, ast.Name):
        near = [
            assignment for assignment in texts if assignment[1] == first.id and assignment[0] <= node.lineno
        ]
        text = max(near)[2] if near and node.lineno - max(near)[0] < _NEAR else None
    if text and len(text) > _SHOWN:
        yield str(code.value), text


def _text(node: ast.expr | None) -> str | None:
    """A text, with an ellipsis for inserted values; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.JoinedStr):
        return None
    parts = [str(piece.value) if isinstance(piece, ast.Constant) else "…" for piece in node.values]
    return "".join(parts)


def _cell(message: str) -> str:
    """A message in a table of Markdown."""
    line = " ".join(message.split())
    cell = line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
    for sign in "|<>*_`[]":
        cell = cell.replace(sign, f"\\{sign}")
    return cell
