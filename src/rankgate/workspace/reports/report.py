"""A report: one page with the documents of one or more results.

A report has the verdict first, then the results and their inputs. Plug-ins can add blocks with
tables, charts and sentences about a result. A report can show texts of queries and documents. An
installed browser prints a page as PDF.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.declare import Declared, Registry
from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import find_form, save_file
from rankgate.core.present import document_forms as forms
from rankgate.core.present import write_results
from rankgate.core.present.base_result import ReportOptions
from rankgate.core.present.document_model import Block, Code, Document, Section, Table, nonempty_blocks
from rankgate.core.present.layout import View
from rankgate.core.present.pages.page import Links, document_page
from rankgate.core.present.write_results import FORMS
from rankgate.data import contents_of
from rankgate.data.files.own_files import join_fields

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.core.value_types import JsonObject


@dataclass(frozen=True)
class ReportBlock(Declared):
    """A section that a report shows on request.

    Attributes:
        name: as ``--add`` takes it.
        title: its heading.
        of: the kinds of results that it is about, such as ``comparison``.
        blocks: from such a result its paragraphs, tables and charts, the most important first;
            nothing where there is nothing to show.
    """

    of: tuple[str, ...]
    blocks: Callable[[Any], Sequence[Block]]


REPORT_BLOCKS = Registry(ReportBlock, "report block", (), "rankgate.report_blocks")
"""Blocks by name; all blocks come from plug-ins."""


def make_added_sections(result: Result, names: Sequence[str]) -> Iterator[Section]:
    """The sections that plug-in blocks add for one result.

    Raises:
        UsageError: the block does not exist, or fails.
    """
    for name in names:
        block = REPORT_BLOCKS.find(name)
        if result.kind not in block.of:
            continue
        try:
            blocks = nonempty_blocks(tuple(block.blocks(result)))
        except RankgateError:
            raise
        except Exception as error:  # every failure here is an error of the plug-in
            raise UsageError(
                f"the report block {name!r} fails ({type(error).__name__}: {error}); fix it, or leave out "
                f"--add {name}.",
                code="invalid-plugin",
            ) from error
        if blocks:
            yield Section(name, block.title, blocks)


def refuse_unused_blocks(results: Sequence[Result], names: Sequence[str]) -> None:
    """Check that each block fits one of the results.

    Raises:
        UsageError: the block does not exist, or no result has its kind.
    """
    kinds = {result.kind for result in results}
    for name in names:
        block_kinds = REPORT_BLOCKS.find(name).of
        if kinds.isdisjoint(block_kinds):
            raise UsageError(
                f"the report block {name!r} is about {' or '.join(block_kinds)}; the report has "
                f"{', '.join(sorted(kinds))}.",
                code="nothing-to-show",
            )


_COLUMN_NAMES = ("query_id", "doc_id", "text")


def read_query_texts(path: str | None) -> dict[str, str]:
    """The texts of queries by id; empty without a file.

    Raises:
        InputError: the file cannot be read.
        UsageError: the file has no texts.
    """
    if path is None:
        return {}
    queries = contents_of(path).queries
    if queries is None:
        raise UsageError(
            f"{path}: no texts of queries in it; see rankgate describe {path}.", code="no-such-content"
        )
    return dict(queries.select("query_id", "text").drop_nulls().iter_rows())


def read_document_texts(path: str | None, lists: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The fields of the documents in some lists, joined to one text for each document.

    Args:
        path: a file with fields of documents; None gives no texts.
        lists: ``query_id`` and ``doc_id`` of the documents in the report.

    Returns:
        ``query_id`` (null: for every query), ``doc_id``, ``text``.

    Raises:
        InputError: the file cannot be read.
        UsageError: the file has no fields.
    """
    if path is None:
        return pl.DataFrame(schema=dict.fromkeys(_COLUMN_NAMES, pl.String))
    documents = contents_of(path).documents
    if documents is None:
        raise UsageError(
            f"{path}: no fields of documents in it; see rankgate describe {path}.", code="no-such-content"
        )
    keys = [name for name in ("query_id", "doc_id") if name in documents.columns]
    if lists:
        ranked_keys = pl.concat([ranking.select(keys) for ranking in lists]).unique()
        documents = documents.join(ranked_keys, on=keys, how="semi")
    return join_fields(documents)


