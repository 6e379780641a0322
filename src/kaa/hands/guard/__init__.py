"""The guard: a slot that watches for names which mounts cannot protect, and moves away what should not be there.

Mounts protect what exists. A `.vscode` that does not exist yet cannot be protected without putting one into the
user's project, and where there are no mounts (Landlock, macOS) nothing inside the project can be protected at all. So
the guard notes at its start what is there, is told by the kernel (inotify) where something changes, and *moves it
away in place*, to `<name>.kaa-blocked`, if it is

- a new protected name (`protected.py`) in a writable directory or below, or a change in an existing one; of files that
  package managers write, only what executes (`judged.py`); the same for what git's configuration names, such as
  `core.hooksPath`;
- a new `.git` at the top while git writes are not allowed, or one anywhere that is a symlink or points elsewhere;
- in any repository down to `GUARDED_DEPTH`, bare ones included: an entry of its configuration that makes git
  execute something or work outside the repository, a hook, a `commondir`, an `exec` in the state of a rebase, or one
  of these in its submodules and worktrees; the same in every directory that an index says is a submodule, and in the
  repository elsewhere that a writable directory belongs to, if git may write there.

What was there before is put back. An innocent nested repository (`git clone`, `git init`) stays. Removing guarded
files is not undone, since nothing executes by that. A new directory without files stays, and files are moved out of it
(`emptying`). What mounts have held since before any command ran was changed by
nobody but the user, so it is left alone (`held`). Names deeper than `GUARDED_DEPTH` and below `node_modules`, virtual
environments and the like are not watched, unless an index or a symlink in a watched place leads there.

New protected names at the top of a root do not wait until the guard has dealt with everything before: a thread has an
inotify queue of its own for them (`lookout`), so that they are gone before an editor reads them.

It recognizes what it moved away itself by device and inode: anybody can use the name. What a mapping in memory changes
causes no event, so the guard compares all guarded files at each check, and every second while something may run. With
more directories than it can watch it reads all of them then.

It notes the state at its start and moves nothing before the first request: one is kept ready beside another one that
may be at work. With `"adopts": true` in that request it takes in what happened meanwhile, since no command has run.

However much there is, only so much is looked at: things of a subject (`room`), directories of a repository
(`git_directory`) and of the roots (`directories`). In each of them, commands may add less than a start looks at. What
they add beyond that is moved away, and comes last at the next start, so it hides nothing. Of what is not read at the
start it is noted when it was changed, if there is not too much of that as well; else it is left as it is, and the brain
is told of it (`unchecked`).

Requests of the brain, each answered, after everything that happened before it has been dealt with, by
`{"findings": [{"path", "kept_as", "why", "kind", "content", "mode", "below"}, ...], "more": number of findings left
out, "saved": those of them with content, which is to be kept where commands cannot write, "later": what somebody has
written since in files that were moved away (`kept_files`), "flooded": whether findings come from a loop, "stuck":
whether a mount keeps something that has to be moved away, "unheld": whether something was accepted that no mount holds,
"unchecked": directories of which not all can be checked, as it was before any command, "discerns": whether `discern`
has an effect, "calm": whether what is made now is the user's, "scans": whether it cannot watch all directories}`:

If something takes long, it first says at what it is: `{"busy": path}`.

    {"op": "check"}                what was found since the last answer
    {"op": "news"}                 the same without comparing; for what comes to light while nobody asks. Unlike the
                                   others it does not end the counting of findings by which a loop is recognized
    {"op": "signs"}                the same without comparing, and three descriptors: as long as none of the first two
                                   is readable and nothing runs, a check would find nothing; the third is readable
                                   when there is something to tell, and has a `FLOOD_ALARM` when findings come from a
                                   loop; it ends if the guard dies
    {"op": "succeed"}              after a guard that died while commands ran: what that did not know comes from them.
                                   The body is that of its last answer that had one
    {"op": "retry"}                the mounts that came while a command could write are gone: move away what is stuck
    {"op": "discern"}              only commands in the background run now, whose calls are noted: what is born while
                                   they are in none of these is the user's, and is accepted
    {"op": "watch"}                no longer
    {"op": "expect", "path": ...}  kaa itself is going to write this file, or, at a root, the user may change anything
    {"op": "accept", "path": ...}  no longer; at a root, it stays as it is now
    {"op": "written", "path": ..., "digest": ..., "size": ...}
                                   kaa has written the file: what has this digest (of its first 128 KiB and one byte)
                                   and size stays; anything else that was made there meanwhile does not

If what the guard takes for harmless has changed, the answer has it as its body, which the brain keeps for a successor.
When the brain is gone, killed perhaps, the guard stays until the last command has ended, and looks once more.

A subject that cannot be judged, for whatever reason, is moved away: no file may end the guard. Only ENOENT, ENOTDIR
and ELOOP mean that nothing is there: what its user has closed (or a command, as this user) is opened for the moment in
which it is looked at, and a directory that cannot be read for another reason is a finding, and looked into again.

No file says who wrote it, so the brain says when it cannot have been a command: while nothing of kaa's runs it expects
the whole project (the user's editor may then create its `.idea`), and accepts before it starts something. While only
commands in the background run, times tell (`users_files`).

The first answer comes when the state at the start has been noted; nothing may run before that.
"""

from kaa.hands.guard.service import serve

__all__ = ["serve"]
