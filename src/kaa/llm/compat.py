"""How servers that speak "the same" protocol differ, as data.

Names are those of pi's `compat` objects in models.json. The defaults suit a server nobody knows: nothing is
sent that only one vendor understands.
"""

import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from kaa.core.messages import Json
from kaa.llm.rendering import JsonObject

ThinkingFormat = Literal[
    "openai",
    "openrouter",
    "together",
    "deepseek",
    "zai",
    "qwen",
    "qwen-chat-template",
    "string-thinking",
    "chat-template",
    "ant-ling",
    "baseten",
]

BudgetField = Literal["thinking_token_budget", "thinking_budget", "thinking_budget_tokens"]
"""Where the most tokens of reasoning go: vLLM; Qwen and SGLang; llama.cpp."""


class Compat(msgspec.Struct, rename="camel", frozen=True):
    """What a server wants and can do.

    Attributes:
        max_tokens_field: the name of the limit of a reply's tokens.
        supports_developer_role: the system prompt of reasoning models goes as `developer`, not `system`.
        supports_store: takes `store`, which kaa sets to false.
        supports_usage_in_streaming: takes `stream_options.include_usage`.
        supports_reasoning_effort: takes `reasoning_effort`.
        requires_tool_result_name: tool messages carry the name of their tool.
        requires_mistral_tool_ids: ids of calls have nine letters and digits.
        requires_assistant_after_tool_result: a user message may not follow a tool message directly.
        requires_thinking_as_text: earlier reasoning is sent back as text.
        requires_reasoning_content_on_assistant_messages: every assistant message carries `reasoning_content`.
        reasoning_content_placeholder: what it is where there was no reasoning.
        cache_control_format: takes Anthropic's cache marks within chat completions.
        send_prompt_cache_key: takes `prompt_cache_key` to route a session to its warm cache.
        send_session_affinity_headers: takes the session's id in headers for the same purpose.
        session_affinity_format: in which ones; see `kaa.llm.wire.Endpoint.session_headers`.
        send_session_id_header: (Responses) whether `session_id` is one of them; pi's older name for a format.
        session_header: one more header the session's id goes into, whatever else is said.
        chat_template_kwargs: what the thinking format `chat-template` sends; see `kaa.llm.completions.request`.
        chat_template_args: the same for `baseten`.
        open_router_routing: OpenRouter's `provider`, as it is: which vendors may serve a request.
        vercel_gateway_routing: the same for Vercel's gateway.
        thinking_token_budget_field: takes the most tokens of reasoning in this field.
        supports_thinking_token_budget: the same for `thinking_token_budget`; pi's older name.
        prompt_cache_key_mode: `enabled` sends `prompt_cache_key`, `disabled` does not, whatever else is known.
        vllm_priority: (vLLM) the priority of all requests.
        supports_finish_reason: ends a stream with a reason; otherwise its end is the end of the reply.
        supports_max_output_tokens: (Responses) takes the limit of a reply's tokens.
        supports_temperature: (Anthropic) takes `temperature`.
        supports_strict_mode: takes `strict` in tools, which kaa sets to false.
        zai_tool_stream: takes `tool_stream`, to get the arguments of calls while they are written.
        requires_non_null_assistant_content: a reply without text has an empty one.
        requires_tools_with_tool_history: `tools` must be there where there are results of calls.
        supports_eager_tool_input_streaming: (Anthropic) the same, asked for in each tool.
        supports_long_cache_retention: keeps prompts longer than usual when asked to.
        supports_explicit_prompt_cache_mode: (Responses) takes `prompt_cache_options`, as those models of OpenAI do that
            charge for what they write to the cache.
        written_tool_calls: leaves calls in the text that its models write, so that kaa looks for them.
        inline_thinking: leaves what its models think in the text, so that kaa looks for it.
        truncates_silently: cuts off what does not fit the window and answers all the same.
        supports_cache_control_on_tools: (Anthropic) takes cache marks on tools.
        supports_tool_search: (Anthropic, Responses) loads definitions of tools when the result of a search names them.
        supports_apply_patch: the model was trained to change files by patches. A field of kaa's.
        force_adaptive_thinking: (Anthropic) the model decides how long it thinks; None: by the model's name.
        allow_empty_signature: (Anthropic) reasoning without a signature is sent back as reasoning.
    """

    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    supports_developer_role: bool = False
    supports_store: bool = False
    supports_usage_in_streaming: bool = True
    supports_reasoning_effort: bool = True
    thinking_format: ThinkingFormat = "openai"
    requires_tool_result_name: bool = False
    requires_mistral_tool_ids: bool = False
    requires_assistant_after_tool_result: bool = False
    requires_thinking_as_text: bool = False
    requires_reasoning_content_on_assistant_messages: bool = False
    reasoning_content_placeholder: str = ""
    cache_control_format: Literal["anthropic"] | None = None
    send_prompt_cache_key: bool = False
    send_session_affinity_headers: bool = False
    session_affinity_format: Literal["openai", "openai-nosession", "openrouter"] | None = None
    send_session_id_header: bool | None = None
    session_header: str | None = None
    chat_template_kwargs: dict[str, Json] = {}
    chat_template_args: dict[str, Json] = {}
    open_router_routing: dict[str, Json] = {}
    vercel_gateway_routing: dict[str, Json] = {}
    thinking_token_budget_field: BudgetField | None = None
    supports_thinking_token_budget: bool = False
    prompt_cache_key_mode: Literal["auto", "enabled", "disabled"] = "auto"
    vllm_priority: float | None = None
    supports_finish_reason: bool = True
    supports_max_output_tokens: bool = True
    supports_temperature: bool = True
    supports_strict_mode: bool = False
    zai_tool_stream: bool = False
    requires_non_null_assistant_content: bool = False
    requires_tools_with_tool_history: bool = False
    supports_eager_tool_input_streaming: bool = False
    supports_long_cache_retention: bool = False
    supports_explicit_prompt_cache_mode: bool = False
    supports_cache_control_on_tools: bool = True
    written_tool_calls: bool = False
    inline_thinking: bool = False
    truncates_silently: bool = False
    supports_tool_search: bool = False
    supports_apply_patch: bool = False
    force_adaptive_thinking: bool | None = None
    allow_empty_signature: bool = False

    @property
    def takes_cache_key(self) -> bool:
        """Whether requests have a `prompt_cache_key`."""
        if self.prompt_cache_key_mode == "auto":
            return self.send_prompt_cache_key
        return self.prompt_cache_key_mode == "enabled"

    @property
    def budget_field(self) -> str | None:
        """The field that the most tokens of reasoning go into; None if the server takes none."""
        older = "thinking_token_budget" if self.supports_thinking_token_budget else None
        return self.thinking_token_budget_field or older


