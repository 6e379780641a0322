"""Serves the erring models on loopback, as OpenAI's Chat Completions with a prompt cache."""

import re

import msgspec

from benchmarks.lab.erring import MODELS, Replies, Seen
from benchmarks.lab.playbooks import PLAYBOOKS, Playbook
from kaa.core.messages import Json
from tests.support.model_plan import Plan, plan
from tests.support.model_script import Answer, Refusal, Tokens, say
from tests.support.model_server import ModelServer, Received
from tests.support.model_wire import Wire
from tests.support.prefix_cache import PrefixCache

_WIRE: Wire = "openai-completions"
_BYTES_PER_TOKEN = 4
# kaa's system prompt names the directory, which is of this run only.
_DIRECTORY = re.compile(r"Working directory: (\S+)")


class _Run:
    """A run of kaa with an erring model."""

    def __init__(self, replies: Replies) -> None:
        self._replies = replies
        self._begun = False

    def reply(self, seen: Seen) -> Answer:
        """The model's next reply."""
        try:
            if self._begun:
                return self._replies.send(seen)
            self._begun = True
            return next(self._replies)
        except StopIteration:
            return say("That is all.")


class ErringServer(ModelServer):
    """The models of `MODELS`, by their names. A model that has to be asked about an unknown task refuses."""

    def __init__(self) -> None:
        super().__init__()
        self._runs: dict[tuple[str, str], _Run] = {}
        self._cache = PrefixCache(_WIRE)

    def answer(self, request: Received) -> Plan:
        """What to do about a request."""
        if request.path != "/v1/chat/completions":
            return super().answer(request)
        body = request.json
        if not body.get("tools"):  # a name for the session, or a summary
            return plan(say("A summary."), _WIRE)
        book = _book(body["messages"])
        if book is None or body["model"] not in MODELS:
            return plan(Refusal(400, body='{"error": {"message": "this model does not know this task"}}'), _WIRE)
        directory = _DIRECTORY.search(_text(body["messages"][0]))
        key = (body["model"], directory[1] if directory else "")
        if key not in self._runs:
            self._runs[key] = _Run(MODELS[body["model"]](book))
        answer = self._runs[key].reply(_seen(body))
        return plan(_with_usage(answer, request.body, self._cache.ask(body)), _WIRE, len(body["messages"]))


def models_json(url: str) -> bytes:
    """A models.json that leads to the server, with prices as of a large model: dollars for a million tokens."""
    price = {"input": 3.0, "output": 15.0, "cacheRead": 0.3, "cacheWrite": 3.75}
    models = [
        {"id": name, "contextWindow": 400_000, "cost": price, "reasoning": name == "think-as-told"} for name in MODELS
    ]
    provider = {"baseUrl": f"{url}/v1", "api": _WIRE, "apiKey": "none", "models": models}
    return msgspec.json.encode({"providers": {"erring": provider}})


def _book(messages: list[Json]) -> Playbook | None:
    said = "\n".join(_text(message) for message in messages if message["role"] == "user")
    return next((book for book in PLAYBOOKS if book.instruction in said), None)


def _seen(body: dict[str, Json]) -> Seen:
    messages = body["messages"]
    last = max((place for place, one in enumerate(messages) if one["role"] == "assistant"), default=0)
    return Seen(
        "\n".join(map(_text, messages[last + 1 :])),
        "\n".join(_text(one) for one in messages if one["role"] != "assistant"),
        frozenset(tool["function"]["name"] for tool in body["tools"]),
        body.get("reasoning_effort", ""),
    )


def _text(message: Json) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _with_usage(answer: Answer, body: bytes, cached: int) -> Answer:
    """The reply with what it uses: so many bytes are a token."""
    prompt = max(len(body) // _BYTES_PER_TOKEN, cached)
    said = sum(map(len, answer.text)) + sum(len(call.name) + len(call.arguments) for call in answer.calls)
    thought = answer.usage.output if answer.usage and answer.thinking else 0
    return msgspec.structs.replace(answer, usage=Tokens(prompt, cached, thought + said // _BYTES_PER_TOKEN))
