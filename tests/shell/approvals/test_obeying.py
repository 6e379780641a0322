from kaa.hands.executed_names import MADE_BY_TOOLS
from kaa.hands.policy import PROTECTED_NAMES
from kaa.shell.approvals.obeying import obeying
from tests.support.tables import each


@each(
    ("path", "told"),
    [
        ("/p/.envrc", "direnv executes or obeys (.envrc)"),
        ("/p/web/.ENVRC", "direnv executes or obeys (.envrc)"),
        (
            "/p/.vscode/tasks.json",
            "VS Code executes or obeys (.vscode: tasks that run when a folder opens, settings that name programs)",
        ),
        ("/p/.git/hooks/pre-commit", "git executes or obeys (.git)"),
        ("/p/.config/mise/config.toml", "mise executes or obeys (.config/mise: configuration)"),
        ("/p/.mise.dev.toml", "mise executes or obeys (.mise.*.toml: MISE_ENV)"),
        ("/p/.envrc.private", "direnv-stdlib executes or obeys (.envrc.private: source_env_if_exists)"),
        ("/p/a.code-workspace", "VS Code executes or obeys (*.code-workspace: multi-root workspaces)"),
    ],
)
def test_a_question_names_the_program(path: str, told: str) -> None:
    assert obeying(path) == told


def test_every_protected_name_has_its_program() -> None:
    unknown = "other programs execute or obey"

    assert [name for name in (*PROTECTED_NAMES, *MADE_BY_TOOLS) if obeying(f"/p/{name}").startswith(unknown)] == []
