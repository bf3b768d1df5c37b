# Commonplace. Needs make and Python >= 3.11; everything else goes into .venv, from the locks in requirements/.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install run init test check again bench local mcp postgres postgres-server format docs languages pictures lock release release-tools clean

PYTHON ?=
ARGS ?=
# Some tests wait for a process or for time to pass: four at once are the quickest on two cores.
WORKERS ?= -n 4
# The thorough ones come first, and are handed out a few at a time: else one worker has them all to itself at the end.
CHECK_WORKERS ?= -n 6 --maxschedchunk 2
PY := .venv/bin/python
# Extras that were installed once, by `make local` for example, are kept up to date by every later set-up.
EXTRAS := $(wildcard .venv/local .venv/mcp .venv/postgres .venv/postgres-server)
# PIP_USER: a person's pip may be set to install into the home folder, which no environment allows.
PIP := PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 $(PY) -m pip install --quiet --no-deps

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

install: .venv/project $(EXTRAS)  ## install it, or bring it and its extras up to date

# A clone keeps its notes in itself, unless settings say where.
SETTINGS = $(wildcard config.toml)$(COMMONPLACE_CONFIG)$(COMMONPLACE_WORKSPACE)$(findstring --config,$(ARGS))
run: .venv/project $(EXTRAS)  ## start it; options in ARGS="--workspace DIR"
	@exec .venv/bin/commonplace run $(if $(SETTINGS),,--workspace workspace) $(ARGS)

# What pytest makes of a test module it keeps beside it, also where PYTHONDONTWRITEBYTECODE is set: half its start.
PYTEST := PYTHONDONTWRITEBYTECODE= $(PY) -m pytest

init: .venv/project $(EXTRAS)  ## set it up: asks for a model, Telegram and so on; ARGS=telegram for one step
	@exec .venv/bin/commonplace init $(ARGS)

test: .venv/dev $(EXTRAS)  ## the tests; ARGS="tests/memory -x" for some, ARGS=--thorough for those that take long too
	@$(PYTEST) $(WORKERS) $(ARGS)

check: .venv/dev $(EXTRAS)  ## everything: format, lint, types, documents, tests
	@echo "check: format, lint, types, documents"
	@.venv/bin/ruff format --check --quiet .
	@.venv/bin/ruff check --quiet .
	@.venv/bin/mypy --no-error-summary
	@$(PY) scripts/print_docs.py --check
	@$(PY) scripts/languages.py --check
	@$(PY) scripts/house.py --check
	@echo "check: tests"
	@$(PYTEST) --thorough --cache-clear $(CHECK_WORKERS) || { test $$? -eq 1 && $(MAKE) --no-print-directory again; }

# Some look at the clock, and the machine may be busy with others: what fails beside them must pass by itself.
again: .venv/dev
	@test "$$($(PY) -c 'import json; print(len(json.load(open(".pytest_cache/v/cache/lastfailed"))))')" -le 5
	@echo "check: the tests that failed, once more, one at a time"
	@$(PYTEST) --thorough --last-failed -n 0

bench: .venv/project $(EXTRAS)  ## all benchmarks; EVAL_FOLDER=DIR, MODEL_FILE=GGUF; ARGS="watch" for some
	@$(PY) benchmarks/all.py $(ARGS)

local: .venv/project .venv/local  ## the library for a local embedding model: compiles for two to four minutes

mcp: .venv/project .venv/mcp  ## the library for other programs that use the memory

postgres: .venv/project .venv/postgres  ## the library for an index on PostgreSQL

postgres-server: .venv/dev .venv/postgres-server  ## a PostgreSQL with pgvector for the tests, 75 MB

format: .venv/dev  ## format the code and fix what the linter can
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix .

docs: .venv/dev  ## print the documents that come from the code, and the pages' transcripts
	@$(PY) scripts/print_docs.py
	@$(PY) scripts/print_transcript.py

languages: .venv/dev  ## bring the catalogues of texts in bot/locales up to date
	@$(PY) scripts/languages.py

pictures: .venv/dev  ## take the documents' pictures of the pages; wants chromium and chromium-driver
	@$(PY) scripts/take_screenshots.py
	@$(PY) scripts/take_page_pictures.py

