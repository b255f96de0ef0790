/* Schemas and results of a hostile server. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "tool/fit.h"
#include "tool/result.h"

#include <stdlib.h>

/* A schema, a NUL, a value; the schema is a result as well. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const uint8_t *part;
	json_error_t wrong;
	struct err err = {0};
	size_t n = fuzz_part(&data, &bytes, &part);
	json_t *schema = json_loadb((const char *)part, n, JSON_DECODE_ANY, &wrong);
	json_t *value = json_loadb((const char *)data, bytes, JSON_DECODE_ANY, &wrong), *out = NULL;
	bool is_error = false;
	if (schema && value && fit_check(schema, value, &err) < 0)
		MUST(err.msg[0]);
	if (schema && result_read(schema, &out, &is_error, &err) == 0)
		MUST(out && (!is_error || json_is_string(out)));
	json_decref(out);
	json_decref(schema);
	json_decref(value);
	return 0;
}
