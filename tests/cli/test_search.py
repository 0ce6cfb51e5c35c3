"""``rankgate help``: what people type finds the command, option, metric, convention or page."""

import pytest

from support.command import assert_refused
from support.wording import assert_wording


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("rbo", "rankgate rank-similarity"),
        ("dashboard", "rankgate serve"),
        ("kappa", "rankgate agree"),
        ("clicks", "rankgate online judgments"),
        ("map", "  AP"),
        ("unjudged", "rankgate holes"),
        ("threshold", "rankgate cutoff"),
        ("drop-seen", "--drop-seen"),
        ("elasticsearch", "opensearch"),
        ("off-policy", "docs/off-policy.md"),
        ("trec_eval", "rankgate trec_eval"),
        ("heat", "plot heat"),
        ("topics", "rankgate plot"),
        ("latex", "--format"),
        ("paper", "rankgate compare"),
        ("wilcoxon", "--test"),
    ],
)
def test_a_word_finds_what_has_to_do_with_it(run, word, shown):
    result = run("help", word)
    assert result.code == 0
    assert shown in result.out


@pytest.mark.parametrize(("word", "first"), [("map", "  AP "), ("mrr", "  RR "), ("rag", "  trec-rag ")])
def test_the_best_match_comes_first_and_no_match_begins_inside_a_word(run, word, first):
    lines = run("help", word).out.splitlines()
    assert lines[1].startswith(first)
    assert not any("coverage" in line.lower() for line in lines)


def test_all_words_must_fit(run):
    assert "docs/online.md" in run("help", "click", "log").out
    assert_refused(run("help", "click", "xyzzy"), "not-found")


def test_without_a_word_every_command_has_a_line(run):
    from rankgate.interface.cli import COMMANDS

    lines = run("help").out.splitlines()
    assert {line.split()[0] for line in lines if line.startswith("  ")} >= set(COMMANDS)


def test_the_first_screen_names_every_command(run):
    from rankgate.interface.cli import COMMANDS, MOST_USED

    screen = run("--help").out
    assert len(screen.splitlines()) <= 45
    assert len(MOST_USED) == 12
    assert set(screen.replace(",", " ").split()) >= set(COMMANDS)


@pytest.mark.parametrize(("word", "command"), [("evaluate", "eval"), ("dashboard", "serve")])
def test_a_word_that_is_no_command_names_one(run, word, command):
    result = run(word)
    assert result.code == 2
    assert f"did you mean {command}?" in result.err


@pytest.mark.parametrize("group", ["online", "store", "baseline", "engines"])
def test_help_of_groups_is_not_cut(run, group):
    assert "..." not in run(group, "--help").out.partition("Commands:")[2]


def test_a_narrow_table_of_words_is_a_list():
    from rankgate.core.present.document_model import Grid
    from rankgate.core.present.text_tables import paragraph_table

    paragraph = "a paragraph that needs some room to be read"
    grid = Grid(("key", "takes", "meaning"), (("engine.page_size", "a whole number", paragraph),))
    lines = paragraph_table(grid, 50).splitlines()
    assert lines[0] == "engine.page_size (takes a whole number)"
    assert " ".join(line.strip() for line in lines[1:]) == paragraph
    assert lines[1].startswith("    a paragraph")
    assert paragraph_table(grid, 80).splitlines()[0].split() == ["key", "takes", "meaning"]


def test_one_of_many_choices_is_named_by_its_nearest(run, tmp_path):
    (tmp_path / "old.run").write_text("q Q0 d 1 1 r\n")
    misspelt, file_first = run("plot", "delta", "x"), run("plot", tmp_path / "old.run", "x")
    assert (misspelt.code, file_first.code) == (2, 2)
    assert_wording(misspelt.err)
    assert_wording(file_first.err)
    assert "scatter" not in misspelt.err + file_first.err
