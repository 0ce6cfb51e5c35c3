"""The steps of CI, by name, or `all`; without names those that changes since their last pass can touch.

Everything happens in build/ci, a clone of what is committed. The commands of the README run first,
with nothing on the PATH but Python, make, Git and the tools of a shell; what makes more tests
possible is installed after them, and then the tests that were skipped run. Environments, and the
cache of mypy, are kept in build/environments, as long as the files that declare them and Python are
the same: one for the commands of the README, in which nothing else is installed, and one for all
other steps. Beside them are the commits at which the dearest steps passed. Such a step is left out,
and says so, if `tests/changed.py` lists none of its tests for what changed since then.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLONE = ROOT / "build" / "ci"
LOWEST = re.findall(
    r"tests/[\w/.]+",
    re.findall(r"^LOWEST :=((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)[0],
)
"""The tests of `make lowest`."""
INSTALLED = (".venv", "build/lowest", "build/engines", "build/objects", ".mypy_cache")
"""Folders that are kept for the next clone; mypy looks at the contents of files, and not at their times."""
DECLARED = (
    "pyproject.toml",
    "constraints.txt",
    "hatch_build.py",
    "Makefile",
    ".ci/lowest.py",
    "tests/engines/opensearch/pom.xml",
    "tests/data/libraries.txt",
)
"""Files that say what is in these folders."""
SKIPPED = CLONE / "build" / "skipped.json"
EXECUTED = CLONE / "build" / "coverage"
"""Which statements the bare tests executed."""
CONDITIONAL = {
    "lowest": (".ci/lowest.py", *LOWEST),
    "extras": ("release", "tests/test_extras.py", "tests/cli/test_help_examples.py"),
    "objects": ("tests/data/libraries.txt", "tests/data/test_objects_of_libraries.py"),
}
"""Steps that are left out if none of these files, and no test in these folders, is touched."""
CONDITIONAL_NEEDS = ("pyspark", "postgresql")
"""Tests with one of these needs are left out of the step `skipped` in the same way."""
SEPARATE_NEEDS = {
    "pyspark": ("tests/spark", "tests/online/test_backends.py"),
    "postgresql": ("tests/store", "tests/watching", "tests/web", "tests/engines", "tests/browser"),
}
"""Where separate tests have these needs, which are left out of the step `separate` in the same way."""
NAMED: list[str] = []
"""The steps that this run was asked for; if there are some, nothing is left out."""
TOOLS = (
    "awk",
    "basename",
    "cat",
    "chmod",
    "comm",
    "cp",
    "cut",
    "date",
    "dirname",
    "env",
    "expr",
    "false",
    "find",
    "git",
    "grep",
    "gzip",
    "head",
    "id",
    "kill",
    "ln",
    "ls",
    "make",
    "mkdir",
    "mkfifo",
    "mktemp",
    "mv",
    "nproc",
    "printf",
    "ps",
    "pwd",
    "readlink",
    "rm",
    "rmdir",
    "sed",
    "seq",
    "sh",
    "sleep",
    "sort",
    "stat",
    "tail",
    "tar",
    "tee",
    "test",
    "touch",
    "tr",
    "true",
    "uname",
    "uniq",
    "wc",
    "xargs",
)
"""What the bare commands find on their PATH, next to Python."""
PASSED_ON = re.compile(r"HOME|LANG|(PIP|UV)_\w+|(SSL|REQUESTS|CURL)_\w+|\w+_proxy|\w+_PROXY")
"""Variables that the bare commands get: where to install packages from."""
PACKAGES = {
    ("chromium", "chromium-browser", "google-chrome"): ("chromium", "fonts-dejavu-core"),
    ("initdb", "pg_ctlcluster"): ("postgresql",),
    ("groonga",): ("groonga-bin",),
    ("caddy",): ("caddy",),
    ("nginx",): ("nginx-light",),
    ("mvn",): ("maven", "default-jre-headless"),
}
"""Programs that tests look for, and the packages of Debian and Ubuntu that have them."""
BEGAN = time.monotonic()
ENOUGH = 3_600.0
"""Seconds after which the step that installs the most is left out, as a run has to end in time."""
COUNTS = re.compile(r"(\d+) (passed|failed|skipped|errors?)\b")


@dataclass(frozen=True)
class Step:
    """A step; it fails if its function returns false. None: it could not be tried."""

    title: str
    run: Callable[[], bool | None]


def main(names: list[str]) -> int:
    """Run steps, and say at the end which ones failed, and how many tests passed."""
    NAMED[:] = names
    names = list(STEPS) if names in ([], ["all"]) else names
    if unknown := [name for name in names if name not in STEPS]:
        print(f"no such step: {', '.join(unknown)}; steps: {', '.join(STEPS)}", file=sys.stderr)
        return 2
    began, failed = time.monotonic(), []
    for name in names:
        step, start = STEPS[name], time.monotonic()
        print(f"=== {name}: {step.title}", flush=True)
        if (CLONE / "pyproject.toml").exists() and name != "clone":
            use("bare" if name == "readme" else "all")
        if name in CONDITIONAL and is_untouched(name, CONDITIONAL[name]):
            continue
        passed = step.run()
        seconds = time.monotonic() - start
        outcome = {True: "passed", False: "FAILED", None: "not tried"}[passed]
        print(f"=== {name}: {outcome} in {seconds:.0f} s", flush=True)
        if passed is False:
            failed.append(name)
        elif passed and name in CONDITIONAL:
            remember(name)
    for name in failed:
        print(f"FAILED step {name}: {STEPS[name].title}")
    if TESTS:
        print(f"{summed(TESTS)} in {time.monotonic() - began:.2f}s")
    return int(bool(failed))


def is_untouched(name: str, paths: Iterable[str]) -> bool:
    """True, with a message, if nothing that changed since the last pass can touch a test of these paths."""
    file = passes() / name
    if NAMED or not file.exists():
        return False
    commit = file.read_text("utf-8")
    touched = touched_since(commit)
    if touched is None or any(
        is_in(path, touched) or is_in(other, paths) for path in paths for other in touched
    ):
        return False
    print(
        f"=== {name}: left out: it passed at {commit[:10]}, and no change since then touches its tests; "
        f"bash .ci/run all leaves nothing out",
        flush=True,
    )
    return True


def is_in(path: str, paths: Iterable[str]) -> bool:
    """True if a path, or a folder that it is in, is among these."""
    return not {path, *map(str, Path(path).parents)}.isdisjoint(paths)


@cache
def touched_since(commit: str) -> frozenset[str] | None:
    """The files that changed since a commit, and the tests that they can touch; None if that is not known."""
    output = ""
    for command in (
        [str(CLONE / ".venv" / "bin" / "python"), "tests/changed.py", commit],
        ["git", "diff", "--name-only", commit],
    ):
        result = subprocess.run(command, cwd=CLONE, capture_output=True, text=True, check=False)
        if result.returncode:
            print(f"what changed since {commit[:10]} is not known: {result.stderr.strip()[-300:]}")
            return None
        output += result.stdout
    return frozenset(output.split("\n")) - {""}


def remember(name: str) -> None:
    """Keep the commit at which a step, or the tests with a need, passed."""
    head = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(head, cwd=CLONE, capture_output=True, text=True, check=True).stdout.strip()
    passes().mkdir(parents=True, exist_ok=True)
    (passes() / name).write_text(commit, "utf-8")


TESTS: list[tuple[str, bool]] = []
"""The last lines of pytest, and whether a run repeats tests that an earlier one skipped."""


def summed(runs: list[tuple[str, bool]]) -> str:
    """The counts of several runs of pytest in one line; of skipped tests those that never ran."""
    total: Counter[str] = Counter()
    for line, repeats in runs:
        counts = {name.removesuffix("s"): int(number) for number, name in COUNTS.findall(line)}
        if repeats:
            del total["skipped"]
        total.update(counts)
    names = [name for name in ("failed", "passed", "skipped", "error") if total[name]]
    return ", ".join(f"{total[name]} {name}" for name in names) or "0 passed"


def call(*command: str, repeats: bool = False, environment: dict[str, str] | None = None) -> bool:
    """Run a command in the clone, print what it prints, and keep the counts of pytest."""
    print("$", *command, flush=True)
    last, start = "", time.monotonic()
    with subprocess.Popen(
        command,
        cwd=CLONE,
        env=environment or {**os.environ, "CI": "true"},
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            if re.search(r"\d+ (passed|failed|skipped|errors?)\b.* in [\d.]+s", line):
                last = line
    if last:
        TESTS.append((last, repeats))
    print(f"{time.monotonic() - start:.0f} s: {' '.join(command)}", flush=True)
    return process.returncode == 0


def clone() -> bool:
    """Clone what is committed, so that nothing else is there but kept environments."""
    keep_installed()
    shutil.rmtree(CLONE, ignore_errors=True)
    CLONE.parent.mkdir(exist_ok=True)
    git = ["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(CLONE)]
    return subprocess.run(git, stdin=subprocess.DEVNULL, check=False).returncode == 0


def used() -> Path:
    """The file in the clone with the name of the environment that is there."""
    return CLONE / "build" / "environment"


def keep_installed() -> None:
    """Move what is installed in the clone out of it."""
    if not used().exists():
        return
    folder = CLONE.parent / "environments" / used().read_text("utf-8")
    for name in INSTALLED:
        if (CLONE / name).exists():
            shutil.rmtree(folder / name, ignore_errors=True)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (CLONE / name).rename(folder / name)
    used().unlink()


def version() -> str:
    """What the environments of this Python and these declarations have in common."""
    texts = [(CLONE / name).read_bytes() for name in DECLARED if (CLONE / name).exists()]
    return hashlib.sha256(b"".join([*texts, sys.version.encode()])).hexdigest()[:16]


def passes() -> Path:
    """The folder of the commits at which steps passed with these environments."""
    return CLONE.parent / "environments" / f"{version()}-passes"


def use(kind: str) -> None:
    """Have an environment in the clone, the kept one if there is one; drop those of other versions.

    Without a kept one, all other steps go on with that of the README's commands, as they install
    only more.
    """
    name, environments = f"{version()}-{kind}", CLONE.parent / "environments"
    link_programs()
    if used().exists() and used().read_text("utf-8") == name:
        return
    if kind == "bare" or (environments / name).exists():
        keep_installed()
    for folder in environments.glob("*-*"):
        if not folder.name.startswith(version()):
            shutil.rmtree(folder)
    for installed in INSTALLED:
        if (environments / name / installed).exists():
            shutil.rmtree(CLONE / installed, ignore_errors=True)
            (environments / name / installed).rename(CLONE / installed)
            print(f"{installed} is kept from an earlier run: what declares it is the same")
    for stamp in (".python", ".build", ".demo", ".run", ".dev"):  # newer than the clone's files, in order
        if (CLONE / ".venv" / stamp).exists():
            (CLONE / ".venv" / stamp).touch()
    for ready in (*CLONE.glob("build/*/.ready"), *CLONE.glob("build/engines/*/.ready")):
        ready.touch()
    used().write_text(name, "utf-8")


def link_programs() -> Path:
    """The folder with what the bare commands find, to whose Python an environment may link."""
    programs = CLONE / "build" / "bare"
    shutil.rmtree(programs, ignore_errors=True)
    programs.mkdir(parents=True)
    for tool in TOOLS:
        if path := shutil.which(tool):
            (programs / tool).symlink_to(path)
    (programs / "python3").symlink_to(sys.executable)
    return programs


@contextmanager
def bare() -> Iterator[dict[str, str]]:
    """An environment without anything that a test could find by chance."""
    programs = link_programs()
    with tempfile.TemporaryDirectory(prefix="ci-") as temporary:
        passed_on = {name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)}
        yield {
            "LANG": "C.UTF-8",
            **passed_on,
            "CI": "true",
            "PATH": str(programs),
            "TMPDIR": temporary,
            "RANKGATE_TESTS_SKIPPED": str(SKIPPED),
            "RANKGATE_TESTS_COVERAGE": str(EXECUTED),
        }


def readme() -> bool:
    """Both commands of the README."""
    with bare() as environment:
        if not call("make", "demo", environment=environment):
            return False
        passed = call("make", "test", environment=environment)
        leftovers = [path for path in Path(environment["TMPDIR"]).iterdir() if "pytest" not in path.name]
    status = ["git", "status", "--porcelain"]
    changed = subprocess.run(status, cwd=CLONE, capture_output=True, text=True, check=True).stdout
    if leftovers or changed:
        print(f"the tests left files: {', '.join(path.name for path in leftovers)}\n{changed}")
    return passed and not leftovers and not changed


def coverage() -> bool:
    """Compare what the bare tests executed with the bounds."""
    if not EXECUTED.exists():
        print(f"{EXECUTED} is missing: the step readme writes it")
        return False
    return call(str(CLONE / ".venv" / "bin" / "python"), ".ci/bounds.py", "coverage")


def system_packages() -> bool:
    """Install programs that tests look for; tests are skipped where that is not possible."""
    missing = [
        package
        for programs, packages in PACKAGES.items()
        if not any(map(shutil.which, programs))
        for package in packages
    ]
    if missing and shutil.which("apt-get"):
        root = [] if os.geteuid() == 0 else ["sudo", "-n"]
        call(*root, "apt-get", "update", "-q")
        if not call(*root, "apt-get", "install", "-yq", "--no-install-recommends", *missing):
            print(f"not installed, so that tests are skipped: {', '.join(missing)}")
    return True


def python_packages() -> bool:
    """Install PySpark and OpenSearch; tests are skipped where that is not possible."""
    for target in ("spark", "engines"):
        if not call("make", target):
            print(f"make {target} failed, so that tests are skipped")
    return True


def objects() -> bool | None:
    """Test with the objects of other libraries, where these can be installed and time is left."""
    if time.monotonic() - BEGAN > ENOUGH:
        print("the run took long, so that tests with objects of other libraries are skipped")
        return None
    if not call("make", "build/objects/.ready"):
        print("libraries were not installed, so that tests with their objects are skipped")
        return None
    return call("make", "objects")


def skipped() -> bool:
    """Run the tests that the README's commands skipped."""
    if not SKIPPED.exists():
        print(f"{SKIPPED} is missing: the step readme writes it")
        return False
    needs: dict[str, list[str]] = json.loads(SKIPPED.read_text("utf-8"))
    for need in CONDITIONAL_NEEDS:
        files = {test.partition("::")[0] for test in needs if need in needs[test]}
        if files and is_untouched(need, files):
            needs = {test: names for test, names in needs.items() if need not in names}
    if not needs:
        return True
    data = CLONE.parent / "shared"
    if not data.is_symlink():
        data.symlink_to(ROOT.parent / "shared")
    selected, again = SKIPPED.with_name("selected.json"), SKIPPED.with_name("skipped_again.json")
    selected.write_text(json.dumps(needs), "utf-8")
    again.write_text("{}", "utf-8")
    files = {"RANKGATE_TESTS_ONLY": str(selected), "RANKGATE_TESTS_SKIPPED": str(again)}
    passed = call("make", "test", environment={**os.environ, "CI": "true", **files}, repeats=True)
    tried = {name for names in needs.values() for name in names} - missing_in(again)
    for need in tried.intersection(CONDITIONAL_NEEDS):
        if passed:
            remember(need)
    return passed


