import pytest

from kaa.frontends.interactive.event_presenter import network_in_short
from kaa.frontends.interactive.footer import Footer, FooterState, short_count
from kaa.tui.context import Context, Size
from kaa.tui.keymap import Keymap
from kaa.tui.palette import Palette, Theme
from kaa.tui.width import cells, plain
from tests.support.tables import each

FULL = FooterState(
    directory="~/projects/kaa",
    branch="main",
    model="anthropic/claude",
    thinking="high",
    tokens_in=12_345,
    tokens_out=678,
    cache_read=40_000,
    cache_hits=0.764,
    cost=0.1234,
    context_used=50_000,
    context_window=200_000,
    permissions="auto",
    network="off",
    jobs=1,
    ports=(3000,),
)


def context() -> Context:
    styles = {"dim": "2", "warning": "33", "error": "31", "accent": "36"}
    return Context(Palette(Theme("plain", styles)), Keymap({}), Size())


def shown(state: FooterState, width: int) -> list[str]:
    return [plain(line) for line in Footer(context(), state).render(width)]


def test_says_where_we_are_what_was_used_and_who_answers() -> None:
    first, second = shown(FULL, 120)

    assert first.startswith("~/projects/kaa (main)")
    assert first.endswith("auto • net off • 1 job • port 3000")
    assert second.startswith("in 12k out 678 • cache 40k 76% • $0.123 • context 25% of 200k")
    assert second.endswith("anthropic/claude • thinking high")


def test_what_matters_least_goes_first_and_nothing_is_cut_in_two() -> None:
    state = FULL._replace(session_name="lunch", turn_tokens=5)

    def words(width: int) -> list[str]:
        return [" ".join(line.split()) for line in shown(state, width)]

    assert words(120)[1].startswith("in 12k out 678 (turn 5) • cache 40k 76% • $0.123 • context")
    assert words(80) == [
        "~/projects/kaa (main) • lunch auto • net off • 1 job • port 3000",
        "$0.123 • context 25% of 200k anthropic/claude • thinking high",
    ]
    assert words(60) == [
        "~/projects/kaa (main) auto • net off • 1 job • port 3000",
        "context 25% of 200k anthropic/claude • thinking high",
    ]
    assert words(40) == ["~/projects/kaa auto • net off • 1 job", "context 25% of 200k anthropic/claude"]
    assert words(25) == ["auto • net off • 1 job", "context 25% of 200k"]
    assert words(15) == ["auto • 1 job", "context 25% of"]


@each("width", [1, 5, 20, 40, 79, 200])
def test_fits_every_width(width: int) -> None:
    assert all(cells(line) <= width for line in shown(FULL, width))


def test_names_that_would_break_its_lines_do_not() -> None:
    hostile = "a\nb\tc\x1b]2;x\x07\u202e"
    state = FULL._replace(directory=hostile, branch=hostile, session_name=hostile, model=hostile, network=hostile)

    lines = shown(state, 400)

    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)
    assert lines[0].count(r"a b c\x1b]2;x\x07\u202e") == 4


def test_unknown_prices_are_not_shown_as_nothing() -> None:
    assert "$?" in shown(FULL._replace(cost=None), 120)[1]


def test_a_full_context_and_a_missing_sandbox_stand_out() -> None:
    lines = Footer(context(), FULL._replace(context_used=190_000, unsafe="no sandbox")).render(120)

    assert "\x1b[31mno sandbox" in lines[0]
    assert "\x1b[31mcontext 95%" in lines[1]


def test_names_from_the_project_cannot_command_the_terminal() -> None:
    (first, _) = shown(FULL._replace(branch="\x1b]0;owned\x07", directory="a\u202eb"), 120)

    assert "\x1b" not in first
    assert "\\x1b]0;owned" in first


def test_nothing_new_is_not_painted_again() -> None:
    footer = Footer(context(), FULL)
    lines = footer.render(80)

    footer.state = FULL._replace()

    assert footer.render(80) is lines
    footer.state = FULL._replace(tokens_out=1)
    assert footer.render(80) is not lines


@each(
    ("count", "text"), [(0, "0"), (999, "999"), (1000, "1.0k"), (9_949, "9.9k"), (12_345, "12k"), (1_250_000, "1.2M")]
)
def test_tokens_in_few_characters(count: int, text: str) -> None:
    assert short_count(count) == text


def test_checkpoints_that_are_off_stand_out_with_the_reason_where_there_is_room() -> None:
    state = FULL._replace(checkpoints_problem="No space left on device")

    assert shown(state, 160)[0].endswith("port 3000 • checkpoints off: No space left on device")
    assert shown(state, 80)[0].endswith("port 3000 • checkpoints off")
    assert "\x1b[33mcheckpoints off" in Footer(context(), state).render(160)[0]


def test_several_jobs_and_ports_are_counted() -> None:
    assert shown(FULL._replace(jobs=0, ports=(), beside=2), 80)[0].endswith("auto • net off • 2 in background")
    state = FULL._replace(jobs=3, ports=(3000, 5173, 8080))

    assert shown(state, 80)[0].endswith("auto • net off • 3 jobs • ports 3000, 5173 +1")


def test_the_mode_is_the_last_to_go() -> None:
    state = FULL._replace(permissions="read-only", jobs=12, ports=(3000,))

    assert all("read-only" in shown(state, width)[0] for width in range(9, 120))


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ("off", "off"),
        ("pypi.org", "pypi.org"),
        ("pypi.org,files.pythonhosted.org", "2 hosts"),
        ("registries/python,example.com", "registries/python,example.com"),
    ],
)
def test_hosts_are_counted(network: str, expected: str) -> None:
    assert network_in_short(network) == expected
