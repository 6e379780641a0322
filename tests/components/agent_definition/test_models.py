"""Models of definitions: aliases are roles, and exact names keep a role for those who do not have them."""

import pytest

from kaa.components.agent_definition import AgentModel, Permission
from kaa.components.agent_definition.models import model_choice
from kaa.components.agent_definition.permissions import narrower
from tests.support.tables import each


@each(
    ("name", "choice"),
    [
        ("", AgentModel()),
        ("inherit", AgentModel()),
        ("Sonnet", AgentModel("large")),
        ("opus[1m]", AgentModel("large")),
        ("haiku", AgentModel("small")),
        ("fast", AgentModel("small")),
        ("flash", AgentModel("small")),
        ("gpt-5-mini", AgentModel("small", "gpt-5-mini")),
        ("claude-haiku-4-5-20251001", AgentModel("small", "claude-haiku-4-5-20251001")),
        ("gemini-3-pro", AgentModel("large", "gemini-3-pro")),
        ("openai/gpt-5", AgentModel("large", "openai/gpt-5")),
        ("\x1b[31mred\n", AgentModel("large", "red")),
    ],
)
def test_what_a_model_means(name: str, choice: AgentModel) -> None:
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
