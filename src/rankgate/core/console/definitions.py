"""Commands whose help ends with definition lists, such as the methods that an option names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.console.sections import SectionedCommand

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import click


class DefiningCommand(SectionedCommand):
    """A command that explains choices of its options below them.

    Attributes:
        definitions: by heading, each choice and what it means.
    """

    def __init__(
        self,
        *args: Any,
        definitions: Mapping[str, Iterable[tuple[str, str]]],
        **options: Any,
    ) -> None:
        """Take what click takes, and the lists."""
        super().__init__(*args, **options)
        self.definitions = {heading: tuple(rows) for heading, rows in definitions.items()}

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lists."""
        super().format_epilog(ctx, formatter)
        for heading, rows in self.definitions.items():
            with formatter.section(heading):
                formatter.write_dl(rows)
