# `make demo`, `make test` and `make check` do their own set-up on a fresh machine.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO ?= demo
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
PARALLEL := --numprocesses auto --maxprocesses 8 --dist worksteal

.PHONY: demo demo-model test check quick-test lint bench docs clean

demo: $(VENV)/installed
	$(BIN)/deepphase demo -o $(DEMO)

# The small models that the dashboard opens with.
demo-model: $(VENV)/installed
	$(BIN)/python -m apps.demo.model

# One worker for each core; the browser's tests follow alone, since pages wait for the processor.
test: $(VENV)/installed
	$(BIN)/python -m pytest -m "not browser" $(PARALLEL)
	$(BIN)/python -m pytest -m browser

# The quick part, for every change: no browser, no training.
check: lint quick-test

quick-test: $(VENV)/installed
	$(BIN)/python -m pytest -m "not slow and not browser" $(PARALLEL)

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m mypy

bench: $(VENV)/installed
	$(BIN)/python -m tests.benchmarks.bench_bvh
	$(BIN)/python -m tests.benchmarks.bench_kinematics
	$(BIN)/python -m tests.benchmarks.bench_music
	$(BIN)/python -m tests.benchmarks.bench_phase
	$(ONE_THREAD) $(BIN)/python -m tests.benchmarks.bench_matching
	$(ONE_THREAD) $(BIN)/python -m tests.benchmarks.bench_matching_player
	$(BIN)/python -m tests.benchmarks.bench_controllers
	$(BIN)/python -m tests.benchmarks.bench_dashboard

# Guides and API reference, into site/. A warning is an error.
docs: $(VENV)/docs-installed
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs site

$(VENV)/docs-installed: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) $(DEMO) site
