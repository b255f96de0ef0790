/*
 * A program that a client started in a box.
 *
 * Start. The engine makes the pipes of the program, or has the warden open a terminal of the box
 * (box_open()). It keeps its ends, and sends the others to init with the command line. Init replies
 * INIT_STARTED or INIT_FAILED.
 *
 * While it runs, its output is read as it comes, and kept in part (stream.c). Nobody has to read
 * it: what nobody reads is dropped from the middle. Readers are told that there is more, and take
 * what they have not seen yet at their own pace.
 *
 * End. Init reports the end of the program (INIT_EXITED). What its pipes contain then is read.
 * Programs that it left running may hold the pipes and write more, which is read as before. The
 * process stays in its session's table, so that its status and its output can be asked for later.
 *
 * The struct lives until it was let go and its handles are closed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/process/process.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/json.h"
#include "session/box/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* From SIGTERM, at the limit of time, until the process is killed. */
enum { GRACE_MS = 2000 };

/* Copies of the parts of an order that are needed when the terminal is open. */
struct process_later {
	char **argv, **envp;
};

/* ---- memory ---- */

static char **copy_texts(const char *const *texts)
{
	size_t n = 0;
	while (texts[n])
		n++;
	char **copy = xcalloc(n + 1, sizeof *copy);
	for (size_t i = 0; i < n; i++)
		copy[i] = xstrdup(texts[i]);
	return copy;
}

static void free_texts(char **texts)
{
	for (size_t i = 0; texts && texts[i]; i++)
		free(texts[i]);
	free(texts);
}

static void forget_later(struct process *p)
{
	struct process_later *later = take_ptr(p->later);
	if (!later)
		return;
	free_texts(later->argv);
	free_texts(later->envp);
	free(later);
}

static void maybe_free(struct process *p)
{
	if (!p->is_let_go || p->n_handles > 0)
		return;
	struct engine *e = p->box->engine;
	for (unsigned i = 0; i < ARRAY_LEN(p->out); i++)
		stream_done(&p->out[i]);
	input_done(&p->input);
	forget_later(p);
	box_let_go(p->box);
	json_decref(p->argv);
	free(p->directory);
	free(p);
	engine_release(e);
}

static void on_closed(uv_handle_t *handle)
{
	struct process *p = handle->data;
	p->n_handles--;
	maybe_free(p);
}

/* ---- readers ---- */

/* Tell all readers. A callee may remove any of them, so search from the beginning each time. */
static void tell_readers(struct process *p)
{
	for (struct process_reader *r = p->readers; r; r = r->next)
		r->is_told = false;
	for (struct process_reader *r = p->readers; r;) {
		bool is_news = !r->is_told;
		r->is_told = true;
		if (is_news)
			r->changed(r);
		r = is_news ? p->readers : r->next;
	}
}

void process_add_reader(struct process *p, struct process_reader *reader)
{
	reader->is_told = true;
	reader->next = p->readers;
	p->readers = reader;
}

void process_remove_reader(struct process *p, struct process_reader *reader)
{
	for (struct process_reader **at = &p->readers; *at; at = &(*at)->next)
		if (*at == reader) {
			*at = reader->next;
			return;
		}
}

/* Kill the program and its descendants, also after the program itself has ended. */
static void kill_all(struct process *p)
{
	if (!p->box->is_over && p->box->has_init)
		init_signal_all(&p->box->init, p->program.id, SIGKILL);
}

void process_kill(struct process *p)
{
	p->is_killed = true;
	kill_all(p);
}

void process_let_go(struct process *p)
{
	process_end(p, PROCESS_CLOSED);
	if (p->is_timed_out)
		kill_all(p);
	p->is_leaving = true;
	tell_readers(p);
	p->is_let_go = true;
	for (unsigned i = 0; i < ARRAY_LEN(p->out); i++)
		(void)stream_close(&p->out[i], p, on_closed);
	(void)input_close(&p->input, p, on_closed);
	uv_close((uv_handle_t *)&p->limit.timer, on_closed);
}

static void on_stdout(struct stream *s)
{
	tell_readers(container_of(s, struct process, out[0]));
}

static void on_stderr(struct stream *s)
{
	tell_readers(container_of(s, struct process, out[1]));
}

