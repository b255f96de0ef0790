#!/bin/sh
# Build the fuzz targets with libFuzzer in build-fuzz and run each for SECONDS (60), starting from its
# corpus. What is found new goes to build-fuzz/corpus, never into the tree. Exit status 1 on any crash.
# usage: dev/run_fuzz.sh [SECONDS [TARGET…]]    SPDX-License-Identifier: Apache-2.0
set -eu

cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
build=${BUILD_FUZZ:-build-fuzz}
if ! command -v clang >/dev/null 2>&1; then
	echo "dev/run_fuzz.sh: no clang: apt-get install clang" >&2
	exit 1
fi
if [ ! -f "$build/build.ninja" ]; then
	CC=clang meson setup "$build" -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false \
		-Dc_args=-fsanitize=fuzzer-no-link -Dc_link_args=-fsanitize=fuzzer-no-link >/dev/null
fi

# Only the targets: the rest of the tree is not what is fuzzed.
names=$*
if [ -z "$names" ]; then
	for file in test/fuzz/fuzz_*.c; do
		name=${file##*/fuzz_}
		names="$names ${name%.c}"
	done
fi
targets=
for name in $names; do
	targets="$targets test/fuzz-$name"
done
# shellcheck disable=SC2086 # a list of words
ninja -C "$build" $targets >"$build/ninja.log" || { cat "$build/ninja.log" >&2; exit 1; }

status=0
for name in $names; do
	found=$build/corpus/$name
	mkdir -p "$found"
	log=$build/fuzz-$name.log
	if "$build/test/fuzz-$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=65536 \
		-print_final_stats=1 -artifact_prefix="$build/crash-$name-" "$found" "test/fuzz/corpus/$name" \
		>"$log" 2>&1; then
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
		echo "ok    $name: $runs runs, $(find "$found" -type f | wc -l) new inputs"
	else
		status=1
		echo "CRASH $name: see $log; the input is $build/crash-$name-*"
		tail -n 30 "$log"
	fi
done
exit $status
