"""Rules that count: documents of single queries, states; what a saved baseline must hold."""

import pytest

from rankgate.errors import UsageError
from rankgate.gate.policy import parsed
from rankgate.services import baseline
from rankgate.services.conventions import chosen_convention
from rankgate.services.gate import gate

QRELS = {f"q{i:02}": {"good": 1, "bad": 0} for i in range(12)}
LONG = {
    query: {"good": 9.0, "bad": 8.0, **{f"d{i}": 7 - i / 10 for i in range(12)}} for query in QRELS
}


def ended(rule, candidate=LONG, head=""):
    """How one rule ended."""
    policy = parsed(f"[gate]\nholes = 'ignore'\n{head}\n[[rules]]\n{rule}", "policy")
    return gate(QRELS, LONG, candidate, policy).rules[0].outcome


def order(above, below):
    return f'kind = "order"\nquery = "q03"\nabove = "{above}"\nbelow = "{below}"'


def test_what_stands_above_passes_and_what_does_not_fails():
    assert ended(order("good", "bad")).status == "pass"
    told = ended(order("bad", "good"))
    assert (told.status, told.next) == (
        "fail", "look at it side by side (rankgate compare --query q03)",
    )  # fmt: skip
    assert told.reason == "for q03 bad is at rank 2 and good is at rank 1; bad must stand above"


def test_a_document_beyond_the_depth_stands_below_every_one_within():
    assert ended(order("good", "d11")).status == "pass"
    assert ended(order("d11", "good")).status == "fail"


def test_of_two_documents_beyond_the_depth_nobody_can_tell_the_order():
    told = ended(order("d10", "d11"))
    assert told.status == "inconclusive"
    assert "d10 is not among the first 10" in told.reason
    assert "depth" in told.next
    assert ended(order("d10", "d11"), head="depth = 20").status == "pass"


@pytest.mark.parametrize(("within", "status"), [(1, "fail"), (2, "pass")])
def test_a_document_that_must_be_there(within, status):
    rule = f'kind = "must_have"\nquery = "q03"\ndoc = "bad"\nwithin = {within}'
    assert ended(rule).status == status
    opposite = {"fail": "pass", "pass": "fail"}[status]
    assert ended(rule.replace("must_have", "must_not_have")).status == opposite


def test_a_query_that_is_not_compared_leaves_it_open():
    told = ended('kind = "must_have"\nquery = "q77"\ndoc = "bad"')
    assert (told.status, told.n) == ("inconclusive", 0)


def test_states_are_counted_of_so_many():
    less = {query: ranked for query, ranked in LONG.items() if query > "q02"}
    head = 'unequal = "zero"'
    told = ended('kind = "states"\nstate = "not_run"\nat_most = 0.2', less, head)
    assert told.status == "fail"
    assert told.reason.startswith(
        "3 of 12 (25.0%) of the candidate's queries were not run, 0 of 12 (0.0%) of the baseline's"
    )
    assert ended('kind = "states"\nstate = "not_run"\nat_most = 0.25', less, head).status == "pass"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{q} 0 {d} {g}\n" for q, docs in QRELS.items() for d, g in docs.items()]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    lines = [f"{q} Q0 {d} 1 {s} t\n" for q, docs in LONG.items() for d, s in docs.items()]
    (tmp_path / "old.run").write_text("".join(lines))
    return tmp_path


def test_a_baseline_that_is_saved_without_a_word_fits_the_gate_without_a_word(here):
    baseline.save("main", "qrels.txt", "old.run")
    assert gate("qrels.txt", "main", "old.run").verdict == "pass"
    text = '[[rules]]\nkind = "floor"\nmetric = "Success@12"\nat_least = 0.5\nby = "mean"\n'
    text += '[[rules]]\nkind = "judged"\nk = 12\nat_least = 0.1\n'
    (here / "rankgate.toml").write_text(text)
    saved = baseline.save("next", "qrels.txt", "old.run")
    assert saved.baseline.side.depth == 12
    assert gate("qrels.txt", "next", "old.run").verdict == "pass"


@pytest.mark.usefixtures("here")
def test_a_baseline_with_shorter_lists_than_a_rule_looks_at_is_refused():
    baseline.save("main", "qrels.txt", "old.run", depth=10)
    policy = parsed('[[rules]]\nkind = "judged"\nk = 12\nat_least = 0.1', "policy")
    with pytest.raises(UsageError, match="has lists of 10 documents, and the policy looks at 12"):
        gate("qrels.txt", "main", "old.run", policy)


@pytest.mark.usefixtures("here")
def test_a_word_that_is_neither_a_run_nor_a_baseline():
    baseline.save("main", "qrels.txt", "old.run", ["AP"])
    with pytest.raises(UsageError, match=r"mian: neither a run nor a saved baseline.*: main"):
        gate("qrels.txt", "mian", "old.run")


@pytest.mark.usefixtures("here")
def test_noise_is_measured_by_the_baselines_own_convention():
    otherwise = chosen_convention("trec", ["without_relevant=none"])
    baseline.save("main", "qrels.txt", "old.run", ["AP"], otherwise)
    with pytest.raises(UsageError, match="convention"):
        baseline.noise("main", "qrels.txt", ["old.run"])
