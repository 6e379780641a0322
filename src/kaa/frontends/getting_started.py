"""The one screen that says how to get going when there is no model to ask."""

from kaa.llm.registry import NoModelError

_SCREEN = """\
kaa: {reason}

How to get going:

  kept by kaa        kaa login anthropic               asks for a key, checks it and keeps it; /login within kaa
  with a key         export ANTHROPIC_API_KEY=…        or  export OPENAI_API_KEY=…
  kept in a file     {auth_file}
                     {{"anthropic": {{"type": "api_key", "key": "…"}}}}
  a local server     export OPENAI_BASE_URL=http://localhost:11434/v1     (Ollama, llama.cpp, vLLM, LM Studio)
  any other server   {models_file}
                     {{"providers": {{"mine": {{"baseUrl": "http://…/v1", "models": [{{"id": "…"}}]}}}}}}
  just looking       kaa demo                          needs no key and no network
"""


def screen(error: NoModelError) -> str:
    """What to show instead of a traceback or a bare refusal."""
    lines = [_SCREEN.format(reason=error.reason, auth_file=error.auth_file, models_file=error.models_file)]
    if error.suggestions:
        lines.append(f"Did you mean: {', '.join(error.suggestions)}\n")
    lines += [f"{problem}\n" for problem in error.problems]
    return "\n".join(lines)
