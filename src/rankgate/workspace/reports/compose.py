"""A report: the documents of one or more results, the verdict first, then their inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.core.present.document import Code, Document, Section, Table, solid
from rankgate.core.present.forms import as_json
from rankgate.core.present.forms import documents as forms
from rankgate.core.present.grid import Grid
from rankgate.core.present.pages.page import page
from rankgate.core.present.result import ReportOptions
from rankgate.core.present.saving import save
from rankgate.core.present.suffixes import form_of
from rankgate.core.present.write import FORMS
from rankgate.workspace.reports.report_block import added_sections, refuse_unused

if TYPE_CHECKING:
    from rankgate.core.present.document import Block
    from rankgate.core.present.result import Result


@dataclass(frozen=True)
class ReportPart:
    """A result of a report.

    Attributes:
        result: the result.
        name: of its file; empty where it was never in one.
        sha256: of its file.
    """

    result: Result
    name: str = ""
    sha256: str = ""


def write(result: Result, path: str | Path, **options: Any) -> Path:
    """Write the report of one result in the form that the file's suffix names; return the path.

    Raises:
        UsageError: another suffix, or a place where nothing can be written.
    """
    form = form_of(path, FORMS)
    if form == "json":
        save(path, as_json.dumped(result.to_dict()))
        return Path(path)
    document = compose([ReportPart(result)], ReportOptions(**options))
    ways = {
        "html": page,
        "markdown": forms.markdown,
        "latex": forms.latex,
        "csv": forms.csv,
        "text": forms.text,
    }
    save(path, ways[form](document))
    return Path(path)


def compose(
    parts: Sequence[ReportPart],
    options: ReportOptions | None = None,
    *,
    title: str = "",
    command: str = "",
    left_out: Sequence[str] = (),
    remarks: Sequence[str] = (),
) -> Document:
    """One document of several results.

    Args:
        parts: the results, in any order.
        options: texts of queries and documents, and how many queries are shown.
        title: of the report; without it that of the first result.
        command: the command line that makes the report again.
        left_out: files of a folder that are not results.
        remarks: what was not computed, and why.
    """
    chosen = options or ReportOptions()
    refuse_unused([part.result for part in parts], chosen.add)
    ordered = sorted(parts, key=lambda part: (part.result.order, part.name))
    documents = [
        part.result.report_document(replace(chosen, place=str(place)))
        for place, part in enumerate(ordered)
    ]
    sections = [
        section
        for place, (part, document) in enumerate(zip(ordered, documents, strict=True))
        for section in (
            *_sections(part.result, document, place if len(ordered) > 1 else None),
            *added_sections(part.result, chosen.add),
        )
    ]
    return Document(
        title=title or _title(ordered[0].result, documents[0]),
        status=next((document.status for document in documents if document.status), ""),
        lead=_lead(documents),
        sections=(*_with_own_anchors(sections), _inputs(ordered, command, left_out, remarks)),
    )


def _parted(document: Document) -> bool:
    return any(section.title for section in document.sections)


def _title(result: Result, document: Document) -> str:
    """Of a document with sections its own; else the short heading of the result."""
    return document.title if _parted(document) and document.title else result.heading


def _lead(documents: Sequence[Document]) -> tuple[str, ...]:
    """Of one result its lead and what it is about; of several their most important sentences."""
    first, *others = documents
    if not others:
        return first.lead if _parted(first) else (*first.lead, first.title)
    return tuple(document.lead[0] for document in documents if document.lead and document.lead[0])


def _sections(result: Result, document: Document, place: int | None) -> Iterator[Section]:
    """The sections of a result; one that has no headings is its own section."""
    if _parted(document):
        yield from document.sections
        return
    lead = () if place is None else (*document.lead, document.title)
    blocks = tuple(block for section in document.sections for block in section.blocks)
    name = result.kind.replace("_", " ").capitalize()
    yield Section(result.kind, result.heading, (*solid(lead), *blocks), name)


def _with_own_anchors(sections: Sequence[Section]) -> list[Section]:
    """Sections whose anchors are unique; links inside a section keep their targets."""
    count = Counter(section.anchor for section in sections)
    seen: Counter[str] = Counter()
    found = []
    for section in sections:
        seen[section.anchor] += 1
        several = count[section.anchor] > 1
        anchor = f"{section.anchor}-{seen[section.anchor]}" if several else section.anchor
        found.append(replace(section, anchor=anchor))
    return found


def _inputs(
    parts: Sequence[ReportPart], command: str, left_out: Sequence[str], remarks: Sequence[str]
) -> Section:
    """Files and inputs with their hashes, each convention once, and the command."""
    blocks: list[Block] = []
    if rows := _hashes(parts):
        blocks.append(Table("", Grid(("name", "what", "SHA-256"), rows, frozenset(range(3)))))
    conventions: dict[Any, Mapping[str, Any]] = {}
    for part in parts:
        how = getattr(part.result, "convention", None)
        if how and "axes" in how:
            conventions.setdefault(how["hash"], how)
    blocks += [_axes(how) for how in conventions.values()]
    blocks += remarks
    if left_out:
        blocks.append(f"Files that are not results: {', '.join(left_out)}.")
    if command:
        blocks += [f"Reproduce with rankgate {version('rankgate')}:", Code(command)]
    return Section("inputs", "Inputs and how to reproduce", tuple(blocks), "Inputs")


def _hashes(parts: Sequence[ReportPart]) -> tuple[tuple[str, str, str], ...]:
    files = [(part.name, part.result.kind, part.sha256) for part in parts if part.sha256]
    inputs = [row for part in parts for row in part.result.inputs if row[2]]
    return tuple(dict.fromkeys([*files, *inputs]))


def _axes(how: Mapping[str, Any]) -> Table:
    """Every choice of a convention."""
    rows = tuple((str(name), _word(value)) for name, value in how["axes"].items())
    heading = f"every choice of the convention {how['name']} (hash {how['hash']})"
    return Table(heading, Grid(("axis", "choice"), rows, frozenset({0, 1})), folded=True)


def _word(value: Any) -> str:  # noqa: ANN401 - of an axis
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_word(each)}" for name, each in value.items()) or "–"
    if isinstance(value, list | tuple):
        return ", ".join(map(_word, value)) or "–"
    if value is None or isinstance(value, bool):
        return {None: "–", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)
