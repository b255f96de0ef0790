/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/host/client.h"

#include "base/fd.h"
#include "base/json.h"
#include "cli/host/xdg.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { READ_BYTES = 256 << 10, LINE_MAX_BYTES = 512 << 20 };

int client_usual_path(char *out, size_t bytes, struct err *err)
{
	char dir[PATH_MAX];
	int r = xdg_runtime_dir(dir, err);
	if (r == 0 && snprintf(out, bytes, "%s/retort.sock", dir) >= (int)bytes)
		r = err_set(err, ERR_USAGE, "a socket path of more than %zu bytes", bytes - 1);
	return r;
}

static int fail_connect(const char *path, int sys, struct err *err)
{
	struct stat st;
	bool is_other = stat(path, &st) == 0 && !S_ISSOCK(st.st_mode);
	bool is_absent = sys == ENOENT || sys == ENOTDIR || sys == ECONNREFUSED;
	if (is_other)
		return err_fail(err, ERR_UNREACHABLE,
			"start an engine: retort serve, or give its --socket",
			"no engine at %.150s: it is not a socket", path);
	return err_fail_sys(err, is_absent ? ERR_UNREACHABLE : ERR_ACCESS, sys,
		is_absent ? "start an engine: retort serve, or give its --socket"
			  : "give the --socket of your own engine",
		"no engine at %s", path);
}

struct client client_of(int fd)
{
	return (struct client){.fd = fd, .in = BUF_INIT(LINE_MAX_BYTES)};
}

int client_open(struct client *c, const char *path, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char usual[PATH_MAX];
	*c = client_of(-1);
	int r = path ? 0 : client_usual_path(usual, sizeof usual, err);
	if (r < 0)
		return r;
	path = path ? path : usual;
	if (strlen(path) >= sizeof address.sun_path)
		return err_fail(err, ERR_USAGE, "use a path relative to a nearer directory",
			"socket path of %zu bytes, limit %zu: %.100s", strlen(path),
			sizeof address.sun_path - 1, path);
	memcpy(address.sun_path, path, strlen(path));
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return err_sys(err, ERR_IO, errno, "socket");
	if (connect(c->fd, (const struct sockaddr *)&address, sizeof address) < 0)
		return fail_connect(path, errno, err);
	return 0;
}

void client_done(struct client *c)
{
	fd_close(&c->fd);
	buf_done(&c->in);
}

static int fail_gone(struct err *err)
{
	return err_fail(err, ERR_GONE, "see what `retort serve` says, and start it again",
		"the engine is gone");
}

/* Send all bytes. fd_send_waiting() uses MSG_NOSIGNAL, so a broken socket does not end this
 * process by SIGPIPE, as a broken stdout does. */
static int send_all(const struct client *c, const char *data, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = fd_send_waiting(c->fd, data, bytes, NULL, 0);
		if (n < 0)
			return (int)n;
		data += n;
		bytes -= (size_t)n;
	}
	return 0;
}

char *client_request(struct client *c, const char *method, const json_t *params)
{
	json_t *request = json_pack("{s:s, s:I, s:s, s:O*}", "jsonrpc", "2.0", "id", ++c->last_id,
		"method", method, "params", params);
	char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	json_decref(request);
	return text;
}

static int send_request(struct client *c, const char *method, const json_t *params, struct err *err)
{
	char *text = client_request(c, method, params);
	if (!text)
		return err_set(err, ERR_NO_MEMORY, "no memory for a request");
	int r = send_all(c, text, strlen(text));
	if (r == 0)
		r = send_all(c, "\n", 1);
	free(text);
	/* If the engine has closed the connection, do not fail here. It may have sent an error
	 * before it closed the connection, and the caller reads that error next. */
	if (r < 0 && r != -EPIPE && r != -ECONNRESET)
		return err_sys(err, ERR_IO, -r, "write to the engine");
	return 0;
}

/* Wait for input from the engine, and append it to c->in. Returns: 0; 1 after a SIGINT; or
 * negative errno and @err. */
