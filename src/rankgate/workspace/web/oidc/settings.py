"""Settings of sign-in by OpenID Connect, of a TOML file and the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from rankgate.core.declare.toml import TomlFile
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.tables.people import ROLES

_CODE = "invalid-oidc-settings"
_TEXT_KEYS = ("issuer", "client_id", "client_secret_file", "title", "groups_claim", "new_users")
_KEYS = (*_TEXT_KEYS, "scopes", "domains", "viewer_of", "groups", "emails_are_verified")
_VARIABLES = {
    "issuer": "RANKGATE_OIDC_ISSUER",
    "client_id": "RANKGATE_OIDC_CLIENT_ID",
    "client_secret_file": "RANKGATE_OIDC_CLIENT_SECRET_FILE",
    "title": "RANKGATE_OIDC_TITLE",
}
_SECRET = "RANKGATE_OIDC_CLIENT_SECRET"  # noqa: S105 - the name of a variable


@dataclass(frozen=True)
class OidcSettings:
    """The settings of sign-in by OpenID Connect.

    Attributes:
        issuer: the provider's address, as its tokens name it.
        client_id: what the provider knows this server as.
        client_secret: what the provider gave it; empty for a public client.
        title: of the provider, on the button.
        scopes: that are asked for.
        domains: of e-mail addresses that may sign in; empty is all.
        new_users: who may become a user: those who are ``invited``, or anyone as ``viewer``.
        viewer_of: projects that new users may look at.
        groups: for each group of the provider, projects with a role in each.
        groups_claim: the claim that names a user's groups.
        emails_are_verified: True if the provider gives only addresses that it has verified.
    """

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    title: str = ""
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    domains: tuple[str, ...] = ()
    new_users: Literal["invited", "viewer"] = "invited"
    viewer_of: tuple[str, ...] = ()
    groups: tuple[tuple[str, str, str], ...] = ()
    groups_claim: str = "groups"
    emails_are_verified: bool = False

    @property
    def name(self) -> str:
        """The provider's name on the button."""
        return self.title or urlsplit(self.issuer).netloc


def read_oidc_settings(
    file: Path | None, environment: Mapping[str, str] = os.environ
) -> OidcSettings | None:
    """The settings; None where nothing names an issuer.

    Args:
        file: a TOML file with a table ``[oidc]``; variables of the environment come first.
        environment: ``RANKGATE_OIDC_ISSUER``, ``_CLIENT_ID``, ``_CLIENT_SECRET`` and others.

    Raises:
        InputError: the file cannot be read, or a value of it cannot be.
        UsageError: an address that is not safe, a secret that others can read.
    """
    toml = TomlFile.parse("", "the environment", code=_CODE)
    if file is not None:
        toml = TomlFile.read(file, ("oidc",), code=_CODE)
        toml.check_keys(toml.values, _KEYS)
    table = dict(toml.values)
    table |= {
        name: environment[variable]
        for name, variable in _VARIABLES.items()
        if environment.get(variable)
    }
    if file is None and "issuer" not in table:
        return None
    for name in _TEXT_KEYS:
        if not isinstance(table.get(name, ""), str):
            raise toml.error(f"{name} is a text.", name)
    for name in ("issuer", "client_id"):
        if not table.get(name):
            raise toml.error(f"{name} is missing, or {_VARIABLES[name]}.", name)
    if table.get("new_users", "invited") not in {"invited", "viewer"}:
        raise toml.error('new_users is "invited" or "viewer".', "new_users")
    return OidcSettings(
        issuer=_check_issuer(table["issuer"]),
        client_id=table["client_id"],
        client_secret=environment.get(_SECRET) or _read_secret(table.get("client_secret_file")),
        title=table.get("title", ""),
        scopes=_read_list(toml, table, "scopes") or OidcSettings.scopes,
        domains=tuple(domain.lower().lstrip("@") for domain in _read_list(toml, table, "domains")),
        new_users=table.get("new_users", "invited"),
        viewer_of=_read_list(toml, table, "viewer_of"),
        groups=_read_groups(toml, table.get("groups", {})),
        groups_claim=table.get("groups_claim", "groups"),
        emails_are_verified=table.get("emails_are_verified") is True,
    )


def _check_issuer(issuer: str) -> str:
    """An issuer that is reached by TLS, or is on this machine."""
    try:
        parts = urlsplit(issuer)
        is_local = parts.hostname in {"localhost", "127.0.0.1", "::1"}
    except ValueError:
        parts, is_local = urlsplit(""), False
    if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
        problem = f"the issuer {issuer!r} is not an https address, so that tokens could be forged."
        raise UsageError(problem, code="insecure-address")
    return issuer


def _read_secret(file: str | None) -> str:
    """The secret in a file that only its owner may read."""
    if file is None:
        return ""
    try:
        mode = Path(file).stat().st_mode
        secret = Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}.", code="cannot-read") from None
    if mode & 0o077:
        problem = f"{file}: others may read this secret; chmod 600 {file}"
        raise UsageError(problem, code="secret-readable")
    return secret


def _read_list(toml: TomlFile, table: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = table.get(name, [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise toml.error(f"{name} is a list of texts.", name)
    return tuple(value)


def _read_groups(toml: TomlFile, table: Any) -> tuple[tuple[str, str, str], ...]:
    """Group, project and role, of values such as ``"search" = ["shop:rater"]``."""
    if not isinstance(table, dict):
        raise toml.error("groups is a table.", "groups")
    grants = []
    for group, value in table.items():
        for grant_text in [value] if isinstance(value, str) else value:
            project, _, role = (
                grant_text.rpartition(":") if isinstance(grant_text, str) else ("", "", "")
            )
            if not project or role not in ROLES:
                problem = f"{grant_text!r} is not a project and a role, as in shop:rater."
                raise toml.error(problem, "groups", group)
            grants.append((group, project, role))
    return tuple(grants)
