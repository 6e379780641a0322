"""Where Azure serves OpenAI's models: the variables that pi and Microsoft's own samples read.

`AZURE_OPENAI_API_VERSION` chooses between two addresses. Microsoft's current one, `…/openai/v1`, takes no version or
a named one (`preview`); a dated version (`2025-04-01-preview`) belongs to the one before, `…/openai`.
https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
"""

from collections.abc import Mapping
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import msgspec

from kaa.llm.wire import Endpoint

_HOSTS = ("openai.azure.com", "cognitiveservices.azure.com", "ai.azure.com")
# What people paste of a resource's address; any other path is a gateway's own and stays.
_USUAL_PATHS = ("", "/openai", "/openai/v1", "/openai/responses", "/openai/v1/responses")


def at_azure(endpoint: Endpoint, model_id: str, variables: Mapping[str, str]) -> Endpoint:
    """`endpoint` with the address and the name under which Azure serves a model.

    Args:
        endpoint: its base URL is as the user or the portal writes it.
        variables: of the environment: AZURE_OPENAI_API_VERSION, and AZURE_OPENAI_DEPLOYMENT_NAME_MAP
            (`gpt-5.2=my-deployment,…`). A model that is not in the map is served under its own name.
    """
    base_url = _address(endpoint.base_url, variables.get("AZURE_OPENAI_API_VERSION", "").strip())
    deployment = _deployments(variables.get("AZURE_OPENAI_DEPLOYMENT_NAME_MAP", "")).get(model_id)
    return msgspec.structs.replace(endpoint, base_url=base_url, served_as=deployment)


def _address(base_url: str, version: str) -> str:
    try:
        parts = urlsplit(base_url.strip())
        host = parts.hostname or ""
    except ValueError:
        return base_url  # the transport says that it is not an address
    version = version or parse_qs(parts.query).get("api-version", [""])[0]
    path = parts.path.rstrip("/")
    if any(host.endswith(f".{end}") for end in _HOSTS) and path in _USUAL_PATHS:
        path = "/openai" if version[:1].isdigit() else "/openai/v1"
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    if version:
        query["api-version"] = version
    return urlunsplit(parts._replace(path=path, query=urlencode(query)))


def _deployments(text: str) -> dict[str, str]:
    pairs = (entry.partition("=") for entry in text.split(","))
    return {model.strip(): name.strip() for model, _, name in pairs if model.strip() and name.strip()}
