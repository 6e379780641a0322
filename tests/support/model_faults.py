"""What a server of a model can do wrong, in terms that hold for all wire formats."""

from tests.support.model_server import (
    CONTEXT_OVERFLOW,
    OVERLOADED,
    SERVER_ERROR,
    WRONG_KEY,
    Answer,
    Call,
    Fault,
    Refusal,
    ScriptItem,
    rate_limited,
)

API_KEY = "sk-very-secret-0123456789abcdef"

_TEXT = ("Some ", "words.")

# kaa tries again after each of these.
TRANSIENT: dict[str, ScriptItem] = {
    "429-retry-after": rate_limited("0"),
    "500": SERVER_ERROR,
    "529": OVERLOADED,
    "502-from-a-proxy": Refusal(502, body="<html><title>502 Bad Gateway</title></html>"),
    "reset-mid-stream": Answer(text=_TEXT, fault=Fault("reset")),
    "early-end": Answer(text=_TEXT, fault=Fault("early_end")),
    "malformed-event": Answer(text=_TEXT, fault=Fault("malformed")),
    "error-event": Answer(text=_TEXT, fault=Fault("error")),
    "empty-reply": Answer(),
    "only-thinking": Answer(thinking=("Well, ", "I wonder.")),
    "only-blanks": Answer(text=(" ", "\n")),
    "reset-mid-call": Answer(calls=(Call("bash", '{"command":"touch must-not-run"}'),), fault=Fault("reset")),
}

# These end a run; the second item is a part of the reason that kaa gives.
LASTING: dict[str, tuple[ScriptItem, str]] = {
    "401": (WRONG_KEY, "API key"),
    "401-that-repeats-the-key": (Refusal(401, body=f'{{"error":{{"message":"bad key {API_KEY}"}}}}'), "API key"),
    "context-overflow": (CONTEXT_OVERFLOW, "context window"),
    "404": (Refusal(404, body='{"error":{"message":"no such model"}}'), "no such model"),
    "429-for-an-hour": (rate_limited("3600"), "too many requests"),
    "no-credit": (Refusal(429, body='{"error":{"message":"You exceeded your current quota"}}'), "credit"),
}

# Calls that cannot succeed, and what the model reads about them.
BAD_CALLS: dict[str, tuple[Call, str]] = {
    "unknown-tool": (Call("no_such_tool", "{}"), "no_such_tool"),
    "wrong-arguments": (Call("read", '{"limit": 3}'), "path"),
    "failing-tool": (Call("read", '{"path": "missing.txt"}'), "missing.txt"),
}
