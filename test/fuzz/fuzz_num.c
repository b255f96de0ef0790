/* Numbers: what is read is in range, and reads back from how it is shown. SPDX-License-Identifier:
 * Apache-2.0 */
#include "fuzz.h"

#include "base/num.h"

#include <stdlib.h>
#include <string.h>

static const struct kind {
	int (*parse)(const char *text, struct num_range range, uint64_t *value, struct err *err);
	struct num_text (*format)(uint64_t value);
} kinds[] = {
	{num_parse_bytes, num_format_bytes},
	{num_parse_ms, num_format_ms},
	{num_parse_count, num_format_count},
	{num_parse_cpu_milli, num_format_cpu_milli},
};

static void check(const struct kind *kind, const char *text, struct num_range range)
{
	const uint64_t untouched = UINT64_C(0x5a5a5a5a5a5a5a5a);
	uint64_t value = untouched, again;
	struct err err = {0};
	if (kind->parse(text, range, &value, &err) < 0) {
		MUST(value == untouched);
		MUST(err.code == ERR_USAGE && err.hint[0]);
		return;
	}
	MUST(value >= range.min && value <= range.max);
	struct num_text shown = kind->format(value);
	MUST(memchr(shown.text, '\0', sizeof shown.text));
	MUST(kind->parse(shown.text, NUM_ANY, &again, &err) == 0);
	MUST(again <= value && value - again <= value / 50); /* rounded down to two decimals */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = fuzz_text(data, bytes);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		check(&kinds[i], text, NUM_ANY);
		check(&kinds[i], text, (struct num_range){10, 1000000});
	}
	free(text);
	return 0;
}
