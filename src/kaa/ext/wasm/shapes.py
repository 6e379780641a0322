"""Types of the component model as WIT writes them, to compare what a component has with what kaa knows."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wasmtime.component import ComponentItem, FuncType, ValType


def signature(item: "ComponentItem") -> str:
    """The type of a function, such as `func(path: string) -> result<string, string>`; empty for anything else.

    Records and variants are written out, because names of types are not part of a binary.
    """
    from wasmtime.component import FuncType  # lazy: only components need wasmtime

    return _function(item) if isinstance(item, FuncType) else ""


def _function(item: "FuncType") -> str:
    parameters = ", ".join(f"{name}: {_type(kind)}" for name, kind in item.params)
    result = item.result
    return f"func({parameters})" + ("" if result is None else f" -> {_type(result)}")


def _type(kind: "ValType") -> str:
    from wasmtime import component  # lazy, as above

    match kind:
        case component.ListType():
            return f"list<{_type(kind.element)}>"
        case component.OptionType():
            return f"option<{_type(kind.payload)}>"
        case component.ResultType():
            ok, err = kind.ok, kind.err
            return f"result<{'_' if ok is None else _type(ok)}, {'_' if err is None else _type(err)}>"
        case component.RecordType():
            return f"record {{{', '.join(f'{name}: {_type(field)}' for name, field in kind.fields)}}}"
        case component.VariantType():
            cases = (name if payload is None else f"{name}({_type(payload)})" for name, payload in kind.cases)
            return f"variant {{{', '.join(cases)}}}"
        case _:
            return type(kind).__name__.removesuffix("Type").lower()
