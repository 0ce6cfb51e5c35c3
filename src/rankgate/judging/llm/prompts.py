"""Prompt templates and the messages made of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass

_SYSTEM, _USER = "[system]", "[user]"
_TAG = re.compile(r"</?\s*([a-z][\w.-]*)\s*>", re.IGNORECASE)
_PLACE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_REQUIRED_SOURCES = ("query", "document")
_ALL_SOURCES = (*_REQUIRED_SOURCES, "grades")


@dataclass(frozen=True)
class Prompt:
    """The messages of one request.

    Attributes:
        system: what the model is; may be empty.
        user: what it is asked.
    """

    system: str
    user: str


@dataclass(frozen=True)
class Template:
    """The text of a prompt with placeholders for the query and the document.

    A place is written ``{{query}}`` or ``{{document}}`` (all that is known of it),
    ``{{document.title}}`` (one field) or ``{{grades}}`` (the scale, a grade a line). What is put
    into a place is never looked through for places itself. Tags that the template uses, such as
    ``<document>``, lose their ``<`` in what is put in: a document cannot close the part it is in.

    Attributes:
        name: what to call it.
        system: the words above the line ``[user]``, under the line ``[system]``.
        user: those under ``[user]``; all words where no such line is.
    """

    name: str
    system: str
    user: str

    @property
    def sha256(self) -> str:
        """The hash of both texts."""
        return hashlib.sha256(f"{self.system}\x1f{self.user}".encode()).hexdigest()

    def filled(
        self,
        query: Mapping[str, str],
        document: Mapping[str, str],
        grades: Mapping[float, str] | None = None,
    ) -> Prompt:
        """The prompt for one pair; a field that the pair lacks is empty.

        Args:
            query: what is known of the query, by name.
            document: the same of the document.
            grades: the scale: each grade with its label.
        """
        tags = {match[1] for match in _TAG.finditer(f"{self.system}\n{self.user}")}
        fields_of_source = {
            "query": _without_tags(query, tags),
            "document": _without_tags(document, tags),
        }
        scale = "\n".join(
            f"{grade:g}" if label == f"{grade:g}" else f"{grade:g}  {label}"
            for grade, label in (grades or {}).items()
        )

        def put(match: re.Match[str]) -> str:
            source, _, field = match[1].partition(".")
            if source == "grades":
                return scale
            return (
                fields_of_source[source].get(field, "")
                if field
                else _fields_text(fields_of_source[source])
            )

        return Prompt(_PLACE.sub(put, self.system), _PLACE.sub(put, self.user))

    @classmethod
    def parse(cls, text: str, name: str = "template") -> Template:
        """Read a template.

        Raises:
            InputError: a place that names nothing, or none for the query or the document; with
                the line.
        """
        parts: dict[str, list[str]] = {_SYSTEM: [], _USER: []}
        current, headings = _USER, set[str]()
        for number, line in enumerate(text.splitlines(), 1):
            _refuse_unknown_places(line, name, number)
            heading = line.strip()
            if heading not in parts:
                parts[current].append(line)
                continue
            if heading in headings or (heading == _SYSTEM and "".join(parts[_USER]).strip()):
                problem = f"{heading} is repeated or too late; [system] comes first, then [user]."
                raise InputError(problem, source=name, line=number, code="invalid-template")
            headings.add(heading)
            current = heading
        system, user = ("\n".join(lines).strip() for lines in parts.values())
        placeholders = {
            match[1].partition(".")[0] for match in _PLACE.finditer(f"{system}\n{user}")
        }
        for needed in _REQUIRED_SOURCES:
            if needed not in placeholders:
                problem = f"no place for the {needed}; write {{{{{needed}}}}} where it belongs."
                raise InputError(problem, source=name, code="invalid-template")
        if not user:
            raise InputError(
                "nothing is under [user]; put the question there.",
                source=name,
                code="invalid-template",
            )
        return cls(name, system, user)


def _refuse_unknown_places(line: str, name: str, number: int) -> None:
    for match in _PLACE.finditer(line):
        source, dot, field = match[1].partition(".")
        is_known = bool(field) and source in _REQUIRED_SOURCES if dot else source in _ALL_SOURCES
        if not is_known:
            problem = (
                f"{match[0]} names nothing; known are {{{{query}}}}, {{{{document}}}}, one of "
                "their fields, as in {{document.title}}, and {{grades}}."
            )
            raise InputError(problem, source=name, line=number, code="invalid-template")


def _without_tags(fields: Mapping[str, str], tags: set[str]) -> Mapping[str, str]:
    """The fields with ``&lt;`` where one of the template's tags would begin or end."""
    if not tags:
        return fields
    names = "|".join(sorted(map(re.escape, tags)))
    begins = re.compile(rf"<(?=\s*/?\s*(?:{names})\b)", re.IGNORECASE)
    return {name: begins.sub("&lt;", text) for name, text in fields.items()}


def _fields_text(fields: Mapping[str, str]) -> str:
    """One field as it is; several with their names."""
    if len(fields) == 1:
        return next(iter(fields.values()))
    return "\n".join(f"{name}: {value}" for name, value in fields.items())
