# Everything runs inside .venv, which the first target that needs it creates.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
OLDEST := .venv-oldest
# In two processes; a file stays together, since its tests share what they build, and files come in
# the order of tests/conftest.py. A process that dies ends the run: with another one in its place,
# pytest-xdist would wait for ever.
PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder \
	--max-worker-restart 0
# numba runs its own threads; BLAS threads beside them only compete for the cores.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test test-fast test-deep test-gpu test-oldest fuzz lint types types-tests format docs pictures bench calibration paper paper-spread clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $(STAMP)

demo: $(STAMP)  ## integrate a built-in scene; depth, mesh and picture land in demo/
	$(BIN)/rayrelief demo -o demo

test: lint  ## lint, types and all tests
	$(PYTEST)

test-fast: $(STAMP)  ## about a minute: no whole runs, and few random examples of everything else
	$(PYTEST) -m "not slow" --hypothesis-profile=fast

test-deep: $(STAMP)  ## all tests on ten times as many random examples, other ones each time
	$(PYTEST) --hypothesis-profile=deep

test-gpu: $(STAMP)  ## the tests of the kernels on the GPU of this machine, which needs the extra gpu
	$(BIN)/python -c "from rayrelief.backends.cuda.device import cupy; cupy()"
	$(BIN)/python -m pytest tests/backends/test_cuda*.py tests/gpu

# Without the extras. Libraries that these versions call have deprecated some of it since.
test-oldest:  ## files, arguments and the command with the oldest versions that pyproject.toml allows
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python tests/oldest.py > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/python -m pip install --quiet --constraint $(OLDEST)/oldest.txt \
		--editable . pytest pytest-xdist hypothesis
	$(OLDEST)/bin/python -m pytest -m "not slow" -W ignore::DeprecationWarning \
		tests/io tests/fuzz tests/cameras/calibration tests/test_errors.py tests/test_checks.py \
		tests/cli/test_cli_hostile.py tests/cli/test_cli_camera.py

fuzz: $(STAMP)  ## ten minutes: mutated files, killed runs, a soak; FUZZ="files --files 10000 --seed 7"
	cd tests && ../$(BIN)/python -m fuzz $(FUZZ)

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(MAKE) --no-print-directory --jobs 2 types types-tests

types: $(STAMP)
	$(BIN)/mypy

types-tests: $(STAMP)
	$(BIN)/mypy --config-file tests/mypy.ini tests examples benchmarks

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(STAMP)  ## the documentation as a site in docs/_build/index.html; warnings are errors
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs docs/_build

pictures: demo  ## the pictures of the README and of docs/gallery.md, from the code that they show
	cp demo/preview.png docs/images/still_life.png
	$(BIN)/python -m benchmarks.gallery

# The limits are for two threads.
bench: export NUMBA_NUM_THREADS ?= 2
bench: $(STAMP)  ## speed and memory with their limits; some parts need real maps (RAYRELIEF_DATA)
	$(BIN)/python -m benchmarks

calibration: $(STAMP)  ## curves behind the constants of Ordered, and the pictures of docs/ordered.md
	$(BIN)/python -m benchmarks.calibration

paper: $(STAMP)  ## the paper's tables beside ours, and its figures; goes on where it stopped
	$(BIN)/python -m benchmarks.accuracy

paper-spread: $(STAMP)  ## its tables of MADE over perturbed inputs: median and spread; takes much longer
	$(BIN)/python -m benchmarks.accuracy --spread

clean:
	rm -rf $(VENV) $(OLDEST) demo dist docs/_build docs/reference .mypy_cache .ruff_cache .pytest_cache .hypothesis .numba_cache
	find src -name __pycache__ -exec rm -rf {} +
