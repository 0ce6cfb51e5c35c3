"""Sign-in by OpenID Connect, against a provider on this machine that can also lie."""

from __future__ import annotations

import dataclasses
import json
import logging
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from joserfc.jwk import ECKey

from rankgate.core.errors import InputError, UsageError
from rankgate.store.people import audit, invitations, users
from rankgate.workspace.web import oidc_users
from rankgate.workspace.web.oidc_provider import Provider
from rankgate.workspace.web.oidc_users import OidcSettings, read_oidc_settings
from rankgate.workspace.web.replies import RequestRefused
from support.oidc_provider import SECRET, provided
from support.serving import Visitor, served


@pytest.fixture(scope="module")
def provider():
    with provided() as running_provider:
        yield running_provider


@pytest.fixture(autouse=True)
def honest(provider):
    yield
    provider.honest()


@pytest.fixture(scope="module")
def settings(provider):
    groups = (("raters", "shop", "rater"), ("leads", "shop", "manager"), ("leads", "none", "admin"))
    return OidcSettings(provider.issuer, "rankgate", SECRET, "Example Ltd", groups=groups)


@pytest.fixture(scope="module")
def address(team, settings):
    with team.store.write() as connection:
        for name in ("ann", "bob", "cid", "dan", "eve"):
            users.add(connection, f"{name}@example.org")
    with served(team.store, oidc=settings) as server_address:
        yield server_address


def claims(who, **more):
    return {"sub": f"subject of {who}", "email": f"{who}@example.org", "email_verified": True, **more}


def sent_back(visitor, provider, user, query=""):
    """Sign in at the provider; the path to which the browser is sent back."""
    provider.user = user
    answer = visitor.get(f"/sign-in/oidc{query}")
    assert answer.status == 303, answer.data
    assert answer.headers["location"].startswith(f"{provider.issuer}/authorize?")
    response = visitor.http.request("GET", answer.headers["location"], redirect=False)
    return response.headers["location"].removeprefix(visitor.base)


def signed_in(address, provider, user, query=""):
    visitor = Visitor(address)
    path = sent_back(visitor, provider, user, query)
    return visitor, visitor.get(path, headers={"content-type": "application/json"})


def code_of(answer):
    return answer.json()["error"]["code"]


def test_a_button_leads_to_the_provider_and_back(team, address, provider):
    visitor = Visitor(address)
    html = visitor.get("/sign-in?next=/account").data.decode()
    assert "Sign in with Example Ltd" in html
    assert 'href="/sign-in/oidc?next=/account"' in html
    path = sent_back(visitor, provider, claims("ann"), "?next=/account")
    answer = visitor.get(path)
    assert (answer.status, answer.headers["location"]) == (303, "/account")
    assert b"ann@example.org" in visitor.get("/account").data
    assert oidc_users.COOKIE not in visitor.cookies
    second_visitor, answer = signed_in(address, provider, claims("ann", email="other@example.org"))
    assert answer.status == 200  # the subject is what counts from now on
    assert b"ann@example.org" in second_visitor.get("/account").data
    with team.store.read() as connection:
        log = [entry.action for entry in audit.entries(connection)]
    assert {"user.link", "sign-in"} <= set(log)


def test_what_the_provider_is_asked_for(address, provider):
    visitor = Visitor(address)
    first_query = parse_qs(urlsplit(visitor.get("/sign-in/oidc").headers["location"]).query)
    assert first_query["redirect_uri"] == [f"{address}/sign-in/oidc/callback"]
    assert first_query["code_challenge_method"] == ["S256"]
    assert (
        len(first_query["state"][0])
        == len(first_query["nonce"][0])
        == len(first_query["code_challenge"][0])
        == 43
    )
    second_query = parse_qs(urlsplit(visitor.get("/sign-in/oidc").headers["location"]).query)
    assert all(first_query[name] != second_query[name] for name in ("state", "nonce", "code_challenge"))
    sent_back(visitor, provider, claims("ann"))
    cookie = Visitor(address).get("/sign-in/oidc").headers["set-cookie"]
    assert {"HttpOnly", "SameSite=lax"} <= {attribute.strip() for attribute in cookie.split(";")}


