/* Outputs and answers with numbers in any shape. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "agent/grounding.h"
#include "agent/number.h"

#include <math.h>

enum { GAPS_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const char *text = (const char *)data;
	struct grounding g = {0};
	struct grounding_gap gaps[GAPS_MAX];
	struct number n;
	size_t last = 0;
	for (size_t at = 0; number_next(text, bytes, &at, &n);) {
		MUST(at > last && at <= bytes && n.at + n.bytes <= at && n.bytes > 0);
		MUST(n.n_readings > 0 && n.n_readings <= NUMBER_READINGS_MAX);
		for (size_t i = 0; i < n.n_readings; i++)
			MUST(!isnan(n.readings[i].value) && n.readings[i].unit >= 0);
		last = at;
	}
	size_t n_gaps = grounding_check(&g, text, bytes, gaps, GAPS_MAX);
	for (size_t i = 0; i < n_gaps && i < GAPS_MAX; i++)
		MUST(gaps[i].bytes > 0 && gaps[i].at + gaps[i].bytes <= bytes);
	MUST(grounding_add(&g, text, bytes) == 0);
	/* What comes from itself has fewer gaps than what comes from nothing. */
	MUST(grounding_check(&g, text, bytes, gaps, GAPS_MAX) <= n_gaps);
	grounding_done(&g);
	return 0;
}