static int receive(struct client *c, int signal_fd, struct err *err)
{
	struct pollfd p[] = {{.fd = c->fd, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};
	struct signalfd_siginfo info;
	while (poll(p, ARRAY_LEN(p), -1) < 0)
		if (errno != EINTR)
			return err_sys(err, ERR_IO, errno, "wait for the engine");
	if (p[1].revents && read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
		return 1;
	if (!p[0].revents)
		return 0;
	char *at = buf_reserve(&c->in, READ_BYTES);
	if (!at)
		return err_set(err, ERR_LIMIT, "an answer over %d MiB", LINE_MAX_BYTES >> 20);
	ssize_t n = read(c->fd, at, READ_BYTES);
	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0)
		return fail_gone(err);
	buf_grown(&c->in, (size_t)n);
	return 0;
}

int client_error(const json_t *error, struct err *err)
{
	const json_t *data = json_object_get(error, "data");
	const char *word = json_string_value(json_object_get(data, "code"));
	const char *message = json_string_value(json_object_get(error, "message"));
	const char *hint = json_string_value(json_object_get(data, "hint"));
	enum err_code code = ERR_INTERNAL;
	for (int i = 1; word && i < ERR_END_; i++)
		if (strcmp(err_word((enum err_code)i), word) == 0)
			code = (enum err_code)i;
	(void)err_set(err, code, "%s", message ? message : "");
	return hint ? err_hint(err, "%s", hint) : -err_errno(code);
}

struct call {
	json_int_t id;
	const struct client_events *events;
	json_t **result;
	bool is_step;
};

/* Return whether a call of @method may take long: it runs programs, or waits for other work in the
 * session. Such a call can be cancelled with Ctrl-C. */
static bool is_cancellable(const char *method)
{
	static const char *const methods[] = {"step.run", "session.branch", "session.undo",
		"template.build", "image.pull", "image.import"};
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (strcmp(method, methods[i]) == 0)
			return true;
	return false;
}

/* Handle one message. Returns: 1 if the call is done; 0 to continue; or negative errno and @err. */
static int take_message(const struct call *call, const json_t *message, struct err *err)
{
	const json_t *id = json_object_get(message, "id"),
		     *error = json_object_get(message, "error");
	const char *method = json_string_value(json_object_get(message, "method"));
	if (method && strcmp(method, "event") == 0) {
		const json_t *params = json_object_get(message, "params");
		if (call->events && json_integer_value(json_object_get(params, "id")) == call->id)
			call->events->event(call->events->arg, params);
		return 0;
	}
	/* An error whose id is null concerns the whole connection. */
	if (error && (json_is_null(id) || json_integer_value(id) == call->id))
		return client_error(error, err);
	if (json_integer_value(id) != call->id)
		return 0;
	*call->result = json_incref(json_object_get(message, "result"));
	return 1;
}

static int cancel(struct client *c, json_int_t id, struct err *err)
{
	cleanup_json json_t *params = json_pack("{s:I}", "id", id);
	return send_request(c, "$/cancel", params, err);
}

/*
 * Handle a SIGINT during a call. @n: how many SIGINTs have come, with this one.
 * The first SIGINT cancels the call. The effect of a second one depends on the call:
 * - If the call runs a step, the call is cancelled again, and the engine then kills the step.
 * - For any other call, waiting for the response ends with ERR_INTERRUPTED.
 */
static int on_interrupt(struct client *c, const struct call *call, unsigned n, struct err *err)
{
	if (call->is_step || n == 1)
		return cancel(c, call->id, err);
	return err_fail(err, ERR_INTERRUPTED, "the engine may still complete the call",
		"interrupted before the engine answered");
}

/* Read messages until the call is done. */
static int wait_answer(struct client *c, const struct call *call, int signal_fd, struct err *err)
{
	unsigned n_interrupts = 0;
	size_t seen = 0;
	for (;;) {
		const char *data = buf_str(&c->in);
		const char *end = memchr(data + seen, '\n', c->in.bytes - seen);
		int r;
		if (end) {
			size_t bytes = (size_t)(end - data);
			json_t *message = json_loadb(data, bytes, JSON_ALLOW_NUL, NULL);
			r = message ? take_message(call, message, err)
				    : err_set(err, ERR_PROTOCOL, "the engine sent no JSON");
			json_decref(message);
			buf_consume(&c->in, bytes + 1);
			seen = 0;
			if (r != 0)
				return r < 0 ? r : 0;
			continue;
		}
		seen = c->in.bytes;
		r = receive(c, signal_fd, err);
		if (r == 1)
			r = on_interrupt(c, call, ++n_interrupts, err);
		if (r < 0)
			return r;
	}
}

int client_call(struct client *c, const char *method, json_t *params,
	const struct client_events *events, json_t **result, struct err *err)
{
	cleanup_fd int signal_fd = -1;
	sigset_t interrupt, before;
	bool is_heard = is_cancellable(method);
	(void)sigemptyset(&interrupt);
	(void)sigaddset(&interrupt, SIGINT);
	if (is_heard) {
		(void)sigprocmask(SIG_BLOCK, &interrupt, &before);
		signal_fd = signalfd(-1, &interrupt, SFD_CLOEXEC | SFD_NONBLOCK);
	}
	int r = send_request(c, method, params, err);
	const struct call call = {.id = c->last_id,
		.events = events,
		.result = result,
		.is_step = strcmp(method, "step.run") == 0};
	if (r == 0)
		r = wait_answer(c, &call, signal_fd, err);
	if (is_heard)
		(void)sigprocmask(SIG_SETMASK, &before, NULL);
	json_decref(params);
	return r;
}
