"""Keys and logins as a person comes to them: on the command line, and within the interactive terminal."""

import json
import re
import threading
import urllib.request
from collections.abc import Iterator

import pytest

from tests.end_to_end.seat import Seat, enter
from tests.support.key_server import KeyServer
from tests.support.model_server import MODEL_ID, say
from tests.support.oauth_server import USER_CODE, OAuthServer, refusal
from tests.support.program import Program
from tests.support.screen import Screen
from tests.support.warm_start import COMMAND

KEY = "sk-$right!key"


@pytest.fixture
def keys() -> Iterator[KeyServer]:
    with KeyServer(KEY) as server:
        yield server


@pytest.fixture
def oauth() -> Iterator[OAuthServer]:
    with OAuthServer() as server:
        yield server


def lead_to(seat: Seat, url: str, **more: object) -> None:
    """A provider `lab` that needs a key or a login."""
    provider = {"baseUrl": f"{url}/v1", "models": [{"id": MODEL_ID}], **more}
    (seat.home / "models.json").write_text(json.dumps({"providers": {"lab": provider}}))


def stored(seat: Seat) -> dict[str, dict[str, object]]:
    content: dict[str, dict[str, object]] = json.loads((seat.home / "auth.json").read_text())
    return content


def at_terminal(seat: Seat, *arguments: str) -> Program:
    return Program.start([COMMAND, *arguments], env=seat.environ, cwd=seat.project, screen=Screen(140, 30))


def address_on(program: Program, server: OAuthServer) -> str:
    """The address that somebody is to open."""
    shown = re.sub(r"[\s│|]+", "", program.screen.text())
    found = re.search(rf"{re.escape(server.url)}/authorize\?[\w=&%.+-]*?code_challenge_method=S256", shown)
    assert found, program.screen.text()
    return found[0]


def browse(address: str) -> None:
    """Go there from elsewhere."""

    def visit() -> None:
        with urllib.request.urlopen(address):
            pass

    threading.Thread(target=visit).start()


def test_a_key_is_asked_for_unseen_and_kept_when_it_works(seat: Seat, keys: KeyServer) -> None:
    lead_to(seat, keys.url, apiKey="$LAB_KEY")

    with at_terminal(seat, "login", "lab") as program:
        program.wait_for("API key of lab")
        enter(program, KEY)
        program.wait_for("is saved and works")
        assert KEY not in program.screen.text()

    assert stored(seat) == {"lab": {"type": "api_key", "key": "sk-$$right!key"}}
    assert (seat.home / "auth.json").stat().st_mode & 0o777 == 0o600


def test_a_wrong_key_is_not_kept(seat: Seat, keys: KeyServer) -> None:
    lead_to(seat, keys.url, apiKey="$LAB_KEY")

    done = seat.run("login", "lab", stdin="sk-wrong\n")

    assert done.code == 1
    assert "was not kept" in done.err
    assert "sk-wrong" not in done.out + done.err
    assert not (seat.home / "auth.json").exists()


def test_a_key_can_be_piped_in_and_is_checked_later(seat: Seat, keys: KeyServer) -> None:
    lead_to(seat, keys.url, apiKey="$LAB_KEY")

    assert seat.run("login", "lab", stdin=f"{KEY}\n").code == 0
    works = seat.run("auth", "check", "--json")
    keys.key = "sk-another"
    refused = seat.run("auth", "check")

    assert works.code == 0
    assert [(one["provider"], one["source"], one["state"]) for one in json.loads(works.out)] == [
        ("lab", "auth.json", "works")
    ]
    assert refused.code == 1
    assert "refused" in refused.out
    assert KEY not in works.out + refused.out + refused.err


def test_each_is_told_what_is_wrong_with_it(seat: Seat, keys: KeyServer, oauth: OAuthServer) -> None:
    server: dict[str, object] = {"baseUrl": f"{keys.url}/v1", "models": [{"id": MODEL_ID}]}
    providers = {name: server | {"oauth": oauth.config()} for name in ("ended", "unset", "broken")}
    providers["local"] = server
    (seat.home / "models.json").write_text(json.dumps({"providers": providers}))
    ended = {"type": "oauth", "access": "a", "refresh": "revoked", "expires": 1}
    unset = {"type": "api_key", "key": "$NOT_SET"}
    broken = {"type": "api_key", "key": "!exit 3"}
    (seat.home / "auth.json").write_text(json.dumps({"ended": ended, "unset": unset, "broken": broken}))
    (seat.home / "auth.json").chmod(0o600)

    done = seat.run("auth", "check", "--json")

    assert done.code == 1
    found = {one["provider"]: (one["state"], one["said"]) for one in json.loads(done.out)}
    assert {name: state for name, (state, _) in found.items()} == {
        "ended": "expired",
        "unset": "unreadable",
        "broken": "unreadable",
    }
    assert "kaa login ended" in found["ended"][1]
    assert "NOT_SET" in found["unset"][1]
    assert "revoked" not in done.out


