/* Reading requests of fronts and writing their answers. SPDX-License-Identifier: Apache-2.0 */
#include "api/row/param.h"
#include "api/text/json.h"
#include "base/base64.h"
#include "serve/front/inside.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { STDOUT_BYTES = 64 << 20 };
#define TIME_MAX_MS (INT64_C(1) << 40)

const char *front_text(
	const struct front_call *c, const char *name, const char *fallback, bool *is_wrong)
{
	const json_t *value = json_object_get(c->body, name);
	if (!value || json_is_null(value))
		return fallback;
	const char *text = json_string_value(value);
	if (!text || strlen(text) != json_string_length(value))
		*is_wrong = true;
	return text ? text : fallback;
}

int64_t front_time(const json_t *body, const char *name, unsigned per_second, int64_t fallback_ms)
{
	double ms = json_number_value(json_object_get(body, name)) * 1000 / per_second;
	if (!(ms > 0))
		return fallback_ms;
	return ms < 1 ? 1 : (int64_t)fmin(ceil(ms), (double)TIME_MAX_MS);
}

void front_limit(json_t *params, const char *name, double value)
{
	static const struct {
		const char *name;
		int64_t min, max;
	} bounds[] = {{"memory_bytes", 16 << 20, INT64_C(1) << 50}, {"cpu_ms", 1, TIME_MAX_MS}};
	json_t *limits = json_object_get(params, "limits");
	if (!limits) {
		limits = json_need(json_object());
		json_put_new(params, "limits", limits);
	}
	for (size_t i = 0; i < ARRAY_LEN(bounds); i++)
		if (strcmp(bounds[i].name, name) == 0)
			json_put_int(limits, name,
				(int64_t)fmin(
					fmax(value, (double)bounds[i].min), (double)bounds[i].max));
}

struct front_end front_read_end(const json_t *record)
{
	static const struct {
		const char *status;
		int how;
	} ends[] = {{"timeout", FRONT_LATE}, {"oom", FRONT_NO_MEMORY}, {"killed", FRONT_SIGNALLED}};
	const json_t *usage = json_object_get(record, "usage");
	const char *status = param_text(record, "status", "");
	const json_t *code = json_object_get(record, "exit_code");
	struct front_end end = {.how = FRONT_EXITED,
		.code = json_is_integer(code) ? (int)json_integer_value(code) : 1,
		.signal = (int)json_get_int(record, "signal"),
		.wall_ms = json_number_value(json_object_get(usage, "wall_ms")),
		.cpu_ms = json_number_value(json_object_get(usage, "cpu_ms")),
		.memory_bytes = json_get_int(usage, "memory_peak_bytes")};
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (strcmp(ends[i].status, status) == 0)
			end.how = ends[i].how;
	if (strcmp(status, "ok") == 0)
		end.code = 0;
	if (end.how != FRONT_EXITED && end.signal == 0)
		end.signal = SIGKILL;
	return end;
}

size_t front_stderr_bytes(const json_t *record)
{
	const json_t *text = json_object_get(record, "stderr"), *line;
	const json_t *lines = json_object_get(json_object_get(record, "error"), "traceback");
	cleanup_buf struct buf end = BUF_INIT(STDOUT_BYTES);
	size_t i, bytes = json_string_length(text);
	json_array_foreach(lines, i, line)
	{
		buf_append(&end, json_string_value(line), json_string_length(line));
		buf_add(&end, "\n");
	}
	bool is_end = buf_error(&end) == 0 && end.bytes <= bytes &&
		memcmp(json_string_value(text) + bytes - end.bytes, buf_str(&end), end.bytes) == 0;
	return is_end ? bytes - end.bytes : bytes;
}

json_t *front_joined(const char *before, const json_t *a, const json_t *b)
{
	cleanup_buf struct buf out = BUF_INIT(2 * STDOUT_BYTES);
	buf_add(&out, before);
	buf_append(&out, json_string_value(a), json_string_length(a));
	buf_append(&out, json_string_value(b), json_string_length(b));
	return json_new_text(buf_str(&out), out.bytes);
}

json_t *front_base64(const json_t *file)
{
	json_t *content = json_object_get(file, "content");
	if (strcmp(json_get_text(file, "encoding"), "base64") == 0)
		return json_incref(content);
	size_t bytes = json_string_length(content), n = base64_bytes(bytes);
	char *text = malloc(n + 1);
	if (!text)
		return NULL;
	base64_encode(text, json_string_value(content), bytes);
	json_t *out = json_stringn_nocheck(text, n);
	free(text);
	return out;
}
