"""A language server for tests: `MODE...` as arguments. A line with `ERROR x` is the error `x`.

`BREAKS name x` is the error `x` in another file of the folder. It defines what follows `def `, and knows where it is
used. Runs alone, with nothing but the standard library.
"""

import json
import os
import re
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

MODES = set(sys.argv[1:])
documents: dict[str, str] = {}
versions: dict[str, int] = {}
published_elsewhere: set[str] = set()
Message: TypeAlias = dict[str, Any]


def send(message: Message) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def receive() -> Message:
    size = 0
    while (line := sys.stdin.buffer.readline()) != b"\r\n":
        if not line:
            sys.exit(0)
        if line.lower().startswith(b"content-length:"):
            size = int(line.split(b":")[1])
    message: Message = json.loads(sys.stdin.buffer.read(size))
    return message


def found(line: int, message: str, severity: int = 1) -> Message:
    place = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 1}}
    return {"range": place, "message": message, "severity": severity, "source": "fake", "code": 7}


def errors_in(text: str) -> list[Message]:
    lines = enumerate(text.splitlines())
    return [
        found(number, match[2], 1 if match[1] == "ERROR" else 2)
        for number, line in lines
        if (match := re.match("(ERROR|WARNING) (.+)", line))
    ]


def publish(uri: str, diagnostics: list[Message], version: int | None = None) -> None:
    params: Message = {"uri": uri, "diagnostics": diagnostics}
    if version is not None and "unversioned" not in MODES:
        params["version"] = version
    send({"method": "textDocument/publishDiagnostics", "params": params})


def check(uri: str) -> None:
    text = documents[uri]
    if "stale" in MODES:
        publish(uri, [found(0, "of a former text")], versions[uri] - 1)
    if "steps" in MODES:
        publish(uri, [], versions[uri])
    publish(uri, errors_in(text), versions[uri])
    folder = uri.rpartition("/")[0]
    broken = re.findall(r"^BREAKS (\S+) (.+)", text, re.MULTILINE)
    for name in {name for name, _ in broken} | published_elsewhere:
        published_elsewhere.add(name)
        publish(f"{folder}/{name}", [found(0, what) for other, what in broken if other == name])


def places(word: str) -> list[tuple[Message, str]]:
    places: list[tuple[Message, str]] = []
    for uri in sorted(documents):
        for number, line in enumerate(documents[uri].splitlines()):
            for match in re.finditer(rf"\b{re.escape(word)}\b", line):
                start = len(line[: match.start()].encode("utf-16-le")) // 2
                end = start + len(word)
                span = {"start": {"line": number, "character": start}, "end": {"line": number, "character": end}}
                places.append(({"uri": uri, "range": span}, line))
    return places


def word_at(params: Message) -> str:
    position = params["position"]
    line = documents[params["textDocument"]["uri"]].splitlines()[position["line"]]
    column = len(line.encode("utf-16-le")[: position["character"] * 2].decode("utf-16-le"))
    return next((m.group() for m in re.finditer(r"\w+", line) if m.start() <= column <= m.end()), "")


def answer(method: str, params: Message) -> Any:
    if method == "textDocument/diagnostic":
        return {"kind": "full", "items": errors_in(documents[params["textDocument"]["uri"]])}
    if method == "textDocument/hover":
        return {"contents": {"kind": "markdown", "value": f"**{word_at(params)}** is a word"}}
    if method == "textDocument/definition":
        return [place for place, line in places(word_at(params)) if line.startswith("def ")]
    if method == "textDocument/references":
        return [place for place, _ in places(word_at(params))]
    if method == "textDocument/documentSymbol":
        uri = params["textDocument"]["uri"]
        words = re.findall(r"^def (\w+)", documents[uri], re.MULTILINE)
        return [{"name": word, "kind": 12, "location": places(word)[0][0]} for word in words]
    if method == "workspace/symbol":
        return [{"name": params["query"], "kind": 12, "location": place} for place, _ in places(params["query"])[:1]]
    if method == "textDocument/rename":
        changes: dict[str, list[Message]] = {}
        for place, _ in places(word_at(params)):
            changes.setdefault(place["uri"], []).append({"range": place["range"], "newText": params["newName"]})
        return {"changes": changes}
    return None


def capabilities() -> Message:
    pull = {"diagnosticProvider": {"interFileDependencies": True, "workspaceDiagnostics": False}}
    return {
        "textDocumentSync": {"openClose": True, "change": 1, "save": {"includeText": False}},
        **(pull if "pull" in MODES else {}),
        "definitionProvider": True,
        "referencesProvider": True,
        "hoverProvider": {},
        "documentSymbolProvider": True,
        "workspaceSymbolProvider": True,
        **({} if "no-rename" in MODES else {"renameProvider": True}),
    }


def misbehave(when: str) -> None:
    if f"crash-at-{when}" in MODES:
        sys.stderr.write(f"crashed at {when}\n")
        sys.stderr.flush()
        os._exit(3)
    if f"hang-at-{when}" in MODES:
        time.sleep(3600)
    if f"flood-at-{when}" in MODES:
        while True:
            send({"method": "window/logMessage", "params": {"type": 3, "message": "x" * 10_000}})
    if f"garbage-at-{when}" in MODES:
        sys.stdout.buffer.write(b"Content-Length: 5\r\n\r\n{{{{{")
        sys.stdout.buffer.flush()
        time.sleep(3600)
    if f"endless-at-{when}" in MODES:
        while True:
            sys.stdout.buffer.write(b"x" * 65536)
    if f"huge-at-{when}" in MODES:
        sys.stdout.buffer.write(b"Content-Length: 999999999\r\n\r\n")
        sys.stdout.buffer.flush()
        time.sleep(3600)
    if f"attack-at-{when}" in MODES:
        with suppress(OSError):
            Path("written").write_text("x")
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", int(os.environ["CANARY"])), 1)


def main() -> None:
    misbehave("start")
    while True:
        message = receive()
        method, params = message.get("method", ""), message.get("params") or {}
        if method == "initialize":
            misbehave("initialize")
            send({"id": message["id"], "result": {"capabilities": capabilities()}})
        elif method == "initialized":
            ask = {"items": [{"section": "fake.level"}, {"section": "unknown"}]}
            send({"id": "c1", "method": "workspace/configuration", "params": ask})
            send({"id": "c2", "method": "workspace/unknown", "params": {}})
        elif method in ("textDocument/didOpen", "textDocument/didChange"):
            document = params["textDocument"]
            uri = document["uri"]
            documents[uri] = document["text"] if "text" in document else params["contentChanges"][-1]["text"]
            versions[uri] = document["version"]
            misbehave("open" if method.endswith("Open") else "change")
            if "pull" not in MODES:
                check(uri)
        elif method == "textDocument/didClose":
            documents.pop(params["textDocument"]["uri"], None)
        elif method == "shutdown":
            if "stays" not in MODES:
                send({"id": message["id"], "result": None})
        elif method == "exit":
            sys.exit(0)
        elif method and "id" in message:
            misbehave("request")
            for path in Path().absolute().glob("*.fake"):
                documents.setdefault(path.as_uri(), path.read_text())
            send({"id": message["id"], "result": answer(method, params)})


main()