LIES = {
    "wrong nonce": {"nonce": "another"},
    "no nonce": {"nonce": None},
    "another audience": {"aud": "other"},
    "no audience": {"aud": None},
    "another audience, and our client as the party": {"aud": "other", "azp": "rankgate"},
    "another party": {"aud": ["rankgate", "other"], "azp": "other"},
    "ended": {"exp": 1_000_000_000},
    "no end": {"exp": None},
    "of tomorrow": {"nbf": 9_999_999_999},
    "another issuer": {"iss": "https://evil.example"},
    "no issuer": {"iss": None},
    "nobody": {"sub": None},
    "a number": {"sub": 1},
    "a list": {"sub": ["ann"]},
    "of another access token": {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_token_that_is_not_for_us_now_signs_nobody_in(address, provider, lie):
    provider.lie = lambda found: found | LIES[lie]
    visitor, answer = signed_in(address, provider, claims("ann"))
    assert (answer.status, code_of(answer)) == (403, "sign-in-unproven")
    assert "rankgate_session" not in visitor.cookies


def test_a_signature_by_another_key_signs_nobody_in(address, provider):
    def refused():
        return code_of(signed_in(address, provider, claims("ann"))[1])

    provider.key = ECKey.generate_key("P-256", private=True)
    assert refused() == "sign-in-unproven"
    provider.key = None
    public = json.dumps(provider.keys.keys[0].as_dict(private=False)).encode()
    for secret in (public, SECRET.encode(), b""):  # the last is a token without a signature
        provider.by_secret = secret
        assert refused() == "sign-in-unproven"


def test_keys_are_read_again_when_they_change(provider, settings):
    moment = [0.0]
    client = Provider(settings, lambda: moment[0])

    def claims_now():
        address, cookie = client.begin("http://127.0.0.1/back")
        parameters = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        callback = parse_qs(urlsplit(provider.authorize(parameters)).query)
        return client.claims(callback["code"][0], cookie, parameters["redirect_uri"], callback["iss"][0])

    provider.user, old_keys = claims("ann"), provider.keys
    assert claims_now()["sub"] == "subject of ann"
    provider.rotate()
    with pytest.raises(RequestRefused, match="invalid_key_id"):  # not more often than once a minute
        claims_now()
    moment[0] = 61.0
    assert claims_now()["sub"] == "subject of ann"
    provider.keys = old_keys


def test_an_answer_is_used_once_and_where_it_was_asked_for(address, provider):
    visitor = Visitor(address)
    path = sent_back(visitor, provider, claims("ann"))
    cookies = dict(visitor.cookies)
    headers = {"content-type": "application/json"}
    assert code_of(Visitor(address).get(path, headers=headers)) == "unknown-state"
    for query in ("", "?state=x&code=y", f"?{urlsplit(path).query.replace('state=', 'state=x')}"):
        answer = visitor.get(f"/sign-in/oidc/callback{query}", headers=headers)
        assert code_of(answer) == "unknown-state"
    assert visitor.get(path, headers=headers).status == 200
    visitor.cookies = cookies
    answer = visitor.get(path, headers=headers)
    assert (answer.status, code_of(answer)) == (403, "unknown-state")
    forged = Visitor(address)
    body, _, signature = cookies[oidc_users.COOKIE].rpartition(".")
    forged.cookies = {oidc_users.COOKIE: f"{body[:-4]}AAAA.{signature}"}
    assert code_of(forged.get(path, headers=headers)) == "unknown-state"


def test_a_sign_in_that_takes_too_long_has_ended(settings):
    cookie = oidc_users.seal_cookie(settings, {"state": "x"}, 1_000)
    assert oidc_users.open_cookie(settings, cookie, 1_500)["state"] == "x"
    assert oidc_users.open_cookie(settings, cookie, 1_601) is None
    other_settings = dataclasses.replace(settings, client_secret="another")  # noqa: S106 - of a test
    assert oidc_users.open_cookie(other_settings, cookie, 1_500) is None
    assert oidc_users.open_cookie(settings, "", 1_500) is None


def test_an_answer_of_another_issuer_is_refused(address, provider):
    provider.answer = {"iss": "https://evil.example"}
    assert code_of(signed_in(address, provider, claims("ann"))[1]) == "sign-in-unproven"
    provider.answer = {"iss": None}
    assert signed_in(address, provider, claims("ann"))[1].status == 200


def test_a_provider_that_announces_its_name_must_say_it(provider, settings):
    provider.described = {"authorization_response_iss_parameter_supported": True}
    client = Provider(settings)
    with pytest.raises(RequestRefused, match="another issuer"):
        client.claims("code", {"verifier": "x", "nonce": "y"}, "http://127.0.0.1/", None)
    provider.described = {}


def test_a_description_of_another_issuer_is_refused(provider, settings):
    provider.says = "https://evil.example"
    with pytest.raises(RequestRefused, match="another issuer"):
        Provider(settings).begin("http://127.0.0.1/back")
    provider.says = ""
    away = dataclasses.replace(settings, issuer="http://127.0.0.1:9")
    with pytest.raises(RequestRefused, match="does not answer"):
        Provider(away).begin("http://127.0.0.1/back")


def test_who_does_not_want_to_sign_in_is_not_signed_in(address, provider):
    provider.answer = {"error": "access_denied", "code": None}
    visitor, answer = signed_in(address, provider, claims("ann"))
    assert (answer.status, code_of(answer)) == (403, "provider-refused")
    assert "rankgate_session" not in visitor.cookies


def test_an_address_that_is_not_verified_is_nobodys(team, address, provider):
    for user in (
        claims("bob", email_verified=False),
        claims("bob", email_verified=None),
        claims("bob", email_verified="false"),
        claims("bob", email=None),
        claims("bob", email_verified=1),
        claims("bob", email_verified=[True]),
        claims("bob", email_verified={"true": 1}),
        claims("bob", email={"@": 1}),
        claims("bob", email=["bob@example.org"]),
    ):
        answer = signed_in(address, provider, user)[1]
        assert (answer.status, code_of(answer)) == (403, "no-verified-email")
    assert signed_in(address, provider, claims("bob", email="BOB@Example.org"))[1].status == 200
    answer = signed_in(address, provider, claims("bob", sub="somebody else"))[1]
    assert code_of(answer) == "other-identity"
    with team.store.read() as connection:
        assert users.get_by_name(connection, "bob@example.org").id


def test_those_whom_nobody_invited_stay_out(team, address, provider):
    assert code_of(signed_in(address, provider, claims("mallory"))[1]) == "not-invited"
    shop = team.project("invited")
    with team.store.write() as connection:
        invitations.invite(connection, project=shop.id, role="rater", name="fay@example.org")
        _, link = invitations.invite(connection, project=shop.id, role="viewer")
    visitor, answer = signed_in(address, provider, claims("fay", name="Fay\u202e"))
    assert answer.status == 200
    assert visitor.get("/projects/invited/rate").status == 200
    html = Visitor(address).get(f"/invitations/{link}").data.decode()
    assert "Accept with Example Ltd" in html
    visitor, answer = signed_in(address, provider, claims("gus"), f"?invitation={link}")
    assert answer.status == 200
    assert visitor.get("/projects/invited").status == 200
    assert code_of(signed_in(address, provider, claims("hal"), f"?invitation={link}")[1]) == ("not-invited")


def test_groups_give_and_take_roles(team, address, provider):
    def role(*groups):
        answer = signed_in(address, provider, claims("cid", groups=list(groups)))[1]
        assert answer.status == 200, answer.data
        with team.store.read() as connection:
            user = users.get_by_name(connection, "cid@example.org")
            shop = team.store and users.members(connection, 1)
            return next((role for member, role in shop if member.id == user.id), None)

    assert role("raters", "others") == "rater"
    assert role("raters", "leads") == "manager"
    assert role() is None
    new, answer = signed_in(address, provider, claims("ina", groups=["raters"]))
    assert answer.status == 200
    assert new.get("/projects/shop/rate").status == 200


def test_anyone_of_a_domain_may_look_where_that_is_set(team, provider, settings):
    team.project("open-to-all")
    domain_settings = dataclasses.replace(
        settings, domains=("example.org",), new_users="viewer", viewer_of=("open-to-all",)
    )
    with served(team.store, oidc=domain_settings) as address:
        visitor, answer = signed_in(address, provider, claims("joe"))
        assert answer.status == 200
        assert visitor.get("/projects/open-to-all").status == 200
        assert visitor.get("/projects/open-to-all/rate").status == 403
        assert visitor.get("/projects/shop").status == 404
        for email in ("joe@evil.example", "joe@sub.example.org", "joe@example.org.evil"):
            answer = signed_in(address, provider, claims("kim", email=email))[1]
            assert code_of(answer) == "other-domain"
        assert code_of(signed_in(address, provider, claims("kim", email="joe"))[1]) == ("no-verified-email")


def test_claims_of_the_wrong_type_are_no_roles_and_no_error(team, address, provider):
    for groups in ({"leads": 1}, [["leads"]], [{"leads": 1}], 1, True, {"raters": ["leads"]}):
        answer = signed_in(address, provider, claims("uma", groups=groups))[1]
        assert (answer.status, code_of(answer)) == (403, "not-invited")
    odd = (1, -1.5, True, [], [1], ["uma"], {}, {"a": 1}, "", "uma", 10**400)
    names = "sub email email_verified name groups aud azp exp nbf iat nonce at_hash iss auth_time"
    for name in names.split():
        for value in odd:
            user = claims("uma", **{name: value})
            answer = signed_in(address, provider, user)[1]
            assert answer.status == 403, (name, value, answer.data)
    with team.store.read() as connection:
        assert not any(user.name.startswith("uma") for user in users.list_users(connection))


def test_a_known_user_needs_no_address_to_sign_in_again(team, provider, settings):
    with team.store.write() as connection:
        users.add(connection, "rae@example.org")
    domain_settings = dataclasses.replace(settings, domains=("example.org",))
    with served(team.store, oidc=domain_settings) as address:
        for unknown in (claims("rae", email=None), claims("rae", email_verified=False)):
            assert code_of(signed_in(address, provider, unknown)[1]) == "no-verified-email"
        assert signed_in(address, provider, claims("rae"))[1].status == 200
        for user_claims in (claims("rae", email=None), claims("rae", email_verified=False)):
            assert signed_in(address, provider, user_claims)[1].status == 200
        moved = claims("rae", email="rae@evil.example")
        assert code_of(signed_in(address, provider, moved)[1]) == "other-domain"
    narrower = dataclasses.replace(settings, domains=("example.com",))
    with served(team.store, oidc=narrower) as address:
        assert code_of(signed_in(address, provider, claims("rae", email=None))[1]) == "other-domain"


def test_a_disabled_user_stays_out(team, address, provider):
    assert signed_in(address, provider, claims("dan"))[1].status == 200
    with team.store.write() as connection:
        users.disable(connection, users.get_by_name(connection, "dan@example.org").id)
    assert code_of(signed_in(address, provider, claims("dan"))[1]) == "disabled"


def test_a_session_begins_anew_and_goes_on_to_our_own_pages(address, provider):
    visitor = Visitor(address)
    visitor.cookies = {"rankgate_session": "rgs_planted"}
    for target in ("//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"):
        path = sent_back(visitor, provider, claims("eve"), f"?next={target}")
        old_session = visitor.cookies["rankgate_session"]
        answer = visitor.get(path)
        assert (answer.status, answer.headers["location"]) == (303, "/projects")
        assert visitor.cookies["rankgate_session"] != old_session
    old = Visitor(address)
    old.cookies = {"rankgate_session": old_session}
    assert old.get("/projects").headers["location"].startswith("/sign-in")


def test_without_a_provider_there_is_no_such_page(team):
    visitor = Visitor(team.address)
    assert visitor.get("/sign-in/oidc").status == 404
    assert b"Sign in with" not in visitor.get("/sign-in").data


def test_secrets_are_in_no_log(team, address, provider, caplog, settings):
    caplog.set_level(logging.DEBUG)
    visitor, _ = signed_in(address, provider, claims("ann"))
    provider.lie = lambda found: found | {"nonce": "another"}
    signed_in(address, provider, claims("ann"))
    with team.store.read() as connection:
        log_text = caplog.text + str(audit.entries(connection)) + repr(settings)
    session = visitor.cookies["rankgate_session"]
    for secret in (SECRET, quote(SECRET), session, provider.asked[-1]["code_verifier"]):
        assert secret not in log_text


def test_settings_of_a_file_and_of_the_environment(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("hush\n")
    secret.chmod(0o600)
    file = tmp_path / "oidc.toml"
    file.write_text(f"""[oidc]
issuer = "https://login.example.org"
client_id = "judging"
client_secret_file = "{secret}"
domains = ["@Example.org"]
new_users = "viewer"
viewer_of = ["shop"]
[oidc.groups]
search = ["shop:manager", "site:rater"]
others = "shop:viewer"
""")
    oidc_settings = read_oidc_settings(file, {})
    assert (oidc_settings.client_secret, oidc_settings.domains, oidc_settings.name) == (
        "hush",
        ("example.org",),
        "login.example.org",
    )
    assert oidc_settings.groups == (
        ("search", "shop", "manager"),
        ("search", "site", "rater"),
        ("others", "shop", "viewer"),
    )
    assert "hush" not in repr(oidc_settings)
    variables = {
        "RANKGATE_OIDC_ISSUER": "https://b.example",
        "RANKGATE_OIDC_CLIENT_ID": "c",
        "RANKGATE_OIDC_CLIENT_SECRET": "hush!",
    }
    assert read_oidc_settings(file, variables).issuer == "https://b.example"
    assert read_oidc_settings(None, variables).client_secret == variables["RANKGATE_OIDC_CLIENT_SECRET"]
    assert read_oidc_settings(None, {}) is None
    secret.chmod(0o644)
    with pytest.raises(UsageError) as refused:
        read_oidc_settings(file, {})
    assert refused.value.code == "secret-readable"


@pytest.mark.parametrize(
    ("line", "code", "number"),
    [
        ('issuer = "http://login.example.org"', "insecure-address", None),
        ('isuer = "https://a.example"', "invalid-oidc-settings", 3),
        ("issuer = 5", "invalid-oidc-settings", 3),
        ('new_users = "all"', "invalid-oidc-settings", 3),
        ('domains = "example.org"', "invalid-oidc-settings", 3),
        ('groups = {a = "shop:owner"}', "invalid-oidc-settings", 3),
        ("= 5", "invalid-toml", 3),
    ],
)
def test_settings_that_cannot_be_are_refused(tmp_path, line, code, number):
    file = tmp_path / "oidc.toml"
    issuer_line = "" if line.startswith("issuer") else 'issuer = "https://a.example"\n'
    file.write_text(f'[oidc]\nclient_id = "x"\n{line}\n{issuer_line}')
    with pytest.raises((UsageError, InputError)) as refused:
        read_oidc_settings(file, {})
    assert refused.value.code == code
    assert getattr(refused.value, "line", None) == number
