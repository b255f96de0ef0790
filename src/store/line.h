/* What writer and reader of a recording share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/node.h"

#include <jansson.h>

/*
 * The "check" of a recording's first line: SHA-256 over "retort.recording.1" and order, the
 * number of steps (decimal) and head, each behind its length as 8 bytes, big-endian.
 */
void line_check(char out[JOURNAL_DIGEST_BYTES], const char *order, size_t order_bytes,
	size_t n_steps, const char *head);
