"""Files that come into a project and go out of it, with the account of what is lost."""

from __future__ import annotations

import io
from collections import Counter
from typing import TYPE_CHECKING, Any

from rankgate.data.formats import registry
from rankgate.errors import InputError, UsageError
from rankgate.files.convert import convert
from rankgate.judging.store.incoming import bring, read_incoming
from rankgate.judging.store.transfer import contents_in
from rankgate.judging.transformers import TRANSFORMERS, Transformer
from rankgate.store.kept import judgments, runs
from rankgate.store.kept.blobs import Hashes
from rankgate.store.material import documents, queries
from rankgate.store.rating import batches
from rankgate.web.pages.uploads import columns_of, file_of
from rankgate.web.replies import Done, Page, Reply, Sent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rankgate.data.contents import FileContents
    from rankgate.data.notes import Note
    from rankgate.files.conversion import Conversion
    from rankgate.judging.store.incoming import Incoming
    from rankgate.web.asked import Asked

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
    with file_of(upload) as place:
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
    held = contents.ratings or contents.qrels
    if held is None:
        return {"raters": [], "grades": []}
    raters = Counter(held.table["rater"]) if contents.ratings is not None else Counter()
    grades = Counter(held.table["grade"])
    return {
        "raters": [{"rater": name, "ratings": n} for name, n in raters.most_common()],
        "grades": [{"grade": grade, "count": grades[grade]}
                   for grade in sorted(grades, key=lambda each: (each is None, each))],
    }  # fmt: skip


def export(asked: Asked) -> Page:
    """What a format would hold of the project, and what it would lose."""
    given = asked.values
    part = "qrels" if given["judgments"] else "ratings"
    data: dict[str, Any] = {
        "project": asked.project.name, "format": given["format"], "judgments": given["judgments"],
        "formats": formats(part), "holds": {}, "lost": [], "problem": None,
    }  # fmt: skip
    with asked.store.read() as connection:
        data["made"] = [each.name for each in judgments.listed(connection, asked.project.id)]
    if given["format"]:
        try:
            made = _written(asked, given["format"], given["judgments"])[1]
            data |= {"holds": dict(made.rows), "lost": [_words(each) for each in made.losses]}
        except InputError as error:
            data["problem"] = {"code": error.code, "message": str(error)}
    return Page("export.html", data)


def export_file(asked: Asked) -> Sent:
    """The project in a format: ratings of every rater, or judgments, with texts."""
    given = asked.values
    return _sent(asked, given["format"] or "csv", given["judgments"])


def judgments_file(asked: Asked) -> Sent:
    """Judgments as a file in any format."""
    return _sent(asked, asked.values["format"] or "trec", asked.path["judgments"])


def ratings_file(asked: Asked) -> Sent:
    """Every rating, one row each, as a file in any format that holds ratings."""
    return _sent(asked, asked.values["format"] or "csv", None)


def _sent(asked: Asked, form: str, named: str | None) -> Sent:
    content, _ = _written(asked, form, named)
    found = registry.named(form)
    suffix = found.suffixes[0] if found.suffixes else ".txt"
    stem = f"{asked.project.name}-{named or 'ratings'}"
    return Sent(content, "application/octet-stream", f"{stem}{suffix}")


def _written(asked: Asked, form: str, named: str | None) -> tuple[bytes, Conversion]:
    """The bytes of a file, and what it lost."""
    part = "qrels" if named else "ratings"
    if part not in registry.named(form).holds:
        problem = f"{form} holds no {'judgments' if named else 'single ratings'}."
        raise InputError(problem, code="format-cannot-hold")
    contents = contents_in(asked.store, asked.project.name, judgments_name=named)
    if named is None and contents.ratings is None:
        raise InputError("there are no ratings.", code="no-judgments")
    if form in _SHEETS:
        contents = contents.only(part)
    target = io.BytesIO()
    made = convert(contents, target, to=form)
    return target.getvalue(), made


def formats(part: str) -> list[str]:
    """The formats that can be written and hold a part."""
    return [each.name for each in registry.FORMATS if each.write and part in each.holds]
