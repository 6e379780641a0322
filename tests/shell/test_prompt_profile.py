"""How many words are made to a model with a small window."""

import pytest

from kaa.builtin import prompt, tools
from kaa.core.provider import ToolSchema
from kaa.core.usage import context_parts
from kaa.ext.api import PromptContext
from kaa.ext.registry import joined_sections
from kaa.session.changed_paths import PATCH_TOOL
from kaa.shell.active_tools import ActiveTools, BriefTool, PromptProfile, profile_for
from tests.support.registries import LoadedRegistry


@pytest.mark.parametrize(
    ("wanted", "window", "profile"),
    [("auto", 8192, "short"), ("auto", 16_384, "full"), ("full", 2048, "full"), ("short", 200_000, "short")],
)
def test_the_window_decides_unless_the_user_did(wanted: str, window: int, profile: str) -> None:
    assert profile_for(wanted, window) == profile  # type: ignore[arg-type]  # as the settings give it


def _tokens(profile: PromptProfile) -> int:
    """Of all tools and kaa's own part of the system prompt, as kaa estimates them."""
    registry = LoadedRegistry()
    for module in (prompt, tools):
        registry.load(module.__name__, module.extend, built_in=True)
    context = PromptContext(cwd="/project", date="2026-11-22", profile=profile)
    # A model has either patches or edits.
    made = ActiveTools(registry, lambda: [tool for tool in registry.tools if tool.name != PATCH_TOOL], context)
    return context_parts(joined_sections(made.sections), [tool.schema for tool in made.bound()], ()).total


def test_the_short_profile_takes_little_more_than_half() -> None:
    full, short = _tokens("full"), _tokens("short")

    assert short < 0.65 * full
    assert short < 790  # what docs/local-models.md says


class _Described:
    sequential = True
    schema = ToolSchema(
        "find",
        "Find files. They are listed in order.",
        {
            "type": "object",
            "description": "All of it",
            "properties": {
                "description": {"type": "string", "description": "What it says"},
                "nested": {"type": "array", "items": {"type": "object", "description": "One", "properties": {}}},
            },
            "required": ["description"],
        },
    )


def test_what_is_left_of_a_tool_can_still_be_called() -> None:
    brief = BriefTool(_Described())  # type: ignore[arg-type]  # it is not run

    assert brief.sequential
    assert brief.schema == ToolSchema(
        "find",
        "Find files.",
        {
            "type": "object",
            "properties": {
                "description": {"type": "string"},
                "nested": {"type": "array", "items": {"type": "object", "properties": {}}},
            },
            "required": ["description"],
        },
    )
