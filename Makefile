# On a fresh clone `make demo` and `make test` are all there is to type. Both make .venv first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
# Tests on several cores at once, two to a core, as nearly half of their time they wait for programs; ARGS='-n 0 --pdb' for
# one after the other, in a debugger.
WORKERS := $(shell workers=$$(($$(nproc) * 2)); echo $$((workers < 6 ? workers : 6)))
# Else each of their processes compiles the modules that it imports: a third of a second, where it says not to keep them.
TESTING := PYTHONDONTWRITEBYTECODE=
PARALLEL ?= -n $(WORKERS) --dist worksteal
# What goes into the native build; a change of Python code needs none, the installation is editable.
NATIVE := pyproject.toml CMakeLists.txt \
  $(shell find csrc agent strobe/demo -type f -not -path '*/node_modules/*' -not -path '*/__pycache__/*')
FORMATTED := $(shell find csrc strobe/demo tests/programs docs/examples -name '*.[ch]' -o -name '*.cpp' -o -name '*.hpp')
# What `make wheel` builds for: this Python, and newer ones that are at hand.
WHEEL_PYTHONS ?= $(BIN)/python $(shell for new in 3.12 3.13 3.14; do python$$new -V >/dev/null 2>&1 && echo python$$new; done)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# The steps share .venv and build/, and ninja runs compilers in parallel by itself, whatever -j says.
.NOTPARALLEL:
unexport MAKEFLAGS
.DELETE_ON_ERROR:
.PHONY: abi help demo test test-all scenarios lint bench sanitize sanitize-threads package wheel clean install check-aarch64
.PHONY: site man examples
.PHONY: lint-format lint-python lint-types lint-native lint-agent

help:
	@echo "make demo      see Strobe find a bug, in ten seconds"
	@echo "make test      tests of everything in a short form, 10 minutes at most; make test ARGS='tests/unit -k pattern' for some"
	@echo "make test-all  the whole of them, as CI does"
	@echo "make lint      ruff, mypy, clang-format, tsc; make -k lint tells all there is"
	@echo "make sanitize  native tests under AddressSanitizer and UBSan (part of make test)"
	@echo "make sanitize-threads  the host's threads under ThreadSanitizer"
	@echo "make scenarios  what programs do under Strobe, 1,000 rounds or ten minutes each: hours"
	@echo "make bench     the figures of docs/performance.md, measured here"
	@echo "make package   source archive -> wheel -> clean venv -> demo"
	@echo "make wheel     wheels for glibc 2.31 and newer, of this Python and of 3.12 to 3.14 where these are at hand: dist"
	@echo "make site      the pages of docs/ as a site with a search: build/site/index.html"
	@echo "make man       a manual page for each command: build/man"
	@echo "make examples  README.md's examples and pictures anew, from real runs"
	@echo "make check-aarch64  csrc built for AArch64, its tests run under qemu"
	@echo "make abi       strobe/_abi.py and agent/abi.ts anew, from csrc/abi"
	@echo "make install   what the others do first: .venv with Strobe in it"
	@echo "make clean     remove what make has made"

demo: $(VENV)/installed
	$(BIN)/strobe demo

# The native tests, too, in a short form; a variable of this target is one of what it depends on.
test: export STROBE_SHORT_TESTS := 1
test: $(VENV)/test-tools sanitize
	$(TESTING) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest $(PARALLEL) -m "not long" $(ARGS)

test-all: $(VENV)/test-tools sanitize
	$(TESTING) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest $(PARALLEL) $(ARGS)

scenarios: $(VENV)/test-tools
	STROBE_SCENARIOS=1 PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -m scenario $(ARGS)

bench: $(VENV)/test-tools
	$(BIN)/strobe bench $(ARGS)

install: $(VENV)/installed

abi: $(VENV)/build-tools
	$(BIN)/python csrc/abi/generate.py

lint: lint-format lint-python lint-types lint-native lint-agent

lint-format: $(VENV)/lint-tools
	$(BIN)/ruff format --check --quiet .
lint-python: $(VENV)/lint-tools
	$(BIN)/ruff check .
lint-types: $(VENV)/lint-tools
	$(BIN)/mypy
lint-native: $(VENV)/lint-tools
	@$(BIN)/clang-format --dry-run -Werror $(FORMATTED)
lint-agent:
	.ci/typescript

sanitize: $(VENV)/build-tools
	PATH="$(CURDIR)/$(BIN):$$PATH" .ci/sanitize

sanitize-threads: $(VENV)/test-tools
	PATH="$(CURDIR)/$(BIN):$$PATH" .ci/sanitize-threads

# All links have to lead somewhere: strict in docs/mkdocs.yml.
site: $(VENV)/site-tools man
	$(BIN)/python docs/assemble.py build/pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --config-file docs/mkdocs.yml
	@echo "build/site/index.html"

man: $(VENV)/installed
	$(BIN)/python docs/manual.py build/man

examples: $(VENV)/test-tools
	$(BIN)/python docs/replay.py
	$(BIN)/python docs/pictures.py

check-aarch64: $(VENV)/build-tools
	PATH="$(CURDIR)/$(BIN):$$PATH" .ci/aarch64

package: $(VENV)/lint-tools
	.ci/package $(BIN)/python

wheel: $(VENV)/build-tools
	.ci/wheel dist . $(WHEEL_PYTHONS)

clean:
	rm -rf $(VENV) build dist strobe/agent agent/node_modules .pytest_cache .mypy_cache .ruff_cache .benchmarks
	find . -name __pycache__ -prune -exec rm -rf {} +

# Stamps, each newer than what it depends on.

$(VENV)/build-tools: pyproject.toml
	PYTHON=$(PYTHON) .ci/prerequisites build
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing build tools into $(VENV)"
	$(BIN)/python .ci/requirements.py build > $(VENV)/build-requirements
	$(PIP) install -r $(VENV)/build-requirements
	touch $@

# Without build isolation, so that the build folder and with it an incremental build stays valid.
$(VENV)/installed: $(VENV)/build-tools $(NATIVE)
	@echo "building and installing Strobe into $(VENV)"
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) install --no-build-isolation --config-settings=build-dir=build/editable --editable .
	touch $@

$(VENV)/test-tools: $(VENV)/installed
	PYTHON=$(PYTHON) .ci/prerequisites test
	$(BIN)/python .ci/requirements.py test > $(VENV)/test-requirements
	$(PIP) install -r $(VENV)/test-requirements
	touch $@

$(VENV)/lint-tools: $(VENV)/test-tools
	$(BIN)/python .ci/requirements.py dev > $(VENV)/lint-requirements
	$(PIP) install -r $(VENV)/lint-requirements
	touch $@

$(VENV)/site-tools: $(VENV)/installed
	$(BIN)/python .ci/requirements.py docs > $(VENV)/site-requirements
	$(PIP) install -r $(VENV)/site-requirements
	touch $@
