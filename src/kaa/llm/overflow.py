"""The context window of a model, as servers name it when they refuse a conversation that is too long."""

import re

# A smaller window holds no conversation, a larger one no model has: such a number means something else.
_SMALLEST_TOKENS = 512
_LARGEST_TOKENS = 100_000_000
_LONGEST_TEXT = 20_000

_NUMBER = r"(\d[\d,_]*)"
# Each with an example of a server that says so.
_PATTERNS = (
    rf"maximum (?:context|prompt|model|sequence) length (?:is|of) (?:only )?{_NUMBER}",  # OpenAI, vLLM, xAI
    rf"context length of (?:only )?{_NUMBER}",  # LM Studio
    rf"tokens > {_NUMBER} maximum",  # Anthropic: prompt is too long
    rf"context limit: {_NUMBER} \+ \d[\d,_]* > (?P<sum>\d[\d,_]*)",  # Anthropic: input and max_tokens
    rf"maximum number of tokens allowed \({_NUMBER}\)",  # Gemini
    rf"\\?[\"']?n_ctx\\?[\"']?\s*[:=]\s*{_NUMBER}",  # llama.cpp
    rf"(?:available )?context size \({_NUMBER}",  # llama.cpp
    rf"context window of {_NUMBER}",  # llama-cpp-python
    rf"{_NUMBER} maximum context length",  # Mistral
    rf"exceeded model token limit: {_NUMBER}",  # Moonshot
    rf"exceeds the limit of {_NUMBER}",  # GitHub Copilot
)


def named_window(said: str) -> int | None:
    """The window in tokens that a refusal names; None if it names none.

    Args:
        said: the text of the error, or the JSON around it.
    """
    for pattern in _PATTERNS:
        found = re.search(pattern, said[:_LONGEST_TEXT], re.IGNORECASE)
        if found is not None:
            number = found.groupdict().get("sum") or found[1]
            tokens = int(re.sub(r"[,_]", "", number)[:12])
            return tokens if _SMALLEST_TOKENS <= tokens <= _LARGEST_TOKENS else None
    return None
