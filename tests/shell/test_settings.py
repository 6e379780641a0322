import json
from pathlib import Path

import msgspec
import pytest

from kaa.core.retry import RetryPolicy
from kaa.llm.tuning import Tuning
from kaa.shell.settings import Settings, SettingsError, load_settings, load_user_settings

PROJECT = ".kaa/settings.json"


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    return tmp_path / "settings.json"


def load(user_file: Path, project: str | None = None) -> tuple[Settings, list[str]]:
    notices: list[str] = []
    content = None if project is None else project.encode()
    return load_settings(user_file, "/project", PROJECT, content, notices.append), notices


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


def test_the_project_lies_over_the_user(user_file: Path) -> None:
    user_file.write_text('{"defaultModel": "mine", "steeringMode": "all"}')

    settings, _ = load(user_file, '{"defaultModel": "theirs"}')

    assert (settings.default_model, settings.steering_mode) == ("theirs", "all")


# Each setting that kaa has and a project may not set, with a value and the reason.
_NOT_A_PROJECTS = {
    "modelThinkingLevels": ({"acme/m": "max"}, "it could make each model of the user's dear"),
    "thinkingBudgets": ({"low": 100_000}, "the same"),
    "smallModel": ("dear/model", "it names a model that the user did not choose"),
    "largeModel": ("dear/model", "the same"),
    "cacheRetention": ("long", "it decides how long servers keep what is said, and what that costs"),
    "retry": ({"maxRetries": 1000, "provider": {"maxRetryDelayMs": 10**9}}, "runs could hang or cost without end"),
    "prompt": ({"profile": "full"}, "what the model is told of kaa's own rules is not the project's"),
    "plan": ({"otherFiles": "report"}, "it decides whether the user is asked about changes"),
    "compaction": ({"model": "dear/model"}, "it names a model and what its requests hold"),
    "branchSummary": ({"skipPrompt": True}, "it decides whether the user is asked"),
    "features": ({"completionCheck": "off"}, "how well the model is led is the user's choice"),
    "fallbackModels": (["dear/model"], "the conversation would go to a vendor that the user did not choose"),
    "budget": ({"run": {"cost": 10_000}}, "the user's limits would not hold"),
    "otel": ({"enabled": True}, "what is done would be told to others"),
    "images": ({"blockImages": False}, "images that the user keeps private would be sent"),
    "httpIdleTimeoutMs": (10**9, "runs could hang"),
    "httpProxy": ("http://evil.test", "requests would go through it, keys and all"),
    "sessionDir": ("/tmp/elsewhere", "it is a path to write to"),
    "extensions": (["/tmp/evil.py"], "they are executed"),
    "useFilesOf": (["claude"], "the user decides whose files the model gets"),
    "skills": (["/tmp/evil"], "the model would get the files there"),
    "prompts": (["/tmp/evil"], "the same"),
    "extensionSettings": ({"ci": {"command": "evil"}}, "an extension may execute what they say"),
    "lsp": ({"py": {"command": "evil"}}, "they are programs that are started"),
    "requiredExtensions": (["evil"], "kaa could be kept from starting"),
    "autoTitle": ("model", "it sends requests of its own"),
    "showCacheMissNotices": (True, "it is about the user's screen"),
    "checkpoints": ({"enabled": False}, "what the agent breaks could not be put back"),
    "sandbox": ({"mode": "full-access"}, "it is what holds commands"),
    "projects": ({"/project": {"sandbox": {"mode": "full-access"}}}, "it would decide about itself"),
}
_A_PROJECTS = {
    "defaultProvider",
    "defaultModel",
    "defaultThinkingLevel",
    "defaultTools",
    "enabledModels",
    "steeringMode",
    "followUpMode",
    "verify",  # commands, which run with the sandbox and the approvals of the model's own
    "approvals",  # only to deny more: tests/shell/test_approvals_in_a_project.py
}


def test_of_each_setting_it_is_decided_whether_a_project_may_set_it() -> None:
    assert {field.encode_name for field in msgspec.structs.fields(Settings)} == _A_PROJECTS | set(_NOT_A_PROJECTS)


@pytest.mark.parametrize("key", [*_NOT_A_PROJECTS, "shellPath", "anythingNew"])
def test_a_project_may_not_set_what_can_harm(user_file: Path, key: str) -> None:
    value, reason = _NOT_A_PROJECTS.get(key, (["/tmp/evil"], "nobody knows what it would do"))

    settings, notices = load(user_file, json.dumps({key: value}))

    assert settings == Settings(), reason
    assert len(notices) == 1
    assert repr(key) in notices[0]


@pytest.mark.parametrize("key", [key for key, (value, _) in _NOT_A_PROJECTS.items() if isinstance(value, dict)])
def test_a_project_may_not_change_a_part_of_what_the_user_set(user_file: Path, key: str) -> None:
    user_file.write_text(json.dumps({key: {}}))

    settings, _ = load(user_file, json.dumps({key: _NOT_A_PROJECTS[key][0]}))

    assert settings == Settings()


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