def missing_in(report: Path) -> set[str]:
    """The needs for which tests were skipped."""
    return {name for names in json.loads(report.read_text("utf-8")).values() for name in names}


def separate() -> bool:
    """Run the separate tests; those with Spark or PostgreSQL are left out as in the step `skipped`."""
    report = SKIPPED.with_name("skipped_separately.json")
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text("{}", "utf-8")
    left_out = [need for need, folders in SEPARATE_NEEDS.items() if is_untouched(f"separate-{need}", folders)]
    files = {"RANKGATE_TESTS_WITHOUT": ",".join(left_out), "RANKGATE_TESTS_SKIPPED": str(report)}
    passed = call("make", "separate", environment={**os.environ, "CI": "true", **files})
    for need in SEPARATE_NEEDS.keys() - missing_in(report):
        if passed:
            remember(f"separate-{need}")
    return passed


STEPS = {
    "clone": Step("a clone of what is committed", clone),
    "readme": Step("make demo and make test, on a bare machine", readme),
    "coverage": Step("the code that make test ran", coverage),
    "lint": Step("format and lint", lambda: call("make", "lint")),
    "types": Step("types", lambda: call("make", "mypy")),
    "imports": Step("order of imports", lambda: call("make", "imports")),
    "lowest": Step("quick tests with the lowest versions", lambda: call("make", "lowest")),
    "extras": Step("the wheel, alone and with each extra", lambda: call("make", "extras")),
    "system": Step("programs that more tests need", system_packages),
    "packages": Step("PySpark and OpenSearch", python_packages),
    "skipped": Step("the tests that make test skipped", skipped),
    "separate": Step("the manual, examples, plug-ins, clusters, tests of tests", separate),
    "objects": Step("objects of other libraries", objects),
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
