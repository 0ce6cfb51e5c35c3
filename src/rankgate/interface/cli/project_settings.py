"""Every value that commands take, and where it comes from: the result of ``config``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rankgate.core.console.option_types import COLLECTION, OUTPUT, TEST
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.document_model import PlainRows, make_printable
from rankgate.core.present.layout import Sentence, View
from rankgate.core.present.number_formats import UNDEFINED
from rankgate.interface.cli.project_file import DEFAULTS, Settings, settings

_BUILT_IN = "built in"
_KEYS = {"form": "format", "test": "method", "candidate_items": "candidates"}
"""Keys of the file that are not called as the parameter of commands."""

_ENVIRONMENT = {
    "NO_COLOR": "no colours",
    "RANKGATE_DEBUG": "errors with their trace",
    "RANKGATE_MAX_EXPANSION": "the largest factor between a compressed file and its content",
}


@dataclass(frozen=True)
class Setting:
    """One value.

    Attributes:
        name: the name of the value; ``@NAME`` is a file.
        value: the value as text; may be empty.
        origin: the file with the line, an environment variable, or ``built in``.
        purpose: a description.
    """

    name: str
    value: str
    origin: str
    purpose: str


def _format_value(value: str) -> str:
    return make_printable(value) or UNDEFINED


@dataclass(frozen=True)
class ProjectSettings(Result):
    """The settings of commands in a folder, and their sources.

    Attributes:
        source: the project's file; empty without one.
        settings: every value.
    """

    kind = "project_settings"
    layout = (
        View(
            "settings",
            headers={"origin": "from", "purpose": "what it is"},
            formats={"value": _format_value},
            prose=True,
        ),
    )
    headline_text = (
        Sentence("Settings of {source}", "source"),
        Sentence("No settings in rankgate.toml", lambda settings: not settings.source),
    )

    source: str
    settings: tuple[Setting, ...]

    def csv_rows(self) -> PlainRows:
        """Every setting."""
        rows = [(s.name, _format_value(s.value), s.origin, s.purpose) for s in self.settings]
        return PlainRows(("name", "value", "from", "what it is"), rows)


def config(folder: Path | None = None) -> ProjectSettings:
    """Every value that commands take in a folder, by default the current one.

    Raises:
        InputError: the project's file cannot be read, with its line.
    """
    project_settings = settings(folder)
    return ProjectSettings(project_settings.source, tuple(_list_settings(project_settings)))


def _list_settings(project_settings: Settings) -> Iterator[Setting]:
    from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS

    built_in = {"metrics": ", ".join(DEFAULT_METRICS), "convention": "trec", "seed": "0"}
    for name, purpose in DEFAULTS.items():
        default = project_settings.defaults.get(name)
        text = ", ".join(default) if isinstance(default, tuple) else "" if default is None else str(default)
        origin = _BUILT_IN if default is None else project_settings.location(name)
        yield Setting(name, text or built_in.get(name, ""), origin, purpose)
    for table, heading in (("collection", COLLECTION), ("test", TEST), ("output", OUTPUT)):
        for name, value in project_settings.sections.get(heading, {}).items():
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            key = _KEYS.get(name, name)
            yield Setting(f"{table}.{key}", text, project_settings.location(key), f"an option of the {table}")
    for name, path in project_settings.files.items():
        missing_note = "" if "://" in path or Path(path).exists() else ", which is missing"
        yield Setting(f"@{name}", path, project_settings.location(name), f"a file{missing_note}")
    for name, purpose in _ENVIRONMENT.items():
        if os.environ.get(name):
            yield Setting(name, os.environ[name], "environment", purpose)
