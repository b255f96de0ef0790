/*
 * The SQL driver: SQLite, controlled by the frames of docs/reference/protocol.md, which it reads on
 * file descriptor 3.
 *
 * The driver has one connection. All state that matters is in a file of the workspace (db.h), so a
 * new driver process can continue where the last one stopped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "clock.h"
#include "completion.h"
#include "runtime/frame.h"
#include "step.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHANNEL = 3, VALUE_BYTES_MIN = 4 << 10, VALUE_BYTES_MAX = 2 << 20, READ_BYTES = 64 << 10 };

struct driver {
	struct db db;
	const char *id; /* id of the running step */
};

static void on_interrupt(int signal)
{
	(void)signal;
	/*
	 * Only set a flag, which the progress handler reads: a signal handler may not call SQLite.
	 */
	db_stop = 1;
}

/* ---- frames ---- */

/* Send a frame. Returns: 0, or -1 when the engine has closed the channel. */
static int send_frame(enum frame_type type, const struct buf *payload)
{
	cleanup_buf struct buf frame = BUF_INIT(FRAME_MAX_BYTES + FRAME_HEAD_BYTES);
	if (frame_write(&frame, type, buf_str(payload), payload->bytes) < 0)
		return -1;
	for (size_t at = 0; at < frame.bytes;) {
		ssize_t n = send(CHANNEL, frame.data + at, frame.bytes - at, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return -1;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static void add_text(struct buf *out, const char *name, const char *text)
{
	buf_addf(out, "\"%s\":", name);
	(void)utf8_quote(out, text, strlen(text));
}

/* Send a frame with the JSON object {"id": @id @rest}. */
static int send_with_id(enum frame_type type, const char *id, const char *rest)
{
	cleanup_buf struct buf out = BUF_INIT(FRAME_MAX_BYTES);
	buf_add(&out, "{");
	add_text(&out, "id", id);
	buf_addf(&out, "%s}", rest);
	return send_frame(type, &out);
}

static int send_guard(const char *id)
{
	return send_with_id(FRAME_GUARD, id, ",\"reason\":\"runtime\"");
}

static int send_ready(void)
{
	cleanup_buf struct buf out = BUF_INIT(4096);
	buf_addf(&out, "{\"version\":\"%s\",\"implementation\":\"sqlite\",\"pid\":%d}",
		sqlite3_libversion(), (int)getpid());
	return send_frame(FRAME_READY, &out);
}

/* ---- a step ---- */

static void on_display(void *arg, const struct buf *mimes)
{
	const struct driver *d = arg;
	cleanup_buf struct buf out = BUF_INIT(FRAME_MAX_BYTES);
	buf_add(&out, "{");
	add_text(&out, "id", d->id);
	buf_add(&out, ",\"data\":");
	buf_append(&out, buf_str(mimes), mimes->bytes);
	buf_add(&out, ",\"metadata\":{}}");
	(void)send_frame(FRAME_DISPLAY, &out);
}

/*
 * Write the traceback as up to four lines. Returns: the number of lines. Owns: the caller frees the
 * buffers.
 */
static size_t trace(const struct step_error *e, const char *filename, struct buf lines[4])
{
	size_t n = 0;
	for (size_t i = 0; i < 4; i++)
		lines[i] = BUF_INIT(4 * STEP_MESSAGE_BYTES);
	buf_addf(&lines[n++], "  File \"%.1000s\", line %zu", filename, e->line);
	buf_addf(&lines[n++], "    %s", e->source);
	if (e->caret[0])
		buf_addf(&lines[n++], "    %s", e->caret);
	buf_addf(&lines[n], "%s: %s", e->name, e->message);
	for (char *p = lines[n].data; p && *p; p++)
		*p = *p == '\n' || *p == '\r' ? ' ' : *p;
	return n + 1;
}

/* Append the error as a member of the RESULT frame, and print its traceback to stderr. */
static void add_error(struct buf *out, const struct step_error *e, const char *filename)
{
	struct buf lines[4];
	size_t n = trace(e, filename, lines);
	buf_add(out, ",\"error\":{");
	add_text(out, "name", e->name);
	buf_add(out, ",");
	add_text(out, "message", e->message);
	buf_addf(out, ",\"line\":%zu,\"traceback\":[", e->line);
	for (size_t i = 0; i < n; i++) {
		cleanup_buf struct buf safe = BUF_INIT(16 * STEP_MESSAGE_BYTES);
		buf_add(out, i > 0 ? "," : "");
		(void)utf8_quote(out, buf_str(&lines[i]), lines[i].bytes);
		if (utf8_escape_terminal(
			    &safe, buf_str(&lines[i]), lines[i].bytes, UTF8_KEEP_LINES) == 0)
			fprintf(stderr, "%s\n", buf_str(&safe));
	}
	buf_add(out, "]}");
	for (size_t i = 0; i < 4; i++)
		buf_done(&lines[i]);
	(void)fflush(stderr);
}

static int send_result(const char *id, const struct step *s, const char *filename)
{
	cleanup_buf struct buf out = BUF_INIT(FRAME_MAX_BYTES);
	bool is_error = s->error.name != NULL;
	bool is_stopped = is_error && strcmp(s->error.name, "Interrupted") == 0;
	buf_add(&out, "{");
	add_text(&out, "id", id);
	buf_addf(&out, ",\"status\":\"%s\",\"exit_code\":%d", is_error ? "error" : "ok",
		is_stopped	   ? 130
			: is_error ? 1
				   : 0);
	if (s->is_done)
		buf_add(&out, ",\"exited\":true");
	if (s->value.bytes > 0) {
		buf_add(&out, ",\"value\":");
		buf_append(&out, buf_str(&s->value), s->value.bytes);
	}
	if (is_error)
		add_error(&out, &s->error, filename);
	if (s->undone)
		buf_addf(&out, ",\"undone\":\"%s\"", s->undone);
	buf_add(&out, "}");
	(void)fflush(stdout);
	return send_frame(FRAME_RESULT, &out);
}

static const char *text_of(const json_t *json, const char *name, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(json, name));
	return text ? text : otherwise;
}

static int run_step(struct driver *d, const json_t *request, const char *id)
{
	json_int_t asked = json_integer_value(json_object_get(request, "value_bytes"));
	const char *filename = text_of(request, "filename", "<step>");
	struct step s = {.db = &d->db,
		.display = on_display,
		.arg = d,
		.value_bytes = (size_t)MAX(MIN(asked, VALUE_BYTES_MAX), VALUE_BYTES_MIN),
		.code = strdup(text_of(request, "code", ""))};
	d->id = id;
	db_stop = 0;
	if (!s.code || send_with_id(FRAME_BEGIN, id, "") < 0)
		return step_done(&s), -1;
	step_run(&s);
	int r = send_result(id, &s, filename);
	step_done(&s);
	return r;
}

/* ---- other frames ---- */

static int set_up(struct driver *d, const json_t *request, const char *id)
{
	const json_t *seed = json_object_get(request, "seed");
	const char *session = json_string_value(json_object_get(request, "session"));
	if (session)
		(void)setenv("RETORT_SESSION", session, 1);
	if (json_is_integer(seed))
		db_seed(&d->db, (uint64_t)json_integer_value(seed));
	return send_with_id(FRAME_DONE, id, "");
}

static int complete(struct driver *d, const json_t *request, const char *id)
{
	cleanup_buf struct buf out = BUF_INIT(FRAME_MAX_BYTES);
	buf_add(&out, "{");
	add_text(&out, "id", id);
	buf_add(&out, ",\"names\":");
	db_stop = 0;
	if (completion_write(&d->db, text_of(request, "text", ""), &out) < 0)
		return send_with_id(FRAME_DONE, id, ",\"names\":[]");
	buf_add(&out, "}");
	return send_frame(FRAME_DONE, &out);
}

static int refuse(const char *what)
{
	fprintf(stderr, "retort: sql driver: %s\n", what);
	return -1;
}

/*
 * Handle one frame. Returns: 1 to continue, 0 to end; -1 if the frame is invalid or the engine has
 * closed the channel.
 */
static int take(struct driver *d, const struct frame *frame)
{
	json_error_t error;
	int r;
	if (frame->type == FRAME_BYE)
		return 0;
	if (frame->type != FRAME_STEP && frame->type != FRAME_SETUP && frame->type != FRAME_NAMES &&
		frame->type != FRAME_CHECKPOINT)
		return refuse("a frame of an unexpected type");
	json_t *request = json_loadb(frame->data, frame->bytes, JSON_REJECT_DUPLICATES, &error);
	const char *id = json_string_value(json_object_get(request, "id"));
	if (!id)
		r = refuse("a request that is not a JSON object with an id");
	else if (frame->type == FRAME_STEP && !json_is_string(json_object_get(request, "code")))
		r = refuse("a step without code");
	else if (frame->type == FRAME_STEP)
		r = run_step(d, request, id);
	else if (frame->type == FRAME_CHECKPOINT)
		r = send_guard(id);
	else
		r = frame->type == FRAME_SETUP ? set_up(d, request, id) : complete(d, request, id);
	json_decref(request);
	return r < 0 ? r : 1;
}

static int serve(struct driver *d)
{
	cleanup_buf struct buf in = BUF_INIT((size_t)FRAME_MAX_BYTES + READ_BYTES + 8);
	for (;;) {
		struct frame frame;
		struct err err;
		ssize_t n = frame_parse(&in, &frame, &err);
		if (n < 0)
			return refuse(err.msg);
		if (n > 0) {
			int r = take(d, &frame);
			if (r <= 0)
				return r;
			buf_consume(&in, (size_t)n);
			continue;
		}
		char *at = buf_reserve(&in, READ_BYTES);
		n = at ? read(CHANNEL, at, READ_BYTES) : -1;
		if (n == 0)
			return 0;
		if (n > 0)
			buf_grown(&in, (size_t)n);
		else if (!at || errno != EINTR)
			return refuse("its channel cannot be read");
	}
}

int main(void)
{
	const struct sigaction interrupt = {.sa_handler = on_interrupt};
	const char *seed = getenv("RETORT_SEED");
	struct driver d;
	(void)sigaction(SIGINT, &interrupt, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	/*
	 * Ignore SIGXFSZ: when a file becomes too large, write() then fails, and so does the
	 * statement.
	 */
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)setlocale(LC_CTYPE, "C.UTF-8"); /* wcwidth() needs a UTF-8 locale */
	db_setup(&d.db);
	clock_setup();
	if (seed)
		db_seed(&d.db, strtoull(seed, NULL, 10));
	int r = send_ready() < 0 ? -1 : serve(&d);
	db_close(&d.db);
	return r < 0 ? 1 : 0;
}
