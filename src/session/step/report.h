/* Frames of a driver, checked and taken into a record. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "session/step/record.h"
#include "session/step/step.h"

/* More than any honest report has. It bounds what a hostile one costs to parse and hold, about 100
 * bytes for each part. All displays of a step together have the same bound. */
enum {
	REPORT_PARTS_MAX = 250000,
	REPORT_MIMES_MAX = 32,
	REPORT_DISPLAYS_MAX = 256,
	REPORT_VARIABLES_MAX = 21,
	REPORT_NAME_BYTES = 256
};

/*
 * Take the RESULT of @step into @record and @end.
 * Returns: 1; or 0 when it is the RESULT of an earlier step, which ended in another way: nothing
 * has changed then. Errors:  ERR_PROTOCOL; nothing has changed then.
 */
int report_result(const char *data, size_t bytes, uint64_t step, struct record *record,
	struct step_end *end, struct err *err);

/*
 * Take a DISPLAY. Beyond REPORT_DISPLAYS_MAX, REPORT_PARTS_MAX or the output limit it is counted
 * and dropped, unread. Returns: 1 and *out borrowed from the record when it was kept, 0 when
 * dropped. Errors:  ERR_PROTOCOL.
 */
int report_display(
	const char *data, size_t bytes, struct record *record, const json_t **out, struct err *err);
