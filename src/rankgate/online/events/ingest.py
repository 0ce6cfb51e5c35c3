"""Read logs into one table of events; files that were already read are skipped.

The module also suggests the lines of a mapping for actions without a known kind of event.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import polars as pl

from rankgate.core.checksums import add_checksum
from rankgate.core.declare import Range
from rankgate.core.declare.flag_words import FLAG_WORDS
from rankgate.core.errors import InputError, UsageError, check_schema_version
from rankgate.core.present.codec import fits
from rankgate.core.present.number_formats import count_noun
from rankgate.data.guessed_column_names import toml_lines
from rankgate.online.events.event_lists import normalize_action
from rankgate.online.events.event_log import COUNTS, FILES, PROBLEM_COLUMNS, RANKS, EventLog
from rankgate.online.events.event_sql import (
    PROBLEMS,
    Privacy,
    copy_events,
    link_searches,
    stage_events,
    write_events,
)
from rankgate.online.events.event_table import SURVEY_PATTERN
from rankgate.online.events.guessed_mapping import (
    MAX_ACTIONS,
    OTHER_KIND,
    guess_lines,
    kinds_of_actions,
    names_counts,
    preset_of,
)
from rankgate.online.events.log_files import (
    UBI,
    LogFile,
    LogMapping,
    first_records,
    is_event_table,
    list_log_files,
    load_log,
    read_mapping,
    refuse_unclear_flags,
)
from rankgate.online.events.manifest import Manifest
from rankgate.online.log_database import Database, open_database, quote_text

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.data.input_types import Source
    from rankgate.online.events.manifest import IngestedFile, PartSummary, RankBase, RecordProblem


_NO_EVENTS = ("not-an-event", "invalid-json", "not-utf-8")


def count_unmapped(base: Database, table: str, mapping: LogMapping) -> dict[str, int]:
    """Count events in a table by action, for actions without a kind; surveys have a kind.

    The most frequent action is first.
    """
    actions = base.rows(
        f"SELECT action, count(*) AS events FROM {table} WHERE kind = 'other' GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    return {
        action: events
        for action, events in actions.iter_rows()
        if normalize_action(action) not in mapping.kinds and not re.search(SURVEY_PATTERN, action.lower())
    }


def unmapped_actions(files: Iterable[IngestedFile]) -> dict[str, int]:
    """The actions without a kind over all files of a manifest, with their counts."""
    total: dict[str, int] = {}
    for file in files:
        for action, events in file.get("unmapped", {}).items():
            total[action] = total.get(action, 0) + events
    return dict(sorted(total.items(), key=lambda pair: (-pair[1], pair[0])))


def format_actions(actions: Mapping[str, int]) -> str:
    """The most frequent actions with their numbers of events.

    >>> format_actions({"view": 7200, "login": 3})
    'view (7,200), login (3)'
    """
    names = [f"{action} ({events:,})" for action, events in list(actions.items())[:MAX_ACTIONS]]
    unnamed = len(actions) - len(names)
    return ", ".join([*names, f"{unnamed:,} more"] if unnamed else names)


def mapping_advice(actions: Sequence[str]) -> str:
    """Advice about actions without a kind."""
    return (
        "name their kinds in a file for --mapping, under [kinds], after checking their meaning: "
        f"{'; '.join(toml_lines({'kinds': kinds_of_actions(actions)})[1:])}"
    )


def refuse_unusable(
    base: Database, log_file: LogFile, mapping: LogMapping, files: Collection[IngestedFile]
) -> None:
    """Refuse files without a single event that has a kind.

    Args:
        base: the database that reads the columns of the first file.
        log_file: the first file.
        mapping: the mapping with which the files were read.
        files: the manifest's entries of the files.

    Raises:
        InputError: no event can be used.
    """
    kinds = {kind for file in files for kind, events in file["kinds"].items() if events}
    unreadable = sum(
        problem["count"] for file in files for problem in file["problems"] if problem["code"] in _NO_EVENTS
    )
    actions = unmapped_actions(files)
    if kinds - {OTHER_KIND} or not (actions or unreadable):
        return
    suggestions: tuple[str, ...] = ()
    if actions:
        advice = mapping_advice([*actions])
        problem = f"no event has a kind; actions are {format_actions(actions)}: {advice}."
    else:
        records = first_records(base, log_file, mapping)
        columns = list(records[0]) if records else []
        read_as = "of User Behavior Insights" if mapping.ubi else "of this mapping"
        problem = (
            f"none of {count_noun(unreadable, 'record')} is an event {read_as}; map the columns with "
            f"--mapping FILE.toml; the columns are {', '.join(columns[:12]) or 'unknown'}"
        )
        if names_counts(columns):  # no log, but judgments can be learned from it
            problem = "a table of counts, which has no events; judgments can be learned from it:"
            suggestions = (f"rankgate online judgments {quote(log_file.label)} -o qrels.csv",)
        elif preset := preset_of(columns):
            problem, suggestions = f"{problem}.", (f"--mapping {preset}",)
        elif lines := guess_lines(records) if mapping.ubi else ():
            problem += "; if this guess is right, save it as log.toml:"
            suggestions = (*lines, "and run the command again with --mapping log.toml")
        else:
            problem += "."
            suggestions = (f"rankgate online map {quote(log_file.label)} -o log.toml",)
    raise InputError(problem, source=log_file.label, code="no-usable-events", suggestions=suggestions)


MANIFEST = "events.json"
"""The file of the folder that records what was read, and how."""

SCHEMA_VERSION = 1


def read_manifest(path: Path) -> Manifest:
    """The manifest of a folder of events.

    Raises:
        InputError: not JSON, of another schema version, or without what it must have.
    """
    try:
        manifest: Manifest = json.loads(path.read_bytes())
        check_schema_version(manifest, SCHEMA_VERSION, str(path))
        is_whole = fits(manifest, Manifest) and manifest.keys() >= {"mapping", "privacy", "files"}
        ZoneInfo(manifest.get("time_zone", "UTC") if is_whole else "UTC")
    except (ValueError, AttributeError, RecursionError, OSError, ZoneInfoNotFoundError):
        is_whole = False
    if not is_whole:
        problem = "a damaged record of ingested files; ingest the logs again into another folder."
        raise InputError(problem, source=str(path), code="damaged-file")
    return manifest


_EXAMPLES = 5  # lines that are named for each problem


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
        folder: the folder for the events: a Parquet file for each file of the log, and
            ``events.json``.
        mapping: a TOML file with the columns of the logs, or a product: ga4, segment, snowplow;
            without it they are UBI (User Behavior Insights).
        rank_base: the rank at which the log begins to count; found out by default.
        privacy: the treatment of the words of queries and of the ids of users; all are kept by
            default.

    Raises:
        InputError: a file that cannot be read; no record that is an event with a kind; a
            rank of 0 where earlier files began at 1.
        UsageError: the folder was made with another mapping or other privacy; no key for a hash.
        MissingExtraError: DuckDB is not installed.
    """
    log_mapping = (
        mapping if isinstance(mapping, LogMapping) else UBI if mapping is None else read_mapping(mapping)
    )
    with open_database() as base:
        files = list_log_files(logs, Path(base.folder))
        return ingest_files(base, files, Path(folder), log_mapping, rank_base, privacy or Privacy())


