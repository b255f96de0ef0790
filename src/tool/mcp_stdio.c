/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/timer.h"
#include "tool/mcp_link.h"

#include "base/json.h"
#include "base/num.h"
#include "base/utf8.h"
#include "net/lines.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	CHUNK_BYTES = 64 << 10,
	SAID_BYTES = 2048,
	SHOWN_BYTES = 120,
	UNSENT_BYTES = 80 << 20, /* maximum number of bytes that wait until the server reads them */
	RUBBISH_LINES = 1000,
	LINGER_MS = 500,
	PATIENCE_MS = 1500, /* time from the end of input to SIGTERM, and from there to SIGKILL */
};

struct program {
	struct mcp_link link;
	uv_process_t process;
	uv_pipe_t in, out, err;
	uv_timer_t timer;
	struct lines lines;
	struct buf said; /* the last part of what the program wrote to stderr */
	struct err why;
	/* The beginning of the first output line that is not a message. */
	char rubbish[SHOWN_BYTES + 1];
	int n_rubbish, n_handles, n_signals;
	int64_t status;
	int signal;
	bool is_spawned, is_exited, is_ended, is_closing, is_told;
	char chunk[CHUNK_BYTES];
};

json_t *mcp_message_read(const char *text, size_t bytes, struct err *err)
{
	json_error_t wrong;
	if (bytes > MCP_MESSAGE_BYTES || json_parts(text, bytes) > MCP_MESSAGE_PARTS) {
		(void)err_set(err, ERR_LIMIT, "a message over %s or %d values",
			num_format_bytes(MCP_MESSAGE_BYTES).text, MCP_MESSAGE_PARTS);
		return NULL;
	}
	json_t *json = json_loadb(text, bytes, JSON_ALLOW_NUL, &wrong);
	if (!json)
		(void)err_set(err, ERR_PROTOCOL, "a message that is not JSON: %.100s", wrong.text);
	return json;
}

static void on_closed(uv_handle_t *h)
{
	struct program *p = h->data;
	if (--p->n_handles > 0)
		return;
	buf_done(&p->lines.part);
	buf_done(&p->said);
	free(p);
}

static void close_one(void *handle)
{
	uv_handle_t *h = handle;
	if (!uv_is_closing(h))
		uv_close(h, on_closed);
}

/* Close all handles. on_closed() frees the program when the last one is closed. */
static void finish(struct program *p)
{
	close_one(&p->in);
	close_one(&p->out);
	close_one(&p->err);
	close_one(&p->timer);
	if (p->process.loop)
		close_one(&p->process);
}

/* Describe in @err why the link has ended. Add the last line of stderr, which may say more than the
 * exit status. */
static void describe(struct program *p, struct err *err)
{
	cleanup_buf struct buf said = BUF_INIT((size_t)8 * SAID_BYTES);
	while (p->said.bytes > 0 && p->said.data[p->said.bytes - 1] == '\n')
		buf_cut(&p->said, p->said.bytes - 1);
	const char *last = strrchr(buf_str(&p->said), '\n');
	last = last ? last + 1 : buf_str(&p->said);
	(void)utf8_escape_terminal(&said, last, strnlen(last, SHOWN_BYTES), UTF8_ONE_LINE);
	if (said.bytes == 0 && p->rubbish[0])
		buf_addf(&said, "it wrote: %s", p->rubbish);
	const char *colon = said.bytes > 0 ? ": " : "";
	if (!p->is_exited)
		(void)err_set(err, ERR_UNREACHABLE, "it closed its output%s%.150s", colon,
			buf_str(&said));
	else if (p->signal)
		(void)err_set(err, ERR_UNREACHABLE, "it ended by signal %d%s%.150s", p->signal,
			colon, buf_str(&said));
	else
		(void)err_set(err, ERR_UNREACHABLE, "it ended with status %d%s%.150s",
			(int)p->status, colon, buf_str(&said));
}

static void tell(struct program *p)
{
	struct mcp_loss loss = {.id = MCP_NOTICE, .err = p->why};
	if (p->is_told || p->is_closing)
		return;
	p->is_told = true;
	if (loss.err.code == ERR_NONE)
		describe(p, &loss.err);
	p->link.user.on_loss(p->link.user.arg, &loss);
}

static void on_linger(uv_timer_t *t)
{
	tell(t->data);
}

/* Before reporting that the link has ended, wait up to LINGER_MS for the exit status and the
 * last output. */
static void linger(struct program *p)
{
	if (p->is_closing || p->is_told)
		return;
	if (p->is_exited && p->is_ended)
		tell(p);
	else if (!uv_is_active((uv_handle_t *)&p->timer))
		timer_start(&p->timer, on_linger, LINGER_MS, 0);
}

