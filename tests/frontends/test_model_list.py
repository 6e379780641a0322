from pathlib import Path

import pytest

from kaa.frontends import model_list


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "ANTHROPIC_BASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KAA_DIR", str(tmp_path))
    return tmp_path


def test_models_of_providers_with_a_key_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")

    assert model_list.main("") == 0

    names = capsys.readouterr().out.splitlines()
    assert names
    assert all(name.startswith("anthropic/") for name in names)


def test_a_part_of_the_name_narrows_the_list(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "models.json").write_text(
        '{"providers": {"lab": {"baseUrl": "http://lab/v1", "models": [{"id": "Small"}, {"id": "large"}]}}}'
    )

    assert model_list.main("small") == 0
    assert capsys.readouterr().out == "lab/Small\n"
    assert model_list.main("huge") == 1
    assert "'huge'" in capsys.readouterr().err


def test_without_any_model_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert model_list.main("") == 5

    printed = capsys.readouterr()
    assert printed.out == ""
    assert "no key and no local server" in printed.err


def test_a_mistake_in_models_json_is_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "models.json").write_text("{")

    model_list.main("")

    assert "models.json" in capsys.readouterr().err
