# On a fresh machine this needs make, and python3 with its venv module; nothing else.
#
#   make web      set up, compile (minutes, once), then the table in the browser
#   make train    set up what training needs, train the quick preset, export it, and print how the export does against the bots
#   make test     set up, then lint, formatting, types, imports and tests (the slow ones of several processes: pytest -m slow; a real browser: pytest -m browser)
#   make setup    only the environment, in .venv
#   make peers    add OpenSpiel, with which tests and benchmarks compare, and what makes videos
#   make format   put the sources into the form that `make test` asks for
#   make docs     build the documentation's site in docs/_build, warnings as errors
#   make dist     build the source distribution and the wheel, in dist
#   make wheels   and a wheel for this platform and this Python that carries compiled code (takes minutes)
#   make check-dist  build them, install them in empty environments and try them there (takes minutes)
#   make test-lowest  tests of engine, environments, matches and training with the lowest versions that pyproject.toml allows
#   make release-check  is the version ready to be tagged? (clean tree, changelog, tag, wheel; takes minutes)
#   make address REPO=OWNER/NAME  fills in where the project lives: links, badges, notebooks
#   make bench    speed beside OpenSpiel (takes minutes)
#   make network  the network that ships, from scratch (takes hours; the same command goes on where it was stopped)
#   make levels   the dial and the responses of the levels, for the network that ships (takes half an hour)
#   make app      levels 1 to 3 for apps, and the page of examples/app with them (takes half an hour, and needs node)
#   make results  the shipped network against everybody, and the levels: the figures of docs/results.md (takes an hour)
#   make clean    remove caches and build products; distclean also removes .venv
#
# PYTHON=python3.12     another interpreter for the environment
# TORCH_INDEX=URL       another package index, for torch alone (a CPU or CUDA build); applies when torch is installed,
#                       so run `make distclean` first to change it later
# JOBS=2                processes that run the tests

PYTHON ?= python3
TORCH_INDEX ?=
JOBS ?= 2

VENV := .venv
BIN := $(VENV)/bin
# Modules are compiled to bytecode when they are first imported; most never are.
INSTALL := $(BIN)/python -m pip --disable-pip-version-check install --no-compile --constraint constraints.txt

# A stamp is touched when its step has succeeded; a later run repeats the step only if pyproject.toml or constraints.txt changed.
TRAINING := $(VENV)/.training-done
SETUP := $(VENV)/.setup-done
PEERS := $(VENV)/.peers-done
WARM := $(VENV)/.warm-done

RUN := runs/quick

.PHONY: setup peers web train lint format test docs dist wheels check-dist test-lowest release-check address bench network levels app results clean distclean

setup: $(SETUP)
peers: $(PEERS)

# Half an environment (a Python without ensurepip leaves one) would look finished to the next run, so it goes.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# torch goes first and alone, so that TORCH_INDEX serves nothing else; the next line finds it installed.
$(TRAINING): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) $(if $(TORCH_INDEX),--index-url "$(TORCH_INDEX)") torch
	$(INSTALL) --editable ".[train]"
	@touch $@

$(SETUP): $(TRAINING)
	$(INSTALL) --editable ".[web,dev]"
	@touch $@

$(PEERS): $(SETUP)
	$(INSTALL) open_spiel moviepy
	@touch $@

