/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/planner_frame.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

bool planner_head_is_valid(const struct planner_head *head, size_t max_bytes)
{
	return head->kind < PLANNER_KINDS && head->bytes >= 2 && head->bytes <= max_bytes;
}

json_t *planner_body(const char *text, size_t bytes)
{
	json_t *body = json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	if (body && !json_is_object(body)) {
		json_decref(body);
		return NULL;
	}
	return body;
}

/* Send @data. Returns: 0, or negative errno, which is -EAGAIN if the other side did not read within
 * the socket's time limit. */
static int send_all(int fd, const char *data, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = send(fd, data, bytes, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return -errno;
		data += n > 0 ? n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int planner_send(int fd, enum planner_kind kind, json_t *body, size_t max_bytes)
{
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	json_decref(body);
	if (!text)
		return -ENOMEM;
	size_t bytes = strlen(text);
	const struct planner_head head = {kind, (uint32_t)bytes};
	int r = bytes > max_bytes ? -E2BIG : send_all(fd, (const char *)&head, sizeof head);
	if (r == 0)
		r = send_all(fd, text, bytes);
	free(text);
	return r;
}

int planner_put_error(json_t *body, const struct err *err)
{
	json_t *message = planner_text(err->msg, strlen(err->msg));
	json_t *hint = planner_text(err->hint, strlen(err->hint));
	return json_object_set_new(body, "error",
		json_pack("{s:i, s:o, s:o}", "code", (int)err->code, "message", message, "hint",
			hint));
}

bool planner_get_error(const json_t *body, struct err *out)
{
	const json_t *error = json_object_get(body, "error");
	const char *message = json_string_value(json_object_get(error, "message"));
	const char *hint = json_string_value(json_object_get(error, "hint"));
	json_int_t code = json_integer_value(json_object_get(error, "code"));
	if (!json_is_object(error))
		return false;
	*out = (struct err){
		.code = code > ERR_NONE && code < ERR_END_ ? (enum err_code)code : ERR_INTERNAL};
	snprintf(out->msg, sizeof out->msg, "%s", message ? message : "");
	snprintf(out->hint, sizeof out->hint, "%s", hint ? hint : "");
	return true;
}

json_t *planner_text(const char *text, size_t bytes)
{
	json_t *out = json_stringn(text, bytes);
	if (out)
		return out;
	cleanup_buf struct buf good = BUF_INIT(3 * bytes + 1);
	return utf8_repair(&good, text, bytes, NULL) < 0 ? NULL
							 : json_stringn(buf_str(&good), good.bytes);
}
