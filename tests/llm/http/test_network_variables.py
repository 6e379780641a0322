"""Proxies as the environment names them."""

from kaa.llm.http.network_variables import proxy_for, with_own
from tests.support.tables import each

_PROXY = "http://proxy.test:3128"


def test_each_scheme_has_its_variable_in_either_case() -> None:
    environment = {"http_proxy": "http://a.test", "HTTPS_PROXY": "http://b.test"}

    assert proxy_for("http", "model.test", 80, environment) == "http://a.test"
    assert proxy_for("https", "model.test", 443, environment) == "http://b.test"
    assert proxy_for("https", "model.test", 443, {"ALL_PROXY": "c.test:1"}) == "http://c.test:1"
    assert proxy_for("https", "model.test", 443, {"https_proxy": "  "}) is None
    assert proxy_for("https", "model.test", 443, {}) is None


@each("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "::1", "model.localhost"])
def test_this_machine_is_never_behind_a_proxy(host: str) -> None:
    assert proxy_for("http", host, 8000, {"http_proxy": _PROXY}) is None


@each(
    ("host", "exemptions", "direct"),
    [
        ("model.test", "*", True),
        ("model.test", "other.test, model.test", True),
        ("model.test", ".test", True),
        ("api.model.test", "model.test", True),
        ("api.model.test", "*.model.test", True),
        ("notmodel.test", "model.test", False),
        ("model.test", "model.test:443", True),
        ("model.test", "model.test:8443", False),
        ("MODEL.test.", "model.TEST", True),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("model.test", "10.0.0.0/8,nonsense/99", False),
        ("fd00::1", "[fd00::1]", True),
        ("model.test", "", False),
    ],
)
def test_exemptions(host: str, exemptions: str, direct: bool) -> None:
    proxy = proxy_for("https", host, 443, {"https_proxy": _PROXY, "no_proxy": exemptions})

    assert proxy == (None if direct else _PROXY)


def test_what_is_said_for_one_server_counts_before_the_environment_in_either_case() -> None:
    environment = {"https_proxy": "http://all.test", "HTTP_PROXY": "http://all.test", "no_proxy": "*", "PATH": "/bin"}
    own = with_own(environment, {"HTTPS_PROXY": "http://own.test", "NO_PROXY": ""})

    assert proxy_for("https", "model.test", 443, own) == "http://own.test"
    assert proxy_for("http", "model.test", 80, own) == "http://all.test"
    assert own["PATH"] == "/bin"
    assert with_own(environment, {}) is environment
