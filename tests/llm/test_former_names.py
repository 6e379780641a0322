"""A provider that was called otherwise once is found under that name wherever people and files name it."""

import json
from pathlib import Path

import pytest

from kaa.core.messages import AssistantMessage, Json, Usage
from kaa.core.provider import Model
from kaa.llm.auth.credentials import CredentialStore
from kaa.llm.former_names import by_current_name, current_name, current_query, former_names
from kaa.llm.handoff import made_by
from kaa.llm.models.provider_table import BUILTINS
from kaa.llm.models.registry import ModelChoice, ModelRegistry
from kaa.llm.models.resolved import ResolvedModel
from kaa.llm.tuning import Tuning
from kaa.shell.home import Home
from kaa.shell.logins import Logins
from kaa.shell.models.link import scoped_models

_OLD = "azure-openai-responses"
_ENVIRON = {"AZURE_OPENAI_RESOURCE_NAME": "mine"}


def _auth_json(home: Path, **entries: Json) -> Path:
    path = home / "auth.json"
    path.write_text(json.dumps(entries))
    path.chmod(0o600)
    return path


def _key(name: str) -> Json:
    return {"type": "api_key", "key": name}


_UNTUNED = Tuning()


def _resolve(home: Path, choice: ModelChoice, tuning: Tuning = _UNTUNED) -> ResolvedModel:
    resolved = ModelRegistry(home, {"AZURE_OPENAI_API_KEY": "k", **_ENVIRON}, tuning).resolve(choice)
    assert isinstance(resolved, ResolvedModel)
    return resolved


@pytest.mark.parametrize(
    "choice",
    [
        ModelChoice(f"{_OLD}/gpt-5.2"),
        ModelChoice("gpt-5.2", _OLD),
        ModelChoice(f"{_OLD}/gpt-5.2", _OLD),
        ModelChoice(default_provider=_OLD, default_model="gpt-5.2"),
    ],
)
def test_flags_settings_and_sessions_may_say_the_former_name(tmp_path: Path, choice: ModelChoice) -> None:
    assert _resolve(tmp_path, choice).model.qualified_id == "azure/gpt-5.2"


def test_what_is_said_of_single_models_holds(tmp_path: Path) -> None:
    tuning = Tuning(thinking_levels={f"{_OLD}/gpt-5.2": "low"})

    assert _resolve(tmp_path, ModelChoice("azure/gpt-5.2"), tuning).thinking == "low"


def test_a_key_in_auth_json_is_found(tmp_path: Path) -> None:
    _auth_json(tmp_path, **{_OLD: _key("of-pi")})

    resolved = ModelRegistry(tmp_path, _ENVIRON).resolve(ModelChoice(provider="azure"))

    assert resolved.endpoint.api_key == "of-pi"


def test_the_present_name_counts_before_the_former_one_and_nothing_is_lost(tmp_path: Path) -> None:
    path = _auth_json(tmp_path, **{_OLD: _key("old"), "azure": _key("new"), "other": _key("x")})
    store = CredentialStore(path, {})

    kept = store.get("azure")
    store.set("other", "y")

    assert kept is not None
    assert kept.secret == "new"
    assert json.loads(path.read_text())[_OLD] == _key("old")


def test_logging_out_forgets_both(tmp_path: Path) -> None:
    path = _auth_json(tmp_path, **{_OLD: _key("old"), "azure": _key("new")})

    Logins(Home(tmp_path), {}).log_out(_OLD)

    assert json.loads(path.read_text()) == {}


def test_models_json_may_say_the_former_name(tmp_path: Path) -> None:
    override = {_OLD: {"modelOverrides": {"gpt-5.2": {"contextWindow": 12345}}}}
    (tmp_path / "models.json").write_text(json.dumps({"providers": override}))

    assert _resolve(tmp_path, ModelChoice("azure/gpt-5.2")).model.context_window == 12345


def test_patterns_and_reasoning_of_sessions_know_it() -> None:
    model = Model("gpt-5.2", "azure", _OLD)
    message = AssistantMessage((), _OLD, _OLD, "gpt-5.2", Usage(), "stop")

    assert [scoped.model for scoped in scoped_models([f"{_OLD}/*"], [model])] == [model]
    assert made_by(message, model)


def test_the_present_names_are_those_of_providers_that_there_are() -> None:
    assert current_name(_OLD) in BUILTINS
    assert _OLD not in BUILTINS
    assert former_names("azure") == (_OLD,)
    assert former_names("openai") == ()
    assert current_query("gpt-5.2") == "gpt-5.2"
    assert by_current_name({"a": 1, _OLD: 2}) == {"a": 1, "azure": 2}
