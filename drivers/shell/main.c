/*
 * retort-shell: runs the steps of a session in one bash process that stays, and a script in a bash
 * of its own.
 *
 * The user's view is in docs/languages/shell.md. This file talks to the engine. It receives SETUP,
 * STEP and NAMES frames, and sends BEGIN, STATE and RESULT frames. bash.c runs code. state.c turns
 * the shell's report into a script that restores its state. After each step that has changed this
 * script, the driver sends it to the engine in a STATE frame. When the shell exits or is lost,
 * have_shell() starts another one and restores the last state.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "bash.h"
#include "channel.h"
#include "complete.h"
#include "script.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHANNEL_FD = 3, FD_MIN = 64, MESSAGE_BYTES = 512, ASK_MS = 1000 };

struct driver {
	struct channel channel;
	struct bash bash;
	struct buf sent; /* the script that was last sent to the engine */
	/* Number of descriptors that a restored shell would lack, as last sent to the engine */
	unsigned n_descriptors;
	bool is_homeless;
	bool is_large; /* the shell's state is over 16 MiB, too large to be recorded */
	json_t *due;   /* a SETUP that must be repeated when the disk has space again, or NULL */
	int signal_fd;
	const char *step; /* id of the running step */
};

static const char no_room[] =
	"there is no room for the shell's own files: remove something from the workspace, /tmp or /dev/shm";

/* The outcome of a step. */
struct outcome {
	int exit_code, signal;
	const char *name; /* name of the error, NULL if the step succeeded */
	char message[MESSAGE_BYTES];
	long line; /* line number of the error, 0 if unknown */
	bool has_exited;
};

static void say(const char *text)
{
	(void)fd_write_all(2, text, strlen(text));
}

static attr_noreturn void leave(struct driver *d, int status)
{
	bash_kill(&d->bash);
	_exit(status);
}

static bool has_bash(void)
{
	return access("/bin/bash", F_OK) == 0;
}

/* Find bash's version as text in its binary. Starting bash would take longer. */
static void find_version(char out[32])
{
	static const char mark[] = "@(#)Bash version ";
	struct stat st;
	cleanup_fd int fd = open("/bin/bash", O_RDONLY | O_CLOEXEC);
	snprintf(out, 32, "unknown");
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0)
		return;
	size_t bytes = (size_t)st.st_size;
	const char *data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return;
	const char *at = memmem(data, bytes, mark, sizeof mark - 1);
	if (at && (size_t)(data + bytes - at) > sizeof mark + 32) {
		at += sizeof mark - 1;
		snprintf(out, 32, "%.*s", (int)strspn(at, "0123456789."), at);
	}
	(void)munmap((void *)(uintptr_t)data, bytes);
}

/* ---- results ---- */

static void judge_status(struct outcome *out, int status, const char *who, const char *name)
{
	out->exit_code = status;
	out->name = status ? name : NULL;
	int sig = status - 128;
	if (sig > 0 && sig < NSIG)
		snprintf(out->message, sizeof out->message,
			"%s ended with status %d (128 + signal %d, %s)", who, status, sig,
			strsignal(sig));
	else
		snprintf(out->message, sizeof out->message, "%s ended with status %d", who, status);
}

static void judge_wait(struct outcome *out, int wait_status, const char *who)
{
	if (WIFEXITED(wait_status)) {
		judge_status(out, WEXITSTATUS(wait_status), who, "Exit");
		return;
	}
	out->signal = WTERMSIG(wait_status);
	out->exit_code = 128 + out->signal;
	out->name = "Killed";
	snprintf(out->message, sizeof out->message, "%s was ended by signal %d (%s)", who,
		out->signal, strsignal(out->signal));
}

static void judge_syntax(struct outcome *out, const char *code, size_t bytes)
{
	char message[MESSAGE_BYTES];
	long line = out->exit_code == 2 ? script_check(code, bytes, message, sizeof message) : 0;
	if (line > 0) {
		out->name = "SyntaxError";
		out->line = line;
		memcpy(out->message, message, sizeof message);
	}
}

