"""Servers as they describe themselves, found and used through the registry. llama.cpp's answers are recorded."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from kaa.core.errors import NetworkError
from kaa.core.messages import Json
from kaa.llm.http.transport import Headers, HttpRequest, HttpResponse
from kaa.llm.models.discovery import find_model, look_for_servers
from kaa.llm.models.registry import ModelChoice, ModelRegistry, NoModelError
from kaa.llm.models.resolved import ResolvedModel

_OLLAMA = {
    "http://127.0.0.1:11434/v1/models": {"data": [{"id": "qwen3:8b", "owned_by": "library"}, {"id": "embed:latest"}]},
    "http://127.0.0.1:11434/api/version": {"version": "0.13.0"},
    "http://127.0.0.1:11434/api/ps": {"models": []},
    "qwen3:8b": {
        "capabilities": ["completion", "tools", "thinking"],
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
        "parameters": "temperature 0.6",
    },
    "embed:latest": {"capabilities": ["embedding"]},
}
_LLAMA_CPP = {
    "http://127.0.0.1:8092/v1/models": {
        "models": [{"name": "model.gguf", "capabilities": ["completion"]}],
        "object": "list",
        "data": [
            {
                "id": "model.gguf",
                "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
                "owned_by": "llamacpp",
                "meta": {"n_ctx": 8192, "n_ctx_train": 32768, "size": 1111370240},
            }
        ],
    },
    "http://127.0.0.1:8092/props": {"default_generation_settings": {"n_ctx": 8192}, "modalities": {"vision": False}},
}
_LM_STUDIO = {
    "http://127.0.0.1:1234/v1/models": {"data": [{"id": "a", "owned_by": "organization_owner"}, {"id": "e"}]},
    "http://127.0.0.1:1234/api/v0/models": {
        "data": [
            {"id": "a", "type": "llm", "state": "not-loaded", "max_context_length": 4096},
            {"id": "b", "type": "vlm", "state": "loaded", "max_context_length": 131072, "loaded_context_length": 32768},
            {"id": "e", "type": "embeddings"},
        ]
    },
}
_VLLM = {"http://127.0.0.1:8000/v1/models": {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 65536}]}}


class _Machine:
    """Answers by address; Ollama's questions about a model by its name."""

    def __init__(self, answers: Mapping[str, Json]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
        self.asked.append(request.url)
        key = msgspec.json.decode(request.body)["model"] if request.method == "POST" else request.url
        ports = {known.split("/")[2] for known in self._answers if "://" in known}
        if request.url.split("/")[2] not in ports:
            raise NetworkError("nobody is there")
        answer = self._answers.get(key)
        yield HttpResponse(404 if answer is None else 200, Headers(), _body(answer))

    async def close(self) -> None:
        pass


async def _body(answer: Json) -> AsyncIterator[bytes]:
    yield answer if isinstance(answer, bytes) else msgspec.json.encode(answer)


def _find(
    home: Path, choice: ModelChoice, answers: Mapping[str, Json], environ: Mapping[str, str] | None = None
) -> tuple[ResolvedModel, list[str]]:
    said: list[str] = []
    registry = ModelRegistry(home, environ or {})
    return asyncio.run(find_model(registry, choice, _Machine(answers), notify=said.append)), said


def test_llamacpp_is_found_by_its_port(tmp_path: Path) -> None:
    resolved, said = _find(tmp_path, ModelChoice(":8092"), _LLAMA_CPP)

    model = resolved.model
    assert (model.provider, model.id, model.context_window, model.max_tokens) == (
        "local:8092",
        "model.gguf",
        8192,
        2048,
    )
    assert model.input == ("text", "image")
    assert resolved.endpoint.base_url == "http://127.0.0.1:8092/v1"
    assert resolved.endpoint.compat.written_tool_calls
    assert said == [
        "local:8092 gives model.gguf a window of 8,192 tokens, though it could have 32,768. "
        "Start llama-server with --ctx-size 32768."
    ]


def _llamacpp_at(*ports: int) -> dict[str, Json]:
    return {name.replace("8092", str(port)): answer for name, answer in _LLAMA_CPP.items() for port in ports}


@pytest.mark.parametrize("port", [9931, 8080])
def test_llamacpp_is_found_by_its_name_on_the_ports_of_new_and_old_versions(tmp_path: Path, port: int) -> None:
    resolved, _ = _find(tmp_path, ModelChoice("llamacpp"), _llamacpp_at(port))

    assert (resolved.model.provider, resolved.endpoint.base_url) == ("llamacpp", f"http://127.0.0.1:{port}/v1")


def test_of_two_servers_of_llamacpp_the_old_one_goes_by_its_port(tmp_path: Path) -> None:
    found = asyncio.run(look_for_servers(ModelRegistry(tmp_path, {}), _Machine(_llamacpp_at(9931, 8080))))

    assert found == ("llamacpp/model.gguf", "local:8080/model.gguf")


def test_what_runs_here_is_free(tmp_path: Path) -> None:
    cost = _find(tmp_path, ModelChoice(":8092"), _LLAMA_CPP)[0].model.cost

    assert cost is not None
    assert cost.is_free


def test_ollamas_small_window_is_known_and_told(tmp_path: Path) -> None:
    resolved, said = _find(tmp_path, ModelChoice("ollama"), _OLLAMA)

    model = resolved.model
    assert (model.provider, model.id, model.context_window, model.reasoning) == ("ollama", "qwen3:8b", 4096, True)
    assert resolved.endpoint.compat.truncates_silently
    assert "OLLAMA_CONTEXT_LENGTH" in said[-1]
    assert "40,960" in said[-1]


@pytest.mark.parametrize(
    ("changes", "window"),
    [
        ({"http://127.0.0.1:11434/api/ps": {"models": [{"name": "qwen3:8b", "context_length": 32768}]}}, 32768),
        ({"qwen3:8b": {"capabilities": ["completion", "tools"], "parameters": "num_ctx     24576\nstop x"}}, 24576),
        ({"qwen3:8b": {"capabilities": None, "model_info": {"a.context_length": 2048}}}, 2048),
        ({"qwen3:8b": b"<html>"}, 4096),
    ],
)
def test_the_window_in_force_is_the_one_ollama_gives(tmp_path: Path, changes: Json, window: int) -> None:
    assert _find(tmp_path, ModelChoice("ollama/qwen3:8b"), {**_OLLAMA, **changes})[0].model.context_window == window


def test_a_model_without_tools_is_told_of(tmp_path: Path) -> None:
    answers = {**_OLLAMA, "qwen3:8b": {"capabilities": ["completion"]}}

    assert "cannot call tools" in _find(tmp_path, ModelChoice("ollama"), answers)[1][-1]


def test_the_loaded_model_of_lm_studio_is_preferred(tmp_path: Path) -> None:
    resolved, said = _find(tmp_path, ModelChoice(":1234"), _LM_STUDIO)

    model = resolved.model
    assert (model.provider, model.id, model.context_window, model.input) == (
        "lmstudio",
        "b",
        32768,
        ("text", "image"),
    )
    assert said == []


def test_vllm_tells_its_window(tmp_path: Path) -> None:
    resolved, _ = _find(tmp_path, ModelChoice("http://localhost:8000/v1"), _VLLM)

    assert (resolved.model.provider, resolved.model.context_window) == ("vllm", 65536)


def test_a_session_finds_its_server_again(tmp_path: Path) -> None:
    choice = ModelChoice(default_provider="local:8092", default_model="model.gguf")

    assert _find(tmp_path, choice, _LLAMA_CPP)[0].model.id == "model.gguf"


def test_a_key_goes_to_no_server_that_only_a_session_names(tmp_path: Path) -> None:
    of_a_session = ModelChoice(default_provider="local:8092", default_model="model.gguf", api_key="secret")

    resumed, _ = _find(tmp_path, of_a_session, _LLAMA_CPP)
    named, _ = _find(tmp_path, ModelChoice(":8092", api_key="secret"), _LLAMA_CPP)

    assert resumed.endpoint.host == named.endpoint.host == "127.0.0.1:8092"
    assert (resumed.endpoint.api_key, named.endpoint.api_key) == (None, "secret")


def test_a_name_that_no_key_is_needed_for_is_found(tmp_path: Path) -> None:
    resolved, _ = _find(tmp_path, ModelChoice("qwen3:8b:off"), {**_OLLAMA, **_VLLM})

    assert (resolved.model.provider, resolved.thinking) == ("ollama", "off")


def test_nothing_is_taken_unasked_but_told(tmp_path: Path) -> None:
    with pytest.raises(NoModelError) as caught:
        _find(tmp_path, ModelChoice(), {**_OLLAMA, **_VLLM})

    assert caught.value.found == ("ollama/qwen3:8b", "vllm/m")


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        (ModelChoice(":9"), "no model server answers at 127.0.0.1:9: start it"),
        (ModelChoice(":8092/gpt"), "local:8092 has no model 'gpt': it has model.gguf"),
        (ModelChoice(":99999"), "there is no port 99999"),
        (ModelChoice("http://127.0.0.1:7/v1"), "has no model: load one there"),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, choice: ModelChoice, reason: str) -> None:
    with pytest.raises(NoModelError) as caught:
        _find(tmp_path, choice, {**_LLAMA_CPP, "http://127.0.0.1:7/v1/models": {"data": None}})

    assert reason in caught.value.reason


