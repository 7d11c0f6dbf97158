"""Shared settings: no deadlines; the same examples on every run; one width of pipes; which tests are long."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from long_tests import LongTests, listed

from proofs_check.checker import verify

if TYPE_CHECKING:
    from playwright.sync_api import Browser

settings.register_profile("exact", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("exact")

gc.set_threshold(20_000)  # ten thousand tests are some million objects: seldom is often enough to look for circles


def pytest_configure(config: pytest.Config) -> None:
    """What is said of tests here holds for the examples in docstrings too."""
    config.pluginmanager.register(LongTests(listed()), "long tests")


def pytest_collection_finish() -> None:
    """What was collected stays: nobody looks for circles in it again."""
    gc.freeze()


def pytest_runtest_setup() -> None:
    """Each test has all that checking a file may take, whatever those before it in this process have used up."""
    verify.BUDGET.set(verify.Budget())


@pytest.fixture(scope="session", autouse=True)
def _as_wide_as_a_pipe() -> Iterator[None]:
    """Tests that run side by side are told how wide their terminal is; answers are compared as pipes have them."""
    with pytest.MonkeyPatch.context() as changed:
        changed.delenv("COLUMNS", raising=False)
        yield


@pytest.fixture(scope="session")
def kernel_module(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The compiled kernel as it stands in the folder `kernel`, installed or not; processes side by side share it."""
    from build_kernel import built, loaded

    folder = tmp_path_factory.getbasetemp()
    return loaded(built((folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "kernel"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """For the tests of `make pages` only."""
    from chromium import chromium

    with chromium() as found:
        yield found
