"""Having the user's next git command run a program. The canary is the program: it is run outside, or it is not."""

import mmap
import os
import shutil
import subprocess
import time

from tests.escapes.attempts.kit import ATTEMPTS, NO_GIT, Given, again, attempt, write

_STATUS = "git status"


@attempt("run-later", then="git commit --allow-empty -m x", alone=True)
def hook(given: Given) -> None:
    """Leave a hook."""
    _executable(f"{given.project}/.git/hooks/post-commit", given.path)


@attempt("run-later", then="git commit --allow-empty -m x", own_project=True)
def replaced_hooks(given: Given) -> None:
    """Put another directory in place of the hooks."""
    hooks = f"{given.project}/.git/hooks"
    os.rename(hooks, f"{given.project}/old-hooks")
    os.mkdir(hooks)
    _executable(f"{hooks}/post-commit", given.path)


@attempt("run-later", then=_STATUS, alone=True)
def configuration(given: Given) -> None:
    """Have git ask a monitor for changes."""
    _git(given.project, "config", "core.fsmonitor", given.path)


@attempt("run-later", then=_STATUS, own_project=True)
def appended_configuration(given: Given) -> None:
    """Append to the configuration, without git."""
    with open(f"{given.project}/.git/config", "a") as file:
        file.write(_section(given))


@attempt("run-later", then=_STATUS, own_project=True)
def replaced_configuration(given: Given) -> None:
    """Move another file over the configuration."""
    write(f"{given.project}/config", _section(given))
    os.rename(f"{given.project}/config", f"{given.project}/.git/config")


@attempt("run-later", then=_STATUS, own_project=True)
def configuration_of_worktree(given: Given) -> None:
    """Create the configuration for one worktree, which does not exist in most repositories."""
    write(f"{given.project}/.git/config.worktree", _section(given))


@attempt("run-later", then=_STATUS, own_project=True)
def common_directory(given: Given) -> None:
    """Say that the repository's configuration is somewhere else."""
    other = f"{given.project}/other"
    shutil.copytree(f"{given.project}/.git", other)
    _monitor(other, given)
    write(f"{given.project}/.git/commondir", "../other\n")


@attempt("run-later", then=_STATUS, own_project=True)
def replaced_repository(given: Given) -> None:
    """Move the repository away, and put a copy in its place."""
    git = f"{given.project}/.git"
    os.rename(git, f"{given.project}/aside")
    shutil.copytree(f"{given.project}/aside", git)
    _monitor(git, given)


@attempt("run-later", then=_STATUS, own_project=True)
def repository_elsewhere(given: Given) -> None:
    """Put a file in place of the repository which says where another is."""
    git = f"{given.project}/.git"
    shutil.copytree(git, f"{given.project}/other")
    _monitor(f"{given.project}/other", given)
    os.rename(git, f"{given.project}/aside")
    write(git, "gitdir: other\n")


@attempt("run-later", then=_STATUS, own_project=True)
def link_to_repository(given: Given) -> None:
    """Put a symbolic link in place of the repository."""
    git = f"{given.project}/.git"
    os.rename(git, f"{given.project}/aside")
    _monitor(f"{given.project}/aside", given)
    os.symlink("aside", git)


@attempt("run-later", then=_STATUS, own_project=True)
def directory_of_project_replaced(given: Given) -> None:
    """Replace everything by replacing the project's directory."""
    copy = f"{given.home}/copy"
    shutil.copytree(given.project, copy, symlinks=True)
    _monitor(f"{copy}/.git", given)
    os.rename(given.project, f"{given.home}/aside")
    os.rename(copy, given.project)


@attempt("run-later", then=_STATUS, where="dependency", own_project=True)
def nested_repository(given: Given) -> None:
    """Change the configuration of a repository inside the project."""
    _git(f"{given.project}/dependency", "config", "core.fsmonitor", given.path)


@attempt("run-later", then=_STATUS, where="module", own_project=True)
def repository_of_submodule(given: Given) -> None:
    """Change the configuration of a submodule, which lies below the project's .git."""
    _git(f"{given.project}/module", "config", "core.fsmonitor", given.path)


@attempt("run-later", then=_STATUS, where="module", own_project=True)
def submodule_points_elsewhere(given: Given) -> None:
    """Let a submodule's directory point to a repository of ours."""
    shutil.copytree(f"{given.project}/.git/modules/module", f"{given.project}/other")
    _monitor(f"{given.project}/other", given)
    _git(given.project, "config", "--file", f"{given.project}/other/config", "--unset", "core.worktree")
    write(f"{given.project}/module/.git", "gitdir: ../other\n")


@attempt("run-later", then=_STATUS, where="new", own_project=True)
def new_repository(given: Given) -> None:
    """Make a repository with a monitor in a directory of the project."""
    _git(given.project, "init", "-q", "new")
    _monitor(f"{given.project}/new/.git", given)


@attempt("run-later", then=_STATUS, where="a/b/c/d/e", own_project=True)
def new_repository_deep_down(given: Given) -> None:
    """Make a repository with a monitor where nobody looks."""
    _git(given.project, "init", "-q", "a/b/c/d/e")
    _monitor(f"{given.project}/a/b/c/d/e/.git", given)


