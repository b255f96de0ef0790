/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/process/link.h"

#include "base/base64.h"
#include "base/fd.h"
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
	READ_BYTES = 256 << 10,
	OUT_MAX_BYTES = 8 << 20,
	DATA_MAX_BYTES = 64 << 20,
	RAW_MAX_BYTES = 1 << 20
};

void link_init(struct link *link, struct client *client, void *arg, link_event *event)
{
	*link = (struct link){.client = client,
		.out = BUF_INIT(OUT_MAX_BYTES),
		.data = BUF_INIT(DATA_MAX_BYTES),
		.rest = BUF_INIT(DATA_MAX_BYTES),
		.arg = arg,
		.event = event};
}

void link_free(struct link *link)
{
	buf_done(&link->out);
	buf_done(&link->data);
	buf_done(&link->rest);
	buf_consume(&link->client->in, link->at);
	link->at = 0;
}

static int put_request(struct link *link, const char *method, json_t *params, struct err *err)
{
	char *text = client_request(link->client, method, params);
	int r = text ? buf_add(&link->out, text) : -ENOMEM;
	if (r == 0)
		r = buf_append(&link->out, "\n", 1);
	free(text);
	json_decref(params);
	return r < 0 ? err_set(err, ERR_NO_MEMORY, "no memory for a request") : 0;
}

json_int_t link_call(
	struct link *link, const char *method, json_t *params, link_answer *done, struct err *err)
{
	for (int i = 0; i < LINK_CALLS_MAX; i++) {
		struct link_call *call = &link->calls[i];
		if (call->id)
			continue;
		int r = put_request(link, method, params, err);
		if (r < 0)
			return r;
		*call = (struct link_call){link->client->last_id, done};
		return call->id;
	}
	json_decref(params);
	return err_set(err, ERR_LIMIT, "more than %d calls at a time", LINK_CALLS_MAX);
}

void link_cancel(struct link *link, json_int_t id)
{
	struct err ignored;
	(void)put_request(link, "$/cancel", json_pack("{s:I}", "id", id), &ignored);
}

int link_write(struct link *link, struct err *err)
{
	while (link->out.bytes > 0) {
		ssize_t n = send(link->client->fd, link->out.data, link->out.bytes,
			MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0) {
			buf_consume(&link->out, (size_t)n);
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno == EPIPE || errno == ECONNRESET)
			buf_clear(&link->out);
		else if (errno != EAGAIN)
			return err_sys(err, ERR_IO, errno, "write to the engine");
		return 0;
	}
	return 0;
}

