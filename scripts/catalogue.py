"""Writes kaa's catalogue of models from that of `@earendil-works/pi-ai` (MIT), an npm package.

    python scripts/catalogue.py                       the pinned version, fetched with `npm pack`
    python scripts/catalogue.py --version 1.7.0       another one; then pin it below and read the difference
    python scripts/catalogue.py pi-ai-1.6.0.tgz       a package that is here already

Afterwards run tests/llm/catalogue: what the figures must be like, and where a second source of prices differs.
"""

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

# Run as a script, Python would look for `kaa` beside this file where it is not installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from kaa.core.messages import Json
from kaa.core.provider import ModelRates, ThinkingLevel
from kaa.llm.catalogue import CatalogueEntry, CatalogueFile
from kaa.llm.models.provider_table import BUILTINS, Builtin

PACKAGE = "@earendil-works/pi-ai"
VERSION = "1.6.0"
_DATA = Path(__file__).resolve().parents[1] / "src/kaa/llm/catalogue/data"
_INSIDE = re.compile(r"package/dist/providers/data/([a-z0-9-]+)\.json")
_LARGEST_FILE = 8 * 1024 * 1024

# What the addresses of pi's data are made of that kaa's own table has in another form.
_PLACES_IN_ADDRESSES = re.compile(r"\{location\}")
# The wire formats that kaa speaks, or that it speaks as a variant of one of them.
_FORMATS = frozenset(
    {
        "openai-completions",
        "anthropic-messages",
        "openai-responses",
        "google-generative-ai",
        "azure-openai-responses",
        "google-vertex",
    }
)
# Formats that kaa does not speak, whose vendors serve the same models in one that it does, and which models those are:
# docs.mistral.ai/api, "Chat"; docs.aws.amazon.com/bedrock/latest/userguide/apis.html.
_SERVED_AS_WELL = {
    "mistral-conversations": re.compile(r".*"),
    "bedrock-converse-stream": re.compile(r"([a-z-]+\.)?(anthropic\.claude-|openai\.gpt-).*"),
}
# What Bedrock puts around the names that Anthropic gives its models.
_BEDROCK_AFFIXES = re.compile(r"^([a-z-]+\.)?anthropic\.|-v\d+(:\d+)?$")
# What pi does and kaa does not: kept out so that a flag in our data is one that our code could read.
_UNUSED_FLAGS = re.compile(
    r"allowedFallbackModels|supportsMidConvo.*|supportsOpenAIGrammarTools|supportsAdditionalTools|supportsToolSearch"
    r"|supportsStrictTools"
)

# What is no model to talk to in a loop with tools, though the source calls it one:
_NOT_SERVED = re.compile(
    r"deep-research"  # agents of Google's Interactions API: ai.google.dev/api/interactions-api
    r"|computer-use"  # refuses whoever does not offer that tool: github.com/langchain-ai/langchain-google/issues/1243
    r"|gpt-audio|audio-preview"  # wants to hear or to speak: github.com/truefoundry/models/pull/822
    r"|-image(?![a-z])|-tts(?![a-z])|realtime|transcribe|whisper|embed"  # draws, speaks, listens or sorts
    # Prices of jobs that are answered within a day: openrouter.ai/docs/guides/features/batch-api,
    # vercel.com/docs/ai-gateway/models-and-providers/batch-processing.
    r"|[:-]batch$"
)

# The model that pi takes of each provider when none is asked for (its table of 1.6.0).
_PREFERRED = {
    "amazon-bedrock": "us.anthropic.claude-opus-5-5",
    "ant-ling": "Ring-2.6-1T",
    "anthropic": "claude-opus-5-5",
    "azure": "gpt-6.2-sol",
    "baseten": "zai-org/GLM-5.3",
    "cerebras": "gpt-oss-120b",
    "cloudflare-ai-gateway": "workers-ai/@cf/moonshotai/kimi-k2.7-code",
    "cloudflare-workers-ai": "@cf/moonshotai/kimi-k2.7-code",
    "deepseek": "deepseek-v4-pro",
    "fireworks": "accounts/fireworks/models/kimi-k3",
    "google": "gemini-4-argon",
    "google-vertex": "gemini-4-argon",
    "groq": "openai/gpt-oss-120b",
    "huggingface": "moonshotai/Kimi-K2.7-Code",
    "kimi-coding": "kimi-for-coding",
    "meta": "muse-spark-1.3",
    "minimax": "MiniMax-M3",
    "minimax-cn": "MiniMax-M3",
    "mistral": "devstral-medium-latest",
    "moonshotai": "kimi-k2.7-code",
    "moonshotai-cn": "kimi-k2.7-code",
    "nvidia": "nvidia/nemotron-3.5-super-vl-120b-a12b",
    "openai": "gpt-6.2-sol",
    "opencode": "kimi-k2.7-code",
    "opencode-go": "kimi-k3.1-pro",
    "openrouter": "moonshotai/kimi-k2.7-code",
    "qwen-token-plan": "qwen3.8-max",
    "qwen-token-plan-cn": "qwen3.8-max",
    "qwen-token-plan-individual": "qwen3.8-max",
    "qwen-token-plan-individual-cn": "qwen3.8-max",
    "together": "moonshotai/Kimi-K3",
    "vercel-ai-gateway": "zai/glm-5.3",
    "xai": "grok-4.7",
    "xiaomi": "mimo-v2.6-pro",
    "xiaomi-token-plan-ams": "mimo-v2.6-pro",
    "xiaomi-token-plan-cn": "mimo-v2.6-pro",
    "xiaomi-token-plan-sgp": "mimo-v2.6-pro",
    "zai": "glm-5.3",
    "zai-coding-cn": "glm-5.3",
}