static void judge_interrupt(struct outcome *out)
{
	out->exit_code = 130;
	out->name = "Interrupted";
	out->signal = 0;
	snprintf(out->message, sizeof out->message, "the step was interrupted");
}

static int send_result(struct driver *d, const char *id, const struct outcome *out)
{
	json_t *error = NULL;
	if (out->name)
		error = json_pack("{s:s, s:o, s:[]}", "name", out->name, "message",
			channel_text(out->message, strlen(out->message)), "traceback");
	if (error && out->line > 0)
		(void)json_object_set_new(error, "line", json_integer(out->line));
	json_t *message = json_pack("{s:s, s:s, s:i, s:o*}", "id", id, "status",
		out->name ? "error" : "ok", "exit_code", out->exit_code, "error", error);
	if (out->has_exited)
		(void)json_object_set_new(message, "exited", json_true());
	return channel_send(&d->channel, FRAME_RESULT, message);
}

/* Send the state to the engine if it differs from the one sent last. */
static void send_state(struct driver *d, const char *id)
{
	const struct state *st = &d->bash.state;
	cleanup_buf struct buf text = BUF_INIT(STATE_BYTES_MAX);
	size_t n_omitted = 0;
	const struct process *now = &d->bash.process;
	unsigned n_descriptors = now->n_descriptors - MIN(now->n_descriptors, d->bash.n_own);
	if (st->text.bytes == d->sent.bytes && n_descriptors == d->n_descriptors &&
		now->is_homeless == d->is_homeless && !d->is_large &&
		memcmp(buf_str(&st->text), buf_str(&d->sent), d->sent.bytes) == 0)
		return;
	int r = state_encode(&text, st, &n_omitted);
	/*
	 * If the state cannot be kept, send an empty one all the same: the engine must drop its
	 * older state, which would bring back variables that no longer exist.
	 */
	if (d->is_large) {
		n_omitted = 1;
	} else if (r < 0) {
		say("retort: the functions of this session are over 1 MiB: the state of the session is not saved\n");
		buf_clear(&text);
		n_omitted = 1;
	} else if (n_omitted > 0)
		say("retort: the state of this session is over 1 MiB: its largest variables are not saved\n");
	json_t *message = json_pack("{s:s, s:s%}", "id", id, "state", buf_str(&text), text.bytes);
	if (n_omitted > 0)
		(void)json_object_set_new(message, "omitted", json_integer((json_int_t)n_omitted));
	if (n_descriptors > 0)
		(void)json_object_set_new(
			message, "descriptors", json_integer((json_int_t)n_descriptors));
	if (now->is_homeless)
		(void)json_object_set_new(message, "homeless", json_true());
	d->n_descriptors = n_descriptors;
	d->is_homeless = now->is_homeless;
	(void)channel_send(&d->channel, FRAME_STATE, message);
	buf_done(&d->sent);
	buf_append(&d->sent, buf_str(&st->text), st->text.bytes);
}

/* ---- steps ---- */

static const char *set_up(struct driver *d, const json_t *setup);

static int status_of(enum bash_end end)
{
	return end == BASH_RAN ? 0 : end == BASH_FULL ? -ENOSPC : -EIO;
}

/* Repeat a postponed SETUP. Returns: 0, or -ENOSPC while the disk still has no space for it. */
static int catch_up(struct driver *d)
{
	json_t *due = take_ptr(d->due);
	int r = due && set_up(d, due) == no_room ? -ENOSPC : 0;
	if (r < 0)
		d->due = due;
	else
		json_decref(due);
	return r;
}

/*
 * Make sure that a shell is running. If the last one has ended, start another and restore the last
 * state. Returns: 0; -ENOSPC when the disk has no space for a shell, in which case the state is
 * kept; or another negative errno.
 */
