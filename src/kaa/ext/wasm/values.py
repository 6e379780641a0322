"""Values of the component model as wasmtime for Python represents them.

A `result` or `variant` whose cases have different Python types is the bare value; otherwise it is a `Variant` with a
tag. Texts are UTF-8 without exception, so what Python cannot encode is replaced before wasmtime sees it.
"""

import json
from typing import TYPE_CHECKING, Any

import msgspec

from kaa.core.messages import Json
from kaa.ext.wasm.errors import ComponentError
from kaa.llm.unicode_text import clean

if TYPE_CHECKING:
    from wasmtime.component import Record

_MAX_TEXT_BYTES = 1024 * 1024


def json_text(value: Json) -> str:
    """JSON for a component."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return clean(json.dumps(value, ensure_ascii=False))


def record(**fields: object) -> "Record":
    """A record; underscores in names stand for hyphens."""
    from wasmtime.component import Record  # lazy: only components need wasmtime

    made = Record()
    made.__dict__.update({name.replace("_", "-"): value for name, value in fields.items()})
    return made


def fields(made: object) -> dict[str, Any]:
    """The fields of a record, named as in Python."""
    return {name.replace("-", "_"): value for name, value in vars(made).items()}


def success(value: object, *, tagged: bool) -> object:
    """A result that is no error."""
    from wasmtime.component import Variant

    plain: object = value
    if isinstance(value, str):
        plain = clean(value)
    elif isinstance(value, list):
        plain = [clean(one) if isinstance(one, str) else one for one in value]
    return Variant("ok", plain) if tagged else plain


def failure(problem: str, *, tagged: bool) -> object:
    """A result that is an error."""
    from wasmtime.component import Variant

    return Variant("err", clean(problem)) if tagged else clean(problem)


def bounded(value: object, what: str) -> str:
    """A text of a component, if it is not too long.

    Raises:
        ComponentError: it is.
    """
    assert isinstance(value, str), "load compared the types"
    if len(value) > _MAX_TEXT_BYTES:
        raise ComponentError(f"{what} has {len(value):,} characters: return at most {_MAX_TEXT_BYTES:,}")
    return value