def test_a_mistake_in_the_description_of_a_login_is_told(seat: Seat) -> None:
    lead_to(seat, "https://lab.example", oauth={"clientId": "x", "issuer": "http://login.example"})

    done = seat.run("login", "lab", "--browser")

    assert done.code == 2
    assert "providers.lab.oauth" in done.err
    assert "https://" in done.err
    assert "providers.lab.oauth" in seat.run("auth", "check").err


def test_a_file_others_can_read_is_told(seat: Seat) -> None:
    (seat.home / "auth.json").write_text("{}")
    (seat.home / "auth.json").chmod(0o644)

    done = seat.run("auth", "check")

    assert done.code == 1
    assert "chmod 600" in done.out


def test_a_key_that_cannot_be_checked_is_kept_on_request(seat: Seat) -> None:
    lead_to(seat, "http://127.0.0.1:1", apiKey="$LAB_KEY")

    with at_terminal(seat, "login", "lab") as program:
        program.wait_for("API key of lab")
        enter(program, KEY)
        program.wait_for("Keep it anyway?")
        enter(program, "n")
        program.wait_for("not kept")
    assert not (seat.home / "auth.json").exists()

    assert seat.run("login", "lab", stdin=KEY).code == 0
    assert "lab" in stored(seat)


def test_logging_out_forgets_and_says_what_is_left(seat: Seat, keys: KeyServer) -> None:
    lead_to(seat, keys.url, apiKey="$LAB_KEY")
    seat.run("login", "lab", stdin=KEY)

    done, again = seat.run("logout"), seat.run("logout", "lab")

    assert (done.code, again.code) == (0, 1)
    assert "models.json" in done.err
    assert stored(seat) == {}


@pytest.mark.parametrize("arguments", [("login",), ("login", "lab"), ("logout",)])
def test_without_a_terminal_it_says_what_is_missing(seat: Seat, keys: KeyServer, arguments: tuple[str, ...]) -> None:
    lead_to(seat, keys.url, apiKey="$LAB_KEY")

    done = seat.run(*arguments)

    assert done.code == 2
    assert done.err.startswith("kaa: ")


def test_a_browser_login_on_the_command_line(seat: Seat, oauth: OAuthServer) -> None:
    lead_to(seat, seat.model.url, oauth=oauth.config())

    with at_terminal(seat, "login", "lab", "--browser") as program:
        program.wait_for("paste the address")
        browse(oauth.agree(address_on(program, oauth)))
        program.wait_for("You are logged in to lab")

    assert (stored(seat)["lab"]["access"], stored(seat)["lab"]["refresh"]) == ("access-1", "refresh-1")


def test_the_address_can_be_pasted_on_the_command_line(seat: Seat, oauth: OAuthServer) -> None:
    lead_to(seat, seat.model.url, oauth=oauth.config())

    with at_terminal(seat, "login", "lab", "--browser") as program:
        program.wait_for("paste the address")
        enter(program, "http://127.0.0.1:1/?code=x&state=y")
        program.wait_for("another login")
        enter(program, oauth.agree(address_on(program, oauth)))
        program.wait_for("You are logged in to lab")


def test_nobody_is_sent_to_the_browser_for_nothing(seat: Seat, oauth: OAuthServer) -> None:
    lead_to(seat, seat.model.url, oauth=oauth.config())
    (seat.home / "auth.json").write_text("{}")
    (seat.home / "auth.json").chmod(0o644)

    done = seat.run("login", "lab", "--browser")

    assert done.code == 1
    assert "chmod 600" in done.err
    assert oauth.url not in done.err


def test_a_slip_in_the_name_of_a_provider_is_told_in_one_line(seat: Seat) -> None:
    done = seat.run("login", "antropic")

    assert done.code == 2
    assert "did you mean anthropic" in done.err
    assert len(done.err.splitlines()) == 1


def test_an_aborted_login_keeps_nothing(seat: Seat, oauth: OAuthServer) -> None:
    lead_to(seat, seat.model.url, oauth=oauth.config())

    with at_terminal(seat, "login", "lab", "--browser") as program:
        program.wait_for("paste the address")
        program.press("ctrl+c")
        assert program.wait_for_end() == 130

    assert not (seat.home / "auth.json").exists()


def test_a_login_with_a_code_is_used_and_renewed(seat: Seat, oauth: OAuthServer) -> None:
    lead_to(seat, seat.model.url, oauth=oauth.config())
    oauth.instead["/token"] = [refusal("authorization_pending")]
    oauth.lifetime = 1  # has to be renewed for the first request
    seat.model.begin([say("Hello.")])

    logged_in = seat.run("login", "lab", "--device")
    asked = seat.run("-p", "hello", "--sandbox", "full-access")

    assert USER_CODE in logged_in.err
    assert asked.out.strip() == "Hello."
    assert seat.model.requests[0].header("authorization") == "Bearer access-2"
    assert stored(seat)["lab"]["refresh"] == "refresh-2"


