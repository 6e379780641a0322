"""Carries out the commands of rpc mode on the conversation that is open."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from itertools import count
from typing import Any, Literal

import msgspec

from kaa.core.events import AgentEnd, AgentStart, AutoRetryEnd, AutoRetryStart, Event, MessageStart, UserCommandStart
from kaa.core.messages import AssistantMessage, ToolResultMessage, UserMessage, user_message
from kaa.core.provider import Model, ThinkingLevel
from kaa.ext.agents import AgentError, AgentStatus
from kaa.ext.commands import Command
from kaa.ext.invocation import invocation_in
from kaa.frontends.event_json import EventJson, entry_appended, message_json
from kaa.frontends.failures import FORESEEN, error_text
from kaa.frontends.json_text import encoded
from kaa.frontends.rpc import commands as rpc
from kaa.frontends.rpc.entries import entries_after, entry_tree, stored_messages
from kaa.frontends.terminal_commands import why_not_here
from kaa.session.export.request import ExportError, ExportRequest
from kaa.shell.conversation import CommandNotRun, CommandReply, Conversation, SessionToOpen, SubmitOutcome
from kaa.shell.host import Host, HostedConversation
from kaa.shell.options import (
    CloneSession,
    ConversationOptions,
    ForkSession,
    NewSession,
    ResumeSession,
    SessionChoice,
)
from kaa.workspace.protocol import Workspace

_NOTICES = count(1)

Send = Callable[[object], None]
Accept = Callable[[object], None]


class RpcCommandError(Exception):
    """A command cannot be carried out; the message is for the client."""


class RpcSession:
    """The conversation that a client talks with: one at a time, another after a switch.

    Args:
        hosted: the first one.
        options: what was chosen for it; holds for the next ones too.
    """

    def __init__(
        self,
        host: Host,
        hosted: HostedConversation,
        options: ConversationOptions,
        workspace: Workspace,
        send: Send,
    ) -> None:
        self._host = host
        self._options = options
        self._workspace = workspace
        self._send = send
        self._runs: set[asyncio.Task[None]] = set()
        self._beginning: list[Callable[[str], None]] = []  # tell that what was said is under way; messages come first
        self._next_command_id: str | int | None = None
        self._is_compacting = False
        self._is_retrying = False
        self._has_run = False  # since the last `agent_settled`
        self._was_aborted = False
        self._serve(hosted)
        self._unsent: Sequence[UserMessage] = ()  # what was given back, and the client has said nothing since
        self._begun = asyncio.ensure_future(self._begin(hosted))  # beside, so that `abort` can stop its hooks
        host.watch_extensions()

    async def _begin(self, hosted: HostedConversation) -> None:
        await hosted.begin()
        self._give_back(hosted.conversation.take_left())

    def _give_back(self, messages: Sequence[UserMessage]) -> None:
        """Give the client what waited. After a kill before it says something, the next opening of the session does."""
        if messages:
            self._unsent = messages
            self._send({"type": "messages_unsent", "messages": [message.said.text for message in messages]})

    async def wait_until_begun(self) -> None:
        """Wait for the hooks for the start of the session."""
        await asyncio.shield(self._begun)

    async def carry_out(self, command: rpc.AnyCommand, accept: Accept) -> object:
        """Carry a command out. Returns the data of its response, None if it has none.

        Args:
            accept: sends the response of a prompt that begins a run, before the first event of the run.

        Raises:
            RpcCommandError: it cannot be carried out.
            Exception: as the conversation says.
        """
        match command:
            case rpc.Prompt() | rpc.Steer() | rpc.FollowUp():
                return await self._say(command, accept)
            case rpc.Abort() | rpc.AbortRetry():
                await self._abort(command)
            case rpc.ClearQueue():
                return self._cleared()
            case rpc.Bash():
                return await self._bash(command)
            case rpc.AbortBash():
                self._conversation.abort_command()
            case rpc.Compact(custom_instructions=instructions):
                return await self._compact(instructions or "")
            case rpc.ExportHtml(output_path=path):
                return await self._export(path)
            case rpc.SetSessionName(name=name):
                self._conversation.naming.set_name(name)
            case (
                rpc.SetModel()
                | rpc.CycleModel()
                | rpc.GetAvailableModels()
                | rpc.SetThinkingLevel()
                | rpc.CycleThinkingLevel()
                | rpc.GetAvailableThinkingLevels()
            ):
                return await self._model(command)
            case rpc.SetSteeringMode() | rpc.SetFollowUpMode() | rpc.SetAutoCompaction() | rpc.SetAutoRetry():
                self._adjust(command)
            case rpc.NewSession() | rpc.SwitchSession() | rpc.Fork() | rpc.Clone():
                return await self._switch(command)
            case _:
                return await self._look(command)
        return None

    async def close(self) -> None:
        """Stop what is under way and wait until it has ended."""
        self._conversation.abort_command()
        await self._hosted.work.abort()
        await asyncio.wait([self._begun, *self._runs])

    # Saying something.

    async def _say(self, command: rpc.Prompt | rpc.Steer | rpc.FollowUp, accept: Accept) -> object:
        message = user_message(command.message, command.images or ())
        self._conversation.let_go(self._unsent)
        self._unsent = ()
        if invocation_in(message) is not None:
            if not isinstance(command, rpc.Prompt):
                raise RpcCommandError("slash commands cannot be queued: send them with prompt")
            return await self._accepted(self._run_command(command.message), accept, len(self._beginning))
        follow_up = isinstance(command, rpc.FollowUp)
        if self._hosted.work.is_busy:
            if isinstance(command, rpc.Prompt):
                if command.streaming_behavior is None:
                    raise RpcCommandError(
                        "the agent is working: set streamingBehavior to steer or followUp to queue the message"
                    )
                follow_up = command.streaming_behavior == "followUp"
            await self._hosted.work.say(message, follow_up=follow_up)
            return _disposition("queued")
        return await self._accepted(self._run(message, follow_up=follow_up), accept, 0)

    async def _accepted(self, work: Coroutine[Any, Any, None], accept: Accept, place: int) -> object:
        """Begin something. Returns as soon as it is known whether it runs, or was handled.

        Args:
            place: among what has not begun yet; the first there is what a run that begins belongs to.

        Raises:
            Exception: it failed before it began.
        """
        begun: asyncio.Future[object] = asyncio.get_running_loop().create_future()

        def begin(disposition: str) -> None:
            if not begun.done():
                accept(_disposition(disposition))
                begun.set_result(None)

        async def whole() -> None:
            try:
                await work
                begin("handled")
            except (RpcCommandError, *FORESEEN) as error:
                if begun.done():
                    self._send(notice(str(error), "error", conversation=self._hosted.id))
                else:
                    begun.set_exception(error)
            finally:
                self._beginning.remove(begin)

        self._beginning.insert(place, begin)
        self._begin_run(whole())
        return await asyncio.shield(begun)

    def _begin_run(self, work: Coroutine[Any, Any, None]) -> None:
        self._follow_run(asyncio.create_task(work))

    def _follow_run(self, task: asyncio.Task[None]) -> None:
        self._runs.add(task)
        task.add_done_callback(self._settled)

    def _settled(self, task: asyncio.Task[None]) -> None:
        self._runs.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._send(notice(error_text(error), "error", conversation=self._hosted.id))
        if self._has_run and not self._runs and not self._hosted.work.is_busy:
            self._send({"type": "agent_settled", "aborted": self._was_aborted})
            self._has_run = self._was_aborted = False

    async def _run(self, message: UserMessage, *, follow_up: bool) -> None:
        await self._hosted.work.say(message, follow_up=follow_up)

    async def _run_command(self, text: str) -> None:
        outcome: SubmitOutcome = await self._hosted.work.command(text)
        match outcome:
            case CommandNotRun(text=said):
                raise RpcCommandError(why_not_here(text) or said)
            case CommandReply(text=said, refused=True):
                raise RpcCommandError(said)
            case CommandReply(text=said):
                if said:
                    self._send({"type": "command_reply", "text": said})
            case SessionToOpen(choice=choice, text=said):
                if said:
                    self._send({"type": "command_reply", "text": said})
                await self._go_to(choice)
            case _:
                pass

    def _cleared(self) -> dict[str, list[str]]:
        steering, follow_up = self._conversation.queued
        self._conversation.clear_queues()
        return {"steering": list(steering), "followUp": list(follow_up)}

    # Looking.

    async def _look(self, command: rpc.AnyCommand) -> object:
        conversation = self._conversation
        match command:
            case rpc.GetState():
                return self._state()
            case rpc.GetMessages():
                return {"messages": list(map(message_json, conversation.messages))}
            case rpc.GetSessionStats():
                return self._stats()
            case rpc.GetForkMessages():
                points = conversation.navigation.points()
                return {"messages": [{"entryId": point.entry_id, "text": point.text} for point in points]}
            case rpc.GetEntries(since=since):
                entries = entries_after(conversation.entries(), since)
                if entries is None:
                    raise RpcCommandError(f"Entry not found: {since}")
                return {"entries": entries, "leafId": conversation.leaf_id}
            case rpc.GetTree():
                return {"tree": entry_tree(conversation.entries()), "leafId": conversation.leaf_id}
            case rpc.GetLastAssistantText():
                replies = (one.text for one in reversed(conversation.messages) if isinstance(one, AssistantMessage))
                return {"text": next(filter(None, replies), None)}
            case rpc.GetCommands():
                return {"commands": [self._command(one) for one in conversation.commands]}
            case _:
                return self._agents(command)

    def _agents(self, command: rpc.AnyCommand) -> object:
        agents = self._conversation.agents
        try:
            match command:
                case rpc.GetAgents():
                    return {"agents": [_agent(one) for one in agents.list()]}
                case rpc.GetAgentTranscript(agent_id=agent_id):
                    return {"transcript": agents.transcript(agent_id)}
                case rpc.SteerAgent(agent_id=agent_id, message=message):
                    agents.steer(agent_id, message)
                case rpc.StopAgent(agent_id=agent_id):
                    agents.stop(agent_id)
                case _:
                    raise RpcCommandError(f"Unknown command: {type(command).__name__}")
        except AgentError as error:
            raise RpcCommandError(str(error)) from error
        return None

    def _command(self, command: Command) -> dict[str, object]:
        author = self._conversation.author_of(command.name)
        scope = "project" if author.startswith(f"{self._workspace.root}/") else "user"
        came = {"path": author, "source": "local", "scope": scope, "origin": "top-level"}
        if not author:
            came |= {"path": f"builtin:{command.name}", "source": "builtin", "scope": "temporary"}
        return {
            "name": command.name,
            "description": command.description,
            "source": "extension",
            "sourceInfo": came,
        }

    def _state(self) -> dict[str, object]:
        conversation = self._conversation
        settings, current = conversation.settings, conversation.models.current
        steering, follow_up = conversation.queued
        state = {
            "model": _model(current.model),
            "thinkingLevel": current.thinking,
            "isStreaming": conversation.is_running and not self._is_compacting,
            "isCompacting": self._is_compacting,
            "steeringMode": settings.steering_mode,
            "followUpMode": settings.follow_up_mode,
            "sessionFile": conversation.session_path,
            "sessionId": conversation.session_id,
            "sessionName": conversation.naming.name,
            "autoCompactionEnabled": settings.compaction.enabled,
            "messageCount": len(conversation.messages),
            "pendingMessageCount": len(steering) + len(follow_up),
        }
        return {name: value for name, value in state.items() if value is not None}

    def _stats(self) -> dict[str, object]:
        conversation = self._conversation
        messages, report = stored_messages(conversation.entries()), conversation.usage
        replies = [one for one in messages if isinstance(one, AssistantMessage)]
        used = report.total.usage
        return {
            "sessionFile": conversation.session_path,
            "sessionId": conversation.session_id,
            "userMessages": sum(isinstance(one, UserMessage) for one in messages),
            "assistantMessages": len(replies),
            "toolCalls": sum(len(one.tool_calls) for one in replies),
            "toolResults": sum(isinstance(one, ToolResultMessage) for one in messages),
            "totalMessages": len(messages),
            "tokens": {
                "input": used.input,
                "output": used.output,
                "cacheRead": used.cache_read,
                "cacheWrite": used.cache_write,
                "total": used.input + used.output + used.cache_read + used.cache_write,
            },
            "cost": None if report.total.unpriced else used.cost.total,
            "contextUsage": {
                "tokens": report.context.tokens,
                "contextWindow": report.context.window,
                "percent": 100 * report.context.share,
            },
        }

    # The model.

    async def _model(
        self,
        command: rpc.SetModel
        | rpc.CycleModel
        | rpc.GetAvailableModels
        | rpc.SetThinkingLevel
        | rpc.CycleThinkingLevel
        | rpc.GetAvailableThinkingLevels,
    ) -> object:
        models = self._conversation.models
        match command:
            case rpc.SetModel(provider=provider, model_id=model_id):
                if not any((one.provider, one.id) == (provider, model_id) for one in models.available()):
                    raise RpcCommandError(f"Model not found: {provider}/{model_id}. get_available_models lists them")
                return _model((await models.choose(f"{provider}/{model_id}")).model)
            case rpc.CycleModel():
                scoped = bool(models.scoped())
                if len(models.scoped() or models.available()) < 2:
                    return None
                state = await models.cycle()
                return {"model": _model(state.model), "thinkingLevel": state.thinking, "isScoped": scoped}
            case rpc.GetAvailableModels():
                return {"models": [_model(model) for model in models.available()]}
            case rpc.SetThinkingLevel(level=level):
                models.set_thinking(level)
                return None
            case rpc.CycleThinkingLevel():
                levels: tuple[ThinkingLevel, ...] = models.current.levels
                return {"level": models.cycle_thinking()} if len(levels) > 1 else None
            case rpc.GetAvailableThinkingLevels():
                return {"levels": list(models.current.levels)}

    # The run and the conversation.

    async def _abort(self, command: rpc.Abort | rpc.AbortRetry) -> None:
        """Stop what is under way, or retries only; `abort` waits until it has ended. What is queued goes on waiting."""
        if isinstance(command, rpc.Abort) or self._is_retrying:
            self._conversation.abort()
        if isinstance(command, rpc.Abort) and self._runs:
            await asyncio.wait(self._runs)

    async def _bash(self, command: rpc.Bash) -> dict[str, object]:
        self._next_command_id = command.id
        end = await self._conversation.run_command(command.command, in_context=not command.exclude_from_context)
        known = {"exitCode": end.exit_code, "fullOutputPath": end.full_output_path}
        return {
            "output": end.output,
            "cancelled": end.cancelled,
            "truncated": end.truncated,
            **{name: value for name, value in known.items() if value is not None},
        }

    async def _compact(self, instructions: str) -> dict[str, object]:
        self._is_compacting = True
        try:
            end, said = await self._hosted.work.aside(lambda: self._conversation.compaction.compact(instructions))
        finally:
            self._is_compacting = False
        for message in said:  # what was queued meanwhile
            self._begin_run(self._run(message, follow_up=False))
        if end.aborted:
            raise RpcCommandError("the compaction was stopped")
        if end.error is not None:
            raise RpcCommandError(end.error)
        return self._events.compacted(end)

    async def _export(self, path: str | None) -> dict[str, str]:
        try:
            exported = await self._conversation.exporting.export(ExportRequest(path, "html"))
        except ExportError as error:
            raise RpcCommandError(str(error)) from error
        return {"path": str(exported.path)}

    def _adjust(
        self, command: rpc.SetSteeringMode | rpc.SetFollowUpMode | rpc.SetAutoCompaction | rpc.SetAutoRetry
    ) -> None:
        settings = self._conversation.settings
        replace = msgspec.structs.replace
        match command:
            case rpc.SetSteeringMode(mode=mode):
                settings = replace(settings, steering_mode=mode)
            case rpc.SetFollowUpMode(mode=mode):
                settings = replace(settings, follow_up_mode=mode)
            case rpc.SetAutoCompaction(enabled=enabled):
                settings = replace(settings, compaction=replace(settings.compaction, enabled=enabled))
            case rpc.SetAutoRetry(enabled=enabled):
                settings = replace(settings, retry=replace(settings.retry, enabled=enabled))
        self._conversation.adjust(settings)

    # Going to another session.

    async def _switch(self, command: rpc.NewSession | rpc.SwitchSession | rpc.Fork | rpc.Clone) -> dict[str, object]:
        text: dict[str, object] = {}
        choice: SessionChoice
        match command:
            case rpc.NewSession(parent_session=parent):
                choice = NewSession(parent=parent)
            case rpc.SwitchSession(session_path=path):
                choice = ResumeSession(path)
            case rpc.Fork(entry_id=entry_id):
                message = self._conversation.navigation.message_at(entry_id)
                if message is None:
                    raise RpcCommandError("fork needs the entry of a message: get_fork_messages lists them")
                text = {"text": message.text}
                choice = ForkSession(self._path(), entry_id)
            case rpc.Clone():
                if self._conversation.leaf_id is None:
                    raise RpcCommandError("the session is empty, so there is nothing to clone: send a prompt first")
                choice = CloneSession(self._path())
        await self._go_to(choice)
        return {**text, "cancelled": False}

    def _path(self) -> str:
        if self._conversation.session_path is None:
            raise RpcCommandError("this session is not kept, so it cannot be copied")
        return self._conversation.session_path

    async def _go_to(self, choice: SessionChoice) -> None:
        options = self._options.going_to(choice)
        self._serve(await self._host.switch(self._hosted, options, self._workspace))
        await self._hosted.begin()
        self._give_back(await self._hosted.work.take_unsaid())

    def _serve(self, hosted: HostedConversation) -> None:
        """From now on the client talks with this conversation."""
        self._hosted = hosted
        self._conversation: Conversation = hosted.conversation
        self._events = events = EventJson(self._conversation.models.is_free)

        def send(event: object) -> None:
            self._send(msgspec.Raw(encoded(event)[:-1] + b',"conversation":"%s"}' % hosted.id.encode()))

        def note(event: Event) -> None:
            self._note(event)
            send(events.of(event))

        hosted.work.observe_begun(self._follow_run)
        self._conversation.subscribe(note)
        self._conversation.subscribe_agents(lambda event: send(events.of(event)))
        self._conversation.on_entries(lambda line: send(entry_appended(line)))

    def _note(self, event: Event) -> None:
        if isinstance(event, UserCommandStart):
            self._events.command_id = self._next_command_id
        if isinstance(event, AgentStart):
            self._has_run = True
            if self._beginning:
                self._beginning[0]("started")
        if isinstance(event, AutoRetryStart | AutoRetryEnd | MessageStart | AgentEnd):
            self._is_retrying = isinstance(event, AutoRetryStart)
        if isinstance(event, AgentEnd):
            self._was_aborted = event.reason == "aborted"


def _disposition(disposition: str) -> object:
    """What became of a message."""
    return {"disposition": disposition}


def notice(text: str, kind: Literal["info", "error"] = "info", *, conversation: str | None = None) -> dict[str, object]:
    """What a client shows to the person without asking anything."""
    told = {
        "type": "extension_ui_request",
        "id": f"notice-{next(_NOTICES)}",
        "method": "notify",
        "message": text,
        "notifyType": kind,
    }
    return {**told, "conversation": conversation}


def _model(model: Model) -> dict[str, Any]:
    """A model in pi's form; prices that are not known are null."""
    described: dict[str, Any] = msgspec.to_builtins(model)
    return described | {"name": model.name or model.id}


def _agent(status: AgentStatus) -> dict[str, object]:
    fields = {"parent": status.parent, "sessionFile": status.session}
    return {
        "agent": status.agent,
        "task": status.task,
        "state": status.state,
        "doing": status.doing,
        "turns": status.used.turns,
        "tokens": status.used.tokens,
        "cost": status.used.cost,
        "seconds": round(status.seconds, 1),
        **{name: value for name, value in fields.items() if value is not None},
    }
