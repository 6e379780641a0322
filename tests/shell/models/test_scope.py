from kaa.core.provider import Model, ThinkingLevel
from kaa.shell.models.link import scoped_models
from tests.support.tables import each

MODELS = [
    Model(id=model_id, provider=provider, api="openai-completions", name=model_id)
    for provider, model_id in [
        ("anthropic", "claude-opus-5"),
        ("anthropic", "claude-haiku-4-5"),
        ("openai", "gpt-5.2"),
        ("local", "vendor/qwen3:8b"),
        ("local", "gpt-5.2"),
    ]
]


@each(
    ("patterns", "expected"),
    [
        ([], []),
        (["anthropic/*"], [("anthropic/claude-opus-5", None), ("anthropic/claude-haiku-4-5", None)]),
        (["*HAIKU*:high"], [("anthropic/claude-haiku-4-5", "high")]),
        (["gpt-*"], [("openai/gpt-5.2", None), ("local/gpt-5.2", None)]),
        (["local/gpt-5.2:off"], [("local/gpt-5.2", "off")]),
        (["qwen3:8b"], [("local/vendor/qwen3:8b", None)]),
        (["opus", "claude*:low"], [("anthropic/claude-opus-5", None), ("anthropic/claude-haiku-4-5", "low")]),
        (["nothing", "no*thing"], []),
    ],
)
def test_patterns_name_models_in_their_order(
    patterns: list[str], expected: list[tuple[str, ThinkingLevel | None]]
) -> None:
    found = [(f"{one.model.provider}/{one.model.id}", one.level) for one in scoped_models(patterns, MODELS)]

    assert found == expected