@dataclass(frozen=True)
class ReportPart:
    """A result in a report.

    Attributes:
        name: the name of its file; empty if the result was not in a file. sha256: the SHA-256 of
        its file.
    """

    result: Result
    name: str = ""
    sha256: str = ""


def write(result: Result, path: str | Path, **options: Any) -> Path:
    """Write the report of one result in the format of the file's suffix; return the path.

    Raises:
        UsageError: the suffix is unknown, or the file cannot be written.
    """
    form = find_form(path, FORMS)
    if form == "json":
        save_file(path, write_results.to_json(result.to_dict()))
        return Path(path)
    report_options = ReportOptions(**options)
    document = compose([ReportPart(result)], report_options)
    writers: dict[str, Callable[[Document], str]] = {
        "html": partial(document_page, links=link_query_texts(report_options)),
        "markdown": forms.render_markdown,
        "latex": forms.render_latex,
        "csv": forms.render_csv,
        "text": forms.render_text,
    }
    save_file(path, writers[form](document))
    return Path(path)


def link_query_texts(options: ReportOptions) -> Links:
    """The texts of queries that a page shows next to their ids."""
    return Links(query_text=lambda query_id: options.queries.get(query_id, ""))


def compose(
    parts: Sequence[ReportPart],
    options: ReportOptions | None = None,
    *,
    title: str = "",
    command: str = "",
    left_out: Sequence[str] = (),
    remarks: Sequence[str] = (),
) -> Document:
    """Compose one document from several results.

    Args:
        parts: the results, in any order.
        options: the texts of queries and documents, and the number of queries to show.
        title: the title of the report; by default that of the first result.
        command: the command line that creates the report again.
        left_out: files of a folder that are not results.
        remarks: the parts that were not computed, with the reason.
    """
    report_options = options or ReportOptions()
    refuse_unused_blocks([report_part.result for report_part in parts], report_options.add)
    ordered_parts = sorted(parts, key=lambda report_part: (report_part.result.order, report_part.name))
    documents = [
        report_part.result.report_document(replace(report_options, place=str(position)))
        for position, report_part in enumerate(ordered_parts)
    ]
    sections = [
        section
        for position, (report_part, document) in enumerate(zip(ordered_parts, documents, strict=True))
        for section in (
            *_sections(report_part.result, document, position if len(ordered_parts) > 1 else None),
            *make_added_sections(report_part.result, report_options.add),
        )
    ]
    return Document(
        title=title or _report_title(ordered_parts[0].result, documents[0]),
        status=next((document.status for document in documents if document.status), ""),
        lead=_report_lead(documents),
        sections=(
            *_make_anchors_unique(sections),
            _inputs_section(ordered_parts, command, left_out, remarks),
        ),
    )


def _has_titles(document: Document) -> bool:
    return any(section.title for section in document.sections)


def _report_title(result: Result, document: Document) -> str:
    """The title of a document with sections; otherwise the short heading of the result."""
    return document.title if _has_titles(document) and document.title else result.heading


def _report_lead(documents: Sequence[Document]) -> tuple[str, ...]:
    """The lead and subject of a single result; for several results, their main sentences."""
    first_document, *other_documents = documents
    if not other_documents:
        return (
            first_document.lead
            if _has_titles(first_document)
            else (*first_document.lead, first_document.title)
        )
    return tuple(document.lead[0] for document in documents if document.lead and document.lead[0])


def _sections(result: Result, document: Document, position: int | None) -> Iterator[Section]:
    """The sections of a result; a document without headings is one section."""
    if _has_titles(document):
        yield from document.sections
        return
    lead = () if position is None else (*document.lead, document.title)
    blocks = tuple(block for section in document.sections for block in section.blocks)
    name = result.kind.replace("_", " ").capitalize()
    yield Section(result.kind, result.heading, (*nonempty_blocks(lead), *blocks), name)


def _make_anchors_unique(sections: Sequence[Section]) -> list[Section]:
    """Sections whose anchors are unique; links inside a section keep their targets."""
    count = Counter(section.anchor for section in sections)
    seen_counts: Counter[str] = Counter()
    unique_sections = []
    for section in sections:
        seen_counts[section.anchor] += 1
        is_repeated = count[section.anchor] > 1
        anchor = f"{section.anchor}-{seen_counts[section.anchor]}" if is_repeated else section.anchor
        unique_sections.append(replace(section, anchor=anchor))
    return unique_sections


