"""Where a model is served and how to talk to it: what every wire format needs besides the request itself."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import msgspec

from kaa.core.provider import Request
from kaa.llm.compat import Compat
from kaa.llm.http.authorized import Authorizer, authorized
from kaa.llm.http.transport import Transport, host_of, with_variables
from kaa.llm.sampling import Sampling
from kaa.llm.thinking_levels import ThinkingLevels
from kaa.llm.tuning import CacheRetention, PromptCache, Tuning

# The longest `prompt_cache_key` that OpenAI takes; other servers are not known to take longer ones.
_LONGEST_CACHE_KEY = 64

AuthStyle = Literal["bearer", "x-api-key", "api-key", "x-goog-api-key", "cf-aig-authorization"]
"""Where a key goes: behind `Bearer`, or in the header of this name."""
Ambient = Literal["aws", "google"]
"""Credentials that are found on the machine rather than given: AWS profiles and roles, Google's ADC."""


class WireFormat(NamedTuple):
    """What kaa knows of a wire format besides how to speak it.

    Attributes:
        adapter: the class of its provider as `module:class`, which is imported when its first model is used.
        list_auth: where a key goes in a request for the list of models; None: no list is documented.
        searches_tools: kaa sends deferred tools in it.
        is_routed: routers of several vendors speak it, and take wishes as to which one they choose.
    """

    adapter: str
    list_auth: AuthStyle | None = None
    searches_tools: bool = False
    is_routed: bool = True


WIRE_FORMATS: Final[Mapping[str, WireFormat]] = {
    "openai-completions": WireFormat("kaa.llm.completions.provider:OpenAICompletions", "bearer"),
    "anthropic-messages": WireFormat("kaa.llm.anthropic.provider:AnthropicMessages", "x-api-key", searches_tools=True),
    "anthropic-vertex": WireFormat("kaa.llm.anthropic.provider:AnthropicMessages"),
    "openai-responses": WireFormat("kaa.llm.responses.provider:OpenAIResponses", "bearer", searches_tools=True),
    "azure-openai-responses": WireFormat("kaa.llm.responses.provider:OpenAIResponses"),
    "google-generative-ai": WireFormat("kaa.llm.gemini.provider:GoogleGemini", "x-goog-api-key", is_routed=False),
    "google-vertex": WireFormat("kaa.llm.gemini.provider:GoogleGemini", is_routed=False),
}
"""The wire formats that kaa speaks, by the names that models.json gives them."""