static int have_shell(struct driver *d)
{
	cleanup_buf struct buf script = BUF_INIT(2 * REPORT_BYTES_MAX);
	struct bash *b = &d->bash;
	int r = catch_up(d);
	if (r < 0 || b->pid > 0)
		return r;
	r = b->state.text.bytes == 0
		? -ENOENT
		: buf_append(&script, buf_str(&b->state.text), b->state.text.bytes);
	r = r ? r : status_of(bash_start(b, &script));
	if (r == 0 || r == -ENOSPC)
		return r;
	if (b->state.text.bytes > 0 || d->is_large)
		say("retort: the state of the session could not be restored: the session starts empty\n");
	return status_of(bash_start(b, NULL));
}

/* Report that a step was not run, or not to its end, for a reason other than its code. */
static void judge_failed(struct outcome *out, const char *name, const char *message)
{
	out->exit_code = 1;
	out->name = name;
	snprintf(out->message, sizeof out->message, "%s", message);
	say("retort: ");
	say(message);
	say("\n");
}

static void run_session(struct driver *d, const char *code, size_t bytes, struct outcome *out)
{
	struct bash *b = &d->bash;
	int r = have_shell(d);
	enum bash_end end = r == -ENOSPC ? BASH_FULL : r < 0 ? BASH_LOST : BASH_RAN;
	/* The interrupt arrived before the code was started. */
	if (b->was_interrupted) {
		judge_interrupt(out);
		return;
	}
	end = end == BASH_RAN ? bash_run(b, code, bytes) : end;
	switch (end) {
	case BASH_LARGE:
		say("retort: the state of this session is over 16 MiB: the state is not saved\n");
		buf_clear(&b->state.text);
		b->state.variables_end = 0;
		d->is_large = true;
		judge_status(out, b->state.status, "the last command", "ExitStatus");
		break;
	case BASH_RAN:
		d->is_large = false;
		judge_status(out, b->state.status, "the last command", "ExitStatus");
		break;
	case BASH_EXITED:
		d->is_large = false;
		out->has_exited = true;
		judge_wait(out, b->wait_status, "the step");
		break;
	case BASH_DIED:
		judge_wait(out, b->wait_status, "the shell");
		say("retort: the shell has ended (exec, a signal or an EXIT trap): the session continues "
		    "with the state from before this step\n");
		break;
	case BASH_FULL:
		judge_failed(out, "DiskError", no_room);
		return;
	case BASH_LOST:
	case BASH_LATE:
		bash_kill(b);
		judge_failed(out, "ShellLost",
			"the shell became unusable: the session continues with the state "
			"from before this step");
		break;
	case BASH_GONE:
		leave(d, 0);
	}
	if (b->was_interrupted && out->exit_code == 130)
		judge_interrupt(out);
	judge_syntax(out, code, bytes);
}

/* Die by the signal @sig that killed the script, so that our parent sees the same wait status. */
static attr_noreturn void die_of(struct driver *d, int sig)
{
	static const struct rlimit none = {0};
	sigset_t one;
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)signal(sig, SIG_DFL);
	(void)sigemptyset(&one);
	(void)sigaddset(&one, sig);
	(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
	(void)raise(sig);
	leave(d, 128 + sig);
}

static void run_once(
	struct driver *d, const json_t *step, const char *code, size_t bytes, struct outcome *out)
{
	const char *filename = json_string_value(json_object_get(step, "filename"));
	const json_t *argv = json_object_get(step, "argv");
	const char *name = json_string_value(json_array_get(argv, 0));
	bool is_file = filename && filename[0] != '<' && name;
	const struct script once = {.name = is_file ? name : "bash",
		.argv = argv,
		.code = code,
		.code_bytes = bytes,
		.env = json_object_get(step, "env"),
		.stdin_fd = d->bash.stdin_fd,
		.signal_fd = d->signal_fd,
		.channel_fd = d->channel.fd};
	/* The session's shell has nothing more to do. If it outlived us, it would complain of it.
	 */
	bash_kill(&d->bash);
	int status = script_run(&once);
	if (status == -ENOSPC) {
		judge_failed(out, "DiskError", no_room);
		return;
	}
	if (status < 0)
		leave(d, 1);
	judge_wait(out, status, "the program");
	if (out->signal == SIGINT)
		judge_interrupt(out);
	else if (out->signal)
		die_of(d, out->signal);
	judge_syntax(out, code, bytes);
}

