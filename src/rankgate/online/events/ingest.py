"""Read logs into one table of events; files that were read before are not read again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import InputError, UsageError
from rankgate.data.streams.part_files import is_folder, part_files
from rankgate.data.streams.source import InputFile
from rankgate.online.database import Database, database, quoted
from rankgate.online.events.convert import PROBLEMS, copy_events, stage, write_events
from rankgate.online.events.event_log import COUNTS, FILES, FOUND, RANKS, EventLog
from rankgate.online.events.mapping import UBI, LogMapping, read_mapping
from rankgate.online.events.privacy import Privacy
from rankgate.online.events.sources import is_event_table, load
from rankgate.online.events.unmapped import count_unmapped, refuse_unusable

if TYPE_CHECKING:
    from rankgate.data.inputs import Source

MANIFEST = "events.json"
"""The file of the folder that says what was read, and how."""

ZONE = "time_zone"
"""Its key for the time zone of the mapping, whose days and weeks are those of the log."""

_EXAMPLES = 5  # lines of each problem that are named


def ingest(
    logs: Source | Sequence[Source],
    folder: str | Path,
    *,
    mapping: str | Path | LogMapping | None = None,
    rank_base: Annotated[int, Range(0, 1)] | None = None,
    privacy: Privacy | None = None,
) -> EventLog:
    """Read logs into a folder of events.

    Args:
        logs: files of User Behavior Insights, or any others with a mapping: JSON lines, CSV,
            Parquet, also compressed; or Parquet tables of events, which need none. A file of the
            same contents is read once.
        folder: where the events go: a Parquet file for each file of the log, and ``events.json``.
        mapping: a TOML file that says which column holds what; without it the logs are UBI.
        rank_base: the rank at which the log begins to count; found out by default.
        privacy: what becomes of the words of queries and of the ids of users; all are kept by
            default.

    Raises:
        InputError: a file that cannot be read; records of which none is an event with a kind; a
            rank of 0 where earlier files began at 1.
        UsageError: the folder was made with another mapping or other privacy; no key for a hash.
        MissingExtraError: DuckDB is not installed.
    """
    log_mapping = mapping if isinstance(mapping, LogMapping) else _mapping(mapping)
    with database() as base:
        return ingested(base, files_of(logs), Path(folder), log_mapping, rank_base,
                        privacy or Privacy())  # fmt: skip


def _mapping(path: str | Path | None) -> LogMapping:
    return UBI if path is None else read_mapping(path)


def files_of(logs: Source | Sequence[Source]) -> list[Path]:
    """The files of a log; a folder is the part files in it.

    Raises:
        InputError: a file that is not there; a folder without part files.
    """
    several = [logs] if isinstance(logs, str | Path) else logs
    paths = [part for each in several for part in _parts(Path(each))]
    for path in paths:
        if not path.is_file():
            raise InputError("there is no such file.", source=str(path), code="cannot-read")
    return paths


def _parts(path: Path) -> list[Path]:
    """A file, or the part files of a folder."""
    place = InputFile(path)
    return [part.path for part in part_files(place) if part.path] if is_folder(place) else [path]


def ingested(
    base: Database,
    paths: Sequence[Path],
    folder: Path,
    mapping: LogMapping,
    rank_base: int | None,
    privacy: Privacy,
) -> EventLog:
    """Read the files that are new; see `ingest`."""
    privacy.columns()  # a key that is missing is an error before anything is written
    head: dict[str, Any] = {
        "schema_version": 1,
        "privacy": privacy.to_dict(),
        "mapping": _hash_of(mapping),
        ZONE: mapping.time_zone,
    }
    known = _manifest(folder, head)
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, dict[str, Any]] = dict(known)
    shown: dict[str, None] = dict.fromkeys(files)
    new: dict[str, dict[str, Any]] = {}
    for path in paths:
        sha256 = _sha256(path)
        if sha256 not in files and is_event_table(base, path):
            new[sha256] = files[sha256] = _copied(base, path, sha256, folder, privacy)
        elif sha256 not in files:
            files[sha256] = _read(base, path, sha256, folder, mapping, rank_base, privacy, files)
            new[sha256] = files[sha256]
        shown[sha256] = None
    try:
        if new:
            refuse_unusable(base, paths[0], mapping, new.values())
    except InputError:
        for file in new.values():
            (folder / file["part"]).unlink()
        raise
    text = json.dumps({**head, "files": files}, indent=1, ensure_ascii=False)
    partial = folder / f".{MANIFEST}"
    partial.write_text(text, encoding="utf-8")
    partial.replace(folder / MANIFEST)
    return _result(folder, {each: files[each] for each in shown}, set(known), head["privacy"])


def _manifest(folder: Path, head: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    path = folder / MANIFEST
    if not path.exists():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))
    for name, word in (("mapping", "mapping"), ("privacy", "treatment of queries and users")):
        if found[name] != head[name]:
            problem = f"{folder}: its events were read with another {word}; use another folder."
            raise UsageError(problem, code="different-events")
    files: dict[str, dict[str, Any]] = found["files"]
    return files


def _hash_of(mapping: LogMapping) -> str:
    values = {name: value for name, value in vars(mapping).items() if name != "zone_declared"}
    words = json.dumps([mapping.ubi, *map(str, values.values())])
    return hashlib.sha256(words.encode()).hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read(
    base: Database,
    path: Path,
    sha256: str,
    folder: Path,
    mapping: LogMapping,
    rank_base: int | None,
    privacy: Privacy,
    known: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Read one file; what is in the manifest about it."""
    load(base, path, mapping)
    stage(base, mapping)
    ranks = _ranks(base, mapping.rank_base if rank_base is None else rank_base)
    _refuse_other_base(path, ranks, known)
    part = _part(folder, sha256)
    bases = {each["application"]: each["base"] for each in ranks}
    write_events(base, str(part), (path.name, sha256), bases, mapping, privacy)
    found = {
        **_written(base, path, part),
        "ranks": ranks,
        "problems": _problems(base, path, mapping),
        "unmapped": count_unmapped(base),
        "states": "state" in mapping.columns,
    }
    base.run("DROP VIEW IF EXISTS raw; DROP TABLE IF EXISTS lines; DROP TABLE staged")
    return found


