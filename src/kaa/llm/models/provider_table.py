"""The providers kaa knows without being told: addresses, variables and wire formats, as data.

Addresses and variables are those the vendors document and pi reads (`@earendil-works/pi-ai` 1.6.0). The order is pi's
order of preference: without a wish the first provider there is a key for is taken. The one exception is Amazon
Bedrock, which comes last: who has AWS credentials in the environment mostly has them for something else.

Not here, on purpose: providers whose only way in is to pass for another vendor's client.
"""

from typing import Literal, NamedTuple, TypeAlias

from kaa.llm.wire import Ambient, AuthStyle

KeyKind: TypeAlias = Literal["api_key", "bearer"]


class Family(NamedTuple):
    """Models of a provider that are served at another address, in another wire format."""

    mark: str
    api: str
    base_url: str


class Builtin(NamedTuple):
    """A provider kaa knows.

    Attributes:
        base_url: the official address, as the vendor's SDK has it: OpenAI's ends with /v1, Anthropic's does not.
            `{NAME}` in it stands for the variable NAME; see `kaa.llm.models.keys`.
        key_variables: name and kind of each variable a key may be in, in the order in which they count.
        api: the wire format of models nobody knows; those of the catalogue say their own.
        base_url_variable: the variable that moves the provider, where the vendor's SDK has one.
        own_hosts: ends of the names of further hosts that are the vendor's own.
        auth: where the key goes; None for the usual place of the wire format.
        families: models that are served elsewhere.
        ambient: where credentials come from if there is no key.
        keyed_url: the address for who has a key, where that is another one.
    """

    base_url: str
    key_variables: tuple[tuple[str, KeyKind], ...]
    api: str = "openai-completions"
    base_url_variable: str | None = None
    own_hosts: tuple[str, ...] = ()
    auth: AuthStyle | None = None
    families: tuple[Family, ...] = ()
    ambient: Ambient | None = None
    keyed_url: str | None = None


def _builtin(base_url: str, key_variable: str, api: str = "openai-completions") -> Builtin:
    return Builtin(base_url, ((key_variable, "api_key"),), api)


def _qwen(base_url: str, *key_variables: str) -> Builtin:
    """A plan of Qwen's: its own variable counts first, then that of the plans of its region."""
    return Builtin(base_url, tuple((name, "api_key") for name in key_variables))


_QWEN = "https://token-plan.maas.qwencloudapi.com/compatible-mode/v1"
_QWEN_CN = "https://token-plan.maas.qianwenaiapi.com/compatible-mode/v1"
_CLOUDFLARE_GATEWAY = "https://gateway.ai.cloudflare.com/v1/{CLOUDFLARE_ACCOUNT_ID}/{CLOUDFLARE_GATEWAY_ID}"
_VERTEX = "https://{GOOGLE_VERTEX_HOST}/v1/projects/{GOOGLE_CLOUD_PROJECT}/locations/{GOOGLE_CLOUD_LOCATION}"
# Bedrock's own recommendation for new programs; docs.aws.amazon.com/bedrock/latest/userguide/apis.html.
_BEDROCK = "https://bedrock-runtime.{AWS_REGION}.amazonaws.com"

