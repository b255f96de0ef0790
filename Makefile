# Verbs only; the build itself is meson's. SPDX-License-Identifier: Apache-2.0
BUILD ?= build
PREFIX ?= /usr/local
SECONDS_EACH ?= 60
TAG = yes
export PYTHONDONTWRITEBYTECODE = 1

# A build directory knows where its source stood: where the tree was moved, ninja would never come to an end.
all: $(BUILD)/build.ninja ## build, as `make` alone does (V=1 shows the commands)
	@grep -qsF -- '$(CURDIR)' $(BUILD)/build.ninja || { \
	  echo "retort: this tree was moved since it was configured, or $(BUILD) is another's: configuring anew" >&2; \
	  rm -rf $(BUILD)/build.ninja $(BUILD)/meson-private $(BUILD)/meson-info; \
	  $(MAKE) --no-print-directory $(BUILD)/build.ninja; }
	@ninja -C $(BUILD) $(if $(V),-v)

$(BUILD)/build.ninja:
	@meson setup $(BUILD) --prefix=$(PREFIX) >$(BUILD).log 2>&1 || { cat $(BUILD).log; rm -rf $(BUILD) $(BUILD).log; \
	  echo "retort: configuring failed: 'make deps' installs what is missing" >&2; exit 1; }
	@rm -f $(BUILD).log

deps:           ## install what building, the demo and the tests need (Debian, Ubuntu)
	@dev/install-deps

demo: deps      ## build, and run the main job on real data
	@$(MAKE) --no-print-directory all
	@demo/run $(BUILD)/retort

test: deps      ## install what is missing, build, run every test
	@$(MAKE) --no-print-directory check

check: all      ## run every test
	@/usr/bin/python3 test/run.py $(BUILD) $(TESTARGS)

check-fast: all ## the unit tests, the fuzz targets over their corpora, the rules of the house: under a minute
	@/usr/bin/python3 test/run.py $(BUILD) --suite unit,fuzz,house

test-both: all  ## every system and escape test as root and as user, also where its claim is the same for both
	@/usr/bin/python3 test/run.py $(BUILD) --identity both $(TESTARGS)

asan:           ## unit, driver and system tests under AddressSanitizer and UBSan
	@test -d build-asan || CC=gcc meson setup build-asan -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
	@ninja -C build-asan
	@ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 /usr/bin/python3 test/run.py build-asan $(TESTARGS)

fuzz:           ## each fuzz target for SECONDS_EACH
	@dev/run_fuzz.sh $(SECONDS_EACH)
	@ninja -C $(BUILD) test/test-plan_flow test/test-plan_foreseen >/dev/null
	@for name in flow foreseen; do RETORT_PLANS=100000 $(BUILD)/test/test-plan_$$name || exit 1; done

mutants:        ## leave out each join of labels once: does a test notice? (MUTANTARGS: -k PATTERN, --seconds N)
	@/usr/bin/python3 test/mutants/mutants.py $(MUTANTARGS)

soak: all      ## thousands of sessions with random kills: leaks, stuck sessions (SOAKARGS: counts)
	@RETORT=$(BUILD)/retort /usr/bin/python3 test/soak/soak.py $(SOAKARGS)

load: all      ## 200 clients with mixed work for ten minutes (LOADARGS: counts)
	@/usr/bin/python3 test/load/load.py $(BUILD)/retort $(LOADARGS)

test-long: deps ## what takes long; says how long at its start (LONGARGS: names of parts)
	@dev/install-deps "libpython$$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')-testsuite"
	@$(MAKE) --no-print-directory all
	@/usr/bin/python3 test/long/long.py $(BUILD) $(LONGARGS)

test-cpython: deps ## of test-long: CPython's own test suite in boxes, half an hour (CPYTHONARGS: -k MODULE, --jobs N)
	@dev/install-deps "libpython$$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')-testsuite"
	@$(MAKE) --no-print-directory all
	@/usr/bin/python3 test/long/cpython.py $(BUILD) $(CPYTHONARGS)

hosts: all     ## show retort in two real agents, with a model that is a script (npm; HOSTSARGS)
	@test/interop/hosts/run --retort $(BUILD)/retort $(HOSTSARGS)

units: all     ## the systemd units under a systemd that runs (root, debootstrap, systemd-container)
	@test/systemd/run $(BUILD) $(UNITSARGS)

vm: all        ## a Debian with cgroup v2, emulated, and retort in it (root, debootstrap, qemu; VMARGS: --all)
	@test/vm/run $(BUILD) $(VMARGS)

bench: all      ## measure against peers; raw data in build/bench
	@/usr/bin/python3 test/bench/bench.py $(BUILD)/retort
	@/usr/bin/python3 test/bench/sessions.py $(BUILD)/retort
	@/usr/bin/python3 test/bench/fronts.py $(BUILD)/retort
	@/usr/bin/python3 test/bench/fair.py $(BUILD)/retort
	@/usr/bin/python3 test/bench/plan.py $(BUILD)/retort
	@/usr/bin/python3 test/bench/candidates.py $(BUILD)/retort
	@/usr/bin/python3 test/bench/processes.py $(BUILD)/retort
	@/usr/bin/python3 test/bench/ports.py $(BUILD)/retort
	@/usr/bin/python3 test/bench/network.py $(BUILD)/retort
	@/usr/bin/python3 test/bench/http_rules.py $(BUILD)/retort
	@/usr/bin/python3 test/bench/packages.py $(BUILD)/retort
	@/usr/bin/python3 test/bench/templates.py $(BUILD)/retort
	@/usr/bin/python3 test/bench/ssh.py $(BUILD)/retort
	@/usr/bin/python3 test/bench/images.py $(BUILD)/retort
	@/usr/bin/python3 test/bench/image_boxes.py $(BUILD)/retort

lint:           ## both compilers, clang-tidy, layers, sizes, formats
	@dev/lint.sh

docs: all       ## write what is generated: errors.md, api.md, a table of fidelity.md, and the picture
	@dev/check_layers.py --write && dev/gen_errors.py && dev/gen_fate.py && test/long/cpython.py --docs && RETORT=$(BUILD)/retort dev/gen_api.py && dev/make_picture.py $(BUILD)/retort

format:         ## format all C
	@find src drivers test -name '*.[ch]' -exec clang-format -i {} +

hooks:          ## have git check each commit: its subject, formats, layers
	@git config core.hooksPath .githooks

dist:           ## check, write build/dist/retort-VERSION.tar.gz, tag the commit (TAG= makes no tag)
	@dev/dist $(if $(TAG),--tag) $(BUILD)/dist

install: all    ## install below PREFIX (DESTDIR is honoured)
	@meson configure $(BUILD) --prefix=$(PREFIX) >/dev/null
	@ninja -C $(BUILD) >$(BUILD)/install.log || { cat $(BUILD)/install.log; exit 1; }
	@meson install -C $(BUILD) --no-rebuild --quiet
	@dev/after-install $(PREFIX) $(DESTDIR)

clean:          ## remove what was built
	rm -rf build build-asan build-fuzz build-lint-gcc build-lint-clang

help:           ## list these
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20

.PHONY: all deps demo test check check-fast test-both asan fuzz mutants soak load test-long test-cpython hosts units vm bench lint docs format hooks dist install clean help