def _copied(
    base: Database, path: Path, sha256: str, folder: Path, privacy: Privacy
) -> dict[str, Any]:
    """Copy a table of events; what is in the manifest about it."""
    part = _part(folder, sha256)
    copy_events(base, path, str(part), privacy)
    return {**_written(base, path, part), "ranks": [], "problems": [], "unmapped": {},
            "states": True}  # fmt: skip


def _part(folder: Path, sha256: str) -> Path:
    return folder / f"part-{sha256[:16]}.parquet"


def _written(base: Database, path: Path, part: Path) -> dict[str, Any]:
    """The names, kinds and times of the events in a new part."""
    source = f"read_parquet({quoted(str(part))})"
    counted = base.rows(f"SELECT kind, count(*) AS events FROM {source} GROUP BY 1")
    period = base.rows(
        "SELECT strftime(timezone('UTC', min(\"at\")), '%Y-%m-%dT%H:%M:%SZ') AS first, "
        f"strftime(timezone('UTC', max(\"at\")), '%Y-%m-%dT%H:%M:%SZ') AS last FROM {source}"
    ).row(0, named=True)
    kinds = dict(sorted(counted.iter_rows()))
    return {"file": path.name, "part": part.name, "kinds": kinds, **period}


def _ranks(base: Database, given: int | None) -> list[dict[str, Any]]:
    """By application the rank at which its log begins to count."""
    rows = base.rows(
        "SELECT application, min(position) AS least, bool_or(kind = 'impression') AS shown "
        "FROM staged WHERE kind IS NOT NULL AND position >= 0 GROUP BY 1 ORDER BY 1"
    )
    return [
        {
            "application": application,
            "base": min(least, 1) if given is None else given,
            "least": least,
            # a log of impressions that begins at 0 would show a 0
            "certain": least == 0 or given is not None or (shown and least == 1),
        }
        for application, least, shown in rows.iter_rows()
    ]