# What OpenAI calls a window of 400,000 is 272,000 tokens of input and 128,000 of reply: a longer prompt is refused, so
# the window that kaa keeps a conversation in is that of the input. platform.openai.com/docs/models/gpt-5,
# github.com/openai/codex: `context_window` of gpt-5 is 272,000.
_OF_OPENAI = re.compile(r"gpt-|chat-latest")
_WINDOW_WITH_REPLY = 400_000
_WINDOW_OF_INPUT = 272_000

# A prompt needs room as well: a limit of a reply that is nearly the window is none, and servers refuse it.
_LARGEST_SHARE_OF_REPLY = 0.75
_USUAL_SHARE_OF_REPLY = 0.25


class SourceModel(msgspec.Struct, rename="camel", frozen=True):
    """A model as pi has it: of all that is there, what kaa uses."""

    id: str
    name: str
    api: str
    base_url: str
    context_window: int
    cost: ModelRates
    type: str = "chat"
    max_tokens: int = 0
    reasoning: bool = False
    thinking_level_map: dict[ThinkingLevel, str | None] = {}
    input: tuple[Literal["text", "image"], ...] = ("text",)
    compat: dict[str, Json] = {}
    headers: dict[str, str] = {}


class SourceError(Exception):
    """The package is not as expected: read what changed, then change this script."""


def main() -> int:
    """Run the script. Returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", nargs="?", type=Path, help="a file that `npm pack` made")
    parser.add_argument("--version", default=VERSION, help=f"the version to fetch (default {VERSION})")
    parser.add_argument("--into", type=Path, default=_DATA, help="the folder to write (default: that of kaa)")
    arguments = parser.parse_args()
    try:
        if arguments.package is not None:
            written = write_catalogue(arguments.package, arguments.into)
        else:
            with tempfile.TemporaryDirectory() as folder:
                written = write_catalogue(_fetched(arguments.version, Path(folder)), arguments.into)
    except (SourceError, OSError, subprocess.CalledProcessError, tarfile.TarError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{sum(written.values())} models of {len(written)} providers\n")
    return 0


def write_catalogue(package: Path, into: Path) -> dict[str, int]:
    """Write a file for each provider of `package`, and remove those of providers that are not there any more.

    Returns how many models each provider has.

    Raises:
        SourceError: the package has another form than expected.
    """
    into.mkdir(parents=True, exist_ok=True)
    models = dict(_read(package))
    own = {model.id: model for model in models.get("anthropic", ())}
    files = {provider: file for provider in models if (file := catalogue_file(provider, models[provider], own))}
    if not files:
        raise SourceError(f"{package} has no models where they were")
    for old in into.glob("*.json"):
        if old.stem not in files:
            old.unlink()
    for provider, file in files.items():
        (into / f"{provider}.json").write_bytes(_lines(file))
    return {provider: len(file.models) for provider, file in files.items()}


def catalogue_file(
    provider: str, models: Iterable[SourceModel], own: Mapping[str, SourceModel]
) -> CatalogueFile | None:
    """What kaa keeps of a provider's models, the preferred one first; None if kaa does not know the provider.

    Args:
        provider: its name.
        models: all it has.
        own: Anthropic's models at Anthropic, by id: what they want is the same wherever their own format is spoken.

    Raises:
        SourceError: the model that is to be the first is not there.
    """
    builtin = BUILTINS.get(provider)
    if builtin is None:
        return None
    usable = [
        spoken
        for model in models
        if model.type == "chat"
        and not _NOT_SERVED.search(model.id)
        and (spoken := _spoken(model, builtin, own)) is not None
    ]
    preferred = _PREFERRED.get(provider)
    if preferred not in {model.id for model in usable}:
        raise SourceError(f"{provider}: there is no model {preferred!r}: write another into _PREFERRED")
    usable.sort(key=lambda model: (model.id != preferred, *_preference(model.id)))
    api = Counter(model.api for model in usable).most_common(1)[0][0]
    compat = _shared([model.compat for model in usable])
    return CatalogueFile(api, tuple(_entry(model, api, compat) for model in usable), compat)


def _fetched(version: str, folder: Path) -> Path:
    """Fetch the package. Nothing of it is run: npm only stores the file."""
    subprocess.run(
        ["npm", "pack", "--ignore-scripts", "--silent", f"{PACKAGE}@{version}"], cwd=folder, check=True, stdout=2
    )
    return next(folder.glob("*.tgz"))


def _read(package: Path) -> Iterable[tuple[str, list[SourceModel]]]:
    """The models by provider; nothing is unpacked to the disk."""
    with tarfile.open(package) as archive:
        for member in archive:
            found = _INSIDE.fullmatch(member.name)
            stream = archive.extractfile(member) if found and member.isfile() else None
            if found is None or stream is None:
                continue
            if member.size > _LARGEST_FILE:
                raise SourceError(f"{member.name} is too large: {member.size} bytes")
            try:
                by_format = msgspec.json.decode(stream.read(), type=dict[str, dict[str, msgspec.Raw]])
                yield found[1], [model for models in by_format.values() for model in _chat_models(models)]
            except msgspec.DecodeError as error:
                raise SourceError(f"{member.name}: {error}") from error


def _chat_models(models: Mapping[str, msgspec.Raw]) -> Iterable[SourceModel]:
    """Those that hold conversations; the others, which draw or sort, have fields of their own."""
    return [msgspec.json.decode(raw, type=SourceModel) for key, raw in models.items() if key.startswith("chat:")]


def _spoken(model: SourceModel, builtin: Builtin, own: Mapping[str, SourceModel]) -> SourceModel | None:
    """The model in a wire format that kaa speaks, with its address if it is another than its provider's.

    None if there is no such format.
    """
    api, base_url = model.api, model.base_url
    if api in _SERVED_AS_WELL:
        if not _SERVED_AS_WELL[api].fullmatch(model.id):
            return None
        family = next((family for family in builtin.families if family.mark in model.id), None)
        api, base_url = (family.api, family.base_url) if family else (builtin.api, "")
        # The flags are about the other format.
        original = own.get(_BEDROCK_AFFIXES.sub("", model.id)) if api == "anthropic-messages" else None
        model = msgspec.structs.replace(
            model,
            compat=original.compat if original else {},
            thinking_level_map=original.thinking_level_map if original else model.thinking_level_map,
        )
    if api not in _FORMATS:
        return None
    usual = base_url == builtin.base_url or bool(_PLACES_IN_ADDRESSES.search(base_url))
    return msgspec.structs.replace(model, api=api, base_url="" if usual else base_url)


def _preference(model_id: str) -> tuple[bool, str, float, str]:
    """Sorts what a nickname should mean to the front: the vendor's newest model, without a date in its name."""
    vendor = model_id.rpartition("/")[0]
    name = model_id.removeprefix(vendor)
    dated = bool(re.search(r"-(\d{8}|\d{4}-\d\d-\d\d|\d{4})(:\w+)?$", name))
    # The first number that is neither a date nor a size such as the 8 of `8b`; `4-5` and `4.5` are one number.
    version = re.search(r"(?<!\d)(\d{1,2})(?:[.-](\d{1,2}))?(?![\d]|b\b)", name)
    number = float(f"{version[1]}.{version[2] or 0}") if version else 0.0
    return dated, vendor, -number, model_id


