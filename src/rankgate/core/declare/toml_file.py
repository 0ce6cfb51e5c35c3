"""A TOML file, with errors that name the line of the key."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.core.declare.parameter import Parameter


_TABLE = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"^\s*\"?([A-Za-z0-9_.-]+)\"?\s*=")
_LONG_TEXT = re.compile(r"\"{3}.*?\"{3}|'{3}.*?'{3}", re.DOTALL)


@dataclass(frozen=True)
class TomlFile:
    """The values of a TOML file, and their lines.

    Attributes:
        values: the table that is read, below the prefix.
        source: the file, for errors.
        lines: the line of each key and table by its path, from 1.
        prefix: the path of the table that is read, as ``("tool", "rankgate")``.
        code: the code of errors about its values.
    """

    values: Mapping[str, Any]
    source: str
    lines: Mapping[tuple[str, ...], int]
    prefix: tuple[str, ...] = ()
    code: str = "invalid-toml"

    @classmethod
    def read(cls, path: str | Path, prefix: tuple[str, ...] = (), *, code: str = "") -> TomlFile:
        """Read a file; `code` is the code of errors about its values.

        Raises:
            InputError: The file cannot be read, or is not TOML.
        """
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except OSError as error:
            problem = f"cannot be read: {error.strerror}."
            raise InputError(problem, source=str(path), code="cannot-read") from None
        except UnicodeDecodeError as error:
            raise InputError(f"not TOML: {error}.", source=str(path), code="invalid-toml") from None
        return cls.parse(text, str(path), prefix, code=code)

    @classmethod
    def parse(cls, text: str, source: str, prefix: tuple[str, ...] = (), *, code: str = "") -> TomlFile:
        """Read a text.

        Raises:
            InputError: It is not TOML; with the line.
        """
        try:
            values: Any = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            reason, _, location = str(error).partition(" (at line ")
            line = int(location.split(",")[0]) if location[:1].isdigit() else None
            problem = f"not TOML: {reason}."
            raise InputError(problem, source=source, line=line, code="invalid-toml") from None
        for key in prefix:
            values = values.get(key, {})
        return cls(values, source, find_key_lines(text), prefix, code or cls.code)

    def error(self, problem: str, *key: str, code: str = "") -> InputError:
        """Return an error with the line of a key, or of the nearest table above it."""
        path = (*self.prefix, *key)
        while path and path not in self.lines:
            path = path[:-1]
        return InputError(problem, source=self.source, line=self.lines.get(path), code=code or self.code)

    def check_keys(self, values: Any, allowed: Iterable[str], *key: str) -> None:
        """Check that a table has only known keys.

        Raises:
            InputError: The value is not a table, or has an unknown key.
        """
        if not isinstance(values, dict):
            raise self.error(f"[{'.'.join(key)}] is a table.", *key)
        for name in values:
            if name not in (names := sorted(allowed)):
                matches = get_close_matches(name, names, 1)
                hint = f"did you mean {matches[0]}?" if matches else f"known: {', '.join(names) or 'none'}."
                problem = f"unknown key {name!r}; {hint}"
                raise self.error(problem, *key, name)

    def read_values(self, values: Any, parameters: Iterable[Parameter], *key: str) -> dict[str, Any]:
        """Return the value of each parameter: the checked value of a table, or the default.

        Raises:
            InputError: A key is unknown, a value does not fit, or a required value is missing.
        """
        declared = {parameter.name: parameter for parameter in parameters}
        self.check_keys(values, declared, *key)
        values_by_name = {}
        for name, parameter in declared.items():
            if name in values:
                values_by_name[name] = self._value(values[name], parameter, *key)
            elif parameter.required:
                raise self.error(f"{name} is missing: {parameter.help}.", *key)
            else:
                values_by_name[name] = parameter.default
        return values_by_name

    def _value(self, value: object, parameter: Parameter, *key: str) -> Any:
        try:
            return parameter.read(value)
        except ValueError as error:
            raise self.error(f"{parameter.name} = {value!r} {error}", *key, parameter.name) from None


def find_key_lines(text: str) -> dict[tuple[str, ...], int]:
    r"""Return the line of each key and table: ``("rules", "1", "margin")`` of the second one.

    >>> find_key_lines("[gate]\nalpha = 0.1\n[[rules]]\nid = 'a'\n")[("rules", "0", "id")]
    4
    """
    line_of_key: dict[tuple[str, ...], int] = {}
    counts: dict[str, int] = {}
    prefix: tuple[str, ...] = ()
    # lines inside a long text may look like keys
    text = _LONG_TEXT.sub(lambda long_text: "\n" * long_text[0].count("\n"), text)
    for number, line in enumerate(text.split("\n"), 1):
        if table := _TABLE.match(line):
            name = table[2]
            prefix = tuple(key_part.strip().strip('"') for key_part in name.split("."))
            if table[1] == "[[":
                index = counts.get(name, -1) + 1
                counts[name] = index
                prefix = (*prefix, str(index))
            line_of_key.setdefault(prefix, number)
        elif key := _KEY.match(line):
            line_of_key.setdefault((*prefix, *key[1].split(".")), number)
    return line_of_key


def write_table(name: str, values: Mapping[str, Any]) -> str:
    r"""Write one table of an array of tables; None values are left out.

    >>> write_table("rules", {"id": "fall", "drop": 0.03, "slice": None})
    '[[rules]]\nid = "fall"\ndrop = 0.03\n'
    """
    lines = [
        f"{key} = {json.dumps(value, ensure_ascii=False)}"
        for key, value in values.items()
        if value is not None
    ]
    return "\n".join([f"[[{name}]]", *lines, ""])
