"""Print the declared texts of every kind of result: headlines, leads, headings, paragraphs.

Reviewers read them as one list, beside the messages of errors in tests/wording.json.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rankgate.core.present.base_result import result_class
from rankgate.core.present.layout import (
    CrossView,
    FactList,
    FactTable,
    Group,
    Layout,
    LayoutPart,
    Sentence,
    Texts,
    View,
)
from rankgate.interface.kinds_of_results import CLASSES


def texts_of_layout(layout: Layout) -> Iterator[str]:
    """The texts of parts, in the order of reading."""
    for layout_part in layout:
        yield from filter(None, _texts(layout_part))


def _texts(layout_part: LayoutPart) -> Iterable[str]:
    match layout_part:
        case str():
            return (layout_part,)
        case Sentence():
            return (layout_part.text,)
        case View() | CrossView() | FactTable():
            return (layout_part.heading,)
        case FactList():
            return (layout_part.heading, *texts_of_layout([text for _, text in layout_part.facts]))
        case Group():
            return (layout_part.title, *texts_of_layout(layout_part.parts))
        case _:
            return ()


def _as_texts(texts: str | Texts) -> Texts:
    return (texts,) if isinstance(texts, str) else texts


def main() -> None:
    """Print a block of lines for each kind."""
    for kind in CLASSES:
        cls = result_class(kind)
        lines = texts_of_layout((*_as_texts(cls.headline_text), *cls.lead, *cls.layout))
        print("\n  ".join((f"{kind}:", *lines)))


if __name__ == "__main__":
    main()
