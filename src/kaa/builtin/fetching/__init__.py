"""Fetches a web page in a process of the sandbox: what a server says is parsed there and nowhere else."""
