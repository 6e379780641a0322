"""Loads extensions as a session would, in a conversation that is thrown away, and reports on them."""

from collections.abc import AsyncGenerator, Mapping

import msgspec

from kaa.core.provider import Request, StreamDone, StreamEvent, TextChunk
from kaa.ext.errors import ExtensionError
from kaa.ext.extension_api import ExtensionAPI
from kaa.ext.places import ExtensionId
from kaa.ext.providers import ProviderAccess, RegisteredProvider
from kaa.ext.reports import ExtensionReport
from kaa.shell.home import Home
from kaa.shell.host import Host, HostNotice
from kaa.shell.options import ConversationOptions, HostOptions, UnkeptSession
from kaa.shell.safety import SandboxFlags


class Trial(msgspec.Struct, frozen=True):
    """What became of the extensions.

    Attributes:
        reports: on each of them, in the order in which they are loaded.
        failure: why kaa opens no conversation with them; empty if it does.
        notices: what kaa said about the conversation.
        providers: of models, that they registered.
    """

    reports: tuple[ExtensionReport, ...] = ()
    failure: str = ""
    notices: tuple[str, ...] = ()
    providers: Mapping[str, RegisteredProvider] = {}


async def try_extensions(options: HostOptions, home: Home, environ: Mapping[str, str], directory: str) -> Trial:
    """Load extensions, start their processes, run their hooks for the start of a session, and unload them.

    Args:
        directory: the project, absolute. Its extensions are loaded if the user trusts them.

    Raises:
        SettingsError: the user's settings have a mistake.
        TrustError: earlier decisions about the project cannot be read.
        OSError: the project cannot be opened.
    """
    notices: list[HostNotice] = []
    host = Host(options, home, environ, notices.append)
    host.extensions.load(ExtensionId.built_in(__name__), _provide, built_in=True)
    conversation = ConversationOptions(model="kaa-trial/trial", trust="stored", session=UnkeptSession())
    try:
        hosted = await host.open(conversation, host.workspaces.open(directory, SandboxFlags()))
        await hosted.conversation.begin("startup")
        reports = hosted.conversation.extensions.listed()
        scopes = [scope for scope in host.extensions.scopes() if not scope.built_in]
        providers = {name: one for scope in scopes for name, one in scope.providers.items()}
        costs = {scope.extension.path: scope.costs for scope in scopes}
    except ExtensionError as error:
        return Trial(failure=str(error))
    finally:
        await host.close()
    # Closing can go wrong, too.
    ended = (
        msgspec.structs.replace(one, refused=tuple(costs[one.path].refusals)) if one.path in costs else one
        for one in reports
    )
    return Trial(
        tuple(ended), notices=tuple(one.text for one in notices if one.conversation is not None), providers=providers
    )


def _provide(kaa: ExtensionAPI) -> None:
    """Register a model that answers at once, so that a conversation opens without a key."""

    @kaa.provider("kaa-trial", {"models": [{"id": "trial", "contextWindow": 200_000}], "apiKey": "none"})
    async def stream(request: Request, access: ProviderAccess) -> AsyncGenerator[StreamEvent, None]:
        yield TextChunk(0, "This is a test of extensions: no model is called.")
        yield StreamDone("stop")
