"""The plug-in for pytest: a ranking gate among the tests.

The fixture ``rankgate_gate`` decides, and the verdict decides how the test ends::

    def test_the_ranking_may_ship(rankgate_gate):
        rankgate_gate("qrels.txt", "main", "new.run")  # "main" is a saved baseline

The marker of the same name holds arguments that are the same in every call; a call may then need no
arguments::

    @pytest.mark.rankgate_gate(collection="qrels.txt", baseline="main", policy="rankgate.toml")
    def test_the_ranking_may_ship(rankgate_gate, engine):
        rankgate_gate(candidate=engine.run(queries))

Paths are relative to pytest's root folder. The verdict fail fails the test with the verdict as its
message; so does an inconclusive verdict, unless ``rankgate_inconclusive`` in pytest's configuration
(or ``inconclusive=``) is ``skip`` or ``pass``, or the policy maps it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.decisions.gating.verdict import Verdict

_MARK = "rankgate_gate"
_OUTCOMES = ("fail", "skip", "pass")
_ARGUMENTS = ("collection", "baseline", "candidate", "policy")
_PROPERTY = "rankgate_verdict"


class _Verdicts:
    """The verdicts of all tests, from their reports, so that xdist's workers are included."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the verdicts of a test that has ended."""
        if report.when == "call":
            verdicts = (value for name, value in report.user_properties if name == _PROPERTY)
            self.lines += [f"{value} ({report.nodeid})" for value in verdicts]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print one line for each verdict."""
        if self.lines:
            terminalreporter.section("ranking gates")
            for line in self.lines:
                terminalreporter.write_line(line)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that sets what an inconclusive verdict does to a test."""
    parser.addini(
        "rankgate_inconclusive",
        "the effect of an inconclusive verdict on a test: fail, skip or pass",
        default="fail",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers",
        f"{_MARK}(collection, baseline, candidate, policy, log, redraws, inconclusive, and the other "
        "arguments of rankgate.gate): the defaults of the fixture of this name",
    )
    config.pluginmanager.register(_Verdicts(), "rankgate-verdicts")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Name a failed gate by its first line in pytest's short summary.

    In CI, by its environment variables, pytest would print the whole verdict there a second time.
    """
    report = yield
    crash = getattr(report.longrepr, "reprcrash", None)
    headlines = [str(value) for name, value in item.user_properties if name == _PROPERTY]
    if crash and any(crash.message.startswith(f"Failed: {headline}") for headline in headlines):
        crash.message = crash.message.partition("\n")[0]
    return report


@pytest.fixture
def rankgate_gate(request: pytest.FixtureRequest) -> Callable[..., Verdict]:
    """Decide whether a candidate may replace a baseline, and end the test accordingly.

    The fixture takes the arguments of ``rankgate.gate``, and ``inconclusive``; it returns the
    verdict if the test goes on.
    """
    marker = request.node.get_closest_marker(_MARK)
    marker_arguments = dict(marker.kwargs) if marker else {}

    def decide(*args: Any, **call_arguments: Any) -> Verdict:
        if marker and marker.args:
            _refuse(f"@pytest.mark.{_MARK} takes names: collection=, baseline=, candidate=.")
        result = marker_arguments | dict(zip(_ARGUMENTS, args, strict=False)) | call_arguments
        if_inconclusive = result.pop("inconclusive", request.config.getini("rankgate_inconclusive"))
        if if_inconclusive not in _OUTCOMES:
            _refuse(f"rankgate_inconclusive is {', '.join(_OUTCOMES)}, not {if_inconclusive!r}.")
        verdict = _run_gate(request.config.rootpath, result)
        if isinstance(verdict, str):
            _refuse(verdict)
        request.node.user_properties.append((_PROPERTY, verdict.headline))
        _end_test(verdict, if_inconclusive)
        request.node.add_report_section("call", "rankgate", str(verdict))
        return verdict

    return decide


def _refuse(problem: str) -> NoReturn:
    """End the test with a message, without a traceback."""
    pytest.fail(f"rankgate: {problem}", pytrace=False)


def _run_gate(root: Path, result: JsonObject) -> Verdict | str:
    """The verdict, or a message about wrong input."""
    from rankgate.core.errors import RankgateError
    from rankgate.decisions.gating.gate import gate

    missing_names = [name for name in _ARGUMENTS[:3] if name not in result]
    if missing_names:
        return f"{_MARK}: give {', '.join(missing_names)}, in the call or in the marker."
    arguments = {name: _resolve_paths(root, name, value) for name, value in result.items()}
    try:
        return gate(**arguments, folder=root)
    except RankgateError as error:
        return str(error)


def _resolve_paths(root: Path, name: str, value: object) -> Any:  # noqa: ANN401 - any option of gate
    """The inputs with paths relative to the root folder; names and data stay unchanged."""
    if isinstance(value, list | tuple):
        return [_resolve_paths(root, name, member) for member in value]
    if isinstance(value, str | Path):
        path = root / value
        # a folder may have the name of a saved baseline
        if path.is_file() or (path.exists() and name != "baseline"):
            return path
    return value


def _end_test(verdict: Verdict, if_inconclusive: str) -> None:
    if verdict.status == 0 or (verdict.verdict == "inconclusive" and if_inconclusive == "pass"):
        return
    if verdict.verdict == "inconclusive" and if_inconclusive == "skip":
        pytest.skip(f"{verdict.headline}; {_open_rules(verdict)}")
    pytest.fail(str(verdict), pytrace=False)


def _open_rules(verdict: Verdict) -> str:
    """The reasons why the verdict is inconclusive, in one line."""
    return "; ".join(
        f"{rule_result.rule.id}: {rule_result.outcome.reason}"
        for rule_result in verdict.rules
        if rule_result.rule.tier == "block" and rule_result.outcome.status == "inconclusive"
    )