def _refuse_other_base(
    path: Path, ranks: Sequence[Mapping[str, Any]], known: Mapping[str, Mapping[str, Any]]
) -> None:
    before = {
        each["application"]: each["base"] for file in known.values() for each in file["ranks"]
    }
    for each in ranks:
        if before.get(each["application"], each["base"]) != each["base"]:
            problem = (
                f"ranks begin at {each['base']}, and in the files before at "
                f"{before[each['application']]}; read all files anew with --rank-base 0 or 1."
            )
            raise InputError(problem, source=str(path), code="mixed-rank-base")


def _problems(base: Database, path: Path, mapping: LogMapping) -> list[dict[str, Any]]:
    """What could not be read, with the first lines of each."""
    sums = ", ".join(
        f"count(*) FILTER (WHERE {sql}) AS n{place}, list_sort(min(source_line, {_EXAMPLES}) "
        f"FILTER (WHERE {sql})) AS l{place}"
        for place, (sql, _) in enumerate(PROBLEMS.values())
    )
    row = base.rows(f"SELECT {sums}, max(source_line) AS last FROM staged").row(0, named=True)
    found = []
    for place, (code, (_, words)) in enumerate(PROBLEMS.items()):
        count, lines = row[f"n{place}"], row[f"l{place}"]
        if code == "time-without-zone" and mapping.zone_declared:
            continue
        if code == "invalid-json" and count and _is_cut(base, path):
            count -= 1
            found.append(_problem("truncated-last-line", 1, "line is cut off at the end of the "
                                  "file and was left out", [row["last"]]))  # fmt: skip
            lines = [each for each in lines if each != row["last"]]
        if count:
            found.append(_problem(code, count, words, lines))
    if undecoded := base.one("SELECT undecoded FROM counts"):
        lines = base.rows("SELECT kept + row_number() OVER (ORDER BY kept) AS line FROM gaps "
                          f"LIMIT {_EXAMPLES}")["line"].to_list()  # fmt: skip
        words = "lines are not UTF-8 and were left out"
        found.append(_problem("not-utf-8", undecoded, words, lines))
    return found


def _is_cut(base: Database, path: Path) -> bool:
    """Whether the last record is no JSON and no newline follows it."""
    if not base.one("SELECT arg_max(invalid, source_line) FROM staged"):
        return False
    if path.suffix in (".gz", ".zst"):
        return True
    with path.open("rb") as stream:
        stream.seek(-1, 2)
        return stream.read(1) != b"\n"


def _problem(code: str, count: int, words: str, lines: Sequence[int]) -> dict[str, Any]:
    listed = ", ".join(map(str, lines))
    return {"code": code, "count": count, "words": words, "lines": listed}


def _result(
    folder: Path,
    files: Mapping[str, Mapping[str, Any]],
    before: set[str],
    privacy: Mapping[str, Any],
) -> EventLog:
    counts: dict[str, int] = {}
    for each in files.values():
        for kind, events in each["kinds"].items():
            counts[kind] = counts.get(kind, 0) + events
    rows = [
        {"file": each["file"], "sha256": sha256, "events": sum(each["kinds"].values()),
         "new": sha256 not in before, "first": each["first"], "last": each["last"]}
        for sha256, each in files.items()
    ]  # fmt: skip
    problems = [{"file": f["file"], **p} for f in files.values() for p in f["problems"]]
    ranks = [{"file": f["file"], **r} for f in files.values() for r in f["ranks"]]
    return EventLog(
        str(folder),
        pl.DataFrame(rows, schema=FILES),
        pl.DataFrame(sorted(counts.items()), schema=COUNTS, orient="row"),
        pl.DataFrame(problems, schema=FOUND),
        pl.DataFrame(ranks, schema=RANKS),
        privacy,
    )
