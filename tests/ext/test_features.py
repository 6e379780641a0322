import msgspec
import pytest

from kaa.ext.features import Features


def test_without_other_values_all_models_have_the_same() -> None:
    features = msgspec.convert({"briefing": False}, Features)

    assert features.for_model("acme", "m") is features


def test_values_for_some_models_lie_over_the_general_ones() -> None:
    values = {"briefing": False, "models": {"openai/gpt-5*": {"editTool": "apply_patch"}}}
    features = msgspec.convert(values, Features)

    fitting = features.for_model("openai", "gpt-5.5")

    assert (fitting.edit_tool, fitting.briefing) == ("apply_patch", False)
    assert features.for_model("acme", "gpt-5.5").edit_tool == "auto"


def test_the_last_pattern_that_fits_takes_precedence() -> None:
    models = {"*": {"diagnostics": "off"}, "acme/*": {"diagnostics": "syntax"}}
    features = msgspec.convert({"models": models}, Features)

    assert features.for_model("acme", "m").diagnostics == "syntax"
    assert features.for_model("other", "m").diagnostics == "off"


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"masking": True}, "unknown feature 'masking' for 'acme/*': use adaptiveThinking, "),
        ({"models": {}}, "unknown feature 'models' for 'acme/*'"),
        ({"briefing": "no"}, "Expected `bool`, got `str` - at `$.briefing` - for 'acme/*'"),
    ],
)
def test_wrong_values_for_some_models_are_named(values: dict[str, object], problem: str) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert({"models": {"acme/*": values}}, Features)

    assert problem in str(raised.value)
