/* Contents of files of boxes, for the front "open-terminal": read whole, or passed on as they come.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/openterminal/inside.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "serve/web/port_headers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTENT_BYTES = 1 << 20 };

/* A file that is being read. */
struct reading {
	struct buf content;
	struct err why; /* why it is not read to its end; code ERR_NONE: it is */
	void (*then)(struct front_call *c, const struct buf *content, const struct err *err);
	const char *type; /* of a file that is passed on */
	bool is_begun, is_broken;
	char remove[OT_PATH_BYTES]; /* file to remove afterwards, or "" */
};

/* Append what an event `content` brings. */
static void add_content(struct buf *out, const json_t *event)
{
	const json_t *data = json_object_get(event, "data");
	struct err err;
	int r = strcmp(json_get_text(event, "encoding"), "base64") == 0
		? base64_read(out, json_string_value(data), json_string_length(data), &err)
		: buf_append(out, json_string_value(data), json_string_length(data));
	if (r < 0)
		buf_fail(out, r);
}

/* ---- whole ---- */

static void on_whole_event(struct front_call *c, const json_t *event)
{
	struct reading *r = c->own;
	if (strcmp(json_get_text(event, "event"), "content") != 0 || r->why.code != ERR_NONE)
		return;
	add_content(&r->content, event);
	if (buf_error(&r->content) < 0)
		(void)err_set(&r->why, ERR_LIMIT, "the file is over %d MiB", OT_FILE_BYTES >> 20);
	else if (c->x && !http_owe(c->x, r->content.bytes))
		(void)err_fail(&r->why, ERR_QUOTA, "read the responses first",
			"too many long responses are unread");
	if (r->why.code != ERR_NONE)
		front_cancel(c);
}

static const struct front_events whole_events = {.event = on_whole_event};

static void on_whole(struct front_call *c, const json_t *result, const struct err *err)
{
	struct reading *r = take_ptr(c->own);
	if (ot_is_left(c)) {
		/* nobody is there to answer */
	} else if (r->why.code != ERR_NONE) {
		r->then(c, NULL, &r->why);
	} else {
		r->then(c, result ? &r->content : NULL, err);
	}
	buf_done(&r->content);
	free(r);
}

void ot_read(struct front_call *c, const char *path,
	void (*then)(struct front_call *c, const struct buf *content, const struct err *err))
{
	struct reading *r = xnew(struct reading);
	json_t *params = ot_params(c);
	*r = (struct reading){.content = BUF_INIT(OT_FILE_BYTES), .then = then};
	c->own = r;
	json_put_text(params, "path", path);
	json_put_bool(params, "stream", true);
	front_follow(c, "path.read", params, &whole_events, on_whole);
}

/* ---- passed on ---- */

static void on_sent_event(struct front_call *c, const json_t *event)
{
	struct reading *r = c->own;
	const char *name = json_get_text(event, "event");
	if (!c->x || r->is_broken)
		return;
	if (strcmp(name, "file") == 0) {
		/* Without a length: the file may grow while it is read.
		 * The file has the origin of the server, and must not call it. */
		(void)http_set_header(c->x, "Content-Security-Policy", PORT_POLICY);
		r->is_begun = true;
		r->is_broken = http_stream_open(c->x, 200, r->type) < 0;
	} else if (strcmp(name, "content") == 0) {
		cleanup_buf struct buf part = BUF_INIT(16 * CONTENT_BYTES);
		add_content(&part, event);
		r->is_broken = buf_error(&part) < 0 ||
			http_stream_put(c->x, buf_str(&part), part.bytes) < 0;
	}
	if (r->is_broken)
		front_cancel(c);
}

static const struct front_events sent_events = {.event = on_sent_event};

/* End the call. Its answer has begun. */
static void finish(struct front_call *c)
{
	const json_t *is_whole = json_object_get(c->kept, "is_whole");
	struct http_exchange *x;
	bool is_good = json_is_true(is_whole);
	x = front_take(c);
	if (x && is_good)
		http_stream_end(x);
	else if (x)
		http_stream_cut(x);
}

static void on_removed(struct front_call *c, const json_t *result, const struct err *err)
{
	(void)result;
	(void)err;
	finish(c);
}

static void on_sent(struct front_call *c, const json_t *result, const struct err *err)
{
	struct reading *r = take_ptr(c->own);
	json_t *params = ot_params(c);
	bool is_begun = r->is_begun, is_removed = r->remove[0] != '\0';
	json_put_bool(c->kept, "is_whole", result && !r->is_broken);
	json_put_text(params, "path", r->remove);
	free(r);
	if (!is_begun && c->x) {
		json_decref(params);
		if (err && (err->code == ERR_NOT_FOUND || err->code == ERR_USAGE))
			ot_refuse(c, 404, "File not found");
		else
			front_fail(c, err);
	} else if (is_removed) {
		front_operate(c, "path.remove", params, on_removed);
	} else {
		json_decref(params);
		finish(c);
	}
}

void ot_send(struct front_call *c, const char *path, bool is_removed)
{
	struct reading *r = xnew(struct reading);
	json_t *params = ot_params(c);
	r->type = ot_type(path);
	if (is_removed)
		snprintf(r->remove, sizeof r->remove, "%s", path);
	c->own = r;
	json_put_text(params, "path", path);
	json_put_bool(params, "stream", true);
	front_follow(c, "path.read", params, &sent_events, on_sent);
}
