/* Points in time: what is read is within bounds, what is not is left alone.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "cli/when.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const int64_t untouched = -5;
	char *text = fuzz_text(data, bytes);
	int64_t ns = untouched;
	struct err err = {0};
	if (when_parse(text, &ns, &err) == 0)
		MUST(ns >= 0 && ns < INT64_C(7258118400000000000));
	else
		MUST(ns == untouched && err.code == ERR_USAGE && err.hint[0]);
	free(text);
	return 0;
}
