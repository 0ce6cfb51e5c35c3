"""Name runs after their files, without duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError

if TYPE_CHECKING:
    from rankgate.data.comparison import ScoredRun


def distinct_names(names: Sequence[str], places: Sequence[Any]) -> list[str]:
    """Make equal names different: by the shortest folder, by the whole file name, else by number.

    Args:
        names: of runs.
        places: the sources of the runs; paths, or anything else.

    >>> distinct_names(["x", "x", "y"], ["old/x.run", "new/x.run", "y.run"])
    ['old/x', 'new/x', 'y']
    >>> distinct_names(["smith", "smith"], ["smith.bm25.gz", "smith.rm3.gz"])
    ['smith.bm25', 'smith.rm3']
    >>> distinct_names(["x", "x"], ["x.run", "x.run"])
    ['x', 'x#2']
    """
    result = list(names)
    for i, name in enumerate(names):
        twins = [j for j, other_name in enumerate(names) if other_name == name]
        if len(twins) == 1:
            continue
        files = all(isinstance(places[j], str | Path) for j in twins)
        longer = _longer_name(i, {j: Path(str(places[j])) for j in twins}, name) if files else None
        number = twins.index(i) + 1
        result[i] = longer or (name if number == 1 else f"{name}#{number}")
    return result


def refuse_baseline_again(baseline: object, candidates: Sequence[object]) -> None:
    """Check that the file of the baseline is not given as a candidate too.

    Raises:
        UsageError: it is, by the same or another path.
    """
    for candidate in candidates:
        if (
            _is_file(baseline)
            and _is_file(candidate)
            and Path(str(baseline)).samefile(str(candidate))
        ):
            raise UsageError(
                f"{candidate}: this file is the baseline too; name the run of another system.",
                code="baseline-is-candidate",
            )


def _is_file(source: object) -> bool:
    return isinstance(source, str | Path) and Path(source).is_file()


def rename_duplicates(systems: Sequence[ScoredRun], places: Sequence[Any]) -> list[ScoredRun]:
    """Make names of scored systems distinct; arguments as of `distinct_names`."""
    names = distinct_names([system.name for system in systems], places)
    return [
        system if system.name == name else replace(system, name=name)
        for system, name in zip(systems, names, strict=True)
    ]


def _longer_name(index: int, paths: dict[int, Path], name: str) -> str | None:
    """A name that no twin has: with folders, or the file's name; None if there is none.

    The same file twice, and a file next to another of the same name, have none.
    """
    parts = {j: path.absolute().parts for j, path in paths.items()}
    for up in range(1, max(map(len, parts.values()))):
        tails = {j: path_parts[-1 - up : -1] for j, path_parts in parts.items()}
        if sum(tail == tails[index] for tail in tails.values()) == 1:
            return "/".join([*tails[index], name])
    files = {j: path.name.removesuffix(".gz").removesuffix(".zst") for j, path in paths.items()}
    return files[index] if sum(file == files[index] for file in files.values()) == 1 else None
