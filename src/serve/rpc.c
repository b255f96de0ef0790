/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/rpc.h"

#include "api/text/json.h"
#include "base/json.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void rpc_request_done(struct rpc_request *request)
{
	json_decref(request->root);
	*request = (struct rpc_request){0};
}

ssize_t rpc_line(const struct buf *in, size_t *seen)
{
	const char *data = buf_str(in);
	const char *end = memchr(data + *seen, '\n', in->bytes - *seen);
	if (end)
		return end - data;
	*seen = in->bytes;
	return -1;
}

static int invalid(struct err *err, const char *what, const char *hint)
{
	(void)err_set(err, ERR_PROTOCOL, "not a request: %s", what);
	(void)err_hint(err, "%s", hint);
	return RPC_INVALID;
}

int rpc_judge(json_t *root, struct rpc_request *out, struct err *err)
{
	static const char shape[] =
		"write {\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"engine.info\"}";
	*out = (struct rpc_request){.root = root};
	const json_t *id = json_object_get(root, "id"), *method = json_object_get(root, "method");
	const char *version = json_string_value(json_object_get(root, "jsonrpc"));
	json_t *params = json_object_get(root, "params");
	if (json_is_array(root))
		return invalid(err, "batches are not supported", "send each request by itself");
	if (!json_is_object(root))
		return invalid(err, "not an object", shape);
	if (id && !json_is_string(id) && !json_is_number(id) && !json_is_null(id))
		return invalid(err, "the id is not a text, a number or null", shape);
	out->id = id;
	if (!version || strcmp(version, "2.0") != 0)
		return invalid(err, "jsonrpc is not \"2.0\"", shape);
	if (!json_is_string(method))
		return invalid(err, "the method is not a text", shape);
	if (params && !json_is_object(params) && !json_is_array(params))
		return invalid(err, "params is not an object", "give parameters by name");
	out->method = json_string_value(method);
	out->params = params;
	return 0;
}

int rpc_load(const char *line, size_t bytes, json_t **root, struct err *err)
{
	json_error_t error;
	*root = NULL;
	if (json_parts(line, bytes) > RPC_TOKENS_MAX) {
		err_fail(err, ERR_LIMIT, "send less at once", "a message of more than %d parts",
			RPC_TOKENS_MAX);
		return RPC_INVALID;
	}
	*root = json_loadb(
		line, bytes, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (*root)
		return 0;
	err_fail(err, ERR_PROTOCOL, "send one JSON object per line, as UTF-8", "not JSON: %.150s",
		error.text);
	return RPC_PARSE;
}

int rpc_parse(const char *line, size_t bytes, struct rpc_request *out, struct err *err)
{
	*out = (struct rpc_request){0};
	json_t *root;
	int r = rpc_load(line, bytes, &root, err);
	return r < 0 ? r : rpc_judge(root, out, err);
}

/* Append @message as one line. On failure @out is unchanged. Owns: takes @message. */
static int put(struct buf *out, json_t *message)
{
	size_t before = out->bytes;
	int r = message ? json_put(out, message) : -ENOMEM;
	if (r == 0)
		r = buf_add(out, "\n");
	if (r < 0)
		buf_cut(out, before);
	json_decref(message);
	return r;
}

static json_t *borrowed(const json_t *json)
{
	return json ? json_incref(json_unconst(json)) : json_null();
}

json_t *rpc_result(const json_t *id, const json_t *result)
{
	return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", borrowed(id), "result",
		borrowed(result));
}

int rpc_put_result(struct buf *out, const json_t *id, const json_t *result)
{
	return put(out, rpc_result(id, result));
}

json_t *rpc_error(const json_t *id, int rpc, const struct err *err)
{
	/* Make the text valid UTF-8: err_set() may cut it inside a character, and file names may
	 * contain any bytes. */
	const char *msg = err->msg[0] ? err->msg : err_meaning(err->code);
	json_t *data = json_pack("{s:s}", "code", err_word(err->code));
	if (err->hint[0])
		json_put_new(data, "hint", json_safe_text(err->hint, ERR_HINT_BYTES));
	json_t *error = json_pack("{s:i, s:o, s:o}", "code", rpc ? rpc : err_rpc(err->code),
		"message", json_safe_text(msg, ERR_MSG_BYTES), "data", data);
	return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", borrowed(id), "error", error);
}

int rpc_put_error(struct buf *out, const json_t *id, int rpc, const struct err *err)
{
	return put(out, rpc_error(id, rpc, err));
}

int rpc_put_event(struct buf *out, const json_t *id, const json_t *event)
{
	json_t *params = json_pack("{s:o}", "id", borrowed(id));
	(void)json_object_update(params, json_unconst(event));
	return put(out,
		json_pack(
			"{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", "event", "params", params));
}

int rpc_put_members(struct buf *out, const json_t *id, const char *members)
{
	size_t before = out->bytes;
	buf_add(out, "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"id\":");
	int r = id ? json_put(out, id) : buf_add(out, "null");
	if (r == 0)
		r = buf_addf(out, ",%s}}\n", members);
	if (r < 0)
		buf_cut(out, before);
	return r;
}
