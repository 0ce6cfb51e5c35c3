"""The provider: its description, its keys, and the tokens that it gives for a code."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from functools import lru_cache
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import urllib3
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from rankgate.workspace.web.replies import Refused

if TYPE_CHECKING:
    from rankgate.workspace.web.oidc.settings import Oidc

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512",
               "Ed25519", "EdDSA")  # fmt: skip
"""Signatures by a key pair: one by a shared secret, or none, proves nothing."""

_LEEWAY = 60
"""Seconds by which the provider's clock may differ."""

_FRESH = 3_600.0
"""Seconds after which the provider's description is read again."""

_PATIENCE = 60.0
"""Seconds before keys are read again for a token whose key is not known."""

_MOST = 1_000_000


class Provider:
    """A provider of OpenID Connect, by its discovery document.

    Args:
        settings: how to ask it.
        clock: the time in seconds, for tests.
    """

    def __init__(self, settings: Oidc, clock: Any = time.monotonic) -> None:
        self.settings = settings
        timeout = urllib3.Timeout(connect=5, read=10)
        self._http = urllib3.PoolManager(timeout=timeout, retries=False)
        self._clock, self._lock = clock, threading.Lock()
        self._described: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, KeySet] | None = None

    def begin(self, redirect: str) -> tuple[str, dict[str, str]]:
        """Where a browser goes to sign in, and what is kept until it is back.

        Raises:
            Refused: the provider does not answer.
        """
        kept = {name: token_urlsafe(32) for name in ("state", "nonce", "verifier")}
        address = prepare_grant_uri(
            self.description()["authorization_endpoint"],
            self.settings.client_id,
            "code",
            redirect_uri=redirect,
            scope=" ".join(self.settings.scopes),
            state=kept["state"],
            nonce=kept["nonce"],
            code_challenge=create_s256_code_challenge(kept["verifier"]),
            code_challenge_method="S256",
        )
        return address, kept

    def claims(
        self, code: str, kept: Mapping[str, str], redirect: str, issuer: str | None
    ) -> Mapping[str, Any]:
        """Who signed in, by the code that the browser brought.

        Args:
            code: of the provider.
            kept: from `begin`.
            redirect: the address to which the browser was sent back.
            issuer: who sent it, if the answer says so.

        Raises:
            Refused: the provider refuses the code; a token that proves nothing.
        """
        described = self.description()
        says = described.get("authorization_response_iss_parameter_supported") is True
        if issuer != self.settings.issuer and (says or issuer is not None):
            raise _unproven("the answer is of another issuer")
        token = self._token(described, code, kept["verifier"], redirect)
        try:
            return self._checked(token, kept["nonce"])
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise _unproven(getattr(error, "error", None) or type(error).__name__) from None

    def description(self) -> dict[str, Any]:
        """The discovery document.

        Raises:
            Refused: it cannot be read, or is of another issuer.
        """
        with self._lock:
            kept = self._described
        if kept is not None and self._clock() - kept[0] < _FRESH:
            return kept[1]
        issuer = self.settings.issuer
        found = self._json("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        needed = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        secure = issuer.startswith("http:")
        if found.get("issuer") != issuer or not all(
            isinstance(found.get(each), str) and (secure or found[each].startswith("https:"))
            for each in needed
        ):
            raise _unreachable("its description is of another issuer, or lacks an address")
        with self._lock:
            self._described = (self._clock(), found)
        return found

    def _token(
        self, described: Mapping[str, Any], code: str, verifier: str, redirect: str
    ) -> Mapping[str, Any]:
        settings = self.settings
        sent = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect,
                "code_verifier": verifier}  # fmt: skip
        headers = {"content-type": "application/x-www-form-urlencoded"}
        ways = described.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if settings.client_secret and "client_secret_basic" in ways:
            pair = (settings.client_id, settings.client_secret)  # encoded first, by RFC 6749
            basic = ":".join(quote(each, safe="") for each in pair)
            headers |= urllib3.util.make_headers(basic_auth=basic)
        else:
            sent["client_id"] = settings.client_id
            if settings.client_secret:
                sent["client_secret"] = settings.client_secret
        return self._json(
            "POST", described["token_endpoint"], body=urlencode(sent), headers=headers
        )

    def _checked(self, token: Mapping[str, Any], nonce: str) -> Mapping[str, Any]:
        """The claims of an ID token: signature, issuer, audience, times and nonce are right."""
        client = self.settings.client_id
        registry = JWSRegistry(algorithms=_ALGORITHMS, strict_check_header=False)
        try:
            found = jwt.decode(token["id_token"], self._key_set(), registry=registry)
        except InvalidKeyIdError:  # the provider has changed its keys
            found = jwt.decode(token["id_token"], self._key_set(again=True), registry=registry)
        claims = CodeIDToken(
            found.claims,
            found.header,
            {
                "iss": {"essential": True, "value": self.settings.issuer},
                "aud": {"essential": True, "value": client},
                "sub": {"essential": True},
                "nonce": {"essential": True, "value": nonce},
            },
            {"nonce": nonce, "client_id": client, "access_token": token.get("access_token")},
        )
        claims.validate(leeway=_LEEWAY)
        if not isinstance(claims["sub"], str):
            raise _unproven("its subject is not a text")
        return dict(claims)

    def _key_set(self, *, again: bool = False) -> KeySet:
        with self._lock:
            kept = self._keys
        age = float("inf") if kept is None else self._clock() - kept[0]
        if kept is not None and age < (_PATIENCE if again else _FRESH):
            return kept[1]
        found = KeySet.import_key_set(self._json("GET", self.description()["jwks_uri"]))  # type: ignore[arg-type]
        with self._lock:
            self._keys = (self._clock(), found)
        return found

    def _json(self, method: str, address: str, **how: Any) -> dict[str, Any]:
        try:
            answer = self._http.request(
                method, address, preload_content=False, redirect=False, **how
            )
            content = answer.read(_MOST)
            answer.release_conn()
            found = json.loads(content)
        except (urllib3.exceptions.HTTPError, ValueError):
            raise _unreachable("it does not answer as it should") from None
        if not isinstance(found, dict):
            raise _unreachable("it does not answer as it should")
        if answer.status != 200:
            raise _unproven(f"status {answer.status}")
        return found


@lru_cache(maxsize=10)
def provider_of(settings: Oidc) -> Provider:
    """The provider of a server, with what it keeps."""
    return Provider(settings)


def _unreachable(problem: str) -> Refused:
    return Refused(503, "provider-unreachable", f"The sign-in provider cannot be used: {problem}.")


def _unproven(problem: str) -> Refused:
    words = f"The sign-in provider's answer proves nothing ({problem}); sign in again."
    return Refused(403, "sign-in-unproven", words)
