"""The process that touches the project. Standard library only; imports nothing else of kaa."""
