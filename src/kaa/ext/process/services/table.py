"""All services by the names of their methods, and their errors; docs/extension-processes.md lists them."""

from collections.abc import Mapping

from kaa.core.arguments import ArgumentError
from kaa.core.messages import Json
from kaa.core.tool import ToolError
from kaa.ext.errors import CommandError, ExtensionError, RegistrationError
from kaa.ext.process.services import asking, bus, conversation, models, sessions, settings, tools
from kaa.ext.process.services.caller import Caller, Service, refusing
from kaa.ext.process.wire import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError

_ONLY_USER = "kaa leaves this to the user"

_REFUSED = {
    "host/setToolFilter": f"{_ONLY_USER}: --tools and the settings select tools; host/activateTool adds one",
    "host/llmSnapshot": "the system prompt is kaa's own: use host/conversationMessages and host/listTools",
    "host/setConversationMessages": (
        "kaa does not rewrite what was said: register a compactor, or use host/branchSession in a command"
    ),
    "host/loadSession": f"{_ONLY_USER}: /resume opens another session",
    "host/forkSession": f"{_ONLY_USER}: /fork and /clone copy a session",
    "host/branchSessionWithSummary": "use host/branchSession; kaa offers the user a summary in /tree",
    "host/resetSessionLeaf": f"{_ONLY_USER}: /new begins another session",
    "host/syncModels": "kaa's list of models comes with kaa: /reload reads models.json and asks local servers",
    "host/writeModels": f"{_ONLY_USER}: models.json is the user's",
    "host/runBackground": "kaa has no background agent: use host/agent.run, which the user sees and can stop",
    "host/cancelBackground": "kaa has no background agent: $/cancelRequest ends host/agent.run",
    "host/undoRestore": f"{_ONLY_USER}: /undo restores the files of a turn",
    "host/toggleStepMode": f"{_ONLY_USER}: approvals ask before single calls",
    "host/requestQuit": f"{_ONLY_USER}: /quit ends kaa",
    "host/abort": f"{_ONLY_USER}: Esc ends a run",
    "host/shortcuts": "kaa does not list shortcuts: /hotkeys shows them to the user",
}

SERVICES: Mapping[str, Service] = {
    "host/config.get": settings.get,
    "host/config.readExtension": settings.read_extension,
    "host/auth.getKey": settings.get_key,
    "host/extensionsDir": settings.folder,
    "host/extInfos": tools.extensions,
    "host/listTools": tools.listed,
    "host/toolDefs": tools.described,
    "host/activateTool": tools.activate,
    "host/executeTool": tools.execute,
    "host/commands": tools.commands,
    "host/promptSections": tools.prompt_sections,
    "host/hasCompactor": tools.has_compactor,
    "host/availableModels": models.available,
    "host/switchModel": models.switch,
    "host/chat": models.chat,
    "host/agent.run": models.run_agent,
    "host/conversationMessages": conversation.messages,
    "host/lastAssistantText": conversation.last_text,
    "host/appendSessionEntry": conversation.append_entry,
    "host/appendCustomMessage": conversation.append_message,
    "host/sessionTitle": conversation.title,
    "host/setSessionTitle": conversation.set_title,
    "host/waitForIdle": conversation.wait_for_idle,
    "host/sessions": sessions.listed,
    "host/sessionEntryInfos": sessions.entries,
    "host/sessionFullTree": sessions.tree,
    "host/sessionStats": sessions.statistics,
    "host/setLabel": sessions.label,
    "host/branchSession": sessions.branch,
    "host/triggerCompact": sessions.compact,
    "host/undoSnapshots": sessions.changed_files,
    "host/showPicker": asking.pick,
    "host/askUser": asking.ask,
    "host/publish": bus.publish,
    "host/subscribe": bus.subscribe,
    "host/isBackgroundRunning": models.has_background,
    **{method: refusing(reason) for method, reason in _REFUSED.items()},
}


async def answer(method: str, params: Mapping[str, Json], caller: Caller) -> Json:
    """What kaa answers to a request.

    Raises:
        RpcError: there is no such method, or it cannot be answered.
    """
    service = SERVICES.get(method)
    if service is None:
        raise RpcError(METHOD_NOT_FOUND, f"kaa does not know the method {method!r}")
    try:
        return await service(params, caller)
    except (ArgumentError, RegistrationError, ValueError) as error:
        raise RpcError(INVALID_PARAMS, str(error)) from error
    except (CommandError, ExtensionError, ToolError) as error:
        raise RpcError(INTERNAL_ERROR, str(error)) from error
