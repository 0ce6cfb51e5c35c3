"""Engines of projects, made from stored definitions within the limits of the operator.

Managers of a project write definitions on pages, so a server reads them with limits: the hosts
that an engine may connect to, the environment variables that it may name, and the folder of its
files are settings of the server. A command at a terminal has no limits.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Self

from rankgate.core.declare import fields_of
from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.engines.configuration import ENGINES, Configuration, Pace
from rankgate.engines.engine import Engine
from rankgate.engines.requests.secrets import plain_text_secrets
from rankgate.store.material.project_engines import ProjectEngine

ACCESS_VARIABLE = "RANKGATE_ENGINE_ACCESS"
"""The environment variable by which a server tells its jobs what engines may reach."""


@dataclass(frozen=True)
class EngineAccess:
    """What the engines of a project may reach.

    Attributes:
        hosts: names of hosts, each with a port or for all ports.
        secrets: names of environment variables.
        programs: True if engines may be programs of the server's machine, or Python functions.
        folder: the folder that has a sub-folder of engine files for each project, by the project's
            name; None if engines may read no files.
        rate: the queries a second that an engine gets at most; None is unlimited.
    """

    hosts: frozenset[str] = frozenset()
    secrets: frozenset[str] = frozenset()
    programs: bool = False
    folder: Path | None = None
    rate: float | None = None

    def limit_rate(self, rate: float | None) -> float | None:
        """The queries a second at a wanted rate; None is unlimited."""
        rates = [limit for limit in (rate, self.rate) if limit is not None]
        return min(rates) if rates else None

    @classmethod
    def from_environment(cls) -> Self | None:
        """The access that a server gave to this process; None in a process that a user started."""
        text = os.environ.get(ACCESS_VARIABLE)
        if text is None:
            return None
        values = json.loads(text)
        return cls(
            frozenset(values["hosts"]),
            frozenset(values["secrets"]),
            bool(values["programs"]),
            Path(values["folder"]) if values["folder"] else None,
            values["rate"],
        )

    def to_environment(self) -> dict[str, str]:
        """The environment variable that gives this access to a process."""
        values = {
            "hosts": sorted(self.hosts),
            "secrets": sorted(self.secrets),
            "programs": self.programs,
            "folder": None if self.folder is None else str(self.folder.resolve()),
            "rate": self.rate,
        }
        return {ACCESS_VARIABLE: json.dumps(values)}


def read_project_engine(
    definition: ProjectEngine, project: str, access: EngineAccess | None
) -> Configuration:
    """The engine of a definition.

    Args:
        definition: the stored definition.
        project: the name of its project.
        access: the resources that the engine may use; None is unlimited, with files in the working
            folder.

    Raises:
        InputError: an unknown key, or a value that does not fit.
        UsageError: an unknown kind; settings that do not work together; a host, a secret, a program
            or a file that is not allowed.
    """
    declaration = ENGINES.find(definition.kind).declaration
    source = f"engine {definition.name}"
    file = TomlFile({"engine": definition.settings}, source, {}, code="invalid-engine")
    values = file.read_values(dict(definition.settings), fields_of(declaration).values(), "engine")
    engine = declaration(**values)
    engine.check()
    home = Path.cwd() if access is None else _project_folder(access, project)
    if access is not None:
        _refuse_secrets(definition, engine, access)
    engine = _resolve_paths(engine, home, is_restricted=access is not None)
    if access is not None:
        _refuse_addresses(engine, access)
        _refuse_headers(engine)
    return Configuration(definition.name, engine, Pace())


def _project_folder(access: EngineAccess, project: str) -> Path | None:
    return None if access.folder is None else access.folder.resolve() / project


def _refuse_secrets(definition: ProjectEngine, engine: Engine, access: EngineAccess) -> None:
    """Refuse variables that are not allowed, and secrets written as plain text."""
    allowed_names = ", ".join(sorted(access.secrets)) or "none"
    for name in definition.secrets:
        if name not in access.secrets:
            raise UsageError(
                f"the environment variable {name} is not for engines of projects; who runs the server allows "
                f"{allowed_names}.",
                code="secret-not-allowed",
            )
    for name, _ in plain_text_secrets(engine):
        raise UsageError(
            f"{name} contains a plain secret, which would be kept in the store; write the name of an "
            f"environment variable as ${{NAME}}. Allowed: {allowed_names}.",
            code="secret-in-settings",
        )


def _resolve_paths(engine: Engine, home: Path | None, *, is_restricted: bool) -> Engine:
    """The engine with its paths resolved from a folder; a server refuses paths outside of it."""
    paths: dict[str, Any] = {}
    for setting in fields(engine):
        value = getattr(engine, setting.name)
        if not setting.metadata.get("path") or not value:
            continue
        if home is None or (is_restricted and not home.is_dir()):
            raise UsageError(
                f"{setting.name}: this server has no folder with files of the project; who runs it names one "
                "with --jobs.",
                code="missing-input",
            )
        path = (home / value).resolve() if is_restricted else home / value
        if is_restricted and not path.is_relative_to(home):
            problem = f"{setting.name} is not in the folder of the project's files."
            raise UsageError(problem, code="outside-folder")
        paths[setting.name] = str(path)
    return replace(engine, **paths)


_CONNECTION_HEADERS = frozenset(
    (
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
"""Headers that say where a request goes and where it ends: behind a shared proxy they reach other hosts."""


def _refuse_headers(engine: Engine) -> None:
    """Refuse headers that are those of the connection."""
    headers = getattr(engine, "headers", {})
    for name in headers if isinstance(headers, Mapping) else ():
        word = str(name).strip().lower()
        if word in _CONNECTION_HEADERS or word.startswith("proxy-"):
            raise UsageError(
                f"headers: the connection sets {name} itself; leave it out.", code="header-not-allowed"
            )


def _refuse_addresses(engine: Engine, access: EngineAccess) -> None:
    """Refuse hosts that are not allowed, and kinds that run code."""
    addresses = engine.addresses()
    if addresses is None:
        if not access.programs:
            raise UsageError(
                f"an engine of kind {engine.engine_kind} runs code on the server; who runs the server allows "
                "it with --engine-programs.",
                code="programs-not-allowed",
            )
        return
    for address in addresses:
        host = address.rpartition(":")[0]
        if not {host, address} & access.hosts:
            allowed_hosts = ", ".join(sorted(access.hosts)) or "none"
            raise UsageError(
                f"the host {address} is not allowed for engines of projects; who runs the server adds it "
                f"with --engine-host. Allowed: {allowed_hosts}.",
                code="host-not-allowed",
            )
