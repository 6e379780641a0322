"""Worktrees: copies of a project in its present state, in which kaa works without touching the project.

In a git repository a worktree is one of git's. Elsewhere it is a copy, and a repository of kaa's own knows its states.
"""
