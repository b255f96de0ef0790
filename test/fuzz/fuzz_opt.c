/* Command lines: words apart by NUL. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/opt.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 300 };

struct args {
	bool quiet;
	const char *code;
	uint64_t memory, timeout, pids, cpus;
	int color;
	struct opt_list volumes;
};

static const struct opt opts[] = {
	{.name = "quiet", .letter = 'q', OPT_INTO_FLAG(struct args, quiet)},
	{.name = "code",
		.letter = 'c',
		OPT_INTO_TEXT(struct args, code),
		.flags = OPT_ENDS,
		.arg = "CODE"},
	{.name = "memory",
		.letter = 'm',
		OPT_INTO_BYTES(struct args, memory),
		.arg = "SIZE",
		.min = 16,
		.max = 1 << 30},
	{.name = "timeout", OPT_INTO_MS(struct args, timeout), .arg = "TIME", .min = 1},
	{.name = "pids", OPT_INTO_COUNT(struct args, pids), .arg = "N"},
	{.name = "cpus", OPT_INTO_CPU_MILLI(struct args, cpus), .arg = "N"},
	{.name = "color",
		OPT_INTO_CHOICE(struct args, color),
		.arg = "WHEN",
		.choices = "auto|always|never"},
	{.name = "volume", .letter = 'v', OPT_INTO_LIST(struct args, volumes), .arg = "V"},
};

/* Does the word stand among those given? */
static bool is_given(char *const *words, int n, const char *word)
{
	for (int i = 1; i < n; i++)
		if (words[i] == word)
			return true;
	return false;
}

static void check_parsed(const struct args *args, int at, int n, char **words, char *const *given)
{
	MUST(at >= 1 && at <= n);
	for (int i = at; i < n; i++)
		MUST(is_given(given, n, words[i]));
	MUST(args->memory == 0 || (args->memory >= 16 && args->memory <= 1 << 30));
	MUST(args->color >= 0 && args->color <= 2);
	MUST(args->volumes.n <= OPT_LIST_MAX);
	for (size_t i = 0; i < args->volumes.n; i++)
		MUST(args->volumes.item[i] != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char name[] = "retort", *words[WORDS_MAX + 1] = {name}, *given[WORDS_MAX + 1];
	char *text = fuzz_text(data, bytes);
	int n = 1;
	for (size_t at = 0; at < bytes && n < WORDS_MAX; at += strlen(text + at) + 1)
		words[n++] = text + at;
	memcpy(given, words, sizeof given);
	for (int stop = 0; stop < 2; stop++) {
		struct args args = {0};
		struct err err = {0};
		struct opt_set set = OPT_SET(opts, sizeof opts / sizeof opts[0], &args);
		set.stop_at_operand = stop;
		memcpy(words, given, sizeof given);
		int r = opt_parse(&set, n, words, &err);
		if (r >= 0)
			check_parsed(&args, r, n, words, given);
		else
			MUST(err.code == ERR_USAGE || err.code == ERR_LIMIT);
	}
	free(text);
	return 0;
}