/* ---- the end ---- */

bool process_is_over(const struct process *p)
{
	return p->state == PROCESS_OVER;
}

bool process_is_read(const struct process *p, unsigned i, uint64_t offset)
{
	const struct stream *s = &p->out[i];
	bool is_dry = s->is_over || !s->is_open || (p->state == PROCESS_OVER && s->is_dry);
	return i >= p->n_out || (is_dry && offset >= s->kept.total_bytes);
}

static void finish(struct process *p, enum process_cause cause)
{
	struct err why;
	struct box_door *door = take_ptr(p->door);
	if (door)
		box_open_forget(door);
	bool was_starting = p->state == PROCESS_STARTING;
	p->state = PROCESS_OVER;
	p->cause = cause;
	p->over_ns = uv_hrtime();
	/* What the program left running after its limit of time still has the time to end. */
	if (!p->is_timed_out || cause != PROCESS_EXITED)
		deadline_stop(&p->limit);
	box_remove_program(p->box, &p->program);
	err_set(&why, ERR_GONE, "the program has ended");
	if (p->input.is_open)
		input_shut(&p->input, &why);
	if (!was_starting)
		p->events.over(p->events.arg, p);
	tell_readers(p);
}

static void fail_start(struct process *p, const struct err *err)
{
	struct err why = *err;
	if (p->state != PROCESS_STARTING)
		return;
	finish(p, PROCESS_FAILED);
	p->events.started(p->events.arg, p, &why);
}

void process_end(struct process *p, enum process_cause cause)
{
	struct err err;
	if (p->state == PROCESS_OVER)
		return;
	kill_all(p);
	if (p->state == PROCESS_STARTING) {
		err_set(&err, ERR_GONE, "the session's box is gone");
		fail_start(p, &err);
		return;
	}
	for (unsigned i = 0; i < p->n_out; i++) {
		stream_drain(&p->out[i]);
		stream_stop(&p->out[i]);
	}
	finish(p, cause);
}

static void on_limit(uv_timer_t *timer)
{
	struct process *p = timer->data;
	if (p->is_timed_out) {
		kill_all(p);
		return;
	}
	p->is_timed_out = true;
	init_signal_all(&p->box->init, p->program.id, SIGTERM);
	deadline_start_limit(&p->limit, on_limit, GRACE_MS);
}

static void on_exited(struct process *p, const struct init_event *event)
{
	uint64_t n_ooms = 0;
	p->status = event->status;
	p->cpu_ms = event->cpu_ms == UINT32_MAX ? -1 : (int64_t)event->cpu_ms;
	/* A shell whose program was killed ends with this status. */
	bool is_killed = (WIFSIGNALED(p->status) && WTERMSIG(p->status) == SIGKILL) ||
		(WIFEXITED(p->status) && WEXITSTATUS(p->status) == 128 + SIGKILL);
	p->is_oom = is_killed && !p->is_killed && !p->is_timed_out &&
		box_count_ooms(p->box, &n_ooms) && n_ooms > p->n_ooms;
	/* What the pipes contain now was written before the end. */
	for (unsigned i = 0; i < p->n_out; i++)
		stream_drain(&p->out[i]);
	finish(p, PROCESS_EXITED);
}

/* ---- the start ---- */

static void on_started(struct process *p, const struct init_event *event)
{
	struct err err;
	if (p->state != PROCESS_STARTING)
		return;
	if (event->status < 1) {
		err_set(&err, ERR_PROTOCOL, "init says that the process has the number %d",
			event->status);
		fail_start(p, &err);
		return;
	}
	p->state = PROCESS_RUNNING;
	p->pid = event->status;
	if (p->timeout_ms > 0)
		deadline_start_limit(&p->limit, on_limit, p->timeout_ms);
	p->events.started(p->events.arg, p, NULL);
}

static void on_event(struct box_program *program, const struct init_event *event)
{
	struct process *p = container_of(program, struct process, program);
	struct err err;
	if (!event && p->state == PROCESS_STARTING) {
		err_set(&err, ERR_GONE, "the box ended unexpectedly");
		fail_start(p, &err);
	} else if (!event) {
		process_end(p, PROCESS_BOX_GONE);
	} else if (event->kind == INIT_STARTED) {
		on_started(p, event);
	} else if (event->kind == INIT_FAILED) {
		fail_start(p, &event->err);
	} else if (event->kind == INIT_EXITED && p->state == PROCESS_RUNNING) {
		on_exited(p, event);
	}
}

