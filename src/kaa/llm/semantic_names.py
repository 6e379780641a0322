"""What OpenTelemetry's conventions for generative AI call providers: the value of `gen_ai.provider.name`.

Source: the well-known values of that attribute in opentelemetry-semantic-conventions 0.66.
"""

from typing import Final

_NAMES: Final = {
    "amazon-bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "google": "gcp.gemini",
    "google-vertex": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "moonshotai": "moonshot_ai",
    "xai": "x_ai",
}


def semantic_provider_name(provider: str) -> str:
    """The name of one of our providers there; those that the conventions do not know keep their own."""
    return _NAMES.get(provider, provider)
