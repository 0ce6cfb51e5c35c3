"""Second factors, secrets that work once, and sessions, in both databases."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest
import sqlalchemy as sa
from cryptography.fernet import Fernet
from pyotp import TOTP

from rankgate.core.errors import UsageError
from rankgate.store import backup
from rankgate.store.people import acts, one_time_secrets, second_factors, sign_in, users
from rankgate.store.people.audit import COMMAND_LINE
from rankgate.store.people.stored_secrets import KEY_VARIABLE
from rankgate.store.rows import now
from rankgate.store.store_integrity import check
from rankgate.store.tables.people_tables import one_time_secrets as secrets_table
from rankgate.store.tables.people_tables import recovery_codes, sessions
from rankgate.store.tables.people_tables import second_factors as factors_table
from support.stores import mostly_sqlite  # noqa: F401 - new_store
from support.wording import raises

RFC_SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"  # noqa: S105 - "12345678901234567890" of RFC 6238
RFC_CODES = {  # the table of appendix B for SHA-1 has eight digits, of which an app shows six
    59: "94287082",
    1111111109: "07081804",
    1111111111: "14050471",
    1234567890: "89005924",
    2000000000: "69279037",
    20000000000: "65353130",
}
STEP = timedelta(seconds=30)


def at(seconds):
    return datetime.fromtimestamp(seconds, UTC)


@pytest.fixture
def ann(store):
    with store.write() as connection:
        return users.add(connection, "ann")


@pytest.fixture
def factor(store, ann):
    """A confirmed second factor with the secret of RFC 6238; its recovery codes."""
    with store.write() as connection:
        second_factors.begin(connection, ann.id)
        connection.execute(sa.update(factors_table).values(secret=RFC_SECRET))
        return second_factors.confirm(connection, ann.id, "287082", at(59))


def use(store, user, code, moment):
    with store.write() as connection:
        return second_factors.use_code(connection, user.id, code, moment)


@pytest.mark.parametrize(("seconds", "code"), RFC_CODES.items())
def test_codes_are_those_of_rfc_6238(store, ann, factor, seconds, code):
    with store.write() as connection:
        connection.execute(sa.update(factors_table).values(last_step=0))
    assert use(store, ann, code[-6:], at(seconds)) == "app"
    assert factor


def test_the_library_makes_the_eight_digits_of_the_table():
    from pyotp import TOTP

    totp = TOTP(RFC_SECRET, digits=8)
    assert {seconds: totp.at(seconds) for seconds in RFC_CODES} == RFC_CODES


def test_a_code_works_for_a_clock_that_differs_by_a_step_and_once(store, ann, factor):
    moment, code = at(1111111109), "081804"
    assert use(store, ann, code, moment + 2 * STEP) is None
    assert use(store, ann, code, moment - 2 * STEP) is None
    assert use(store, ann, "081 804", moment + STEP) == "app"
    assert use(store, ann, code, moment) is None  # used
    assert use(store, ann, code, moment + STEP) is None
    assert use(store, ann, "287082", at(59)) is None  # older than the last one
    assert use(store, ann, "050471", at(1111111111)) == "app"  # the next step
    assert factor


@pytest.mark.parametrize("code", ["", "12345", "28708²", "0287082", "287082 OR 1=1", "x" * 40])
def test_what_is_no_code_is_wrong(store, ann, factor, code):
    assert use(store, ann, code, at(2000000000)) is None
    assert factor


def test_two_requests_at_the_same_moment_use_a_code_once(store, ann, factor):
    barrier = Barrier(4)

    def attempt(_):
        barrier.wait()
        return use(store, ann, "279037", at(2000000000))

    with ThreadPoolExecutor(4) as pool:
        kinds = list(pool.map(attempt, range(4)))
    assert kinds.count("app") == 1
    assert kinds.count(None) == 3
    assert factor


def test_a_second_factor_counts_when_it_is_confirmed(store, ann):
    with store.write() as connection:
        first_secret = second_factors.begin(connection, ann.id)
        second_secret = second_factors.begin(connection, ann.id)  # begun anew
        assert first_secret != second_secret
        assert not second_factors.has_second_factor(connection, ann.id)
        assert second_factors.use_code(connection, ann.id, "000000") is None
        assert second_factors.confirm(connection, ann.id, "wrong") is None
        assert not second_factors.users_with_second_factor(connection)


def test_a_second_factor_is_not_replaced(store, ann, factor):
    with raises("second-factor-exists"), store.write() as connection:
        second_factors.begin(connection, ann.id)
    with store.write() as connection:
        assert second_factors.confirm(connection, ann.id, "279037", at(2000000000)) is None
        assert second_factors.count_recovery_codes(connection, ann.id) == len(factor)


def test_recovery_codes_work_once_and_only_hashes_are_stored(store, ann, factor):
    assert len(set(factor)) == second_factors.RECOVERY_CODES == 10
    with store.read() as connection:
        stored = str(connection.execute(sa.select(recovery_codes)).all())
    assert not any(code in stored or code.replace("-", "") in stored for code in factor)
    assert use(store, ann, factor[0].upper().replace("-", " "), None) == "recovery code"
    assert use(store, ann, factor[0], None) is None
    with store.write() as connection:
        bob = users.add(connection, "bob")
    assert use(store, bob, factor[1], None) is None  # another user's
    with store.write() as connection:
        assert second_factors.count_recovery_codes(connection, ann.id) == 9
        new_codes = second_factors.renew_recovery_codes(connection, ann.id)
    assert use(store, ann, factor[1], None) is None
    assert use(store, ann, new_codes[0], None) == "recovery code"


def test_the_command_line_removes_what_a_lost_device_holds(store, ann, factor):
    with store.write() as connection:
        sign_in.begin_session(connection, ann.id)
    with store.write() as connection:
        acts.remove_second_factor(connection, COMMAND_LINE, "ann")
    with store.read() as connection:
        for table in (factors_table, recovery_codes, sessions):
            assert connection.execute(sa.select(table)).all() == [], table.name
    with raises("no-second-factor"), store.write() as connection:
        acts.remove_second_factor(connection, COMMAND_LINE, "ann")
    assert use(store, ann, factor[0], None) is None


def test_a_secret_works_once_for_its_purpose_in_its_time(store, ann):
    with store.write() as connection:
        secret, end = one_time_secrets.issue(connection, ann.id, "password", timedelta(hours=1))
        assert now() < end <= now() + timedelta(hours=1)
        assert secret not in str(connection.execute(sa.select(secrets_table)).all())
        assert one_time_secrets.find(connection, secret, "sign-in") is None
        assert one_time_secrets.use(connection, secret, "sign-in") is None
        assert one_time_secrets.find(connection, secret, "password") == ann
        assert one_time_secrets.use(connection, secret, "password") == ann
        assert one_time_secrets.use(connection, secret, "password") is None
        old_secret, _ = one_time_secrets.issue(connection, ann.id, "password", timedelta(0))
        assert one_time_secrets.use(connection, old_secret, "password") is None
        one_time_secrets.issue(connection, ann.id, "sign-in", timedelta(hours=1))
        assert len(connection.execute(sa.select(secrets_table)).all()) == 1  # the old one is gone


def test_two_requests_at_the_same_moment_use_a_secret_once(store, ann):
    with store.write() as connection:
        secret, _ = one_time_secrets.issue(connection, ann.id, "password", timedelta(hours=1))
    barrier = Barrier(4)

    def attempt(_):
        barrier.wait()
        with store.write() as connection:
            return one_time_secrets.use(connection, secret, "password")

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(attempt, range(4)))
    assert found.count(ann) == 1
    assert found.count(None) == 3


def set_password(store):
    hashed = sign_in.password_hash("correct horse battery")
    with store.write() as connection:
        acts.set_password(connection, COMMAND_LINE, "ann", hashed)


@pytest.mark.parametrize("end", ["command", "disable", "remove"])
def test_links_and_sessions_end_with_the_password(store, ann, end):
    with store.write() as connection:
        users.add(connection, "root", admin=True)
        links = [
            one_time_secrets.issue(connection, ann.id, "password", timedelta(hours=1))[0] for _ in range(2)
        ]
        pending, _ = one_time_secrets.issue(connection, ann.id, "sign-in", timedelta(hours=1))
        _, session = sign_in.begin_session(connection, ann.id)
    if end == "command":
        set_password(store)
    with store.write() as connection:
        if end == "disable":
            users.disable(connection, ann.id)
            users.disable(connection, ann.id, disabled=False)
        elif end == "remove":
            users.remove(connection, ann.id)
        assert all(one_time_secrets.find(connection, link, "password") is None for link in links)
        assert one_time_secrets.find(connection, pending, "sign-in") is None
        assert sign_in.by_session(connection, session, None) is None


def test_a_new_password_leaves_the_second_factor(store, ann, factor):
    set_password(store)
    assert use(store, ann, factor[0], None) == "recovery code"
    with store.write() as connection:
        users.add(connection, "root", admin=True)
        users.remove(connection, ann.id)
        assert connection.execute(sa.select(factors_table)).all() == []


def test_sessions_are_listed_and_ended(store, ann):
    with store.write() as connection:
        first, _ = sign_in.begin_session(connection, ann.id, address="::1", browser="curl/8")
        second, secret = sign_in.begin_session(connection, ann.id)
        sign_in.begin_session(connection, ann.id, timedelta(0))  # over at once
        sign_in.begin_session(connection, users.add(connection, "bob").id)
        assert [session.id for session in sign_in.list_sessions(connection, ann.id)] == [second.id, first.id]
        assert (first.address, first.browser) == ("::1", "curl/8")
        assert sign_in.end_sessions(connection, ann.id, except_for=second.id) == 2
        assert sign_in.list_sessions(connection, ann.id) == [second]
        assert sign_in.by_session(connection, secret, None).owner == second
        sign_in.begin_session(connection, ann.id, timedelta(0))
        sign_in.begin_session(connection, ann.id)  # deletes the one that is over
        is_own = sessions.c.user == ann.id
        count = sa.select(sa.func.count()).where(is_own)
        assert connection.scalar(count) == 2


def test_a_backup_has_second_factors_and_no_links(store, ann, factor, tmp_path):
    with store.write() as connection:
        one_time_secrets.issue(connection, ann.id, "password", timedelta(hours=1))
        sign_in.begin_session(connection, ann.id)
    rows = backup.backup(store, tmp_path / "a.zip").rows
    assert (rows["second_factors"], rows["recovery_codes"]) == (1, len(factor))
    assert not {"one_time_secrets", "sessions"} & rows.keys()


KEYS = [Fernet.generate_key().decode() for _ in range(2)]


def stored_secret(store):
    with store.read() as connection:
        return connection.scalar(sa.select(factors_table.c.secret))


def test_a_secret_is_encrypted_where_there_is_a_key(store, ann, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, KEYS[0])
    with store.write() as connection:
        secret = second_factors.begin(connection, ann.id)
    assert secret not in stored_secret(store)
    code = TOTP(secret).at(1_000_000)
    with store.write() as connection:
        assert second_factors.confirm(connection, ann.id, code, at(1_000_000)) is not None
    assert use(store, ann, TOTP(secret).at(2_000_000), at(2_000_000)) == "app"


def test_secrets_from_before_a_key_are_encrypted_and_keys_are_changed(store, ann, factor, monkeypatch):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    assert factor

    def reseal(*keys):
        monkeypatch.setenv(KEY_VARIABLE, ", ".join(keys))
        with store.write() as connection:
            return second_factors.reseal_secrets(connection)

    assert (reseal(), stored_secret(store)) == (1, RFC_SECRET)  # no key
    assert (reseal(KEYS[0]), RFC_SECRET in stored_secret(store)) == (0, False)
    reseal(KEYS[1], KEYS[0])
    reseal(KEYS[1])
    assert use(store, ann, "279037", at(2000000000)) == "app"


@pytest.mark.parametrize(
    ("keys", "code"),
    [("", "missing-secrets-key"), (KEYS[1], "wrong-secrets-key"), ("secret", "invalid-secrets-key")],
    ids=["no key", "another key", "no valid key"],
)
def test_a_secret_without_its_key_is_named(store, ann, factor, monkeypatch, keys, code):
    assert factor
    monkeypatch.setenv(KEY_VARIABLE, KEYS[0])
    with store.write() as connection:
        second_factors.reseal_secrets(connection)
    monkeypatch.setenv(KEY_VARIABLE, keys)
    with store.write() as connection, raises(code, UsageError):
        second_factors.use_code(connection, ann.id, "279037", at(2000000000))
    with store.write() as connection, raises(code, UsageError):
        second_factors.reseal_secrets(connection)
    assert {finding.code for finding in check(store)} == {"unreadable-secret"}
