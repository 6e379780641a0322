"""What sandboxed commands may reach, as the user writes it: `off`, `on`, `pypi.org,*.pythonhosted.org`.

Decisions, each on the side of caution:

- A rule without a port means 80 and 443. Who lists `github.com` thinks of its web server; its SSH is another service.
- `*.example.com` means what is below, at any depth, and not `example.com` itself. A star needs two labels behind it;
  which of those are open to everybody (`*.co.uk`, `*.github.io`) is left to the user's judgement.
- `on` means the public internet. A host in a private network is reached only if a rule names exactly this host, with
  or beside `on` (`on,git.corp.example`): behind a star, whoever controls a name in that zone could point it into the
  user's network.
- This machine, the local link and metadata services are never reached, whatever a rule says.
- A host that the user allowed in answer to a question has only public addresses: whoever controls its name could point
  it into the user's network afterwards. Where it does, the user is asked again, and a yes is for the addresses that the
  question shows. Those of `registries` may have private ones too, as where a company's network
  answers for them: no command chooses their names, and nobody who wrote it controls where they lead.
"""

import re
from enum import Enum
from typing import Literal

import msgspec

from kaa.host.addresses import AddressKind, kind_of
from kaa.workspace.network.destinations import (
    Destination,
    HostError,
    canonical_host,
    in_brackets,
    is_address,
    parse_authority,
    parse_port,
)

NetworkMode = Literal["off", "allow-list", "on"]

_WEB_PORTS = (80, 443)
_REGISTRIES = re.compile(r"registries(?:/.*)?", re.IGNORECASE)  # see `registries`
# Known to lead to what is forbidden. Their addresses say so too, but behind an upstream proxy nobody sees those.
_FORBIDDEN_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", "metadata.google.internal"})
# IDNA 2003, which Python has, and IDNA 2008, which browsers use, read these differently: ß, ς, joiners.
_AMBIGUOUS = frozenset("\u00df\u03c2\u200c\u200d")


class NetworkRuleError(ValueError):
    """A rule cannot be understood; the message says what to write instead."""


class HostVerdict(Enum):
    """What the state of the network says about a destination."""

    ALLOWED = "allowed"
    UNLISTED = "unlisted"
    """No rule names it."""
    PRIVATE = "private"
    """It is in a private network, and no rule names exactly this host."""
    FORBIDDEN = "forbidden"
    """No rule can allow it."""


class NetworkRule(msgspec.Struct, frozen=True):
    """A host, or all below a domain, that may be reached.

    Attributes:
        host: in canonical form (see `destinations`), without the star.
        subdomains: whether what is below `host` is meant, instead of itself.
        port: the only port, or None for those of the web.
    """

    host: str
    subdomains: bool = False
    port: int | None = None

    @classmethod
    def parse(cls, text: str) -> "NetworkRule":
        """Parse `host`, `host:port`, `*.domain` or an address.

        Raises:
            NetworkRuleError: it is something else.
        """
        text = text.strip()
        _reject_what_is_no_host(text)
        name, port = _split_port(text)
        host = name.removeprefix("*.")
        rule = cls(_canonical(host, text), subdomains=host != name, port=port)
        rule._reject_what_cannot_work(text)
        return rule

    @classmethod
    def exactly(cls, destination: Destination) -> "NetworkRule":
        """The narrowest rule that names a destination."""
        return cls(destination.host, port=None if destination.port in _WEB_PORTS else destination.port)

    def matches(self, destination: Destination) -> bool:
        """Whether this rule names a destination."""
        if destination.port not in (_WEB_PORTS if self.port is None else (self.port,)):
            return False
        if self.subdomains:
            return destination.host.endswith(f".{self.host}")
        return destination.host == self.host

    def covers(self, other: "NetworkRule") -> bool:
        """Whether this rule names all that the other one names."""
        if other.port != self.port and not (self.port is None and other.port in _WEB_PORTS):
            return False
        if self.subdomains and other.host.endswith(f".{self.host}"):
            return True
        return (other.host, other.subdomains) == (self.host, self.subdomains)

    def _reject_what_cannot_work(self, text: str) -> None:
        if self.subdomains and (is_address(self.host) or "." not in self.host):
            raise NetworkRuleError(
                f"{text!r} is too wide: name at least the domain below, as in '*.example.com' (or say 'on')."
            )
        if is_forbidden(self.host):
            raise NetworkRuleError(
                f"{text!r} cannot be allowed: this machine, the local link and metadata services are never reached "
                "from the sandbox. Servers that run inside the sandbox need no rule."
            )

    def __str__(self) -> str:
        if self.port is None:
            return f"*.{self.host}" if self.subdomains else self.host
        return f"{'*.' if self.subdomains else ''}{in_brackets(self.host)}:{self.port}"


