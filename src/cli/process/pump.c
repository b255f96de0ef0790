/* SPDX-License-Identifier: Apache-2.0
 *
 * One poll(2) waits for the engine, for our input and outputs, and for signals. Nothing is read
 * that has no place to go: input is read while less than TYPED_SOFT_BYTES wait for the engine, and
 * WRITES_MAX calls of `process.write` are under way; the engine is read while less than
 * OUT_SOFT_BYTES wait for the reader of our output. So a slow reader makes the program wait, and a
 * program that does not read makes the writer of our input wait, as a pipe between them would.
 */
#include "cli/process/pump.h"

#include "base/base64.h"
#include "base/fd.h"
#include "base/json.h"
#include "cli/screen/term.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
	READ_BYTES = 64 << 10,
	WRITE_BYTES = 128 << 10, /* of one `process.write` */
	WRITES_MAX = 2,
	TYPED_SOFT_BYTES = WRITE_BYTES,
	TYPED_MAX_BYTES = 4 << 20,
	OUT_SOFT_BYTES = 1 << 20,
	OUT_MAX_BYTES = 8 << 20,
	/* How long a program may take to end when nothing is left for it to do. */
	END_S = 2,
};

/* Signals that are for the program. */
static const struct {
	int number;
	const char *name;
} forwarded[] = {{SIGINT, "INT"}, {SIGTERM, "TERM"}, {SIGHUP, "HUP"}, {SIGQUIT, "QUIT"},
	{SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}};

static void fail(struct pump *p, const struct err *err)
{
	if (p->end == PUMP_ON) {
		p->end = PUMP_FAILED;
		p->err = *err;
	}
}

/* Call an operation on the process. Owns: the reference to @params is taken. */
static json_int_t call(struct pump *p, const char *method, json_t *params, link_answer *done)
{
	struct err err;
	json_put_text(params, "session", p->config.session);
	json_put_text(params, "process", p->process);
	json_int_t id = link_call(&p->link, method, params, done, &err);
	if (id < 0)
		fail(p, &err);
	return id;
}

static void note_about(struct pump *p, const json_t *about)
{
	json_decref(p->about);
	p->about = json_incref(json_unconst(about));
}

/* ---- signals ---- */

static void send_signal(struct pump *p, const char *name, link_answer *done)
{
	(void)call(p, "process.signal", json_pack("{s:s}", "signal", name), done);
}

/* Our terminal is gone, and the program has been told. It may go on without us. */
static void on_hung_up(void *arg, const json_t *result, const struct err *err)
{
	struct pump *p = arg;
	(void)result;
	(void)err;
	if (p->end == PUMP_ON)
		p->end = PUMP_INTERRUPTED;
}

/* The first SIGINT or SIGTERM goes to the program as it is. Whoever sends a second one wants the
 * program to end, with a third one at once; and if even that has no effect, we end alone. */
static const char *name_of_interrupt(struct pump *p, const char *name)
{
	const char *const names[] = {name, "TERM", "KILL"};
	unsigned n = p->n_interrupts++;
	return n < ARRAY_LEN(names) ? names[n] : NULL;
}

static void forward(struct pump *p, int number)
{
	const char *name = NULL;
	for (size_t i = 0; i < ARRAY_LEN(forwarded); i++)
		if (forwarded[i].number == number)
			name = forwarded[i].name;
	if (name && (number == SIGINT || number == SIGTERM)) {
		name = name_of_interrupt(p, name);
		if (!name)
			p->end = PUMP_INTERRUPTED;
	}
	p->last_signal = number;
	/* Who has come later can leave: the program was to run without anybody. */
	if (p->config.is_late && (number == SIGHUP || number == SIGTERM))
		p->end = PUMP_INTERRUPTED;
	/* Nobody reads the rest of the output. */
	if (p->is_exited)
		p->end = PUMP_INTERRUPTED;
	if (!name || p->is_exited || p->end != PUMP_ON)
		return;
	p->early = name;
	if (p->process[0])
		send_signal(p, name, number == SIGHUP ? on_hung_up : NULL);
	else
		link_cancel(&p->link, p->start_id);
}

