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
        unused: that the configuration is not used and why, a sentence without a full stop; None if there is none.
        remedy: what lets a conversation use it, likewise; empty if nothing does.
        was_asked: the user has just answered, and knows what is not trusted.
    """

    configuration: bool
    instructions: frozenset[str] = frozenset()
    unused: str | None = None
    remedy: str = ""
    was_asked: bool = False

    @property
    def notice(self) -> str | None:
        """What the user of a conversation should know about the configuration, in a sentence or two."""
        return None if self.unused is None else ". ".join(filter(None, (self.unused, self.remedy)))


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
    return _unused(configuration, frozenset())


def _decided_before(configuration: ProjectConfiguration, home: Home, *, everything: bool) -> TrustVerdict:
    from kaa.shell.trust.store import Changed, Trusted, TrustStore  # lazy: most projects have nothing to trust

    store = TrustStore(home)
    texts = store.trusted_texts(configuration)
    if not everything:
        remedy = "--trust uses it for one run; what you trusted in the terminal does not count here"
        return _unused(configuration, texts, "nobody watches this run", remedy)
    match store.state(configuration):
        case Trusted():
            return TrustVerdict(True, texts)
        case Changed(difference=difference):
            if not any(map(configures, (*difference.added, *difference.removed, *difference.changed))):
                return TrustVerdict(True, texts)
            return _unused(configuration, texts, "it has changed since you trusted it")
    return _unused(configuration, texts)


def _unused(
    configuration: ProjectConfiguration,
    texts: frozenset[str],
    reason: str = "it is not trusted",
    remedy: str = "/trust in the terminal shows it and asks; --trust uses it for one run",
) -> TrustVerdict:
    """`texts`: the instructions that are used."""
    if not configuration.files and configuration.problem is None:
        return TrustVerdict(False, texts)
    unused = f"the project's configuration is not used, because {reason}"
    if configuration.problem is not None:
        return TrustVerdict(False, texts, f"{unused}, and it cannot be: {configuration.problem}")
    # A line feed in a name must not begin a line that looks like one of ours.
    names = [" ".join(file.path.split()) for file in configuration.files[:_MAX_NAMED]]
    if len(configuration.files) > _MAX_NAMED:
        names.append(f"{len(configuration.files) - _MAX_NAMED} more")
    return TrustVerdict(False, texts, f"{unused} ({', '.join(names)})", remedy)
