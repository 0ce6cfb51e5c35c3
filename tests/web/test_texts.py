"""Texts of raters' pages: every language has every key, and the pages use them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rankgate.workspace.web import texts
from rankgate.workspace.web.pages.task_view import REASONS
from rankgate.workspace.web.texts import choose_texts, read_languages
from support.serving import Visitor

WEB = Path(texts.__file__).parent
FILES = sorted((WEB / "languages").glob("*.json"))
ENGLISH = json.loads((WEB / "languages" / "en.json").read_text("utf-8"))


def placeholders(text):
    return sorted(re.findall(r"\{(\w*)\}", text))


def test_there_are_eight_languages():
    codes = {"de", "en", "es", "fr", "hi", "ja", "pt", "zh"}
    assert codes <= set(read_languages())
    assert next(iter(read_languages())) == "en"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_language_has_every_text_with_its_values(file):
    content = json.loads(file.read_text("utf-8"))
    assert set(content) == {"language", "direction", "texts"}
    assert content["direction"] in {"ltr", "rtl"}
    assert content["texts"].keys() == ENGLISH["texts"].keys()
    for key, text in content["texts"].items():
        assert text == text.strip() != "", key
        assert placeholders(text) == placeholders(ENGLISH["texts"][key]), key
        assert text.count("{") == text.count("}") == len(placeholders(text)), key


def test_every_text_is_used_and_every_use_has_a_text():
    """Keys of templates and of the script; those that are put together are listed here."""
    used = set()
    for file in (WEB / "templates").glob("*.html"):
        template = file.read_text("utf-8")
        for call in re.findall(r"\bt\(([^()]*)", template):
            used |= set(re.findall(r'"([a-z_]+\.[a-z_]+)"', call))
    page = (WEB / "templates" / "rate.html").read_text("utf-8")
    used |= {f"help.{name}" for name in re.findall(r'\("[^"]+", "([a-z]+)"\)', page)}
    script = (WEB / "static" / "rate.js").read_text("utf-8")
    used |= {f"script.{key}" for key in re.findall(r'\btext\("(\w+)"', script)}
    used |= {f"reason.{reason.replace(' ', '_')}" for reason, _ in REASONS}
    used |= {f"rate.{choice}" for choice in ("left", "right", "equal")}
    used |= {f"menu.{name}" for name in ("rate", "history", "discussion", "comments")}
    assert used == ENGLISH["texts"].keys()


def test_english_reasons_are_those_of_programs():
    for reason, label in REASONS:
        assert ENGLISH["texts"][f"reason.{reason.replace(' ', '_')}"] == label


@pytest.mark.parametrize(
    ("chosen", "accepted", "code"),
    [
        (None, "", "en"),
        (None, "pt-BR,pt;q=0.9,en;q=0.8", "pt"),
        (None, "en;q=0.5, zh-TW", "zh"),
        (None, "xx, de;q=wrong, ja", "ja"),
        ("hi", "de", "hi"),
        ("../../etc/passwd", "de", "de"),
    ],
)
def test_the_language_is_chosen_or_the_browser_s(chosen, accepted, code):
    assert choose_texts(chosen, accepted).code == code


def test_a_missing_text_is_english():
    half = texts.Texts("xx", "Half", "rtl", {"rate.query": "Q"})
    assert (half("rate.query"), half("rate.later")) == ("Q", "Later")
    assert half.menu_label("Rate") == "Rate"


def test_raters_read_their_language(team):
    rater = team.visitor("rater")
    html = rater.get("/projects/shop/rate", headers={"accept-language": "fr"}).data.decode()
    assert '<html lang="fr" dir="ltr">' in html
    assert "Dans quelle mesure le document répond-il à la requête ?" in html
    chosen = rater.send("/language", "/account", language="de", next="/projects/shop/rate")
    assert (chosen.status, chosen.headers["location"]) == (303, "/projects/shop/rate")
    html = rater.get("/projects/shop/rate", headers={"accept-language": "fr"}).data.decode()
    assert "Wie gut beantwortet das Dokument die Suchanfrage?" in html
    assert ">Ihre Bewertungen</a>" in html
    assert "Keine Verbindung." in html
    assert ">Deutsch</button>" in html
    task = rater.get("/projects/shop/rate.json").json()["task"]["id"]
    answer = rater.ask(
        "POST",
        "/projects/shop/ratings/later",
        json={"task": task},
        headers={"x-csrf-token": rater.csrf("/account"), "x-fragment": "1"},
    )
    assert "Suchanfrage" in answer.json()["html"]
    assert "Die letzte zuerst." in rater.get("/projects/shop/history").data.decode()
    assert '<html lang="en"' in rater.get("/projects/shop/comments").data.decode()
    assert rater.send("/language", "/account", language="tlh").status == 400


def test_who_is_not_signed_in_chooses_too(team):
    visitor = Visitor(team.address)
    answer = visitor.send("/language", "/sign-in", language="ja", next="//evil.example")
    assert answer.headers["location"] == "/projects"
    assert "<h1>ログイン</h1>" in visitor.get("/sign-in").data.decode()