/* Have init start the program with the descriptors @fds, which are closed. */
static int spawn(struct process *p, const char *const *argv, const char *const *envp,
	int fds[WIRE_PROGRAM_FDS], struct err *err)
{
	struct box *box = p->box;
	struct spawn spawn = {.id = p->program.id,
		.argv = argv,
		.envp = envp,
		.limits = &box->limits,
		.is_session = 1,
		.is_program = true,
		.is_terminal = p->is_terminal,
		.directory = p->directory,
		.may_make_directory = p->may_make_directory};
	if (box->by[LIMIT_memory_bytes] == LIMIT_BY_ENGINE)
		spawn.data_bytes = box->limits.value[LIMIT_memory_bytes] * 2;
	memcpy(spawn.fds, fds, WIRE_PROGRAM_FDS * sizeof *fds);
	(void)box_count_ooms(box, &p->n_ooms);
	p->began_ns = uv_hrtime();
	int r = box->is_over || !box->has_init ? err_set(err, ERR_GONE, "the session has no box")
					       : init_spawn(&box->init, &spawn, err);
	for (int i = 0; i < WIRE_PROGRAM_FDS; i++)
		fd_close(&fds[i]);
	return r;
}

static int open_stream(struct process *p, unsigned i, int fd, struct err *err)
{
	int r = stream_open(&p->out[i], p->box->engine->loop, fd, p->output_bytes, err);
	p->n_handles += p->out[i].is_open;
	p->n_out = i + 1;
	return r;
}

static int open_input(struct process *p, int fd, struct err *err)
{
	int r = input_open(&p->input, p->box->engine->loop, fd, p->is_terminal, err);
	p->n_handles += p->input.is_open;
	return r;
}

static int open_pipes(struct process *p, bool has_input, int fds[WIRE_PROGRAM_FDS], struct err *err)
{
	int ends[2], r = 0;
	if (!has_input) {
		fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		r = fds[0] < 0 ? err_sys(err, ERR_IO, errno, "open /dev/null") : 0;
	} else if ((r = box_pipe(ends, err)) == 0) {
		fds[0] = ends[0];
		r = open_input(p, ends[1], err);
	}
	for (unsigned i = 0; r == 0 && i < 2; i++) {
		r = box_pipe(ends, err);
		if (r < 0)
			break;
		fds[1 + i] = ends[1];
		r = open_stream(p, i, ends[0], err);
	}
	return r;
}

static void on_terminal(void *arg, const int *opened, const struct err *err)
{
	struct process *p = arg;
	struct err error;
	int fd = opened ? opened[0] : -1;
	struct winsize size = {
		.ws_row = (unsigned short)p->rows, .ws_col = (unsigned short)p->columns};
	p->door = NULL;
	if (fd < 0) {
		fail_start(p, err);
		return;
	}
	(void)ioctl(fd, TIOCSWINSZ, &size);
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	int theirs = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	int fds[WIRE_PROGRAM_FDS] = {theirs, theirs < 0 ? -1 : fcntl(theirs, F_DUPFD_CLOEXEC, 0),
		theirs < 0 ? -1 : fcntl(theirs, F_DUPFD_CLOEXEC, 0)};
	int r = own < 0 || fds[1] < 0 || fds[2] < 0
		? err_sys(&error, ERR_IO, errno, "open the other side of a terminal")
		: 0;
	if (r == 0)
		r = open_input(p, take_fd(own), &error);
	if (r == 0)
		r = open_stream(p, 0, take_fd(fd), &error);
	if (r == 0)
		r = spawn(p, (const char *const *)p->later->argv,
			(const char *const *)p->later->envp, fds, &error);
	for (int i = 0; i < WIRE_PROGRAM_FDS; i++)
		fd_close(&fds[i]);
	fd_close(&own);
	fd_close(&fd);
	forget_later(p);
	if (r < 0)
		fail_start(p, &error);
}

