"""What people call providers by: the names of their models, which are better known than those who make them."""

from typing import Final

_PRODUCTS: Final[dict[str, tuple[str, ...]]] = {
    "anthropic": ("Claude",),
    "openai": ("GPT", "ChatGPT", "Codex"),
    "azure": ("Microsoft", "Foundry"),
    "google": ("Gemini", "AI Studio"),
    "google-vertex": ("Gemini", "Google Cloud"),
    "xai": ("Grok",),
    "zai": ("GLM", "Zhipu"),
    "zai-coding-cn": ("GLM", "Zhipu"),
    "mistral": ("Codestral", "Devstral"),
    "moonshotai": ("Kimi",),
    "moonshotai-cn": ("Kimi",),
    "kimi-coding": ("Moonshot",),
    "meta": ("Llama",),
    "qwen-token-plan": ("Alibaba",),
    "qwen-token-plan-cn": ("Alibaba",),
    "qwen-token-plan-individual": ("Alibaba",),
    "qwen-token-plan-individual-cn": ("Alibaba",),
    "xiaomi": ("MiMo",),
    "amazon-bedrock": ("AWS",),
    "huggingface": ("HF",),
}


def product_names(provider: str) -> tuple[str, ...]:
    """What people may call a provider by, the best known first."""
    return _PRODUCTS.get(provider, ())


def providers_of(product: str) -> tuple[str, ...]:
    """The providers that people call so, in order of preference; upper and lower case are the same."""
    called = product.lower()
    return tuple(provider for provider, names in _PRODUCTS.items() if called in [name.lower() for name in names])
