"""A scripted MCP server of both eras: in a test's own process, or as a program over standard input and output.

As a program: `python mcp_server.py SCRIPT`, where SCRIPT is a file with the fields of `ScriptedServer` as JSON. Nothing
but Python's standard library, for it also runs in sandboxes.
"""

import json
import os
import sys
from typing import Any

LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MODERN = "2026-07-28"
NAMESPACE = "io.modelcontextprotocol/"


def echo_tool(name: str = "echo", **fields: Any) -> dict[str, Any]:
    """A tool that answers with its argument `text`."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return {"name": name, "description": f"Say a text ({name}).", "inputSchema": schema} | fields


class ScriptedServer:
    """Answers messages.

    Args:
        eras: which it speaks: `legacy`, `modern`.
        tools: what it lists.
        results: what calls of a tool are answered with: a result, or a list of results, one for each call in turn (the
            last one stays). Without one a tool answers with its argument `text`.
        prompts: likewise.
        resources: likewise; reading answers with the address.
        templates: likewise.
        instructions: its advice.
        page: how many items a page has; 0 for all.
        fault: what goes wrong: `silent` (no answer to calls), `twice`, `wrong id`, `wrong type`, `torn`, `huge`,
            `dies`, `stray` (prints before it answers), `endless` (pages without end), `exits` (at once), `spies` (calls
            answer with the names of its variables, and of what is in the folder `text`), `fetches` (calls get the
            address `text`).
        first: an address that it gets before it serves; it ends if it cannot.
    """

    def __init__(
        self,
        eras: tuple[str, ...] = ("legacy",),
        tools: list[dict[str, Any]] | None = None,
        results: dict[str, Any] | None = None,
        prompts: list[dict[str, Any]] | None = None,
        resources: list[dict[str, Any]] | None = None,
        templates: list[dict[str, Any]] | None = None,
        instructions: str = "",
        page: int = 0,
        fault: str = "",
        first: str = "",
    ) -> None:
        self.first = first
        self.eras = tuple(eras)
        self.tools = [echo_tool()] if tools is None else tools
        self.results = results or {}
        self.prompts = prompts or []
        self.resources = resources or []
        self.templates = templates or []
        self.instructions = instructions
        self.page = page
        self.fault = fault
        self.received: list[dict[str, Any]] = []

    def handle(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """The messages that answer one."""
        self.received.append(message)
        if "method" not in message or "id" not in message:
            return []
        method, id_ = message["method"], message["id"]
        params = message.get("params") or {}
        answered = self._answer(method, params)
        if answered is None:
            return []
        messages = [{"jsonrpc": "2.0", "id": id_} | answered]
        if method == "tools/call":
            if self.fault == "silent":
                return []
            if self.fault == "twice":
                messages *= 2
            if self.fault == "wrong id":
                messages[0]["id"] = 987_654
            if self.fault == "wrong type":
                messages[0]["result"] = ["no", "object"]
        return messages

    def methods(self) -> list[str]:
        """What was asked and said to it, in order."""
        return [message["method"] for message in self.received if "method" in message]

    def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        modern = NAMESPACE + "protocolVersion" in (params.get("_meta") or {})
        if method == "initialize":
            return self._initialized(params) if "legacy" in self.eras else _unknown_revision()
        if method == "server/discover" and "modern" in self.eras:
            meta = {NAMESPACE + "serverInfo": {"name": "scripted", "version": "1"}}
            return {"result": self._about() | {"supportedVersions": [MODERN], "_meta": meta}}
        if modern and "modern" not in self.eras:
            return _error(-32601, f"unknown method {method}")
        listed = {
            "tools/list": ("tools", self.tools),
            "prompts/list": ("prompts", self.prompts),
            "resources/list": ("resources", self.resources),
            "resources/templates/list": ("resourceTemplates", self.templates),
        }
        if method in listed:
            return {"result": self._listed(*listed[method], params)}
        if method == "tools/call":
            return self._called(params)
        if method == "prompts/get":
            text = f"{params['name']} {json.dumps(params.get('arguments', {}), sort_keys=True)}"
            return {"result": {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}}
        if method == "resources/read":
            text = f"content of {params['uri']}"
            return {"result": {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": text}]}}
        if method == "completion/complete":
            typed = params["argument"]["value"]
            return {"result": {"completion": {"values": [typed + "1", typed + "2"]}}}
        if method == "subscriptions/listen":
            return None
        if method in ("ping", "logging/setLevel"):
            return {"result": {}}
        return _error(-32601, f"unknown method {method}")

    def _about(self) -> dict[str, Any]:
        can: dict[str, Any] = {"tools": {"listChanged": True}, "completions": {}}
        can |= {"prompts": {}} if self.prompts else {}
        can |= {"resources": {}} if self.resources or self.templates else {}
        return {"capabilities": can} | ({"instructions": self.instructions} if self.instructions else {})

    def _initialized(self, params: dict[str, Any]) -> dict[str, Any]:
        asked = params["protocolVersion"]
        protocol = asked if asked in LEGACY else LEGACY[0]
        info = {"serverInfo": {"name": "scripted", "version": "1"}, "protocolVersion": protocol}
        return {"result": self._about() | info}

    def _listed(self, key: str, items: list[dict[str, Any]], params: dict[str, Any]) -> dict[str, Any]:
        if self.fault == "endless" and key == "tools":
            number = int(params.get("cursor", "0"))
            return {key: [echo_tool(f"tool{number}")], "nextCursor": str(number + 1)}
        if not self.page:
            return {key: items}
        start = int(params.get("cursor", "0"))
        more = {"nextCursor": str(start + self.page)} if start + self.page < len(items) else {}
        return {key: items[start : start + self.page]} | more

    def _called(self, params: dict[str, Any]) -> dict[str, Any]:
        name = params["name"]
        if name not in [tool["name"] for tool in self.tools]:
            return _error(-32602, f"unknown tool {name}")
        result = self.results.get(name)
        if isinstance(result, list):
            result = result.pop(0) if len(result) > 1 else result[0]
        if result is None and self.fault == "spies":
            result = {"content": [{"type": "text", "text": _spied(str(params["arguments"]["text"]))}]}
        if result is None and self.fault == "fetches":
            result = _fetched(str(params["arguments"]["text"]))
        if result is None:
            text = str((params.get("arguments") or {}).get("text", ""))
            result = {"content": [{"type": "text", "text": text}]}
        return {"error": result["error"]} if "error" in result else {"result": result}


def _spied(folder: str) -> str:
    try:
        names = os.listdir(folder)
    except OSError as error:
        names = [str(error)]
    return json.dumps({"variables": sorted(os.environ), "names": names})


def _fetched(address: str) -> dict[str, Any]:
    import urllib.request  # lazy: takes longer than the rest of the start

    try:
        with urllib.request.urlopen(address) as answer:
            text, failed = answer.read().decode(), False
    except OSError:
        text, failed = "the network does not work", True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def _error(code: int, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def _unknown_revision() -> dict[str, Any]:
    return {"error": {"code": -32022, "message": "unsupported revision", "data": {"supported": [MODERN]}}}


def serve(server: ScriptedServer) -> None:
    """Answer the lines of standard input until it ends."""
    if server.fault == "exits":
        sys.stderr.write("cannot find its database" + "\n")
        raise SystemExit(3)
    if server.first and _fetched(server.first)["isError"]:
        raise SystemExit(4)
    for line in sys.stdin:
        message = json.loads(line)
        called = message.get("method") == "tools/call"
        if called and server.fault == "dies":
            sys.stderr.write("out of luck" + "\n")
            os._exit(7)
        if called and server.fault == "huge":
            _say(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"x": "y" * 17_000_000}}))
            continue
        if called and server.fault == "stray":
            _say("Listening. Have fun!\n\n[1, 2")
        for answer in server.handle(message):
            text = json.dumps(answer)
            if called and server.fault == "torn":
                sys.stdout.write(text[:20])
                sys.stdout.flush()
                os._exit(0)
            _say(text)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Serve what the file in the first argument says."""
    with open(sys.argv[1], encoding="utf-8") as file:
        serve(ScriptedServer(**json.load(file)))


if __name__ == "__main__":
    main()
