/* Operations on the files of a workspace. SPDX-License-Identifier: Apache-2.0 */
#include "api/base64.h"
#include "api/call.h"

#include <string.h>

enum { READ_MAX_BYTES = 16 << 20, WRITE_MAX_BYTES = 64 << 20 };

static const char *text(const struct operation_call *call, const char *name)
{
	return param_text(call->params, name, "");
}

static void list(void *arg, const json_t *none, const struct err *wrong)
{
	struct operation_call *call = arg;
	struct err err = {0};
	(void)none;
	if (wrong) {
		call_fail(call, wrong);
		return;
	}
	call_give(call, registry_file_list(call->context->registry, text(call, "session"), &err),
		&err);
}

void call_file_list(struct operation_call *call)
{
	registry_await_box(call->context->registry, text(call, "session"), list, call);
}

static void give_content(void *arg, const json_t *none, const struct err *wrong)
{
	struct operation_call *call = arg;
	struct err err = {0};
	(void)none;
	if (wrong) {
		call_fail(call, wrong);
		return;
	}
	call_give(call,
		registry_file_read(call->context->registry, text(call, "session"),
			text(call, "path"), param_count(call->params, "offset", 0),
			param_count(call->params, "limit", READ_MAX_BYTES), &err),
		&err);
}

void call_file_read(struct operation_call *call)
{
	registry_await_box(call->context->registry, text(call, "session"), give_content, call);
}

void call_file_write(struct operation_call *call)
{
	const json_t *content = param_get(call->params, "content");
	bool is_base64 = strcmp(param_text(call->params, "encoding", "utf-8"), "base64") == 0;
	cleanup_buf struct buf raw = BUF_INIT(WRITE_MAX_BYTES);
	struct err err = {0};
	const char *data = json_string_value(content);
	size_t bytes = json_string_length(content);
	if (is_base64) {
		if (base64_read(&raw, data, bytes, &err) < 0) {
			(void)err_wrap(&err, "content");
			call_fail(call, &err);
			return;
		}
		data = buf_str(&raw);
		bytes = raw.bytes;
	}
	const struct registry_file file = {text(call, "session"), text(call, "path"), data, bytes};
	registry_file_write(call->context->registry, &file, call_done, call);
}

void call_file_remove(struct operation_call *call)
{
	registry_file_remove(call->context->registry, text(call, "session"), text(call, "path"),
		call_done, call);
}
