"""``rankgate demo``: see rankgate at work on real input."""

from __future__ import annotations

import click

from rankgate.interface.demo.story import tell


@click.command("demo")
@click.argument("folder", type=click.Path(file_okay=False), default="demo")
def command(folder: str) -> None:
    """Build two search engines with judged queries in FOLDER and evaluate them, step by step.

    \b
    rankgate demo
    """
    tell(folder, lambda part: click.echo(f"{part}\n"))
