"""What the slash commands do that let a session out of kaa, or another one in."""

from kaa.builtin.slash_commands import EXPORT_FLAGS, SHARE_FLAGS
from kaa.ext.api import CommandAction, CommandContext, OpenSession, Reply
from kaa.ext.asking import Asker, confirm
from kaa.ext.errors import CommandError
from kaa.session.errors import SessionError

_FLAGS = {"export": EXPORT_FLAGS, "share": SHARE_FLAGS}


async def export(arguments: str, context: CommandContext) -> CommandAction:
    """Export the session to a file."""
    from kaa.session.export.request import ExportError, ExportRequest  # lazy, as below: few sessions are exported

    flags, rest = _parsed("export", arguments)
    request = ExportRequest(
        target=rest or None,
        all_branches=_branches(flags),
        thinking="--no-thinking" not in flags,
        tools="--no-tools" not in flags,
        redact="--redact" in flags,
        force="--force" in flags,
    )
    try:
        exported = await context.exporting.export(request)
    except (ExportError, SessionError) as error:
        raise CommandError(str(error)) from error
    return Reply(exported.report)


async def import_file(arguments: str, context: CommandContext) -> CommandAction:
    """Import a session file, and continue with it."""
    name = _unquoted(arguments)
    if not name:
        raise CommandError("give the session's file: /import PATH")
    try:
        imported = await context.exporting.import_file(name)
    except SessionError as error:
        raise CommandError(str(error)) from error
    return OpenSession(str(imported.path), imported.report)


async def share(arguments: str, context: CommandContext) -> CommandAction:
    """Upload the session as a secret gist."""
    from kaa.session.export.request import ExportRequest

    flags, rest = _parsed("share", arguments)
    if rest:
        raise CommandError(f"/share takes no file ({rest}); it makes a secret gist of this session")
    request = ExportRequest(
        all_branches=_branches(flags), thinking="--no-thinking" not in flags, tools="--no-tools" not in flags
    )
    sharing = context.sharing
    try:
        draft = await sharing.prepare(request)
    except SessionError as error:
        raise CommandError(str(error)) from error
    try:
        if "--yes" not in flags and not await _confirmed(context.asker, draft.description):
            return Reply("nothing was shared")
        return Reply(f"{await sharing.upload(draft)}\n{draft.description}")
    finally:
        sharing.discard(draft)


async def _confirmed(asker: Asker, description: str) -> bool:
    """Whether the person wants the session to be uploaded.

    Raises:
        CommandError: nobody can be asked.
    """
    question = "Upload this as a secret gist? Everyone who has its address can read it."
    if not asker.can_ask:
        raise CommandError(f"{question} Nobody can be asked here: add --yes to upload it.\n{description}")
    return await confirm(asker, question, description)


def _parsed(command: str, arguments: str) -> tuple[frozenset[str], str]:
    """The flags, and what is left: one path, which may have spaces in it.

    Raises:
        CommandError: there is no such flag.
    """
    words = arguments.split(" ")
    flags = frozenset(word for word in words if word.startswith("--"))
    known = _FLAGS[command]
    if unknown := sorted(flags.difference(known)):
        raise CommandError(f"/{command} has no {unknown[0]}; it has {', '.join(known)}")
    return flags, _unquoted(" ".join(word for word in words if word not in flags))


def _unquoted(text: str) -> str:
    """A path without the quotes that dragging a file into a terminal puts around it."""
    bare = text.strip()
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'" else bare.replace("\\ ", " ")


def _branches(flags: frozenset[str]) -> bool | None:
    """Whether all branches are wanted, None if nothing was said.

    Raises:
        CommandError: both was said.
    """
    chosen = [flag for flag in ("--all-branches", "--one-branch") if flag in flags]
    if len(chosen) == 2:
        raise CommandError("--all-branches and --one-branch exclude each other")
    return chosen == ["--all-branches"] if chosen else None