def _inputs_section(
    parts: Sequence[ReportPart], command: str, left_out: Sequence[str], remarks: Sequence[str]
) -> Section:
    """Files and inputs with their hashes, each convention once, and the command."""
    blocks: list[Block] = []
    if rows := _hash_rows(parts):
        blocks += View(pl.DataFrame(rows, ["name", "what", "SHA-256"], orient="row")).blocks(None)
    conventions: dict[Any, JsonObject] = {}
    for report_part in parts:
        convention = getattr(report_part.result, "convention", None)
        if convention and "axes" in convention:
            conventions.setdefault(convention["hash"], convention)
    blocks += [block for convention in conventions.values() for block in _axes_table(convention)]
    blocks += remarks
    if left_out:
        blocks.append(f"Files that are not results: {', '.join(left_out)}.")
    if command:
        blocks += [f"Reproduce with rankgate {version('rankgate')}:", Code(command)]
    return Section("inputs", "Inputs and how to reproduce", tuple(blocks), "Inputs")


def _hash_rows(parts: Sequence[ReportPart]) -> tuple[tuple[str, str, str], ...]:
    files = [
        (report_part.name, report_part.result.kind, report_part.sha256)
        for report_part in parts
        if report_part.sha256
    ]
    inputs = [row for report_part in parts for row in report_part.result.inputs if row[2]]
    return tuple(dict.fromkeys([*files, *inputs]))


def _axes_table(how: Mapping[str, Any]) -> Iterator[Table]:
    """Every choice of a convention."""
    rows = [(str(name), _choice_text(value)) for name, value in how["axes"].items()]
    choices = pl.DataFrame(rows, ["axis", "choice"], orient="row")
    heading = "every choice of the convention {name} (hash {hash})"
    return View(choices, heading, folded=True).blocks(SimpleNamespace(**how))


def _choice_text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_choice_text(choice)}" for name, choice in value.items()) or "–"
    if isinstance(value, list | tuple):
        return ", ".join(map(_choice_text, value)) or "–"
    if value is None or isinstance(value, bool):
        return {None: "–", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
    "brave-browser",
    "chrome-headless-shell",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
"""Browsers that can print without a window, in the order of search."""

_TIMEOUT = 120


def print_pdf(page: str, browser: str | None = None) -> bytes:
    """Print a page as PDF.

    The browser uses a temporary folder and has no network access: the page requests nothing, and no
    name is resolved.

    Args:
        page: the HTML of the page.
        browser: the program; by default the first installed one of `BROWSERS`.

    Raises:
        UsageError: no browser is installed, or it printed nothing; with instructions to install
            one.
    """
    program = _find_browser(browser)
    with tempfile.TemporaryDirectory(prefix="rankgate-") as folder:
        source, target = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(page, encoding="utf-8")
        command = [
            program,
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--no-pdf-header-footer",
            "--disable-background-networking",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={Path(folder, 'user')}",
            f"--print-to-pdf={target}",
            *(["--no-sandbox"] if _is_superuser() else []),
            source.as_uri(),
        ]
        try:
            process = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False)
        except OSError as error:
            raise UsageError(
                f"{program}: cannot be started: {error.strerror}.", code="browser-failed"
            ) from None
        except subprocess.TimeoutExpired:
            raise UsageError(
                f"{program} printed no line in {_TIMEOUT} s; {_PRINT_ADVICE}", code="browser-failed"
            ) from None
        if not target.exists():
            last_lines = process.stderr.decode(errors="replace").strip().splitlines()[-1:]
            reason = f" ({last_lines[0]})" if last_lines else ""
            raise UsageError(f"{program} printed nothing{reason}; {_PRINT_ADVICE}", code="browser-failed")
        return target.read_bytes()


_PRINT_ADVICE = "write the page with --format html, open it in any browser, and print it there."


def _find_browser(browser: str | None) -> str:
    for name in [browser] if browser else BROWSERS:
        path = shutil.which(name)
        if path:
            return path
    if browser:
        raise UsageError(
            f"{browser}: no such program; --browser takes Chromium or Chrome.", code="no-browser"
        )
    raise UsageError(
        "PDF needs Chromium or Chrome, and none is on the PATH; install one (Debian: apt install chromium), "
        f"name it with --browser, or {_PRINT_ADVICE}",
        code="no-browser",
    )


def _is_superuser() -> bool:
    """True for the superuser, because Chromium's sandbox does not start for that user."""
    return hasattr(os, "geteuid") and os.geteuid() == 0
