"""``rankgate mcp``: the verbs as tools of an assistant."""

from __future__ import annotations

import os
from pathlib import Path

import click

from rankgate.core.errors import require


@click.command("mcp")
@click.argument("folder", type=click.Path(path_type=Path), default=".")
@click.option("--write", is_flag=True, help="Offer tools that write new files into the folder.")
@click.option(
    "--max-bytes",
    default=500_000_000,
    show_default=True,
    type=click.IntRange(1),
    help="The size of the largest file that is read.",
)
@click.option(
    "--rows",
    default=100,
    show_default=True,
    type=click.IntRange(1, 100_000),
    help="Rows of each table that an answer holds at most.",
)
@click.option(
    "--answer-bytes",
    default=32_000,
    show_default=True,
    type=click.IntRange(4_000),
    help="The size of the largest answer; longer ones have pages.",
)
def mcp_command(folder: Path, write: bool, max_bytes: int, rows: int, answer_bytes: int) -> None:
    """Let an AI assistant call rankgate: a server of the Model Context Protocol on standard input.

    Nothing outside of FOLDER is read. Without --write no file is written.

    \b
    rankgate mcp evaluation
    rankgate mcp evaluation --write
    """
    require("rankgate mcp needs the package mcp", "mcp")
    from rankgate.interface.mcp.mcp_server import make_server
    from rankgate.interface.mcp.mcp_tools import make_tools, open_folder

    readable_folder = open_folder(folder, max_bytes)
    os.chdir(readable_folder.root)  # saved baselines and files in errors are named as in the folder
    make_server(make_tools(readable_folder), rows, answer_bytes, write=write).run("stdio")