def ingest_files(
    base: Database,
    log_files: Sequence[LogFile],
    folder: Path,
    mapping: LogMapping,
    rank_base: int | None,
    privacy: Privacy,
) -> EventLog:
    """Read the files that are new; see `ingest`."""
    privacy.columns()  # a missing key is an error before any file is written
    settings: Manifest = {
        "schema_version": SCHEMA_VERSION,
        "privacy": privacy.to_dict(),
        "mapping": _hash_of(mapping),
        "time_zone": mapping.time_zone,
        **({"dimensions": list(mapping.dimensions)} if mapping.dimensions else {}),
        **({"kpis": mapping.kpis.values["kpis"]} if mapping.kpis else {}),
    }
    known_files = _read_manifest(folder, settings)
    folder.mkdir(parents=True, exist_ok=True)
    files = dict(known_files)
    file_hashes: dict[str, None] = dict.fromkeys(files)
    new: dict[str, IngestedFile] = {}
    for log_file in log_files:
        sha256 = log_file.sha256()
        if sha256 not in files and is_event_table(base, log_file):
            new[sha256] = files[sha256] = _copy_file(base, log_file, sha256, folder, privacy)
        elif sha256 not in files:
            files[sha256] = _ingest_file(base, log_file, sha256, folder, mapping, rank_base, privacy, files)
            new[sha256] = files[sha256]
        file_hashes[sha256] = None
    try:
        if new:
            refuse_unusable(base, log_files[0], mapping, new.values())
    except InputError:
        for file in new.values():
            (folder / file["part"]).unlink()
        raise
    text = json.dumps({**settings, "files": files}, indent=1, ensure_ascii=False)
    partial = folder / f".{MANIFEST}"
    partial.write_text(text, encoding="utf-8")
    partial.replace(folder / MANIFEST)
    return _make_event_log(
        folder, {sha256: files[sha256] for sha256 in file_hashes}, set(known_files), settings["privacy"]
    )


