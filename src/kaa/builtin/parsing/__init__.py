"""Finds syntax errors of a file in a process of the sandbox: what a project contains is parsed there."""
