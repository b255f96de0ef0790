/* The messages between the engine and a planner process. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A frame has two 32-bit numbers, its kind and the length of its body, and a body of one JSON
 * object. The engine first sends REQUEST, the planner process ends with DONE. In between, each CALL
 * or ASK of the process gets one ANSWER.
 */
enum planner_kind {
	PLANNER_REQUEST, /* struct planner_job as JSON, with the capabilities of the engine */
	PLANNER_CALL,	 /* {"tool", "arguments": JSON text} */
	PLANNER_ASK,	 /* {"question", "data", "schema", "wrong"?}, see struct tool_question */
	PLANNER_ANSWER,	 /* {"outcome": enum tool_outcome, "text", "tokens"?, "error"?} */
	PLANNER_DONE, /* the result of the operation, or {"error": {"code", "message", "hint"}} */
	PLANNER_KINDS
};

/* The largest messages from and to a planner process, so that it cannot exhaust the engine's
 * memory. */
enum { PLANNER_GIVES_BYTES = 32 << 20, PLANNER_TAKES_BYTES = 256 << 20 };

struct planner_head {
	uint32_t kind, bytes;
};

/* Are kind and length of the frame valid? */
bool planner_head_is_valid(const struct planner_head *head, size_t max_bytes);

/* Parse the body of a frame. Returns: the object, which the caller owns; NULL: not an object. */
json_t *planner_body(const char *text, size_t bytes);

/* Send a frame; the reference to @body is taken. Blocks. Returns: 0; -E2BIG: nothing was sent;
 * negative errno. */
int planner_send(int fd, enum planner_kind kind, json_t *body, size_t max_bytes);

/* Write @err as member "error" of @body, and read it. A read error is not trusted: an unknown code
 * becomes ERR_INTERNAL, texts are cut. */
int planner_put_error(json_t *body, const struct err *err);
bool planner_get_error(const json_t *body, struct err *out);

/* Make a JSON string of @text, with invalid UTF-8 replaced. */
json_t *planner_text(const char *text, size_t bytes);