lock: .venv/dev  ## renew the locks; ARGS="--upgrade" takes newer versions
	@$(PY) scripts/lock.py $(ARGS)

# SKIP="audit platforms" leaves out the checks that ask a service, where that is out of reach.
release: release-tools  ## build a release into dist/ and check it; docs/releasing.md says what comes before and after
	@.venv/release-tools/bin/python scripts/release.py $(if $(SKIP),--skip $(SKIP))

release-tools: .venv/release-tools/installed  ## the tools for a release, in an environment of their own

clean:  ## remove what was installed and cached; notes and settings stay
	rm -rf .venv .mypy_cache .ruff_cache .hypothesis build dist
	find adapters bot memory tests scripts benchmarks -name __pycache__ -prune -exec rm -rf {} +

# --- The environment. An empty file in .venv says that a step is done. ---

# Another Python behind the link, or the folder moved: then it is made anew. (A patch release is the same Python.)
ifneq ($(shell cat .venv/made-for 2>/dev/null),$(shell $(PY) -V 2>/dev/null | cut -d. -f1,2; pwd -P))
.PHONY: .venv/made-for
endif

.venv/made-for: requirements/runtime.txt requirements/dev.txt requirements/build.txt
	@PYTHON="$(PYTHON)" sh scripts/make_venv.sh </dev/null

.venv/runtime: .venv/made-for
	@echo "set-up: installing what it needs to run: one to four minutes" >&2
	@$(PIP) --require-hashes -r requirements/runtime.txt </dev/null
	@touch $@

.venv/project: .venv/runtime pyproject.toml bot/version.py
	@$(PIP) --require-hashes --upgrade --target .venv/build -r requirements/build.txt </dev/null
	@PYTHONPATH=.venv/build $(PIP) --no-build-isolation -e . </dev/null
	@$(PY) -m compileall -q adapters bot memory  # also where PYTHONDONTWRITEBYTECODE forbids it later
	@touch $@

.venv/dev: .venv/project
	@echo "set-up: installing the tools for tests and checks" >&2
	@$(PIP) --require-hashes -r requirements/dev.txt </dev/null
	@touch $@

.venv/release-tools/installed: .venv/made-for requirements/release.txt
	@echo "set-up: installing the tools for a release" >&2
	@$(PY) -m venv --clear .venv/release-tools
	@$(subst $(PY),.venv/release-tools/bin/python,$(PIP)) --require-hashes -r requirements/release.txt </dev/null
	@touch $@

.venv/mcp: .venv/runtime requirements/mcp.txt
	@$(PIP) --require-hashes -r requirements/mcp.txt </dev/null
	@touch $@

.venv/postgres: .venv/runtime requirements/postgres.txt
	@$(PIP) --require-hashes -r requirements/postgres.txt </dev/null
	@touch $@

.venv/postgres-server: .venv/dev requirements/postgres-server.txt
	@$(PIP) --require-hashes -r requirements/postgres-server.txt </dev/null
	@touch $@

# Without pip's isolation, so that what compiles is locked as well. Its commands lie in local-build/bin.
# Your own CMAKE_ARGS come last and win, except over what the file switches off. pip's cache does not depend on them.
.venv/local: .venv/runtime requirements/local.txt requirements/local-build.txt
	@$${CXX:-c++} --version >/dev/null 2>&1 || { echo "set-up: llama.cpp needs a C++ compiler; on Debian and Ubuntu:" \
		"sudo apt install g++; on macOS: xcode-select --install" >&2; exit 1; }
	@echo "set-up: compiling llama.cpp: two to four minutes, less where pip has kept it from an earlier time" >&2
	@$(PIP) --require-hashes --upgrade --target .venv/local-build -r requirements/local-build.txt </dev/null
	@tools="$(CURDIR)/.venv/local-build"; PATH="$$tools/bin:$$PATH" PYTHONPATH="$$tools" \
		CMAKE_ARGS="-DCMAKE_PROJECT_llama_cpp_INCLUDE='$(CURDIR)/requirements/llama_cpp.cmake' $$CMAKE_ARGS" \
		$(PIP) --no-build-isolation --require-hashes -r requirements/local.txt </dev/null
	@rm -rf .venv/local-build
	@touch $@