def _shared(flags: list[dict[str, Json]]) -> dict[str, Json]:
    """The flags that all models have, with the same values."""
    first = flags[0]
    return {
        name: value
        for name, value in first.items()
        if not _UNUSED_FLAGS.fullmatch(name) and all(other.get(name) == value for other in flags)
    }


def _entry(model: SourceModel, api: str, shared: Mapping[str, Json]) -> CatalogueEntry:
    window = model.context_window
    if window == _WINDOW_WITH_REPLY and _OF_OPENAI.search(model.id):
        window = _WINDOW_OF_INPUT
    full = model.max_tokens <= 0 or model.max_tokens > window * _LARGEST_SHARE_OF_REPLY
    return CatalogueEntry(
        id=model.id,
        name=model.name,
        context_window=window,
        max_tokens=int(window * _USUAL_SHARE_OF_REPLY) if full else model.max_tokens,
        api=None if model.api == api else model.api,
        base_url=model.base_url or None,
        reasoning=model.reasoning,
        thinking_level_map=model.thinking_level_map,
        input=model.input,
        cost=_price(model),
        compat={
            name: value
            for name, value in model.compat.items()
            if not _UNUSED_FLAGS.fullmatch(name) and (name not in shared or shared[name] != value)
        },
        headers=model.headers,
    )


def _price(model: SourceModel) -> ModelRates | None:
    """The price. Zeros are what pi has for prices it does not know, too: they count only where the name says so."""
    says_so = re.search(r"\bfree\b", f"{model.id} {model.name}", re.IGNORECASE)
    if model.cost.is_free and not says_so:
        return None
    # OpenRouter lists the cheapest host of each price: that of the cache may be of another host.
    return msgspec.structs.replace(model.cost, cache_read=min(model.cost.cache_read, model.cost.input))


def _lines(file: CatalogueFile) -> bytes:
    """One model a line, so that a difference between two versions can be read."""
    head = msgspec.json.encode(msgspec.structs.replace(file, models=()))
    models = b",\n".join(msgspec.json.encode(model) for model in file.models)
    marker = b'"models":[]'
    if head.count(marker) != 1:
        raise SourceError("the head of a file has no place for its models")
    return head.replace(marker, b'"models":[\n' + models + b"\n]") + b"\n"


if __name__ == "__main__":
    sys.exit(main())
