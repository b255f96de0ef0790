/* SPDX-License-Identifier: Apache-2.0 */
#include "session/step_frame.h"

#include "base/fd.h"
#include "base/json.h"
#include "session/inside.h"
#include "session/step/report.h"

#include <stdio.h>
#include <unistd.h>

enum { STDIN_CHUNK_BYTES = 64 << 10 };

json_t *step_frame_make(struct session *s, uint64_t id, struct err *err)
{
	const struct step_order *order = s->step;
	char text[24];
	cleanup_json json_t *argv = json_need(json_array());
	snprintf(text, sizeof text, "%llu", (unsigned long long)id);
	if (order->is_script) {
		json_add_text(argv, order->filename ? order->filename : "");
		(void)json_array_extend(argv, json_unconst(order->args));
	}
	for (size_t i = 0; order->argv && order->argv[i]; i++)
		if (json_array_append_new(argv, json_string(order->argv[i])) < 0) {
			err_fail(err, ERR_USAGE,
				"pass such names in a file: -v names.txt:names.txt",
				"argument %zu is not UTF-8", i);
			return NULL;
		}
	json_t *step = json_pack("{s:s, s:o, s:s, s:o, s:s, s:s*, s:I}", "id", text, "code",
		fence_taken_off(order, &s->fence), "filename",
		order->filename ? order->filename : "<step>", "argv", take_ptr(argv), "mode",
		s->is_once || order->is_script ? "once" : "session", "preload", order->preload,
		"value_bytes", (json_int_t)s->limits.value[LIMIT_output_bytes]);
	if (!step)
		err_set(err, ERR_USAGE, "the code or an argument is not UTF-8");
	else if (order->setting)
		(void)json_object_update(step, order->setting);
	return step;
}

int step_frame_add_stdin(
	struct session *s, const struct runtime *runtime, json_t *step, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(FRAME_MAX_BYTES);
	if (s->step->stdin_fd < 0)
		return 0;
	if (!runtime->is_stdin_text)
		return json_object_set_new(step, "stdin", json_true());
	for (ssize_t n = 1; n > 0; buf_grown(&text, (size_t)MAX(n, 0))) {
		char *at = buf_reserve(&text, STDIN_CHUNK_BYTES);
		n = at ? read(s->step->stdin_fd, at, STDIN_CHUNK_BYTES) : -1;
		if (n < 0)
			return err_set(err, ERR_LIMIT,
				"the step's input cannot be passed on: over %d MiB",
				FRAME_MAX_BYTES >> 20);
	}
	fd_close(&s->step->stdin_fd);
	json_t *value = json_stringn(buf_str(&text), text.bytes);
	if (!value)
		return err_set(err, ERR_USAGE, "the step's input is not UTF-8");
	return json_object_set_new(step, "stdin_text", value);
}

int step_frame_display(struct session_driver *p, const struct frame *frame, struct err *err)
{
	struct session *s = p->session;
	const json_t *display;
	json_t *about;
	int r = report_display(frame->data, frame->bytes, &s->record, &display, &about, err);
	if (r == 1 && s->step_driver == p && s->listener && s->listener->display)
		s->listener->display(s->listener->arg, display, about);
	json_decref(about);
	return r;
}
