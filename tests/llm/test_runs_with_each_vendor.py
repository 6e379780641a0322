"""One session that goes round all wire formats, run after run: each vendor would accept what its model is sent."""

from pathlib import Path
from typing import get_args

import msgspec

from kaa.core.messages import Json
from tests.end_to_end.kaa_process import SECRET, Kaa, conversation
from tests.support.model_server import Answer, Call, ModelServer, Received, Wire
from tests.support.vendor_judge import objections
from tests.support.wire_formats import FORMATS, without_marks

_WIRES = get_args(Wire)
# What the scripted server seals thought with.
_SIGNATURES: dict[Wire, set[str]] = {
    "openai-completions": {"reasoning_content"},
    "anthropic-messages": {"c2lnbmVk"},
    "openai-responses": {"c2VhbGVk"},
    "google-generative-ai": {"c2lnbmVk"},
}


def _set_up(kaa: Kaa, server: ModelServer) -> None:
    """A provider for each format, named like it."""
    providers: dict[str, Json] = {}
    for wire in _WIRES:
        base_url = f"{server.url}/v1" if wire.startswith("openai") else server.url
        model = {"id": FORMATS[wire].model.id, "reasoning": True, "input": ["text", "image"]}
        providers[wire] = {"baseUrl": base_url, "api": wire, "apiKey": SECRET, "models": [model]}
    (kaa.home / "models.json").write_bytes(msgspec.json.encode({"providers": providers}))


def _wire_of(request: Received) -> Wire:
    ends: dict[str, Wire] = {
        "completions": "openai-completions",
        "messages": "anthropic-messages",
        "responses": "openai-responses",
    }
    return ends.get(request.path.rpartition("/")[2], "google-generative-ai")


# Every pair of formats is in test_switching.py. What judges the requests takes seconds to load, as that does.
def test_a_session_goes_round_all_formats_and_comes_back(tmp_path: Path) -> None:
    kaa = Kaa(tmp_path)
    kaa.settings(sandbox={"mode": "full-access"})
    first: Wire = "anthropic-messages"
    start = _WIRES.index(first)
    around = [_WIRES[(start + step) % len(_WIRES)] for step in range(len(_WIRES) + 1)]
    (kaa.project / "a.txt").write_text("one\n")
    script: list[Answer] = []
    for wire in around:
        ids = (f"{wire}-1", f"{wire}-2")  # the same ones in every reply
        calls = tuple(
            Call("read", f'{{"path": "{name}.txt"}}', call_id) for name, call_id in zip("ab", ids, strict=True)
        )
        script += [Answer(thinking=("Where?",), text=("Let me see.",), calls=calls), Answer(text=("Seen.",))]

    with ModelServer(script) as server:
        _set_up(kaa, server)
        for number, wire in enumerate(around):
            model = f"{wire}/{FORMATS[wire].model.id}:high"
            done = kaa.run(*(["-c"] if number else []), "--model", model, "-p", f"question {number}")
            assert (done.code, done.out) == (0, "Let me see.\nSeen.\n"), done.err

    for request, wire in zip(server.requests, [wire for wire in around for _ in range(2)], strict=True):
        assert _wire_of(request) == wire
        # The scripted server calls its items msg_1 and rs_1 in every reply, which OpenAI does not.
        assert set(objections(wire, request.json, _SIGNATURES[wire])) <= {"ids come twice"}
    said = FORMATS[first].said
    begun, back = (without_marks(server.requests[place].json)[said] for place in (1, -2))
    assert back[: len(begun)] == begun
    asked = [text for who, text in conversation(server.requests[-1]) if who == "user"]
    assert asked == [f"question {number}" for number in range(len(around))]
    assert len([who for who, _ in conversation(server.requests[-1]) if who == "tool"]) == 2 * len(around)
