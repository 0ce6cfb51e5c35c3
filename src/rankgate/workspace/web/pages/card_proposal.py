"""Propose the card of documents from the values of their fields: titles, tags, images and links.

A field of HTML would be shown with its tags, and the address of an image as text, until a manager
writes a card. The proposal is a card in its usual text, which the manager keeps or changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.workspace.web.pages.document_card import CardField, format_card, origin_of, safe_link

if TYPE_CHECKING:
    from rankgate.store.material.projects import ProjectSettings

_HTML = re.compile(r"<(?:a|b|br|div|em|h[1-6]|i|img|li|ol|p|span|strong|table|ul)\b[^<>]*>", re.IGNORECASE)
_MARKDOWN = re.compile(r"^#{1,6} \S|\*\*\S[^*]*\*\*|\[[^\]]+\]\(https?://|^[-*] \S.*\n[-*] \S", re.MULTILINE)
_IMAGE = re.compile(r"\.(?:png|jpe?g|gif|webp|avif|svg)(?:[?#].*)?$|^data:image/", re.IGNORECASE)
_IMAGE_SOURCE = re.compile(r"<img\b[^<>]*?\bsrc=[\"']?(https?://[^\"'\s>]+)", re.IGNORECASE)
_IMAGE_NAME = re.compile(r"image|img|picture|photo|thumb", re.IGNORECASE)
_TITLE_NAME = re.compile(r"title|name|headline|subject", re.IGNORECASE)
_OWN_COLUMNS = ("url", "image")
"""Fields that documents keep as their own link and image."""

_BADGE_LENGTH = 24
"""The largest number of characters of every value of a field that is shown in a frame."""


@dataclass(frozen=True)
class CardProposal:
    """A card for documents, proposed from their fields.

    Attributes:
        card: the text of the card; empty if the fields are best shown as they are.
        images: the sites that images come from.
        links: the fields with addresses of pages, which a field named url would open.
    """

    card: str
    images: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


def propose_card(documents: Sequence[Mapping[str, object]]) -> CardProposal:
    r"""The card that the fields of documents suggest.

    A kind needs most of the values of a field: HTML by its tags, an image by its address, Markdown
    by its marks. The title is the field with such a name, else the first text; short texts become
    badges.

    Args:
        documents: the fields of some documents, by name.

    >>> print(propose_card([{"name": "bike", "text": "<p>A <b>red</b> bike</p>", "size": "M"}]).card)
    name = title
    text = html
    size = badge
    """
    values: dict[str, list[str]] = {}
    for fields in documents:
        for name, value in fields.items():
            if value not in (None, ""):
                values.setdefault(name, []).append(str(value))
    kinds = {name: _find_kind(name, texts) for name, texts in values.items()}
    images = [address for name in kinds if kinds[name] == "image" for address in values[name]]
    images += [
        address for texts in values.values() for text in texts for address in _IMAGE_SOURCE.findall(text)
    ]
    shown_names = [name for name in values if name not in _OWN_COLUMNS and kinds[name] != "link"]
    texts = [name for name in shown_names if kinds[name] == "text"]
    title = next((name for name in texts if _TITLE_NAME.search(name)), texts[0] if texts else "")
    card = [
        CardField(name, _position(name == title, kinds[name], values[name]), kinds[name])
        for name in shown_names
    ]
    is_plain = all(kind == "text" for kind in kinds.values())
    return CardProposal(
        "" if is_plain else format_card(sorted(card, key=lambda card_field: card_field.position != "title")),
        tuple(dict.fromkeys(filter(None, map(origin_of, images)))),
        tuple(name for name, kind in kinds.items() if kind == "link" and name not in _OWN_COLUMNS),
    )


def _find_kind(name: str, texts: Sequence[str]) -> str:
    """The kind of a field: a kind of a card, or a link to a page."""
    tests = (
        ("image", lambda text: _IMAGE.search(text) or (_IMAGE_NAME.search(name) and safe_link(text))),
        ("link", safe_link),
        ("html", _HTML.search),
        ("markdown", _MARKDOWN.search),
    )
    kinds = (kind for kind, test in tests if sum(bool(test(text)) for text in texts) * 2 > len(texts))
    return next(kinds, "text")


def _position(is_title: bool, kind: str, texts: Sequence[str]) -> str:  # noqa: FBT001 - of one caller
    if is_title:
        return "title"
    return "badge" if kind == "text" and all(len(text) <= _BADGE_LENGTH for text in texts) else "body"


def with_proposal(settings: ProjectSettings, proposal: CardProposal) -> dict[str, str]:
    """The values of the form of the fields for raters, with a proposed card and its sites of images."""
    images = dict.fromkeys([*(settings.get("images") or ()), *proposal.images])
    return {
        "fields": " ".join(settings.get("fields") or ()),
        "images": " ".join(images),
        "card": proposal.card,
        "image_prefix": settings.get("image_prefix") or "",
        "language": settings.get("language") or "",
    }
