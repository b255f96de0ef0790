#!/bin/sh
# Both compilers with warnings as errors, clang-tidy, formats, the tree's own rules, shell scripts.
# What a machine has no tool for is said and left out. SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2317 # step calls them
set -u

cd "$(dirname "$0")/.." || exit 1
status=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

has() {
	command -v "$1" >/dev/null 2>&1 && return 0
	echo "skip  $2: no $1 here"
	return 1
}

# step NAME COMMAND…: silent when it goes well.
step() {
	name=$1
	shift
	if "$@" >"$log" 2>&1; then
		echo "ok    $name"
	else
		status=1
		echo "FAIL  $name"
		cat "$log"
	fi
}

build() {
	if [ ! -f "build-lint-$1/build.ninja" ]; then
		CC=$1 meson setup "build-lint-$1" -Dwerror=true || return 1
	fi
	ninja -C "build-lint-$1"
}

tidy() {
	find src -name '*.c' -print0 | xargs -0 -P "$(nproc)" -n 4 clang-tidy -p build-lint-clang --quiet
}

format() {
	find src drivers test -name '*.[ch]' -exec clang-format --dry-run --Werror {} +
}

shell() {
	find . \( -path './build*' -o -path ./.git \) -prune -o -type f -print | while read -r file; do
		head -n 1 "$file" | grep -qE '^#! ?(/usr)?/bin/(env )?(ba|da)?sh' && echo "$file"
	done | xargs shellcheck -x
}

for check in layers size docs; do
	step "check_$check" /usr/bin/python3 "dev/check_$check.py"
done
has shellcheck "shell scripts" && step shellcheck shell
has clang-format "formats" && step clang-format format
step gcc build gcc
if has clang "a second compiler"; then
	step clang build clang
	has clang-tidy "clang-tidy" && step clang-tidy tidy
fi
exit $status
