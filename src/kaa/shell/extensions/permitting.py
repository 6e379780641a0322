"""What processes and components ask for, and what the user permitted them.

Another extension of the same name has nothing of it, nor has another version of an extension of a project.
"""

from pathlib import Path

from kaa.ext.errors import ExtensionError
from kaa.ext.permissions import Applicant, Permissions
from kaa.ext.places import ExtensionId, kind_of
from kaa.shell.extensions.records import ExtensionRecords, ExtensionRecordsError
from kaa.shell.home import Home

_MOST_DESCRIPTION = 300


def applicant_at(extension: ExtensionId) -> Applicant | None:
    """The process or component that an extension is; None for Python, which runs with the user's rights.

    Raises:
        ExtensionError: its manifest or description cannot be read.
    """
    # Lazy, both: a run loads only the kinds that its extensions have.
    match kind_of(Path(extension.path)):
        case "python":
            return None
        case "component":
            from kaa.ext.wasm.description import find_component

            return find_component(extension)
        case _:
            from kaa.ext.process.manifest import read_manifest

            return read_manifest(extension)


class GrantedPermissions:
    """The permissions of processes and components."""

    def __init__(self, home: Home) -> None:
        self._records = ExtensionRecords(home)

    def of(self, extension: Applicant) -> Permissions | None:
        """What an extension may do: what it asks for; None if that is more than the user permitted.

        Raises:
            ExtensionError: the records cannot be read.
        """
        known, requested = self.known(extension), extension.requested
        return None if known is None or requested.beyond(known) != Permissions() else requested

    def known(self, extension: Applicant) -> Permissions | None:
        """What the user permitted; None if that was never asked.

        Raises:
            ExtensionError: as above.
        """
        try:
            record = self._records.read().get(extension.extension.consent)
        except ExtensionRecordsError as error:
            raise ExtensionError(str(error)) from error
        return None if record is None else record.granted

    def grant(self, extension: Applicant) -> None:
        """Permit all that an extension asks for.

        Raises:
            ExtensionError: that cannot be kept.
        """
        try:
            self._records.grant(extension.extension, extension.requested)
        except ExtensionRecordsError as error:
            raise ExtensionError(str(error)) from error

    def details(self, extension: Applicant) -> str:
        """What an extension asks for, in lines; after a change, what it asks for besides what the user permitted.

        Raises:
            ExtensionError: as above.
        """
        known = self.known(extension)
        asked = extension.requested.beyond(known or Permissions()).sentences
        description = " ".join(extension.description.split())[:_MOST_DESCRIPTION]
        lines = [extension.extension.path, *([f'It says: "{description}"'] if description else []), ""]
        if known is not None:
            lines += ["It has changed and now also asks to:"]
        elif asked:
            lines += [f"It is {extension.nature} and asks to:"]
        else:
            lines += [f"It is {extension.nature} and asks for nothing but its own data."]
        lines += [f"- {sentence}" for sentence in asked]
        if known is not None and known.sentences:
            lines += ["", "You have permitted it to:", *(f"- {sentence}" for sentence in known.sentences)]
        return "\n".join(lines)
