import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaa.workspace.network.allow_list import HostVerdict, NetworkRule, NetworkRuleError, NetworkState, is_forbidden
from kaa.workspace.network.destinations import Destination, canonical_host, is_address

# Of few letters, so that names that are drawn apart are often the same or one below the other.
_LABEL = st.text("ab-", min_size=1, max_size=4).filter(lambda label: label.strip("-") == label)
_NAMES = st.lists(_LABEL, min_size=2, max_size=4).map(".".join)
_HOSTS = st.one_of(_NAMES, st.ip_addresses().map(lambda address: canonical_host(str(address))))
_PORTS = st.one_of(st.none(), st.integers(1, 65535))
_RULES = st.builds(NetworkRule, _HOSTS, st.booleans(), _PORTS).filter(
    lambda rule: not (rule.subdomains and is_address(rule.host)) and not is_forbidden(rule.host)
)
_STATES = st.builds(NetworkState, st.booleans(), st.lists(_RULES, max_size=4, unique=True).map(tuple))


def _verdict(state: str, host: str, port: int = 443, address: str | None = None) -> HostVerdict:
    return NetworkState.parse(state).judge(Destination(canonical_host(host), port), address)


@pytest.mark.parametrize(
    ("rule", "host", "port", "matches"),
    [
        ("pypi.org", "pypi.org", 443, True),
        ("pypi.org", "pypi.org", 80, True),
        ("pypi.org", "pypi.org", 22, False),
        ("pypi.org", "PYPI.ORG.", 443, True),
        ("PyPI.org.", "pypi.org", 443, True),
        ("pypi.org", "files.pypi.org", 443, False),
        ("pypi.org", "notpypi.org", 443, False),
        ("pypi.org", "pypi.org.evil.example", 443, False),
        ("*.x.org", "a.x.org", 443, True),
        ("*.x.org", "a.b.x.org", 443, True),
        ("*.x.org", "x.org", 443, False),
        ("*.x.org", "ax.org", 443, False),
        ("*.x.org:8443", "a.x.org", 8443, True),
        ("*.x.org:8443", "a.x.org", 443, False),
        ("github.com:22", "github.com", 22, True),
        ("github.com:22", "github.com", 443, False),
        ("bücher.example", "xn--bcher-kva.example", 443, True),
        ("*.Bücher.example", "shop.xn--bcher-kva.example", 443, True),
        ("1.1.1.1", "1.1.1.1", 443, True),
        ("1.1.1.1", "1.1.1.2", 443, False),
        ("2606:4700::1111", "2606:4700:0::1111", 443, True),
        ("[2606:4700::1111]:53", "2606:4700::1111", 53, True),
        ("dns.example", "1.1.1.1", 443, False),
    ],
)
def test_rules_match(rule: str, host: str, port: int, matches: bool) -> None:
    assert NetworkRule.parse(rule).matches(Destination(canonical_host(host), port)) is matches


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "'off', 'on'"),
        ("pypi.org,,example.com", "empty part"),
        ("pypi.org,", "empty part"),
        ("https://pypi.org", "URL"),
        ("https://pypi.org/simple", "URL"),
        ("pypi.org/simple", "path"),
        ("10.0.0.0/8", "network"),
        ("git@github.com", "user"),
        ("a.com b.com", "commas"),
        ("*", "say 'on'"),
        ("*:443", "say 'on'"),
        ("*.com", "too wide"),
        ("*.1.2.3.4", "too wide"),
        ("a.*.com", "star"),
        ("*a.com", "star"),
        ("*.*.com", "star"),
        ("pypi.org:", "port"),
        ("pypi.org:0", "port"),
        ("pypi.org:65536", "port"),
        ("pypi.org:https", "port"),
        ("straße.example", "ASCII"),
        ("a\u200db.example", "ASCII"),
        ("-a.example", "not the name"),
        ("[::1", "cannot be understood"),
        ("[2606:4700::1]443", "cannot be understood"),
        ("[2606:4700::1]:0", "cannot be understood"),
        ("a..b", "not the name"),
        ("..ä", "ASCII"),
        ("0x7f.1", "four decimal"),
        ("off,pypi.org", "contradictory"),
        ("on,off", "contradictory"),
        ("localhost:5432", "never reached"),
        ("app.localhost", "never reached"),
        ("127.0.0.1", "never reached"),
        ("\uff11\uff12\uff17.0.0.1", "never reached"),
        ("[::1]:80", "never reached"),
        ("169.254.169.254", "never reached"),
        ("metadata.google.internal", "never reached"),
    ],
)
def test_what_cannot_be_a_state_is_explained(text: str, says: str) -> None:
    with pytest.raises(NetworkRuleError, match=says):
        NetworkState.parse(text)


def test_an_empty_rule_is_explained() -> None:
    with pytest.raises(NetworkRuleError, match="empty"):
        NetworkRule.parse(" ")


