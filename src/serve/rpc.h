/* Parser and writer for JSON-RPC 2.0 with one message per line. It makes no system calls.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/* Limits of one request. RPC_LINE_BYTES allows a file of 47 MiB in base64. */
enum { RPC_LINE_BYTES = 64 << 20, RPC_TOKENS_MAX = 1000000 };

/* Error codes of JSON-RPC itself, for requests that never reach an operation. */
enum { RPC_PARSE = -32700, RPC_INVALID = -32600, RPC_NO_METHOD = -32601 };

/* A parsed request. It owns `root`; the other members point into `root`. Free it with
 * rpc_request_done(). */
struct rpc_request {
	json_t *root;
	const json_t *id; /* text, number or null; NULL for a notification */
	const char *method;
	json_t *params; /* object or array; NULL if the request has none */
};

void rpc_request_done(struct rpc_request *request);

/*
 * Parse one line, given without its newline.
 *
 * Limits:  RPC_TOKENS_MAX members and elements; 2048 levels of nesting, the limit of jansson.
 * Source:  jsonrpc.org/specification. Batches are refused, as are duplicate members, and numbers
 *          that fit neither a 64-bit integer nor a double.
 * Returns: 0; or RPC_PARSE or RPC_INVALID, with the reason in @err. After an error, @out contains
 *          the `id` if the line had a valid one.
 */
int rpc_parse(const char *line, size_t bytes, struct rpc_request *out, struct err *err);

/* Do the first half of rpc_parse(): parse any JSON text, even a batch. Owns: the caller decrefs
 * *@root. Returns: 0, RPC_PARSE or RPC_INVALID. */
int rpc_load(const char *line, size_t bytes, json_t **root, struct err *err);

/* Do the second half of rpc_parse(): check that @root is a request. Owns: takes @root, into @out.
 * Returns: 0; or RPC_INVALID, with @out as after rpc_parse(). */
int rpc_judge(json_t *root, struct rpc_request *out, struct err *err);

/* rpc_result() builds a response with a result, rpc_error() one with an error. Returns: NULL if
 * memory is exhausted. */
json_t *rpc_result(const json_t *id, const json_t *result);
json_t *rpc_error(const json_t *id, int rpc, const struct err *err);

/* Append a response as one line. If @id is NULL, the response has "id": null. Returns: 0, -E2BIG or
 * -ENOMEM; on failure @out is unchanged. */
int rpc_put_result(struct buf *out, const json_t *id, const json_t *result);

/*
 * Append an error response: {"code", "message", "data": {"code", "hint"?}}.
 * @rpc is the JSON-RPC error code; 0 stands for the code that belongs to err->code.
 */
int rpc_put_error(struct buf *out, const json_t *id, int rpc, const struct err *err);

/*
 * Append an event of a step as a notification:
 * {"method": "event", "params": {"id", "event", …}}.
 */
int rpc_put_event(struct buf *out, const json_t *id, const json_t *event);

/* Append an event whose @members were written as JSON before, without braces. Writing each piece of
 * a program's output from an object takes longer than sending it. */
int rpc_put_members(struct buf *out, const json_t *id, const char *members);

/* Find the first line of @in. *@seen is the number of bytes at the front in which an earlier call
 * found no newline; 0 at first. Returns: the length of the line without its newline; -1 if @in has
 * no complete line yet, with *@seen set to all bytes. */
ssize_t rpc_line(const struct buf *in, size_t *seen);
