"""Files that come into a project and go out of it, with the account of what is lost."""

from __future__ import annotations

import io
from collections import Counter
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError, UsageError
from rankgate.core.formulas import guarded_sheet
from rankgate.core.frozen import dataclass
from rankgate.data.contents import WORDS
from rankgate.data.files.convert import convert
from rankgate.data.formats import registry
from rankgate.judging.store.incoming import bring, read_incoming
from rankgate.judging.store.transfer import contents_in
from rankgate.judging.transformers import TRANSFORMERS, Transformer
from rankgate.store.kept import judgments, runs
from rankgate.store.kept.blobs import Hashes
from rankgate.store.material import documents, queries
from rankgate.store.rating import batches
from rankgate.workspace.web.fields import wrong
from rankgate.workspace.web.pages.uploads import columns_of, file_of, with_texts
from rankgate.workspace.web.replies import Done, Page, Reply, Sent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rankgate.data.contents import FileContents
    from rankgate.data.files.conversion import Conversion
    from rankgate.data.notes import Note
    from rankgate.judging.store.incoming import Incoming
    from rankgate.workspace.web.asked import Asked

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_SHEETS = frozenset({"csv", "tsv", "jsonl", "parquet", "arrow"})
"""Formats with one table, which get the part alone."""


def page(asked: Asked) -> Page:
    """What the project has, and forms to add to it."""
    project = asked.project.id
    with asked.store.read() as connection:
        data = {
            "project": asked.project.name,
            "queries": queries.count(connection, project),
            "documents": documents.count(connection, project),
            "document_fields": documents.fields(connection, project),
            "runs": [{"name": e.name, "rows": e.rows} for e in runs.listed(connection, project)],
            "batches": [{"id": e.id, "name": e.name} for e in batches.listed(connection, project)],
        }
    readable = [each.name for each in registry.FORMATS]
    return Page("material.html", data, {"formats": readable})


def add(asked: Asked) -> Reply:
    """Add what a file holds; or only report what would come of it."""
    given, upload = asked.values, asked.values["file"]
    with file_of(upload, asked.config.largest_unpacked) as place:
        if given["preview"]:
            return Page("incoming.html", _tried(asked, place))
        found = _read(asked, place)
        with asked.store.write() as connection:
            made = _brought(asked, connection, found, asked.store.blobs)
            asked.record(connection, "material.add", upload.name[:200], **made.rows)
    return Done(asked.at("material"), _account(made, found) | {"added": True})


def _read(asked: Asked, place: Path) -> Incoming:
    given = {name: asked.values[name] for name in ("columns", "final")}
    carried = mapping(asked.values["transform"])
    return read_incoming(place, from_=asked.values["format"], transform=carried, **given)


def mapping(words: str | None) -> Transformer | None:
    """A mapping of grades by name or by its lines; never a file of the server.

    Raises:
        InputError: lines of another form.
    """
    if words is None:
        return None
    known = TRANSFORMERS.get(words.strip())
    return known or Transformer.parse(words.replace(";", "\n"), "the mapping of grades")


def _brought(asked: Asked, connection: Any, found: Incoming, blobs: Any) -> Conversion:
    return bring(
        connection, blobs, asked.project.id, found, batch=asked.values["batch"],
        created_by=asked.user.id,
    )  # fmt: skip


def _tried(asked: Asked, place: Path) -> dict[str, Any]:
    """What would come of a file, or what is wrong with it, and the columns that a sheet has."""
    given = asked.values
    data: dict[str, Any] = {
        "project": asked.project.name,
        "file": given["file"].name,
        "added": False,
        "columns": columns_of(given["file"], given["columns"], given["final"]),
        "problem": None,
    }
    try:
        found = _read(asked, place)
        with asked.store.trial() as connection:
            made = _brought(asked, connection, found, Hashes())
    except (InputError, UsageError) as error:
        words = str(error).replace(str(place), given["file"].name)
        problem = {"code": error.code, "message": words}
        return data | {"problem": problem, "holds": {}, "seen": [], "lost": [], "raters": [],
                       "grades": [], "format": None}  # fmt: skip
    data["columns"] = with_texts(data["columns"], found.contents)
    return data | _account(made, found) | _raters(found.contents)


def _account(made: Conversion, found: Incoming) -> dict[str, Any]:
    """What was brought, seen and lost."""
    return {
        "format": made.from_format,
        "holds": _holds(made, found),
        "seen": [_words(each) for each in made.notes],
        "lost": [_words(each) for each in made.losses],
    }


def _holds(made: Conversion, found: Incoming) -> dict[str, int]:
    """How much of each part: judgments and others by rows, runs by their number."""
    rows = {"judgments" if part == "qrels" else part: n for part, n in made.rows.items()}
    return rows | ({"runs": len(found.contents.runs)} if "runs" in rows else {})