/*
 * Tell the engine that this runtime cannot make guards, and which process is the shell. After a
 * failed step, the engine needs the process id to end what the shell has started.
 */
static void send_guard(struct driver *d, const char *id)
{
	(void)channel_send(&d->channel, FRAME_GUARD,
		json_pack("{s:s, s:s, s:i}", "id", id ? id : "", "reason", "runtime", "pid",
			(int)d->bash.pid));
}

static void on_waits(void *arg)
{
	struct driver *d = arg;
	(void)channel_send(&d->channel, FRAME_WAITING, json_pack("{s:s}", "id", d->step));
}

static void do_step(struct driver *d, const json_t *step)
{
	const json_t *text = json_object_get(step, "code");
	const char *id = json_string_value(json_object_get(step, "id"));
	const char *mode = json_string_value(json_object_get(step, "mode"));
	const char *code = json_string_value(text);
	bool is_session = mode && strcmp(mode, "session") == 0;
	bool has_stdin = json_is_true(json_object_get(step, "stdin"));
	cleanup_fd int input = channel_take_fd(&d->channel);
	struct outcome out = {0};
	if (!id || !code)
		leave(d, 1);
	size_t bytes = json_string_length(text), n = strlen(code);
	if (!has_bash()) {
		(void)channel_send(&d->channel, FRAME_READY, json_pack("{s:s}", "missing", "bash"));
		return;
	}
	d->bash.stdin_fd = has_stdin ? input : -1;
	d->bash.env = json_object_get(step, "env");
	d->bash.waits = on_waits;
	d->bash.waits_arg = d;
	d->step = id;
	/*
	 * Forget interrupts that arrived between two steps: they are too late for the last step,
	 * and not meant for this one.
	 */
	bash_drop_signals(&d->bash);
	(void)channel_send(&d->channel, FRAME_BEGIN, json_pack("{s:s}", "id", id));
	if (n < bytes) {
		out.exit_code = 2;
		out.name = "SyntaxError";
		out.line = 1;
		for (size_t i = 0; i < n; i++)
			out.line += code[i] == '\n';
		snprintf(out.message, sizeof out.message,
			"the code contains a NUL byte, which no shell can read: write it as '\\0' for printf");
	} else if (is_session)
		run_session(d, code, bytes, &out);
	else
		run_once(d, step, code, bytes, &out);
	bool has_checkpoint = json_is_true(json_object_get(step, "checkpoint"));
	/*
	 * A signal has killed the shell. Die without sending a RESULT, so that the engine rolls the
	 * step back.
	 */
	if (is_session && has_checkpoint && d->bash.pid == 0 && out.signal)
		die_of(d, out.signal);
	if (is_session)
		send_state(d, id);
	(void)send_result(d, id, &out);
	int r = is_session && d->bash.pid == 0 ? have_shell(d) : 0;
	if (r < 0 && r != -ENOSPC)
		leave(d, 1);
}

/* ---- other frames ---- */