static void on_resized(void *arg, const json_t *result, const struct err *err)
{
	struct pump *p = arg;
	(void)result;
	(void)err;
	p->is_resizing = false;
}

/* Tell the program's terminal the size of ours. @more_rows: added to it. */
static void resize(struct pump *p, int more_rows)
{
	int rows, columns;
	if (!p->process[0] || p->is_resizing || p->is_exited)
		return;
	p->has_new_size = false;
	if (!rawmode_size(p->config.in_fd, &rows, &columns))
		return;
	p->is_resizing = true;
	(void)call(p, "process.resize",
		json_pack("{s:i, s:i}", "rows", rows + more_rows, "cols", columns), on_resized);
}

/* Stop ourselves, as SIGTSTP does; the terminal has its own mode meanwhile. */
static void suspend(struct pump *p)
{
	rawmode_end(&p->raw);
	(void)raise(SIGSTOP);
}

static void on_signal(struct pump *p, int number)
{
	switch (number) {
	case SIGWINCH:
		p->has_new_size = true;
		break;
	case SIGTSTP:
		suspend(p);
		break;
	case SIGCONT:
		p->has_new_size = true;
		if (!p->is_exited)
			rawmode_begin(&p->raw, p->config.in_fd);
		break;
	default:
		forward(p, number);
	}
}

