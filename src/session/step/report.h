/* Checks frames of a driver and copies them into a record. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "session/step/record.h"
#include "session/step/step.h"

/*
 * Limits of a report. No honest driver reaches them. They bound the cost of parsing and storing a
 * hostile report: each JSON value (a part) takes about 100 bytes. REPORT_PARTS_MAX also limits all
 * displays of a step together.
 */
enum {
	REPORT_PARTS_MAX = 250000,
	REPORT_MIMES_MAX = 32,
	REPORT_DISPLAYS_MAX = 256,
	REPORT_VARIABLES_MAX = 21,
	REPORT_NAME_BYTES = 256,
	REPORT_CLEARS_MAX = 10000 /* later ones are dropped */
};

/*
 * Copy the RESULT of @step into @record and @end.
 * Returns: 1; or 0 if the RESULT belongs to an earlier step, which was ended before its driver
 * responded. After 0 or an error, nothing was copied.
 * Errors:  ERR_PROTOCOL.
 */
int report_result(const char *data, size_t bytes, uint64_t step, struct record *record,
	struct step_end *end, struct err *err);

/*
 * Copy a DISPLAY into @record. If it exceeds REPORT_DISPLAYS_MAX, REPORT_PARTS_MAX or the output
 * limit, it is counted and dropped without parsing.
 * *@about: what a page does with it, for step_listener.display; NULL if it only shows it. Owns: the
 * caller decrefs.
 * Returns: 1, and *out borrowed from the record, NULL if the frame only clears the page; 0 if the
 * display was dropped.
 * Errors:  ERR_PROTOCOL.
 */
int report_display(const char *data, size_t bytes, struct record *record, const json_t **out,
	json_t **about, struct err *err);
