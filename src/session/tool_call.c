/* SPDX-License-Identifier: Apache-2.0 */
#include "session/tool_call.h"

json_t *tool_call_error(const char *name, const char *message, const char *hint)
{
	return json_pack("{s:{s:s, s:s, s:s*}}", "error", "name", name, "message", message, "hint",
		hint);
}

void tool_call_answer(struct tool_call *call, json_t *answer, bool is_untrusted)
{
	(void)call;
	(void)is_untrusted;
	json_decref(answer);
}