class GrantedAddress(msgspec.Struct, frozen=True):
    """A private address that the user permitted for a host, in answer to a question that showed it."""

    rule: NetworkRule
    address: str


class NetworkState(msgspec.Struct, frozen=True):
    """What may be reached now.

    Attributes:
        public: whether the whole public internet may.
        rules: what may besides.
        granted: what the user allowed in answer to a question: at public addresses only, but for registries.
        addresses: private ones that the user permitted for what is permitted otherwise.
        within: the state of a wider sandbox, which must allow it too; None where there is none.
    """

    public: bool = False
    rules: tuple[NetworkRule, ...] = ()
    granted: tuple[NetworkRule, ...] = ()
    addresses: tuple[GrantedAddress, ...] = ()
    within: "NetworkState | None" = None

    @classmethod
    def parse(cls, text: str) -> "NetworkState":
        """Parse `off`, `on`, or rules and groups of registries, separated by commas.

        `on` may stand beside rules for private hosts.

        Raises:
            NetworkRuleError: it is something else.
        """
        parts = [part.strip() for part in text.split(",")]
        if parts == [""]:
            raise NetworkRuleError(
                "the network is 'off', 'on', 'registries', or a list of hosts such as 'pypi.org,*.pythonhosted.org'."
            )
        if "" in parts:
            raise NetworkRuleError(f"{text!r} has an empty part: write hosts separated by single commas.")
        words = {part.lower() for part in parts} & {"off", "on"}
        if "off" in words and len(parts) > 1:
            raise NetworkRuleError(f"{text!r} is contradictory: say 'off' alone, or list the hosts without it.")
        rules = (rule for part in parts if part.lower() not in words for rule in rules_of(part))
        return cls(public="on" in words).allowing(*rules)

    @property
    def mode(self) -> NetworkMode:
        if self.public:
            return "on"
        return "allow-list" if self.rules or self.granted else "off"

    @property
    def is_open(self) -> bool:
        """Whether all of the public internet may be reached."""
        return self.public and (self.within is None or self.within.is_open)

    @property
    def chosen(self) -> "NetworkState":
        """This state without what was answered to questions: written down, that would permit private addresses too."""
        return msgspec.structs.replace(self, granted=(), addresses=())

    def allowing(self, *rules: NetworkRule) -> "NetworkState":
        return msgspec.structs.replace(self, rules=tuple(dict.fromkeys((*self.rules, *rules))))

    def granting(self, *rules: NetworkRule) -> "NetworkState":
        """This state with more that the user allowed in answer to a question."""
        return msgspec.structs.replace(self, granted=tuple(dict.fromkeys((*self.granted, *rules))))

    def granting_at(self, *addresses: GrantedAddress) -> "NetworkState":
        """This state with private addresses that the user permitted."""
        return msgspec.structs.replace(self, addresses=tuple(dict.fromkeys((*self.addresses, *addresses))))

    def beyond(self, wider: "NetworkState") -> tuple[str, ...]:
        """What this state allows and `wider` does not, as a user writes it."""
        further = () if wider.within is None else self.beyond(wider.within)
        if wider.public:
            return further
        known = (*wider.rules, *wider.granted)
        rules = (str(rule) for rule in self.rules if not any(one.covers(rule) for one in known))
        return tuple(dict.fromkeys((*(["on"] if self.public else []), *rules, *further)))

    def judge(self, destination: Destination, address: str | None = None) -> HostVerdict:
        """Whether a destination may be reached.

        Args:
            address: what its name resolved to. None judges the name alone, before anybody resolves it.

        Returns:
            The verdict; an allowed name says nothing about its addresses.
        """
        if self.within is not None and (verdict := self.within.judge(destination, address)) is not HostVerdict.ALLOWED:
            return verdict
        if is_forbidden(destination.host):
            return HostVerdict.FORBIDDEN
        matching = [rule for rule in self.rules if rule.matches(destination)]
        if not matching and not self.public and not any(rule.matches(destination) for rule in self.granted):
            return HostVerdict.UNLISTED
        if destination.is_address:
            address = destination.host
        elif address is None:
            return HostVerdict.ALLOWED
        match kind_of(address):
            case AddressKind.PUBLIC:
                return HostVerdict.ALLOWED
            case AddressKind.PRIVATE:
                named = (
                    any(not rule.subdomains for rule in matching)
                    or self._grants_registry(destination)
                    or any(one.address == address and one.rule.matches(destination) for one in self.addresses)
                )
                return HostVerdict.ALLOWED if named else HostVerdict.PRIVATE
            case AddressKind.FORBIDDEN:
                return HostVerdict.FORBIDDEN

    def _grants_registry(self, destination: Destination) -> bool:
        if not any(rule.matches(destination) and not rule.subdomains for rule in self.granted):
            return False
        from kaa.workspace.network.registries import is_registry  # lazy: few names lead to private addresses

        return is_registry(destination.host)

    def __str__(self) -> str:
        words = ["on"] if self.public else [] if self.rules or self.granted else ["off"]
        rules = tuple(map(str, self.rules))
        if len(rules) > 1:
            from kaa.workspace.network.registries import folded  # lazy: few lists are long

            rules = folded(rules)
        answered = tuple(str(rule) for rule in self.granted if rule not in self.rules)
        if len(answered) > 1:
            from kaa.workspace.network.registries import folded

            answered = folded(answered)
        return ",".join((*words, *rules, *answered))