_OPENAI: dict[str, Json] = {
    "maxTokensField": "max_completion_tokens",
    "supportsDeveloperRole": True,
    "supportsStore": True,
    "sendPromptCacheKey": True,
}
# "thinking is enabled but reasoning_content is missing in assistant tool call message": Kimi K2.5 and K2.6 take an
# empty one for a missing one, and a blank for one; seen by others at api.moonshot.ai (llmgateway, pull request 2093).
_KIMI: dict[str, Json] = {"requiresReasoningContentOnAssistantMessages": True, "reasoningContentPlaceholder": " "}
# What vendors document of OpenAI's formats as they serve them, by the end of the host's name.
_BY_HOST: tuple[tuple[str, dict[str, Json]], ...] = (
    ("api.openai.com", _OPENAI),
    ("openai.azure.com", _OPENAI),
    ("cognitiveservices.azure.com", _OPENAI),
    ("ai.azure.com", _OPENAI),
    ("api.anthropic.com", {"supportsLongCacheRetention": True, "supportsEagerToolInputStreaming": True}),
    (
        "openrouter.ai",
        {
            "thinkingFormat": "openrouter",
            "sendSessionAffinityHeaders": True,
            "sessionAffinityFormat": "openrouter",
        },
    ),
    ("deepseek.com", {"thinkingFormat": "deepseek", "requiresReasoningContentOnAssistantMessages": True}),
    ("z.ai", {"thinkingFormat": "zai", "supportsReasoningEffort": False}),
    ("bigmodel.cn", {"thinkingFormat": "zai", "supportsReasoningEffort": False}),
    ("together.xyz", {"thinkingFormat": "together", "supportsReasoningEffort": False}),
    ("together.ai", {"thinkingFormat": "together", "supportsReasoningEffort": False}),
    ("aliyuncs.com", {"thinkingFormat": "qwen", "supportsReasoningEffort": False}),
    ("qwencloudapi.com", {"thinkingFormat": "qwen", "supportsReasoningEffort": False}),
    ("qianwenaiapi.com", {"thinkingFormat": "qwen", "supportsReasoningEffort": False}),
    ("api.ant-ling.com", {"thinkingFormat": "ant-ling", "supportsReasoningEffort": False}),
    ("integrate.api.nvidia.com", {"supportsReasoningEffort": False}),
    ("gateway.ai.cloudflare.com", {"sendSessionAffinityHeaders": True}),
    ("api.cloudflare.com", {"sendSessionAffinityHeaders": True}),
    ("inference.baseten.co", {"sendSessionAffinityHeaders": True}),
    ("opencode.ai", {"sessionHeader": "x-opencode-session"}),
    # docs.x.ai/developers/advanced-api-usage/prompt-caching: the key for Responses, the header for Chat Completions.
    ("api.x.ai", {"sendPromptCacheKey": True, "sessionHeader": "x-grok-conv-id"}),
    ("moonshot.ai", _KIMI | {"supportsReasoningEffort": False}),
    ("moonshot.cn", _KIMI | {"supportsReasoningEffort": False}),
    ("api.kimi.com", _KIMI),
    (
        # Counts tokens unasked, and refuses what it does not know: stream_options, reasoning_content.
        "mistral.ai",
        {
            "requiresToolResultName": True,
            "requiresThinkingAsText": True,
            "requiresMistralToolIds": True,
            "supportsUsageInStreaming": False,
        },
    ),
    ("fireworks.ai", {"sendSessionAffinityHeaders": True}),
)

