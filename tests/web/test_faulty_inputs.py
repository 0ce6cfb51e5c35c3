"""Faults of inputs by REST and by the page of files: the codes of Python, never a number."""

import pytest

from rankgate.store.people import sign_in, users
from support.faulty_inputs import FAULTS, RUN_ROWS, SOUND, frame
from support.serving import Visitor

VERBS = {
    "evaluate": lambda old, _: {"runs": [old], "metrics": "RR"},
    "compare": lambda old, new: {"baseline": old, "candidates": [new]},
    "gate": lambda old, new: {"baseline": old, "candidate": new},
}
FILES = "/projects/faults/material"
UNREADABLE = {"no run", *(name for name, case in FAULTS.items() if case[1][:-1] == RUN_ROWS)}


@pytest.fixture(scope="module")
def program(team):
    """A program with a token of a manager, for a project without judgments and runs."""
    team.project("faults", pairs=0)
    with team.store.write() as connection:
        manager = users.get_by_name(connection, "manager").id
        return Visitor(
            team.address, sign_in.issue_token(connection, manager, "faults", ["read", "manage"])[1]
        )


def run_file(name, ranked):
    return f"{name}.csv", frame(ranked, "score").write_csv().encode()


def code_of(answer):
    return answer.json()["error"]["code"]


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_has_its_code(program, team, case):
    judged, ranked, code = FAULTS[case]
    names = [f"{case.replace(' ', '-')}-{name}" for name in ("old", "new")]
    answers = [program.ask("POST", FILES, fields={"file": run_file(name, ranked)}) for name in names]
    if case in UNREADABLE:
        assert [code_of(answer) for answer in answers] == [code, code]
        page = team.visitor("manager").send(FILES, FILES, file=run_file(names[0], ranked))
        assert page.status == 400
        assert names[0] in page.data.decode()
        return
    for verb, values in VERBS.items():
        stated = {"judgments": frame(judged, "grade").to_dicts()}
        answer = program.post(f"/projects/faults/{verb}", collection=stated, **values(*names))
        assert (answer.status, code_of(answer)) == (400, code if judged else "invalid-collection")


@pytest.mark.parametrize("case", SOUND)
def test_a_sound_set_has_its_value(program, case):
    judged, ranked, value = SOUND[case]
    name = case.replace(" ", "-")
    assert program.ask("POST", FILES, fields={"file": run_file(name, ranked)}).status < 400
    stated = {"judgments": frame(judged, "grade").to_dicts()}
    answer = program.post("/projects/faults/evaluate", collection=stated, runs=[name], metrics="RR")
    assert answer.json()["runs"][0]["mean"]["RR"] == value
