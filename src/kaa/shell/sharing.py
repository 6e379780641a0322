"""Puts a session where others can read it: a secret gist, made with GitHub's own program, after saying what goes out.

Whatever is shared was redacted: the secrets in use on this machine, and what looks like one.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kaa.ext.errors import CommandError
from kaa.host.programs import host_programs
from kaa.session.export.request import ExportDraft, SharedFile
from kaa.session.file.append_file import PRIVATE_FILE
from kaa.shell.exporting import Exporting, count_secrets, export_name, write_session

if TYPE_CHECKING:
    from kaa.session.export.request import ExportRequest, Format

_ANSWER_SECONDS = 20
_UPLOAD_SECONDS = 300
_NO_GH = (
    "sharing needs GitHub's program `gh`, which is not installed: see https://cli.github.com, or use /export and pass "
    "the file on yourself"
)
_NOT_LOGGED_IN = "`gh` is not logged in to GitHub: run `gh auth login` in another terminal, then /share again"

# GitHub cuts a gist's files in its answers at 10 MB, and refuses pushes of files above 100 MB.
_MOST_BYTES = 90 * 1024 * 1024


class Sharing:
    """Shares the session of a conversation."""

    def __init__(self, exporting: Exporting) -> None:
        self._exporting = exporting

    async def prepare(self, request: "ExportRequest") -> ExportDraft:
        code, _, _ = await self._run(("auth", "status"), _ANSWER_SECONDS)
        if code:
            raise CommandError(_NOT_LOGGED_IN)
        draft = await asyncio.to_thread(self._write, request)
        if any(file.size > _MOST_BYTES for file in draft.files):
            self.discard(draft)
            raise CommandError("this session is too large for a gist; leave tools out with --no-tools, or use /export")
        return draft

    async def upload(self, draft: ExportDraft) -> str:
        files = [str(draft.folder / file.name) for file in draft.files]
        # A gist is secret unless --public is given: who has its address can read it.
        code, output, complaint = await self._run(("gist", "create", "--desc", draft.title, *files), _UPLOAD_SECONDS)
        address = next((word for word in reversed(output.split()) if word.startswith("https://")), None)
        if code or address is None:
            raise CommandError(f"`gh` could not make the gist: {complaint.strip() or output.strip() or f'exit {code}'}")
        return address

    def discard(self, draft: ExportDraft) -> None:
        shutil.rmtree(draft.folder, ignore_errors=True)

    def _write(self, request: "ExportRequest") -> ExportDraft:
        from kaa.session.export.page import title_of
        from kaa.session.export.selection import ExportSelection

        folder = Path(tempfile.mkdtemp(prefix="kaa-share-"))
        try:
            with self._exporting.source() as source:
                selection = ExportSelection(
                    all_branches=bool(request.all_branches),
                    thinking=request.thinking,
                    tools=request.tools,
                    redactor=self._exporting.redactor(),
                )
                name = export_name(source, selection)
                title = title_of(source, selection)
                # The first is read on the gist's own page; the second is the viewer, to be downloaded.
                formats: tuple[tuple[Format, str], ...] = (("markdown", f"{name}.md"), ("html", f"{name}.html"))
                files = []
                totals = None
                for wanted, file in formats:
                    descriptor = os.open(folder / file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
                    with open(descriptor, "wb") as out:
                        totals = write_session(source, selection, wanted, out)
                        files.append(SharedFile(file, out.tell()))
                assert totals is not None
                removed = count_secrets(source, selection, self._exporting.redactor())
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return ExportDraft(
            folder=folder,
            title=title,
            files=tuple(files),
            messages=totals.messages,
            tool_results=totals.tool_results,
            thinking_blocks=totals.thinking_blocks,
            images=totals.images,
            all_branches=selection.all_branches,
            removed=removed,
            agents=totals.agents,
        )

    async def _run(self, arguments: Sequence[str], seconds: float) -> tuple[int, str, str]:
        """Exit code and output of `gh`, which is asked nothing and may not ask."""
        programs = host_programs(self._exporting.environ)
        program = programs.find("gh")
        if program is None:
            raise CommandError(programs.refusal("gh") or _NO_GH)
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *arguments,
                cwd="/",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**programs.environment(), "GH_PROMPT_DISABLED": "1", "NO_COLOR": "1"},
            )
        except OSError as error:
            raise CommandError(f"`gh` cannot be started: {error.strerror or error}") from error
        try:
            output, complaint = await asyncio.wait_for(process.communicate(), seconds)
        except TimeoutError as error:
            raise CommandError(f"`gh` did not answer within {seconds:.0f} s; try again") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode or 0, output.decode(errors="replace"), complaint.decode(errors="replace")
