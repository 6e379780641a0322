"""`scripts/catalogue.py`: what of another project's package becomes kaa's catalogue."""

import io
import json
import tarfile
from pathlib import Path

import msgspec
import pytest

from kaa.core.messages import Json
from kaa.llm import catalogue
from kaa.llm.catalogue import CatalogueEntry, CatalogueFile
from scripts.catalogue import PACKAGE, VERSION, SourceError, write_catalogue


def _model(model_id: str, api: str = "openai-completions", **changes: Json) -> dict[str, Json]:
    cost: Json = {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 0}
    return {
        "id": model_id,
        "name": model_id.title(),
        "api": api,
        "provider": "any",
        "baseUrl": "https://api.deepseek.com",
        "reasoning": True,
        "input": ["text"],
        "cost": cost,
        "contextWindow": 1000,
        "maxTokens": 100,
        "compat": {},
        "type": "chat",
        **changes,
    }


def _package(folder: Path, **providers: list[dict[str, Json]]) -> Path:
    path = folder / "package.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for provider, models in providers.items():
            by_format: dict[str, dict[str, Json]] = {}
            for model in models:
                by_format.setdefault(str(model["api"]), {})[f"{model['type']}:{model['id']}"] = model
            name = f"package/dist/providers/data/{provider.replace('_', '-')}.json"
            _add(archive, name, json.dumps(by_format).encode())
    return path


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _written(folder: Path, provider: str) -> CatalogueFile:
    return msgspec.json.decode((folder / f"{provider}.json").read_bytes(), type=CatalogueFile)


def _entries(tmp_path: Path, *models: dict[str, Json]) -> dict[str, CatalogueEntry]:
    write_catalogue(_package(tmp_path, deepseek=[_model("deepseek-v4-pro"), *models]), tmp_path / "data")
    return {entry.id: entry for entry in _written(tmp_path / "data", "deepseek").models}


@pytest.mark.parametrize(
    "name",
    [
        "deep-research-max-preview-04-2026",
        "gemini-2.5-computer-use-preview-10-2025",
        "openai/gpt-audio-mini",
        "google/gemini-3-pro-image",
        "gemini-2.5-flash-image-preview",
        "gemini-9-pro-preview-tts",
        "gpt-realtime-2",
        "text-embedding-4",
        "openai/gpt-5.4-pro:batch",
        "openai/gpt-5.5-pro-batch",
    ],
)
def test_what_cannot_work_with_tools_is_left_out(tmp_path: Path, name: str) -> None:
    assert set(_entries(tmp_path, _model(name), _model("imagine-1"), _model("batch-9b"))) == {
        "deepseek-v4-pro",
        "imagine-1",
        "batch-9b",
    }


def test_the_preferred_model_comes_first_then_newer_before_older_and_dated_last(tmp_path: Path) -> None:
    names = ["deepseek-v3-20250101", "deepseek-v3.1", "deepseek-v4-pro", "deepseek-v5", "deepseek-v3.2-8b"]
    package = _package(tmp_path, deepseek=[_model(name) for name in names])

    assert write_catalogue(package, tmp_path / "data") == {"deepseek": 5}

    assert [entry.id for entry in _written(tmp_path / "data", "deepseek").models] == [
        "deepseek-v4-pro",
        "deepseek-v5",
        "deepseek-v3.2-8b",
        "deepseek-v3.1",
        "deepseek-v3-20250101",
    ]


def test_what_kaa_does_not_speak_or_does_not_talk_to_is_left_out(tmp_path: Path) -> None:
    entries = _entries(
        tmp_path,
        _model("smoke", api="smoke-signals"),
        _model("sorter", type="classifier"),
        _model("thinker", api="anthropic-messages", baseUrl="https://api.deepseek.com/anthropic"),
    )
    package = _package(
        tmp_path, deepseek=[_model("deepseek-v4-pro")], github_copilot=[_model("gpt-6.1-sol")], no_such=[_model("x")]
    )

    assert set(entries) == {"deepseek-v4-pro", "thinker"}
    assert (entries["thinker"].api, entries["thinker"].base_url) == (
        "anthropic-messages",
        "https://api.deepseek.com/anthropic",
    )
    assert entries["deepseek-v4-pro"].base_url is None
    assert set(write_catalogue(package, tmp_path / "other")) == {"deepseek"}


