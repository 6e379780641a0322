"""The one screen that says how to get going when there is no model to ask."""

from kaa.llm.models.registry import NoModelError, UnknownModelError

# Lines fit into 80 columns, the first words of each into 50.
_SCREEN = """\
kaa: {reason}
{meant}
How to get going:

  kaa login, or /login     keep a key, or log in
  export OPENAI_API_KEY=…  or ANTHROPIC_API_KEY=…, or another provider's
{local}
  kaa demo                 just looking: no key, no network

Any other server goes into {models_file}:
  {{"providers": {{"mine": {{"baseUrl": "http://…/v1", "models": [{{"id": "…"}}]}}}}}}
"""

_NONE_FOUND = "  kaa --model ollama       or lmstudio, llamacpp, vllm, :PORT, an address"
_MOST_FOUND = 5


def _found(names: tuple[str, ...]) -> str:
    """How to use what runs on this machine."""
    more = len(names) - _MOST_FOUND
    lines = [f"  kaa --model {name}" for name in names[:_MOST_FOUND]]
    lines[0] += "  (found on this machine)"
    return "\n".join([*lines, f"  and {more} more"] if more > 0 else lines)


def screen(error: NoModelError) -> str:
    """What to show instead of a traceback or a bare refusal; one line for a model's name that was misspelled."""
    if isinstance(error, UnknownModelError):
        return f"kaa: {error.reason}\n"
    local = _found(error.found) if error.found else _NONE_FOUND
    meant = f"Did you mean: {', '.join(error.suggestions)}\n" if error.suggestions else ""
    lines = [_SCREEN.format(reason=error.reason, meant=meant, models_file=error.models_file, local=local)]
    lines += [f"{problem}\n" for problem in error.problems]
    return "\n".join(lines)
