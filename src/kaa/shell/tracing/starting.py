"""Switching tracing on, if the user wants it and it is installed. Loads nothing of OpenTelemetry otherwise."""

import asyncio
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from kaa.core.agent import Agent
from kaa.shell.home import Home
from kaa.shell.settings import OtelSettings

if TYPE_CHECKING:
    from kaa.shell.tracing.export import Redact, Tracing

_MISSING = (
    "otel.enabled is set, but OpenTelemetry is not installed, so nothing is traced. Install the extra: "
    "pip install 'kaa[otel]'"
)


async def start_tracing(
    settings: OtelSettings,
    agent: Agent,
    conversation_id: str,
    environ: Mapping[str, str],
    home: Home,
    notify: Callable[[str], None],
) -> "Tracing | None":
    """Follow `agent`, if the settings say so.

    Args:
        environ: where OpenTelemetry finds everything else; `OTEL_SDK_DISABLED=true` switches it off.
        home: the user's folder; what auth.json has is kept out of spans.
        notify: told, in a sentence, if it is not installed or set up wrongly.
    """
    if not settings.enabled or environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    try:
        # Lazy: takes half a second, and is an extra that most do not have. In a thread, so that the rest goes on.
        await asyncio.to_thread(import_module, "kaa.shell.tracing.export")
        from kaa.shell.tracing.export import Tracing, redaction_of
    except ImportError:
        notify(_MISSING)
        return None

    def redactor() -> "Redact":
        from kaa.llm.redaction import Redactor  # lazy: only where content is captured
        from kaa.shell.known_secrets import known_secrets

        return Redactor(known_secrets(environ, home)).redact

    try:
        return Tracing(agent, conversation_id, redaction_of(environ, redactor), notify)
    except (ValueError, OSError) as error:
        notify(f"OpenTelemetry cannot be set up, so nothing is traced: {error}. Check the OTEL_ variables.")
        return None
