"""``rankgate mcp``: the verbs as tools of an assistant."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import click

from rankgate.core.console.declared_options import own_options
from rankgate.core.declare import Count, Range
from rankgate.core.errors import require


@click.command("mcp")
@click.argument("folder", type=click.Path(path_type=Path), default=".")
@own_options("write", "max_bytes", "rows", "answer_bytes")
def mcp_command(
    folder: Path,
    *,
    write: bool = False,
    max_bytes: Count = 500_000_000,
    rows: Annotated[int, Range(1, 100_000)] = 100,
    answer_bytes: Annotated[int, Range(4_000)] = 32_000,
) -> None:
    """Let an AI assistant call rankgate: a server of the Model Context Protocol on standard input.

    Nothing outside of FOLDER is read. Without --write no file is written.

    \b
    rankgate mcp evaluation
    rankgate mcp evaluation --write
    \f

    Options:
        write: Offer tools that write new files into the folder.
        max_bytes: The size of the largest file that is read.
        rows: Rows of each table that an answer holds at most.
        answer_bytes: The size of the largest answer; longer ones have pages.
    """
    require("rankgate mcp needs the package mcp", "mcp")
    from rankgate.interface.mcp.mcp_server import make_server
    from rankgate.interface.mcp.mcp_tools import make_tools, open_folder

    readable_folder = open_folder(folder, max_bytes)
    os.chdir(readable_folder.root)  # saved baselines and files in errors are named as in the folder
    make_server(make_tools(readable_folder), rows, answer_bytes, write=write).run("stdio")