@attempt("run-later", then=_STATUS, where="closed/new", own_project=True)
def new_repository_in_a_closed_directory(given: Given) -> None:
    """Make a repository with a monitor in a directory that can be entered, but not listed."""
    os.mkdir(f"{given.project}/closed", 0o300)
    _git(given.project, "init", "-q", "closed/new")
    _monitor(f"{given.project}/closed/new/.git", given)


@attempt("run-later", then=_STATUS, where="later/new", own_project=True)
def new_repository_in_a_directory_that_is_closed_later(given: Given) -> None:
    """Make a repository, and give it a monitor when the directory can no longer be listed."""
    _git(given.project, "init", "-q", "later/new")
    os.chmod(f"{given.project}/later", 0o311)
    _monitor(f"{given.project}/later/new/.git", given)


@attempt("run-later", then="git commit --allow-empty -m x", where="new", own_project=True)
def new_repository_with_hook(given: Given) -> None:
    """Make a repository with a hook in a directory of the project."""
    _git(given.project, "init", "-q", "new")
    os.makedirs(f"{given.project}/new/.git/hooks", exist_ok=True)
    _executable(f"{given.project}/new/.git/hooks/post-commit", given.path)


@attempt("run-later", then=_STATUS, where="new", own_project=True)
def new_repository_with_include(given: Given) -> None:
    """Make a repository whose configuration is harmless, but for another file that it includes."""
    _git(given.project, "init", "-q", "new")
    write(f"{given.project}/new/more", _section(given))
    _git(f"{given.project}/new", "config", "include.path", "../more")


@attempt("run-later", then=_STATUS, where="new", own_project=True)
def new_repository_by_file(given: Given) -> None:
    """Make a file which says that the repository is in a directory of another name."""
    _git(given.project, "init", "-q", "--separate-git-dir=store", "new")
    _monitor(f"{given.project}/store", given)


@attempt("run-later", then=_STATUS, where="new", own_project=True)
def new_repository_by_link(given: Given) -> None:
    """Make a symbolic link to a repository in a directory of another name."""
    _git(given.project, "init", "-q", "new")
    _monitor(f"{given.project}/new/.git", given)
    os.rename(f"{given.project}/new/.git", f"{given.project}/store")
    os.symlink("../store", f"{given.project}/new/.git")


@attempt("run-later", then="git commit --allow-empty -m x", configuration="core.hooksPath .githooks", own_project=True)
def hooks_elsewhere(given: Given) -> None:
    """Leave a hook where the user's own configuration says that hooks are: in the project."""
    os.makedirs(f"{given.project}/.githooks", exist_ok=True)
    _executable(f"{given.project}/.githooks/post-commit", given.path)


@attempt("run-later", then=_STATUS, configuration="include.path ../shared.gitconfig", own_project=True)
def included_configuration(given: Given) -> None:
    """Write the file that the user's own configuration includes from the project."""
    write(f"{given.project}/shared.gitconfig", _section(given))


@attempt("run-later", then=_STATUS, where="vendor", own_project=True)
def bare_repository(given: Given) -> None:
    """Make a directory look like a bare repository (safe.bareRepository)."""
    vendor = f"{given.project}/vendor"
    _git(given.project, "init", "-q", "--bare", "vendor")
    version = "repositoryformatversion = 0"  # without it, git does not take the directory for a repository
    lines = ["[core]", version, "bare = false", f'worktree = "{given.project}"', f'fsmonitor = "{given.path}"']
    write(f"{vendor}/config", "\n".join(lines))


@attempt("run-later", then=_STATUS, own_project=True)
def submodule_in_index(given: Given) -> None:
    """Add a repository with a monitor to the index: `git status` at the top looks into submodules."""
    _git(given.project, "init", "-q", "new")
    _git(f"{given.project}/new", "commit", "-q", "--allow-empty", "-m", "x")
    _monitor(f"{given.project}/new/.git", given)
    _git(given.project, "add", "new")


