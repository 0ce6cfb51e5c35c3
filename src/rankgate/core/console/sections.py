"""Options of a command in sections of its help: its own first, then those of values."""

from __future__ import annotations

from typing import Any

import click

COLLECTION = "Options of the collection"
RUNS = "Options of runs"
TEST = "Options of the test"
OUTPUT = "Options of the output"
"""The headings, in their order."""


class SectionOption(click.Option):
    """An option that stands in a section of the help."""

    def __init__(self, *declarations: Any, section: str, **attributes: Any) -> None:
        super().__init__(*declarations, **attributes)
        self.section = section


class SectionedCommand(click.Command):
    """A command whose help lists the options of values under their own headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then a section for each value."""
        sections: dict[str, list[tuple[str, str]]] = {
            title: [] for title in ("Options", COLLECTION, RUNS, TEST, OUTPUT)
        }
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(param, "section", "Options"), []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