static void start_terminal(struct process *p, const struct process_order *order)
{
	p->later = xnew(struct process_later);
	p->later->argv = copy_texts(order->argv);
	p->later->envp = copy_texts(order->envp);
	p->door = box_open(p->box, WARDEN_DOOR_TERMINAL, NULL, on_terminal, p);
}

static void start_pipes(struct process *p, const struct process_order *order)
{
	struct err err;
	int fds[WIRE_PROGRAM_FDS] = {-1, -1, -1};
	int r = open_pipes(p, order->has_input, fds, &err);
	if (r == 0)
		r = spawn(p, order->argv, order->envp, fds, &err);
	for (int i = 0; i < WIRE_PROGRAM_FDS; i++)
		fd_close(&fds[i]);
	if (r < 0)
		fail_start(p, &err);
}

static int64_t now_ms(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static json_t *texts_json(const char *const *texts)
{
	json_t *all = json_need(json_array());
	for (size_t i = 0; texts[i]; i++)
		json_add_text(all, texts[i]);
	return all;
}

struct process *process_new(
	struct box *box, const struct process_order *order, const struct process_events *events)
{
	struct process *p = xnew(struct process);
	engine_hold(box->engine);
	*p = (struct process){.box = box_hold(box),
		.events = *events,
		.argv = texts_json(order->argv),
		.directory = order->directory ? xstrdup(order->directory) : NULL,
		.may_make_directory = order->may_make_directory,
		.is_terminal = order->is_terminal,
		.is_use = order->is_use,
		.is_transient = order->is_transient,
		.timeout_ms = order->timeout_ms,
		.rows = order->rows,
		.columns = order->columns,
		.out = {{.fd = -1, .changed = on_stdout, .is_held = order->is_held},
			{.fd = -1, .changed = on_stderr, .is_held = order->is_held}},
		.input = {.fd = -1},
		.started_ms = now_ms(),
		.output_bytes = order->output_bytes ? order->output_bytes : PROCESS_OUTPUT_BYTES,
		.cpu_ms = -1,
		.program = {.event = on_event}};
	for (unsigned i = 0; i < ARRAY_LEN(p->out); i++) {
		p->out[i].chunk = box->engine->chunk;
		p->out[i].chunk_bytes = ENGINE_CHUNK_BYTES;
	}
	id_make(p->id, 10, "p-");
	snprintf(p->name, sizeof p->name, "%s", order->name ? order->name : "");
	(void)uv_timer_init(box->engine->loop, &p->limit.timer);
	p->limit.timer.data = p;
	p->n_handles = 1;
	box_add_program(box, &p->program);
	return p;
}

void process_start(struct process *p, const struct process_order *order)
{
	if (order->is_terminal)
		start_terminal(p, order);
	else
		start_pipes(p, order);
}

/* ---- requests ---- */

static int fail_over(struct err *err)
{
	return err_fail(err, ERR_GONE, "`process.get` says how it ended", "the process has ended");
}

int process_resize(struct process *p, unsigned rows, unsigned columns, struct err *err)
{
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
	if (!p->is_terminal)
		return err_fail(
			err, ERR_USAGE, "start it with `terminal`", "the process has no terminal");
	if (p->state != PROCESS_RUNNING || p->out[0].is_over)
		return fail_over(err);
	p->rows = rows;
	p->columns = columns;
	/* The kernel sends SIGWINCH to the foreground process group. */
	return ioctl(p->out[0].fd, TIOCSWINSZ, &size) < 0
		? err_sys(err, ERR_IO, errno, "set the size of the terminal")
		: 0;
}

int process_signal(struct process *p, int signal, struct err *err)
{
	/* At a terminal, the signals of its keys are for the processes in its foreground, which the
	 * kernel knows, and not for the shell that waits for them. */
	bool is_key = signal == SIGINT || signal == SIGQUIT || signal == SIGTSTP;
	if (p->state != PROCESS_RUNNING)
		return fail_over(err);
	p->is_killed |= signal == SIGKILL;
	if (!p->is_terminal || !is_key || ioctl(p->out[0].fd, TIOCSIG, signal) < 0)
		init_signal(&p->box->init, p->program.id, signal);
	return 0;
}

int process_write(struct process *p, struct input_piece *piece, struct err *err)
{
	return p->state == PROCESS_RUNNING ? input_put(&p->input, piece, err) : fail_over(err);
}
