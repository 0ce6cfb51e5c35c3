"""``rankgate.split``, and splits that show themselves in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankgate.present.forms import as_html
from rankgate.recommenders import split as service
from rankgate.recommenders.documents import split as report
from rankgate.recommenders.split_files import written

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl

    from rankgate.data.logs.interactions import LogLike
    from rankgate.data.qrels import Qrels


@dataclass(frozen=True)
class Split(service.Split):
    """A log in parts; tables are Polars frames."""

    @property
    def train(self) -> pl.DataFrame:
        """What is learned from, in the first fold."""
        return self.folds[0].train.table

    @property
    def test(self) -> pl.DataFrame:
        """What is predicted, in the first fold."""
        return self.folds[0].test.table

    @property
    def qrels(self) -> Qrels:
        """Ground truth of the test, in the first fold."""
        return self.folds[0].judgments

    def write(self, folder: str | Path, to: str = "csv") -> tuple[str, ...]:
        """Write every part into a folder; the names of the files come back.

        Raises:
            UsageError: no such format, or a folder that cannot be made.
        """
        return written(self, folder, to)

    def render(self, form: str = "text") -> str:
        """The figures of the parts, and what they share, as text, Markdown or JSON."""
        return report.render(self, form)

    def _repr_html_(self) -> str:
        words = "".join(as_html.paragraph(line) for line in self.warnings)
        return as_html.table(report.parts(self)) + words


def split(
    log: LogLike,
    way: str = "global",
    *,
    share: float = 0.2,
    last: int = 1,
    cut: str | None = None,
    windows: int = 5,
    validation: bool = False,
    candidates: str = "unseen",
    negatives: int = 99,
    weights: Mapping[str, float] | None = None,
    threshold: float = 0.0,
    least: Mapping[str, float] | None = None,
    repeats: Any = "max",  # noqa: ANN401 - a word, checked where it is used
    grades: Any = "binary",  # noqa: ANN401 - as above
    columns: Mapping[str, str] | None = None,
    unit: str | None = None,
    seed: int = 0,
) -> Split:
    """Split a log into what is learned from and what is predicted.

    Args:
        log: a path or a frame with columns for user, item and, where there are any, time, kind
            and value.
        way: ``global`` (by one moment), ``user`` (the last share of each user), ``leave-last``,
            ``leave-one-out``, ``random``, ``windows``, ``cold-users`` or ``cold-items``.
        share: how much is predicted.
        last: how many interactions of each user ``leave-last`` predicts.
        cut: the moment from which on ``global`` predicts.
        windows: the number of folds of ``windows``.
        validation: whether another part, as large as the test, lies before it.
        candidates: ``unseen``, ``all`` or ``sampled``.
        negatives: how many items are drawn for each user with ``sampled``.
        weights: what one interaction of a kind weighs.
        threshold: the least worth that is relevant.
        least: the least value of one interaction of a kind; one below it is worth nothing.
        repeats: what several interactions with one item are worth.
        grades: ``binary`` or ``value``.
        columns: our column -> the log's.
        unit: the unit of times that are numbers.
        seed: of everything that is drawn.

    Raises:
        InputError: a log that cannot be read; nothing to learn from or to predict.
        UsageError: an unknown word, or times that the way needs and that are not there.

    >>> import polars as pl
    >>> log = pl.DataFrame({"user": list("uuvv"), "item": list("abab"), "time": [1, 4, 2, 3]})
    >>> pooled = split(log, "leave-last")
    >>> pooled.qrels.table.rows()
    [('u', 'b', 1.0), ('v', 'b', 1.0)]
    """
    result = service.split(
        log,
        service.SplitPlan(way, share, last, None, windows, validation, seed),
        service.Truth(weights or {}, threshold, repeats, grades, least or {}),
        candidates=candidates,
        negatives=negatives,
        cut=cut,
        columns=columns,
        unit=unit,
    )
    return Split(**vars(result))
