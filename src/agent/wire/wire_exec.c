/* A program as the model. It reads the request as JSON from stdin, and writes the reply as text
 * to stdout. SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/inside.h"
#include "agent/wire/question.h"

#include "base/alloc.h"
#include "base/num.h"
#include "base/timer.h"
#include "base/utf8.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* LINGER_MS: how long to wait for the end of the output after the program has ended. A process
 * that the program has started may keep the pipe open. */
enum { CHUNK_BYTES = 64 << 10, SAID_BYTES = 4096, LINGER_MS = 1000, STATUS_NOT_FOUND = 127 };

struct program {
	struct wire_call *call;
	uv_process_t process;
	uv_pipe_t in, out, err;
	uv_write_t write;
	struct buf said; /* the end of the program's stderr */
	struct buf half; /* the beginning of a UTF-8 character whose end has not arrived */
	char chunk[CHUNK_BYTES];
	int n_open; /* how many of the pipes from stdout and stderr are open */
	int64_t status;
	int signal;
	bool is_spawned, is_exited, is_over;
};

static int prepare(struct wire_call *c, const struct wire_request *q, struct err *err)
{
	struct program *p = xnew(struct program);
	json_t *root = question_json(q);
	c->own = p;
	c->body = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	if (!c->body)
		return err_set(err, ERR_NO_MEMORY, "no memory to ask a model");
	c->body_bytes = strlen(c->body);
	/* Let the body end in a newline, which replaces the NUL. */
	c->body[c->body_bytes++] = '\n';
	p->call = c;
	p->said = BUF_INIT((size_t)2 * SAID_BYTES);
	p->half = BUF_INIT((size_t)CHUNK_BYTES + UTF8_MAX_BYTES);
	return 0;
}

static void on_closed(uv_handle_t *h)
{
	call_let_go(h->data);
}

static void close_one(void *handle)
{
	uv_handle_t *h = handle;
	if (!uv_is_closing(h))
		uv_close(h, on_closed);
}

/* Kill the program and all processes in its process group, of which it is the leader. */
static void end_program(struct program *p)
{
	if (p->is_over)
		return;
	p->is_over = true;
	if (p->is_spawned && !p->is_exited)
		(void)kill(-p->process.pid, SIGKILL);
	(void)uv_timer_stop(&p->call->timer);
	close_one(&p->in);
	close_one(&p->out);
	close_one(&p->err);
	/* If the program is running, on_exit_of() closes its process handle later. */
	if (!p->is_spawned || p->is_exited)
		close_one(&p->process);
}

static void judge(struct program *p)
{
	struct failure f;
	char said[FAILURE_SAID_BYTES];
	struct wire_call *c = p->call;
	buf_consume(&p->said, p->said.bytes > SAID_BYTES ? p->said.bytes - SAID_BYTES : 0);
	while (p->said.bytes > 0 && p->said.data[p->said.bytes - 1] == '\n')
		p->said.data[--p->said.bytes] = '\0';
	const char *last = p->said.bytes > 0 ? strrchr(p->said.data, '\n') : NULL;
	last = last ? last + 1 : buf_str(&p->said);
	failure_said(said, last, strlen(last), NULL);
	if (p->signal)
		(void)failure_set(
			&f, FAILURE_PROGRAM, "signal %d%s%s", p->signal, said[0] ? ": " : "", said);
	else
		(void)failure_set(&f, FAILURE_PROGRAM, "exit status %d%s%s", (int)p->status,
			said[0] ? ": " : "", said);
	if (p->status == STATUS_NOT_FOUND)
		(void)err_hint(&f.err, "check that the program exists and is executable");
	bool is_good = p->status == 0 && p->signal == 0;
	/* The output ended inside a character: append U+FFFD. */
	if (is_good && p->half.bytes > 0)
		(void)reduction_say(&c->reduction, PART_TEXT, "\xef\xbf\xbd", 3);
	c->reduction.has_stop = is_good;
	end_program(p);
	call_over(c, is_good ? NULL : &f);
}

static void look(struct program *p)
{
	if (!p->is_over && p->is_exited && p->n_open == 0)
		judge(p);
}

static void on_linger(uv_timer_t *t)
{
	judge(container_of(t, struct wire_call, timer)->own);
}

static void on_exit_of(uv_process_t *process, int64_t status, int signal)
{
	struct program *p = container_of(process, struct program, process);
	p->is_exited = true;
	p->status = status;
	p->signal = signal;
	close_one(process);
	if (p->is_over)
		return;
	timer_start(&p->call->timer, on_linger, LINGER_MS, 0);
	look(p);
}

static void on_timeout(uv_timer_t *t)
{
	struct program *p = container_of(t, struct wire_call, timer)->own;
	struct failure f;
	struct wire_call *c = p->call;
	(void)failure_set(&f, FAILURE_PROGRAM, "not done after %s",
		num_format_ms(c->wire->config.whole_ms).text);
	end_program(p);
	call_over(c, &f);
}