def askable(destination: Destination) -> bool:
    """Whether the user can be asked about a destination: not about addresses that are not public."""
    if destination.is_address:
        return kind_of(destination.host) is AddressKind.PUBLIC
    return not is_forbidden(destination.host)


def rules_of(part: str) -> tuple[NetworkRule, ...]:
    """The rules that a part of a list stands for: itself, or those of a group of registries."""
    if not _REGISTRIES.fullmatch(part):
        return (NetworkRule.parse(part),)
    from kaa.workspace.network import registries  # lazy: few name them

    if (hosts := registries.hosts_of(part.lower())) is None:
        raise NetworkRuleError(f"{part!r} is no group of registries: use {', '.join(registries.words())}.")
    return tuple(map(NetworkRule.parse, hosts))


def is_forbidden(host: str) -> bool:
    """Whether a canonical host can be seen to lead where no rule may."""
    if is_address(host):
        return kind_of(host) is AddressKind.FORBIDDEN
    return host in _FORBIDDEN_NAMES or host.endswith(".localhost")


def _reject_what_is_no_host(text: str) -> None:
    if not text:
        raise NetworkRuleError("a rule is empty: write a host, as in 'pypi.org'.")
    if "://" in text or text.startswith("//"):
        raise NetworkRuleError(f"{text!r} is a URL: write the host alone, as in 'pypi.org'.")
    if "/" in text:
        raise NetworkRuleError(f"{text!r} is a path or a network: list single hosts, as in 'pypi.org' or '10.0.0.5'.")
    if "@" in text:
        raise NetworkRuleError(f"{text!r} names a user: write the host alone, as in 'github.com:22'.")
    if any(character.isspace() for character in text):
        raise NetworkRuleError(f"{text!r} has a space: separate hosts with commas.")
    if text.rpartition(":")[0] == "*" or text == "*":
        raise NetworkRuleError("'*' would allow every host: say 'on' if that is what you want.")
    if "*" in text.removeprefix("*."):
        raise NetworkRuleError(
            f"{text!r}: a star stands for all below a domain and is its first part, as in '*.x.org'."
        )


def _split_port(text: str) -> tuple[str, int | None]:
    """A rule's host, without brackets, and its port."""
    if text.startswith("["):
        try:
            host, port = parse_authority(text, default_port=0)
        except HostError as error:
            raise NetworkRuleError(f"{text!r} cannot be understood: {error}.") from None
        return host, port or None
    if text.count(":") != 1:
        return text, None
    host, _, port_text = text.partition(":")
    try:
        return host, parse_port(port_text)
    except HostError as error:
        raise NetworkRuleError(f"{text!r} cannot be understood: {error}.") from None


def _canonical(host: str, text: str) -> str:
    if _AMBIGUOUS.intersection(host):
        raise NetworkRuleError(f"{text!r} has a letter that programs read differently: write it in ASCII (xn--…).")
    try:
        return canonical_host(host if host.isascii() else host.encode("idna").decode("ascii"))
    except UnicodeError:
        raise NetworkRuleError(f"{text!r} is not the name of a host; if it is, write it in ASCII (xn--…).") from None
    except HostError as error:
        raise NetworkRuleError(f"{text!r} cannot be allowed: {error}.") from None
