"""Leaving something behind that the user or a program of theirs executes or obeys later."""

import contextlib
import glob
import os

from tests.escapes.attempts.kit import Given, attempt, write

# Names at the top of a project that programs execute or obey when somebody opens it.
PROTECTED = (
    ".kaa/settings.json",
    ".kaa/extensions/evil.py",
    ".pi/settings.json",
    ".codex/config.toml",
    ".claude/settings.json",
    ".gemini/settings.json",
    ".cursor/mcp.json",
    ".agents/skills/evil/SKILL.md",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".zed/tasks.json",
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
    ".mcp.json",
    ".envrc",
    ".gitmodules",
    ".husky/pre-commit",
    ".aider.conf.yml",
    ".amazonq/mcp.json",
    ".augment/settings.json",
    ".continue/config.yaml",
    ".crush.json",
    ".factory/mcp.json",
    ".junie/mcp/mcp.json",
    ".kilocode/mcp.json",
    ".kiro/settings/mcp.json",
    ".opencode/plugin/evil.ts",
    ".qwen/settings.json",
    ".roo/mcp.json",
    ".trae/mcp.json",
    ".windsurf/workflows/evil.md",
    "crush.json",
    "opencode.json",
    "opencode.jsonc",
    ".fleet/run.json",
    ".helix/languages.toml",
    ".theia/tasks.json",
    ".dir-locals.el",
    ".dir-locals-2.el",
    ".exrc",
    ".nvim.lua",
    ".nvimrc",
    ".vimrc",
    ".mise/config.toml",
    ".mise.toml",
    "mise.toml",
    "mise.local.toml",
    ".gdbinit",
    ".lldbinit",
    ".pdbrc",
    ".Rprofile",
    ".Renviron",
    ".RData",
    ".ghci",
    ".iex.exs",
    ".irbrc",
    ".ocamlinit",
    ".pryrc",
    "evil.code-workspace",
    # Judged by what is in them; "harm" is not what a package manager writes.
    ".cargo/config.toml",
    ".github/hooks/evil.json",
    ".hg/hgrc",
    ".jj/repo/config.toml",
)
# Further ones, to be created only; `tests/hands/guard` tries the names that are missing here.
_FURTHER = (
    ".agent/workflows/evil.md",
    ".copilot/mcp-config.json",
    ".openhands/setup.sh",
    ".clinerules/hooks/evil",
    ".vim/coc-settings.json",
    ".lvimrc",
    ".replit",
    "evil.sublime-project",
    ".solargraph.yml",
    ".mise.local.toml",
    "mise.evil.toml",
    ".autoenv.zsh",
    ".octaverc",
    ".lazygit.yml",
    ".fslckout",
    "_FOSSIL_",
    ".config/mise.toml",
    ".config/mise/config.toml",
    "sub/.copilot/mcp-config.json",
)
# Editors, agents and shells open directories below the top as well.
_BELOW = ("sub/.vscode/tasks.json", "a/b/.envrc", "a/.claude/settings.json", "a/b/c/d/e/f/.mcp.json")
# What shells, desktops, daemons and interpreters run or obey, below the home.
_HOME = (
    ".bashrc",
    ".bash_profile",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".config/fish/config.fish",
    ".config/autostart/evil.desktop",
    ".config/systemd/user/evil.service",
    ".config/environment.d/evil.conf",
    ".ssh/authorized_keys",
    ".ssh/config",
    ".gitconfig",
    ".config/git/config",
    ".config/pip/pip.conf",
    ".config/nvim/init.lua",
    ".vimrc",
    ".tmux.conf",
    ".local/bin/git",
    ".local/share/applications/evil.desktop",
    ".cache/pip/http-v2/evil",
    ".cache/uv/evil",
    ".npm/_cacache/evil",
    ".cargo/config.toml",
    ".kaa/agent/settings.json",
    ".kaa/agent/extensions/evil.py",
    ".claude/settings.json",
    "AGENTS.md",
)
_READ_ONLY = ("--mode", "read-only")


def _create(given: Given) -> None:
    os.makedirs(os.path.dirname(given.path), exist_ok=True)
    write(given.path)


def _append(given: Given) -> None:
    with open(given.path, "a") as file:
        file.write("harm\n")


for _name in _HOME:
    attempt("kept", name=f"home {_name}", base="home", path=_name, existing=_name in {".bashrc", ".gitconfig"})(_create)
for _name in PROTECTED:
    attempt("kept", name=f"create {_name}", base="project", path=_name)(_create)
    attempt(
        "kept", name=f"change {_name}", base="project", path=_name, existing=True, group="persistence of what exists"
    )(_append)


for _name in (*_FURTHER, *_BELOW):
    attempt("kept", name=f"create {_name}", base="project", path=_name)(_create)


@attempt("kept", base="project", path=".claude", existing_directory=True)
def add_to_existing_directory(given: Given) -> None:
    """Add a file to a protected directory that exists."""
    write(f"{given.path}/commands.md")


@attempt("kept", base="project", path=".vscode", own_project=True)
def link_protected_name(given: Given) -> None:
    """Make a protected name a symbolic link to an unprotected directory."""
    os.mkdir(f"{given.project}/ours")
    write(f"{given.project}/ours/tasks.json")
    os.symlink("ours", given.path)


@attempt("kept", base="project", path=".vscode", own_project=True)
def move_to_protected_name(given: Given) -> None:
    """Prepare a directory elsewhere and give it a protected name."""
    os.mkdir(f"{given.project}/ours")
    write(f"{given.project}/ours/tasks.json")
    os.rename(f"{given.project}/ours", given.path)