int link_read(struct link *link, struct err *err)
{
	struct buf *in = &link->client->in;
	buf_consume(in, link->at);
	link->at = 0;
	char *at = buf_reserve(in, READ_BYTES);
	if (!at)
		return err_set(err, ERR_LIMIT, "an answer over %zu MiB", in->max_bytes >> 20);
	ssize_t n = recv(link->client->fd, at, READ_BYTES, MSG_DONTWAIT);
	if (n > 0)
		buf_grown(in, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		return err_fail(err, ERR_UNREACHABLE,
			"see what `retort serve` says, and start it again", "the engine is gone");
	return 0;
}

static int take_event(struct link *link, const json_t *event, struct err *err)
{
	cleanup_buf struct buf decoded = BUF_INIT(DATA_MAX_BYTES);
	const json_t *data = json_object_get(event, "data");
	const char *encoding = json_get_text(event, "encoding");
	const char *kind = json_get_text(event, "event");
	if (strcmp(kind, "attached") == 0 && link->attached)
		link->attached(link->arg, json_get_text(event, "process"));
	if (strcmp(kind, "output") != 0)
		return 1;
	struct link_output out = {
		.is_stderr = strcmp(json_get_text(event, "stream"), "stderr") == 0,
		.cut_bytes = (uint64_t)json_get_int(event, "cut_bytes")};
	if (strcmp(encoding, "raw") == 0) {
		link->is_raw = true;
		link->raw = (struct event_raw){
			out.is_stderr, out.cut_bytes, (uint64_t)json_get_int(event, "bytes")};
		return 1;
	}
	if (link->rest.bytes == 0 &&
		buf_append(&link->data, json_string_value(data), json_string_length(data)) < 0)
		return err_set(err, ERR_LIMIT, "an event over %d MiB", DATA_MAX_BYTES >> 20);
	const struct buf *text = &link->data;
	if (strcmp(encoding, "base64") == 0) {
		int r = base64_read(&decoded, buf_str(text), text->bytes, err);
		if (r < 0)
			return r;
		text = &decoded;
	}
	out.data = buf_str(text);
	out.bytes = text->bytes;
	link->event(link->arg, &out);
	return 1;
}

static int take_message(struct link *link, const json_t *message, struct err *err)
{
	const json_t *error = json_object_get(message, "error");
	const json_t *params = json_object_get(message, "params");
	const json_t *result = json_object_get(message, "result");
	json_int_t id = json_integer_value(json_object_get(message, "id"));
	struct err failed = {0};
	if (strcmp(json_get_text(message, "method"), "event") == 0)
		return take_event(link, params, err);
	if (error)
		(void)client_error(error, &failed);
	/* An error whose id is null concerns the whole connection. */
	if (error && !id) {
		*err = failed;
		return -err_errno(err->code);
	}
	for (int i = 0; id && i < LINK_CALLS_MAX; i++) {
		link_answer *done = link->calls[i].done;
		if (link->calls[i].id != id)
			continue;
		link->calls[i] = (struct link_call){0};
		if (!result && !error)
			return err_set(err, ERR_PROTOCOL, "the engine sent an empty answer");
		if (done)
			done(link->arg, error ? NULL : result, &failed);
	}
	return 1;
}

/* Handle the output that link->raw describes, if all of it has arrived. */
static int take_raw(struct link *link, struct err *err)
{
	const struct buf *in = &link->client->in;
	const struct event_raw *raw = &link->raw;
	if (raw->bytes > RAW_MAX_BYTES)
		return err_set(err, ERR_PROTOCOL, "raw output of %" PRIu64 " bytes", raw->bytes);
	if (in->bytes - link->at < raw->bytes)
		return 0;
	const struct link_output out = {.is_stderr = raw->is_stderr,
		.cut_bytes = raw->cut_bytes,
		.data = buf_str(in) + link->at,
		.bytes = (size_t)raw->bytes};
	link->at += out.bytes;
	link->is_raw = false;
	link->event(link->arg, &out);
	return 1;
}

static int take_line(struct link *link, const char *line, size_t bytes, struct err *err)
{
	link->is_raw = event_line_raw(line, bytes, &link->raw);
	if (link->is_raw)
		return 1;
	buf_clear(&link->data);
	buf_clear(&link->rest);
	bool is_cut = event_line_cut(line, bytes, &link->data, &link->rest);
	if (!is_cut) {
		buf_clear(&link->data);
		buf_clear(&link->rest);
	}
	cleanup_json json_t *message = is_cut
		? json_loadb(link->rest.data, link->rest.bytes, 0, NULL)
		: json_loadb(line, bytes, JSON_ALLOW_NUL, NULL);
	return message ? take_message(link, message, err)
		       : err_set(err, ERR_PROTOCOL, "the engine sent no JSON");
}

int link_take(struct link *link, struct err *err)
{
	const struct buf *in = &link->client->in;
	const char *line = buf_str(in) + link->at;
	size_t n = in->bytes - link->at;
	if (link->is_raw)
		return take_raw(link, err);
	const char *end = memchr(line + link->n_seen, '\n', n - link->n_seen);
	if (!end) {
		link->n_seen = n;
		return 0;
	}
	link->at += (size_t)(end - line) + 1;
	link->n_seen = 0;
	return take_line(link, line, (size_t)(end - line), err);
}
