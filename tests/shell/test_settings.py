from pathlib import Path

import pytest

from kaa.core.retry import RetryPolicy
from kaa.llm.tuning import Tuning
from kaa.shell.settings import Settings, SettingsError, load_settings

PROJECT = ".kaa/settings.json"


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    return tmp_path / "settings.json"


def load(user_file: Path, project: str | None = None) -> tuple[Settings, list[str]]:
    notices: list[str] = []
    content = None if project is None else project.encode()
    return load_settings(user_file, PROJECT, content, notices.append), notices


@pytest.mark.parametrize("address", ["local:8092", ":8092", "http://elsewhere"])
def test_a_project_names_no_address(user_file: Path, address: str) -> None:
    settings, notices = load(user_file, f'{{"defaultProvider": "{address}"}}')

    assert settings.default_provider is None
    assert notices == [f"{PROJECT}: 'defaultProvider' is ignored: a project may not set an address."]


def test_without_files_the_defaults_hold(user_file: Path) -> None:
    settings, notices = load(user_file)

    assert settings == Settings()
    assert settings.retry.policy() == RetryPolicy(jitter=0.2)
    assert settings.http_idle_timeout_ms == 120_000
    assert notices == []


def test_a_file_of_pi_works_as_it_is(user_file: Path) -> None:
    user_file.write_text('{"defaultModel": "m", "theme": "dark", // mine\n "retry": {"baseDelayMs": 1}, }')

    settings, _ = load(user_file)

    assert settings.default_model == "m"
    assert settings.retry.policy().base_seconds == 0.001


def test_the_project_lies_over_the_user_one_level_deep(user_file: Path) -> None:
    user_file.write_text(
        '{"defaultModel": "mine", "steeringMode": "all", "retry": {"maxRetries": 9, "baseDelayMs": 7}}'
    )

    settings, _ = load(user_file, '{"defaultModel": "theirs", "retry": {"maxRetries": 1}}')

    assert (settings.default_model, settings.steering_mode) == ("theirs", "all")
    assert (settings.retry.max_retries, settings.retry.base_delay_ms) == (1, 7)


@pytest.mark.parametrize(
    "key",
    [
        "extensions",
        "sessionDir",
        "shellPath",
        "httpProxy",
        "cacheRetention",
        "thinkingBudgets",
        "modelThinkingLevels",
        "anythingNew",
    ],
)
def test_a_project_may_not_set_what_can_harm(user_file: Path, key: str) -> None:
    settings, notices = load(user_file, f'{{"{key}": ["/tmp/evil.py"]}}')

    assert settings == Settings()
    assert len(notices) == 1
    assert key in notices[0]


def test_retries_can_be_switched_off(user_file: Path) -> None:
    user_file.write_text('{"retry": {"enabled": false}}')

    assert load(user_file)[0].retry.policy().max_attempts == 0


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", "settings.json"),
        ("[1]", "settings.json"),
        ('{"steeringMode": "some"}', r"steeringMode"),
        ('{"retry": {"maxRetries": "many"}}', r"\$\.retry\.maxRetries"),
        ('{"retry": {"baseDelayMs": -1}}', r">= 0.*\$\.retry\.baseDelayMs"),
        ('{"cacheRetention": "forever"}', r"cacheRetention"),
        ('{"thinkingBudgets": {"high": -1}}', r">= 0.*\$\.thinkingBudgets"),
        ('{"thinkingBudgets": {"huge": 1}}', r"huge"),
        ('{"httpIdleTimeoutMs": 0}', r">= 1.*\$\.httpIdleTimeoutMs"),
    ],
)
def test_a_mistake_is_named_with_its_place(user_file: Path, content: str, expected: str) -> None:
    user_file.write_text(content)

    with pytest.raises(SettingsError, match=expected):
        load(user_file)


def test_how_models_are_asked_is_the_users_choice(user_file: Path) -> None:
    user_file.write_text(
        '{"cacheRetention": "long", "thinkingBudgets": {"high": 20000}, "modelThinkingLevels": {"acme/m": "low"}}'
    )

    assert load(user_file)[0].tuning == Tuning("long", {"high": 20_000}, {"acme/m": "low"})