static void on_exit_of(uv_process_t *process, int64_t status, int signal)
{
	struct program *p = process->data;
	/* Kill processes that are left in the program's group. */
	(void)kill(-process->pid, SIGKILL);
	p->is_exited = true;
	p->status = status;
	p->signal = signal;
	if (p->is_closing)
		finish(p);
	else
		linger(p);
}

static void on_patience(uv_timer_t *t)
{
	struct program *p = t->data;
	(void)kill(-p->process.pid, p->n_signals++ == 0 ? SIGTERM : SIGKILL);
}

static void close_program(struct mcp_link *link)
{
	struct program *p = container_of(link, struct program, link);
	if (p->is_closing)
		return;
	p->is_closing = true;
	(void)uv_timer_stop(&p->timer);
	if (!p->is_spawned || p->is_exited) {
		finish(p);
		return;
	}
	/* Closing its stdin asks the program to exit. The output of the program is still read,
	 * so that the program does not block. */
	close_one(&p->in);
	if (p->why.code != ERR_NONE)
		p->n_signals = 1;
	timer_start(&p->timer, on_patience, p->why.code == ERR_NONE ? PATIENCE_MS : 1, PATIENCE_MS);
}

static void break_off(struct program *p, enum err_code code, const char *what, const char *which)
{
	(void)err_set(&p->why, code, "%s%.150s", what, which);
	tell(p);
}

static int on_line(void *arg, const char *line, size_t bytes)
{
	struct program *p = arg;
	struct err err = {0};
	if (p->is_closing || p->is_told)
		return 1;
	if (bytes == 0)
		return 0;
	json_t *message = mcp_message_read(line, bytes, &err);
	if (message && (json_is_object(message) || json_is_array(message))) {
		p->link.user.on_message(p->link.user.arg, message);
		json_decref(message);
		return p->is_closing;
	}
	json_decref(message);
	if (err.code == ERR_LIMIT) {
		break_off(p, ERR_LIMIT, "it sent ", err.msg);
		return 1;
	}
	cleanup_buf struct buf shown = BUF_INIT((size_t)8 * SHOWN_BYTES);
	(void)utf8_escape_terminal(&shown, line, MIN(bytes, SHOWN_BYTES / 4), UTF8_ONE_LINE);
	if (p->n_rubbish++ == 0)
		snprintf(p->rubbish, sizeof p->rubbish, "%.*s", SHOWN_BYTES, buf_str(&shown));
	if (p->n_rubbish < RUBBISH_LINES)
		return 0;
	break_off(p, ERR_PROTOCOL, "it writes lines that are not messages: ", p->rubbish);
	return 1;
}

static void on_out(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct program *p = stream->data;
	struct err err = {0};
	if (n < 0) {
		close_one(stream);
		p->is_ended = true;
		linger(p);
		return;
	}
	if (n == 0 || p->is_closing || p->is_told)
		return;
	int r = lines_feed(&p->lines, buf->base, (size_t)n, on_line, p, &err);
	if (r < 0)
		break_off(p, ERR_LIMIT, "it sent ", err.msg);
}

static void on_err(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct program *p = stream->data;
	if (n < 0)
		close_one(stream);
	if (n <= 0)
		return;
	size_t bytes = MIN((size_t)n, SAID_BYTES);
	if (p->said.bytes + bytes > p->said.max_bytes)
		buf_consume(&p->said, p->said.bytes + bytes - p->said.max_bytes);
	buf_append(&p->said, buf->base + (size_t)n - bytes, bytes);
}

static void give_chunk(uv_handle_t *h, size_t wanted, uv_buf_t *out)
{
	struct program *p = h->data;
	(void)wanted;
	*out = uv_buf_init(p->chunk, sizeof p->chunk);
}

struct letter {
	uv_write_t write;
	char text[];
};

static void on_written(uv_write_t *write, int status)
{
	struct program *p = write->handle->data;
	free(container_of(write, struct letter, write));
	if (status < 0 && !p->is_closing)
		linger(p);
}

static int write_message(struct mcp_link *link, const struct mcp_message *m, struct err *err)
{
	struct program *p = container_of(link, struct program, link);
	if (p->is_closing || p->is_told)
		return err_set(err, ERR_UNREACHABLE, "it is gone");
	size_t unsent = uv_stream_get_write_queue_size((uv_stream_t *)&p->in);
	if (m->bytes > MCP_MESSAGE_BYTES || unsent + m->bytes > UNSENT_BYTES)
		return err_set(err, ERR_LIMIT, "it does not read: %s of messages wait",
			num_format_bytes(unsent + m->bytes).text);
	struct letter *l = malloc(sizeof *l + m->bytes + 1);
	if (!l)
		return err_set(err, ERR_NO_MEMORY, "no memory for a message");
	memcpy(l->text, m->text, m->bytes);
	l->text[m->bytes] = '\n';
	uv_buf_t buf = uv_buf_init(l->text, (unsigned)m->bytes + 1);
	int r = uv_write(&l->write, (uv_stream_t *)&p->in, &buf, 1, on_written);
	if (r == 0)
		return 0;
	free(l);
	return err_sys(err, ERR_UNREACHABLE, -r, "it does not accept the message");
}

