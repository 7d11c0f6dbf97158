"""One test for a group of near-equal cases: what runs a test costs more than a line of a table that is looked at."""

from __future__ import annotations

import functools
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Check = Callable[..., None]


def grouped(name: str, cases: Iterable[Any], by: Callable[[Any], str]) -> Callable[[Check], Check]:
    """In place of `pytest.mark.parametrize`: a test for each group, which names all cases of it that fail.

    Cases of a group share the fixtures.

    Args:
        name: the argument that is a case.
        cases: all of them.
        by: the group of a case.
    """
    groups = defaultdict[str, list[Any]](list)
    for case in cases:
        groups[by(case)].append(case)

    def decorated(check: Check) -> Check:
        def whole(group: list[Any], **fixtures: Any) -> None:
            failed = []
            for case in group:
                try:
                    check(**{name: case}, **fixtures)
                except Exception as error:  # noqa: BLE001 - the others are asked all the same
                    failed.append(f"{case}: {type(error).__name__}: {error}")
            assert not failed, "\n".join(failed)

        signature = inspect.signature(check)
        own = [p.replace(name="group") if p.name == name else p for p in signature.parameters.values()]
        whole.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
        for kept in (*functools.WRAPPER_ASSIGNMENTS, "pytestmark"):  # marks, as of another parametrize below
            if hasattr(check, kept):
                setattr(whole, kept, getattr(check, kept))
        made: Check = pytest.mark.parametrize("group", groups.values(), ids=groups)(whole)
        return made

    return decorated
