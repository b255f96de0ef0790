/* Reader and writer of JSON-RPC 2.0, one message per line. No system calls.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/* Limits of one request: enough for a file of 47 MiB as base64. */
enum { RPC_LINE_BYTES = 64 << 20, RPC_TOKENS_MAX = 1000000 };

/* Errors of JSON-RPC itself, which occur before any operation is called. */
enum { RPC_PARSE = -32700, RPC_INVALID = -32600, RPC_NO_METHOD = -32601 };

/* A request. It owns its parts: rpc_request_done(). The texts are borrowed from `root`. */
struct rpc_request {
	json_t *root;
	const json_t *id; /* text, number or null; NULL: a notification */
	const char *method;
	json_t *params; /* parameters: object or array, borrowed; NULL: none */
};

void rpc_request_done(struct rpc_request *request);

/*
 * Parse one line, without its newline.
 *
 * Limits:  RPC_TOKENS_MAX members and elements; nesting as deep as jansson's 2048.
 * Source:  jsonrpc.org/specification. Batches are refused. Also refused: numbers beyond 64-bit
 *          integers and doubles, and duplicate members.
 * Returns: 0; or RPC_PARSE or RPC_INVALID and @err, with the `id` in @out if the id was readable.
 */
int rpc_parse(const char *line, size_t bytes, struct rpc_request *out, struct err *err);

/* Do the first half of rpc_parse(): parse any JSON, also a batch. Owns: the caller decrefs *@root.
 * Returns: 0, RPC_PARSE, RPC_INVALID. */
int rpc_load(const char *line, size_t bytes, json_t **root, struct err *err);

/* Do the second half of rpc_parse(): check @root. Owns: takes @root. Returns: 0; or RPC_INVALID, as
 * rpc_parse(). */
int rpc_judge(json_t *root, struct rpc_request *out, struct err *err);

/* Build the messages that the functions below write. Returns: NULL without memory. */
json_t *rpc_result(const json_t *id, const json_t *result);
json_t *rpc_error(const json_t *id, int rpc, const struct err *err);

/* Append a response as one line. @id NULL is written as null. Returns: 0, -E2BIG, -ENOMEM; on
 * failure @out is unchanged. */
int rpc_put_result(struct buf *out, const json_t *id, const json_t *result);

/*
 * Append an error response: {"code", "message", "data": {"code", "hint"?}}.
 * @rpc: the JSON-RPC code; 0: the code that belongs to err->code.
 */
int rpc_put_error(struct buf *out, const json_t *id, int rpc, const struct err *err);

/* Append the notification {"method": "event", "params": {"id", "event", …}}. */
int rpc_put_event(struct buf *out, const json_t *id, const json_t *event);

/* Find the end of the first line of @in. *@seen: the number of bytes in which an earlier call found
 * no newline. Returns: the line's length without the newline; -1 if the line is incomplete: *@seen
 * is then increased. */
ssize_t rpc_line(const struct buf *in, size_t *seen);