/* Build the environment of a server: a few of our own variables, and the configured ones. */
static char **make_env(struct tool_shelf *shelf, const struct tool_server *s)
{
	static const char *const ours[] = {"PATH", "HOME", "LANG"};
	size_t n = 0;
	char **list = shelf_take(shelf, (ARRAY_LEN(ours) + s->env.n + 1) * sizeof *list);
	for (size_t i = 0; list && i < ARRAY_LEN(ours) + s->env.n; i++) {
		bool is_ours = i < ARRAY_LEN(ours), is_named = false;
		const char *name = is_ours ? ours[i] : s->env.item[i - ARRAY_LEN(ours)].name;
		const char *value = is_ours ? getenv(name) : s->env.item[i - ARRAY_LEN(ours)].value;
		for (size_t k = 0; is_ours && k < s->env.n; k++)
			is_named |= strcmp(s->env.item[k].name, name) == 0;
		if (!value || is_named)
			continue;
		size_t bytes = strlen(name) + strlen(value) + 2;
		list[n] = shelf_take(shelf, bytes);
		if (!list[n])
			return NULL;
		snprintf(list[n++], bytes, "%s=%s", name, value);
	}
	return list;
}

static int spawn(struct program *p, const struct tool_server *s)
{
	struct tool_shelf shelf = {0};
	char **env = make_env(&shelf, s);
	char **argv = shelf_take(&shelf, (s->args.n + 2) * sizeof *argv);
	uv_stdio_container_t stdio[] = {
		{.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&p->in},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&p->out},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&p->err},
	};
	int r = UV_ENOMEM;
	if (env && argv) {
		argv[0] = (char *)s->command;
		for (size_t i = 0; i < s->args.n; i++)
			argv[i + 1] = (char *)s->args.item[i];
		const uv_process_options_t options = {.exit_cb = on_exit_of,
			.file = s->command,
			.args = argv,
			.env = env,
			.cwd = s->cwd,
			.flags = UV_PROCESS_DETACHED,
			.stdio = stdio,
			.stdio_count = ARRAY_LEN(stdio)};
		r = uv_spawn(p->link.loop, &p->process, &options);
	}
	shelf_done(&shelf);
	return r;
}

/* Return the real reason for a failed exec. If a directory of PATH is not searchable, exec reports
 * EACCES even if no directory contains the command. */
static int why_not(const char *command, int error)
{
	char path[PATH_MAX];
	const char *at = getenv("PATH");
	if (error != -EACCES || strchr(command, '/') || !at)
		return error;
	for (;; at++) {
		size_t bytes = strcspn(at, ":");
		int n = snprintf(path, sizeof path, "%.*s/%s", (int)bytes, at, command);
		if (n < (int)sizeof path && access(path, F_OK) == 0)
			return error;
		at += bytes;
		if (!*at)
			return -ENOENT;
	}
}

static int start(struct mcp_link **out, uv_loop_t *loop, const struct tool_server *server,
	const struct mcp_link_user *user, struct err *err)
{
	struct program *p = xnew(struct program);
	p->link = (struct mcp_link){&mcp_stdio, server, *user, loop};
	p->lines = LINES_INIT(LINES_LF, MCP_MESSAGE_BYTES);
	p->said = BUF_INIT(SAID_BYTES);
	uv_pipe_t *const pipes[] = {&p->in, &p->out, &p->err};
	for (size_t i = 0; i < ARRAY_LEN(pipes); i++) {
		(void)uv_pipe_init(loop, pipes[i], 0);
		pipes[i]->data = p;
	}
	(void)uv_timer_init(loop, &p->timer);
	p->timer.data = p->process.data = p;
	int r = spawn(p, server);
	p->n_handles = p->process.loop ? 5 : 4;
	p->process.data = p;
	if (r < 0) {
		finish(p);
		return err_fail_sys(err, ERR_UNREACHABLE, -why_not(server->command, r),
			"see its \"command\", which is looked up in PATH, and \"cwd\"",
			"%.120s does not start", server->command);
	}
	p->is_spawned = true;
	(void)uv_read_start((uv_stream_t *)&p->out, give_chunk, on_out);
	(void)uv_read_start((uv_stream_t *)&p->err, give_chunk, on_err);
	*out = &p->link;
	return 0;
}

static void forget(struct mcp_link *link, int64_t id)
{
	(void)link;
	(void)id;
}

const struct mcp_link_kind mcp_stdio = {start, write_message, forget, close_program};
