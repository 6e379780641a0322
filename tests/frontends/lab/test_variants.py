"""Variants are settings under a name; what makes no sense is refused before anything runs."""

import msgspec
import pytest

from kaa.ext.features import Features
from kaa.frontends.lab.variants import VariantError, every_measure_off, parse_variants
from tests.support.tables import each


def test_settings_have_a_name() -> None:
    given = ["default", 'quiet={"features": {"briefing": false}}']

    assert parse_variants(given) == {"default": {}, "quiet": {"features": {"briefing": False}}}
    assert parse_variants([]) == {"default": {}}


def test_bare_switches_every_measure_off() -> None:
    features = every_measure_off()["features"]

    assert parse_variants(["bare"]) == {"bare": {"features": features}}
    assert features.keys() <= {field.encode_name for field in msgspec.structs.fields(Features)}
    assert msgspec.convert(features, Features).completion_check == "off"
    assert features["editTool"] == "edit"
    assert not any(features[name] for name in ("briefing", "loopDetection", "resultMasking", "adaptiveThinking"))


@each(
    ("given", "said"),
    [
        (["other"], "'other' has no settings: write other=JSON"),
        (["a={"], "the settings of 'a' make no sense"),
        (["a=[]"], "Expected `object`"),
        (['a={"features": {"briefing": "perhaps"}}'], r"features.briefing"),
        (['a={"features": {"breifing": true}}'], "'a': unknown feature 'breifing'"),
        (["a={}", "a={}"], "two variants are called 'a'"),
        (["../a={}"], "invalid name of a variant"),
        (["={}"], "invalid name of a variant ''"),
        (["a=" + "[" * 100_000], "make no sense"),
    ],
)
def test_what_makes_no_sense_is_refused(given: list[str], said: str) -> None:
    with pytest.raises(VariantError, match=said):
        parse_variants(given)
