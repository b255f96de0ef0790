/* The cells that a kernel has run, for history requests. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Older cells are forgotten beyond CELL_LOG_CELLS, or CELL_LOG_BYTES of code and values. Values
 * over CELL_LOG_VALUE_BYTES are not kept. */
enum { CELL_LOG_CELLS = 1000, CELL_LOG_BYTES = 8 << 20, CELL_LOG_VALUE_BYTES = 64 << 10 };

struct logged_cell {
	int64_t count;
	json_t *code, *value; /* texts; `value` may be NULL */
};

/* Initialize with zeros. */
struct cell_log {
	struct logged_cell cells[CELL_LOG_CELLS]; /* a ring */
	size_t first, n, bytes;
};

void cell_log_done(struct cell_log *log);

/* Add a cell, or set the value of the newest one. The texts are shared. */
void cell_log_add(struct cell_log *log, int64_t count, const json_t *code);
void cell_log_set_value(struct cell_log *log, const json_t *value);

/* Make the content of history_reply from that of history_request. Owns: the caller decrefs. */
json_t *cell_log_answer(const struct cell_log *log, const json_t *request);

/* Return whether @text is like @pattern, in which "*" stands for any characters and "?" for one. */
bool cell_log_is_like(const char *pattern, const char *text);
