"""The card of a document: the visible fields, with position, label and kind.

The card of a project is a text with one line for each field. Images of documents come from sites
that the project names, from a prefix for relative addresses, or from the document itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.store.material.projects import ProjectSettings

PLACES = ("title", "subtitle", "badge", "body")
"""Positions of a field on the card: the first line, below it, small and framed, or the text."""

KINDS = ("text", "html", "markdown", "image")
"""Kinds of fields: unchanged, formatted, or the address of an image."""

CARD_HELP = (
    "A field of documents a line, in order: name = title; price = badge: Price; text = html. Places: "
    f"{', '.join(PLACES)}; kinds: {', '.join(KINDS)}. After a colon comes the label. Left empty, the fields "
    "below are shown as text."
)

_DATA_IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=\s]+", re.ASCII)
_MAX_DATA = 2_000_000
"""The largest number of characters of an image within a document."""

_MAX_ADDRESS = 2_000


@dataclass(frozen=True)
class CardField:
    """A field on the card.

    Attributes:
        field: the name of the field in documents.
        position: a position of `PLACES`.
        kind: a kind of `KINDS`.
        label: the label for raters; if empty, the name of the field.
    """

    field: str
    position: str = "body"
    kind: str = "text"
    label: str = ""


def parse_card(text: str) -> list[CardField]:
    """Parse the text of a card.

    Raises:
        InputError: a line has another form; a word is not a position or a kind; a field appears
            twice.

    >>> parse_card("price = badge: Price in euros")[0].label
    'Price in euros'
    """
    card = [_parse_line(line) for line in text.splitlines() if line.strip()]
    names = [card_field.field for card_field in card]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"the field {name!r} has two lines.", code="invalid-value")
    return card


def _parse_line(line: str) -> CardField:
    name, equals, words_text = line.partition("=")
    card_words, _, label = words_text.partition(":")
    if not equals or not name.strip() or not card_words.strip():
        problem = f"{line.strip()[:80]!r} is not a line of a card; write name = title."
        raise InputError(problem, code="invalid-syntax")
    position, kind = "body", "text"
    for word in card_words.split():
        if word in PLACES:
            position = word
        elif word in KINDS:
            kind = word
        else:
            choices = ", ".join((*PLACES, *KINDS))
            problem = f"{word[:50]!r} in the line of {name.strip()[:50]!r} is not one of {choices}."
            raise InputError(problem, code="unknown-choice")
    return CardField(name.strip(), position, kind, label.strip())


def format_card(card: Sequence[CardField]) -> str:
    """The text of a card, in the form for `parse_card`."""
    lines = []
    for card_field in card:
        line_words = [
            *([card_field.position] if card_field.position != "body" else []),
            *([card_field.kind] if card_field.kind != "text" or card_field.position == "body" else []),
        ]
        label = f": {card_field.label}" if card_field.label else ""
        lines.append(f"{card_field.field} = {' '.join(line_words)}{label}")
    return "\n".join(lines)


def card_of(settings: ProjectSettings) -> list[CardField]:
    """The card of a project; empty if there is none."""
    return [CardField(**card_field) for card_field in settings.get("card") or ()]


def card_settings(card: Sequence[CardField]) -> list[dict[str, str]]:
    """The card in the form of the project's settings."""
    return [dict(vars(card_field)) for card_field in card]


def choose_fields(settings: ProjectSettings, names: Sequence[str]) -> list[CardField]:
    """The fields of a document to show, in order: by the card, by the list of fields, or all.

    Args:
        settings: the settings of the project.
        names: the names of the document's fields.
    """
    on_card = [card_field for card_field in card_of(settings) if card_field.field in names]
    if on_card:
        return on_card
    listed_names = [name for name in settings.get("fields") or () if name in names] or list(names)
    return [CardField(name, "title" if number == 0 else "body") for number, name in enumerate(listed_names)]


def origin_of(address: str) -> str | None:
    """The scheme, host and port of a web address; None for any other address.

    >>> origin_of("https://img.example.org:8443/a.png"), origin_of("data:image/png;base64,AA")
    ('https://img.example.org:8443', None)
    """
    try:
        parts = urlsplit(address)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return None
    host = parts.hostname or ""
    if parts.scheme not in {"http", "https"} or not re.fullmatch(r"[a-z0-9.-]+", host):
        return None
    return f"{parts.scheme}://{host}{port}"


def safe_link(address: str | None) -> str | None:
    """A web address that may be linked; None for scripts, files and other addresses.

    >>> safe_link("javascript:alert(1)"), safe_link("https://example.org/a")
    (None, 'https://example.org/a')
    """
    if not address or len(address) > _MAX_ADDRESS or not address.isprintable() or " " in address:
        return None
    return address if origin_of(address) else None


def image_origins(settings: ProjectSettings) -> tuple[str, ...]:
    """The origins from which a project shows images; empty by default, so no image is loaded."""
    addresses = [*(settings.get("images") or ()), settings.get("image_prefix") or ""]
    origins = (origin_of(address) for address in addresses)
    return tuple(dict.fromkeys(origin for origin in origins if origin))


def image_sources(settings: ProjectSettings) -> tuple[str, ...]:
    """Image sources allowed on a page of documents: the origins, and the documents."""
    return (*image_origins(settings), *(("data:",) if shows_own_images(settings) else ()))


def shows_own_images(settings: ProjectSettings) -> bool:
    """True if images within documents are shown, because a field of the card is not plain text."""
    return any(card_field.kind != "text" for card_field in card_of(settings))


@dataclass(frozen=True)
class ImageAddress:
    """The address of an image, shown on the page or only linked."""

    address: str
    is_shown: bool


def image_address(address: str | None, settings: ProjectSettings) -> ImageAddress | None:
    """The address of an image for a page; None if the image may neither be shown nor linked.

    Args:
        address: the address in the document: a web address, a path relative to the prefix, or
            ``data:``.
        settings: the settings of the project.
    """
    address = (address or "").strip()
    if address.startswith("data:"):
        is_image = len(address) <= _MAX_DATA and _DATA_IMAGE.fullmatch(address) is not None
        return ImageAddress(address, is_shown=True) if is_image and shows_own_images(settings) else None
    full_address = safe_link(address) or _join_prefix(address, settings)
    if full_address is None:
        return None
    return ImageAddress(full_address, is_shown=origin_of(full_address) in image_origins(settings))


def _join_prefix(address: str, settings: ProjectSettings) -> str | None:
    """A relative address joined to the project's prefix; None if the result leaves the prefix."""
    prefix = settings.get("image_prefix")
    if not prefix or not address or len(address) > _MAX_ADDRESS or not address.isprintable():
        return None
    if urlsplit(address).scheme or address.startswith(("//", "\\", "#")):
        return None
    joined = urljoin(prefix, address.lstrip("/").replace(" ", "%20"))
    return safe_link(joined) if joined.startswith(prefix) else None