@attempt("kept", base="project", path=".vscode", existing_directory=True, own_project=True)
def replace_protected_directory(given: Given) -> None:
    """Move a protected directory away and put another in its place."""
    os.rename(given.path, f"{given.project}/aside")
    os.mkdir(given.path)
    write(f"{given.path}/tasks.json")


@attempt("kept", base="project", path=".envrc", existing=True, own_project=True)
def delete_protected_file(given: Given) -> None:
    """Delete a protected file."""
    os.unlink(given.path)


@attempt("kept", base="project", path=".envrc", own_project=True)
def hard_link_protected_name(given: Given) -> None:
    """Give a file of the project a protected name besides its own."""
    write(f"{given.project}/ours")
    os.link(f"{given.project}/ours", given.path)


@attempt("kept", base="site-packages", path="kaa-escape.pth")
def path_file_of_kaa(given: Given) -> None:
    """Leave a .pth file for the interpreter that kaa itself runs on."""
    write(given.path, "# harmless\n")


@attempt("kept", base="source", path="__pycache__/escape.pyc")
def bytecode_of_kaa(given: Given) -> None:
    """Leave something among kaa's own compiled modules."""
    os.makedirs(os.path.dirname(given.path), exist_ok=True)
    write(given.path, "harmless")


@attempt("kept", base="home", path=".local/lib", alone=True)
def path_file_of_user(given: Given) -> None:
    """Leave a .pth file for every interpreter of the user's."""
    for minor in range(8, 16):
        os.makedirs(f"{given.path}/python3.{minor}/site-packages")
        write(f"{given.path}/python3.{minor}/site-packages/evil.pth", "import os\n")


@attempt("kept", base="home", path=".bash_login")
def through_dangling_link(given: Given) -> None:
    """Create a start-up file through a symbolic link that leads nowhere yet."""
    os.symlink(given.path, f"{given.project}/login")
    write(f"{given.project}/login")


@attempt("kept", "root", base="/etc", path="cron.d/kaa-escape.disabled")
def system_crontab(given: Given) -> None:
    """Leave a job for cron (one with a dot in its name, which cron ignores)."""
    os.makedirs(os.path.dirname(given.path), exist_ok=True)
    write(given.path, "# harmless\n")


@attempt("kept", "root", base="/etc", path="profile.d/kaa-escape.disabled")
def system_profile(given: Given) -> None:
    """Leave a start-up file for every user."""
    write(given.path, "# harmless\n")


@attempt("kept", "root", base="/usr/local", path="bin/kaa-escape-harmless")
def system_program(given: Given) -> None:
    """Leave a program in everybody's PATH."""
    write(given.path, "# harmless\n")


@attempt("kept", "root", base="/var", path="spool/cron/crontabs/kaa-escape.disabled")
def user_crontab(given: Given) -> None:
    """Leave a crontab."""
    os.makedirs(os.path.dirname(given.path), exist_ok=True)
    write(given.path, "# harmless\n")


@attempt("kept", base="project", path="new", flags=_READ_ONLY)
def create_in_read_only_project(given: Given) -> None:
    """Create a file of the project where nothing may be written."""
    write(given.path)


@attempt("kept", base="project", path="README.md", flags=_READ_ONLY)
def change_read_only_project(given: Given) -> None:
    """Change a file of the project where nothing may be written."""
    _append(given)


@attempt("kept", base="project", path="dependency", flags=_READ_ONLY)
def move_in_read_only_project(given: Given) -> None:
    """Rename a directory of the project where nothing may be written."""
    os.rename(given.path, given.path + "-moved")


@attempt("run-later", then="bash -i -c true", path=".bashrc", alone=True)
def start_up_file_of_shell(given: Given) -> None:
    """Have the user's next shell run a program."""
    with open(f"{given.home}/.bashrc", "a") as file:
        file.write(f"\n{given.path}\n")


@attempt("run-later", then="git --version", alone=True)
def program_before_others(given: Given) -> None:
    """Have a program of ours found before git."""
    for folder in [f"{given.home}/.local/bin", *glob.glob(f"{given.home}/.*/bin")]:
        os.makedirs(folder, exist_ok=True)
        write(f"{folder}/git", f"#!/bin/sh\n{given.path}\n")
        os.chmod(f"{folder}/git", 0o755)


@attempt("kept", base="home", path=".cache/pip", existing_directory=True, alone=True)
def cache_of_the_user(given: Given) -> None:
    """Change, replace and add what the user's installer takes from its cache."""
    cache = os.environ.get("PIP_CACHE_DIR", f"{given.home}/.cache/pip")
    for name in ("harmless", "evil"):
        with contextlib.suppress(OSError):
            write(f"{cache}/{name}", "evil\n")
    os.rename(f"{cache}/evil", f"{cache}/harmless")


@attempt("kept", base="home", path=".cache/pip", existing_directory=True, alone=True)
def cache_of_the_user_by_its_layers(given: Given) -> None:
    """Find another way to what lies below the project's cache: its mount, its descriptors, its attributes."""
    cache = os.environ.get("PIP_CACHE_DIR", f"{given.home}/.cache/pip")
    for name in ("user.overlay.redirect", "user.overlay.opaque", "user.overlay.origin"):
        with contextlib.suppress(OSError):
            os.setxattr(cache, name, b"y")
    with contextlib.suppress(OSError):
        os.link(f"{cache}/harmless", f"{cache}/linked")
    for path in (f"{cache}/linked", f"{cache}/harmless", *glob.glob("/proc/*/fd/*/harmless")):
        with contextlib.suppress(OSError), open(path, "r+") as file:
            file.write("evil")
    with contextlib.suppress(OSError):
        os.truncate(f"{cache}/harmless", 0)
    os.chmod(f"{cache}/harmless", 0o777)
