/* RESULT and DISPLAY as a hostile driver writes them. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/utf8.h"
#include "session/step/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Whatever was taken over can be printed, as UTF-8. */
static void print(struct record *record, const struct step_end *end)
{
	step_judge(record, end);
	json_t *json = record_json(record);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	MUST(text != NULL);
	MUST(utf8_is_valid(text, strlen(text)));
	free(text);
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const struct limits limits = {.value = {[LIMIT_output_bytes] = 4096}};
	struct record record;
	struct step_end end = {0};
	struct err err = {0};
	const json_t *out = NULL;
	json_t *about = NULL;
	const char *text = (const char *)data;
	record_init(&record, &limits);
	record.runtime = "python";
	int r = report_display(text, bytes, &record, &out, &about, &err);
	MUST((r == 1) == (out || about));
	MUST((out != NULL) == (json_array_size(record.displays) == 1));
	MUST(record.displays_bytes == (out ? bytes : 0));
	json_decref(about);
	MUST(r >= 0 || err.code == ERR_PROTOCOL);
	r = report_result(text, bytes, 1, &record, &end, &err);
	MUST(r == 1 || r == 0 || r == -EPROTO);
	MUST(end.has_result == (r == 1));
	MUST(end.exit_code >= 0 && end.exit_code <= 255);
	MUST(r == 1 || (!record.value && !record.error));
	if (r < 0) {
		end.cause = STEP_CAUSE_PROTOCOL;
		end.why = err.msg;
	}
	print(&record, &end);
	MUST(r == 0 || json_is_string(json_object_get(record.error, "message")));
	record_done(&record);
	return 0;
}
