# A thin front for CMake: the build itself is in CMakeLists.txt and cmake/.
.DEFAULT_GOAL := all
.PHONY: all help build-it test-it demo test test-programs test-packages soak cross bench fuzz single-header web install dist deb format clean

PRESET ?= default
BUILD ?= build$(if $(filter-out default,$(PRESET)),/$(PRESET))
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 600
CMAKE_FLAGS ?=
PYTHON := /usr/bin/python3
SETUP := tools/setup.sh
# Read when a recipe runs: set-up may have installed ninja just before. A build tree keeps the generator that it began with.
generator = $(if $(wildcard $(BUILD)/CMakeCache.txt),,$(if $(wildcard /usr/bin/ninja /usr/local/bin/ninja),-G Ninja))

## make                   build the tool and its library into build/
all:
	@$(SETUP) build
	@$(MAKE) --no-print-directory build-it

build-it:
	@mkdir -p $(BUILD)
	@cmake --preset $(PRESET) -B $(BUILD) $(generator) $(CMAKE_FLAGS) >$(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }
	@cmake --build $(BUILD) -j $(JOBS) $(if $(TARGETS),--target $(TARGETS))

## make demo              build, record a real program and print its report
demo:
	@$(SETUP) build demo
	@$(MAKE) --no-print-directory build-it
	@examples/demo/run.sh $(BUILD)

## make test              build and run every test (those of many programs: the ones that install in seconds)
test:
	@$(SETUP) build demo test fuzz web
	@tools/build_page.sh --install || echo "make test: web/node_modules is not there: the page is not tested" >&2
	@$(SETUP) --packages $$($(PYTHON) tests/programs/program_table.py --packages quick)
	@$(MAKE) --no-print-directory build-it TARGETS="all unit-tests"
	@$(MAKE) --no-print-directory test-it

test-it:
	@tools/check_format.sh
	@tools/run_tests.sh $(BUILD)
	@echo "unit tests under AddressSanitizer and UndefinedBehaviorSanitizer:"
	@$(MAKE) --no-print-directory build-it PRESET=fuzz BUILD=$(BUILD)/fuzz TARGETS="unit-tests fuzz-targets"
	@tools/run_tests.sh $(BUILD)/fuzz -L unit
	@FUZZ_SECONDS=60 tools/run_fuzz.sh $(BUILD)
	@echo "the recorder for 64-bit Arm, under qemu-user:"
	@[ "$$(uname -m)" != x86_64 ] || HW_BUILD=$(abspath $(BUILD)) tools/cross.sh arm64 check

## make test-programs     the same output with and without the recorder, for all the programs
test-programs:
	@$(SETUP) build test
	@$(SETUP) --packages $$($(PYTHON) tests/programs/program_table.py --packages all)
	@$(MAKE) --no-print-directory build-it
	@HW_BUILD=$(abspath $(BUILD)) HW_PROGRAMS=all $(PYTHON) -B -m pytest -q -rs --tb=short -p no:cacheprovider tests/programs

## make soak              kills recordings with --keep at 200 random moments; an hour of random calls of malloc on the heap, its settings, and the forms of the annotator
soak:
	@$(SETUP) build test
	@$(MAKE) --no-print-directory build-it
	@HW_BUILD=$(abspath $(BUILD)) HW_KILLS=200 $(PYTHON) -B -m pytest -q --rootdir tests -p no:cacheprovider tests/launch/test_keep.py
	@HW_BUILD=$(abspath $(BUILD)) HW_SOAK_SECONDS=1800 $(PYTHON) -B -m pytest -q --rootdir tests -p no:cacheprovider tests/allocators/test_thread_heaps.py -k soak
	@HW_BUILD=$(abspath $(BUILD)) HW_FORKS=400 $(PYTHON) -B -m pytest -q --rootdir tests -p no:cacheprovider tests/allocators/test_fork.py
	@HW_BUILD=$(abspath $(BUILD)) HW_CONFIGS=all $(PYTHON) -B -m pytest -q --rootdir tests -p no:cacheprovider tests/conform/test_heap_configs.py tests/allocators/test_annotate.py -k "configs or rules"

## make bench             the figures of docs/benchmarks.md, next to heaptrack's, of docs/pool.md and docs/heap-figures.md (BENCH_FLAGS=--document writes all)
bench:
	@$(SETUP) build bench web
	@tools/build_page.sh --install || echo "make bench: web/node_modules is not there: the page is not measured" >&2
	@$(MAKE) --no-print-directory build-it
	@bench/run.sh $(BUILD)
	@$(PYTHON) -B bench/pool.py --build $(BUILD) $(filter --document,$(BENCH_FLAGS))
	@$(PYTHON) -B bench/pool_mix.py --build $(BUILD) $(filter --document,$(BENCH_FLAGS))
	@$(PYTHON) -B bench/heap.py --build $(BUILD) $(filter --document,$(BENCH_FLAGS))

## make fuzz              the readers of files under libFuzzer, for FUZZ_SECONDS (600) of a processor
fuzz:
	@$(SETUP) build fuzz
	@$(MAKE) --no-print-directory build-it
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/run_fuzz.sh $(BUILD)

## make cross             build for 64-bit and 32-bit Arm, RISC-V and Windows, into build/arm64, armhf, riscv64 and windows; test with qemu-user and wine
cross:
	@$(SETUP) build
	@tools/cross.sh arm64 test
	@tools/cross.sh armhf test
	@tools/cross.sh riscv64 test
	@tools/cross.sh windows test

## make single-header     the pool of pool.h and the heap of heap.h as one file each, build/heapwright-pool.h and -heap.h
single-header:
	@$(SETUP) build
	@$(MAKE) --no-print-directory build-it TARGETS=single-header

## make web               the page of HTML reports, web/dist/page.html, from web/src
web:
	@$(SETUP) web
	@tools/build_page.sh

## make install           into PREFIX (/usr/local), below DESTDIR
install: all
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)

## make dist              the committed sources as build/dist/heapwright-VERSION.tar.xz
dist:
	@$(SETUP) dist
	@packaging/dist.sh $(BUILD)/dist

## make deb               Debian packages of the committed sources in build/deb, checked by lintian
deb:
	@$(SETUP) build dist deb
	@DEB_BUILD_OPTIONS="$${DEB_BUILD_OPTIONS-nocheck}" packaging/deb.sh $(BUILD)/deb

## make test-packages     the Debian packages, also those of two architectures together, and the container in bare Debian machines; only as root
test-packages:
	@$(SETUP) build dist deb packages
	@packaging/deb.sh $(BUILD)/deb
	@packaging/test.sh $(BUILD)/deb $(BUILD)/machines

## make format            apply .clang-format
format:
	@$(SETUP) format
	@tools/check_format.sh --fix

## make clean             remove build/
clean:
	@rm -rf build

## make help              this list; PRESET=debug|asan|tsan builds into build/PRESET
help:
	@sed -n 's/^## //p' Makefile
