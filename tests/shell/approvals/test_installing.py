from kaa.shell.approvals.installing import place_of_installed
from tests.shell.approvals.test_gate import Stage, results
from tests.support.tables import each


@each(
    ("command", "named"),
    [
        ("npm link", "npm link"),
        ("cd tool && npm  i x --global", "npm i x --global"),
        ("cargo install ripgrep", "cargo install"),
        ("uv tool install ruff", "uv tool install"),
        ("npm install x", ""),
        ("npm install x; ls -g", ""),
        ("pip install x", ""),
        ("go build ./...", ""),
    ],
)
def test_what_installs_for_the_user_is_known(command: str, named: str) -> None:
    place = place_of_installed(command)

    assert place.startswith(f"\n[sandbox] `{named}` installs for the commands of this project only" if named else "")
    assert bool(place) == bool(named)


def test_the_result_says_where_an_installed_program_went() -> None:
    inside, outside = Stage(policy="auto"), Stage(policy="auto", allow=["outside bash: npm link"])

    of_inside, of_outside = (results(stage.commands("npm link"))[0].text for stage in (inside, outside))

    assert "installs for the commands of this project only" in of_inside
    assert "installs for" not in of_outside
