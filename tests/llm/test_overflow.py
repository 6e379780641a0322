"""The window that a server names when it refuses a conversation."""

import json

from kaa.core.errors import ContextOverflowError
from kaa.llm.http.transport import Headers
from kaa.llm.server_errors import failure_of_event, failure_of_response, named_window
from kaa.llm.wire import Peer
from tests.support.tables import each

PEER = Peer("p", "m", "127.0.0.1")


@each(
    ("said", "window"),
    [
        ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", 8192),
        ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131072),
        ("The decoder prompt (length 9000) is longer than the maximum model length of 4096.", 4096),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200000),
        ("input length and `max_tokens` exceed context limit: 199000 + 20000 > 200000, decrease one", 200000),
        ("The input token count (1212345) exceeds the maximum number of tokens allowed (1048576).", 1048576),
        ('{"error": {"message": "too long", "n_prompt_tokens": 9000, "n_ctx": 4096}}', 4096),
        ("the request exceeds the available context size (8192 tokens), try increasing it", 8192),
        ("Requested tokens (9000) exceed context window of 2048", 2048),
        ("the model is loaded with context length of only 4096 tokens", 4096),
        ("too large for model with 32768 maximum context length", 32768),
        ("Your request exceeded model token limit: 8192 (requested: 9000)", 8192),
        ("prompt token count of 130000 exceeds the limit of 64000", 64000),
        ("maximum context length is 128,000 tokens", 128000),
        ("Please reduce the length of the messages or completion.", None),
        ("maximum context length is 3 tokens", None),
        (f"maximum context length is {'9' * 5000} tokens", None),
    ],
)
def test_is_read_from_the_words_of_servers(said: str, window: int | None) -> None:
    assert named_window(said) == window


def test_is_told_with_the_failure() -> None:
    message = "prompt is too long: 210000 tokens > 200000 maximum"
    body = {"error": {"type": "invalid_request_error", "message": message}}

    of_response = failure_of_response(400, Headers(()), json.dumps(body).encode(), PEER)
    of_event = failure_of_event(body["error"], PEER)

    for failure in (of_response, of_event):
        assert isinstance(failure, ContextOverflowError)
        assert failure.window == 200000
