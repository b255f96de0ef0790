/* Read and write JSON-RPC 2.0, one message per line. No system calls. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/* Of one request: enough for a file of 47 MiB as base64. */
enum { RPC_LINE_BYTES = 64 << 20, RPC_TOKENS_MAX = 1000000 };

/* Errors of JSON-RPC itself, found before any operation is called. */
enum { RPC_PARSE = -32700, RPC_INVALID = -32600, RPC_NO_METHOD = -32601 };

/* Owns its parts: rpc_request_done(). The texts are borrowed from `root`. */
struct rpc_request {
	json_t *root;
	const json_t *id; /* text, number or null; NULL: a notification, which is not answered */
	const char *method;
	json_t *params; /* object or array, or NULL; borrowed */
};

void rpc_request_done(struct rpc_request *request);

/*
 * Read one line, without its end.
 *
 * Limits:  RPC_TOKENS_MAX members and elements; nesting as deep as jansson's 2048.
 * Source:  jsonrpc.org/specification. Batches are refused. Also refused: numbers beyond 64-bit
 * integers and doubles, and duplicate members. Returns: 0; or RPC_PARSE or RPC_INVALID and @err,
 * with the `id` in @out if it could be read.
 */
int rpc_parse(const char *line, size_t bytes, struct rpc_request *out, struct err *err);

/* The first half of rpc_parse(): any JSON, also a batch. Owns: the caller decrefs *@root. Returns:
 * 0, RPC_PARSE, RPC_INVALID. */
int rpc_load(const char *line, size_t bytes, json_t **root, struct err *err);

/* The second half. Owns: takes @root. Returns: 0; or RPC_INVALID as above. */
int rpc_judge(json_t *root, struct rpc_request *out, struct err *err);

/* The messages that the functions below write. Returns: NULL without memory. */
json_t *rpc_result(const json_t *id, const json_t *result);
json_t *rpc_error(const json_t *id, int rpc, const struct err *err);

/* Append an answer as one line. @id NULL writes null. Returns: 0, -E2BIG, -ENOMEM; on failure @out
 * is unchanged. */
int rpc_put_result(struct buf *out, const json_t *id, const json_t *result);

/*
 * The same for a failure: {"code", "message", "data": {"code", "hint"?}}.
 * @rpc: 0 for that of err->code.
 */
int rpc_put_error(struct buf *out, const json_t *id, int rpc, const struct err *err);

/* The notification {"method": "event", "params": {"id", "event", …}}. */
int rpc_put_event(struct buf *out, const json_t *id, const json_t *event);

/* The first line of @in. *@seen: the bytes that an earlier call found to have no newline. Returns:
 * the line's bytes without the newline; -1 if it is not complete, and *@seen is raised. */
ssize_t rpc_line(const struct buf *in, size_t *seen);
