"""Sign in at the provider of OpenID Connect: begin there, and come back."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from rankgate.core.extras import require
from rankgate.store.people import audit, sessions
from rankgate.workspace.web.endpoint import SESSION
from rankgate.workspace.web.oidc import pending
from rankgate.workspace.web.oidc.people import find_user
from rankgate.workspace.web.pages.sign_in import begin_session, own_path
from rankgate.workspace.web.replies import ActionReply, RedirectReply, RequestRefused, not_found

if TYPE_CHECKING:
    from rankgate.workspace.web.asked import WebRequest
    from rankgate.workspace.web.oidc.provider import Provider
    from rankgate.workspace.web.oidc.settings import OidcSettings

_PATH = "/sign-in/oidc"


def _oidc_settings(request: WebRequest) -> OidcSettings:
    if request.config.oidc is None:
        raise not_found()
    return request.config.oidc


def _find_provider(settings: OidcSettings) -> Provider:
    require("sign-in by OpenID Connect needs Authlib and joserfc", "authlib", "joserfc")
    from rankgate.workspace.web.oidc.provider import find_provider

    return find_provider(settings)


def _redirect_address(request: WebRequest) -> str:
    return f"{request.origin}{request.config.base}{_PATH}/callback"


def begin_oidc(request: WebRequest) -> RedirectReply:
    """Go to the provider."""
    settings = _oidc_settings(request)
    address, pending_state = _find_provider(settings).begin(_redirect_address(request))
    pending_state |= {
        "next": own_path(request.values["next"]),
        "invitation": request.values["invitation"] or "",
    }
    return RedirectReply(address, {pending.COOKIE: pending.seal_cookie(settings, pending_state)})


def oidc_callback(request: WebRequest) -> ActionReply:
    """Come back from the provider, and sign in with a new session."""
    settings, fields = _oidc_settings(request), request.values
    pending_state = pending.open_cookie(settings, request.cookies.get(pending.COOKIE, ""))
    if pending_state is None or not hmac.compare_digest(
        pending_state["state"].encode(), (fields["state"] or "").encode()
    ):
        problem = "This sign-in was not begun in this browser, or too long ago; sign in again."
        raise RequestRefused(403, "unknown-state", problem)
    if fields["error"] or not fields["code"]:
        raise RequestRefused(403, "provider-refused", "The sign-in provider did not sign you in.")
    with request.store.write() as connection:
        if sessions.use_once(connection, pending_state["state"]):
            raise RequestRefused(
                403, "unknown-state", "This sign-in was used already; sign in again."
            )
    claims = _find_provider(settings).claims(
        fields["code"], pending_state, _redirect_address(request), fields["iss"]
    )
    try:
        with request.store.write() as connection:
            user = find_user(connection, settings, claims, pending_state["invitation"])
            secret = begin_session(request, connection, user)
    except RequestRefused as refused:
        with request.store.write() as connection:
            details = {"code": refused.code, "issuer": settings.issuer}
            nobody = audit.Actor("nobody")
            audit.record(
                connection, nobody, "sign-in.failed", _claimed_email(claims), details=details
            )
        raise
    cookies = {SESSION: secret, pending.COOKIE: None}
    return ActionReply(own_path(pending_state["next"]), {"user": user.name}, cookies=cookies)


def _claimed_email(claims: object) -> str:
    email = claims.get("email") if isinstance(claims, dict) else None
    return email[:100] if isinstance(email, str) and email.isprintable() else ""
