"""Fifty raters at once: every rating is saved once, and pairs never get too many raters."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from rankgate.store.people import sign_in, users
from support.serving import Visitor
from support.stored_answers import list_ratings

RATERS = 50
PAIRS = 75


def test_fifty_raters_at_once_lose_nothing(team):
    project = team.project("crowd", pairs=PAIRS, strategy="2")
    visitors = []
    with team.store.write() as connection:
        for number in range(RATERS):
            user = users.add(connection, f"crowd{number}")
            users.grant(connection, project.id, user.id, "rater")
            session, secret = sign_in.begin_session(connection, user.id)
            visitor = Visitor(team.address)
            visitor.cookies["rankgate_session"] = secret
            visitors.append((number, visitor, session.csrf))

    def rate_all(numbered_visitor):
        """Rate until nothing is left; every rating is sent twice, as after a lost answer."""
        number, visitor, word = numbered_visitor
        sent = []
        state = visitor.get("/projects/crowd/rate.json").json()
        while state["task"] is not None:
            task = state["task"]["id"]
            fields = {"task": task, "grade": 1, "rating_id": f"{number}-{task}"}
            for _ in range(2):
                answer = visitor.ask(
                    "POST", "/projects/crowd/ratings", json=fields, headers={"x-csrf-token": word}
                )
                assert answer.status == 200, answer.data
                state = answer.json()
            sent.append(fields["rating_id"])
        return sent

    with ThreadPoolExecutor(RATERS) as pool:
        sent = [identity for identities in pool.map(rate_all, visitors) for identity in identities]
    with team.store.read() as connection:
        kept = list_ratings(connection, project.id)
    assert sorted(rating.rating_id for rating in kept) == sorted(sent)
    assert set(Counter(rating.task for rating in kept).values()) == {2}
    assert len({(rating.task, rating.rater) for rating in kept}) == 2 * PAIRS
