"""A plugin of pytest that runs tests of NumPy (or of what is built on it) with this package in NumPy's place::

    pytest -p ndarray_io.testing --pyargs numpy.lib.tests.test_format

It counts the calls into this package, and lists the tests without one: they say nothing about it. ``--ndarray-io-expected FILE`` names a file of
tests that are known to fail, one in each line, with the reason after ``#``: another failure, or one that has gone, is an error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from ._install import replaced

_count = 0
_covered: set[str] = set()
_passed: set[str] = set()
_failed: set[str] = set()
_not_covered: set[str] = set()


def _counting(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        global _count
        _count += 1
        return function(*args, **kwargs)

    return counted


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ndarray_io")
    group.addoption("--ndarray-io-expected", help="a file of tests that are known to fail, with reasons")
    group.addoption("--ndarray-io-least", type=int, default=0, help="how many tests must call the package and pass")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    before = _count
    with replaced(_counting):
        yield
    if _count > before:
        _covered.add(_name(item))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    outcome = yield
    report = outcome.get_result()
    name = _name(item)
    if call.when != "call":
        return
    if name not in _covered:
        _not_covered.add(name)
    elif report.passed:
        _passed.add(name)
    elif report.failed:
        _failed.add(name)
        reason = _expected(item.config).get(name)
        if reason is not None:
            report.outcome = "skipped"
            report.wasxfail = reason


def _name(item: pytest.Item) -> str:
    """Returns the name of a test from its file on, without the folder."""
    return f"{item.path.name}::{item.nodeid.partition('::')[2]}"


@functools.cache
def _lines(file: str) -> dict[str, str]:
    lines = Path(file).read_text("utf-8").splitlines()
    rows = (line.partition(" # ") for line in lines if line and not line.startswith("#"))
    return {name.strip(): reason for name, _, reason in rows}


def _expected(config: pytest.Config) -> dict[str, str]:
    file = config.getoption("--ndarray-io-expected")
    return _lines(str(config.invocation_params.dir / file)) if file else {}


def pytest_sessionfinish(session: pytest.Session) -> None:
    expected = _expected(session.config)
    if _passed & set(expected) or len(_passed) < session.config.getoption("--ndarray-io-least"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    expected = _expected(config)
    terminalreporter.section("ndarray_io")
    terminalreporter.write_line(
        f"{len(_passed)} tests that call the package passed, {len(_failed & set(expected))} fail as expected, "
        f"{len(_failed - set(expected))} fail; {_count} calls. {len(_not_covered)} tests do not call it."
    )
    if config.getoption("verbose") > 0:
        for name in sorted(_not_covered):
            terminalreporter.write_line(f"does not call it: {name}")
    for name in sorted(_passed & set(expected)):
        terminalreporter.write_line(f"passes now, remove it from the list: {name}")
    least = config.getoption("--ndarray-io-least")
    if len(_passed) < least:
        terminalreporter.write_line(f"expected at least {least} tests that call the package and pass")