class Endpoint(msgspec.Struct, frozen=True):
    """A server and the key for it.

    Attributes:
        base_url: as the vendors' SDKs take it: `https://api.openai.com/v1`, `https://api.anthropic.com`.
        api_key: None for servers that want none.
        headers: more headers, which replace kaa's own of the same name.
        auth: where the key goes; None for the usual place of the wire format.
        authorizer: lets requests in where no key that stays the same does; see `kaa.llm.http.authorized`.
        thinking_levels: what this model calls them.
        sampling: what the user wants this model to be sent besides.
        prompt_cache: seconds that the server keeps the prompts of this model, by how long it is asked to.
        tuning: how the user wants models asked, this one and others.
        network_variables: for this server alone; see `kaa.llm.http.transport.HttpRequest`.
        served_as: what this server calls the model, where that is not its id: at Azure the name of a deployment.
    """

    base_url: str
    api_key: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    auth: AuthStyle | None = None
    authorizer: Authorizer | None = None
    compat: Compat = Compat()
    thinking_levels: ThinkingLevels = {}
    sampling: Sampling = Sampling()
    prompt_cache: PromptCache = PromptCache()
    tuning: Tuning = Tuning()
    network_variables: dict[str, str] = {}
    served_as: str | None = None

    def __repr__(self) -> str:
        """Without key and headers, for this may reach a log."""
        return f"Endpoint({host_of(self.base_url)!r})"

    def carried_by(self, transport: Transport) -> Transport:
        """`transport` as requests to this server need it: with its network variables, and let in."""
        return authorized(with_variables(transport, self.network_variables), self.authorizer)

    @property
    def host(self) -> str:
        """Host and port, as they may be shown to people."""
        return host_of(self.base_url)

    def url(self, path: str) -> str:
        """The address of `path`; a query of the base URL stays behind it."""
        try:
            parts = urlsplit(self.base_url)
        except ValueError:
            return self.base_url  # the transport says that it is not an address
        return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path))

    @property
    def usual_retention(self) -> CacheRetention:
        """How long the server is asked to keep prompts: `long` only where servers are known to offer it."""
        wanted = self.tuning.cache_retention
        return "short" if wanted == "long" and not self.compat.supports_long_cache_retention else wanted

    @property
    def kept_seconds(self) -> int | None:
        """How long the server keeps prompts at least; None where it is asked not to."""
        match self.usual_retention:
            case "none":
                return None
            case "short":
                return self.prompt_cache.short
            case "long":
                return self.prompt_cache.long

    def retention(self, request: Request) -> CacheRetention:
        """How long the server shall keep what `request` begins with. What is sent only once is not worth keeping."""
        return "none" if request.once else self.usual_retention

    def cache_key(self, request: Request) -> str:
        """What tells the server which requests belong together, so that it finds what it keeps of them.

        Empty where nothing is to be kept, or nothing belongs together. At most 64 characters.
        """
        return "" if self.retention(request) == "none" else request.session_id[:_LONGEST_CACHE_KEY]

    def session_headers(self, request: Request) -> list[tuple[str, str]]:
        """The session's id in the headers by which routers find the server that has its prompt in the cache.

        `openrouter` has its own; `openai` those of OpenAI's own programs, `openai-nosession` without the one that
        some proxies refuse for its underscore.
        """
        compat, session = self.compat, self.cache_key(request)
        if not session:
            return []
        names = [compat.session_header] if compat.session_header else []
        # pi's older `sendSessionIdHeader` was about OpenAI's format alone.
        if compat.send_session_affinity_headers or compat.session_affinity_format or compat.send_session_id_header:
            match compat.session_affinity_format or ("openai" if compat.send_session_id_header else None):
                case None:
                    names += ["x-session-affinity"]
                case "openrouter":
                    names += ["x-session-id"]
                case "openai" if compat.send_session_id_header is not False:
                    names += ["session_id", "x-client-request-id", "x-session-affinity"]
                case _:
                    names += ["x-client-request-id", "x-session-affinity"]
        return [(name, session) for name in names]

    def request_headers(self, usual_auth: AuthStyle, own: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """All headers of a request: kaa's `own`, the key, and those of the endpoint."""
        headers = {"content-type": "application/json", "accept": "text/event-stream", **dict(own)}
        if self.api_key:
            match self.auth or usual_auth:
                case "bearer":
                    headers["authorization"] = f"Bearer {self.api_key}"
                case "cf-aig-authorization" as header:  # `authorization` is for the vendor behind the gateway
                    headers[header] = f"Bearer {self.api_key}"
                case header:
                    headers[header] = self.api_key
        headers.update((name.lower(), value) for name, value in self.headers)
        return tuple(headers.items())


class Peer(msgspec.Struct, frozen=True):
    """Who answers, as errors name it. `secrets` are removed from whatever the server says."""

    provider: str
    model: str
    host: str
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Without the secrets."""
        return f"Peer({self.provider!r}, {self.model!r}, {self.host!r})"


def peer_of(endpoint: Endpoint, provider: str, model: str) -> Peer:
    """The peer behind `endpoint`; every header of the user's may be a secret."""
    secrets = tuple(value.rpartition(" ")[2] for _, value in endpoint.headers)  # without the "Bearer" before it
    return Peer(provider, model, endpoint.host, (*secrets, endpoint.api_key) if endpoint.api_key else secrets)
