/* The messages between the engine and a planner process. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A frame consists of its kind (32 bits), the length of its body in bytes (32 bits), and the body,
 * which is one JSON object. The engine first sends REQUEST. The planner process ends with DONE. In
 * between, the process may send CALL or ASK, and gets one ANSWER to each. */
enum planner_kind {
	/* struct planner_job as JSON, and what the engine can do (has_calls, has_model) */
	PLANNER_REQUEST,
	PLANNER_CALL,	/* {"tool", "arguments": JSON text} */
	PLANNER_ASK,	/* {"question", "data", "schema", "wrong"?}, see struct tool_question */
	PLANNER_ANSWER, /* {"outcome": enum tool_outcome, "text", "tokens"?, "error"?} */
	PLANNER_DONE,	/* the result of the plan, or {"error": {"code", "message", "hint"}} */
	PLANNER_KINDS
};

/* PLANNER_GIVES_BYTES is the largest body from a planner process, PLANNER_TAKES_BYTES the largest
 * body to it. So the process cannot exhaust the engine's memory. */
enum { PLANNER_GIVES_BYTES = 32 << 20, PLANNER_TAKES_BYTES = 256 << 20 };

struct planner_head {
	uint32_t kind, bytes;
};

/* Return whether the kind and the length of a frame are valid. */
bool planner_head_is_valid(const struct planner_head *head, size_t max_bytes);

/* Parse the body of a frame. Returns: the object, which the caller owns; NULL if the body is not a
 * JSON object. */
json_t *planner_body(const char *text, size_t bytes);

/* Send a frame, and release @body. Blocks. Returns: 0; -E2BIG if the body is too large, in which
 * case nothing was sent; or another negative errno. */
int planner_send(int fd, enum planner_kind kind, json_t *body, size_t max_bytes);

/* planner_put_error(): set the member "error" of @body to @err. planner_get_error(): read it back.
 * What is read is not trusted: an unknown code becomes ERR_INTERNAL, and texts are cut. */
int planner_put_error(json_t *body, const struct err *err);
bool planner_get_error(const json_t *body, struct err *out);

/* Make a JSON string of @text, in which invalid UTF-8 is replaced. */
json_t *planner_text(const char *text, size_t bytes);