def _words(each: Note) -> Mapping[str, Any]:
    return {"count": each.count, "what": each.what, "examples": list(each.examples)}


def _raters(contents: FileContents) -> dict[str, Any]:
    """Who rated how often, and how often each grade was given."""
    judged = contents.ratings or contents.qrels
    if judged is None:
        return {"raters": [], "grades": []}
    raters = Counter(judged.table["rater"]) if contents.ratings is not None else Counter()
    grades = Counter(judged.table["grade"])
    return {
        "raters": [{"rater": name, "ratings": n} for name, n in raters.most_common()],
        "grades": [{"grade": grade, "count": grades[grade]}
                   for grade in sorted(grades, key=lambda each: (each is None, each))],
    }  # fmt: skip


def export(asked: Asked) -> Page:
    """What a format would hold of a part of the project, and what it would lose."""
    form = asked.values["format"]
    chosen = Chosen.of(asked.values["what"])
    with asked.store.read() as connection:
        project = asked.project.id
        made = [f"judgments/{each.name}" for each in judgments.listed(connection, project)]
        ranked = [f"run/{each.name}" for each in runs.listed(connection, project)]
    data: dict[str, Any] = {
        "project": asked.project.name, "what": chosen.words, "format": form,
        "parts": ["ratings", *made, *ranked, "queries", "documents"],
        "formats": formats(chosen.part), "holds": {}, "lost": [], "problem": None,
    }  # fmt: skip
    if form:
        try:
            result = _written(asked, form, chosen)[1]
            data |= {"holds": dict(result.rows), "lost": [_words(each) for each in result.losses]}
        except (InputError, UsageError) as error:
            data["problem"] = {"code": error.code, "message": str(error)}
    guards = bool(form) and _suffix(form) in _SEPARATORS
    return Page("export.html", data, {"guards": guards})


@dataclass(frozen=True)
class Chosen:
    """What is written: a part of contents, and the name of judgments or a run."""

    words: str
    part: str
    name: str | None = None

    @classmethod
    def of(cls, words: str | None) -> Chosen:
        """From ``ratings``, ``judgments/NAME``, ``run/NAME``, ``queries`` or ``documents``."""
        kind, _, name = (words or "ratings").partition("/")
        parts = {"ratings": "ratings", "judgments": "qrels", "run": "runs", "queries": "queries",
                 "documents": "documents"}  # fmt: skip
        if kind not in parts or bool(name) != (kind in {"judgments", "run"}):
            raise wrong("what", "is ratings, judgments/NAME, run/NAME, queries or documents")
        return cls(words or "ratings", parts[kind], name or None)


def export_file(asked: Asked) -> Sent:
    """A part of the project in a format; ratings and judgments with texts."""
    given = asked.values
    return _sent(asked, given["format"] or "csv", Chosen.of(given["what"]))


def judgments_file(asked: Asked) -> Sent:
    """Judgments as a file in any format."""
    chosen = Chosen.of(f"judgments/{asked.path['judgments']}")
    return _sent(asked, asked.values["format"] or "trec", chosen)


def ratings_file(asked: Asked) -> Sent:
    """Every rating, one row each, as a file in any format that holds ratings."""
    return _sent(asked, asked.values["format"] or "csv", Chosen.of("ratings"))


def _sent(asked: Asked, form: str, chosen: Chosen) -> Sent:
    content, _ = _written(asked, form, chosen)
    suffix = _suffix(form)
    if suffix in _SEPARATORS and not asked.values["raw"]:
        content = guarded_sheet(content, _SEPARATORS[suffix])
    stem = f"{asked.project.name}-{chosen.name or chosen.part}"
    return Sent(content, "application/octet-stream", f"{stem}{suffix}")


def _suffix(form: str) -> str:
    suffixes = registry.named(form).suffixes
    return suffixes[0] if suffixes else ".txt"


def _written(asked: Asked, form: str, chosen: Chosen) -> tuple[bytes, Conversion]:
    """The bytes of a file, and what it lost."""
    part, name = chosen.part, chosen.name
    if part not in registry.named(form).holds:
        problem = f"{form} holds no {WORDS[part]}; choose another format."
        raise InputError(problem, code="format-cannot-hold")
    contents = contents_in(
        asked.store, asked.project.name, judgments_name=name if part == "qrels" else None,
        run_names=(name,) if part == "runs" and name else (),
    )  # fmt: skip
    if part not in contents.parts:
        raise InputError(f"there are no {WORDS[part]}.", code="no-such-content")
    if form in _SHEETS or part not in {"ratings", "qrels"}:
        contents = contents.only(part)
    target = io.BytesIO()
    made = convert(contents, target, to=form)
    return target.getvalue(), made


def formats(part: str) -> list[str]:
    """The formats that can be written and hold a part."""
    return [each.name for each in registry.FORMATS if each.write and part in each.holds]