def _read_manifest(folder: Path, settings: Manifest) -> dict[str, IngestedFile]:
    path = folder / MANIFEST
    if not path.exists():
        return {}
    manifest = read_manifest(path)
    for is_other, word in (
        (manifest["mapping"] != settings["mapping"], "mapping"),
        (manifest["privacy"] != settings["privacy"], "treatment of queries and users"),
    ):
        if is_other:
            problem = f"{folder}: its events were read with another {word}; use another folder."
            raise UsageError(problem, code="different-events")
    return manifest["files"]


def _hash_of(mapping: LogMapping) -> str:
    left_out = {"zone_declared", "kpis"}
    later_fields = ("lists", "time_format", "last_search", "dimensions", "preset")
    left_out |= {name for name in later_fields if not getattr(mapping, name)}  # as in earlier folders
    if not mapping.flags and mapping.flag_words == FLAG_WORDS:
        left_out.add("flag_words")  # as in folders of before
    values = {name: value for name, value in vars(mapping).items() if name not in left_out}
    texts = [str(value).replace(", quantity='', actions=()", "") for value in values.values()]
    text = json.dumps([mapping.ubi, *texts])
    return hashlib.sha256(text.encode()).hexdigest()


def _ingest_file(
    base: Database,
    log_file: LogFile,
    sha256: str,
    folder: Path,
    mapping: LogMapping,
    rank_base: int | None,
    privacy: Privacy,
    known_files: Mapping[str, IngestedFile],
) -> IngestedFile:
    """Read one file, and return its entry of the manifest."""
    load_log(base, log_file, mapping)
    stage_events(base, mapping)
    refuse_unclear_flags(base, log_file, mapping)
    if mapping.last_search:
        link_searches(base, sha256)
    ranks = _rank_bases(base, mapping.rank_base if rank_base is None else rank_base)
    _refuse_other_base(log_file, ranks, known_files)
    part_path = _part_path(folder, sha256)
    bases = {row["application"]: row["base"] for row in ranks}
    write_events(base, str(part_path), (log_file.name, sha256), bases, mapping, privacy)
    file_summary: IngestedFile = {
        **_summarise_part(base, log_file, part_path),
        "ranks": ranks,
        "problems": _list_problems(base, log_file.path, mapping),
        "unmapped": count_unmapped(base, "staged", mapping),
        "states": "state" in mapping.columns,
    }
    base.run("DROP VIEW IF EXISTS raw; DROP TABLE IF EXISTS lines; DROP TABLE staged")
    return file_summary


def _copy_file(
    base: Database, log_file: LogFile, sha256: str, folder: Path, privacy: Privacy
) -> IngestedFile:
    """Copy a table of events, and return its entry of the manifest."""
    part_path = _part_path(folder, sha256)
    copy_events(base, log_file.path, str(part_path), privacy)
    return {
        **_summarise_part(base, log_file, part_path),
        "ranks": [],
        "problems": [],
        "unmapped": {},
        "states": True,
    }


def _part_path(folder: Path, sha256: str) -> Path:
    return folder / f"part-{sha256[:16]}.parquet"


def _summarise_part(base: Database, log_file: LogFile, part_path: Path) -> PartSummary:
    """The names, kinds and times of the events in a new part, which gets its checksum."""
    add_checksum(part_path)
    source = f"read_parquet({quote_text(str(part_path))})"
    kind_counts = base.rows(f"SELECT kind, count(*) AS events FROM {source} GROUP BY 1")
    period = base.rows(
        "SELECT strftime(timezone('UTC', min(\"at\")), '%Y-%m-%dT%H:%M:%SZ') AS first, "
        f"strftime(timezone('UTC', max(\"at\")), '%Y-%m-%dT%H:%M:%SZ') AS last FROM {source}"
    ).row(0, named=True)
    kinds = dict(sorted(kind_counts.iter_rows()))
    return {
        "file": log_file.name,
        "part": part_path.name,
        "kinds": kinds,
        "first": period["first"],
        "last": period["last"],
    }


