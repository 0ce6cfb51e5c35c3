"""A person in Chromium: a second factor, sign-in with a code, a lost password, sessions."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyotp import TOTP

from rankgate.store.people import sign_in, users
from support.chromium import PICTURES, VIEWS
from support.serving import PASSWORD, Visitor, served

pytestmark = pytest.mark.slow
ANN, NEW = "ann@example.org", "another long password"


@pytest.fixture
def look(chromium, axe):
    """Look at the page that is open, in every form: no fault, no complaint, nothing too wide."""

    def seen(name):
        for label, width, dark in VIEWS:
            chromium.send(
                "Emulation.setDeviceMetricsOverride",
                width=width,
                height=900,
                deviceScaleFactor=1,
                mobile=width < 600,
            )
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            chromium.send("Emulation.setEmulatedMedia", features=[scheme])
            assert chromium.faults(axe) == [], (name, label)
            wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert chromium.ask(wider) == 0, (name, label)
            complaints = [  # a page that refuses something is no complaint
                event for event in chromium.said if event.get("entry", {}).get("source") != "network"
            ]
            assert complaints == [], (name, label)
            if PICTURES:
                chromium.picture(Path(PICTURES) / f"account-{name}-{label}.png")

    return seen


class Browser:
    """Fills and sends forms of the page that is open."""

    def __init__(self, chromium, address):
        self.chromium, self.address = chromium, address
        chromium.send("Network.clearBrowserCookies")

    def open(self, path):
        self.chromium.open(self.address + path)

    def send(self, action, until, **fields):
        """Send the form of an action."""
        form = f"document.querySelector('main form[action=\"{action}\"]')"
        for name, value in fields.items():
            self.chromium.ask(f"{form}.querySelector('[name={name}]').value = {value!r}; 1")
        # the next page replaces this one, whose mark is gone then
        self.chromium.ask(f"window.before = 1; {form}.requestSubmit(); 1")
        self.chromium.until(f"window.before === undefined && ({until})")

    def text(self, selector):
        return self.chromium.ask(f"document.querySelector('{selector}').textContent")


def heading(text):
    return f"document.querySelector('h1')?.textContent === '{text}'"


def test_an_account_is_protected_and_found_again(chromium, look, new_file, tmp_path, monkeypatch):
    monkeypatch.setenv("RANKGATE_SMTP_HOST", "localhost")
    monkeypatch.setenv("RANKGATE_SMTP_PORT", "1")  # no mail is sent in this test
    monkeypatch.setenv("RANKGATE_SMTP_FROM", "rankgate@example.org")
    with new_file(tmp_path / "judging.db") as store:
        with store.write() as connection:
            hashed = sign_in.password_hash(PASSWORD)
            number = users.add(connection, ANN, hashed, display="Ann Example").id
            users.add(connection, "root", hashed, admin=True)
            agent = "Mozilla/5.0 (Linux; Android 15) Gecko/140.0 Firefox/140.0"
            sign_in.begin_session(connection, number, address="2001:db8::7", browser=agent)
        with served(store, link="https://judging.example.org") as address:
            _person_signs_in(Browser(chromium, address), look)
            _lost_password(Browser(chromium, address), look, number)


def _person_signs_in(browser, look):
    browser.open("/sign-in")
    look("sign-in")
    browser.send("/sign-in", "location.pathname === '/projects'", name=ANN, password=PASSWORD)
    browser.open("/account")
    look("without")
    set_up = heading("Set up a second factor")
    browser.send("/account/second-factor", set_up, password=PASSWORD)
    look("set-up")
    secret = browser.text("#secret")
    wrong = "document.querySelector('[role=alert]')"
    browser.send("/account/second-factor/confirm", wrong, code="12")
    look("wrong-code")
    code = TOTP(secret).now()
    browser.send("/account/second-factor/confirm", heading("Your recovery codes"), code=code)
    look("recovery-codes")
    codes = browser.text(".codes").split()[0][:19]
    browser.open("/account")
    look("with")
    other = Visitor(browser.address)
    assert other.sign_in(ANN).headers["location"].startswith("/sign-in/code")
    browser.chromium.send("Network.clearBrowserCookies")
    browser.open("/sign-in?next=/account")
    at_code = "location.pathname === '/sign-in/code'"
    browser.send("/sign-in", at_code, name=ANN, password=PASSWORD)
    look("code")
    browser.send("/sign-in/code", "location.pathname === '/account'", code=codes)
    assert "9 recovery codes left" in browser.text("main")


def _lost_password(browser, look, number):
    browser.open("/sign-in")
    browser.chromium.ask("document.querySelector('a[href=\"/password\"]').click()")
    browser.chromium.until("location.pathname === '/password'")
    look("lost-password")
    browser.send("/password", "document.querySelector('main [role=status]')", name="no@example.org")
    look("mail-sent")
    browser.open("/sign-in")
    browser.send("/sign-in", "location.pathname === '/projects'", name="root", password=PASSWORD)
    browser.open("/users")
    browser.chromium.ask("document.querySelectorAll('details').forEach((d) => d.open = true); 1")
    look("users")
    path = f"/users/{number}/password-link"
    browser.send(path, heading("Pass this link on"))
    look("link")
    link = browser.text("#secret").removeprefix(browser.address)
    browser.chromium.send("Network.clearBrowserCookies")
    browser.open(link)
    look("new-password")
    browser.send(link, "location.pathname === '/sign-in'", password=NEW)
    look("password-is-set")
    browser.open(link)
    browser.chromium.until(heading("Refused"))
    at_code = "location.pathname === '/sign-in/code'"
    browser.open("/sign-in")
    browser.send("/sign-in", at_code, name=ANN, password=NEW)