def test_a_newcomer_logs_in_and_goes_on(seat: Seat, keys: KeyServer) -> None:
    lead_to(seat, keys.url, apiKey="$LAB_KEY")

    with seat.start() as program:
        program.wait_for("How to get going")
        enter(program, "/login lab")
        program.wait_for("API key:")
        enter(program, "sk-wrong")
        program.wait_for("refused")
        program.wait_for("API key:")
        enter(program, KEY)
        program.wait_for(f"lab/{MODEL_ID}")
        assert KEY not in program.screen.text()

    assert stored(seat) == {"lab": {"type": "api_key", "key": "sk-$$right!key"}}


def test_a_provider_is_found_by_what_its_models_are_called(seat: Seat) -> None:
    with seat.open() as program:
        enter(program, "/login claude")
        program.wait_for("anthropic")
        program.press("enter")
        program.wait_for("Log in to anthropic")

    assert "did you mean xai?" in seat.run("login", "Grok", stdin="sk-x\n").err


def test_a_newcomer_with_a_small_terminal_sees_what_is_missing(seat: Seat) -> None:
    (seat.home / "models.json").unlink()

    with seat.start(screen=Screen(50, 15)) as program:
        program.wait_for("Any other server")
        program.wait_for("there is no model to talk to")


def test_the_open_conversation_uses_a_new_key_at_once(seat: Seat) -> None:
    # Its list of models is for everybody, so it is asked for a few words.
    with seat.open(script=[say("Yes."), say("Hello.")]) as program:
        enter(program, "/login test")
        program.wait_for("API key:")
        enter(program, "sk-new")
        program.wait_for("and works")
        enter(program, "hello")
        program.wait_for("Hello.")
        enter(program, "/logout test")
        program.wait_for("was removed. There is still one in models.json")

    assert [request.header("authorization") for request in seat.model.requests] == ["Bearer sk-new"] * 2
    assert stored(seat) == {}


def test_a_login_in_the_browser_from_within(seat: Seat, oauth: OAuthServer) -> None:
    lead_to(seat, seat.model.url, oauth=oauth.config())

    with seat.start(script=[say("Hello.")], screen=Screen(140, 40)) as program:
        program.wait_for("How to get going")
        enter(program, "/login")
        program.wait_for("Log in")
        program.type("lab")
        program.press("enter")
        program.wait_for("in the browser")
        program.press("enter")
        program.wait_for("code_challenge_method=S256")
        browse(oauth.agree(address_on(program, oauth)))
        program.wait_for(f"lab/{MODEL_ID}")
        enter(program, "hello")
        program.wait_for("Hello.")

    assert seat.model.requests[0].header("authorization") == "Bearer access-1"


def test_a_login_with_a_code_from_within_and_escape(seat: Seat, oauth: OAuthServer) -> None:
    lead_to(seat, seat.model.url, oauth=oauth.config(authorizationUrl=None))
    oauth.instead["/token"] = [refusal("authorization_pending") for _ in range(1000)]

    with seat.start(screen=Screen(140, 40)) as program:
        program.wait_for("How to get going")
        enter(program, "/login lab")
        program.wait_for(USER_CODE)
        program.press("escape")
        program.wait_for("aborted")
        program.wait_for("Ask kaa to do something")

    assert not (seat.home / "auth.json").exists()


def test_an_address_is_pasted_from_within(seat: Seat, oauth: OAuthServer) -> None:
    lead_to(seat, seat.model.url, oauth=oauth.config(deviceUrl=None))

    with seat.start(screen=Screen(140, 40)) as program:
        program.wait_for("How to get going")
        enter(program, "/login lab")
        program.wait_for("code_challenge_method=S256")
        right = oauth.agree(address_on(program, oauth))
        program.press("p")
        program.wait_for("Address or code:")
        program.paste("no code at all")
        program.press("enter")
        program.wait_for("copy the whole address")
        program.paste(right)
        program.press("enter")
        program.wait_for(f"lab/{MODEL_ID}")


def test_line_by_line_no_key_is_typed(seat: Seat) -> None:
    with seat.start("--plain") as program:
        program.wait_for(re.compile(r"^> ?$"))
        enter(program, "/login test")
        program.wait_for("would be shown")


def test_line_by_line_a_code_is_read_and_the_address_can_be_pasted(seat: Seat, oauth: OAuthServer) -> None:
    lead_to(seat, seat.model.url, oauth=oauth.config(deviceUrl=None))

    with seat.start("--plain", screen=Screen(200, 60)) as program:
        program.wait_for("How to get going")
        enter(program, "/login lab")
        program.wait_for("Paste the address")
        right = oauth.agree(address_on(program, oauth))
        enter(program, "p")
        program.wait_for("Address or code")
        enter(program, right)
        program.wait_for("You are logged in to lab")
