"""Where an evaluation comes from: revision and branch of git, from git or a build server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from rankgate.core.frozen import dataclass

_REVISIONS = ("GITHUB_SHA", "CI_COMMIT_SHA", "BITBUCKET_COMMIT", "CIRCLE_SHA1", "GIT_COMMIT",
              "BUILDKITE_COMMIT", "BUILD_SOURCEVERSION", "TRAVIS_COMMIT")  # fmt: skip
_BRANCHES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BITBUCKET_BRANCH",
             "CIRCLE_BRANCH", "GIT_BRANCH", "BUILDKITE_BRANCH", "BUILD_SOURCEBRANCHNAME",
             "TRAVIS_BRANCH")  # fmt: skip
_SECONDS = 10


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
    known = os.environ if environment is None else environment
    revision = _git(folder, "rev-parse", "HEAD")
    branch = _first(known, _BRANCHES)
    if not revision:
        return Provenance(_first(known, _REVISIONS), branch)
    if not branch:  # a build server checks out a commit, of which git does not know the branch
        branch = _git(folder, "symbolic-ref", "--quiet", "--short", "HEAD")
    changed = bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))
    return Provenance(revision, branch, changed)


def _first(known: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((known[name] for name in names if known.get(name)), "")


def _git(folder: str | Path, *words: str) -> str:
    """What git answers; empty where it knows nothing, or is not installed."""
    command = ["git", "-C", str(folder), *words]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
