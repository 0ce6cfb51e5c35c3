"""From ratings to judgments: at most one grade per query and document, by a stated rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.data import read_qrels
from rankgate.data.read_ratings import read_ratings
from rankgate.errors import InputError, UsageError
from rankgate.judging.pooling.drawing import as_drawn
from rankgate.judging.rating.pool_tasks import pool_of
from rankgate.judging.resolution.apply_rule import Resolution, judgments
from rankgate.judging.resolution.apply_rule import resolve as resolved
from rankgate.judging.resolution.rules import RULES
from rankgate.judging.scales import TRANSFORMERS, Transformer, scale_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA_VERSION = 1

_UNLIKE = 0.1  # of rates of strata, beyond what rounding leaves


@dataclass(frozen=True)
class Resolved:
    """Judgments made of ratings.

    Attributes:
        name: of the ratings.
        resolution: judgments, unresolved pairs, rule and counts.
    """

    name: str
    resolution: Resolution

    @property
    def cautions(self) -> tuple[str, ...]:
        """What to know before something is estimated from a sample."""
        if self.resolution.qrels is None:
            return ()
        table = self.resolution.qrels.table
        if not {"stratum", "inclusion"} <= set(table.columns) or not (table["grade"] < 0).any():
            return ()
        drawn = table.filter(pl.col("inclusion").is_not_null())
        rates = drawn.group_by("stratum").agg(pl.col("inclusion").mean()).sort("stratum")
        low, high = rates["inclusion"].min(), rates["inclusion"].max()
        if low is None or high - low <= _UNLIKE:  # type: ignore[operator]
            return ()
        told = ", ".join(f"{name} {rate:.2f}" for name, rate in rates.iter_rows())
        words = (
            f"strata of unlike rates ({told}): infAP takes them for one and is too high; draw one "
            "stratum for it, or weigh each document by 1/inclusion."
        )
        return (words,)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        told = self.resolution
        judged = told.qrels.table.to_dicts() if told.qrels else []
        return {
            "schema_version": SCHEMA_VERSION,
            "ratings": self.name,
            "made_by": dict(told.made_by),
            "counts": dict(told.counts),
            "cautions": list(self.cautions),
            "judgments": judged,
            "unresolved": told.unresolved.to_dicts(),
        }


@dataclass(frozen=True)
class RuleFacts:
    """A rule as help and documentation show it."""

    name: str
    title: str
    source: str
    parameters: tuple[tuple[str, str], ...]


def rules() -> tuple[RuleFacts, ...]:
    """The rules that there are."""
    return tuple(
        RuleFacts(
            rule.name,
            rule.title,
            rule.source,
            tuple((name, each.help) for name, each in rule.parameters.items()),
        )
        for rule in RULES.values()
    )


def resolve(
    ratings: Any,  # noqa: ANN401 - a path, a frame, ratings
    rule: str = "majority",
    parameters: Mapping[str, Any] | Sequence[str] = (),
    *,
    transform: str | Path | Transformer | None = None,
    scale: str | None = None,
    slots: int | None = None,
    sample: Any = None,  # noqa: ANN401 - a pool, a path or a frame
    rest: Any = None,  # noqa: ANN401 - as judgments
    from_: str | None = None,
) -> Resolved:
    """Make judgments of ratings.

    Args:
        ratings: a path (``-`` is standard input), a frame, or ratings.
        rule: majority, mean, median, top-three, latest, adjudicated or dawid-skene.
        parameters: of the rule, as a mapping or as words: ``["adjudicator=ann"]``.
        transform: what grades become first: the name of a transformer such as
            ``graded-to-binary``, a file with one ``from: to`` a line, or a transformer.
        scale: the grades that are possible; others are refused. A name, a range or a list.
        slots: how many grades a pair takes, the first ones.
        sample: the sampled pool that was rated; its strata and chances go into the judgments.
        rest: the pool's documents that were not drawn, graded −1; they are added.
        from_: the name of the file's format.

    Raises:
        InputError: ratings that cannot be read, a grade that is not on the scale, with file and
            line; a grade of a document that is not in the sample.
        UsageError: an unknown rule, parameter, transformer or scale.
    """
    said = read_ratings(ratings, from_=from_)
    told = resolved(
        said,
        rule,
        _parameters(parameters),
        transformer=_transformer(transform),
        scale=scale_of(scale) if scale else None,
        slots=slots,
    )
    if sample is not None or rest is not None:
        told = _sampled(told, sample, rest, said.name)
    return Resolved(said.name, told)


def _sampled(told: Resolution, sample: Any, rest: Any, label: str) -> Resolution:  # noqa: ANN401
    if sample is None:
        raise UsageError(
            "the rest of a pool goes with its sample; give both.", code="missing-input"
        )
    left = None if rest is None else read_qrels(rest)
    return replace(told, qrels=as_drawn(judgments(told, label), pool_of(sample), left))


def _parameters(given: Mapping[str, Any] | Sequence[str]) -> dict[str, Any]:
    if not isinstance(given, list | tuple):
        return dict(given)  # type: ignore[arg-type]
    found = {}
    for word in given:
        name, equals, value = str(word).partition("=")
        if not equals:
            raise UsageError(
                f"{word!r} sets nothing; write NAME=VALUE, as in adjudicator=ann.",
                code="invalid-syntax",
            )
        found[name.strip()] = value.strip()
    return found


def _transformer(chosen: str | Path | Transformer | None) -> Transformer | None:
    if chosen is None or isinstance(chosen, Transformer):
        return chosen
    if str(chosen) in TRANSFORMERS:
        return TRANSFORMERS[str(chosen)]
    place = Path(chosen)
    if not place.is_file():
        known = ", ".join(TRANSFORMERS)
        raise UsageError(
            f"{chosen} is neither a file nor one of the transformers {known}.",
            code="unknown-choice",
        )
    try:
        text = place.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot be read as text: {error}.", source=str(chosen), code="invalid-syntax"
        ) from None
    return Transformer.parse(text, str(chosen))
