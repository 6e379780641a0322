"""Whether a conversation uses what its project brings along."""

import msgspec

from kaa.ext.choices import TrustChoice
from kaa.shell.home import Home
from kaa.shell.trust.configuration import ProjectConfiguration, TrustError

_MAX_NAMED = 3


class TrustVerdict(msgspec.Struct, frozen=True):
    """The answer. `notice`: what the user should know about it, in a sentence or two."""

    trusted: bool
    notice: str | None = None


def judge(choice: TrustChoice, configuration: ProjectConfiguration, home: Home) -> TrustVerdict:
    """Decide as the user chose, for this conversation or before.

    Raises:
        TrustError: a configuration is to be trusted that cannot be, or earlier decisions cannot be read.
    """
    match choice:
        case "yes" if configuration.problem is not None:
            raise TrustError(
                f"the project cannot be trusted: {configuration.problem}. Correct that, or continue without --trust"
            )
        case "yes":
            return TrustVerdict(trusted=True)
        case "stored":
            from kaa.shell.trust.store import Changed, Trusted, TrustStore  # lazy: in print mode nothing is looked up

            match TrustStore(home).state(configuration):
                case Trusted():
                    return TrustVerdict(trusted=True)
                case Changed():
                    return TrustVerdict(
                        trusted=False, notice=_notice(configuration, "it was changed since you trusted it")
                    )
    return TrustVerdict(trusted=False, notice=_notice(configuration) if configuration.exists else None)


def _notice(configuration: ProjectConfiguration, reason: str = "the project is not trusted") -> str:
    unused = f"the project's configuration is not used, because {reason}"
    if configuration.problem is not None:
        return f"{unused}, and it cannot be: {configuration.problem}"
    # A line feed in a name must not begin a line that looks like one of ours.
    names = [" ".join(file.path.split()) for file in configuration.files[:_MAX_NAMED]]
    if len(configuration.files) > _MAX_NAMED:
        names.append(f"{len(configuration.files) - _MAX_NAMED} more")
    return f"{unused} ({', '.join(names)}). If you know its content, use --trust"
