"""How a conversation reaches its model: over the network, over the network with a tape running, or from a tape."""

from collections.abc import Callable, Mapping

from kaa.core.provider import Provider
from kaa.llm.cassette import Divergence, RecordedModel, RecordingTransport, ReplayTransport
from kaa.llm.discovery import find_model
from kaa.llm.live import LiveTransport
from kaa.llm.registry import ModelChoice, ModelRegistry, ResolvedModel, create_provider
from kaa.llm.transport import Transport
from kaa.llm.wire import Endpoint
from kaa.shell.options import Live, Record, Replay, Wire

Notify = Callable[[str], None]


class ModelLink:
    """A model and the way to it.

    Attributes:
        resolved: the model.
        provider: the adapter that speaks to it.
    """

    def __init__(self, resolved: ResolvedModel, transport: Transport, notify: Notify) -> None:
        self.resolved = resolved
        self.provider: Provider = create_provider(resolved, transport)
        self._transport = transport
        self._notify = notify

    async def close(self) -> None:
        """Close all connections; a recording that was not played to its end says so."""
        await self._transport.close()
        if isinstance(self._transport, ReplayTransport) and self._transport.unused:
            self._notify(f"replay: {self._transport.unused} recorded replies were not asked for")


async def link_model(
    wire: Wire,
    choice: ModelChoice,
    models: ModelRegistry,
    *,
    placeholders: Mapping[str, str],
    idle_timeout: float,
    notify: Notify,
) -> ModelLink:
    """Resolve the model and connect to it.

    Args:
        wire: network, recording or replay.
        choice: what the user wants.
        models: what there is.
        placeholders: values of this run that a cassette stores by name.
        idle_timeout: seconds a server may stay silent.
        notify: told of harmless divergences from a cassette.

    Raises:
        NoModelError: there is no model to talk to.
        CredentialError: a key cannot be read.
        CassetteError: the cassette cannot be written or read.
    """
    match wire:
        case Replay(cassette=cassette, delay=delay):
            tape = ReplayTransport(cassette, placeholders, lambda difference: notify(_described(difference)), delay)
            recorded = None if choice.query or choice.provider else tape.answered_by
            resolved = await find_model(models, choice, tape) if recorded is None else _as_recorded(recorded)
            return ModelLink(resolved, tape, notify)
        case Record(cassette=cassette):
            live = LiveTransport(idle_timeout=idle_timeout)
            resolved = await find_model(models, choice, live)
            endpoint = resolved.endpoint
            answered_by = RecordedModel(
                resolved.model, endpoint.base_url, endpoint.compat, resolved.thinking, endpoint.thinking_levels
            )
            secrets = [endpoint.api_key] if endpoint.api_key else []
            return ModelLink(resolved, RecordingTransport(live, cassette, placeholders, secrets, answered_by), notify)
        case Live():
            live = LiveTransport(idle_timeout=idle_timeout)
            return ModelLink(await find_model(models, choice, live), live, notify)


def _as_recorded(recorded: RecordedModel) -> ResolvedModel:
    endpoint = Endpoint(recorded.base_url, compat=recorded.compat, thinking_levels=recorded.thinking_levels)
    return ResolvedModel(recorded.model, endpoint, recorded.thinking)


def _described(difference: Divergence) -> str:
    return f"replay: differs from the recording at {difference}"
