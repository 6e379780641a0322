"""Random sessions mean the same to kaa and to an installed pi: the context of the model, and what requests used.

Opt-in: KAA_PI_PACKAGE names the folder of the installed npm package (…/node_modules/@earendil-works/pi-coding-agent),
KAA_PI_NODE a Node that pi runs on, unless it is `node`. KAA_PI_SEED continues with other sessions.
"""

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kaa.core.messages import Message
from kaa.session.context import SessionContext, build_context
from kaa.session.file.decoding import decode_entry
from kaa.session.file.jsonl import encode_line
from kaa.session.past_usage import past_usage
from tests.support.sessions import JsonObject, entry, opened, write_session

PACKAGE = os.environ.get("KAA_PI_PACKAGE", "")
NODE = os.environ.get("KAA_PI_NODE") or shutil.which("node") or ""
SEED = int(os.environ.get("KAA_PI_SEED", "0"))
SESSIONS = 300
LONGEST = 40

pytestmark = pytest.mark.skipif(not PACKAGE, reason="KAA_PI_PACKAGE names no installed pi")

# Stands in texts that kaa and pi put into other words: of these, only the mark is compared.
REWORDED = "reworded-"


class Growing:
    """A session that grows by random entries, of all kinds that pi 1.5.2 writes, as pi and extensions write them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.entries: list[JsonObject] = []
        self.leaf: str | None = None
        self.calls: list[str] = []
        self.texts = 0

    def grow(self) -> None:
        """One more entry, mostly at the leaf."""
        if self.entries and self.random.random() < 0.12:
            self.leaf = self.random.choice([None, *(one["id"] for one in self.entries)])
        kinds: list[tuple[int, Callable[[], JsonObject]]] = [
            (8, self.user),
            (10, self.assistant),
            (6, self.tool_result),
            (2, self.command),
            (2, self.system),
            (1, self.old_note),
            (3, self.custom_message),
            (2, self.compaction),
            (8, self.context_edit),
            (2, self.branch_summary),
            (3, self.request_usage),
            (1, lambda: self.new("custom", customType="x", data=[self.text()])),
            (1, lambda: self.new("model_change", provider="p", modelId=self.text())),
            (1, lambda: self.new("thinking_level_change", thinkingLevel=self.random.choice(["off", "low", "high"]))),
            (1, lambda: self.new("label", targetId=self.any_id(), label=self.random.choice(["here", None]))),
            (1, lambda: self.new("session_info", name=self.text())),
        ]
        weights = [weight for weight, _ in kinds]
        ((_, make),) = self.random.choices(kinds, weights)
        made = make()
        self.entries.append(made)
        self.leaf = made["id"]

    def new(self, kind: str, /, **fields: Any) -> JsonObject:
        return entry(kind, f"{len(self.entries):08x}", self.leaf, **fields)

    def message(self, role: str, **fields: Any) -> JsonObject:
        return self.new("message", message={"role": role, **fields, "timestamp": 1})

    def text(self) -> str:
        self.texts += 1
        shape: str = self.random.choice(["t{}", "“{}” \U0001f40d", "a\n\n<b> {}", "{}"])
        return shape.format(self.texts)

    def any_id(self) -> str:
        """Mostly of an entry on the way to the leaf."""
        on_path: list[str] = []
        parents: dict[str, str | None] = {one["id"]: one["parentId"] for one in self.entries}
        at = self.leaf
        while at is not None:
            on_path.append(at)
            at = parents[at]
        others = [*parents, "unknown", f"{len(self.entries):08x}"]
        return self.random.choice(on_path if on_path and self.random.random() < 0.85 else others)

    def usage(self) -> JsonObject:
        counts = {name: self.random.randrange(9000) for name in ("input", "output", "cacheRead", "cacheWrite")}
        cost = dict.fromkeys(counts, 0.001)
        return {
            **counts,
            "totalTokens": sum(counts.values()),
            "cost": {**cost, "total": self.random.randrange(99) / 64},
        }

    def shown(self) -> JsonObject | list[JsonObject]:
        picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
        return self.random.choice(
            [[{"type": "text", "text": self.text()}], [{"type": "text", "text": "look"}, picture]]
        )

    def said(self) -> list[JsonObject]:
        blocks: list[JsonObject] = [{"type": "text", "text": self.text()}]
        if self.random.random() < 0.3:
            blocks.insert(0, {"type": "thinking", "thinking": self.text(), "thinkingSignature": "s"})
        if self.random.random() < 0.5:
            self.calls.append(f"call-{len(self.entries)}")
            call = {"type": "toolCall", "id": self.calls[-1], "name": "bash", "arguments": {"command": self.text()}}
            blocks.append(call)
        return self.random.choice([blocks, blocks, blocks, []])

    def user(self) -> JsonObject:
        return self.message("user", content=self.random.choice([self.text(), self.shown()]))

    def assistant(self) -> JsonObject:
        about = {"api": "anthropic-messages", "provider": "p", "model": self.random.choice(["m", "n"])}
        stop = self.random.choice(["stop", "stop", "toolUse", "length", "error", "aborted"])
        newer = {"thinkingLevel": "high", "rawStopReason": "end_turn", "endTurn": True, "responseModel": "m-1"}
        return self.message("assistant", content=self.said(), **about, usage=self.usage(), stopReason=stop, **newer)

    def tool_result(self) -> JsonObject:
        call = self.random.choice(self.calls) if self.calls else "lost"
        extra = self.random.choice([{}, {"usage": self.usage()}, {"nestedCalls": {"calls": [], "complete": True}}])
        failed = self.random.random() < 0.2
        return self.message(
            "toolResult", toolCallId=call, toolName="bash", content=self.shown(), isError=failed, **extra
        )

    def command(self) -> JsonObject:
        said = f"{REWORDED}{self.text()}".split()[0]
        ended = self.random.choice([{"exitCode": 0}, {"exitCode": 2}, {"excludeFromContext": True, "exitCode": 0}])
        return self.message("bashExecution", command=said, output="", cancelled=False, truncated=False, **ended)

    def system(self) -> JsonObject:
        return self.message("system", content="", sections={"preamble": self.text()}, toolsAdded=[{"name": "read"}])

    def old_note(self) -> JsonObject:
        return self.message("custom", customType="x", content=self.text(), display=True)

    def custom_message(self) -> JsonObject:
        content = self.random.choice([self.text(), self.shown()])
        return self.new("custom_message", customType="x", content=content, display=self.random.random() < 0.5)

    def summary(self) -> str:
        return f"{REWORDED}{len(self.entries)}"

    def compaction(self) -> JsonObject:
        extra = self.random.choice([{}, {"usage": self.usage()}, {"systemMessage": self.system()["message"]}])
        first = self.any_id()
        return self.new("compaction", summary=self.summary(), firstKeptEntryId=first, tokensBefore=9, **extra)

    def branch_summary(self) -> JsonObject:
        extra = self.random.choice([{}, {"usage": self.usage()}])
        summary = self.random.choice(["", self.summary(), self.summary()])
        return self.new("branch_summary", fromId=self.any_id(), summary=summary, **extra)

    def context_edit(self) -> JsonObject:
        content = self.random.choice([self.text(), [{"type": "text", "text": self.text()}]])
        replacement = self.random.choice([None, {"content": content}])
        return self.new("context_edit", targetId=self.any_id(), replacement=replacement)

    def request_usage(self) -> JsonObject:
        kind = self.random.choice(["cache_warm", "title", "of an extension"])
        return self.new("usage", kind=kind, provider="p", model="m", usage=self.usage())


def plain(message: JsonObject) -> JsonObject:
    """A message as both are to give it."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks:
        if REWORDED in block.get("text", ""):
            mark = block["text"][block["text"].index(REWORDED) :].split()[0].strip("`<").removesuffix("</summary>")
            return {"role": message["role"], "content": mark}
    about: JsonObject = {
        name: message[name] for name in ("toolCallId", "isError", "stopReason", "model") if name in message
    }
    return {"role": message["role"], "content": blocks, **about}


