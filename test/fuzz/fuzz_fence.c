/* Text of a model: where its first block ends, whole and in pieces. SPDX-License-Identifier:
 * Apache-2.0
 */
#include "fuzz.h"

#include "agent/fence.h"

static ssize_t find(const char *data, size_t bytes, size_t step)
{
	struct fence f = FENCE_INIT;
	for (size_t at = 0; at < bytes; at += step) {
		size_t n = step < bytes - at ? step : bytes - at;
		ssize_t end = fence_feed(&f, data + at, n);
		MUST(end >= -1 && end <= (ssize_t)n);
		if (end >= 0)
			return (ssize_t)at + end;
	}
	return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	ssize_t whole = find((const char *)data, bytes, bytes);
	MUST(find((const char *)data, bytes, 1) == whole);
	MUST(whole < 0 || data[whole - 1] == '\n' || data[whole - 1] == '>');
	return 0;
}
