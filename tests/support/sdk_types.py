"""Whether a value fits the request types of a vendor's SDK: TypedDicts with literals, unions and iterables."""

import functools
import types
import typing
from collections.abc import Iterable, Sequence
from typing import Any

from typing_extensions import is_typeddict


@functools.cache
def _sequences() -> tuple[Any, ...]:
    from anthropic._types import SequenceNotStr  # an SDK takes seconds to import: only tests that use it do

    return (list, Iterable, Sequence, SequenceNotStr)


@functools.cache
def _hints(hint: Any) -> dict[str, Any]:
    return typing.get_type_hints(hint, include_extras=True)


def misfits(value: Any, hint: Any, path: str = "body") -> list[str]:
    """Where `value` does not fit the type `hint`. Pydantic checks the SDKs' iterables lazily and lets
    unknown keys pass; this does neither."""
    origin, parameters = typing.get_origin(hint), typing.get_args(hint)
    if hint is object or hint is Any:
        return []
    if origin is typing.Annotated or origin is typing.Required:
        return misfits(value, parameters[0], path)
    if origin is typing.Union or origin is types.UnionType:
        return _union_misfits(value, parameters, path)
    if origin is typing.Literal:
        return [] if value in parameters else [f"{path}: {value!r} is not one of {parameters}"]
    if is_typeddict(hint):
        return _dict_misfits(value, hint, path)
    if origin is dict:
        return [] if isinstance(value, dict) else [f"{path}: no object"]
    if origin in _sequences():
        if not isinstance(value, list):
            return [f"{path}: no list"]
        return [misfit for n, item in enumerate(value) for misfit in misfits(item, parameters[0], f"{path}[{n}]")]
    return [] if type(value) is hint else [f"{path}: {value!r} is no {hint}"]


def _union_misfits(value: Any, options: Iterable[Any], path: str) -> list[str]:
    nearest: list[str] = []
    for option in options:
        found = misfits(value, option, path)
        if not found:
            return []
        nearest = max(nearest, found, key=lambda some: max(map(len, some), default=0))
    return nearest


def _dict_misfits(value: Any, hint: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: no object"]
    hints = _hints(hint)
    required = {key for key, item in hints.items() if typing.get_origin(item) is typing.Required}
    found = [f"{path}.{key}: missing" for key in required - value.keys()]
    open_ended = getattr(hint, "__pydantic_config__", {}).get("extra") == "allow"
    for key, item in value.items():
        if key in hints:
            found += misfits(item, hints[key], f"{path}.{key}")
        elif not open_ended:
            found.append(f"{path}.{key}: unknown key")
    return found
