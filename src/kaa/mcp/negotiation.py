"""Finds out which revision a server speaks (specification 2026-07-28, Versioning; 2025-11-25, Lifecycle)."""

from collections.abc import Sequence

import msgspec

from kaa import __version__
from kaa.core.messages import Json
from kaa.mcp import codes
from kaa.mcp.errors import LoginNeededError, McpError, ServerGoneError, UnsupportedServerError
from kaa.mcp.manifest import LEGACY, MODERN, NAMESPACE, Era, ServerFeatures, ServerInfo
from kaa.mcp.parsing import capabilities, cleaned, instructions, server_info
from kaa.mcp.questions import ServerQuestions
from kaa.mcp.session import Session, revisions_in

_CLIENT = {"name": "kaa", "title": "kaa", "version": __version__}
# A legacy server that does not answer what it does not know.
_PROBE_SECONDS = 5.0


class Agreement(msgspec.Struct, frozen=True):
    """How to talk to a server, and what it said about itself."""

    era: Era
    protocol: str
    server: ServerInfo
    capabilities: ServerFeatures
    instructions: str
    instructions_digest: str


class _OtherEraError(Exception):
    """The server does not speak this era; the message says how it showed that."""


async def agree(session: Session, eras: Sequence[Era], patience: float) -> Agreement:
    """Agree on a revision.

    Args:
        session: just opened; its questions say what is announced to the server.
        eras: what to try, in this order.
        patience: seconds for each answer.

    Raises:
        UnsupportedServerError: the server speaks none of these.
        ServerGoneError: the connection ended.
        McpError: the server does not answer.
    """
    reasons: list[str] = []
    for number, era in enumerate(eras):
        last = number == len(eras) - 1
        try:
            if era == "modern":
                return await _discover(session, patience if last else min(patience, _PROBE_SECONDS))
            return await _initialize(session, patience)
        except _OtherEraError as error:
            reasons.append(str(error))
            session.meta = {}
    raise UnsupportedServerError("; ".join(reasons))


async def _discover(session: Session, patience: float) -> Agreement:
    session.meta = _meta(session.questions)
    session.agreed(MODERN)
    try:
        result = await session.request("server/discover", {}, patience=patience)
    except (ServerGoneError, LoginNeededError):
        raise
    except McpError as error:
        known = revisions_in(error)
        if error.code == codes.UNSUPPORTED_REVISION and known and not {MODERN, *LEGACY} & set(known):
            raise UnsupportedServerError(_unknown(known)) from error
        raise _OtherEraError(f"server/discover was answered with: {error}") from error
    supported = [one for one in result.get("supportedVersions") or () if isinstance(one, str)]
    if MODERN not in supported:
        raise _OtherEraError(_unknown(supported))
    return _agreement("modern", MODERN, result)


async def _initialize(session: Session, patience: float, asked: str = LEGACY[0]) -> Agreement:
    params = {
        "protocolVersion": asked,
        "capabilities": _announced(session.questions) | {"roots": {}},
        "clientInfo": _CLIENT,
    }
    try:
        result = await session.request("initialize", params, patience=patience)
    except McpError as error:
        if error.code is None:
            raise
        known = revisions_in(error)
        older = next((one for one in LEGACY if one in known and one != asked), None)
        if older is not None and asked == LEGACY[0]:
            return await _initialize(session, patience, older)
        raise _OtherEraError(f"initialize was answered with: {error}") from error
    protocol = result.get("protocolVersion")
    if protocol not in LEGACY:
        raise UnsupportedServerError(_unknown([str(protocol)]))
    session.agreed(protocol)
    await session.notify("notifications/initialized", {})
    return _agreement("legacy", protocol, result)


def _meta(questions: ServerQuestions) -> dict[str, Json]:
    return {
        f"{NAMESPACE}protocolVersion": MODERN,
        f"{NAMESPACE}clientInfo": _CLIENT,
        f"{NAMESPACE}clientCapabilities": _announced(questions),
        f"{NAMESPACE}logLevel": "warning",
    }


def _announced(questions: ServerQuestions) -> dict[str, Json]:
    found: dict[str, Json] = {"elicitation": {"form": {}, "url": {}}} if questions.forms else {}
    return found | ({"sampling": {}} if questions.samples else {})


def _agreement(era: Era, protocol: str, result: dict[str, Json]) -> Agreement:
    advice, advice_digest = instructions(result.get("instructions"))
    meta = result.get("_meta")
    described = result.get("serverInfo") or (meta.get(f"{NAMESPACE}serverInfo") if isinstance(meta, dict) else None)
    return Agreement(
        era=era,
        protocol=protocol,
        server=server_info(described),
        capabilities=capabilities(result.get("capabilities")),
        instructions=advice,
        instructions_digest=advice_digest,
    )


def _unknown(revisions: Sequence[str]) -> str:
    said = ", ".join(cleaned(one)[:40] for one in revisions[:10]) or "no revision"
    return f"the server speaks {said} of the protocol; kaa speaks {', '.join((MODERN, *LEGACY))}"
