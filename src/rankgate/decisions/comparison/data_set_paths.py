"""Paths of several data sets: ``{data_set}`` in a path stands for the name of each."""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankgate.core.errors import InputError, UsageError

DATA_SET = "{data_set}"


def find_data_sets(qrels: str | None, runs: Sequence[str | None], only: Sequence[str] = ()) -> list[str]:
    """The names of the data sets whose judgments exist, in order.

    Args:
        qrels: the path of judgments, with ``{data_set}``.
        runs: the paths of runs, with ``{data_set}``.
        only: names, or files with one name per line; all data sets without them.

    Raises:
        InputError: no judgments, or none of a named data set.
        UsageError: a path without ``{data_set}``, or no runs.
    """
    paths = [path for path in (qrels, *runs) if path is not None]
    incomplete_paths = [path for path in paths if DATA_SET not in path]
    if incomplete_paths or len(paths) < 3:
        lack = (
            f"{incomplete_paths[0]} has no {DATA_SET}"
            if incomplete_paths
            else "judgments and two runs are needed"
        )
        problem = (
            f"--data-sets: {lack}; write the paths of all data sets at once, as in "
            f"'beir/{DATA_SET}/qrels.txt' 'old/{DATA_SET}.run' 'new/{DATA_SET}.run', or give --scores."
        )
        raise UsageError(problem, code="missing-input")
    before, *after = re.escape(paths[0]).split(re.escape(DATA_SET))
    pattern = re.compile(before + r"(?P<name>[^/\\]+)" + "(?P=name)".join(after))
    wildcard = glob.escape(paths[0]).replace(DATA_SET, "*")
    matches = map(pattern.fullmatch, glob.glob(wildcard))  # noqa: PTH207 - the path may be absolute
    names = sorted(match["name"] for match in matches if match)
    if not names:
        raise InputError("no judgments at this path.", source=paths[0], code="no-file")
    chosen_names = listed_names(only)
    if unknown := [name for name in chosen_names if name not in names]:
        problem = f"no judgments of {unknown[0]}; there are those of {', '.join(names[:5])}."
        raise InputError(problem, source=paths[0], code="no-file")
    return chosen_names or names


def system_names_of(runs: Sequence[str]) -> list[str]:
    """The names of systems, from the paths of their runs on all data sets.

    The last part of a path that says more than the data set; the whole path where two are alike.

    >>> system_names_of(["runs/bm25-{data_set}.run", "dense/{data_set}.run"])
    ['bm25', 'dense']
    >>> system_names_of(["a/{data_set}/top.run", "b/{data_set}/top.run"])
    ['a/top', 'b/top']
    """
    parts = [
        [fragment.replace(DATA_SET, "").strip("-_. ") for fragment in Path(run).with_suffix("").parts]
        for run in runs
    ]
    long_names = ["/".join(filter(None, run_parts)) or "run" for run_parts in parts]
    names = [name.rpartition("/")[2] for name in long_names]
    return names if len({*names}) == len(names) else long_names


def listed_names(only: Sequence[str]) -> list[str]:
    """Names, where the path of a file stands for the names on its lines.

    Raises:
        InputError: a file that is not text.
    """
    names: list[str] = []
    for text in only:
        try:
            lines = Path(text).read_text("utf-8").splitlines() if Path(text).is_file() else [text]
        except (OSError, UnicodeDecodeError):
            problem = "not a text file with one name per line."
            raise InputError(problem, source=text, code="unreadable-file") from None
        names += [line.strip() for line in lines if line.strip()]
    return list(dict.fromkeys(names))


def with_data_set(path: Any, name: str) -> Any:  # noqa: ANN401 - one path, several, or None
    """A path, or several, with the name of a data set."""
    if isinstance(path, tuple):
        return tuple(with_data_set(member, name) for member in path)
    return path if path is None else str(path).replace(DATA_SET, name)
