"""Sign in at the provider of OpenID Connect: begin there, and come back."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from rankgate.core.extras import require
from rankgate.store.people import audit, sessions
from rankgate.workspace.web.endpoint import SESSION
from rankgate.workspace.web.oidc import pending
from rankgate.workspace.web.oidc.people import user_of
from rankgate.workspace.web.pages.sign_in import begun, inside
from rankgate.workspace.web.replies import Away, Done, Refused, not_found

if TYPE_CHECKING:
    from rankgate.workspace.web.asked import Asked
    from rankgate.workspace.web.oidc.provider import Provider
    from rankgate.workspace.web.oidc.settings import Oidc

_PATH = "/sign-in/oidc"


def _settings(asked: Asked) -> Oidc:
    if asked.config.oidc is None:
        raise not_found()
    return asked.config.oidc


def _provider(settings: Oidc) -> Provider:
    require("sign-in by OpenID Connect needs Authlib and joserfc", "authlib", "joserfc")
    from rankgate.workspace.web.oidc.provider import provider_of

    return provider_of(settings)


def _redirect(asked: Asked) -> str:
    return f"{asked.origin}{asked.config.base}{_PATH}/callback"


def begin(asked: Asked) -> Away:
    """Go to the provider."""
    settings = _settings(asked)
    address, kept = _provider(settings).begin(_redirect(asked))
    kept |= {
        "next": inside(asked.values["next"]),
        "invitation": asked.values["invitation"] or "",
    }
    return Away(address, {pending.COOKIE: pending.sealed(settings, kept)})


def callback(asked: Asked) -> Done:
    """Come back from the provider, and sign in; a session begins anew."""
    settings, given = _settings(asked), asked.values
    kept = pending.opened(settings, asked.cookies.get(pending.COOKIE, ""))
    if kept is None or not hmac.compare_digest(
        kept["state"].encode(), (given["state"] or "").encode()
    ):
        problem = "This sign-in was not begun in this browser, or too long ago; sign in again."
        raise Refused(403, "unknown-state", problem)
    if given["error"] or not given["code"]:
        raise Refused(403, "provider-refused", "The sign-in provider did not sign you in.")
    with asked.store.write() as connection:
        if sessions.spent(connection, kept["state"]):
            raise Refused(403, "unknown-state", "This sign-in was used already; sign in again.")
    claims = _provider(settings).claims(given["code"], kept, _redirect(asked), given["iss"])
    try:
        with asked.store.write() as connection:
            user = user_of(connection, settings, claims, kept["invitation"])
            secret = begun(asked, connection, user)
    except Refused as refused:
        with asked.store.write() as connection:
            details = {"code": refused.code, "issuer": settings.issuer}
            nobody = audit.Actor("nobody")
            audit.record(connection, nobody, "sign-in.failed", _named(claims), details=details)
        raise
    cookies = {SESSION: secret, pending.COOKIE: None}
    return Done(inside(kept["next"]), {"user": user.name}, cookies=cookies)


def _named(claims: object) -> str:
    email = claims.get("email") if isinstance(claims, dict) else None
    return email[:100] if isinstance(email, str) and email.isprintable() else ""
