"""All that a report tells of a change: comparison, verdict, what was not seen, what is hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.data import contents_of, read_qrels, read_run
from rankgate.errors import UsageError
from rankgate.services import compared as parts
from rankgate.services.blindspots import blindspots
from rankgate.services.compare import Comparisons, Rules, compare
from rankgate.services.evaluate import DEFAULT_METRICS
from rankgate.services.gate import gate
from rankgate.services.holes import holes
from rankgate.services.policy import policy as policy_of
from rankgate.services.side import DEPTH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rankgate.gate.policy import Policy
    from rankgate.gate.verdict import Verdict
    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention
    from rankgate.services.blindspots import Blindness
    from rankgate.services.holes import Hidden

FEW = 3
"""Of more candidates than these only the comparison is told: the rest takes its time for each."""

_LONGEST = 240


@dataclass(frozen=True)
class Dossier:
    """What a report is made of.

    Attributes:
        comparisons: every candidate against the baseline.
        verdict: of the first candidate by a policy; None where none was asked for.
        blindness: what metrics do not see, one a candidate; none of many.
        hidden: what the unjudged could make of it, one a candidate; none of many.
        queries: texts of queries, by id.
        documents: ``query_id`` (null: for every query), ``doc_id``, ``text``: of those shown.
        again: the words that make the report again.
    """

    comparisons: Comparisons
    verdict: Verdict | None
    blindness: tuple[Blindness, ...]
    hidden: tuple[Hidden, ...]
    queries: Mapping[str, str]
    documents: pl.DataFrame
    again: str


def dossier(
    qrels: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    baseline: Any,  # noqa: ANN401 - a run
    candidates: Any,  # noqa: ANN401 - a run, a list, or {name: run}
    metrics: str | Metric | Sequence[str | Metric] = (),
    how: str | Convention = "trec",
    *,
    gated: bool = False,
    policy: str | None = None,
    rules: Rules | None = None,
    depth: int = DEPTH,
    queries: str | None = None,
    documents: str | None = None,
    extra: Sequence[Metric] = (),
    again: str = "",
    on_progress: Callable[[str], None] | None = None,
) -> Dossier:
    """Gather what there is to say of a change.

    Args:
        qrels: judgments, as ``evaluate`` takes them.
        baseline: a run.
        candidates: a run, a list of runs, or ``{name: run}``.
        metrics: names or metrics; without any those of the policy, else those of ``evaluate``.
        how: the convention; a policy's own holds for its verdict.
        gated: with a verdict on the first candidate.
        policy: the file with what is demanded; it asks for a verdict too.
        rules: of the comparison.
        depth: how far lists are looked at.
        queries: a file with texts of queries.
        documents: a file with fields of documents.
        extra: metrics that can be named beside those of the house.
        again: the words that make the report again.
        on_progress: told what is being done.

    Raises:
        InputError: data or a policy that cannot be read, with file and line.
        UsageError: unknown names, query sets that differ, a file without texts.
    """
    say = on_progress or (lambda _: None)
    demanded: Policy | None = policy_of(policy) if gated or policy else None
    asked = metrics or (demanded.metrics if demanded else ()) or DEFAULT_METRICS
    # each once, as standard input can be read only once
    qrels, baseline = read_qrels(qrels), read_run(baseline)
    runs = [read_run(run, name) for name, run in parts.named(candidates)]
    say("comparing")
    told = compare(qrels, baseline, runs, asked, how, rules=rules, extra=extra, depth=depth)
    verdict = None
    if demanded is not None:
        say("deciding")
        verdict = gate(qrels, baseline, runs[0], demanded, record=False, extra=extra)
    blind: list[Blindness] = []
    hidden: list[Hidden] = []
    for run in runs if len(runs) <= FEW else ():
        say("looking for what is not seen")
        blind.append(blindspots(qrels, baseline, run, asked, how, extra=extra, depth=depth))
        hidden += _hidden(qrels, baseline, run, asked, how, extra, depth)
    shown = pl.concat([each.lists for each in told.comparisons]).select("query_id", "doc_id")
    return Dossier(
        told, verdict, tuple(blind), tuple(hidden), _queries(queries),
        _documents(documents, shown.unique()), again,
    )  # fmt: skip


def _hidden(  # noqa: PLR0917 - as `holes` takes them
    qrels: Any,  # noqa: ANN401 - as above
    baseline: Any,  # noqa: ANN401 - as above
    run: Any,  # noqa: ANN401 - as above
    metrics: str | Metric | Sequence[str | Metric],
    how: str | Convention,
    extra: Sequence[Metric],
    depth: int,
) -> list[Hidden]:
    """The holes; nothing where no metric keeps to the lists."""
    try:
        return [holes(qrels, baseline, run, metrics, how, extra=extra, depth=depth)]
    except UsageError as error:
        if "looks only at the first" in str(error):
            return []
        raise


def _queries(path: str | None) -> dict[str, str]:
    """Texts by id."""
    if path is None:
        return {}
    found = contents_of(path).queries
    if found is None:
        raise UsageError(f"{path}: no texts of queries in it; see rankgate describe {path}.")
    return dict(found.select("query_id", "text").drop_nulls().iter_rows())


def _documents(path: str | None, shown: pl.DataFrame) -> pl.DataFrame:
    """The fields of the documents that are shown, in one text each."""
    schema = pl.Schema(dict.fromkeys(("query_id", "doc_id", "text"), pl.String()))
    if path is None:
        return pl.DataFrame(schema=schema)
    found = contents_of(path).documents
    if found is None:
        raise UsageError(f"{path}: no fields of documents in it; see rankgate describe {path}.")
    keys = [name for name in ("query_id", "doc_id") if name in found.columns]
    found = found.join(shown.select(keys).unique(), on=keys, how="semi")
    fields = [name for name in found.columns if name not in keys]
    text = pl.concat_str([pl.col(name).cast(pl.String) for name in fields], separator=" · ",
                         ignore_nulls=True)  # fmt: skip
    owner = pl.col("query_id") if "query_id" in keys else pl.lit(None, dtype=pl.String)
    cut = pl.when(text.str.len_chars() > _LONGEST).then(
        text.str.slice(0, _LONGEST) + "…"
    ).otherwise(text)  # fmt: skip
    return found.select(owner.alias("query_id"), "doc_id", cut.alias("text")).cast(schema)
