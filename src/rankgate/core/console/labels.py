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


def labelled(said: tuple[str, ...]) -> dict[float, str]:
    """The names by their grades.

    Raises:
        UsageError: a word that is not GRADE=NAME.
    """
    return dict(map(_label, said))


def _label(said: str) -> tuple[float, str]:
    grade, _, name = said.partition("=")
    try:
        return float(grade), name.strip() or grade
    except ValueError:
        raise UsageError(
            f"--label {said}: write GRADE=NAME, as in 3=Exact.", code="invalid-syntax"
        ) from None
