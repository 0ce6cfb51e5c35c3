"""Secrets from the environment, and templates of requests.

Secrets come from the environment, and are sent only to the engine. In templates of requests, names
in double braces, and ${NAME}, represent values.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache, lru_cache
from html.entities import html5
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakSet

from rankgate.core.errors import UsageError

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject


VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""An environment variable in a text of an engine's file."""

_SHORTEST = 4  # shorter values are also parts of ordinary words
_LONGEST_MESSAGE = 300
_BACKSLASHES = r"\\{0,7}"
_BASE64 = frozenset("%\\ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=")
_HEX_SEPARATOR = r"[\s:,;_-]{0,3}(?:0x|\\{1,8}x)?"
_ALTERNATIVES = {"+": "-", "/": "_"}  # of base64 for URLs
T = TypeVar("T")


class Secrets:
    """The secrets of one connection; removes them from the texts of its server.

    A value is found in plain text, encoded for URLs, JSON, HTML or Python, in any mix of these, in
    hexadecimal digits with or without separators, and in base64 without line breaks, also as a part
    of the encoded text, such as the password of ``Authorization: Basic``.

    Args:
        hidden: the text in place of a secret.
    """

    def __init__(self, hidden: str = "[secret]") -> None:
        self._hidden = hidden
        self._patterns: dict[str, tuple[re.Pattern[str], re.Pattern[str]]] = {}
        with _LOCK:
            _ACTIVE_SECRETS.add(self)

    @classmethod
    def named_in(cls, *declarations: object) -> Self:
        """The values of all variables that declarations name in any text, and secrets as plain text.

        Args:
            declarations: dataclasses, such as an engine; None is skipped.
        """
        secrets = cls()
        for text in _texts(declarations):
            for name in VARIABLE.findall(text):
                secrets.add(os.environ.get(name, ""))
        secrets._add_plain_text(declarations)
        return secrets

    @classmethod
    def in_plain_text(cls, *declarations: object) -> Self:
        """The secrets that declarations hold as plain text, without the values of variables."""
        secrets = cls()
        secrets._add_plain_text(declarations)
        return secrets

    def _add_plain_text(self, declarations: Iterable[object]) -> None:
        for _, value in plain_text_secrets(*declarations):
            scheme, _, credentials = value.partition(" ")
            self.add(credentials.strip() or value)
            if scheme.lower() == "basic":
                pair = base64.b64decode(credentials + "==").decode(errors="surrogateescape")
                self.add(pair.partition(":")[2])

    def add(self, value: str) -> None:
        """Add a value to hide."""
        if len(value) >= _SHORTEST:
            self._patterns[value] = _patterns(value)

    def resolved(self, text: str) -> str:
        """The text with the values of its variables, which are added to the secrets.

        Raises:
            UsageError: a variable that is not set.
        """
        return VARIABLE.sub(lambda match: self.variable(match[1]), text)

    def variable(self, name: str) -> str:
        """The value of an environment variable, which is added to the secrets.

        Raises:
            UsageError: it is not set.
        """
        value = os.environ.get(name, "")
        if not value:
            raise UsageError(
                f"the environment variable {name} is not set; the engine's file names it.",
                code="missing-secret",
            )
        self.add(value)
        return value

    def scrubbed(self, value: T) -> T:
        """A text, a dataclass of texts, or JSON, without any secret in any form."""
        return self._scrubbed(value) if self._patterns else value

    def message(self, text: str) -> str:
        """The message in a form that may be shown and stored: scrubbed, in one line, shortened."""
        line = " ".join(self.scrubbed(text).split())
        return line if len(line) <= _LONGEST_MESSAGE else line[:_LONGEST_MESSAGE] + "…"

    def _scrubbed(self, value: object) -> Any:
        if isinstance(value, str):
            return self._scrubbed_text(value)
        if isinstance(value, Mapping):
            return {self._scrubbed(key): self._scrubbed(nested) for key, nested in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._scrubbed(nested) for nested in value)
        if is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in fields(value)]
            return replace(value, **{name: self._scrubbed(getattr(value, name)) for name in names})
        return value

    def _scrubbed_text(self, text: str) -> str:
        for value in sorted(self._patterns, key=len, reverse=True):
            plain, encoded = self._patterns[value]
            text = self._without_tokens(plain.sub(self._hidden, text), encoded)
        return text

    def _without_tokens(self, text: str, pattern: re.Pattern[str]) -> str:
        """The text without the whole tokens of base64 around matches."""
        text_parts, end = [], 0
        for match in pattern.finditer(text):
            if match.start() < end:
                continue
            start, stop = match.span()
            while start > end and text[start - 1] in _BASE64:
                start -= 1
            while stop < len(text) and text[stop] in _BASE64:
                stop += 1
            text_parts += [text[end:start], self._hidden]
            end = stop
        return "".join([*text_parts, text[end:]])

    def variables(self, *templates: Any) -> dict[str, str]:
        """The values of all environment variables that templates name.

        Raises:
            UsageError: a variable that is not set.
        """
        names = [name for text in _texts(templates) for name in VARIABLE.findall(text)]
        return {name: self.variable(name) for name in names}


