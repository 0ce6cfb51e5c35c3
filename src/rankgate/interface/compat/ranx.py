"""ranx, computed here: ``from rankgate.compat.ranx import Qrels, Run, evaluate, compare, fuse``.

Names, arguments and results are those of ranx 0.3.21; numbers follow the convention ``ranx``.
Differences are listed in docs/guides/moving/ranx.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.core.output_files import replace_file
from rankgate.data import read_qrels, read_run
from rankgate.data.adapters import read_rankings
from rankgate.data.collection import Collection
from rankgate.data.file_contents import FileContents
from rankgate.data.files.conversion import choose_format
from rankgate.data.formats.tables.memory_tables import qrels_of_table, run_of_table
from rankgate.data.id_match import ACCEPT
from rankgate.data.memory.rows import unknown_object_error
from rankgate.interface.compat.ranx_report import Report, Significance
from rankgate.measurement.evaluation.evaluate import evaluate as scored
from rankgate.measurement.fusion.fuse import fuse as fused
from rankgate.measurement.fusion.trained_methods import METHODS, NORMALISATIONS
from rankgate.measurement.scoring.presets import chosen_convention

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.streams.source import InputKind

    Table = Mapping[str, Mapping[str, float]]

__all__ = ["Qrels", "Report", "Run", "compare", "evaluate", "fuse", "normalize"]

_TESTS = {"student": "t", "fisher": "randomization"}


class RanxGrades:
    """Judgments or a run as a dictionary of dictionaries, with conversions."""

    part: ClassVar[InputKind]

    def __init__(self, table: Table | None = None, name: str | None = None) -> None:
        rankings = {} if table is None else read_rankings(table, self.part)
        if not isinstance(rankings, Mapping):
            raise unknown_object_error(table, self.part)
        self._table: dict[str, dict[str, float]] = {query: dict(row) for query, row in rankings.items()}
        self.name = name if name is not None else getattr(table, "name", None)
        self.sorted = False

    @classmethod
    def from_dict(cls, d: Table, name: str | None = None) -> Self:
        """From ``{query: {document: number}}``."""
        return cls(d, name)

    @classmethod
    def from_df(
        cls,
        df: Any,
        q_id_col: str = "q_id",
        doc_id_col: str = "doc_id",
        score_col: str = "score",
        name: str | None = None,
    ) -> Self:
        """From a frame with these columns."""
        table: dict[str, dict[str, float]] = {}
        columns = (df[column].to_list() for column in (q_id_col, doc_id_col, score_col))
        for query, document, score in zip(*columns, strict=True):
            table.setdefault(str(query), {})[str(document)] = score
        return cls(table, name)

    @classmethod
    def from_file(cls, path: str | Path, kind: str | None = None, name: str | None = None) -> Self:
        """Read a file in any format of rankgate.

        Raises:
            InputError: The file cannot be read.
        """
        source_format = None if kind in {None, "json", "lz4", "parquet"} else kind
        read: Any = read_qrels if cls.part == "qrels" else read_run
        table = read(str(path), from_=source_format).table
        value = "grade" if cls.part == "qrels" else "score"
        return cls.from_df(table, "query_id", "doc_id", value, name or Path(path).stem)

    @classmethod
    def from_parquet(
        cls,
        path: str | Path,
        q_id_col: str = "q_id",
        doc_id_col: str = "doc_id",
        score_col: str = "score",
        pd_kwargs: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> Self:
        """From a Parquet file with these columns, read by pandas."""
        import pandas as pd

        frame = pd.read_parquet(path, **(pd_kwargs or {}))
        return cls.from_df(frame, q_id_col, doc_id_col, score_col, name)

    @property
    def size(self) -> int:
        """The number of queries."""
        return len(self._table)

    def get_query_ids(self) -> list[str]:
        """The queries."""
        return list(self._table)

    def get_doc_ids_and_scores(self) -> list[dict[str, float]]:
        """The numbers of the documents, by query."""
        return [dict(row) for row in self._table.values()]

    def sort(self) -> None:
        """Order queries by id, and the documents of each by falling number."""
        self._table = {
            query: dict(sorted(self._table[query].items(), key=lambda pair: -pair[1]))
            for query in sorted(self._table)
        }
        self.sorted = True

    def keys(self) -> Any:
        """The queries."""
        return self._table.keys()

    def add_score(self, q_id: str, doc_id: str, score: float) -> None:
        """Set the number of one document."""
        self._table.setdefault(q_id, {})[doc_id] = score
        self.sorted = False

    def add(self, q_id: str, doc_ids: Sequence[str], scores: Sequence[float]) -> None:
        """Set the documents of one query."""
        self.add_multi([q_id], [doc_ids], [scores])

    def add_multi(
        self, q_ids: Sequence[str], doc_ids: Sequence[Sequence[str]], scores: Sequence[Sequence[float]]
    ) -> None:
        """Set the documents of several queries."""
        for query, documents, numbers in zip(q_ids, doc_ids, scores, strict=True):
            self._table[query] = dict(zip(documents, numbers, strict=True))
        self.sorted = False

    def to_dict(self) -> dict[str, dict[str, float]]:
        """As ``{query: {document: number}}``."""
        return {query: dict(row) for query, row in self._table.items()}

    def to_dataframe(self) -> Any:
        """As a pandas frame of ``q_id``, ``doc_id``, ``score``."""
        import pandas as pd

        rows = [(query, *pair) for query, row in self._table.items() for pair in row.items()]
        return pd.DataFrame(rows, columns=["q_id", "doc_id", "score"])

    def save(self, path: str, kind: str | None = None) -> None:
        """Write a file; the suffix or `kind` names the format.

        Raises:
            UsageError: No format has the suffix.
        """
        default_format = "ranx" if Path(path).suffix == ".json" else None
        file_format = choose_format(path, kind if kind not in {None, "json", "lz4"} else default_format)
        assert file_format.write is not None
        contents = (
            FileContents(qrels=qrels_of_table(self._table, self.name or "qrels"))
            if self.part == "qrels"
            else FileContents(runs=(run_of_table(self._table, self.name or "run"),))
        )
        with replace_file(path) as stream:
            file_format.write(contents, stream)

    def __getitem__(self, q_id: str) -> dict[str, float]:
        return self._table[q_id]

    def __len__(self) -> int:
        return len(self._table)


class Qrels(RanxGrades):
    """Judgments."""

    part = "qrels"

    def set_relevance_level(self, rel_lvl: int = 1) -> None:
        """Set the level: grades below it count as 0, the level as 1, the next grade as 2."""
        for row in self._table.values():
            for document, grade in row.items():
                row[document] = max(0, grade - (rel_lvl - 1))


class Run(RanxGrades):
    """A run, with the values that `evaluate` gave it.

    Attributes:
        mean_scores: the mean, by metric.
        scores: the values by metric and query.
        std_scores: the standard deviation by metric, if requested.
    """

    part = "run"

    def __init__(self, run: Table | None = None, name: str | None = None) -> None:
        super().__init__(run, name)
        self.mean_scores: dict[str, float] = {}
        self.std_scores: dict[str, float] = {}
        self.scores: dict[str, dict[str, float]] = {}
        self.metadata: dict[str, Any] = {}

    def make_comparable(self, qrels: Qrels) -> Self:
        """Add empty results for queries that the run lacks; drop those without judgments."""
        self._table = {query: self._table.get(query, {}) for query in qrels.to_dict()}
        self.sort()
        return self


def evaluate(
    qrels: Qrels | Table | Sequence[Any],
    run: Run | Table | Sequence[Any],
    metrics: str | Sequence[str],
    return_mean: bool = True,  # noqa: FBT001, FBT002 - the library's signature
    return_std: bool = False,  # noqa: FBT001, FBT002 - as above
    threads: int = 0,  # noqa: ARG001 - as above
    save_results_in_run: bool = True,  # noqa: FBT001, FBT002 - as above
    make_comparable: bool = False,  # noqa: FBT001, FBT002 - as above
) -> Any:
    """Score a run.

    Arrays hold for each query rows of a document's number and its grade or score; the rows of a run
    are in the order of their ranks.

    Returns:
        A number for one metric, by metric for several; the values of queries, in the order of
        their ids, with ``return_mean=False``.

    Raises:
        UsageError: An unknown metric; a query that only one side has.

    >>> evaluate(Qrels({"q": {"a": 1}}), Run({"q": {"b": 2.0, "a": 1.0}}), "mrr")
    0.5
    """
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    values = _values_by_metric(qrels, run, names, comparable=make_comparable)
    means = {name: float(np.mean(list(by_query.values()))) for name, by_query in values.items()}
    deviations = {name: float(np.std(list(by_query.values()))) for name, by_query in values.items()}
    if save_results_in_run and hasattr(run, "mean_scores"):  # an error of this layer, or of ranx
        scored_run: Any = run
        scored_run.mean_scores |= means
        scored_run.scores |= values
        scored_run.std_scores |= deviations if return_std else {}
    results: dict[str, Any] = dict(means)
    if return_std:
        results = {name: {"mean": means[name], "std": deviations[name]} for name in names}
    if not return_mean:
        results = {name: _to_array(by_query) for name, by_query in values.items()}
    return results[names[0]] if len(names) == 1 else results


def compare(
    qrels: Qrels,
    runs: Sequence[Run],
    metrics: str | Sequence[str],
    stat_test: str = "student",
    n_permutations: int = 1000,
    max_p: float = 0.01,
    random_seed: int = 42,
    threads: int = 0,  # noqa: ARG001 - the library's signature
    rounding_digits: int = 3,
    show_percentages: bool = False,  # noqa: FBT001, FBT002 - as above
    make_comparable: bool = False,  # noqa: FBT001, FBT002 - as above
) -> Report:
    """Score several runs and test each pair, without a correction, as the library does.

    Raises:
        UsageError: A test that this layer lacks: `rankgate.compare` has Tukey's, paired.
    """
    if stat_test not in _TESTS:
        problem = f"unknown test {stat_test!r}; use student or fisher, or rankgate.compare."
        raise UsageError(problem, code="unknown-test")
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    labels = [run.name or f"run_{number}" for number, run in enumerate(runs, 1)]
    values = {
        label: {
            name: _to_array(by_query)
            for name, by_query in _values_by_metric(qrels, run, names, comparable=make_comparable).items()
        }
        for label, run in zip(labels, runs, strict=True)
    }
    test = Significance(_TESTS[stat_test], n_permutations, random_seed)
    return Report(labels, names, values, test, stat_test, max_p, rounding_digits, show_percentages)


def fuse(
    runs: Sequence[Run | Table],
    norm: str | None = "min-max",
    method: str = "wsum",
    params: Mapping[str, Any] | None = None,
) -> Run:
    """Merge runs; methods and their parameters have the library's names.

    Raises:
        UsageError: An unknown method, normalisation or parameter; one that needs training:
            `rankgate.fuse` with ``train`` has those.
    """
    settings = dict(params or {})
    fusion_method = METHODS.find(method).name
    weights = settings.pop("weights", None)
    if weights is None and method == "wsum":
        weights = [1 / len(runs)] * len(runs)
    tables = [read_rankings(run, "run") for run in runs]
    on_scores = METHODS[fusion_method].uses == "scores"
    if not on_scores and norm and NORMALISATIONS.find(norm).name == "min-max-inverted":
        tables = [normalize(table, norm).to_dict() for table in tables]  # other ranks
    result = fused(
        {f"run_{number}": table for number, table in enumerate(tables, 1)},
        fusion_method,
        settings,
        weights=weights,
        norm=(norm or "none") if on_scores else None,
    )
    assert result.run is not None
    fused_run = Run.from_df(result.run.table, "query_id", name=method)
    for query in sorted({query for table in tables for query in table}):
        fused_run._table.setdefault(query, {})  # noqa: SLF001 - no run has documents for it
    fused_run.sort()
    return fused_run


def normalize(run: Run | Table, norm: str = "min-max") -> Run:
    """Bring the scores of each query to one scale.

    Raises:
        UsageError: An unknown normalisation, or one that needs several runs.
    """
    scale = NORMALISATIONS.find(norm)
    if scale.finish is not None:
        problem = f"the normalisation {scale.name} needs several runs; use fuse(norm='{norm}')."
        raise UsageError(problem, code="unknown-normalisation")
    normalized = Run(read_rankings(run, "run"), getattr(run, "name", None))
    normalized.sort()
    for query, row in normalized._table.items():  # noqa: SLF001 - of this class
        scores = np.array(list(row.values()), float)
        scaled_scores = scale.apply(scores, np.zeros(1, int), np.array([len(row)]))
        normalized._table[query] = dict(zip(row, scaled_scores.tolist(), strict=True))  # noqa: SLF001
    normalized.sort()
    return normalized


def _values_by_metric(
    qrels: Any, run: Any, names: Sequence[str], *, comparable: bool
) -> dict[str, dict[str, float]]:
    """Map metrics to the values of queries, in the order of ids."""
    tables = [
        _to_dictionary(qrels if _is_array(qrels) else read_rankings(qrels, "qrels"), in_order=False),
        _to_dictionary(run if _is_array(run) else read_rankings(run, "run"), in_order=True),
    ]
    overrides = {"missing": "zero", "unknown": "ignore"} if comparable else {}
    rules = chosen_convention("ranx", overrides)
    scores = scored(Collection(tables[0], ids=ACCEPT), tables[1], names, rules).runs[0]
    values_by_metric = {}
    for name in names:
        values = scores.per_query(name)
        values_by_metric[name] = {query: float(values[query] or 0) for query in sorted(values)}
    return values_by_metric


def _is_array(table: object) -> bool:
    return isinstance(table, Sequence | np.ndarray)


def _to_dictionary(table: Any, *, in_order: bool) -> Table:
    """The judgments or run by query and document; queries of an array are named by their index.

    Args:
        table: a dictionary, or an array.
        in_order: the rows of an array are ranked in their order; scores are ignored.
    """
    if isinstance(table, Mapping):
        return table
    return {
        f"{number:09}": {
            str(int(row[0])): float(-rank if in_order else row[1]) for rank, row in enumerate(rows)
        }
        for number, rows in enumerate(table)
    }


def _to_array(values: Mapping[str, float]) -> NDArray[np.float64]:
    return np.array(list(values.values()))
