"""The one screen that says how to get going when there is no model to ask."""

from kaa.llm.registry import NoModelError

_SCREEN = """\
kaa: {reason}

How to get going:

  a key kaa keeps    kaa login anthropic    or, within kaa, /login
  with a key         export ANTHROPIC_API_KEY=…        or  export OPENAI_API_KEY=…
  kept in a file     {auth_file}
                     {{"anthropic": {{"type": "api_key", "key": "…"}}}}
  a local server     {local}
  any other server   {models_file}
                     {{"providers": {{"mine": {{"baseUrl": "http://…/v1", "models": [{{"id": "…"}}]}}}}}}
  just looking       kaa demo                          needs no key and no network
"""

_NONE_FOUND = "kaa --model ollama    or lmstudio, llamacpp, vllm, :PORT, http://host:port"
_BELOW = "\n" + " " * 21
_MOST_FOUND = 5


def _found(names: tuple[str, ...]) -> str:
    """How to use what runs on this machine."""
    more = len(names) - _MOST_FOUND
    lines = ["found on this machine:", *(f"kaa --model {name}" for name in names[:_MOST_FOUND])]
    return _BELOW.join([*lines, f"and {more} more"] if more > 0 else lines)


def screen(error: NoModelError) -> str:
    """What to show instead of a traceback or a bare refusal."""
    local = _found(error.found) if error.found else _NONE_FOUND
    lines = [
        _SCREEN.format(reason=error.reason, auth_file=error.auth_file, models_file=error.models_file, local=local)
    ]
    if error.suggestions:
        lines.append(f"Did you mean: {', '.join(error.suggestions)}\n")
    lines += [f"{problem}\n" for problem in error.problems]
    return "\n".join(lines)
