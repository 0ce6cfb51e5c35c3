"""The settings for all commands in a project's file.

``[defaults]`` holds values of options that several commands have; ``[collection]``, ``[test]`` and
``[output]`` hold values of the options under these headings in help. ``[files]`` names files, which
any command accepts as ``@NAME``. These tables are in the same file as the policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.console.option_types import COLLECTION, OUTPUT, TEST
from rankgate.core.frozen import dataclass
from rankgate.core.present.write_results import FORMS

if TYPE_CHECKING:
    import click

    from rankgate.core.declare.toml_file import TomlFile


DEFAULTS = {
    "metrics": "metrics, a list of names: -m",
    "convention": "the convention: --convention",
    "store": "the URL of the store: --store",
    "project": "the project of the store: --project",
    "columns": "names of columns of tables: --columns",
    "seed": "of random numbers: --seed",
}
"""The keys of ``[defaults]``, by the parameter of commands."""

_COMMANDS_OF_OTHER_TOOLS = frozenset({"trec_eval", "cwl_eval", "ndeval", "gdeval"})
"""Commands that work as other programs, which have no such file."""

_COMMANDS_WITH_POLICY_METRICS = frozenset({"report"})
"""Commands that take their metrics from the policy; a gate does if the policy has rules."""


@dataclass(frozen=True)
class Settings:
    """The settings of a project's file for commands.

    Attributes:
        source: the file; empty without one.
        defaults: values by parameter.
        files: files by name.
        lines: the line of each key.
        sections: the values of its options by parameter, for each heading of the help.
        has_rules: True if the file is also a policy with rules.
    """

    source: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    has_rules: bool = False

    def location(self, key: str) -> str:
        """The file and line of a key."""
        return f"{self.source}:{self.lines[key]}" if key in self.lines else self.source

    def for_command(self, name: str, command: click.Command) -> dict[str, Any]:
        """The defaults of a command's options in click's form; of a group by command."""
        if name in _COMMANDS_OF_OTHER_TOOLS:
            return {}
        options = {str(param.name): param for param in command.params if param.param_type_name == "option"}
        defaults = {key: value for key, value in self.defaults.items() if key in options}
        if name in _COMMANDS_WITH_POLICY_METRICS or (name == "gate" and self.has_rules):
            defaults.pop("metrics", None)
        for key, param in options.items():
            section_values = self.sections.get(getattr(param, "section", ""), {})
            choices = getattr(param.type, "choices", None)
            if key in section_values and (choices is None or section_values[key] in choices):
                defaults[key] = section_values[key]
        for inner, subcommand in getattr(command, "commands", {}).items():
            if values := self.for_command(inner, subcommand):
                defaults[inner] = values
        return defaults

    def replace_names(self, arguments: Sequence[str]) -> list[str]:
        """The words with each ``@NAME`` replaced by the file of that name."""
        return [
            self.files[word[1:]] if word[:1] == "@" and word[1:] in self.files else word for word in arguments
        ]


def settings(folder: Path | None = None) -> Settings:
    """The settings of a folder, by default the current one; empty ones without a file.

    Raises:
        InputError: the file is not TOML, or has an unknown key or value; with its line.
    """
    root = folder or Path()
    for name, prefix in (("rankgate.toml", ()), ("pyproject.toml", ("tool", "rankgate"))):
        path = root / name
        if path.is_file() and _has_tables(path, prefix):
            from rankgate.core.declare.toml_file import TomlFile

            return _read_settings(TomlFile.read(path, prefix, code="invalid-config"))
    return Settings()


def _has_tables(path: Path, prefix: tuple[str, ...]) -> bool:
    """True if a file has one of the tables; a quick check before it is read as TOML."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False  # commands that need the file report its error
    return any(f"[{'.'.join((*prefix, table))}" in text for table in _TABLES)


_TABLES = ("defaults", "files", "collection", "test", "output")


def _read_settings(file: TomlFile) -> Settings:
    defaults, file_names = file.values.get("defaults", {}), file.values.get("files", {})
    file.check_keys(defaults, DEFAULTS, "defaults")
    metrics = defaults.get("metrics")
    if metrics is not None and not _is_list_of_texts(metrics):
        raise file.error('metrics is a list of names, as in ["nDCG@10"].', "defaults", "metrics")
    for key, value in defaults.items():
        if key != "metrics" and not isinstance(value, int if key == "seed" else str):
            needed = "a whole number" if key == "seed" else "a quoted string"
            raise file.error(f"{key} is {needed}.", "defaults", key)
    if not isinstance(file_names, dict) or not _is_list_of_texts([*file_names.values()]):
        raise file.error("[files] lists files; each value is a quoted path.", "files")
    folder = Path(file.source).parent
    lines = {
        key: file.lines[*file.prefix, table, key]
        for table in _TABLES
        for key in file.values.get(table, {})
        if (*file.prefix, table, key) in file.lines
    }
    files = {name: _resolve_path(folder, value) for name, value in file_names.items()}
    values = {key: tuple(value) if key == "metrics" else value for key, value in defaults.items()}
    sections = {
        COLLECTION: _collection_options(file),
        TEST: _test_options(file),
        OUTPUT: _output_options(file),
    }
    return Settings(file.source, values, files, lines, sections, "rules" in file.values)


def _collection_options(file: TomlFile) -> dict[str, Any]:
    """The options of ``[collection]``, by parameter of commands."""
    if "collection" not in file.values:
        return {}
    from rankgate.data.collection import CANDIDATES, read_collection_table

    collection = read_collection_table(file)
    values = collection.stated()
    values.pop("judgments", None)  # an argument of each command
    items = values.pop("items", None)
    if items is not None:
        values |= items.stated()
        values["items"] = values.pop("table", None)
    if "predicted" in values:
        predicted = values.pop("predicted")
        values |= {"predicted": predicted.judgments, "predicted_saw": predicted.saw}
    if "grades" in values:
        values["grades"] = [f"{label}={grade}" for label, grade in values["grades"].items()]
    if isinstance(columns := values.get("columns"), Mapping):
        values["columns"] = ",".join(f"{role}={column}" for role, column in columns.items())
    if "candidates" in values:
        values[CANDIDATES] = values.pop("candidates")
    return {name: value for name, value in values.items() if value is not None}


def _test_options(file: TomlFile) -> dict[str, Any]:
    """The options of ``[test]``, by parameter of commands."""
    if "test" not in file.values:
        return {}
    from rankgate.core.declare import fields_of
    from rankgate.decisions.comparison.inference import Test, read_test_table

    declared = fields_of(Test)
    return {declared[name].name: value for name, value in read_test_table(file).items()}


def _output_options(file: TomlFile) -> dict[str, Any]:
    """The options of ``[output]``, by parameter of commands."""
    table = file.values.get("output", {})
    file.check_keys(table, ("format",), "output")
    if "format" not in table:
        return {}
    if table["format"] not in FORMS:
        raise file.error(f"format is one of {', '.join(FORMS)}.", "output", "format")
    return {"form": table["format"]}


def _resolve_path(folder: Path, value: str) -> str:
    """The path relative to the current folder; URLs stay unchanged."""
    return value if "://" in value else str(folder / value)


def _is_list_of_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(text, str) for text in values)
