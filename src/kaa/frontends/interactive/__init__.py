"""The interactive terminal: a conversation on top of `kaa.tui`. It holds no logic of the agent's: that is the shell's.

`boot.py` paints the first frame before anything heavy is loaded; `core_thread.py` is where the agent works; `ui.py`
puts the rest together. Modules that are loaded before the first frame are listed in tests/test_import_budget.py.
"""
