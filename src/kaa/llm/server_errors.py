"""From what a server says went wrong to the typed errors of the core, with messages that say what to do.

The context window of a model is what servers name when they refuse a conversation that is too long.
"""

import re
import time
from typing import Final

import msgspec

from kaa.core.errors import (
    AuthError,
    BadRequestError,
    ContextOverflowError,
    ModelNotFoundError,
    OverloadedError,
    ProviderError,
    QuotaError,
    RateLimitError,
    RequestTooLargeError,
)
from kaa.core.messages import Json
from kaa.llm.failures import cleaned
from kaa.llm.http.rate_limits import moment_in_words, wait_asked_for
from kaa.llm.http.transport import Headers, host_of
from kaa.llm.wire import Peer

_MAX_DETAIL_CHARACTERS: Final = 500
# Patterns, not compiled: most are not needed for an error.
# How servers say that a conversation does not fit: OpenAI and vLLM, Anthropic, Gemini, llama.cpp, LM Studio,
# xAI, Groq, Mistral, Moonshot, MiniMax, Ollama. Limits per minute are rate limits, although they speak of tokens.
_OVERFLOW: Final = (
    r"maximum context length|context[ _]length|context window|context size|prompt is too long|prompt too long"
    r"|input is too long|input length and .?max_tokens.? exceed|input token count .{0,40}exceeds"
    r"|maximum prompt length|reduce the length of the messages|exceeded model token limit|exceed_context_size"
    r"|too many tokens in (?:the )?(?:prompt|request)"
)
# Anthropic, OpenAI and Gemini refuse images that are too large, or that they cannot read, with a 400.
_IMAGE_REFUSED: Final = (
    r"\bimage\b.{0,80}\b(?:exceeds?|too (?:large|big|many)|unsupported|not valid|invalid)\b|invalid_image|image_parse"
    r"|image_too_large|(?:could not|unable to|failed to) (?:process|decode|read|parse) .{0,20}\bimage"
)
_PER_MINUTE: Final = r"per minute|per day|\bTPM\b|\bTPD\b|rate.?limit"
_NO_CREDIT: Final = r"credit balance|insufficient.{0,10}(?:balance|credit|funds)|exceeded your current quota|billing"
# nginx and HAProxy, for a server that requires a client certificate; 496 is nginx's own code.
_NO_CERTIFICATE: Final = r"(?i)no required SSL certificate|client certificate (?:is )?required"
# Errors of OpenAI's that are in what was sent: an image nobody can read, a prompt that a policy forbids.
_IN_THE_REQUEST: Final = r"^invalid_|image|_policy|_mismatch$"
# OpenRouter answers so with a 400.
_NO_SUCH_MODEL: Final = r"not a valid model|model .{0,100}(?:not found|does not exist|not exist)|no such model"
_MARKUP: Final = r"(?is)<(script|style|head)\b.*?</\1\s*>|<[^>]*>"
_TITLE: Final = r"(?is)<title[^>]*>(.*?)</title>"
# `type`, `code` or `status` of an error object → what it is. Sources: the error pages of OpenAI and Anthropic,
# google.rpc.Code, and servers seen to use their own.
_BY_NAME: Final[dict[str, type[ProviderError]]] = {
    "authentication_error": AuthError,
    "permission_error": AuthError,
    "invalid_api_key": AuthError,
    "api_key_invalid": AuthError,
    "unauthenticated": AuthError,
    "permission_denied": AuthError,
    "billing_error": QuotaError,
    "insufficient_quota": QuotaError,
    "insufficient_credits": QuotaError,
    "billing_hard_limit_reached": QuotaError,
    "context_length_exceeded": ContextOverflowError,
    "exceed_context_size_error": ContextOverflowError,
    "request_too_large": RequestTooLargeError,
    "rate_limit_error": RateLimitError,
    "rate_limit_exceeded": RateLimitError,
    "too_many_requests": RateLimitError,
    "resource_exhausted": RateLimitError,
    "overloaded_error": OverloadedError,
    "invalid_request_error": BadRequestError,
    "not_found_error": ModelNotFoundError,
    "model_not_found": ModelNotFoundError,
    "invalid_argument": BadRequestError,
    "content_filter": BadRequestError,
}
# A smaller window holds no conversation, a larger one no model has: such a number means something else.
_SMALLEST_TOKENS = 512
_LARGEST_TOKENS = 100_000_000
_LONGEST_TEXT = 20_000
_NUMBER = r"(\d[\d,_]*)"
# Each with an example of a server that says so.
_PATTERNS = (
    rf"maximum (?:context|prompt|model|sequence) length (?:is|of) (?:only )?{_NUMBER}",  # OpenAI, vLLM, xAI
    rf"context length of (?:only )?{_NUMBER}",  # LM Studio
    rf"tokens > {_NUMBER} maximum",  # Anthropic: prompt is too long
    rf"context limit: {_NUMBER} \+ \d[\d,_]* > (?P<sum>\d[\d,_]*)",  # Anthropic: input and max_tokens
    rf"maximum number of tokens allowed \({_NUMBER}\)",  # Gemini
    rf"\\?[\"']?n_ctx\\?[\"']?\s*[:=]\s*{_NUMBER}",  # llama.cpp
    rf"(?:available )?context size \({_NUMBER}",  # llama.cpp
    rf"context window of {_NUMBER}",  # llama-cpp-python
    rf"{_NUMBER} maximum context length",  # Mistral
    rf"exceeded model token limit: {_NUMBER}",  # Moonshot
    rf"exceeds the limit of {_NUMBER}",  # GitHub Copilot
)


