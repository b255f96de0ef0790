/* A TOOL frame as a hostile driver writes it. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/utf8.h"
#include "session/step/tool_log.h"
#include "session/tool_frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tool_frame f;
	struct err err = {0};
	struct tool_log log = {0};
	size_t n;
	char *copy = malloc(bytes + 1); /* exact, so that reading past it is seen */
	MUST(copy != NULL);
	if (bytes > 0)
		memcpy(copy, data, bytes);
	int r = tool_frame_read(&f, copy, bytes, &err);
	free(copy);
	MUST(r == 0 || (r == -EPROTO && err.code == ERR_PROTOCOL && !f.json && !f.error));
	if (r < 0)
		return 0;
	MUST(f.number > 0 && !f.json != !f.error);
	if (f.json) {
		size_t name_bytes = strlen(f.name);
		MUST(name_bytes > 0 && name_bytes <= TOOL_NAME_MAX);
		MUST(utf8_is_valid(f.name, name_bytes) && json_is_object(f.arguments));
		MUST(tool_log_add(&log, f.name, f.arguments, &n) == 0 && n >= 2);
		tool_log_answer(&log, 0, "{\"value\":1}", 1, false);
		tool_log_done(&log);
	} else {
		MUST(json_is_string(json_object_get(json_object_get(f.error, "error"), "name")));
	}
	tool_frame_done(&f);
	return 0;
}