/* Append the complete characters of the output to the reply, with U+FFFD in place of invalid
 * bytes. */
static int say(struct program *p, const char *data, size_t bytes)
{
	cleanup_buf struct buf text = BUF_INIT((size_t)4 * CHUNK_BYTES);
	if (buf_append(&p->half, data, bytes) < 0)
		return -1;
	size_t n = p->half.bytes, back = 0;
	/* Look for an incomplete character in the last three bytes. */
	while (back < UTF8_MAX_BYTES - 1 && back < n) {
		unsigned char byte = (unsigned char)p->half.data[n - 1 - back++];
		if ((byte & 0xc0) == 0x80)
			continue;
		size_t needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
		n -= needs > back ? back : 0;
		break;
	}
	if (utf8_repair(&text, buf_str(&p->half), n, NULL) < 0)
		return -1;
	buf_consume(&p->half, n);
	return reduction_say(&p->call->reduction, PART_TEXT, buf_str(&text), text.bytes);
}

/* Return whether a read gave bytes to process. After the end of the stream or an error, close
 * the stream. */
static bool has_data(struct program *p, uv_stream_t *stream, ssize_t n)
{
	if (n < 0 && !p->is_over) {
		p->n_open--;
		close_one(stream);
		look(p);
	}
	return n > 0 && !p->is_over;
}

static void on_out(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct program *p = container_of(stream, struct program, out);
	struct wire_call *c = p->call;
	if (!has_data(p, stream, n))
		return;
	(void)failure_set(&c->reduction.failure, FAILURE_OURS, "no memory for the answer");
	int r = say(p, buf->base, (size_t)n);
	if (r == 0 || c->is_ended)
		return;
	end_program(p);
	call_over(c, r < 0 ? &c->reduction.failure : NULL);
}

static void on_err(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct program *p = container_of(stream, struct program, err);
	if (!has_data(p, stream, n))
		return;
	size_t bytes = MIN((size_t)n, SAID_BYTES);
	if (p->said.bytes + bytes > p->said.max_bytes)
		buf_consume(&p->said, p->said.bytes - (SAID_BYTES - bytes));
	buf_append(&p->said, buf->base + (size_t)n - bytes, bytes);
}

static void give_chunk(uv_handle_t *h, size_t wanted, uv_buf_t *out)
{
	struct wire_call *c = h->data;
	struct program *p = c->own;
	(void)wanted;
	*out = uv_buf_init(p->chunk, sizeof p->chunk);
}

static void on_written(uv_write_t *write, int status)
{
	struct program *p = container_of(write, struct program, write);
	(void)status;
	/* Ignore an error, because the program need not read its stdin. */
	close_one(&p->in);
}

static int spawn(struct program *p)
{
	char shell[] = "/bin/sh", name[] = "sh", option[] = "-c";
	char *argv[] = {name, option, p->call->wire->model.base, NULL};
	uv_stdio_container_t stdio[] = {
		{.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&p->in},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&p->out},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&p->err},
	};
	const uv_process_options_t options = {.exit_cb = on_exit_of,
		.file = shell,
		.args = argv,
		.flags = UV_PROCESS_DETACHED,
		.stdio = stdio,
		.stdio_count = ARRAY_LEN(stdio)};
	return uv_spawn(p->call->wire->loop, &p->process, &options);
}

static void start(struct wire_call *c)
{
	struct program *p = c->own;
	uv_pipe_t *const pipes[] = {&p->in, &p->out, &p->err};
	struct failure f;
	for (size_t i = 0; i < ARRAY_LEN(pipes); i++) {
		(void)uv_pipe_init(c->wire->loop, pipes[i], 0);
		pipes[i]->data = c;
		call_hold(c);
	}
	call_hold(c);
	int r = spawn(p);
	p->process.data = c;
	p->is_spawned = r == 0;
	if (r < 0) {
		(void)failure_set(&f, FAILURE_PROGRAM, "it does not start: %s", uv_strerror(r));
		end_program(p);
		call_over(c, &f);
		return;
	}
	uv_buf_t body = uv_buf_init(c->body, (unsigned)c->body_bytes);
	p->n_open = 2;
	(void)uv_read_start((uv_stream_t *)&p->out, give_chunk, on_out);
	(void)uv_read_start((uv_stream_t *)&p->err, give_chunk, on_err);
	if (uv_write(&p->write, (uv_stream_t *)&p->in, &body, 1, on_written) < 0)
		close_one(&p->in);
	timer_start(&c->timer, on_timeout, c->wire->config.whole_ms, 0);
}

static void stop(struct wire_call *c)
{
	end_program(c->own);
}

static void release(struct wire_call *c)
{
	struct program *p = c->own;
	if (!p)
		return;
	buf_done(&p->said);
	buf_done(&p->half);
	free(p);
}

const struct wire_kind wire_exec = {
	.prepare = prepare, .start = start, .stop = stop, .release = release};
