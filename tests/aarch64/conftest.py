# SPDX-License-Identifier: MIT
"""Run in the emulated machine by ./dev check-aarch64; see docs/testing.md. What the tests share with tests/live is there."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "live"))

import pythons  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than 5 seconds")
    config.addinivalue_line("markers", "every_cpu(PYTHON…): run with each kind of CPU, not with pac alone (for these pythons only)")


def is_wanted(item, cpu):
    mark = item.get_closest_marker("every_cpu")
    return cpu == "pac" or mark and (not mark.args or str(item.callspec.params["python"]) in mark.args)


def pytest_collection_modifyitems(config, items):
    wanted = [item for item in items if is_wanted(item, os.environ["AARCH64_CPU"])]
    config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
    items[:] = wanted


def pytest_generate_tests(metafunc):
    """python: one test for each executable and each library."""
    if "python" in metafunc.fixturenames:
        metafunc.parametrize("python", pythons.every(), ids=str, scope="module")


@pytest.fixture(scope="session")
def cpu():
    """pac, pac52 or nopac: what the machine was started with."""
    return os.environ["AARCH64_CPU"]


@pytest.fixture(scope="session")
def is_signed(cpu):
    return cpu != "nopac"
