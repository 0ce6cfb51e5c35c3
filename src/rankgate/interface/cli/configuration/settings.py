"""The tables ``[defaults]`` and ``[files]`` of a project's file.

``[defaults]`` holds values of options that commands repeat; ``[files]`` names files, which any
command takes as ``@NAME``. Both are next to the policy, whose hash does not cover them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    import click

    from rankgate.core.declare.toml import Toml

DEFAULTS = {
    "metrics": "metrics, a list of names: -m",
    "convention": "the convention: --convention",
    "store": "the URL of the store: --store",
    "project": "the project of the store: --project",
    "columns": "names of columns of tables: --columns",
    "seed": "of random numbers: --seed",
}
"""What ``[defaults]`` may hold, by the parameter of commands."""

_TOOLS = frozenset({"trec_eval", "cwl_eval", "ndeval", "gdeval"})
"""Commands that work as other programs, which have no such file."""

_POLICY = frozenset({"report"})
"""Commands whose metrics are those of the policy."""


@dataclass(frozen=True)
class Settings:
    """What a project's file says to commands.

    Attributes:
        source: the file; empty without one.
        defaults: values by parameter.
        files: files by name.
        lines: the line of each key.
    """

    source: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)

    def place(self, key: str) -> str:
        """The file and line of a key."""
        return f"{self.source}:{self.lines[key]}" if key in self.lines else self.source

    def for_command(self, name: str, command: click.Command) -> dict[str, Any]:
        """Defaults of a command's options, as click takes them; of a group by command."""
        if name in _TOOLS:
            return {}
        own = {each.name for each in command.params if each.param_type_name == "option"}
        found = {key: value for key, value in self.defaults.items() if key in own}
        if name in _POLICY:
            found.pop("metrics", None)
        for inner, each in getattr(command, "commands", {}).items():
            if values := self.for_command(inner, each):
                found[inner] = values
        return found

    def named(self, words: Sequence[str]) -> list[str]:
        """Words in which ``@NAME`` is the file of that name."""
        return [
            self.files[word[1:]] if word[:1] == "@" and word[1:] in self.files else word
            for word in words
        ]


def settings(folder: Path | None = None) -> Settings:
    """The settings of a folder, by default the current one; empty ones without a file.

    Raises:
        InputError: the file is not TOML, or has an unknown key or value; with its line.
    """
    place = folder or Path()
    for name, prefix in (("rankgate.toml", ()), ("pyproject.toml", ("tool", "rankgate"))):
        path = place / name
        if path.is_file() and _speaks(path, prefix):
            from rankgate.core.declare.toml import Toml

            return _read(Toml.read(path, prefix, code="invalid-config"))
    return Settings()


def _speaks(path: Path, prefix: tuple[str, ...]) -> bool:
    """Whether a file has one of the tables, before it is read as TOML."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False  # commands that need the file say what is wrong with it
    return any(f"[{'.'.join((*prefix, table))}" in text for table in ("defaults", "files"))


def _read(file: Toml) -> Settings:
    defaults, named = file.values.get("defaults", {}), file.values.get("files", {})
    file.check_keys(defaults, DEFAULTS, "defaults")
    metrics = defaults.get("metrics")
    if metrics is not None and not _are_texts(metrics):
        raise file.error('metrics is a list of names, as in ["nDCG@10"].', "defaults", "metrics")
    for key, value in defaults.items():
        if key != "metrics" and not isinstance(value, int if key == "seed" else str):
            needed = "a whole number" if key == "seed" else "a text in quotes"
            raise file.error(f"{key} is {needed}.", "defaults", key)
    if not isinstance(named, dict) or not _are_texts([*named.values()]):
        raise file.error("[files] holds names of files, each a text in quotes.", "files")
    folder = Path(file.source).parent
    lines = {
        key: file.lines[*file.prefix, table, key]
        for table in ("defaults", "files")
        for key in file.values.get(table, {})
        if (*file.prefix, table, key) in file.lines
    }
    files = {name: _from(folder, value) for name, value in named.items()}
    values = {key: tuple(value) if key == "metrics" else value for key, value in defaults.items()}
    return Settings(file.source, values, files, lines)


def _from(folder: Path, value: str) -> str:
    """A file as seen from the current folder; URLs as they are."""
    return value if "://" in value else str(folder / value)


def _are_texts(values: Any) -> bool:  # noqa: ANN401 - any TOML value
    return isinstance(values, list) and all(isinstance(each, str) for each in values)
