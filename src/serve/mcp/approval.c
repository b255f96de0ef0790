/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/approval.h"

#include "api/row/param.h"

#include <string.h>

static const char key[] = "approve";

json_t *mcp_approval_question(json_t *text, const char *description)
{
	return json_pack("{s:s, s:{s:o, s:{s:s, s:{s:{s:s, s:s, s:s}}, s:[s]}}}", "method",
		"elicitation/create", "params", "message", text, "requestedSchema", "type",
		"object", "properties", key, "type", "boolean", "title", "Allow", "description",
		description, "required", key);
}

bool mcp_approval_is_given(const json_t *answer)
{
	return strcmp(param_text(answer, "action", ""), "accept") == 0 &&
		json_is_true(json_object_get(json_object_get(answer, "content"), key));
}
