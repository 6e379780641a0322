"""What is compared: settings of kaa under a name."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import msgspec

from kaa.core.messages import Json
from kaa.ext.features import Features
from kaa.shell.settings import Settings

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


class VariantError(Exception):
    """A variant makes no sense; the message says which and why."""


def every_measure_off() -> dict[str, Json]:
    """Settings without any measure; see docs/effectiveness.md."""
    return {
        "features": {field.encode_name: _off(field) for field in msgspec.structs.fields(Features) if _is_switch(field)}
    }


def parse_variants(given: Sequence[str]) -> dict[str, dict[str, Json]]:
    """The settings of each variant, by its name.

    Args:
        given: each `NAME={"features": …}`, `default` or `bare`; none of them means `default`.

    Raises:
        VariantError: one makes no sense.
    """
    variants: dict[str, dict[str, Json]] = {}
    for text in given or ["default"]:
        name, settings = _parsed(text)
        if name in variants:
            raise VariantError(f"two variants are called {name!r}: choose another name for one")
        variants[name] = settings
    return variants


def _parsed(text: str) -> tuple[str, dict[str, Json]]:
    name, given, written = text.partition("=")
    if not _NAME.fullmatch(name):
        raise VariantError(f"invalid name of a variant {name!r}: use letters, digits and ._-")
    if not given:
        known: Mapping[str, dict[str, Json]] = {"default": {}, "bare": every_measure_off()}
        if name not in known:
            raise VariantError(f"{name!r} has no settings: write {name}=JSON, or use {' or '.join(known)}")
        return name, known[name]
    try:
        settings = msgspec.json.decode(written, type=dict[str, Any])
        msgspec.convert(settings, Settings)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise VariantError(f"the settings of {name!r} make no sense: {error}") from error
    if unknown := settings.get("features", {}).keys() - {
        field.encode_name for field in msgspec.structs.fields(Features)
    }:
        raise VariantError(f"{name!r}: unknown feature {min(unknown)!r}")
    return name, settings


def _is_switch(field: msgspec.structs.FieldInfo) -> bool:
    """Whether a field switches a measure, and does not only say how it works."""
    return field.type is bool or get_origin(field.type) is Literal


def _off(field: msgspec.structs.FieldInfo) -> Json:
    """The value with which a measure does nothing."""
    if field.type is bool:
        return False
    choices = get_args(field.type)
    return "off" if "off" in choices else next(choice for choice in choices if choice != field.default)
