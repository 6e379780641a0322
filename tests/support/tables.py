"""Tables that a test goes through in one case: a case for each row takes 3 ms of several processes to do nothing."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest


def each(
    names: str | Sequence[str],
    rows: Iterable[Any],  # any: as `parametrize` has them
    ids: Sequence[str] | Callable[[Any], object] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Try a test with each row of a table, in one case, and name all rows that fail.

    It is used like `pytest.mark.parametrize`, which is for rows that need a fixture of their own, such as a folder, or
    have marks. Several tables are tried in all combinations.

    Args:
        names: of the arguments that rows have the values of, several as in "one, two" or as a tuple.
        rows: a value each, or a tuple of them; also `pytest.param`.
        ids: as `parametrize` has them: names of rows, or what makes a name of a value.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [(_values(row, len(arguments)), _named(row, number, ids)) for number, row in enumerate(rows)]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def go_through(*given: Any, **others: Any) -> None:  # any: what fixtures give
            failed: list[BaseException] = []
            for values, name in table:
                row = dict(zip(arguments, values, strict=True))
                try:
                    test(*given, **others, **row)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - they are raised together
                    error.add_note(f"with {name or ', '.join(f'{key}={value!r}' for key, value in row.items())}")
                    failed.append(error)
            if len(failed) == 1:
                raise failed[0]
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(table)} rows fail", failed)

        signature = inspect.signature(test)
        fixtures = [one for name, one in signature.parameters.items() if name not in arguments]
        go_through.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return go_through

    return decorate


def _values(row: Any, number: int) -> Sequence[Any]:  # any: as above
    if hasattr(row, "marks"):
        return tuple(row.values)
    return (row,) if number == 1 else tuple(row)


def _named(row: Any, number: int, ids: Sequence[str] | Callable[[Any], object] | None) -> str:  # any: as above
    if hasattr(row, "marks"):
        assert not row.marks, "rows with marks are cases of their own"
        return str(row.id or "")
    return (
        str(ids[number]) if isinstance(ids, Sequence) else str(ids(row)) if ids and not isinstance(row, tuple) else ""
    )
