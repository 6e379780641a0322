"""Secrets do not survive redaction, and ordinary text does."""

import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kaa.llm.redaction import MARKER, Redactor
from tests.support.tables import each

_KEY = "sk-" + "proj-" + "aB3" * 12
_PEM_BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"


@each(
    "secret",
    [
        "sk-ant-api03-" + "x7" * 20,
        _KEY,
        "AIza" + "Sy0" * 11 + "ab",
        "ghp_" + "a1" * 18,
        "gho_" + "Z9" * 18,
        "github_pat_" + "11ABC_def" * 5,
        "AKIA" + "ABCD1234EFGH5678",
        "xoxb-" + "1234567890-abcdef",
        "hf_" + "q" * 34,
        "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTYifQ.c2lnbmF0dXJl",
    ],
)
def test_what_looks_like_a_key_is_removed(secret: str) -> None:
    redactor = Redactor()

    redacted = redactor.redact(f"export KEY={secret}\nnext line")

    assert redacted == f"export KEY={MARKER}\nnext line"
    assert redactor.count == 1


def test_only_the_token_of_a_bearer_header_is_removed() -> None:
    assert Redactor().redact("Authorization: Bearer abcdefghijklmnop==; x") == f"Authorization: Bearer {MARKER}; x"


def test_only_the_password_of_a_url_is_removed() -> None:
    assert Redactor().redact("git clone https://me:hunter2@host/x.git") == f"git clone https://me:{MARKER}@host/x.git"


@each("line_end", ["\n", "\r\n", "\\n", "\\\\n"])
@each("complete", [True, False])
def test_a_private_key_is_removed_whole(line_end: str, complete: bool) -> None:
    kind = "RSA PRIVATE" + " KEY"
    lines = [f"-----BEGIN {kind}-----", _PEM_BODY, _PEM_BODY[:20] + "=="]
    pem = line_end.join([*lines, f"-----END {kind}-----"] if complete else lines)

    redacted = Redactor().redact(f"before <{pem}> after")

    assert redacted == f"before <{MARKER}> after"


