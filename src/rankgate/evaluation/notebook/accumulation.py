"""``rankgate.Accumulator``: metrics over batches, and over machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.evaluation import accumulate
from rankgate.evaluation.context import Context
from rankgate.metrics.names import DEFAULT_METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rankgate.data.inputs import RunLike, TableLike
    from rankgate.data.logs.interactions import LogLike
    from rankgate.metrics.declare import Metric
    from rankgate.scoring.convention import Convention
    from rankgate.scoring.overrides import Overrides


class Accumulator(accumulate.Accumulator):
    """Metrics over batches of users, of which nothing is kept but what adds up.

    A batch is judgments and rankings of some whole users, in any form that `evaluate` takes. In
    whatever order batches come and accumulators are merged, the numbers are those of one pass:
    counts exactly, others to rounding. A user who comes in two batches counts as two; rows of
    matrices without names are users of their own batch.

    >>> pooled = Accumulator(["RR", "Coverage@1"], catalogue=4)
    >>> pooled.update({"u": ["0"]}, {"u": ["1", "0"]})
    >>> other = Accumulator(["RR", "Coverage@1"], catalogue=4)
    >>> other.update({"v": ["3"]}, {"v": ["3", "2"]})
    >>> pooled.merge(other)
    >>> pooled.result()
    {'RR': 0.75, 'Coverage@1': 0.5}
    >>> pooled.counts.queries
    2
    """

    def __init__(
        self,
        metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
        convention: str | Convention = "trec",
        *,
        overrides: Overrides | Sequence[str] = (),
        extra: Sequence[Metric] = (),
        catalogue: int | Iterable[object] | None = None,
        train: LogLike | None = None,
        items: TableLike | None = None,
        features: Sequence[str] = (),
        category: str | None = None,
        group: str | None = None,
        obvious: RunLike | None = None,
        drop_seen: bool = False,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        """Say what is computed; arguments as of `evaluate`.

        Metrics of lists need all items beforehand: from the catalogue, training or the table of
        items.

        Raises:
            InputError: a table that cannot be read.
            UsageError: an unknown metric or convention; metrics of lists without their items.
        """
        context = Context(
            train=train,
            items=items,
            features=tuple(features),
            category=category,
            group=group,
            baseline=obvious,
            drop_seen=drop_seen,
        )
        super().__init__(
            metrics,
            convention,
            overrides=overrides,
            extra=extra,
            context=context,
            catalogue=catalogue,
            columns=columns,
        )
