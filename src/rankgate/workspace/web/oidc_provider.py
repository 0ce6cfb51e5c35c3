"""The OpenID Connect provider: its description, keys, and tokens in exchange for a code."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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

from rankgate.workspace.web.replies import RequestRefused

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.workspace.web.oidc_users import OidcSettings


_ALGORITHMS = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "Ed25519",
    "EdDSA",
)
"""Signature algorithms with a key pair; shared secrets and unsigned tokens are not accepted."""

_LEEWAY = 60
"""The largest accepted difference of the provider's clock, in seconds."""

_CACHE_SECONDS = 3_600.0
"""Seconds after which the provider's description is read again."""

_KEY_REFRESH_SECONDS = 60.0
"""Seconds before keys are read again for a token with an unknown key."""

_MAX_ANSWER_BYTES = 1_000_000


@dataclass(frozen=True)
class ProviderDescription:
    """The contents of a provider's discovery document.

    Attributes:
        authorization_endpoint: the address to which the browser is sent.
        token_endpoint: the address that exchanges a code for a token.
        jwks_uri: the address of the keys.
        takes_basic: True if a client may send its secret with HTTP Basic.
        sends_issuer: True if responses name the issuer.
    """

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    takes_basic: bool
    sends_issuer: bool


class Provider:
    """An OpenID Connect provider, described by its discovery document.

    Args:
        settings: the settings for the provider.
        clock: the time in seconds, for tests.
    """

    def __init__(self, settings: OidcSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        timeout = urllib3.Timeout(connect=5, read=10)
        self._http = urllib3.PoolManager(timeout=timeout, retries=False)
        self._clock, self._lock = clock, threading.Lock()
        self._described: tuple[float, ProviderDescription] | None = None
        self._keys: tuple[float, KeySet] | None = None

    def begin(self, redirect: str) -> tuple[str, dict[str, str]]:
        """Start a sign-in: return the browser's address, and secrets to keep until its return.

        Raises:
            Refused: the provider does not answer.
        """
        sign_in_secrets = {name: token_urlsafe(32) for name in ("state", "nonce", "verifier")}
        address = prepare_grant_uri(
            self.description().authorization_endpoint,
            self.settings.client_id,
            "code",
            redirect_uri=redirect,
            scope=" ".join(self.settings.scopes),
            state=sign_in_secrets["state"],
            nonce=sign_in_secrets["nonce"],
            code_challenge=create_s256_code_challenge(sign_in_secrets["verifier"]),
            code_challenge_method="S256",
        )
        return address, sign_in_secrets

    def claims(
        self, code: str, sign_in_secrets: Mapping[str, str], redirect: str, issuer: str | None
    ) -> JsonObject:
        """The claims of the signed-in user, for the code from the browser.

        Args:
            code: the code from the provider.
            sign_in_secrets: the secrets from `begin`.
            redirect: the address to which the browser was redirected.
            issuer: the issuer in the response, if any.

        Raises:
            Refused: the provider refuses the code; the token is not valid.
        """
        description = self.description()
        if issuer != self.settings.issuer and (description.sends_issuer or issuer is not None):
            raise _unproven_answer("the answer is of another issuer")
        token = self._token(description, code, sign_in_secrets["verifier"], redirect)
        try:
            return self._checked(token, sign_in_secrets["nonce"])
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise _unproven_answer(getattr(error, "error", None) or type(error).__name__) from None

    def description(self) -> ProviderDescription:
        """The contents of the discovery document.

        Raises:
            Refused: the document cannot be read, or names another issuer.
        """
        with self._lock:
            cached = self._described
        if cached is not None and self._clock() - cached[0] < _CACHE_SECONDS:
            return cached[1]
        issuer = self.settings.issuer
        document = self._json("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        needed_start = "" if issuer.startswith("http:") else "https:"
        required_keys = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        addresses = [
            address
            for name in required_keys
            if isinstance(address := document.get(name), str) and address.startswith(needed_start)
        ]
        if document.get("issuer") != issuer or len(addresses) < len(required_keys):
            raise _unreachable("its description is of another issuer, or lacks an address")
        authorization, token, keys = addresses
        auth_methods = document.get("token_endpoint_auth_methods_supported")
        description = ProviderDescription(
            authorization,
            token,
            keys,
            takes_basic=not auth_methods
            or (isinstance(auth_methods, list) and "client_secret_basic" in auth_methods),
            sends_issuer=document.get("authorization_response_iss_parameter_supported") is True,
        )
        with self._lock:
            self._described = (self._clock(), description)
        return description

    def _token(self, description: ProviderDescription, code: str, verifier: str, redirect: str) -> JsonObject:
        settings = self.settings
        parameters = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "code_verifier": verifier,
        }
        headers = {"content-type": "application/x-www-form-urlencoded"}
        if settings.client_secret and description.takes_basic:
            pair = (settings.client_id, settings.client_secret)  # encoded first, by RFC 6749
            basic = ":".join(quote(credential, safe="") for credential in pair)
            headers |= urllib3.util.make_headers(basic_auth=basic)
        else:
            parameters["client_id"] = settings.client_id
            if settings.client_secret:
                parameters["client_secret"] = settings.client_secret
        return self._json("POST", description.token_endpoint, body=urlencode(parameters), headers=headers)

    def _checked(self, token: JsonObject, nonce: str) -> JsonObject:
        """Check an ID token: signature, issuer, audience, times and nonce; return its claims."""
        client = self.settings.client_id
        registry = JWSRegistry(algorithms=_ALGORITHMS, strict_check_header=False)
        id_token = token["id_token"]
        if not isinstance(id_token, str):
            raise TypeError("the ID token is not a text")
        try:
            decoded = jwt.decode(id_token, self._key_set(), registry=registry)
        except InvalidKeyIdError:  # the provider has changed its keys
            decoded = jwt.decode(id_token, self._key_set(again=True), registry=registry)
        claims = CodeIDToken(
            decoded.claims,
            decoded.header,
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
            raise _unproven_answer("its subject is not a text")
        return dict(claims)

    def _key_set(self, *, again: bool = False) -> KeySet:
        with self._lock:
            cached = self._keys
        age = float("inf") if cached is None else self._clock() - cached[0]
        if cached is not None and age < (_KEY_REFRESH_SECONDS if again else _CACHE_SECONDS):
            return cached[1]
        keys = KeySet.import_key_set(self._json("GET", self.description().jwks_uri))  # type: ignore[arg-type]
        with self._lock:
            self._keys = (self._clock(), keys)
        return keys

    def _json(self, method: str, address: str, **how: Any) -> dict[str, Json]:
        try:
            answer = self._http.request(method, address, preload_content=False, redirect=False, **how)
            content = answer.read(_MAX_ANSWER_BYTES)
            answer.release_conn()
            document = json.loads(content)
        except urllib3.exceptions.HTTPError:
            raise _unreachable("it does not answer") from None
        except ValueError:
            raise _unreachable("it sent an unexpected answer") from None
        if not isinstance(document, dict):
            raise _unreachable("it sent an unexpected answer")
        if answer.status != 200:
            raise _unproven_answer(f"status {answer.status}")
        return document


def _unreachable(problem: str) -> RequestRefused:
    return RequestRefused(503, "provider-unreachable", f"The sign-in provider cannot be used: {problem}.")


def _unproven_answer(problem: str) -> RequestRefused:
    message = f"The sign-in provider's answer is not valid ({problem}); sign in again."
    return RequestRefused(403, "sign-in-unproven", message)