_SECRET_NAMES = {
    "headers": re.compile("auth|cookie|key|pass|secret|token", re.IGNORECASE),
    "params": re.compile(
        r"(?:^|[_-])(?:auth|key|pass|passwd|password|pwd|secret|sig|signature|token)(?:$|[_-])|apikey",
        re.IGNORECASE,
    ),
}
"""Names of secrets in tables of an engine; a parameter of a URL may be a tokenizer or a keyword."""

_DSN_PASSWORD = re.compile(
    r"(?:^|[\s?&])password\s*=\s*(?:'((?:[^'\\]|\\.)*)'|([^\s&]+))|://[^:/@\s]*:([^@/\s]*)@"
)


def secret_settings(*declarations: object) -> Iterator[tuple[str, str]]:
    """The settings of declarations that are secrets, with their names.

    These are fields that are declared secret, headers and parameters of a URL with names such as
    Authorization or api_key, and the password of a connection string.

    Args:
        declarations: dataclasses, such as an engine; None is skipped.
    """
    for declaration in declarations:
        for field in fields(declaration) if is_dataclass(declaration) else ():
            value = getattr(declaration, field.name)
            if value and field.metadata.get("secret"):
                yield field.name, str(value)
            pattern = _SECRET_NAMES.get(field.name)
            for name, text in value.items() if isinstance(value, Mapping) else ():
                if pattern is not None and isinstance(text, str) and pattern.search(str(name)):
                    yield f"{field.name}: {name}", text
                    for parameter in template_names(text):
                        parameter_value = getattr(declaration, "parameters", {}).get(parameter, "")
                        yield f"parameters: {parameter}", str(parameter_value)
            if field.name == "dsn" and (password := _DSN_PASSWORD.search(value)):
                yield "dsn", next(text for text in password.groups() if text is not None)


def plain_text_secrets(*declarations: object) -> Iterator[tuple[str, str]]:
    """The secret settings that hold no variable, with their names."""
    for name, value in secret_settings(*declarations):
        if value and not _NAME_OR_VARIABLE.search(value):
            yield name, value


def resolve_table(table: JsonObject, secrets: Secrets) -> dict[str, str]:
    """A table of texts, such as headers, with the values of variables.

    Raises:
        UsageError: a variable that is not set; a value that a header cannot hold.
    """
    resolved = {name: secrets.resolved(str(value)) for name, value in table.items()}
    for name, value in resolved.items():
        if not value.isascii() or not value.isprintable():
            raise UsageError(
                f"the value of {name} holds characters that a header cannot contain; set it again.",
                code="invalid-key",
            )
    return resolved


