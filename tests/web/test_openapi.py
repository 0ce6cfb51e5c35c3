"""The REST API follows its description for all requests."""

from __future__ import annotations

import os
from functools import cache

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rankgate.store.people import sign_in, users
from rankgate.workspace.web.openapi import describe_api
from rankgate.workspace.web.routes import ROUTES
from support.serving import Visitor

EXAMPLES = int(os.environ.get("RANKGATE_API_EXAMPLES", "3"))
"""Requests of each kind for each operation; ``make fuzz-api`` takes more."""

NAMES = {"project": "shop", "batch": 1, "task": 2, "judgments": "one", "user": 6}
"""What is there, so that requests get further than to a missing project."""

LABELS = [
    f"{method.upper()} {path}"
    for path, methods in describe_api(ROUTES)["paths"].items()
    for method in methods
]


@cache
def operations():
    """Every operation by its label; loading Schemathesis takes too long for a collection."""
    import schemathesis

    schema = describe_api(ROUTES)
    del schema["security"]  # who may do what is in test_access.py
    for path in schema["paths"].values():
        for operation in path.values():
            content = operation.get("requestBody", {}).get("content", {})
            for body in content.values():
                for value in body["schema"]["properties"].values():
                    if value.get("maxLength", 0) > 1_000:  # long texts take long to make up
                        del value["maxLength"]
    results = schemathesis.openapi.from_dict(schema).get_all_operations()
    return {operation.label: operation for operation in (result.ok() for result in results)}


@pytest.fixture(scope="module")
def token(team):
    with team.store.write() as connection:
        user = users.get_by_name(connection, "root").id
        return sign_in.issue_token(connection, user, "fuzz", ["admin"])[1]


@pytest.mark.parametrize("label", LABELS)
def test_whatever_is_sent_the_answer_is_described(team, token, label):
    from schemathesis import checks
    from schemathesis.generation import GenerationMode

    operation = operations()[label]
    # An empty value is one that was not sent, and what fits a schema may still be of no use.
    left_out = [checks.negative_data_rejection, checks.positive_data_acceptance]
    modes = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
    names = {parameter.name for parameter in operation.path_parameters}
    name_values = {name: NAMES[name] for name in names & NAMES.keys()}
    headers = {"authorization": f"Bearer {token}"}

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=EXAMPLES < 10,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(st.data())
    def asked(data):
        mode = data.draw(st.sampled_from(modes))
        case = data.draw(operation.as_strategy(generation_mode=mode))
        case.path_parameters = {**(case.path_parameters or {}), **name_values}
        answer = case.call(base_url=team.address, headers=headers, allow_redirects=False)
        case.validate_response(answer, headers=headers, excluded_checks=left_out)

    asked()


def test_what_is_not_there_is_said_as_programs_want_it(team, token):
    visitor = Visitor(team.address, token)
    for path in ("/nowhere", "/projects/shop/batches/-1", "/projects/shop/batches/x"):
        answer = visitor.post(path)
        assert (answer.status, answer.json()["error"]["code"]) == (404, "not-found")
    answer = visitor.post("/projects/shop/rate.json")
    assert (answer.status, answer.json()["error"]["code"]) == (405, "other-method")
    assert sorted(answer.headers["allow"].split(", ")) == ["GET", "HEAD"]
    for number in (2**53, 2**63, 10**30):
        answer = visitor.post(f"/projects/shop/batches/{number}", state="open")
        assert answer.status == 404
    assert visitor.post("/projects/shop/batches/1").status == 200  # nothing to change
