"""``rankgate demo``: see rankgate at work on real input."""

from __future__ import annotations

import click

from rankgate.interface.demo.demo_story import print_demo


@click.command("demo")
@click.argument("folder", type=click.Path(file_okay=False), default="demo")
def demo_command(folder: str) -> None:
    """Build two search engines with judged queries in FOLDER and evaluate them, step by step.

    \b
    rankgate demo
    """
    print_demo(folder, lambda paragraph: click.echo(f"{paragraph}\n"))
