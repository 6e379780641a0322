"""Whether a conversation uses what its project brings along."""

import msgspec

from kaa.ext.choices import TrustChoice
from kaa.shell.home import Home
from kaa.shell.trust.configuration import ProjectConfiguration, TrustError, configures

_MAX_NAMED = 3
_REMEDY = "/trust in the terminal shows it and asks; --trust uses it for one run"


class TrustVerdict(msgspec.Struct, frozen=True):
    """The answer.

    Attributes:
        configuration: whether the project's configuration is used.
        instructions: paths of the files that instruct the model; others only inform it.
        components: paths of the skills, commands and hooks that are used.
        unused: that the configuration is not used and why, a sentence without a full stop; None if there is none.
        remedy: what lets a conversation use it, likewise; empty if nothing does.
        was_asked: the user has just answered, and knows what is not trusted.
    """

    configuration: bool
    instructions: frozenset[str] = frozenset()
    components: frozenset[str] = frozenset()
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
            texts = frozenset(file.path for file in (*configuration.instructions, *configuration.nested))
            return TrustVerdict(True, texts, frozenset(file.path for file in configuration.components.files))
        case "stored" | "instructions" if configuration.exists:
            return _decided_before(configuration, home, everything=choice == "stored")
    return _told(TrustVerdict(False), configuration)


def _decided_before(configuration: ProjectConfiguration, home: Home, *, everything: bool) -> TrustVerdict:
    from kaa.shell.trust.store import Changed, Trusted, TrustStore  # lazy: most projects have nothing to trust

    store = TrustStore(home)
    trusted = store.trusted_files(configuration)
    texts = frozenset(file.path for file in configuration.texts if file.name in trusted)
    components = frozenset(file.path for file in configuration.components.files if file.path in trusted)
    if not everything:
        remedy = "--trust uses it for one run; what you trusted in the terminal does not count here"
        return _told(TrustVerdict(False, texts, components), configuration, "nobody watches this run", remedy)
    match store.state(configuration):
        case Trusted():
            return TrustVerdict(True, texts, components)
        case Changed(difference=difference):
            has_changed = any(map(configures, (*difference.added, *difference.removed, *difference.changed)))
            verdict = TrustVerdict(not has_changed, texts, components)
            return _told(verdict, configuration, "it has changed since you trusted it")
    return _told(TrustVerdict(False, texts, components), configuration)


def _told(
    verdict: TrustVerdict,
    configuration: ProjectConfiguration,
    reason: str = "it is not trusted",
    remedy: str = _REMEDY,
) -> TrustVerdict:
    """The verdict, with what is not used and why."""
    if configuration.problem is not None:
        unused = f"the project's configuration is not used, because {reason}, and it cannot be: {configuration.problem}"
        return msgspec.structs.replace(verdict, unused=unused)
    files = [] if verdict.configuration else [file.path for file in configuration.files]
    components = [file.path for file in configuration.components.files if file.path not in verdict.components]
    if files:
        unused = f"the project's configuration is not used, because {reason}"
    elif components:
        unused, remedy = (
            "skills, commands, hooks, agents, language servers and deny rules of the project are not used, because you"
            " have not trusted them",
            _REMEDY,
        )
    else:
        return verdict
    # A line feed in a name must not begin a line that looks like one of ours.
    paths = [*files, *components]
    names = [" ".join(path.split()) for path in paths[:_MAX_NAMED]]
    if len(paths) > _MAX_NAMED:
        names.append(f"{len(paths) - _MAX_NAMED} more")
    return msgspec.structs.replace(verdict, unused=f"{unused} ({', '.join(names)})", remedy=remedy)