def of_kaa(message: Message) -> JsonObject:
    fields: JsonObject = msgspec.json.decode(msgspec.json.encode(message))
    return {"isError": False, **plain(fields)} if fields["role"] == "toolResult" else plain(fields)


def model_of(context: SessionContext) -> JsonObject | None:
    return None if context.model is None else {"provider": context.model.provider, "modelId": context.model.id}


def random_sessions(folder: Path) -> list[Path]:
    paths = []
    for number in range(SESSIONS):
        growing = Growing(SEED * SESSIONS + number)
        for _ in range(growing.random.randrange(1, LONGEST)):
            growing.grow()
        paths.append(write_session(folder / f"{number}.jsonl", *growing.entries))
    return paths


def answers_of_pi(paths: list[Path]) -> list[JsonObject]:
    asked = subprocess.run(
        [NODE, str(Path(__file__).with_name("pi_answers.mjs")), PACKAGE],
        input="".join(f"{path}\n" for path in paths),
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr[-2000:]
    answers = [json.loads(line) for line in asked.stdout.splitlines()]
    assert len(answers) == len(paths)
    return answers


def written_anew(path: Path) -> Path:
    """The session as kaa writes its entries."""
    header, *lines = path.read_bytes().splitlines()
    entries = [decode_entry(line) for line in lines]
    assert None not in entries
    again = path.with_suffix(".kaa.jsonl")
    again.write_bytes(header + b"\n" + b"".join(encode_line(entry) for entry in entries if entry is not None))
    return again


def test_what_kaa_writes_means_the_same_to_pi(tmp_path: Path) -> None:
    paths = random_sessions(tmp_path)

    before, after = answers_of_pi(paths), answers_of_pi([written_anew(path) for path in paths])

    for path, one, other in zip(paths, before, after, strict=True):
        assert [plain(message) for message in other.pop("messages")] == [
            plain(message) for message in one.pop("messages")
        ], path
        assert other == one, path


def test_a_session_means_the_same_to_kaa_and_to_pi(tmp_path: Path) -> None:
    paths = random_sessions(tmp_path)
    answers = answers_of_pi(paths)

    for path, answer in zip(paths, answers, strict=True):
        with opened(path) as store:
            context = build_context(store)
            uses = [use.usage for _, use in past_usage(store, store.tree.nodes)]
        used = {
            "input": sum(usage.input for usage in uses),
            "output": sum(usage.output for usage in uses),
            "cacheRead": sum(usage.cache_read for usage in uses),
            "cacheWrite": sum(usage.cache_write for usage in uses),
        }
        theirs = [plain(message) for message in answer["messages"] if message["role"] != "system"]

        assert [of_kaa(message) for message in context.messages] == theirs, path
        assert (model_of(context), context.thinking_level) == (answer["model"], answer["thinkingLevel"]), path
        assert {**used, "total": sum(used.values())} == answer["tokens"], path
        assert sum(usage.cost.total for usage in uses) == pytest.approx(answer["cost"]), path