def test_prices_and_their_tiers_are_kept_and_zeros_are_unknown(tmp_path: Path) -> None:
    nothing: Json = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    tier: Json = {"inputTokensAbove": 500, "input": 3, "output": 4, "cacheRead": 0.3, "cacheWrite": 0}
    tiered: Json = {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 0, "tiers": [tier]}

    entries = _entries(
        tmp_path,
        _model("tiered", cost=tiered),
        _model("unpriced", cost=nothing),
        _model("gift:free", cost=nothing),
        _model("freedom", cost=nothing),
        _model("mixed", cost={"input": 1, "output": 8, "cacheRead": 1.5, "cacheWrite": 0}),
    )

    cost = entries["tiered"].cost
    assert cost is not None
    assert (cost.for_prompt(500).input, cost.for_prompt(501).input) == (1, 3)
    assert entries["unpriced"].cost is None
    assert entries["freedom"].cost is None
    gift = entries["gift:free"].cost
    assert gift is not None
    assert gift.is_free
    mixed = entries["mixed"].cost
    assert mixed is not None
    assert mixed.cache_read == 1


def test_a_reply_leaves_room_for_the_prompt(tmp_path: Path) -> None:
    entries = _entries(tmp_path, _model("full", maxTokens=1000), _model("unlimited", maxTokens=0))

    assert (entries["full"].max_tokens, entries["unlimited"].max_tokens) == (250, 250)


def test_flags_that_all_have_are_said_once_and_unused_ones_never(tmp_path: Path) -> None:
    shared: Json = {"supportsStore": False, "supportsMidConvoEffort": True}
    own: Json = {"supportsStore": False, "thinkingFormat": "deepseek"}
    package = _package(tmp_path, deepseek=[_model("deepseek-v4-pro", compat=shared), _model("b", compat=own)])

    write_catalogue(package, tmp_path / "data")

    file = _written(tmp_path / "data", "deepseek")
    assert file.compat == {"supportsStore": False}
    assert [entry.compat for entry in file.models] == [{}, {"thinkingFormat": "deepseek"}]


def test_claude_at_another_place_thinks_as_at_home(tmp_path: Path) -> None:
    levels: Json = {"off": None, "max": "max"}
    at_home = _model("claude-opus-5-5", "anthropic-messages", thinkingLevelMap=levels, compat={"supportsStore": True})
    elsewhere = _model("us.anthropic.claude-opus-5-5", "bedrock-converse-stream", compat={"supportsStrictMode": True})
    dated = _model("eu.anthropic.claude-opus-5-5-v1:0", "bedrock-converse-stream")
    package = _package(tmp_path, anthropic=[at_home], amazon_bedrock=[elsewhere, dated])

    write_catalogue(package, tmp_path / "data")

    file = _written(tmp_path / "data", "amazon-bedrock")
    assert file.api == "anthropic-messages"
    assert [entry.thinking_level_map for entry in file.models] == [levels, levels]
    assert file.compat == {"supportsStore": True}


def test_nothing_but_the_data_is_taken_out_of_the_package(tmp_path: Path) -> None:
    package = _package(tmp_path, deepseek=[_model("deepseek-v4-pro")])
    with tarfile.open(package, "w:gz") as archive:
        models = {"openai-completions": {"chat:deepseek-v4-pro": _model("deepseek-v4-pro")}}
        _add(archive, "package/dist/providers/data/deepseek.json", json.dumps(models).encode())
        _add(archive, "package/dist/providers/data/../../../../evil.json", b"{}")
        _add(archive, "/tmp/evil.json", b"{}")
        link = tarfile.TarInfo("package/dist/providers/data/groq.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)

    write_catalogue(package, tmp_path / "data")

    assert [path.name for path in (tmp_path / "data").iterdir()] == ["deepseek.json"]


def test_files_of_providers_that_are_gone_are_removed(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "gone.json").write_text("{}")
    (tmp_path / "data" / "NOTICE").write_text("stays")

    write_catalogue(_package(tmp_path, deepseek=[_model("deepseek-v4-pro")]), tmp_path / "data")

    assert {path.name for path in (tmp_path / "data").iterdir()} == {"deepseek.json", "NOTICE"}


@pytest.mark.parametrize(
    ("models", "reason"),
    [
        ([_model("deepseek-v9")], "deepseek: there is no model 'deepseek-v4-pro'"),
        ([_model("deepseek-v4-pro", contextWindow="large")], "deepseek.json: Expected `int`, got `str`"),
        ([_model("deepseek-v4-pro", api="smoke-signals")], "deepseek: there is no model"),
    ],
)
def test_a_package_that_changed_its_form_changes_nothing(
    tmp_path: Path, models: list[dict[str, Json]], reason: str
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "deepseek.json").write_text("as before")

    with pytest.raises(SourceError, match=reason):
        write_catalogue(_package(tmp_path, deepseek=models), tmp_path / "data")

    assert (tmp_path / "data" / "deepseek.json").read_text() == "as before"


def test_the_notice_names_what_the_catalogue_was_made_of() -> None:
    notice = (Path(catalogue.__file__).parent / "data" / "NOTICE").read_text()

    assert f"{PACKAGE} {VERSION}," in notice
