/* What a planner that is another's says to the engine. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "planner/plan.h"
#include "planner/planner.h"
#include "planner/planner_frame.h"

#include <string.h>

/* A result has its status and known fields of their kinds, whatever was said. */
static void check_result(const json_t *said, bool is_run)
{
	json_t *result = planner_result(said, is_run), *value;
	const char *name;
	if (!result)
		return;
	json_int_t status = json_integer_value(json_object_get(result, "status"));
	MUST(status >= PLAN_OK && status <= PLAN_DENIED);
	MUST(json_is_array(json_object_get(result, "diagnostics")));
	MUST(is_run || !json_object_get(result, "stdout"));
	json_object_foreach(result, name, value)
	{
		MUST(json_equal(json_object_get(said, name), value) ||
			(strcmp(name, "diagnostics") == 0 && json_array_size(value) == 0));
	}
	MUST(json_object_size(result) <= 10);
	json_decref(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct planner_head head;
	struct err err = {0};
	while (bytes >= sizeof head) {
		memcpy(&head, data, sizeof head);
		data += sizeof head;
		bytes -= sizeof head;
		if (!planner_head_is_valid(&head, PLANNER_GIVES_BYTES) || head.bytes > bytes)
			return 0;
		json_t *said = planner_body((const char *)data, head.bytes);
		MUST(!said || json_is_object(said));
		if (said && planner_get_error(said, &err)) {
			MUST(err.code > ERR_NONE && err.code < ERR_END_ && err_errno(err.code) > 0);
			MUST(memchr(err.msg, '\0', sizeof err.msg) &&
				memchr(err.hint, '\0', sizeof err.hint));
		}
		if (said) {
			check_result(said, false);
			check_result(said, true);
		}
		json_decref(said);
		data += head.bytes;
		bytes -= head.bytes;
	}
	return 0;
}
