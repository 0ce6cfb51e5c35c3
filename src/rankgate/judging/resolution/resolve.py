"""Resolve ratings: at most one grade per query and document, by a stated rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Count
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present import csv_form, write_results
from rankgate.core.present.column_texts import column_texts, rows_as_json
from rankgate.data import read_qrels
from rankgate.data.column_map import map_columns
from rankgate.data.qrels import parse_scale
from rankgate.data.read import read_ratings
from rankgate.judging.grade_transformers import find_transformer
from rankgate.judging.pooling.pool_sampling import add_inclusion
from rankgate.judging.rating_tasks import pool_table
from rankgate.judging.resolution.resolution import RULES, format_exact
from rankgate.judging.resolution.resolution import resolve_ratings as resolved
from rankgate.judging.trec_lines import trec_lines

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.data.input_types import ColumnsLike, QrelsLike, RatingsLike
    from rankgate.judging.grade_transformers import Transformer
    from rankgate.judging.rating_tasks import PoolLike
    from rankgate.judging.resolution.resolution import ResolvedJudgments


@dataclass(frozen=True)
class RuleFacts:
    """The name, title, source and parameters of a rule, for help and documentation."""

    name: str
    title: str
    source: str
    parameters: tuple[tuple[str, str], ...]


def rules() -> tuple[RuleFacts, ...]:
    """All rules."""
    return tuple(
        RuleFacts(
            rule.name,
            rule.title,
            rule.source,
            tuple((name, parameter.help) for name, parameter in rule.parameters.items()),
        )
        for rule in RULES.values()
    )


def resolve(
    ratings: RatingsLike,
    rule: str = "majority",
    parameters: Mapping[str, Any] | Sequence[str] = (),
    *,
    transform: str | Path | Transformer | None = None,
    scale: str | None = None,
    slots: Count | None = None,
    sample: PoolLike | None = None,
    rest: QrelsLike | None = None,
    from_: str | None = None,
    columns: ColumnsLike | None = None,
) -> ResolvedJudgments:
    """Make judgments of ratings: at most one grade per query and document, by a stated rule.

    Args:
        ratings: a path (``-`` is standard input), a frame with ``query_id``, ``doc_id``,
            ``rater`` and ``grade``, or ratings.
        rule: the rule that makes one grade of several: majority, mean, median, top-three,
            unanimous, latest, adjudicated or dawid-skene.
        parameters: the rule's parameters, as a mapping or as a list: ``["adjudicator=ann"]``.
        transform: a mapping of grades before they are combined: a name such as
            ``graded-to-binary``, a file with one ``from: to`` per line, or a transformer.
        scale: the rating scale: a name, a range or a list; other grades are refused.
        slots: use only the first N grades of a pair.
        sample: the sampled pool that was rated; its strata and probabilities are written into the
            judgments (csv, json).
        rest: the pool's documents that were not drawn, graded −1; infAP needs them.
        from_: the name of the file's format.
        columns: the columns of a CSV or TSV file or a frame that have no usual name, as in
            query=search_term,doc=sku,rater=who,grade=stars; grades of several raters side by side
            are grade=ann+bob or grade=rater_*.

    Raises:
        InputError: ratings that cannot be read, a grade that is not on the scale, with file and
            line; a grade of a document that is not in the sample.
        UsageError: an unknown rule, parameter, transformer or scale; missing times or a missing
            adjudicator, if the rule needs them.

    >>> import polars as pl
    >>> ratings = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["d"] * 3,
    ...                         "rater": ["ann", "bob", "cyd"], "grade": [1, 0, 1]})
    >>> resolve(ratings).qrels.table.rows()
    [('q', 'd', 1.0)]
    """
    all_ratings = read_ratings(map_columns(ratings, columns, "ratings"), from_=from_)
    result = resolved(
        all_ratings,
        rule,
        _parameters(parameters),
        transformer=find_transformer(transform),
        scale=parse_scale(scale) if scale else None,
        slots=slots,
    )
    if sample is not None or rest is not None:
        if sample is None:
            raise UsageError("the rest of a pool needs its sample; give both.", code="missing-input")
        undrawn = None if rest is None else read_qrels(rest)
        result = replace(
            result, qrels=add_inclusion(result.judgments(result.name), pool_table(sample), undrawn)
        )
    return result


def _parameters(parameters: JsonObject | Sequence[str]) -> dict[str, Any]:
    if not isinstance(parameters, list | tuple):
        return dict(parameters)  # type: ignore[arg-type]
    value_of_name = {}
    for word in parameters:
        name, equals, value = str(word).partition("=")
        if not equals:
            raise UsageError(
                f"{word!r} is not a setting; write NAME=VALUE, as in adjudicator=ann.", code="invalid-syntax"
            )
        value_of_name[name.strip()] = value.strip()
    return value_of_name


def trec(result: ResolvedJudgments) -> str:
    """The judgments in TREC's format.

    Raises:
        UsageError: an id is not possible in this format.
    """
    table = result.to_polars()
    return trec_lines(table, column_texts(table["grade"], format_exact), "add --format csv")


def origin_json(result: ResolvedJudgments) -> str:
    """The origin of the judgments as JSON, for a file next to the judgments."""
    fields = {
        "schema_version": result.schema_version,
        "ratings": result.name,
        "made_by": dict(result.made_by),
        "counts": dict(result.counts),
        "unresolved": None,
    }
    hash_field = {"sha256": result.qrels.sha256} if result.qrels else {}
    # JSON texts have no line breaks, so this matches the field and not a text
    return write_results.to_json(fields | hash_field).replace(
        '\n  "unresolved": null', f'\n  "unresolved": {rows_as_json(result.unresolved, 2)}'
    )


def as_pool(result: ResolvedJudgments) -> str:
    """The pairs without a judgment as a pool for further rating (CSV)."""
    rows = result.unresolved.select("query_id", "doc_id", "why").rows()
    return csv_form.guarded_csv(("query", "document", "why"), rows)
