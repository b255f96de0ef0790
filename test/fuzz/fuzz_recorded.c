/* Recordings by strangers. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "agent/wire/recording.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct recording rec;
	struct err err = {0};
	if (recorded_parse(&rec, (const char *)data, bytes, &err) < 0) {
		MUST(err.code != ERR_NONE && err.msg[0]);
		return 0;
	}
	for (int i = 0; i < 4; i++) {
		struct reduction *r = malloc(sizeof *r);
		struct failure why = {0};
		MUST(r);
		reduction_init(r, NULL, NULL, NULL, NULL);
		int n = recorded_answer(&rec, "a b", "b", r, &why);
		MUST(n == 0 || why.class != FAILURE_NONE);
		MUST(n < 0 || reduction_finish(r, 8) == 0);
		reduction_done(r);
		free(r);
	}
	recorded_done(&rec);
	return 0;
}
