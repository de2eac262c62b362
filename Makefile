# `make demo`, `make test` and `make check` do their own set-up on a fresh machine.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO ?= demo
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# A file's tests run in one worker, which makes what they share once; long files begin.
PARALLEL := --maxprocesses 8 --dist loadfile --no-loadscope-reorder
# `make studies` runs what measures the program for docs/measurements.
STUDIES := tests/studies/motion_classifier tests/studies/phase_features tests/training/test_bench_gpu.py
CORES := $(shell getconf _NPROCESSORS_ONLN)

# Python keeps what it compiles, also where the environment forbids it: every program that tests start
# would compile PyTorch and Lightning again, for 14 s of processor time.
unexport PYTHONDONTWRITEBYTECODE

# Nothing is installed that is not listed with its hash, and nothing is resolved: --no-deps. Python
# compiles what it imports.
LISTED := $(BIN)/python -m pip install --quiet --no-compile --require-hashes --no-deps --no-build-isolation

.PHONY: demo demo-model test guides check quick-test lint bench gpu studies shipped docs pictures constraints audit sbom clean

demo: $(VENV)/installed
	$(BIN)/deepphase demo -o $(DEMO) --force

# The small models that the dashboard opens with.
demo-model: $(VENV)/installed
	$(BIN)/python -m tests.studies.shipped.demo_models

# One worker more than cores: some wait for programs that they started, in which time others compute.
test: $(VENV)/installed
	$(BIN)/python -m pytest -m "not guide" $(PARALLEL) --numprocesses $$(($(CORES) + 1)) $(addprefix --ignore=,$(STUDIES))

# What the README, guides, notebooks and hints of commands say, line by line. A core has one page.
guides: $(VENV)/installed
	$(BIN)/python -m pytest -m guide --numprocesses $(CORES) tests/test_docs.py tests/test_notebooks.py tests/apps/test_hints.py

# The quick part, for every change: no browser, no training.
check: lint quick-test

quick-test: $(VENV)/installed
	$(BIN)/python -m pytest -m "not slow and not browser" $(PARALLEL) --numprocesses $(CORES)

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m mypy

bench: $(VENV)/installed
	$(BIN)/python -m tests.benchmarks.bench_bvh
	$(BIN)/python -m tests.benchmarks.bench_music
	$(BIN)/python -m tests.benchmarks.bench_phase
	$(ONE_THREAD) $(BIN)/python -m tests.benchmarks.bench_matching
	$(ONE_THREAD) $(BIN)/python -m tests.benchmarks.bench_matching_player
	$(BIN)/python -m tests.benchmarks.bench_controllers
	$(BIN)/python -m tests.benchmarks.bench_dashboard

# One run of at most 8 minutes on a GPU; without one a hundredth of it on the CPU.
gpu: $(VENV)/installed
	$(BIN)/python -m tests.benchmarks.bench_gpu --output gpu

# The studies of docs/measurements, each at its smallest size.
studies: $(VENV)/installed
	$(BIN)/python -m pytest tests/studies tests/training/test_bench_gpu.py

# The files of deepphase/shipped again, by trainings of some 20 minutes on one free core; FILES="person dog"
# makes some of them. CAPTURES is a folder with the free captures of docs/models.md. One thread, since
# sums of several are rounded otherwise, and trainings that begin alike end apart.
shipped: $(VENV)/installed
	$(ONE_THREAD) $(BIN)/python -m tests.studies.shipped $(FILES) $(if $(CAPTURES),--captures $(CAPTURES))

# Guides and API reference, into site/. A warning is an error.
docs: $(VENV)/all-installed
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs site

# The pictures of the README, in docs/pictures, by Chromium; about ten minutes on two free cores.
# People are salsa of CMU where $DEEPPHASE_DATA/cmu_dance lies, and synthetic otherwise.
pictures: $(VENV)/installed
	$(BIN)/python -m tests.browser.pictures $(PICTURES)

# Releases and hashes of requirements/, from the ranges of pyproject.toml. The releases stay where
# they fit; OPTIONS=--upgrade takes the newest.
constraints: $(VENV)/all-installed
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/python requirements/compile.py $(OPTIONS)

# Known vulnerabilities of the listed releases; the advisories are read from PyPI.
audit: $(VENV)/all-installed
	$(BIN)/python requirements/audit.py

# Software bill of materials of what is installed, as CycloneDX.
sbom: $(VENV)/all-installed
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
	  --output-file sbom.cdx.json $(BIN)/python

$(VENV)/all-installed: $(VENV)/installed requirements/all.txt
	$(LISTED) --requirement requirements/all.txt
	touch $@

$(VENV)/installed: pyproject.toml $(addprefix requirements/,build.txt dev.txt torch.txt torch_cpu.txt)
	$(PYTHON) -m venv $(VENV)
	$(LISTED) --requirement requirements/build.txt
	@echo "torch: a CPU build where pip finds one, else the one of the index"
	$(LISTED) --requirement requirements/torch_cpu.txt 2>/dev/null \
	  || $(LISTED) --requirement requirements/torch.txt
	$(LISTED) --requirement requirements/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m pip check
	touch $@

clean:
	rm -rf $(VENV) $(DEMO) site sbom.cdx.json