@each(
    "text",
    [
        "class='sk-estimator-doc-link-wrapper-of-something'",
        "the risk-assessment-of-2024-and-2025-and-2026 document",
        "https://example.org:8080/a@b and http://[::1]:80/",
        "-----BEGIN CERTIFICATE-----\n" + _PEM_BODY,
        "the bearer of good news",
        "eyJ is how base64 of JSON begins",
        "0123456789abcdef0123456789abcdef01234567",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    redactor = Redactor()

    assert redactor.redact(text) == text
    assert redactor.count == 0


def test_touching_and_overlapping_secrets_leave_no_remnant() -> None:
    redactor = Redactor(["abcdefgh", "efghijkl"])

    assert redactor.redact("(abcdefghijkl)(abcdefghabcdefgh)") == f"({MARKER})({MARKER})"


def test_placeholder_keys_of_local_servers_are_not_looked_for() -> None:
    assert Redactor(["none", "dummy"]).redact("none of the dummy values") == "none of the dummy values"


def test_redacting_twice_changes_nothing() -> None:
    redactor = Redactor(["my-known-secret"])
    once = redactor.redact(f"Bearer {_KEY} my-known-secret https://a:pass@b")

    assert Redactor(["my-known-secret"]).redact(once) == once


def test_secrets_are_not_shown() -> None:
    assert "my-known-secret" not in repr(Redactor(["my-known-secret"]))


_secret = st.text(min_size=8, max_size=20).filter(lambda s: s not in MARKER)


@given(st.lists(_secret, min_size=1, max_size=3), st.text(), st.text())
def test_no_known_secret_survives(secrets: list[str], before: str, after: str) -> None:
    assume(not any(re.search(r"[\[\]]|redact", secret) for secret in secrets))
    text = before + after.join(secrets) + after

    redacted = Redactor(secrets).redact(text)

    assert not any(secret in redacted for secret in secrets)


@given(_secret, st.booleans(), st.booleans())
def test_no_escaped_secret_survives(secret: str, ascii_only: bool, twice: bool) -> None:
    escaped = json.dumps({"k": f"<{secret}>"}, ensure_ascii=ascii_only)
    if twice:
        escaped = json.dumps({"arguments": escaped}, ensure_ascii=ascii_only)

    redacted = Redactor([secret]).redact(escaped)

    assert MARKER in redacted
    assert json.dumps(secret, ensure_ascii=ascii_only)[1:-1] not in redacted.replace(MARKER, "\0")


@given(st.text(), st.text(min_size=8))
def test_text_around_a_secret_stays(before: str, after: str) -> None:
    secret = "K3y-that-nobody-writes"
    assume(not Redactor().spans(before + after))

    redacted = Redactor([secret]).redact(f"{before} {secret} {after}")

    assert redacted.startswith(before)
    assert redacted.endswith(after)


_LONG = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4"
_AWS_SECRET = "wJalrXUtnFEMI/K7MDENG+" + "bPxRfiCYa1b2c3d4e5"


@each(
    "key",
    [
        *(f"gsk_{_LONG}", f"xai-{_LONG}", f"csk-{_LONG}", f"vck_{_LONG}", f"fw_{_LONG}", f"nvapi-{_LONG}"),
        *(f"ABSK{_LONG}{_LONG}==", f"tgp_v1_{_LONG}", f"pplx-{_LONG}xx", f"tp-{_LONG}{_LONG}", f"AQ.{_LONG}abc"),
        *(f"SG.{_LONG[:22]}.{_LONG}{_LONG[:15]}", f"dop_v1_{'0123456789abcdef' * 4}", f"lin_api_{_LONG}"),
        *(
            f"shpat_{'0123456789abcdef' * 2}",
            f"sntrys_{_LONG}_{_LONG}",
            f"AGE-SECRET-KEY-1{_LONG.upper()}{_LONG.upper()}",
        ),
        *(f"{'0123456789abcdef' * 2}.{_LONG[:16]}", f"LLM|123456789|{_LONG}", f"sk-or-v1-{_LONG}"),
    ],
)
def test_keys_of_the_providers_are_removed(key: str) -> None:
    assert Redactor().redact(f"it says {key}\n") == f"it says {MARKER}\n"


@each(
    ("text", "secret"),
    [
        ("export DB_PASSWORD=hunter2", "hunter2"),
        ("PASSWORD=correct-horse", "correct-horse"),
        ("MY_API_KEY='letmein'", "letmein"),
        ("X_API_KEY=abcd\nnext", "abcd"),
        ("GITHUB_TOKEN=0123456789", "0123456789"),
        ("password: 'hunter2xx'", "hunter2xx"),
        ('{"apiKey": "abc12345"}', "abc12345"),
        ('{\\"client_secret\\": \\"abc12345\\"}', "abc12345"),
        (f"https://x.example/?api_key={_LONG}&b=1", _LONG),
        (f"api_key = {_LONG}", _LONG),
        (f"aws_secret_access_key = {_AWS_SECRET}", _AWS_SECRET),
        (f"AWS_SECRET_ACCESS_KEY={_AWS_SECRET}", _AWS_SECRET),
        (f'"SecretAccessKey": "{_AWS_SECRET}"', _AWS_SECRET),
        ("//registry.npmjs.org/:_authToken=abc-def-0123", "abc-def-0123"),
        ("//npm.example/:_auth=bWU6aHVudGVyMg==", "bWU6aHVudGVyMg=="),
        ("DB_PASS=hunter2", "hunter2"),
        ("export GITHUB_PAT=hunter2", "hunter2"),
        (f"SECRET_KEY_BASE: {_LONG}", _LONG),
        (f"SECRET_KEY_BASE={_LONG}", _LONG),
        ("Authorization: Basic bWU6aHVudGVyMg==", "bWU6aHVudGVyMg=="),
        ("curl -H 'authorization: basic bWU6aHVudGVyMg=='", "bWU6aHVudGVyMg=="),
        ('{"Authorization": "Basic bWU6aHVudGVyMg"}', "bWU6aHVudGVyMg"),
        ('{\\"Authorization\\": \\"Basic bWU6aHVudGVyMg\\"}', "bWU6aHVudGVyMg"),
        ("machine api.example login me password hunter2\n", "hunter2"),
        ("machine api.example\n\tlogin me\n\tpassword hunter2\n", "hunter2"),
        ("machine api.example password hunter2 login me", "hunter2"),
        ("default login me account my password hunter2", "hunter2"),
        (f"AccountName=me;AccountKey={_LONG}{_LONG}==;EndpointSuffix=x", f"{_LONG}{_LONG}=="),
    ],
)
def test_values_of_names_for_secrets_are_removed(text: str, secret: str) -> None:
    assert Redactor().redact(text) == text.replace(secret, MARKER)


def test_both_halves_of_an_aws_key_are_removed() -> None:
    text = f"AKIA{'ABCD1234EFGH5678'},{_AWS_SECRET}\n"

    assert Redactor().redact(text) == f"{MARKER},{MARKER}\n"


@each(
    "code",
    [
        "password = get_password()",
        "PASSWORD=os.environ['PASSWORD']",
        "API_KEY=$OTHER_KEY",
        "API_KEY=${OTHER_KEY:-none}",
        "TOKEN=$(cat file)",
        "PASSWORD=<your password>",
        "max_tokens=4096, api_key=api_key, token=token",
        "def login(user: str, password: str | None = None) -> Token: ...",
        "password: Optional[str]",
        'password = input("Password: ")',
        'token = "start"',
        "secret = settings.secret_key_of_version_2.value",
        "API_KEY=",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "if token == expected_token_1: pass",
        "Authorization: Basic $CREDENTIALS",
        "the machine asks for a password again",
        "COMPASS=north, PATH=/usr/bin, 3 tests PASSED",
    ],
)
def test_ordinary_code_about_secrets_stays(code: str) -> None:
    assert Redactor().redact(code) == code


@given(
    name=st.sampled_from(["PASSWORD", "DB_PASSWORD", "OPENAI_API_KEY", "SECRET", "MY_TOKEN"]),
    value=st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=4, max_size=60),
    before=st.sampled_from(["", "export ", "\n", "-e ", "env "]),
)
def test_whatever_a_variable_for_secrets_holds_is_removed(name: str, value: str, before: str) -> None:
    assert Redactor().redact(f"{before}{name}={value}\nnext") == f"{before}{name}={MARKER}\nnext"


@pytest.mark.parametrize(
    "piece",
    [
        "PASSWORD=",
        "password='",
        "api_key=a",
        "AKIA1234567890123456,",
        "sk-",
        "sk-a",
        "secret",
        "TOKEN=a(",
        "://:",
        "eyJaaaaaaaa",
        "SG.aaaaaaaaaaaaaaaaaaaa",
        "machine a login a ",
        "machine password",
        "authorization: basic ",
        "sntrys_",
        "AGE-SECRET-KEY-",
        "_authToken=",
        "a",
    ],
)
def test_hostile_text_is_gone_through_in_one_pass(piece: str) -> None:
    """It takes seconds where the time grows with the square of the length: the suite would hang on this."""
    Redactor().redact(piece * (300_000 // len(piece)))
