"""The screen of a rater: long fields are shown page by page, and ids are not broken."""

from rankgate.judging.rating_session import Screen, count_pages, render

WORDS = [f"word{number}" for number in range(700)]


def screen(**document):
    return Screen("q1", "d1", {"text": "red shoes"}, document, 0, 1, {"0": (0.0, "poor"), "1": (1.0, "good")})


def field(text, name):
    """The lines of a field without blanks, and without the signs of what is left out."""
    lines = text.partition(f"{name}: ")[2].partition("\n\n")[0]
    return "".join(lines.replace("[…]", "").split())


def test_pages_show_every_character_of_a_long_field_once():
    long_document = screen(title="shoes", text=" ".join(WORDS))
    count = count_pages(long_document)
    assert count == -(-len(" ".join(WORDS)) // 1500)
    pages = [render(long_document, 80, page) for page in range(count)]
    assert "".join(field(page, "text") for page in pages) == "".join(WORDS)
    assert all("title: shoes\n" in page for page in pages), "a short field stays"
    assert [page.count("[…]") for page in pages] == [1, *[2] * (count - 2), 1]
    assert all(f"part {number} of {count}" in " ".join(page.split()) for number, page in enumerate(pages, 1))
    assert render(long_document, 80, count) == pages[0]
    assert max(map(len, "\n".join(pages).splitlines())) <= 80


def test_a_short_document_has_one_page():
    text = render(screen(text="red"))
    assert count_pages(screen()) == count_pages(screen(text="a" * 1500)) == 1
    assert count_pages(screen(text="a" * 1501)) == 2
    assert field(text, "text") == "red"
    assert "space more" not in text


def test_ids_with_hyphens_stay_on_one_line():
    doc_id = "-".join(["part"] * 8)
    assert doc_id in render(screen(text=f"{'a' * 30} {doc_id}"), 60)