static void read_signals(struct pump *p)
{
	struct signalfd_siginfo info;
	while (p->end == PUMP_ON && read(p->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
		on_signal(p, (int)info.ssi_signo);
}

static void watch_signals(struct pump *p)
{
	struct sigaction action;
	sigset_t set;
	(void)sigemptyset(&set);
	/* What we were told to ignore (nohup; sftp does so for ssh) is not for the program either.
	 */
	for (size_t i = 0; i < ARRAY_LEN(forwarded); i++)
		if (sigaction(forwarded[i].number, NULL, &action) == 0 &&
			action.sa_handler != SIG_IGN)
			(void)sigaddset(&set, forwarded[i].number);
	if (p->config.is_raw) {
		(void)sigaddset(&set, SIGWINCH);
		(void)sigaddset(&set, SIGTSTP);
		(void)sigaddset(&set, SIGCONT);
	}
	/* Write errors are handled where they occur. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigprocmask(SIG_BLOCK, &set, &p->before);
	p->is_watching = true;
	p->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- output ---- */

static bool is_collecting(const struct pump *p, int stream)
{
	return p->config.out_fd[stream] < 0;
}

void pump_expect_end(struct pump *p)
{
	const struct itimerspec soon = {.it_value.tv_sec = END_S};
	if (p->timer_fd >= 0 || p->is_exited)
		return;
	p->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	(void)timerfd_settime(p->timer_fd, 0, &soon, NULL);
}

/* Nobody reads our output any more. A pipe would tell the program by SIGPIPE when it writes next;
 * ask it to end, as that does, and do not wait for long. */
static void on_unread(struct pump *p)
{
	if (p->timer_fd >= 0 || p->is_exited)
		return;
	pump_expect_end(p);
	send_signal(p, "TERM", NULL);
}

static void on_late(struct pump *p)
{
	uint64_t n;
	if (read(p->timer_fd, &n, sizeof n) == (ssize_t)sizeof n)
		send_signal(p, "KILL", NULL);
}

static void show(struct pump *p, int stream, const char *data, size_t bytes)
{
	struct sink *out = &p->out[stream];
	if (is_collecting(p, stream)) {
		/* Nobody takes stderr before the end: keep its beginning. */
		if (stream == 0 || out->waiting.bytes + bytes <= OUT_SOFT_BYTES)
			(void)buf_append(&out->waiting, data, bytes);
	} else
		sink_add(out, data, bytes);
	if (stream == 0 && p->is_screen)
		modes_read(&p->modes, data, bytes);
	if (out->error)
		on_unread(p);
}

static void on_output(void *arg, const struct link_output *output)
{
	struct pump *p = arg;
	char line[128];
	if (output->cut_bytes > 0 && !is_collecting(p, 1)) {
		int n = snprintf(line, sizeof line,
			"retort: %" PRIu64 " bytes of its output were not kept%s",
			output->cut_bytes, p->raw.is_raw ? "\r\n" : "\n");
		show(p, 1, line, (size_t)n);
	}
	show(p, output->is_stderr, output->data, output->bytes);
}

static bool has_room(const struct pump *p)
{
	for (int i = 0; i < PUMP_STREAMS; i++)
		if (p->out[i].waiting.bytes > OUT_SOFT_BYTES)
			return false;
	return true;
}

/* ---- input ---- */

static void on_written(void *arg, const json_t *result, const struct err *err)
{
	struct pump *p = arg;
	(void)err;
	p->n_writing--;
	/* The program has ended, or has closed its input: what else is typed is for nobody. */
	if (!result) {
		p->is_closed = true;
		buf_clear(&p->typed);
	}
}

static void write_typed(struct pump *p)
{
	size_t bytes = MIN(p->typed.bytes, (size_t)WRITE_BYTES);
	bool is_last = p->is_input_over && bytes == p->typed.bytes;
	if (!p->process[0] || p->n_writing == WRITES_MAX || p->is_closed || p->is_exited ||
		(bytes == 0 && !is_last))
		return;
	cleanup_buf struct buf text = BUF_INIT(2 * WRITE_BYTES);
	(void)base64_write(&text, p->typed.data, bytes);
	json_t *params =
		json_pack("{s:s%, s:s}", "data", buf_str(&text), text.bytes, "encoding", "base64");
	if (is_last)
		json_put_bool(params, "end", true);
	buf_consume(&p->typed, bytes);
	p->is_closed = is_last;
	p->n_writing++;
	(void)call(p, "process.write", params, on_written);
}

static bool wants_input(const struct pump *p)
{
	return p->config.in_fd >= 0 && p->process[0] && !p->is_input_over && !p->is_closed &&
		!p->is_exited && !p->is_detaching && p->typed.bytes < TYPED_SOFT_BYTES;
}

static void detach(struct pump *p)
{
	p->is_detaching = true;
	link_cancel(&p->link, p->attach_id);
}

static void read_input(struct pump *p)
{
	char data[READ_BYTES], out[READ_BYTES + KEYS_MAX];
	bool is_found = false;
	ssize_t n = read(p->config.in_fd, data, sizeof data);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		p->is_input_over = true;
		return;
	}
	if (!p->config.is_raw) {
		(void)buf_append(&p->typed, data, (size_t)n);
		return;
	}
	size_t bytes = keys_filter(&p->config.keys, data, (size_t)n, out, &is_found);
	(void)buf_append(&p->typed, out, bytes);
	if (is_found)
		detach(p);
}

/* ---- the process ---- */

static void follow(struct pump *p);

/* The call that follows the program is answered. */
static void on_left(void *arg, const json_t *result, const struct err *err)
{
	struct pump *p = arg;
	struct err gone;
	if (!result) {
		fail(p, err);
		return;
	}
	note_about(p, result);
	if (strcmp(json_get_text(result, "state"), "running") != 0)
		p->is_exited = true;
	else if (p->is_detaching)
		p->end = PUMP_DETACHED;
	else {
		/* Nobody here has asked for this answer: the engine is stopping, and its programs
		 * end with it. */
		err_fail(&gone, ERR_UNREACHABLE, "see what `retort serve` says, and start it again",
			"the engine is gone");
		fail(p, &gone);
	}
}

static void on_exited(void *arg, const json_t *result, const struct err *err)
{
	struct pump *p = arg;
	/* An engine that is older than this command does not know `raw`. */
	if (!result && err->code == ERR_USAGE && !p->is_engine_old) {
		p->is_engine_old = true;
		follow(p);
		return;
	}
	on_left(arg, result, err);
}

static void follow(struct pump *p)
{
	json_t *params = json_object();
	if (!p->config.is_silent)
		json_put_bool(params, "stream", true);
	if (!p->config.is_silent && !p->is_engine_old)
		json_put_bool(params, "raw", true);
	p->attach_id =
		call(p, p->config.is_silent ? "process.wait" : "process.attach", params, on_exited);
}

static void note_process(void *arg, const char *process)
{
	struct pump *p = arg;
	snprintf(p->process, sizeof p->process, "%s", process);
	if (p->early)
		send_signal(p, p->early, NULL);
}

static void on_started(void *arg, const json_t *result, const struct err *err)
{
	struct pump *p = arg;
	if (!result) {
		fail(p, err);
		return;
	}
	note_about(p, result);
	note_process(p, json_get_text(result, "process"));
	follow(p);
	if (p->config.is_raw && p->config.is_late) {
		/* A program draws its screen anew when the size of its terminal changes. */
		resize(p, 1);
		p->has_new_size = true;
	}
}

/* ---- the loop ---- */

enum { AT_ENGINE, AT_SIGNAL, AT_IN, AT_OUT, AT_ERR, AT_TIMER, N_AT };

static void fill(struct pump *p, struct pollfd *polls)
{
	short engine = p->link.out.bytes > 0 ? POLLOUT : 0;
	if (has_room(p) && !p->is_exited)
		engine |= POLLIN;
	polls[AT_ENGINE] = (struct pollfd){engine ? p->link.client->fd : -1, engine, 0};
	polls[AT_SIGNAL] = (struct pollfd){p->signal_fd, POLLIN, 0};
	polls[AT_IN] = (struct pollfd){wants_input(p) ? p->config.in_fd : -1, POLLIN, 0};
	for (int i = 0; i < PUMP_STREAMS; i++) {
		bool is_waiting = p->out[i].waiting.bytes > 0 && !is_collecting(p, i);
		polls[AT_OUT + i] =
			(struct pollfd){is_waiting ? p->config.out_fd[i] : -1, POLLOUT, 0};
	}
	polls[AT_TIMER] = (struct pollfd){p->timer_fd, POLLIN, 0};
}

/* Handle the messages that have arrived, as far as their output has room. */
static void take_messages(struct pump *p)
{
	struct err err;
	int r = 1;
	while (r > 0 && p->end == PUMP_ON && !p->is_exited && has_room(p))
		r = link_take(&p->link, &err);
	if (r < 0)
		fail(p, &err);
}

/* Return whether all output was written, or has no reader. */
static bool is_written(const struct pump *p)
{
	for (int i = 0; i < PUMP_STREAMS; i++)
		if (!is_collecting(p, i) && !p->out[i].error && p->out[i].waiting.bytes > 0)
			return false;
	return true;
}

static void settle(struct pump *p)
{
	if (p->end != PUMP_ON || !p->is_exited || !is_written(p))
		return;
	p->end = p->out[0].error || p->out[1].error ? PUMP_UNREAD : PUMP_EXITED;
}

static void handle(struct pump *p, const struct pollfd *polls)
{
	struct err err;
	if (polls[AT_SIGNAL].revents)
		read_signals(p);
	if (polls[AT_TIMER].revents)
		on_late(p);
	if (polls[AT_IN].revents)
		read_input(p);
	for (int i = 0; i < PUMP_STREAMS; i++)
		if (polls[AT_OUT + i].revents)
			show(p, i, "", 0);
	if ((polls[AT_ENGINE].revents & ~POLLOUT) && link_read(&p->link, &err) < 0) {
		/* What has arrived before comes first: it may be an error that says why. */
		take_messages(p);
		fail(p, &err);
	}
}

bool pump_turn(struct pump *p)
{
	struct pollfd polls[N_AT];
	struct err err;
	write_typed(p);
	if (p->has_new_size)
		resize(p, 0);
	if (link_write(&p->link, &err) < 0)
		fail(p, &err);
	fill(p, polls);
	if (p->end != PUMP_ON)
		return false;
	if (poll(polls, N_AT, -1) < 0) {
		if (errno != EINTR && err_sys(&err, ERR_IO, errno, "wait for the engine") < 0)
			fail(p, &err);
		return p->end == PUMP_ON;
	}
	handle(p, polls);
	take_messages(p);
	settle(p);
	return p->end == PUMP_ON;
}

enum pump_end pump_run(struct pump *p)
{
	while (pump_turn(p))
		;
	return p->end;
}

bool pump_put(struct pump *p, const void *data, size_t bytes)
{
	while (p->end == PUMP_ON && !p->is_closed && !p->is_exited && p->typed.bytes > 0 &&
		p->typed.bytes + bytes > TYPED_SOFT_BYTES)
		(void)pump_turn(p);
	if (p->end != PUMP_ON || p->is_closed || p->is_exited)
		return false;
	return buf_append(&p->typed, data, bytes) == 0;
}

void pump_end_input(struct pump *p)
{
	p->is_input_over = true;
}

void pump_kill(struct pump *p)
{
	if (p->process[0] && !p->is_exited && !p->is_killed)
		send_signal(p, "KILL", NULL);
	p->is_killed = true;
}

void pump_put_tied(json_t *params)
{
	json_put_bool(params, "attach", true);
	json_put_bool(params, "stream", true);
	json_put_bool(params, "raw", true);
}

void pump_open(struct pump *p, const struct pump_config *config, const char *method, json_t *params)
{
	struct err err;
	*p = (struct pump){.config = *config,
		.typed = BUF_INIT(TYPED_MAX_BYTES),
		.signal_fd = -1,
		.timer_fd = -1};
	link_init(&p->link, config->client, p, on_output);
	for (int i = 0; i < PUMP_STREAMS; i++)
		sink_init(&p->out[i], config->out_fd[i], OUT_MAX_BYTES);
	p->is_screen = term_is(config->out_fd[0]);
	watch_signals(p);
	if (config->is_raw)
		rawmode_begin(&p->raw, config->in_fd);
	if (config->is_tied)
		p->link.attached = note_process;
	p->start_id =
		link_call(&p->link, method, params, config->is_tied ? on_left : on_started, &err);
	if (p->start_id < 0)
		fail(p, &err);
}

/* Return whether the program has ended by itself: then what it leaves at the terminal is meant. */
static bool is_own_end(const struct pump *p)
{
	return p->end == PUMP_EXITED && json_get_int(p->about, "signal") == 0 &&
		!json_get_text(p->about, "ended")[0];
}

void pump_close(struct pump *p)
{
	if (p->is_screen && !is_own_end(p))
		modes_leave(&p->modes, &p->out[0], p->end == PUMP_FAILED);
	rawmode_end(&p->raw);
	if (p->is_watching) {
		/* A signal that has come and is not handled has no effect any more. */
		struct signalfd_siginfo info;
		while (read(p->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
			;
		(void)sigprocmask(SIG_SETMASK, &p->before, NULL);
	}
	fd_close(&p->signal_fd);
	fd_close(&p->timer_fd);
	link_free(&p->link);
	for (int i = 0; i < PUMP_STREAMS; i++) {
		if (p->end == PUMP_FAILED && !is_collecting(p, i))
			(void)sink_flush(&p->out[i]);
		sink_done(&p->out[i]);
	}
	buf_done(&p->typed);
	json_decref(p->about);
	p->about = NULL;
}
