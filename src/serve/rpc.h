/* JSON-RPC 2.0, one message per line: read and written; no system calls. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/* Of one request. A file of 47 MiB fits, as base64. */
enum { RPC_LINE_BYTES = 64 << 20, RPC_TOKENS_MAX = 1000000 };

/* What JSON-RPC says of a message before any operation looks at it. */
enum { RPC_PARSE = -32700, RPC_INVALID = -32600, RPC_NO_METHOD = -32601 };

/* Owns its parts: rpc_request_done(). The texts are borrowed from `root`. */
struct rpc_request {
	json_t *root;
	const json_t *id; /* text, number or null; NULL: a notification, which gets no answer */
	const char *method;
	json_t *params; /* object or array, or NULL; borrowed */
};

void rpc_request_done(struct rpc_request *request);

/*
 * Read one line, without its end.
 *
 * Limits:  RPC_TOKENS_MAX members and elements; nesting as deep as jansson's 2048.
 * Source:  jsonrpc.org/specification. Batches are refused. Numbers that no 64-bit integer or double
 *          holds, and members given twice, are no messages.
 * Returns: 0; or RPC_PARSE or RPC_INVALID and @err, with the `id` of @out as far as it was
 * understood.
 */
int rpc_parse(const char *line, size_t bytes, struct rpc_request *out, struct err *err);

/* The first half of it: any JSON, also a batch. Owns: the caller decrefs *@root.
 * Returns: 0, RPC_PARSE, RPC_INVALID. */
int rpc_load(const char *line, size_t bytes, json_t **root, struct err *err);

/* The second. Owns: takes @root. Returns: 0; or RPC_INVALID as above. */
int rpc_judge(json_t *root, struct rpc_request *out, struct err *err);

/* The messages that are written below. Returns: NULL without memory. */
json_t *rpc_result(const json_t *id, const json_t *result);
json_t *rpc_error(const json_t *id, int rpc, const struct err *err);

/* Append an answer as one line. @id NULL writes null. Returns: 0, -E2BIG, -ENOMEM; @out as before.
 */
int rpc_put_result(struct buf *out, const json_t *id, const json_t *result);

/*
 * The same for a failure: {"code", "message", "data": {"code", "hint"?}}.
 * @rpc: 0 for that of err->code.
 */
int rpc_put_error(struct buf *out, const json_t *id, int rpc, const struct err *err);

/* The notification {"method": "event", "params": {"id", "event", …}}. */
int rpc_put_event(struct buf *out, const json_t *id, const json_t *event);

/*
 * The first line of @in from *@seen on, where nothing of a line's end was found before.
 * Returns: its bytes without the end, or -1 and *@seen raised when it is not whole yet.
 */
ssize_t rpc_line(const struct buf *in, size_t *seen);