def test_off_allows_nothing_and_on_what_is_public() -> None:
    assert _verdict("off", "pypi.org") is HostVerdict.UNLISTED
    assert _verdict("ON", "pypi.org", 22) is HostVerdict.ALLOWED
    assert _verdict("on", "8.8.8.8", 53) is HostVerdict.ALLOWED
    assert _verdict("pypi.org", "8.8.8.8") is HostVerdict.UNLISTED


def test_a_private_host_is_reached_only_if_named_exactly() -> None:
    assert _verdict("on", "git.corp.example", address="10.0.0.5") is HostVerdict.PRIVATE
    assert _verdict("*.corp.example", "git.corp.example", address="10.0.0.5") is HostVerdict.PRIVATE
    assert _verdict("git.corp.example", "git.corp.example", address="10.0.0.5") is HostVerdict.ALLOWED
    assert _verdict("on,git.corp.example", "git.corp.example", address="10.0.0.5") is HostVerdict.ALLOWED
    assert _verdict("on,git.corp.example", "git.corp.example", 22, address="10.0.0.5") is HostVerdict.PRIVATE
    assert _verdict("on", "10.0.0.5") is HostVerdict.PRIVATE
    assert _verdict("10.0.0.5", "10.0.0.5") is HostVerdict.ALLOWED


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "0.0.0.0"])
def test_no_rule_lets_a_name_lead_to_this_machine(address: str) -> None:
    for state in ("on", "rebound.example", "on,rebound.example", "*.rebound.example,rebound.example"):
        assert _verdict(state, "rebound.example", address=address) is HostVerdict.FORBIDDEN


def test_known_names_of_this_machine_are_forbidden_before_they_are_resolved() -> None:
    assert _verdict("on", "localhost") is HostVerdict.FORBIDDEN
    assert _verdict("on", "app.localhost") is HostVerdict.FORBIDDEN
    assert _verdict("on", "metadata.google.internal") is HostVerdict.FORBIDDEN


def test_modes_have_the_words_of_the_settings() -> None:
    assert [NetworkState.parse(text).mode for text in ("off", "on", "a.example", "on,a.example")] == [
        "off",
        "on",
        "allow-list",
        "on",
    ]


def test_allowing_more_keeps_the_order_and_no_duplicates() -> None:
    state = NetworkState.parse("b.example,a.example,b.example")

    assert str(state.allowing(NetworkRule.parse("c.example"), NetworkRule.parse("a.example"))) == (
        "b.example,a.example,c.example"
    )


@given(_STATES)
def test_a_state_survives_being_written(state: NetworkState) -> None:
    assert NetworkState.parse(str(state)) == state


@given(_HOSTS, st.integers(1, 65535))
def test_the_exact_rule_of_a_destination_matches_it(host: str, port: int) -> None:
    destination = Destination(host, port)

    rule = NetworkRule.exactly(destination)

    assert rule.matches(destination)
    if not is_forbidden(host):
        assert NetworkRule.parse(str(rule)) == rule


@given(_RULES, _HOSTS, st.integers(1, 65535))
def test_a_rule_matches_no_other_domain(rule: NetworkRule, host: str, port: int) -> None:
    if rule.matches(Destination(host, port)):
        assert host == rule.host or host.endswith("." + rule.host)


@given(st.text())
def test_any_text_is_a_state_or_a_clear_error(text: str) -> None:
    try:
        state = NetworkState.parse(text)
    except NetworkRuleError:
        return
    assert NetworkState.parse(str(state)) == state


@given(_STATES, _HOSTS, st.integers(1, 65535), st.ip_addresses().map(str))
def test_an_address_never_allows_what_its_name_does_not(
    state: NetworkState, host: str, port: int, address: str
) -> None:
    destination = Destination(host, port)

    if state.judge(destination) is not HostVerdict.ALLOWED:
        assert state.judge(destination, address) is not HostVerdict.ALLOWED


@pytest.mark.parametrize(
    ("host", "address", "verdict"),
    [
        ("pypi.org", "10.1.2.3", HostVerdict.ALLOWED),
        ("pypi.org", "127.0.0.1", HostVerdict.FORBIDDEN),
        ("pypi.org", "169.254.169.254", HostVerdict.FORBIDDEN),
        ("a.example", "10.1.2.3", HostVerdict.PRIVATE),
    ],
)
def test_a_yes_to_a_question_permits_private_addresses_of_registries_alone(
    host: str, address: str, verdict: HostVerdict
) -> None:
    state = NetworkState().granting(NetworkRule.parse(host))

    assert state.judge(Destination(host, 443), address) is verdict


def test_a_yes_to_a_wide_name_permits_no_private_address_below_it() -> None:
    state = NetworkState().granting(NetworkRule.parse("*.pythonhosted.org"))

    assert state.judge(Destination("files.pythonhosted.org", 443), "10.1.2.3") is HostVerdict.PRIVATE


def test_registries_that_the_user_permitted_are_named_as_groups() -> None:
    hosts = (NetworkRule.parse("pypi.org"), NetworkRule.parse("files.pythonhosted.org"))

    assert str(NetworkState().granting(*hosts)) == "registries/python"
    assert str(NetworkState.parse("registries/python").granting(*hosts)) == "registries/python"
