"""Limits: attempts to sign in, owners of tasks, bounds of values, sessions, webhooks."""

from __future__ import annotations

import ipaddress
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import sqlalchemy as sa
import urllib3
from argon2 import PasswordHasher

from rankgate.store.people import sign_in, users
from rankgate.store.rating import ratings
from rankgate.store.rows import now
from rankgate.store.tables.people_tables import sign_ins
from rankgate.store.tables.rating_tables import tasks
from rankgate.workspace.records.alerts import alert_channels
from rankgate.workspace.records.alerts.alert_channels import Networks
from rankgate.workspace.records.alerts.alert_rules import read_rules
from rankgate.workspace.web.routes import ROUTES
from support.serving import PASSWORD, Visitor
from support.stored_answers import list_ratings
from support.wording import raises

FIFTEEN = timedelta(minutes=15)


def test_simultaneous_attempts_are_no_more_tries(team):
    with team.store.write() as connection:
        users.add(connection, "target", sign_in.password_hash(PASSWORD))
    visitors = [Visitor(team.address) for _ in range(60)]
    words = [visitor.csrf("/sign-in") for visitor in visitors]

    def attempt(number):
        fields = {"name": "target", "password": f"wrong{number}", "csrf": words[number]}
        return visitors[number].ask("POST", "/sign-in", fields=fields, encode_multipart=False).status

    with ThreadPoolExecutor(20) as pool:
        statuses = sorted(pool.map(attempt, range(60)))
    assert statuses == [403] * 10 + [429] * 50
    owner = Visitor(team.address)  # from another address
    owner.http = urllib3.PoolManager(retries=False, source_address=("127.0.0.2", 0))
    assert owner.sign_in("target").status == 303
    assert Visitor(team.address).sign_in("target").status == 429


def test_attempts_are_counted_one_after_the_other(new_store):
    def attempt(number):
        with new_store.write() as connection:
            return sign_in.begin_attempt(
                connection, f"name{number % 2}", "192.0.2.7", tries=4, from_one=6, since=FIFTEEN
            )

    with ThreadPoolExecutor(8) as pool:
        attempt_numbers = [number for number in pool.map(attempt, range(24)) if number is not None]
    assert len(attempt_numbers) == len(set(attempt_numbers)) == 6
    with new_store.write() as connection:
        sign_in.end_attempt(connection, attempt_numbers[0], is_right=True)
    assert attempt(0) is not None


def test_a_sign_in_that_a_kill_cut_off_is_not_a_wrong_password(new_store):
    def attempt():
        with new_store.write() as connection:
            return sign_in.begin_attempt(connection, "ann", "192.0.2.9", tries=3, from_one=20, since=FIFTEEN)

    def later():
        with new_store.write() as connection:
            connection.execute(sa.update(sign_ins).values(at=now() - timedelta(minutes=2)))

    cut_off = [attempt() for _ in range(3)]
    assert all(cut_off)
    assert attempt() is None  # they may still be checked: attempts at the same time count
    later()
    wrong = [attempt() for _ in range(3)]
    assert all(wrong)
    for number in wrong:
        with new_store.write() as connection:
            sign_in.end_attempt(connection, number, is_right=False)
    later()
    assert attempt() is None  # what was wrong counts on


def test_a_password_that_is_right_gets_a_new_hash(team):
    with team.store.write() as connection:
        users.add(
            connection, "longtime", PasswordHasher(time_cost=2, memory_cost=8, parallelism=1).hash(PASSWORD)
        )
    with team.store.read() as connection:
        hash_before = users.password_of(connection, "longtime")
    for _ in range(2):
        team.visitor("longtime")
        with team.store.read() as connection:
            hash_after = users.password_of(connection, "longtime")
        assert hash_after != hash_before
        assert sign_in.renewed_hash(hash_after, PASSWORD) is None


def test_another_password_ends_sessions_and_tokens_if_asked(team):
    with team.store.write() as connection:
        users.add(connection, "mover", sign_in.password_hash(PASSWORD))
    first, second = team.visitor("mover"), team.visitor("mover")
    token = first.post("/account/tokens", name="ci").json()["token"]
    form = {"before": PASSWORD, "password": f"{PASSWORD} 2"}
    assert first.send("/account/password", "/account", **form).status == 303
    assert first.get("/account").status == 200
    assert second.get("/account").status == 303  # to the form
    assert Visitor(team.address, token).get("/projects.json").status == 200
    form = {"before": f"{PASSWORD} 2", "password": PASSWORD, "end_tokens": "1"}
    assert first.send("/account/password", "/account", **form).status == 303
    assert Visitor(team.address, token).get("/projects.json").status == 401


@pytest.mark.parametrize("days", [99_999_999, 3_651, 0, -3])
def test_a_token_lasts_from_a_day_to_ten_years(team, days):
    answer = team.visitor("viewer").post("/account/tokens", name="ci", days=days)
    assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid-value")


NUMBERS = [
    (route, field)
    for route in ROUTES
    for field in route.fields
    if field.kind in {"number", "whole"} and field.label and field.least is not None
]


