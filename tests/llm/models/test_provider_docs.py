"""docs/providers.md says of each provider what the table, the catalogue and the compatibility flags make of it."""

from pathlib import Path

from kaa.llm.catalogue import KnownModel, known_models
from kaa.llm.compat import compat_for
from kaa.llm.models.keys import missing
from kaa.llm.models.provider_table import BUILTINS
from tests.support.tables import each

_DOC = Path(__file__).parents[3] / "docs" / "providers.md"
_FORMATS = {
    "openai-completions": "Chat Completions",
    "openai-responses": "Responses",
    "azure-openai-responses": "Responses",
    "anthropic-messages": "Messages",
    "anthropic-vertex": "Messages",
    "google-generative-ai": "Gemini",
    "google-vertex": "Gemini",
}


def _some(count: int, of: int) -> str:
    return "yes" if count == of else "some" if count else "no"


def _cache(provider: str, known: KnownModel) -> str:
    """What kaa does so that the model finds the prompt in its cache."""
    compat = compat_for(known.base_url or BUILTINS[provider].base_url, known.model.id, known.compat)
    if known.model.api.startswith("anthropic-") or compat.cache_control_format:
        return "marks"
    if compat.send_prompt_cache_key:
        return "key"
    return "headers" if compat.send_session_affinity_headers or compat.session_header else "-"


def _row(provider: str) -> str:
    builtin, models = BUILTINS[provider], known_models(provider)
    apis = [builtin.api, *(known.model.api for known in models), *(family.api for family in builtin.families)]
    formats = ", ".join(dict.fromkeys(_FORMATS[api] for api in apis))
    needed = [*(name for name, _ in builtin.key_variables), *missing(builtin.base_url, {})]
    thinking = _some(sum(known.model.reasoning for known in models), len(models))
    images = _some(sum("image" in known.model.input for known in models), len(models))
    caches = ", ".join(sorted({_cache(provider, known) for known in models} - {"-"})) or "-"
    wanted = ", ".join(f"`{name}`" for name in needed)
    return f"| `{provider}` | {formats} | {wanted} | {thinking} | {images} | {caches} |"


@each("provider", BUILTINS)
def test_the_table_has_the_provider_as_it_is(provider: str) -> None:
    assert _row(provider) in _DOC.read_text().splitlines()


def test_the_table_has_no_other_provider() -> None:
    rows = [line for line in _DOC.read_text().splitlines() if line.startswith("| `")]

    assert len(rows) == len(BUILTINS)
