/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/process/foreground.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/num.h"
#include "base/utf8.h"
#include "cli/cmd.h"
#include "cli/screen/term.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	STATUS_TIMEOUT = 124,
	STATUS_NOT_EXECUTABLE = 126,
	READ_LIMIT_BYTES = 1 << 20,
	OUTPUT_MAX_BYTES = 1 << 30,
};

int foreground_check(const struct process_args *args, int in_fd, struct err *err)
{
	struct keys keys;
	if (args->terminal && args->input && !term_is(in_fd))
		return err_fail(err, ERR_USAGE, "leave out -t: -i alone passes on what it has",
			"standard input is not a terminal");
	return args->detach_keys ? keys_parse(args->detach_keys, &keys, err) : 0;
}

/* ---- the parameters of process.start ---- */

static int put_argv(json_t *params, char *const *argv, struct err *err)
{
	json_t *words = json_array();
	json_put_new(params, "argv", words);
	for (; *argv; argv++) {
		if (!utf8_is_valid(*argv, strlen(*argv)))
			return err_fail(err, ERR_USAGE, "write it in UTF-8",
				"the argument %.100s is not UTF-8", *argv);
		json_add_text(words, *argv);
	}
	return 0;
}

static int put_variable(json_t *env, const char *item, struct err *err)
{
	const char *equals = strchr(item, '=');
	size_t bytes = equals ? (size_t)(equals - item) : strlen(item);
	const char *value = equals ? equals + 1 : getenv(item);
	if (bytes == 0)
		return err_fail(err, ERR_USAGE, "write -e NAME=VALUE",
			"--env \"%.100s\" has no name", item);
	if (!utf8_is_valid(item, strlen(item)) || (value && !utf8_is_valid(value, strlen(value))))
		return err_fail(err, ERR_USAGE, "write it in UTF-8", "--env %.*s: not UTF-8",
			(int)utf8_cut(item, bytes, 100), item);
	char *name = strndup(item, bytes);
	if (!name)
		return err_set(err, ERR_NO_MEMORY, "no memory for variables");
	if (value)
		json_put_text(env, name, value);
	free(name);
	return 0;
}

static int put_env(json_t *params, const struct foreground_order *order, struct err *err)
{
	const char *kind = getenv("TERM");
	json_t *env = json_object();
	int r = 0;
	json_put_new(params, "env", env);
	if (order->args->terminal && kind && utf8_is_valid(kind, strlen(kind)))
		json_put_text(env, "TERM", kind);
	for (size_t i = 0; r == 0 && order->env && i < order->env->n; i++)
		r = put_variable(env, order->env->item[i], err);
	return r;
}

static int put_texts(json_t *params, const struct foreground_order *order, struct err *err)
{
	const struct {
		const char *name, *text;
	} rows[] = {{"session", order->session}, {"cwd", order->cwd}, {"name", order->name}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *text = rows[i].text;
		if (text && !utf8_is_valid(text, strlen(text)))
			return err_fail(err, ERR_USAGE, "write it in UTF-8", "%s %.100s: not UTF-8",
				rows[i].name, text);
		json_put_text(params, rows[i].name, text);
	}
	return 0;
}

static void put_terminal(json_t *params, const struct foreground_order *order)
{
	int rows, columns;
	json_put_bool(params, "terminal", true);
	if (rawmode_size(order->in_fd, &rows, &columns) ||
		rawmode_size(STDOUT_FILENO, &rows, &columns)) {
		json_put_int(params, "rows", rows);
		json_put_int(params, "cols", columns);
	}
}

json_t *foreground_params(const struct foreground_order *order, struct err *err)
{
	cleanup_json json_t *params = json_need(json_object());
	if (put_texts(params, order, err) < 0 || put_argv(params, order->argv, err) < 0 ||
		put_env(params, order, err) < 0)
		return NULL;
	if (order->args->terminal)
		put_terminal(params, order);
	else if (order->args->input)
		json_put_bool(params, "input", true);
	if (order->timeout_ms > 0)
		json_put_int(params, "timeout_ms", (int64_t)order->timeout_ms);
	if (order->keep_alive)
		json_put_bool(params, "keep_alive", true);
	if (!order->is_detached && !order->is_silent)
		json_put_bool(params, "hold", true);
	if (order->is_tied)
		pump_put_tied(params);
	return take_ptr(params);
}

/* ---- the end ---- */

int foreground_status(const json_t *about)
{
	int number = (int)json_get_int(about, "signal");
	if (json_get_bool(about, "timed_out"))
		return STATUS_TIMEOUT;
	if (number > 0 || json_get_text(about, "ended")[0])
		return 128 + (number > 0 ? number : SIGKILL);
	return (int)json_get_int(about, "exit_code");
}

int foreground_fail(const struct err *err, bool json)
{
	int status = cli_fail(err, json);
	bool is_there = err->code == ERR_RUNTIME && strstr(err->msg, " cannot be executed");
	return is_there ? STATUS_NOT_EXECUTABLE : status;
}

void foreground_tell(const json_t *about, uint64_t timeout_ms)
{
	static const struct {
		const char *ended, *what;
	} rows[] = {{"box", "its box has ended"}, {"close", "its session was closed"},
		{"state", "its session returned to a state that only another box has"}};
	const char *ended = json_get_text(about, "ended"), *what = ended;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].ended, ended) == 0)
			what = rows[i].what;
	if (json_get_bool(about, "timed_out"))
		fprintf(stderr,
			"retort: timeout: the program ran longer than its limit of %s of wall time: "
			"give it more with --timeout\n",
			num_format_ms(timeout_ms).text);
	else if (json_get_bool(about, "oom"))
		fputs("retort: oom: the box had no memory left: give it more with --memory\n",
			stderr);
	else if (ended[0])
		fprintf(stderr, "retort: the program was ended: %s\n", what);
}