def _rank_bases(base: Database, declared_base: int | None) -> list[RankBase]:
    """Find the rank at which the log of each application begins to count."""
    rows = base.rows(
        "SELECT application, min(position) AS least, bool_or(kind = 'impression') AS shown FROM staged WHERE "
        "kind IS NOT NULL AND position >= 0 GROUP BY 1 ORDER BY 1"
    )
    return [
        {
            "application": application,
            "base": min(lowest, 1) if declared_base is None else declared_base,
            "least": lowest,
            # a log of impressions that begins at 0 would show a 0
            "certain": lowest == 0 or declared_base is not None or (has_impressions and lowest == 1),
        }
        for application, lowest, has_impressions in rows.iter_rows()
    ]


def _refuse_other_base(
    log_file: LogFile, ranks: Sequence[RankBase], known_files: Mapping[str, IngestedFile]
) -> None:
    known_bases = {row["application"]: row["base"] for file in known_files.values() for row in file["ranks"]}
    for row in ranks:
        if known_bases.get(row["application"], row["base"]) != row["base"]:
            problem = (
                f"ranks begin at {row['base']}, and in the files before at "
                f"{known_bases[row['application']]}; read all files again with --rank-base 0 or 1."
            )
            raise InputError(problem, source=log_file.label, code="mixed-rank-base")


def _list_problems(base: Database, path: Path, mapping: LogMapping) -> list[RecordProblem]:
    """List the problems of records, with the first lines of each."""
    sums = ", ".join(
        f"count(*) FILTER (WHERE {sql}) AS n{index}, list_sort(min(source_line, {_EXAMPLES}) FILTER (WHERE "
        f"{sql})) AS l{index}"
        for index, (sql, _) in enumerate(PROBLEMS.values())
    )
    row = base.rows(f"SELECT {sums}, max(source_line) AS last FROM staged").row(0, named=True)
    problems: list[RecordProblem] = []
    for index, (code, (_, description)) in enumerate(PROBLEMS.items()):
        count, lines = row[f"n{index}"], row[f"l{index}"]
        if code == "time-without-zone" and mapping.zone_declared:
            continue
        if code == "invalid-json" and count and _is_cut(base, path):
            count -= 1
            problems.append(
                _problem_row(
                    "truncated-last-line",
                    1,
                    "line is cut off at the end of the file and was left out",
                    [row["last"]],
                )
            )
            lines = [line for line in lines if line != row["last"]]
        if count:
            problems.append(_problem_row(code, count, description, lines))
    if undecoded := base.first_value("SELECT undecoded FROM counts"):
        lines = base.rows(
            f"SELECT kept + row_number() OVER (ORDER BY kept) AS line FROM gaps LIMIT {_EXAMPLES}"
        )["line"].to_list()
        description = "lines are not UTF-8 and were left out"
        problems.append(_problem_row("not-utf-8", undecoded, description, lines))
    return problems


def _is_cut(base: Database, path: Path) -> bool:
    """True if the last record is not JSON and no newline follows it."""
    if not base.first_value("SELECT arg_max(invalid, source_line) FROM staged"):
        return False
    if path.suffix in (".gz", ".zst"):
        return True
    with path.open("rb") as stream:
        stream.seek(-1, 2)
        return stream.read(1) != b"\n"


def _problem_row(code: str, count: int, description: str, lines: Sequence[int]) -> RecordProblem:
    line_numbers = ", ".join(map(str, lines))
    return {"code": code, "count": count, "words": description, "lines": line_numbers}


def _make_event_log(
    folder: Path, files: Mapping[str, IngestedFile], known_hashes: set[str], privacy: JsonObject
) -> EventLog:
    counts: dict[str, int] = {}
    for file in files.values():
        for kind, events in file["kinds"].items():
            counts[kind] = counts.get(kind, 0) + events
    rows = [
        {
            "file": file["file"],
            "sha256": sha256,
            "events": sum(file["kinds"].values()),
            "new": sha256 not in known_hashes,
            "first": file["first"],
            "last": file["last"],
        }
        for sha256, file in files.items()
    ]
    problems = [{"file": f["file"], **p} for f in files.values() for p in f["problems"]]
    ranks = [{"file": f["file"], **r} for f in files.values() for r in f["ranks"]]
    return EventLog(
        str(folder),
        pl.DataFrame(rows, schema=FILES),
        pl.DataFrame(sorted(counts.items()), schema=COUNTS, orient="row"),
        pl.DataFrame(problems, schema=PROBLEM_COLUMNS),
        pl.DataFrame(ranks, schema=RANKS),
        privacy,
    )
