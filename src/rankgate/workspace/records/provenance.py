"""The revision and branch of git that an evaluation comes from, from git or a build server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from rankgate.core.frozen import dataclass

_REVISION_VARIABLES = (
    "GITHUB_SHA",
    "CI_COMMIT_SHA",
    "BITBUCKET_COMMIT",
    "CIRCLE_SHA1",
    "GIT_COMMIT",
    "BUILDKITE_COMMIT",
    "BUILD_SOURCEVERSION",
    "TRAVIS_COMMIT",
)
_BRANCH_VARIABLES = (
    "GITHUB_HEAD_REF",
    "GITHUB_REF_NAME",
    "CI_COMMIT_REF_NAME",
    "BITBUCKET_BRANCH",
    "CIRCLE_BRANCH",
    "GIT_BRANCH",
    "BUILDKITE_BRANCH",
    "BUILD_SOURCEBRANCHNAME",
    "TRAVIS_BRANCH",
)
_TIMEOUT = 10


@dataclass(frozen=True)
class Provenance:
    """A state of a repository.

    Attributes:
        revision: the commit; empty if nothing is known.
        branch: its branch.
        changed: whether files differ from the commit.
    """

    revision: str = ""
    branch: str = ""
    changed: bool = False

    @property
    def name(self) -> str:
        """The commit; with ``+`` where files differ from it."""
        return f"{self.revision}+" if self.revision and self.changed else self.revision


def provenance(
    folder: str | Path = ".", environment: Mapping[str, str] | None = None
) -> Provenance:
    """The commit and branch of a folder; without git those that a build server names.

    Args:
        folder: inside of the repository.
        environment: variables; by default those of the process.
    """
    variables = os.environ if environment is None else environment
    revision = _run_git(folder, "rev-parse", "HEAD")
    branch = _first_set(variables, _BRANCH_VARIABLES)
    if not revision:
        return Provenance(_first_set(variables, _REVISION_VARIABLES), branch)
    if not branch:  # a build server checks out a commit, and git does not know its branch
        branch = _run_git(folder, "symbolic-ref", "--quiet", "--short", "HEAD")
    is_changed = bool(_run_git(folder, "status", "--porcelain", "--untracked-files=no"))
    return Provenance(revision, branch, is_changed)


def _first_set(variables: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((variables[name] for name in names if variables.get(name)), "")


def _run_git(folder: str | Path, *arguments: str) -> str:
    """The output of a git command; empty if it fails or git is not installed."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout.strip() if process.returncode == 0 else ""
