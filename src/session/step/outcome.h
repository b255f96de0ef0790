/* How a step ended, and what became of its state. SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* ORDER status: words in record.c. */
enum record_status {
	RECORD_OK,
	RECORD_ERROR,
	RECORD_TIMEOUT,
	RECORD_OOM,
	RECORD_KILLED,
	RECORD_DENIED,
	RECORD_STATUS_END_
};

/* ORDER outcome: words in record.c. */
enum record_outcome {
	RECORD_COMMITTED,
	RECORD_ROLLED_BACK,
	RECORD_REPLAYED,
	RECORD_DIVERGED,
	RECORD_LOST,
	RECORD_OUTCOME_END_
};

/* "ok", "timeout", … */
const char *record_status_word(enum record_status status);

/* "committed", "rolled_back", … */
const char *record_outcome_word(enum record_outcome outcome);