BUILTINS: dict[str, Builtin] = {
    "anthropic": Builtin(
        "https://api.anthropic.com",
        (("ANTHROPIC_API_KEY", "api_key"), ("ANTHROPIC_AUTH_TOKEN", "bearer")),
        "anthropic-messages",
        base_url_variable="ANTHROPIC_BASE_URL",
    ),
    "openai": Builtin(
        "https://api.openai.com/v1",
        (("OPENAI_API_KEY", "api_key"),),
        "openai-responses",
        base_url_variable="OPENAI_BASE_URL",
    ),
    "azure": Builtin(
        "https://{AZURE_OPENAI_RESOURCE_NAME}.openai.azure.com/openai/v1",
        (("AZURE_OPENAI_API_KEY", "api_key"),),
        "azure-openai-responses",
        base_url_variable="AZURE_OPENAI_BASE_URL",
        own_hosts=("openai.azure.com", "cognitiveservices.azure.com", "ai.azure.com"),
    ),
    "ant-ling": _builtin("https://api.ant-ling.com/v1", "ANT_LING_API_KEY"),
    "nvidia": _builtin("https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY"),
    "deepseek": _builtin("https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    "google": Builtin(
        "https://generativelanguage.googleapis.com/v1beta",
        (("GEMINI_API_KEY", "api_key"), ("GOOGLE_API_KEY", "api_key")),
        "google-generative-ai",
        base_url_variable="GOOGLE_GEMINI_BASE_URL",
    ),
    "google-vertex": Builtin(
        f"{_VERTEX}/publishers/google",
        (("GOOGLE_CLOUD_API_KEY", "api_key"),),
        "google-vertex",
        families=(Family("claude", "anthropic-vertex", f"{_VERTEX}/publishers/anthropic"),),
        ambient="google",
        keyed_url="https://aiplatform.googleapis.com/v1/publishers/google",
    ),
    "openrouter": _builtin("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "vercel-ai-gateway": _builtin("https://ai-gateway.vercel.sh", "AI_GATEWAY_API_KEY", "anthropic-messages"),
    "xai": _builtin("https://api.x.ai/v1", "XAI_API_KEY", "openai-responses"),
    "groq": _builtin("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "cerebras": _builtin("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "zai": _builtin("https://api.z.ai/api/coding/paas/v4", "ZAI_API_KEY"),
    "zai-coding-cn": _builtin("https://open.bigmodel.cn/api/coding/paas/v4", "ZAI_CODING_CN_API_KEY"),
    "mistral": _builtin("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "minimax": _builtin("https://api.minimax.io/anthropic", "MINIMAX_API_KEY", "anthropic-messages"),
    "minimax-cn": _builtin("https://api.minimaxi.com/anthropic", "MINIMAX_CN_API_KEY", "anthropic-messages"),
    "moonshotai": _builtin("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    "moonshotai-cn": _builtin("https://api.moonshot.cn/v1", "MOONSHOT_API_KEY"),
    "huggingface": _builtin("https://router.huggingface.co/v1", "HF_TOKEN"),
    "fireworks": _builtin("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    "together": _builtin("https://api.together.ai/v1", "TOGETHER_API_KEY"),
    "baseten": _builtin("https://inference.baseten.co/v1", "BASETEN_API_KEY"),
    "opencode": _builtin("https://opencode.ai/inference/openai/v1", "OPENCODE_API_KEY"),
    "opencode-go": _builtin("https://opencode.ai/inference/go/openai/v1", "OPENCODE_API_KEY"),
    "kimi-coding": _builtin("https://api.kimi.com/coding/v1", "KIMI_API_KEY"),
    "meta": _builtin("https://api.meta.ai/v1", "META_API_KEY", "openai-responses"),
    "cloudflare-workers-ai": _builtin(
        "https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1", "CLOUDFLARE_API_KEY"
    ),
    "cloudflare-ai-gateway": Builtin(
        f"{_CLOUDFLARE_GATEWAY}/compat", (("CLOUDFLARE_API_KEY", "api_key"),), auth="cf-aig-authorization"
    ),
    "qwen-token-plan": _qwen(_QWEN, "QWEN_TOKEN_PLAN_TEAM_API_KEY", "QWEN_TOKEN_PLAN_API_KEY"),
    "qwen-token-plan-cn": _qwen(_QWEN_CN, "QWEN_TOKEN_PLAN_TEAM_CN_API_KEY", "QWEN_TOKEN_PLAN_CN_API_KEY"),
    "qwen-token-plan-individual": _qwen(_QWEN, "QWEN_TOKEN_PLAN_INDIVIDUAL_API_KEY", "QWEN_TOKEN_PLAN_API_KEY"),
    "qwen-token-plan-individual-cn": _qwen(
        _QWEN_CN, "QWEN_TOKEN_PLAN_INDIVIDUAL_CN_API_KEY", "QWEN_TOKEN_PLAN_CN_API_KEY"
    ),
    "xiaomi": _builtin("https://api.xiaomimimo.com/v1", "XIAOMI_API_KEY"),
    "xiaomi-token-plan-cn": _builtin("https://token-plan-cn.xiaomimimo.com/v1", "XIAOMI_TOKEN_PLAN_CN_API_KEY"),
    "xiaomi-token-plan-ams": _builtin("https://token-plan-ams.xiaomimimo.com/v1", "XIAOMI_TOKEN_PLAN_AMS_API_KEY"),
    "xiaomi-token-plan-sgp": _builtin("https://token-plan-sgp.xiaomimimo.com/v1", "XIAOMI_TOKEN_PLAN_SGP_API_KEY"),
    "amazon-bedrock": Builtin(
        f"{_BEDROCK}/openai/v1",
        (("AWS_BEARER_TOKEN_BEDROCK", "bearer"),),
        families=(Family("anthropic.", "anthropic-messages", f"{_BEDROCK}/anthropic"),),
        ambient="aws",
    ),
}
