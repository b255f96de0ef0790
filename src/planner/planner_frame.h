/* The messages between the engine and a planner. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A frame is two numbers of 32 bits, its kind and the length of what follows, and one JSON object.
 * The engine sends REQUEST first, the planner ends with DONE; between them each CALL or ASK of the
 * planner gets one ANSWER.
 */
enum planner_kind {
	PLANNER_REQUEST, /* what to check or to run: struct planner_job, and who answers calls */
	PLANNER_CALL,	 /* {"tool", "arguments": JSON text} */
	PLANNER_ASK,	 /* {"question", "data", "schema", "wrong"?}, see struct tool_question */
	PLANNER_ANSWER,	 /* {"outcome": enum tool_outcome, "text", "tokens"?, "error"?} */
	PLANNER_DONE, /* the result of the operation, or {"error": {"code", "message", "hint"}} */
	PLANNER_KINDS
};

/* The largest message of each side: a planner cannot fill the engine's memory. */
enum { PLANNER_GIVES_BYTES = 32 << 20, PLANNER_TAKES_BYTES = 256 << 20 };

struct planner_head {
	uint32_t kind, bytes;
};

/* Are kind and length of the frame valid? */
bool planner_head_is_valid(const struct planner_head *head, size_t max_bytes);

/* Parse the body of a frame. Returns: the object, which the caller owns; NULL: not an object. */
json_t *planner_body(const char *text, size_t bytes);

/* Send one; @body is released. Blocks. Returns: 0, -E2BIG: nothing was sent, negative errno. */
int planner_send(int fd, enum planner_kind kind, json_t *body, size_t max_bytes);

/* An error as a member "error" of @body, and back; of another process: any code, cut texts. */
int planner_put_error(json_t *body, const struct err *err);
bool planner_get_error(const json_t *body, struct err *out);

/* A text as JSON; invalid UTF-8 is replaced. */
json_t *planner_text(const char *text, size_t bytes);