def test_bounds_are_in_forms_and_in_the_description(team):
    assert len(NUMBERS) > 10
    described = team.visitor("viewer").get("/openapi.json").json()["paths"]
    schema = described["/projects/{project}/ratings"]["post"]["requestBody"]["content"]
    assert schema["application/json"]["schema"]["properties"]["seconds"]["minimum"] == 0
    page = team.visitor("viewer").get("/account").data.decode()
    assert 'min="1" max="3650"' in page


@pytest.fixture
def one(team, request):
    """A project of its own, with one rater a task."""
    return team.project(request.node.name[:60].replace("_", "-").replace("[", "-").strip("]-"), strategy="1")


def test_only_those_who_were_given_a_task_rate_it(team, one):
    rater, manager = team.visitor("rater"), team.visitor("manager")
    path = f"/projects/{one.name}"
    task = rater.get(f"{path}/rate.json").json()["task"]["id"]
    for name in ("ratings", "ratings/later"):
        values = {"task": task} | ({} if name.endswith("later") else {"grade": 1})
        answer = manager.post(f"{path}/{name}", **values)
        assert (answer.status, answer.json()["error"]["code"]) == (409, "task-not-assigned")
    assert rater.post(f"{path}/ratings", task=task, grade=2).status == 200
    answer = manager.post(f"{path}/ratings", task=task, grade=0)  # it is done
    assert (answer.status, answer.json()["error"]["code"]) == (409, "task-not-assigned")
    batch_answer = manager.post(f"{path}/ratings/many", answers=[{"task": task, "grade": 0}])
    assert batch_answer.status == 409
    assert rater.post(f"{path}/ratings", task=task, grade=1).status == 200  # a correction
    with team.store.read() as connection:
        table = ratings.read_ratings(connection, one.id).table
    assert set(table["rater"]) == {"rater"}


def test_a_rater_opens_tasks_that_were_given_to_them(team, one):
    rater, manager = team.visitor("rater"), team.visitor("manager")
    path = f"/projects/{one.name}"
    assigned_task = rater.get(f"{path}/rate.json").json()["task"]["id"]
    with team.store.read() as connection:
        numbers = list(
            connection.scalars(tasks.select().with_only_columns(tasks.c.id).where(tasks.c.project == one.id))
        )
    other_task = next(number for number in numbers if number != assigned_task)
    assert rater.get(f"{path}/rate.json?task={assigned_task}").status == 200
    assert rater.get(f"{path}/rate.json?task={other_task}").status == 404
    assert rater.get(f"{path}/rate?task={other_task}").status == 404
    assert manager.get(f"{path}/rate.json?task={other_task}").status == 200


def test_a_closed_batch_takes_no_ratings(team, one):
    rater, manager = team.visitor("rater"), team.visitor("manager")
    path = f"/projects/{one.name}"
    task = rater.get(f"{path}/rate.json").json()["task"]
    assert rater.post(f"{path}/ratings", task=task["id"], grade=2).status == 200
    following = rater.get(f"{path}/rate.json").json()["task"]["id"]
    change = f"{path}/batches/{task['batch']['id']}"
    assert manager.post(change, state="closed").status == 200
    for number in (task["id"], following):
        answer = rater.post(f"{path}/ratings", task=number, grade=0)
        assert (answer.status, answer.json()["error"]["code"]) == (409, "batch-closed")
    assert rater.post(f"{path}/ratings/withdraw", task=task["id"]).status == 409
    assert manager.post(change, state="paused").status == 200
    assert rater.post(f"{path}/ratings", task=following, grade=0).status == 200


def test_moments_and_seconds_are_possible(team, one):
    rater = team.visitor("rater")
    path = f"/projects/{one.name}"
    task = rater.get(f"{path}/rate.json").json()["task"]["id"]
    for values in ({"at": "2999-01-01T00:00:00Z"}, {"seconds": -5}):
        answer = rater.post(f"{path}/ratings", task=task, grade=1, **values)
        assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid-value")
    ahead = (now() + timedelta(hours=2)).isoformat()
    assert rater.post(f"{path}/ratings", task=task, grade=1, at=ahead, seconds=3).status == 200
    with team.store.read() as connection:
        (fact,) = list_ratings(connection, one.id)
    assert fact.at <= now()


def test_a_schedule_without_a_date_is_refused(team, one):
    text = '[[jobs]]\nname = "never"\nkind = "alerts"\nschedule = "0 0 31 2 *"\n'
    answer = team.visitor("manager").post(f"/projects/{one.name}/schedule", jobs=text)
    assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid-jobs")


def test_webhooks_are_encrypted_unless_plain_http_is_allowed():
    text = '[[channels]]\nname = "team"\nkind = "webhook"\nurl = "http://192.0.2.1/hook"\n'
    channel = read_rules(text, "rules").channels["team"]
    anywhere = Networks((ipaddress.ip_network("192.0.2.0/24"),))
    with raises("insecure-address"):
        alert_channels._connection_pool(channel.values["url"], anywhere, allow_http=False)
    assert alert_channels._connection_pool(channel.values["url"], anywhere, allow_http=True).port == 80
