"""The WIT files that authors build with, and the types that kaa compares exports with, are the same."""

import re
from importlib.resources import files

import msgspec

from kaa.ext.permissions import Permissions
from kaa.ext.wasm.host_functions import PACKAGE, VERSION, host_functions
from kaa.ext.wasm.worlds import INTERFACES, RAB


def _wit(name: str) -> str:
    text = files("kaa.ext.wasm").joinpath("wit", name).read_text()
    return re.sub(r"//.*", "", text)


def _blocks(text: str, kind: str) -> dict[str, str]:
    """The bodies of declarations, in which braces do not nest."""
    return dict(re.findall(rf"\b{kind} ([a-z-]+) \{{([^{{}}]*)\}}", text))


def _types(text: str) -> dict[str, str]:
    """Records and variants, written out as kaa compares them."""
    return {
        name: f"{kind} {{{', '.join(part.strip() for part in body.split(',') if part.strip())}}}"
        for kind in ("record", "variant")
        for name, body in _blocks(text, kind).items()
    }


def _functions(body: str, types: dict[str, str]) -> dict[str, str]:
    def written_out(signature: str) -> str:
        # A name after a colon in `call: tool-call` is a type, one before it is a parameter.
        return re.sub(r"(?<![\w-])[a-z-]+(?![\w-]|:)", lambda name: types.get(name[0], name[0]), signature.strip())

    return {name: written_out(signature) for name, signature in re.findall(r"([a-z-]+): (func\([^;]*);", body)}


def _interfaces(text: str) -> dict[str, dict[str, str]]:
    types = _types(text)
    without_types = re.sub(r"\b(record|variant) [a-z-]+ \{[^{}]*\}|use [^;]*;", "", text)
    found = {name: _functions(body, types) for name, body in _blocks(without_types, "interface").items()}
    return {name: functions for name, functions in found.items() if functions}


def test_kaas_world_is_the_one_that_kaa_looks_for() -> None:
    text = _wit("kaa-extension.wit")
    offered = host_functions("it", Permissions(), msgspec.Struct)
    imported = {name: functions for name, functions in _interfaces(text).items() if name not in INTERFACES}

    assert f"package {PACKAGE}@{VERSION};" in text
    assert {name: signatures for name, signatures in _interfaces(text).items() if name in INTERFACES} == INTERFACES
    assert {f"{PACKAGE}/{name}@{VERSION}": functions for name, functions in imported.items()} == {
        name: {part: one.kind for part, one in functions.items()} for name, functions in offered.items()
    }


def test_rabs_world_is_the_one_that_kaa_looks_for() -> None:
    text = _wit("rab-plugin.wit")
    without_types = re.sub(r"\b(record|variant) [a-z-]+ \{[^{}]*\}|use [^;]*;", "", text)

    assert _functions(_blocks(without_types, "world")["rab-plugin"].replace("export ", ""), _types(text)) == RAB