def failure_of_response(status: int, headers: Headers, body: bytes, peer: Peer) -> ProviderError:
    """The error for a response whose status is not 200."""
    detail, names = _explain(body)
    kind = _kind_of_status(status, detail, names)
    retry_after = wait_asked_for(status, headers, time.time())
    if status in (429, 503):
        details = rpc_details(_decoded(body))
        retry_after = details.retry_after if retry_after is None else retry_after
        if kind is QuotaError and details.retry_after is not None and not details.lasts:
            kind = RateLimitError  # Google says "quota" of limits per minute too
    if 300 <= status < 400:
        target = host_of(headers.get("location") or "")
        detail = f"a redirect to {target or 'another address'}, which kaa does not follow"
    hint = _advice(kind, peer)
    if kind in (RateLimitError, OverloadedError) and retry_after:
        hint = f"It asks to come back {moment_in_words(retry_after, time.time())}; until then, choose another model."
    if status in (400, 496) and re.search(_NO_CERTIFICATE, detail):
        hint = "Name a client certificate in KAA_CLIENT_CERT (and its key in KAA_CLIENT_KEY)."
    if status in (301, 302, 303, 307, 308, 404, 405):
        hint = f"Check the base URL of provider '{peer.provider}' and the name of the model, '{peer.model}'."
    if status == 426:  # "Upgrade Required" (RFC 9110, section 15.5.22): mostly for TLS, which one connects to by https
        wanted = " ".join((headers.get("upgrade") or "another protocol").split())[:80]
        hint = f"It wants {wanted}: write https:// in the base URL of provider '{peer.provider}', or ask its operator."
    message = _sentence(kind, peer, f"HTTP {status}" + (f": {detail}" if detail else ""), hint)
    if kind is ContextOverflowError:
        window = _named_window(body.decode("utf-8", "replace"))
        return ContextOverflowError(message, status=status, retry_after=retry_after, window=window)
    return kind(message, status=status, retry_after=retry_after)


def failure_of_event(error: Json, peer: Peer) -> ProviderError:
    """The error for an error object that came instead of, or within, a reply.

    One that nobody can name is taken for a failure of the server, so that it is tried again.
    """
    detail, names = _describe(error)
    kind = _kind_of_names(names)
    if kind in (None, BadRequestError) and _is_about_images(detail, names):
        kind = RequestTooLargeError
    if kind in (None, BadRequestError) and _is_overflow(detail, names):
        kind = ContextOverflowError
    if kind is None and any(name.isdigit() and 400 <= int(name) < 600 for name in names):
        status = next(int(name) for name in names if name.isdigit() and 400 <= int(name) < 600)
        kind = _kind_of_status(status, detail, names)
    if kind is None and any(re.search(_IN_THE_REQUEST, name) for name in names):
        kind = BadRequestError
    kind = kind or OverloadedError
    message = _sentence(kind, peer, detail or "an error without an explanation", _advice(kind, peer))
    if kind is ContextOverflowError:
        return ContextOverflowError(message, window=_named_window(msgspec.json.encode(error, enc_hook=str).decode()))
    return kind(message, retry_after=rpc_details(error).retry_after)


