"""The manifest of a folder of events: its source files and settings."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class RankBase(TypedDict):
    """The rank at which the log of an application begins to count."""

    application: str
    base: int
    least: int
    certain: bool


class RecordProblem(TypedDict):
    """A problem of records, with the first lines that have it."""

    code: str
    count: int
    words: str
    lines: str


class PartSummary(TypedDict):
    """The names, kinds and times of the events of a file; a log without events has no times."""

    file: str
    part: str
    kinds: dict[str, int]
    first: str | None
    last: str | None


class IngestedFile(PartSummary):
    """The entry of a file. Older folders lack the actions without a kind, and states."""

    ranks: list[RankBase]
    problems: list[RecordProblem]
    unmapped: NotRequired[dict[str, int]]
    states: NotRequired[bool]


class Manifest(TypedDict, total=False):
    """The source files and settings; empty if events were not read from a folder."""

    schema_version: int
    privacy: dict[str, Any]
    mapping: str
    time_zone: str
    files: dict[str, IngestedFile]
    dimensions: list[str]
    kpis: list[dict[str, Any]]
