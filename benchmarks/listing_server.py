"""An MCP server over standard input and output, as a program: `listing_server.py TOOLS`. Calls answer with a text.

Nothing but Python's standard library, for it is started by other agents and in sandboxes, too.
"""

import json
import sys

_ABOUT = "Looks up the records of part {} that match a query, newest first, and returns them one per line as text."
_PARAMETERS = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "Words that a record must contain"},
        "limit": {"type": "integer", "description": "How many records at most", "minimum": 1},
        "since": {"type": "string", "description": "Only records after this date, as YYYY-MM-DD"},
    },
    "required": ["query"],
}


def main() -> None:
    """Answer the lines of standard input until it ends."""
    tools = [
        {"name": f"find_{number:03}", "description": _ABOUT.format(number), "inputSchema": _PARAMETERS}
        for number in range(int(sys.argv[1]))
    ]
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        match message.get("method"):
            case "initialize":
                revision = message["params"]["protocolVersion"]
                info = {"name": "records", "version": "1.0"}
                answer = {"result": {"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": info}}
            case "tools/list":
                answer = {"result": {"tools": tools}}
            case "tools/call":
                answer = {"result": {"content": [{"type": "text", "text": "Nothing found."}]}}
            case "ping":
                answer = {"result": {}}
            case method:
                answer = {"error": {"code": -32601, "message": f"unknown method {method}"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"]} | answer), flush=True)


if __name__ == "__main__":
    main()
