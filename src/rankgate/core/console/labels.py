"""Names of grades on the command line."""

from __future__ import annotations

import click

from rankgate.core.errors import UsageError

label = click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="GRADE=NAME",
    help="The name of a grade, as in 3=Exact; may be given several times.",
)


def parse_labels(texts: tuple[str, ...]) -> dict[float, str]:
    """The names of grades, by grade.

    Raises:
        UsageError: a word that is not GRADE=NAME.
    """
    return dict(map(_parse_label, texts))


def _parse_label(text: str) -> tuple[float, str]:
    grade, _, name = text.partition("=")
    try:
        return float(grade), name.strip() or grade
    except ValueError:
        raise UsageError(
            f"--label {text}: write GRADE=NAME, as in 3=Exact.", code="invalid-syntax"
        ) from None