def test_settings_of_pis_that_have_no_effect_are_reported(user_file: Path) -> None:
    values = {"shellPath": "/bin/zsh", "images": {"autoResize": False}, "transport": "websocket"}
    user_file.write_text(json.dumps(values))

    _, notices = load(user_file)

    assert [notice.split(" has no effect: ")[0] for notice in notices] == [
        f"{user_file}: {name!r}" for name in ("images.autoResize", "shellPath", "transport")
    ]


def test_settings_of_pis_that_ask_for_what_kaa_does_are_not_reported(user_file: Path) -> None:
    values = {"images": {"autoResize": True}, "skills": [], "transport": "sse", "lastChangelogVersion": "1.5.2"}
    user_file.write_text(json.dumps(values))

    assert load(user_file)[1] == []


PROJECTS = """{
  "approvals": {"policy": "ask", "deny": ["bash: git push"]},
  "sandbox": {"network": "off", "hidden": ["~/a"]},
  "projects": {
    "/project": {"approvals": {"policy": "auto"}, "sandbox": {"network": ["pypi.org"], "hidden": ["~/b"]}},
    "/other": {"approvals": {"policy": "never", "deny": ["bash: ls"]}}
  }
}"""


def test_what_the_user_chose_for_this_project_comes_over_what_holds_for_all(user_file: Path) -> None:
    user_file.write_text(PROJECTS)

    for settings in (load(user_file)[0], load_user_settings(user_file, "/project")):
        assert settings.approvals.policy == "auto"
        assert settings.approvals.deny == ("bash: git push",)
        assert settings.sandbox.network == ("pypi.org",)
        assert settings.sandbox.hidden == ("~/a", "~/b")  # hidden for all projects stays hidden
    assert load_user_settings(user_file, "/other").approvals.deny == ("bash: git push", "bash: ls")
    assert load_user_settings(user_file, "/elsewhere").approvals.policy == "ask"
    assert load_user_settings(user_file).sandbox.network == "off"


def test_projects_are_named_by_any_path_that_leads_there(user_file: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    user_file.write_text(json.dumps({"projects": {str(tmp_path / "link"): {"sandbox": {"git": False}}}}))

    assert not load_user_settings(user_file, str(tmp_path / "real")).sandbox.git
    assert load_user_settings(user_file, str(tmp_path)).sandbox.git


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"approvals": {"policy": "sometimes"}}', "use ask, auto, never, step - at `$.approvals.policy`"),
        ('{"steeringMode": "some"}', "use one-at-a-time, all - at `$.steeringMode`"),
        ('{"retry": {"enabled": "maybe"}}', "use true, false - at `$.retry.enabled`"),
        (
            '{"projects": {"/p": {"sandbox": {"mode": "open"}}}}',
            "use read-only, workspace-write, full-access - at `$.projects[...].sandbox.mode`",
        ),
        ('{"projects": {"/p": {"model": "x"}}}', "unknown field `model`"),
    ],
)
def test_a_mistake_is_told_with_the_values_that_are_valid(user_file: Path, content: str, expected: str) -> None:
    user_file.write_text(content)

    for directory in ("/p", None):
        with pytest.raises(SettingsError) as error:
            load_user_settings(user_file, directory)
        assert expected in str(error.value)


@pytest.mark.parametrize(
    ("content", "written", "right"),
    [
        ('{"aprovals": {"policy": "auto"}}', "aprovals.policy", "approvals.policy"),
        ('{"sandbox": {"netwrok": "on"}}', "sandbox.netwrok", "sandbox.network"),
        ('{"DefaultModel": "m"}', "DefaultModel", "defaultModel"),
        ('{"retry": {"provider": {"timeoutMS": 1}}}', "retry.provider.timeoutMS", "retry.provider.timeoutMs"),
        ('{"ui": {"scren": "full"}}', "ui.scren", "ui.screen"),
        ('{"projects": {"/project": {"sandbox": {"modes": "read-only"}}}}', "sandbox.modes", "sandbox.mode"),
    ],
)
def test_a_misspelled_setting_is_told_with_its_right_name(
    user_file: Path, content: str, written: str, right: str
) -> None:
    user_file.write_text(content)

    _, notices = load(user_file)

    assert f"{user_file}: {written!r} is unknown and has no effect: use {right!r}." in notices


def test_settings_of_the_terminal_of_pi_and_of_others_are_not_taken_for_misspelled(user_file: Path) -> None:
    user_file.write_text(
        json.dumps(
            {
                "theme": "dark",
                "tuiMode": "fullscreen",
                "ui": {"screen": "full", "notifications": "bell"},
                "terminal": {"showImages": True, "clearOnShrink": True},
                "modelThinkingLevels": {"openai/x": "high"},
                "lastChangelogVersion": "1.5",
                "collapseChangelog": True,
                "enableSkillCommands": True,
                "showHardwareCursor": True,
                "retry": {"maxDelayMs": 1, "provider": {"maxRetries": 2}},
                "markdown": {"codeBlockIndent": "  "},
                "warnings": {"anthropicExtraUsage": False},
                "websocketConnectTimeoutMs": 15000,
                "npmCommand": ["npm"],
            }
        )
    )

    _, notices = load(user_file)

    assert not any("is unknown" in notice for notice in notices)
