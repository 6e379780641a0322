# Works on a bare machine with python3 (3.11 or newer), pip, git and make.
# uv is installed into .tools (pinned), the environment into .venv (locked, with hashes).

UV_VERSION := 0.13.8
UV := .tools/bin/uv
BIN := .venv/bin
LOCK := requirements/dev.lock
export UV_PYTHON_DOWNLOADS := never

# Bytecode is kept even if the environment says otherwise: without it, each worker of the tests needs 13 s of processor
# time more to collect them.
unexport PYTHONDONTWRITEBYTECODE

# The core behaviours, for `make quick`: the loop, tools, files and commands, the store of sessions, approvals, the
# sandbox, checkpoints, and whole runs over every wire format.
QUICK := $(addprefix tests/,core/test_loop.py core/test_execution.py core/test_history.py core/test_retry.py \
	core/test_budget.py builtin/tools ext hands/test_files.py hands/test_wire.py session/file/test_file_store.py \
	session/file/test_decoding.py session/test_context.py shell/test_conversation.py shell/test_safety.py \
	shell/approvals/test_gate.py frontends/test_text_output.py workspace/test_local_commands.py \
	workspace/test_local_files.py workspace/test_local_search.py workspace/checkpoints/test_turns.py \
	end_to_end/test_tasks.py end_to_end/test_terminal_conversation.py test_import_budget.py)

.PHONY: demo test quick check structure format unit oldest coverage mutants lock clean setup bench bench-change peers screenshots

demo: setup ## fix a real bug in a small project with a recorded model; needs no key
	$(BIN)/kaa demo

test: check unit oldest ## everything that must pass before a change lands

setup: .venv/.installed

$(UV):
	python3 -m pip install --quiet --disable-pip-version-check --target .tools "uv==$(UV_VERSION)"

.venv/.installed: $(UV) $(LOCK) pyproject.toml
	$(UV) venv --quiet --allow-existing --python "$$(command -v python3)" .venv
	$(UV) pip sync --quiet --link-mode copy --python $(BIN)/python --require-hashes $(LOCK)
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	touch $@

check: setup ## formatting, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: setup ## all tests
	scripts/all_tests.sh $(BIN)/python

oldest: setup ## the command reader's tests on a Python before 3.11.5, where there is one (Debian 12 has 3.11.2)
	@scripts/oldest_python.sh $(UV) $(LOCK)

coverage: setup ## the same, and which lines they reach, also in processes they start; takes half as long again
	scripts/all_tests.sh $(BIN)/python --cov --cov-report=term

mutants: setup ## whether the tests of the last commit still notice the faults that they noticed before
	$(BIN)/python -m scripts.mutants check

structure: setup ## the size of the sources and of a printed turn, ambiguous names, modules to fold
	$(BIN)/python -m scripts.structure

quick: setup ## tests of the core behaviours, in less than a minute
	$(BIN)/python -m pytest -n 2 $(QUICK)

format: setup ## apply the automatic fixes of `check`
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## start-up, turns and the terminal, against other agents found on this machine
	$(BIN)/python benchmarks/run.py

bench-change: setup ## the working tree against a commit, in pairs: make bench-change BASE=REV [ROUNDS=N]
	@test -n "$(BASE)" || { echo "give the commit to compare with: make bench-change BASE=main" >&2; exit 2; }
	$(BIN)/python -m benchmarks.change $(if $(ROUNDS),--rounds '$(ROUNDS)') -- '$(BASE)'

peers: $(UV) ## the agents that `bench` compares kaa with, in fixed versions, into .tools/peers
	@scripts/peers.sh $(UV)

screenshots: setup ## those of the documentation; nothing changes unless kaa looks different
	$(BIN)/python scripts/screenshots.py
	$(BIN)/python scripts/viewer_screenshots.py

lock: $(UV) ## refresh the lock file from pyproject.toml
	$(UV) pip compile --quiet --universal --extra dev --generate-hashes --no-annotate --no-header --no-emit-index-url --upgrade -o $(LOCK) pyproject.toml

clean:
	rm -rf .venv .venv-oldest .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage* .mutants