def test_a_provider_of_the_users_keeps_its_name(tmp_path: Path) -> None:
    mine = {"providers": {"ollama": {"baseUrl": "http://gpu:1/v1", "models": [{"id": "qwen3:8b"}]}}}
    (tmp_path / "models.json").write_bytes(msgspec.json.encode(mine))

    named, _ = _find(tmp_path, ModelChoice("ollama/qwen3:8b"), _OLLAMA)
    by_port, _ = _find(tmp_path, ModelChoice(":11434"), _OLLAMA)

    assert named.endpoint.base_url == "http://gpu:1/v1"
    assert (by_port.model.provider, by_port.endpoint.base_url) == ("local:11434", "http://127.0.0.1:11434/v1")


def test_strangers_on_the_usual_ports_are_asked_one_harmless_question(tmp_path: Path) -> None:
    machine = _Machine({"http://127.0.0.1:8000/v1/models": b"<html>a web server</html>"})

    assert asyncio.run(look_for_servers(ModelRegistry(tmp_path, {}), machine)) == ()
    assert sorted(machine.asked) == [f"http://127.0.0.1:{port}/v1/models" for port in (11434, 1234, 8000, 8080, 9931)]


@pytest.mark.parametrize(("wanted", "ports"), [("none", []), ("", []), ("vllm,lmstudio,hal", [1234, 8000])])
def test_only_the_servers_that_are_wanted_are_looked_for(tmp_path: Path, wanted: str, ports: list[int]) -> None:
    machine = _Machine({})

    assert asyncio.run(look_for_servers(ModelRegistry(tmp_path, {"KAA_LOCAL_SERVERS": wanted}), machine)) == ()

    assert sorted(machine.asked) == [f"http://127.0.0.1:{port}/v1/models" for port in ports]


