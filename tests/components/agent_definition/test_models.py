"""Models of definitions: aliases are roles, and exact names keep a role for those who do not have them."""

import pytest

from kaa.components.agent_definition import ModelChoice, Permission
from kaa.components.agent_definition.models import model_choice
from kaa.components.agent_definition.permissions import narrower


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("", ModelChoice()),
        ("inherit", ModelChoice()),
        ("Sonnet", ModelChoice("large")),
        ("opus[1m]", ModelChoice("large")),
        ("haiku", ModelChoice("small")),
        ("fast", ModelChoice("small")),
        ("flash", ModelChoice("small")),
        ("gpt-5-mini", ModelChoice("small", "gpt-5-mini")),
        ("claude-haiku-4-5-20251001", ModelChoice("small", "claude-haiku-4-5-20251001")),
        ("gemini-3-pro", ModelChoice("large", "gemini-3-pro")),
        ("openai/gpt-5", ModelChoice("large", "openai/gpt-5")),
        ("\x1b[31mred\n", ModelChoice("large", "red")),
    ],
)
def test_what_a_model_means(name: str, choice: ModelChoice) -> None:
    assert model_choice(name) == choice


@pytest.mark.parametrize(
    ("wanted", "allowed", "result"),
    [
        ("auto", "ask", "ask"),
        ("auto", "read-only", "read-only"),
        ("ask", None, None),
        ("read-only", "auto", "read-only"),
    ],
)
def test_a_definition_never_has_more_than_the_conversation(
    wanted: Permission | None, allowed: Permission | None, result: Permission | None
) -> None:
    assert narrower(wanted, allowed) == narrower(allowed, wanted) == result