# The models of OpenAI that take `prompt_cache_retention: "24h"`; earlier and smaller ones refuse it.
# https://developers.openai.com/api/docs/guides/prompt-caching, which lists them.
_KEPT_FOR_A_DAY = ("gpt-4.1", "gpt-5", "gpt-6")
_NOT_KEPT_FOR_A_DAY = ("-mini", "-nano")

# The models of Anthropic that refuse deferred tools: those before Claude 4.
# https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool
_ANTHROPIC_WITHOUT_SEARCH = ("claude-2", "claude-3", "claude-instant")
# "Only gpt-5.4 and later models support tool_search": https://developers.openai.com/api/docs/guides/tools-tool-search
# OpenAI's prompting guides for GPT-4.1 and GPT-5 say that these were trained on patches, whoever serves them; models of
# others fail at more than half of them (`apply_patch` in docs/effectiveness.md).
_PATCHING = re.compile(r"(?:^|/)(?:openai[./])?(?:gpt-4\.1|gpt-5|codex-)(?!.*-chat)")
_OPENAI_WITH_SEARCH = re.compile(r"gpt-(?:5\.(?:[4-9]|\d\d)|[6-9]|\d\d)(?!\d)")


def compat_for(base_url: str, model_id: str = "", overrides: Mapping[str, Json] | None = None) -> Compat:
    """What is known of the server at `base_url`, with `overrides` as models.json gives them.

    Raises:
        msgspec.ValidationError: an override has the wrong type. Unknown names are ignored.
    """
    try:
        host = urlsplit(base_url).hostname or ""
    except ValueError:
        host = ""
    known: dict[str, Json] = {}
    for suffix, settings in _BY_HOST:
        if host == suffix or host.endswith(f".{suffix}"):
            known = dict(settings)
    if known.get("thinkingFormat") == "openrouter" and model_id.startswith("anthropic/"):
        known |= {"cacheControlFormat": "anthropic", "supportsLongCacheRetention": True}
    small = any(size in model_id for size in _NOT_KEPT_FOR_A_DAY) and "codex" not in model_id
    if host.endswith("api.openai.com") and model_id.startswith(_KEPT_FOR_A_DAY) and not small:
        known["supportsLongCacheRetention"] = True
    if _searches_tools(host, model_id):
        known["supportsToolSearch"] = True
    if _PATCHING.search(model_id):
        known["supportsApplyPatch"] = True
    return msgspec.convert({**known, **(overrides or {})}, Compat)


def _searches_tools(host: str, model_id: str) -> bool:
    """Whether a vendor says that a model of its own loads deferred tools."""
    if host.endswith("api.anthropic.com"):
        return not model_id.startswith(_ANTHROPIC_WITHOUT_SEARCH)
    return host.endswith("api.openai.com") and _OPENAI_WITH_SEARCH.match(model_id) is not None


def laid_over(below: Mapping[str, Json], above: Mapping[str, Json]) -> dict[str, Json]:
    """The settings of both, those of `above` first; objects such as `openRouterRouting` are joined key by key."""
    joined = {**below, **above}
    for name, value in above.items():
        under = below.get(name)
        if isinstance(value, dict) and isinstance(under, dict):
            joined[name] = {**under, **value}
    return joined


def routing_fields(compat: Compat) -> JsonObject:
    """Return fields for the vendors that a router may use: https://openrouter.ai/docs/guides/routing/provider-selection."""
    routing: JsonObject = {}
    if compat.open_router_routing:
        routing["provider"] = compat.open_router_routing
    if compat.vercel_gateway_routing:
        routing["providerOptions"] = {"gateway": compat.vercel_gateway_routing}
    return routing