# So that nobody waits in front of a page or a silent terminal. Where everything is compiled already, it takes seconds.
$(WARM): $(SETUP) $(wildcard ginenv/*/*.py)
	$(BIN)/gin warm
	@touch $@

# Needs a third of the environment, and compiles what it uses on the way.
train: $(TRAINING)
	$(BIN)/python train.py --config configs/quick.yaml --out $(RUN) --export $(RUN)/export
	$(BIN)/python evaluate.py $(RUN)/export --against simple formula --games 500

web: $(WARM)
	$(BIN)/gin web

lint: $(SETUP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(SETUP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: lint
	$(BIN)/pytest --numprocesses $(JOBS) -m "not slow and not browser"

docs: $(SETUP)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build

dist: $(SETUP)
	$(BIN)/python -m build

wheels: dist
	$(BIN)/python .ci/wheels.py "$$(ls -t dist/ginenv-*-py3-none-any.whl | head -n 1)"

check-dist: $(SETUP)
	$(BIN)/pytest -rs tests/test_wheel.py

# `make setup` takes the newest versions, so `make test` is the other end. torch alone stays that of constraints.txt.
LOWEST := .venv-lowest
test-lowest: $(SETUP)
	$(INSTALL) uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(LOWEST)
	$(BIN)/uv pip install --quiet --python $(LOWEST) --resolution lowest-direct --constraint constraints.txt \
	  --editable ".[train,web,data,pettingzoo]"
	$(BIN)/uv pip install --quiet --python $(LOWEST) pytest hypothesis httpx2
	$(LOWEST)/bin/python -m pytest -m "not slow and not browser" tests/test_rules.py tests/test_engine.py tests/test_cards.py tests/test_env.py \
	  tests/test_vector.py tests/test_interfaces.py tests/test_cache.py tests/test_matches.py tests/test_training.py

# It tags nothing: its last line is the command that does.
release-check: $(SETUP)
	@test -z "$$(git status --porcelain)" || { git status --short; echo "uncommitted files: commit or remove them"; exit 1; }
	@version=$$($(BIN)/python -c 'import ginenv; print(ginenv.__version__)'); \
	newest=$$(sed -n 's/^## //p' CHANGELOG.md | head -n 1); tagged=$$(git rev-list -n 1 "v$$version" 2>/dev/null); \
	expr "$$version" : '[0-9]*\.[0-9]*\.[0-9]*$$' >/dev/null || { echo "version $$version is not X.Y.Z"; exit 1; }; \
	test "$$newest" = "$$version" || { echo "the changelog begins with $$newest, the version is $$version"; exit 1; }; \
	test -z "$$tagged" || test "$$tagged" = "$$(git rev-parse HEAD)" || { echo "v$$version is the tag of another commit"; exit 1; }
	$(BIN)/pytest -q tests/test_package.py -k version
	$(MAKE) docs dist check-dist
	@echo "ready: git tag v$$($(BIN)/python -c 'import ginenv; print(ginenv.__version__)')"

address:
	$(PYTHON) .ci/address.py $(REPO)

bench: $(PEERS)
	$(BIN)/python -m benchmarks.speed.beside_openspiel
	$(BIN)/python -m benchmarks.tables

# From scratch to the network that ships: the long run; twice a shorter one that goes on from what there is, much of it against bots, and the
# mean of the weights before and after it; then 200 M decisions that learn from the critic's value of every probable action, and the mean again.
ROUND := --config configs/rounds.yaml
network: $(SETUP)
	$(BIN)/python train.py --config configs/strong.yaml --out runs/strong
	$(BIN)/python train.py $(ROUND) --start runs/strong/last --out runs/round1
	$(BIN)/python -m benchmarks.data.average runs/strong/last runs/round1/last --out runs/mean
	$(BIN)/python train.py $(ROUND) --set seed=3 decisions=36000000 critic_warmup=1000000 pool_share=0.35 learning_rate=0.0006 \
	  --start runs/mean --out runs/round2
	$(BIN)/python -m benchmarks.data.average runs/mean runs/round2/last --out runs/averaged
	$(BIN)/python train.py --config configs/finish.yaml --start runs/averaged --out runs/finish
	$(BIN)/python -m benchmarks.data.average runs/averaged runs/finish/last --out runs/network
	cp runs/strong/curve.json runs/network/
	$(BIN)/python -m benchmarks.data.hand_model_fit runs/network

# From the network that ships to the levels: how they answer what they know of an opponent, and what every place of the dial scores.
levels: $(SETUP)
	$(BIN)/python -m benchmarks.data.responses
	$(BIN)/python -m benchmarks.data.dial

# The levels that an app plays without Python: those that ship, which are distilled where there are none yet, and examples/app/levels.js.
APPS := runs/app/level-1 runs/app/level-2 runs/app/level-3
app: $(SETUP)
	rm -rf runs/app agents/data/apps
	for app in $(APPS); do $(BIN)/gin export $$(basename $$app) --app $$app --minutes 60 || exit 1; done
	for app in $(APPS); do mkdir -p agents/data/apps/$$(basename $$app); \
	  cp $$app/app.json $$app/network.bin agents/data/apps/$$(basename $$app)/ || exit 1; done
	node examples/app/cli.mjs golden $(APPS)
	node examples/app/cli.mjs pack $(APPS)

# The shipped network on held-out deals: the members of its training pool, then held-out styles,
# and the network that shipped before.
RIVALS := simple formula camper knocker easy style:base=prefers-runs style:base=keeps-high \
	style:base=takes-none style:base=knocker,turns=2 style:base=camper,danger=0 benchmarks/checkpoints/previous
PRESETS := dg-simple dg-standard dg-oklahoma gr gr-oklahoma ht1 ht2-simple ht2-traditional gc gc-oklahoma openspiel
GAMES := 10000

results: $(PEERS)
	$(BIN)/python evaluate.py network openspiel-simple --rules eaai --games 2000 --batch 60 --seed 31 \
	  --out benchmarks/results/network-eaai-openspiel-simple.json
	for rival in $(RIVALS); do \
	  $(BIN)/python evaluate.py network $$rival --rules eaai --games $(GAMES) --seed 31 --workers 2 \
	    --out benchmarks/results/network-eaai-$$(echo $$rival | tr -c 'a-z0-9\n' -).json || exit 1; done
	for rules in $(PRESETS); do \
	  $(BIN)/python evaluate.py network formula --rules $$rules --hands $(GAMES) --seed 32 --workers 2 \
	    --out benchmarks/results/network-rules-$$rules.json || exit 1; done
	$(BIN)/python -m benchmarks.levels.measure
	$(BIN)/python -m benchmarks.tables

clean:
	rm -rf build dist docs/_build *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV) $(LOWEST)