def _kind_of_status(status: int, detail: str, names: frozenset[str]) -> type[ProviderError]:
    named = _kind_of_names(names)
    if named is QuotaError or status == 402 or (status in (400, 429) and re.search(_NO_CREDIT, detail, re.IGNORECASE)):
        return QuotaError
    if status == 429 or named is RateLimitError:
        return RateLimitError
    # llama.cpp once said so with a 500.
    if named is RequestTooLargeError or (status == 400 and _is_about_images(detail, names)):
        return RequestTooLargeError
    if status in (400, 413, 422, 500) and _is_overflow(detail, names):
        return ContextOverflowError
    if status in (401, 403) or (status == 400 and named is AuthError):  # Google's answer to a wrong key is 400
        return AuthError
    if status == 413:
        return RequestTooLargeError
    if status in (408, 409, 425) or status >= 500:
        return OverloadedError
    if (
        status == 404
        or named is ModelNotFoundError
        or (status == 400 and re.search(_NO_SUCH_MODEL, detail, re.IGNORECASE))
    ):
        return ModelNotFoundError
    return BadRequestError


def _kind_of_names(names: frozenset[str]) -> type[ProviderError] | None:
    # In this order, because OpenAI calls a missing credit a rate limit of type `insufficient_quota`.
    kinds = {_BY_NAME[name] for name in names if name in _BY_NAME}
    order = (
        QuotaError,
        RequestTooLargeError,
        ContextOverflowError,
        RateLimitError,
        AuthError,
        OverloadedError,
        ModelNotFoundError,
        BadRequestError,
    )
    return next((kind for kind in order if kind in kinds), None)


def _is_overflow(detail: str, names: frozenset[str]) -> bool:
    if _kind_of_names(names) is ContextOverflowError:
        return True
    found = re.search(_OVERFLOW, f"{detail} {' '.join(names)}", re.IGNORECASE)
    return found is not None and not re.search(_PER_MINUTE, detail, re.IGNORECASE)


def _is_about_images(detail: str, names: frozenset[str]) -> bool:
    return re.search(_IMAGE_REFUSED, f"{detail} {' '.join(names)}", re.IGNORECASE) is not None


def _named_window(said: str) -> int | None:

    return named_window(said)


def _advice(kind: type[ProviderError], peer: Peer) -> str:
    if kind is AuthError:
        if not peer.model:
            return ""  # only the key was asked about: whoever did knows where it is
        from kaa.llm.local.addresses import USUAL_PORTS, is_address  # lazy: most keys are accepted

        if peer.provider in USUAL_PORTS or is_address(peer.provider):  # nobody can log in there
            return "Give the API key with --api-key, or describe the server with its apiKey in models.json."
        return (
            f"Check the API key of provider '{peer.provider}', in auth.json or its environment variable: "
            f"`kaa login {peer.provider}` replaces it."
        )
    if kind is QuotaError:
        return "The account has no credit left: top it up with the vendor, or choose another model."
    if kind is RateLimitError:
        return "Wait a little, or choose another model."
    if kind is ContextOverflowError:
        return (
            "Condense it with /compact, go back to an earlier message, or choose a model with a larger context window."
        )
    if kind is RequestTooLargeError:
        return "Send fewer or smaller images and texts, condense it with /compact, or go back to an earlier message."
    if kind is OverloadedError:
        return "Try again later, or choose another model."
    return f"Check the name of the model, '{peer.model}', and its settings in models.json."


def _sentence(kind: type[ProviderError], peer: Peer, detail: str, hint: str) -> str:
    happened = {
        AuthError: f"{peer.host} refused the API key" + (f" or does not let it use {peer.model}" if peer.model else ""),
        QuotaError: f"{peer.host} refused the request for lack of credit",
        RateLimitError: f"{peer.host} reports too many requests or tokens from this account",
        RequestTooLargeError: f"{peer.host} does not take a request or an image of this size",
        ContextOverflowError: f"the conversation is larger than the context window of {peer.model}",
        OverloadedError: f"{peer.host} failed or is overloaded",
        ModelNotFoundError: f"{peer.host} has nothing at the address"
        + (f" of model '{peer.model}'" if peer.model else ""),
        BadRequestError: f"{peer.host} refused the request",
    }[kind]
    return f"{happened} ({cleaned(detail, peer)}). {hint}".rstrip()