static int fail_unread(const struct pump *p, struct err *err)
{
	int sys = p->out[0].error ? p->out[0].error : p->out[1].error;
	if (sys == EPIPE)
		return 128 + SIGPIPE;
	return err_sys(err, ERR_IO, sys, p->out[0].error ? "standard output" : "standard error");
}

static int status_of(struct pump *p, json_t **about, struct err *err)
{
	switch (p->end) {
	case PUMP_ON:
	case PUMP_FAILED:
		*err = p->err;
		return -err_errno(p->err.code);
	case PUMP_EXITED:
		*about = json_incref(p->about);
		return foreground_status(*about);
	case PUMP_UNREAD:
		return fail_unread(p, err);
	case PUMP_DETACHED:
		return 0;
	case PUMP_INTERRUPTED:
		break;
	}
	return 128 + (p->last_signal ? p->last_signal : SIGINT);
}

int foreground_end(struct pump *p, json_t **about, struct err *err)
{
	int status = status_of(p, about, err);
	const char *session = p->config.session;
	char name[PUMP_PROCESS_BYTES];
	snprintf(name, sizeof name, "%s", json_get_text(p->about, "name"));
	pump_close(p);
	if (!p->config.is_own && !p->config.is_tied &&
		(p->end == PUMP_DETACHED || (p->end == PUMP_INTERRUPTED && p->process[0])))
		fprintf(stderr, "%sretort: the program goes on: retort attach %s %s\n",
			p->config.is_raw ? "\n" : "", session, name[0] ? name : p->process);
	return status;
}

int foreground_run(struct client *client, const struct foreground_order *order, json_t **about,
	struct err *err)
{
	const struct process_args *args = order->args;
	struct pump_config config = {.client = client,
		.session = order->session,
		.in_fd = args->input ? order->in_fd : -1,
		.out_fd = {STDOUT_FILENO, STDERR_FILENO},
		.is_raw = args->terminal && args->input,
		.is_own = order->is_own,
		.is_tied = order->is_tied,
		.is_silent = order->is_silent};
	struct pump p;
	json_t *params = foreground_params(order, err);
	if (!params)
		return -err_errno(err->code);
	const char *keys = args->detach_keys ? args->detach_keys : PROCESS_KEYS;
	int r = order->is_own ? 0 : keys_parse(keys, &config.keys, err);
	if (r < 0) {
		json_decref(params);
		return r;
	}
	pump_open(&p, &config, "process.start", params);
	(void)pump_run(&p);
	return foreground_end(&p, about, err);
}

/* ---- the output, when it is part of a result ---- */

static int take_data(const json_t *part, struct buf *out, struct err *err)
{
	const json_t *data = json_object_get(part, "data");
	const char *text = json_string_value(data);
	size_t bytes = json_string_length(data);
	if (!text)
		return err_set(err, ERR_PROTOCOL, "the engine sent no data");
	if (strcmp(json_get_text(part, "encoding"), "base64") == 0)
		return base64_read(out, text, bytes, err);
	return buf_append(out, text, bytes) < 0
		? err_set(err, ERR_LIMIT, "output over %zu MiB", out->max_bytes >> 20)
		: 0;
}

/* Read all that is kept of a stream. *@n_cut: how much is not. */
static int read_stream(struct client *client, const json_t *where, const char *stream,
	struct buf *out, int64_t *n_cut, struct err *err)
{
	int64_t offset = 0;
	bool is_end = false;
	int r = 0;
	while (r == 0 && !is_end) {
		json_t *part = NULL;
		r = client_call(client, "process.read",
			json_pack("{s:O, s:O, s:s, s:I, s:i, s:s}", "session",
				json_object_get(where, "session"), "process",
				json_object_get(where, "process"), "stream", stream, "offset",
				(json_int_t)offset, "limit", READ_LIMIT_BYTES, "encoding",
				"base64"),
			NULL, &part, err);
		if (r == 0)
			r = take_data(part, out, err);
		*n_cut += json_get_int(part, "cut_bytes");
		/* An answer that does not get on is the last. */
		is_end = json_get_bool(part, "end") || json_get_int(part, "next") <= offset;
		offset = json_get_int(part, "next");
		json_decref(part);
	}
	return r;
}

int foreground_add_output(
	struct client *client, const char *session, json_t *about, struct err *err)
{
	static const char *const streams[] = {"stdout", "stderr"};
	static const char *const counts[] = {"stdout_bytes", "stderr_bytes"};
	cleanup_json json_t *where = json_pack(
		"{s:s, s:O}", "session", session, "process", json_object_get(about, "process"));
	json_t *truncated = json_object();
	int r = 0;
	json_put_new(about, "truncated", truncated);
	for (int i = 0; r == 0 && i < PUMP_STREAMS; i++) {
		cleanup_buf struct buf out = BUF_INIT(OUTPUT_MAX_BYTES);
		int64_t n_cut = 0;
		r = read_stream(client, where, streams[i], &out, &n_cut, err);
		json_put_textn(about, streams[i], buf_str(&out), out.bytes);
		json_put_int(truncated, counts[i], n_cut);
	}
	return r;
}