@lru_cache(64)
def _patterns(value: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The patterns of a secret as a text, and within base64."""
    digits = _HEX_SEPARATOR.join(f"{octet:02x}" for octet in _octets(value))
    first_letters = rf"(?=[{value[0]}%&\\0{digits[0]}])" if _is_plain(value[0]) else ""  # fails fast
    text_pattern = "".join(map(_any_form, value))
    plain = re.compile(rf"{first_letters}(?:{text_pattern}|(?i:(?:0x|\\x)?{digits}))")
    base64_patterns = ("".join(map(_letter_or_any_form, base64_text)) for base64_text in _inner_base64(value))
    return plain, re.compile("|".join(base64_patterns))


def _is_plain(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _any_form(character: str) -> str:
    """A pattern of a character that may be encoded for URLs, JSON, HTML or Python."""
    return f"(?:{'|'.join(_forms(character))})"


def _letter_or_any_form(character: str) -> str:
    """A pattern of a character of base64; its letters are encoded in JSON only."""
    if _is_plain(character):
        return rf"(?:{character}|\\{_BACKSLASHES}(?i:u{ord(character):04x}))"
    return _any_form(character)


def _forms(character: str) -> Iterator[str]:
    backslashes = "" if _is_plain(character) else _BACKSLASHES  # one in JSON and Python, more in nested JSON
    yield backslashes + re.escape(character)
    if character in _ALTERNATIVES:
        yield _ALTERNATIVES[character]
    code, units = ord(character), character.encode("utf-16-be", errors="surrogatepass").hex()
    encoded_forms = [
        "".join(f"%(?:25){{0,3}}{octet:02x}" for octet in _octets(character)),
        "".join(rf"\\{_BACKSLASHES}u{units[i : i + 4]}" for i in range(0, len(units), 4)),
        "".join(rf"\\{_BACKSLASHES}x{octet:02x}" for octet in _octets(character)),
        rf"\\{_BACKSLASHES}(?:x{code:02x}|U{code:08x})",
        rf"&(?:amp;){{0,3}}\#(?:0{{0,6}}{code}|x0{{0,6}}{code:x});",
    ]
    yield rf"(?=[%&\\])(?i:{'|'.join(encoded_forms)})"
    if character == " ":
        yield r"\+"
    for name in _entity_names().get(character, ()):
        yield f"&(?:amp;){{0,3}}{name}"
    if (escaped_text := repr(character)[1:-1]) != character:
        yield _BACKSLASHES + re.escape(escaped_text)


@cache
def _entity_names() -> dict[str, list[str]]:
    """The names of HTML entities by character, such as ``amp;``."""
    names: dict[str, list[str]] = {}
    for name, character in html5.items():
        if name.endswith(";"):
            names.setdefault(character, []).append(name)
    return names


def _inner_base64(value: str) -> Iterator[str]:
    """The characters of base64 that encode a value at each of its three possible offsets."""
    octets = _octets(value)
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + octets).decode()
        first = -(-offset * 8 // 6)
        last = (offset + len(octets)) * 8 // 6
        yield text[first:last]


def _texts(value: object) -> Iterator[str]:
    """All texts in a value, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple):
        for nested in value:
            yield from _texts(nested)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _texts([getattr(value, field.name) for field in fields(value)])


def _octets(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


_ACTIVE_SECRETS: WeakSet[Secrets] = WeakSet()
_LOCK = Lock()


def _scrub_record(record: logging.LogRecord) -> bool:
    """Scrub records of the HTTP client, as their addresses may hold a secret."""
    text = record.getMessage()
    with _LOCK:
        live = list(_ACTIVE_SECRETS)
    for secrets in live:
        text = secrets.scrubbed(text)
    record.msg, record.args = text, ()
    return True


logging.getLogger("urllib3.connectionpool").addFilter(_scrub_record)


_NONE: Mapping[str, str] = MappingProxyType({})
_NAME = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_NAME_OR_VARIABLE = re.compile(f"{_NAME.pattern}|{VARIABLE.pattern}")


def fill(template: object, values: JsonObject, variables: Mapping[str, str] = _NONE) -> Any:
    """The template with values in place of names and of environment variables.

    A text that is one name and nothing else becomes the value with its type; in a longer text
    the value is inserted as text, a list or an object as JSON text. Values are put into the
    structure, never into JSON text, so that no query can change the request. The value of a variable
    cannot do so either: all values are inserted in one step.

    Args:
        template: texts, lists and tables.
        values: the values by the names in double braces.
        variables: the values by the names of environment variables; other texts stay unchanged.

    >>> fill({"size": "{{depth}}", "q": "title:{{query}}"}, {"depth": 10, "query": 'a"b'})
    {'size': 10, 'q': 'title:a"b'}

    Raises:
        KeyError: a name without a value.
    """
    if isinstance(template, Mapping):
        return {key: fill(value, values, variables) for key, value in template.items()}
    if isinstance(template, list):
        return [fill(value, values, variables) for value in template]
    if not isinstance(template, str):
        return template
    if whole_match := _NAME.fullmatch(template):
        return values[whole_match[1]]
    return _NAME_OR_VARIABLE.sub(
        lambda match: value_text(values[match[1]]) if match[1] else variables.get(match[2], match[0]),
        template,
    )


def value_text(value: Json) -> str:
    """The text of a value in a longer text; a list or an object as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)


def template_names(template: object) -> Iterator[str]:
    """The names that a template uses."""
    if isinstance(template, Mapping):
        for value in template.values():
            yield from template_names(value)
    elif isinstance(template, list):
        for value in template:
            yield from template_names(value)
    elif isinstance(template, str):
        yield from _NAME.findall(template)