def _decoded(body: bytes) -> Json:
    """The body as JSON, None if it is none."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None


def _explain(body: bytes) -> tuple[str, frozenset[str]]:
    """The server's own words and the names it gives the error, from a body of any kind."""
    if (error := _decoded(body)) is not None:
        return _describe(error)
    text = body.decode("utf-8", "replace")
    if text.startswith(("event:", "data:")):
        data = next((line[5:] for line in text.splitlines() if line.startswith("data:")), "")
        return _explain(data.encode())
    if "<" in text:
        from html import unescape  # lazy: it loads a table of 2,200 names

        title = re.search(_TITLE, text)
        text = unescape(title[1] if title else re.sub(_MARKUP, " ", text))
    return _shorten(text), frozenset()


def _describe(error: Json) -> tuple[str, frozenset[str]]:
    """As `_explain`, from decoded JSON: vendors wrap their errors in many ways."""
    names = set(rpc_details(error).reasons)
    detail = ""
    layers = 0
    while layers < 5:
        layers += 1
        if isinstance(error, list):
            error = error[0] if error else ""
        if not isinstance(error, dict):
            break
        names.update(str(error[key]).lower() for key in ("type", "code", "status") if error.get(key))
        inner = error.get("error") or error.get("errors") or error.get("detail")
        detail = next((error[key] for key in ("message", "msg") if isinstance(error.get(key), str)), detail)
        if not inner or inner is True:
            break
        error = inner
    if isinstance(error, str) and error:
        detail = error
    return _shorten(detail), frozenset(names)


def _shorten(text: str) -> str:
    line = " ".join(text[: 20 * _MAX_DETAIL_CHARACTERS].split())
    return line if len(line) <= _MAX_DETAIL_CHARACTERS else f"{line[:_MAX_DETAIL_CHARACTERS]}…"


_DURATION: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")
_NO_QUOTA_AT_ALL: Final = re.compile(r"\blimit: 0\b")


class RpcDetails(msgspec.Struct, frozen=True):
    """The details of an error; empty for errors that are not Google's.

    Attributes:
        retry_after: seconds the server asks to wait; None if it does not.
        reasons: names such as `api_key_invalid`, in small letters.
        lasts: the quota that is used up is one of a day, or there is none to use: waiting a little does not help.
    """

    retry_after: float | None = None
    reasons: frozenset[str] = frozenset()
    lasts: bool = False


def rpc_details(error: Json) -> RpcDetails:
    """The details of a decoded error, alone or as servers wrap it: `{"error": …}`, or that in a list."""
    if isinstance(error, list):
        error = error[0] if error else None
    if isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    if not isinstance(error, dict) or not isinstance(error.get("details"), list):
        return RpcDetails()
    retry_after: float | None = None
    reasons: set[str] = set()
    lasts = _NO_QUOTA_AT_ALL.search(str(error.get("message"))) is not None
    for detail in error["details"]:
        match detail:
            case {"retryDelay": str(delay)} if seconds := _DURATION.fullmatch(delay):
                retry_after = float(seconds[1])
            case {"reason": str(reason)}:
                reasons.add(reason.lower())
            case {"violations": [*violations]}:
                lasts = lasts or any("PerDay" in str(violation) for violation in violations)
            case _:
                pass  # help, debug information, and whatever else is to come
    return RpcDetails(retry_after, frozenset(reasons), lasts)


def named_window(said: str) -> int | None:
    """The window in tokens that a refusal names; None if it names none.

    Args:
        said: the text of the error, or the JSON around it.
    """
    for pattern in _PATTERNS:
        found = re.search(pattern, said[:_LONGEST_TEXT], re.IGNORECASE)
        if found is not None:
            number = found.groupdict().get("sum") or found[1]
            tokens = int(re.sub(r"[,_]", "", number)[:12])
            return tokens if _SMALLEST_TOKENS <= tokens <= _LARGEST_TOKENS else None
    return None
