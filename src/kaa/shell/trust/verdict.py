"""Whether a conversation uses what its project brings along."""

import msgspec

from kaa.ext.choices import TrustChoice
from kaa.shell.home import Home
from kaa.shell.trust.configuration import ProjectConfiguration, TrustError, configures

_MAX_NAMED = 3


class TrustVerdict(msgspec.Struct, frozen=True):
    """The answer.

    Attributes:
        configuration: whether the project's configuration is used.
        instructions: paths of the files that instruct the model; others only inform it.
        notice: what the user should know about the configuration, in a sentence or two.
        was_asked: the user has just answered, and knows what is not trusted.
    """

    configuration: bool
    instructions: frozenset[str] = frozenset()
    notice: str | None = None
    was_asked: bool = False


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
            return TrustVerdict(True, frozenset(file.path for file in configuration.instructions))
        case "stored" | "instructions" if configuration.exists:
            return _decided_before(configuration, home, everything=choice == "stored")
    return TrustVerdict(False, notice=_notice(configuration))


def _decided_before(configuration: ProjectConfiguration, home: Home, *, everything: bool) -> TrustVerdict:
    from kaa.shell.trust.store import Changed, Trusted, TrustStore  # lazy: most projects have nothing to trust

    store = TrustStore(home)
    texts = store.trusted_texts(configuration)
    if everything:
        match store.state(configuration):
            case Trusted():
                return TrustVerdict(True, texts)
            case Changed(difference=difference):
                if not any(map(configures, (*difference.added, *difference.removed, *difference.changed))):
                    return TrustVerdict(True, texts)
                return TrustVerdict(False, texts, _notice(configuration, "it has changed since you trusted it"))
    return TrustVerdict(False, texts, _notice(configuration))


def _notice(configuration: ProjectConfiguration, reason: str = "it is not trusted") -> str | None:
    if not configuration.files and configuration.problem is None:
        return None
    unused = f"the project's configuration is not used, because {reason}"
    if configuration.problem is not None:
        return f"{unused}, and it cannot be: {configuration.problem}"
    # A line feed in a name must not begin a line that looks like one of ours.
    names = [" ".join(file.path.split()) for file in configuration.files[:_MAX_NAMED]]
    if len(configuration.files) > _MAX_NAMED:
        names.append(f"{len(configuration.files) - _MAX_NAMED} more")
    return f"{unused} ({', '.join(names)}). /trust in the terminal shows it and asks; --trust uses it for one run"
