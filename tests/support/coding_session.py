"""A session of a coding agent as it usually goes: most of what it reads are files, searches and outputs of tests.

The sizes are drawn from a fixed seed. Of all tokens of the whole session, results of tools are about four fifths, as in
the sessions of SWE-agent that arXiv 2508.21433 measures (84 %).
"""

import json
import random
from collections.abc import Sequence

from kaa.core.messages import Json
from kaa.shell.conversation import Conversation
from kaa.shell.options import ConversationOptions
from kaa.workspace.protocol import CommandRequest, CommandResult
from tests.support.model_script import Answer, Call, ScriptItem, say
from tests.support.model_wire import Wire
from tests.support.stage import Stage

# Of GPT-5 and Claude Opus 4.8, per million tokens.
_PRICES: dict[Wire, Json] = {
    "openai-completions": {"input": 1.25, "output": 10, "cacheRead": 0.125, "cacheWrite": 0},
    "anthropic-messages": {"input": 5, "output": 25, "cacheRead": 0.5, "cacheWrite": 6.25},
}
# Replies for each message of the user, the last one included.
_REPLIES = 10
_FILES = 40
_WORDS = ("parser", "reads", "line", "token", "value", "return", "self", "node", "state", "error", "index", "cache")


class CodingSession:
    """A project, and what a model does in it.

    Args:
        turns: replies of the model.
        seed: of the sizes.
    """

    def __init__(self, turns: int, seed: int = 0) -> None:
        self._chance = random.Random(seed)
        self._turns = turns
        self.files = {f"src/mod_{number}.py": self._source() for number in range(_FILES)}
        self._outputs: dict[str, tuple[int, bytes]] = {}
        self._script = [self._reply() for _ in range(turns)]

    def prepare(self, stage: Stage, features: Json, wire: Wire = "openai-completions") -> None:
        """Put the project and the settings on a stage."""
        base = f"{stage.server.url}/v1" if wire.startswith("openai") else stage.server.url
        model = {"id": "m", "contextWindow": 1_000_000, "maxTokens": 64_000, "cost": _PRICES.get(wire)}
        provider = {"baseUrl": base, "api": wire, "apiKey": "k", "models": [model]}
        stage.home.mkdir(parents=True, exist_ok=True)
        (stage.home / "models.json").write_text(json.dumps({"providers": {"lab": provider}}))
        (stage.home / "settings.json").write_text(json.dumps({"features": features}))
        stage.environ = {}
        stage.files |= self.files
        stage.commands = self._run

    def scripts(self) -> Sequence[Sequence[ScriptItem]]:
        """What the model answers to each message of the user."""
        parts = [self._script[at : at + _REPLIES] for at in range(0, self._turns, _REPLIES)]
        return [[*part[:-1], say("That is done. " + self._words(40))] for part in parts]

    def bodies(self, stage: Stage) -> list[dict[str, Json]]:
        """Have the session, and return all requests."""

        async def scene(conversation: Conversation) -> None:
            for number, script in enumerate(self.scripts()):
                stage.server.begin(script)
                await conversation.submit(f"Part {number}: {self._words(30)}")
                assert stage.server.remaining == 0
                bodies.extend(request.json for request in stage.server.requests)

        bodies: list[dict[str, Json]] = []
        stage.play(scene, ConversationOptions(model="lab/m"))
        return bodies

    def _run(self, command: CommandRequest) -> CommandResult:
        code, output = self._outputs.get(command.argv[-1], (0, b""))
        return CommandResult(code, None, output, len(output), output.count(b"\n"))

    def _reply(self) -> Answer:
        chance, said = self._chance, self._words(30)
        match chance.choices(("read", "search", "test", "write", "look"), (35, 15, 20, 20, 10))[0]:
            case "read":
                paths = chance.sample(sorted(self.files), chance.choice((1, 1, 1, 2)))
                calls = tuple(Call("read", json.dumps({"path": path})) for path in paths)
            case "search":
                calls = (self._command("rg -n", 0, chance.randrange(500, 4000)),)
            case "test":
                calls = (self._command("pytest -q", chance.choice((0, 1)), chance.randrange(800, 7000)),)
            case "write":
                path = f"src/new_{chance.randrange(1_000_000)}.py"
                calls = (
                    Call("write", json.dumps({"path": path, "content": self._lines(chance.randrange(300, 2500))})),
                )
            case _:
                calls = (self._command("git diff", 0, chance.randrange(300, 3000)),)
        return Answer(text=(said,), calls=calls)

    def _command(self, name: str, code: int, size: int) -> Call:
        command = f"{name} {self._words(2)} {len(self._outputs)}"
        self._outputs[command] = (code, self._lines(size).encode())
        return Call("bash", json.dumps({"command": command}))

    def _source(self) -> bytes:
        size = min(40_000, max(600, int(self._chance.lognormvariate(8.6, 0.7))))
        return self._lines(size).encode()

    def _lines(self, size: int) -> str:
        lines: list[str] = []
        while sum(map(len, lines)) < size:
            lines.append("    " * self._chance.randrange(4) + self._words(self._chance.randrange(3, 10)) + "\n")
        return "".join(lines)

    def _words(self, count: int) -> str:
        return " ".join(self._chance.choices(_WORDS, k=count))
