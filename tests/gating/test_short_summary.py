"""In pytest's short summary a failed gate has its first line; other failures keep all of theirs."""

from types import SimpleNamespace

import pytest

from rankgate.interface import pytest_plugin


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("Failed: FAIL: RR fell\n| rule | RR |", "Failed: FAIL: RR fell"),
        ("Failed: of another test\nwith more lines", "Failed: of another test\nwith more lines"),
        ("Failed: of another property\nwith more lines", "Failed: of another property\nwith more lines"),
        ("assert 1 == 2\n  by 1", "assert 1 == 2\n  by 1"),
    ],
)
def test_the_message_of_a_failure(message, shown):
    properties = [(pytest_plugin._PROPERTY, "FAIL: RR fell"), ("another", "of another property")]
    report = SimpleNamespace(longrepr=SimpleNamespace(reprcrash=SimpleNamespace(message=message)))
    hook = pytest_plugin.pytest_runtest_makereport(SimpleNamespace(user_properties=properties))
    next(hook)
    with pytest.raises(StopIteration) as ended:
        hook.send(report)
    assert ended.value.value is report
    assert report.longrepr.reprcrash.message == shown