static const char *set_up(struct driver *d, const json_t *setup)
{
	const json_t *state = json_object_get(setup, "state");
	const char *session = json_string_value(json_object_get(setup, "session"));
	const json_t *seed = json_object_get(setup, "seed");
	cleanup_buf struct buf script = BUF_INIT(2 * STATE_BYTES_MAX);
	cleanup_buf struct buf line = BUF_INIT(4096);
	const char *text = json_string_value(state);
	bool has_state = json_string_length(state) > 0;
	if (has_state && state_decode(&script, text, json_string_length(state)) < 0)
		return "this is not the state of a shell";
	int r = has_state ? status_of(bash_start(&d->bash, &script)) : have_shell(d);
	if (r < 0 && has_state)
		bash_kill(&d->bash);
	if (r < 0)
		return r == -ENOSPC ? no_room
			: has_state ? "the state could not be restored"
				    : "bash could not be started";
	r = buf_add(&line, ":");
	if (r == 0 && session) {
		r = buf_add(&line, ";\\builtin export RETORT_SESSION=");
		r = r ? r : state_quote(&line, session, strlen(session));
	}
	if (r == 0 && json_is_integer(seed))
		r = buf_addf(&line, ";RANDOM=%d", (int)(json_integer_value(seed) & 0x7fff));
	if (r < 0 || bash_ask(&d->bash, buf_str(&line), ASK_MS) != BASH_RAN)
		return "session and seed could not be set";
	return NULL;
}

/*
 * Handle a SETUP frame. If the disk has no space for a shell, the session begins all the same. The
 * SETUP is then repeated at each step, and the step reports the error until there is space.
 */
static void do_setup(struct driver *d, json_t *setup)
{
	const char *id = json_string_value(json_object_get(setup, "id"));
	/* Without bash the session begins all the same: other programs run in its box, too. */
	const char *wrong = has_bash() ? set_up(d, setup) : NULL;
	if (wrong == no_room) {
		wrong = NULL;
		if (!d->due)
			d->due = json_incref(setup);
		else
			(void)json_object_update(d->due, setup);
	}
	id = id ? id : "";
	json_t *error =
		wrong ? json_pack("{s:s, s:s}", "name", "SetupError", "message", wrong) : NULL;
	if (!wrong)
		/*
		 * Name the shell to the engine before DONE, after which the engine may branch the
		 * session.
		 */
		send_guard(d, id);
	(void)channel_send(
		&d->channel, FRAME_DONE, json_pack("{s:s, s:o*}", "id", id, "error", error));
}

static void do_names(struct driver *d, const json_t *names)
{
	const char *id = json_string_value(json_object_get(names, "id"));
	const char *text = json_string_value(json_object_get(names, "text"));
	json_t *list =
		have_shell(d) < 0 ? json_array() : complete_names(&d->bash, text ? text : "");
	(void)channel_send(&d->channel, FRAME_DONE,
		json_pack("{s:s, s:o}", "id", id ? id : "", "names", list));
}

static void serve(struct driver *d)
{
	for (;;) {
		json_t *message = NULL;
		int type = channel_receive(&d->channel, &message);
		if (type <= 0 || type == FRAME_BYE)
			return;
		if (message && type == FRAME_STEP)
			do_step(d, message);
		else if (message && type == FRAME_SETUP)
			do_setup(d, message);
		else if (message && type == FRAME_NAMES)
			do_names(d, message);
		else if (message && type == FRAME_CHECKPOINT)
			send_guard(d, json_string_value(json_object_get(message, "id")));
		json_decref(message);
	}
}

static int start(struct driver *d)
{
	char version[32];
	sigset_t mask;
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
			return -errno;
	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGCHLD);
	(void)sigaddset(&mask, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &mask, NULL);
	cleanup_fd int low = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	d->signal_fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, FD_MIN);
	int r = d->signal_fd < 0 ? -errno : channel_open(&d->channel, CHANNEL_FD);
	if (r == 0)
		r = bash_init(&d->bash, d->signal_fd, d->channel.fd);
	find_version(version);
	return r < 0 ? r
		     : channel_send(&d->channel, FRAME_READY,
			       json_pack("{s:s, s:s, s:i}", "version", version, "implementation",
				       "bash", "pid", (int)getpid()));
}

int main(void)
{
	static struct driver d = {.sent = {.max_bytes = (size_t)2 * REPORT_BYTES_MAX}};
	if (start(&d) < 0)
		return 1;
	serve(&d);
	bash_finish(&d.bash, ASK_MS);
	leave(&d, 0);
}