def test_servers_that_were_found_stay_when_the_files_are_read_again(tmp_path: Path) -> None:
    registry = ModelRegistry(tmp_path, {})
    asyncio.run(look_for_servers(registry, _Machine(_VLLM)))

    registry.reload()

    assert registry.is_free("vllm", "m")
    assert ("vllm", "m") in [(model.provider, model.id) for model in registry.available()]


def test_a_cold_model_of_ollama_is_loaded_to_learn_its_window(tmp_path: Path) -> None:
    running = "http://127.0.0.1:11434/api/ps"

    class Loading(_Machine):
        """Says of the model what Ollama says once it is loaded."""

        @asynccontextmanager
        async def send(self, request: HttpRequest) -> AsyncIterator[HttpResponse]:
            if request.url.endswith("/api/generate"):
                assert msgspec.json.decode(request.body) == {"model": "qwen3:8b", "stream": False}
                loaded = {"models": [{"name": "qwen3:8b", "context_length": 32768}]}
                self._answers = {**self._answers, running: loaded}
            async with super().send(request) as response:
                yield response

    said: list[str] = []
    registry = ModelRegistry(tmp_path, {})

    resolved = asyncio.run(find_model(registry, ModelChoice("ollama"), Loading(_OLLAMA), notify=said.append))

    assert resolved.model.context_window == 32768
    assert said == ["ollama loads qwen3:8b, to learn how large its window is"]
