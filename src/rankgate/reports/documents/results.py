"""A report on results that were written before: one, or all of a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.comparison.documents import changes
from rankgate.errors import InputError
from rankgate.evaluation.documents.basis import basis, of_comparisons, of_convention, of_hashes
from rankgate.gating.documents.verdict_parts import verdict_section, worst_section
from rankgate.present.document import Document, Section
from rankgate.reports.documents.dossier import systems
from rankgate.reports.documents.result_parts import section

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.present.document import Block
    from rankgate.reports.results import Result, Results

_VERDICTS = ("pass", "fail", "inconclusive")
_DAMAGE = (KeyError, TypeError, ValueError, AttributeError, LookupError)


def outline(told: Results, worst: int = changes.WORST) -> Document:
    """Every result, the verdict first.

    Args:
        told: what was read.
        worst: how many of the queries that lost are shown with both lists.

    Raises:
        InputError: a result lacks what its kind has.
    """
    sections: list[Section] = []
    for place, each in enumerate(told.results):
        try:
            sections += _parts(each, place, told, worst)
        except _DAMAGE as error:
            what = f"{type(error).__name__}: {error}".splitlines()[0]
            problem = f"a result that was damaged ({what}); write it anew."
            raise InputError(problem, source=str(each.path), code="damaged-file") from None
    first = told.results[0]
    several = len(told.results) > 1
    title = f"Results in {Path(told.place).resolve().name}" if told.place else "Results"
    decided = next((each.told["verdict"] for each in told.results
                    if each.told.get("verdict") in _VERDICTS), "")  # fmt: skip
    lead = next((_lead(each) for each in told.results if each.comparisons), ())
    return Document(
        title if several else sections[0].title if not lead else _title(first),
        decided,
        lead or _judged_by(first.told),
        (*sections, basis(_rests(told), told.again)),
    )


def _title(told: Result) -> str:
    assert told.comparisons is not None  # noqa: S101 - as the caller saw
    first = told.comparisons.comparisons[0]
    more = len(told.comparisons.comparisons) - 1
    also = f" and {more} more" if more else ""
    return f"{first.candidate.name}{also} against {first.baseline.name}"


def _lead(told: Result) -> tuple[str, ...]:
    assert told.comparisons is not None  # noqa: S101 - as the caller saw
    first = told.comparisons.comparisons[0]
    return changes.sentence(first), changes.ground(first)


def _judged_by(told: Mapping[str, Any]) -> tuple[str, ...]:
    qrels = told.get("qrels")
    name = qrels.get("name") if isinstance(qrels, dict) else qrels
    how = told.get("convention")
    parts = [f"Judgments {name}"] if isinstance(name, str) else []
    parts += [f"convention {how['name']}"] if isinstance(how, dict) and "name" in how else []
    words = ", ".join(parts)
    return ("", f"{words[0].upper()}{words[1:]}.") if words else ()


def _parts(told: Result, place: int, all_: Results, worst: int) -> list[Section]:
    if told.kind == "verdict":
        compared = [one for each in all_.results if each.comparisons
                    for one in each.comparisons.comparisons]  # fmt: skip
        known = tuple(words for each in compared for words in each.warnings)
        rules = verdict_section(told.told, f"-{place}", known)
        title = f"Rules: {told.told['candidate']} against {told.told['baseline']}"
        queries = [] if compared else worst_section(told.told, f"-{place}")
        return [replace(rules, title=title, short="Rules"), *queries]
    if told.comparisons is None:
        return [section(told.name, told.kind, told.told, f"{told.kind or 'result'}-{place}")]
    parts = systems(told.comparisons, f"-{place}")
    changed = [
        part
        for i, each in enumerate(told.comparisons.comparisons)
        for part in changes.sections(each, f"{place}-{i}", worst, all_.queries, all_.documents)
    ]
    return [*parts, *changed] if len(told.comparisons.comparisons) > 1 else [*changed, *parts]


def _rests(told: Results) -> list[Block]:
    """Files with their hashes, each convention once, and what was passed over."""
    files = [(each.name, each.kind or "result", each.sha256) for each in told.results]
    blocks: list[Block] = [of_hashes(files)]
    hows: dict[Any, Mapping[str, Any]] = {}
    for each in told.results:
        if each.comparisons:
            how: Any = each.comparisons.comparisons[0].convention
            blocks += of_comparisons(each.comparisons.comparisons)[:-1]
        else:
            how = each.told.get("convention")
        if isinstance(how, dict) and isinstance(how.get("axes"), dict) and "hash" in how:
            hows.setdefault(how["hash"], how)
    blocks += [block for how in hows.values() for block in of_convention(how)]
    if told.passed_over:
        blocks.append(f"Not looked at, as they are no results: {', '.join(told.passed_over)}.")
    return blocks
