/* How a loop ends. SPDX-License-Identifier: Apache-2.0 */
#pragma once

enum loop_end {
#define X(symbol, word) LOOP_##symbol,
#include "agent/loop/loop.def"
#undef X
	LOOP_ENDS_
};

#define LOOP_END_CHOICES "ok|failed|check_failed|error|steps|budget|stuck|interrupted"

/* "ok", "failed", … */
const char *loop_end_word(enum loop_end end);