@attempt("run-later", then=_STATUS, own_project=True)
def submodule_where_nobody_looks(given: Given) -> None:
    """Add a repository with a monitor to the index that is in a tree which is not watched."""
    place = "node_modules/a/b"
    _git(given.project, "init", "-q", place)
    _git(f"{given.project}/{place}", "commit", "-q", "--allow-empty", "-m", "x")
    _monitor(f"{given.project}/{place}/.git", given)
    _git(given.project, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{place}")


@attempt("run-later", then="git rebase --continue", own_project=True)
def rebase_that_goes_on(given: Given) -> None:
    """Stop in a rebase, and plan a command for when it goes on."""
    _git(given.project, "commit", "-q", "--allow-empty", "-m", "x")
    _git(given.project, "-c", "sequence.editor=echo break >", "rebase", "-q", "-i", "HEAD~1")
    with open(f"{given.project}/.git/rebase-merge/git-rebase-todo", "a") as file:
        file.write(f"exec {given.path}\n")


@attempt("run-later", then=_STATUS, where="new", own_project=True)
def new_repository_changed_in_memory(given: Given) -> None:
    """Map the configuration of a repository into memory, and add a monitor there when the guard has looked at it."""
    _git(given.project, "init", "-q", "new")
    with open(f"{given.project}/new/.git/config", "r+b") as file:
        file.write(b"#" * 1000)
        file.flush()
        mapping = mmap.mmap(file.fileno(), 0)
    time.sleep(0.2)
    content = f"{_section(given)}#".encode()
    mapping[: len(content)] = content


@attempt("run-later", then=_STATUS, alone=True)
def configuration_of_user(given: Given) -> None:
    """Change the user's own configuration."""
    _git(given.home, "config", "--file", f"{given.home}/.gitconfig", "core.fsmonitor", given.path)


_START = "sh -c '{}; sh ~/.start'"  # the file that the user's shell would read, had they this one


@attempt("run-later", then=_START.format("GIT_EDITOR=true git commit --allow-empty"), own_project=True)
def message_elsewhere(given: Given) -> None:
    """Have git write its message over a file of the user, with a text of ours."""
    git = f"{given.project}/.git"
    _link(f"{git}/COMMIT_EDITMSG", f"{given.home}/.start")
    write(f"{git}/MERGE_MSG", f"{given.path}\n")


@attempt("run-later", then=_START.format("git checkout -q -B other"), own_project=True)
def log_elsewhere(given: Given) -> None:
    """Have git append to a file of the user, with the name of a branch that is a command."""
    git = f"{given.project}/.git"
    _executable(f"{given.project}/run", given.path)
    _git(given.project, "symbolic-ref", "HEAD", "refs/heads/x;sh${IFS}run;")
    _git(given.project, "commit", "-q", "--allow-empty", "-m", "x")
    _link(f"{git}/logs/HEAD", f"{given.home}/.start")


@attempt("run-later", then="git checkout -- .", own_project=True)
def path_in_index(given: Given) -> None:
    """Stage a hook under the path that git would execute it from."""
    harmless = "x" * len(".git/hooks/post-checkout")
    _executable(f"{given.project}/{harmless}", given.path)
    _git(given.project, "add", harmless)
    index = f"{given.project}/.git/index"
    with open(index, "rb") as file:
        content = file.read()
    with open(index, "wb") as file:
        file.write(content.replace(harmless.encode(), b".git/hooks/post-checkout"))


@attempt("run-later", then="git push -q elsewhere HEAD:refs/heads/x", own_project=True)
def remote_of_old(given: Given) -> None:
    """Give a remote an address without the configuration: of a repository with a hook, where nobody looks."""
    bare = f"{given.project}/node_modules/a/b"
    _git(given.project, "init", "-q", "--bare", bare)
    os.makedirs(f"{bare}/hooks", exist_ok=True)
    _executable(f"{bare}/hooks/pre-receive", given.path)
    os.makedirs(f"{given.project}/.git/remotes", exist_ok=True)
    write(f"{given.project}/.git/remotes/elsewhere", f"URL: {bare}\n")


# When commands may not write `.git`, nothing else changes: the same attempts once more.
for _each in [each for each in ATTEMPTS.values() if each.name.startswith("repository.")]:
    again(_each, NO_GIT)


@attempt("kept", base="project", path=".git/index", own_project=True, flags=NO_GIT)
def index(given: Given) -> None:
    """Change what is staged."""
    write(f"{given.project}/staged")
    _git(given.project, "add", "staged")


@attempt("kept", base="project", path=".git/HEAD", own_project=True, flags=NO_GIT)
def head(given: Given) -> None:
    """Change which branch is checked out."""
    write(f"{given.project}/.git/HEAD", "ref: refs/heads/other\n")


@attempt("kept", base="project", path=".git/refs", own_project=True, flags=NO_GIT)
def branch(given: Given) -> None:
    """Create a branch."""
    _git(given.project, "branch", "evil")


@attempt("kept", base="project", path=".git/objects", own_project=True, flags=NO_GIT)
def history(given: Given) -> None:
    """Destroy the history."""
    shutil.rmtree(f"{given.project}/.git/objects")


@attempt("kept", base="project", path=".git/info", own_project=True, flags=NO_GIT)
def attributes(given: Given) -> None:
    """Say how git is to filter files."""
    os.makedirs(f"{given.project}/.git/info", exist_ok=True)
    write(f"{given.project}/.git/info/attributes", "* filter=evil\n")


def _git(directory: str, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", *arguments],
        cwd=directory,
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=5,
    )


def _link(path: str, target: str) -> None:
    if os.path.lexists(path):
        os.rename(path, f"{path}.former")
    os.symlink(target, path)


def _monitor(git_directory: str, given: Given) -> None:
    with open(f"{git_directory}/config", "a") as file:
        file.write(_section(given))


def _section(given: Given) -> str:
    return f'[core]\n\tfsmonitor = "{given.path}"\n'


def _executable(path: str, program: str) -> None:
    write(path, f"#!/bin/sh\n{program}\n")
    os.chmod(path, 0o755)
