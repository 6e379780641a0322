"""A conversation's status as the footer shows it."""

from kaa.frontends.interactive.footer import FooterState, short_path
from kaa.shell.status import Status
from kaa.workspace.git import Head

_HASH_CHARACTERS = 8


def footer_state(status: Status, head: Head | None, mode: str) -> FooterState:
    """What the footer shows.

    Args:
        status: of the conversation.
        head: what is checked out.
        mode: of the editor, empty if it has none.
    """
    total, context = status.usage.total, status.usage.context
    return FooterState(
        directory=short_path(status.cwd),
        branch="" if head is None else f"at {head.name[:_HASH_CHARACTERS]}" if head.detached else head.name,
        session_name=status.session_name or "",
        model=status.model.name,
        thinking=status.model.thinking,
        tokens_in=total.usage.input,
        tokens_out=total.usage.output,
        cache_read=total.usage.cache_read,
        cache_write=total.usage.cache_write,
        turn_tokens=status.usage.turn.usage.output,
        cache_hits=total.cache_hit_rate,
        cost=total.cost,
        context_used=context.tokens,
        context_window=context.window,
        permissions=status.mode,
        unsafe=_unsafe(status),
        network="" if status.sandbox is None else network_in_short(status.sandbox.network),
        jobs=status.jobs,
        beside=status.beside,
        ports=status.ports,
        checkpoints_problem=status.checkpoints_problem or "",
        mode=mode,
    )


def network_in_short(state: str) -> str:
    """The state of the network; a list of hosts as their number."""
    parts = state.split(",")
    is_list = len(parts) > 1 and all("." in part and "/" not in part for part in parts)
    return f"{len(parts)} hosts" if is_list else state


def _unsafe(status: Status) -> str:
    """That nothing holds the tools; empty if something does, or nothing needs to."""
    if status.sandbox_problem is not None:
        return "no sandbox"
    if status.sandbox is None or status.sandbox.confined:
        return ""
    return "full access" if status.sandbox.mode == "full-access" else "no sandbox"
