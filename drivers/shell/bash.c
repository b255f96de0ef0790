/* SPDX-License-Identifier: Apache-2.0 */
#include "bash.h"

#include "base/fd.h"
#include "memory_file.h"
#include "script_name.h"
#include "stdin_wait.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	START_MS = 20000,
	LINE_BYTES_MAX = 4096,
	FD_MIN = 64,
	REPORT_ROOM_BYTES = 256 << 10,
	STDIN_LOOK_MS = 100,
	/* commands that set the variables of a step: the engine limits names and values to 128 KiB
	 */
	VARIABLES_BYTES_MAX = 2 << 20
};

/*
 * The commands that each line ends with. They put the shell into a neutral state and write a report
 * of its state.
 *
 * The user may have defined functions and aliases with the names of builtins. So the first command
 * sets POSIXLY_CORRECT: in POSIX mode, the special builtins (unset, set, trap) take precedence over
 * functions. `unset` then removes a function named builtin, so that `\builtin` can reach all other
 * builtins. The backslash prevents alias expansion.
 */
#define COLLECT "POSIXLY_CORRECT=$?:$SHELLOPTS:$BASHOPTS;"
#define REPORT                                                                                     \
	"\\set +exvuTE;\\unset -f builtin;\\builtin shopt -u extdebug expand_aliases;"             \
	"\\trap -p 1<>/proc/%1$d/fd/%2$d;\\trap - DEBUG RETURN;"                                   \
	"\\unset -v BASH_EXECUTION_STRING||\\exit ${POSIXLY_CORRECT%%%%:*};%5$s"                   \
	"{ \\builtin printf '%%s\\0' \"$POSIXLY_CORRECT\";\\builtin pwd;\\builtin printf '\\0';"   \
	"\\builtin umask -p;\\builtin printf '\\0';\\builtin declare -p;\\builtin printf '\\0';"   \
	"\\builtin declare -f;\\builtin printf '\\0';\\builtin declare -F;\\builtin printf '\\0';" \
	"\\builtin alias -p;\\builtin printf '\\0';%4$s\\builtin printf '\\0end\\0';"              \
	"} 1<>/proc/%1$d/fd/%3$d;"
#define PARAMS	  "\\builtin printf 'set --';\\builtin printf ' %s' \"${@@Q}\";\\builtin echo;"
#define END_POSIX "\\unset -v POSIXLY_CORRECT;"
#define HOOK_END  "\\eval \"\\unset -v POSIXLY_CORRECT;\\return ${POSIXLY_CORRECT%%:*}\"\n"

/*
 * Each line of ours ends with this redirection, so that bash numbers the lines of the step's code
 * from 1.
 */
#define FIRST_LINE BASH_NEXT_LINE("-1")

/* @is_back: before the report, set the variables of the step back to what they were. */
static int report_script(const struct bash *b, struct buf *out, const char *params, bool is_back)
{
	char back[64] = "";
	if (is_back)
		snprintf(back, sizeof back, "\\builtin . /proc/%d/fd/%d;", (int)getpid(),
			b->back_fd);
	return buf_addf(out, REPORT, (int)getpid(), b->traps_fd, b->report_fd, params, back);
}

static void close_files(struct bash *b)
{
	int *const fds[] = {
		&b->code_fd, &b->script_fd, &b->report_fd, &b->traps_fd, &b->back_fd, &b->hook_fd};
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fd_close(fds[i]);
}

static void clear_files(const struct bash *b)
{
	memory_file_clear(b->report_fd, REPORT_BYTES_MAX, REPORT_ROOM_BYTES);
	memory_file_clear(b->traps_fd, TRAPS_BYTES_MAX, MEMORY_FILE_ROOM_BYTES);
}

static int make_file(int *fd, const char *name, const char *text, size_t bytes)
{
	*fd = memory_file_new(name, text, bytes);
	return MIN(*fd, 0);
}

/*
 * Create the files that do not exist yet. hook_fd is created last: if it is set, all files exist.
 */
static int have_files(struct bash *b)
{
	cleanup_buf struct buf hook = BUF_INIT(LINE_BYTES_MAX);
	if (b->hook_fd >= 0)
		return 0;
	int r = make_file(&b->code_fd, "code", "", 0);
	r = r ? r : make_file(&b->script_fd, "script", "", 0);
	r = r ? r : make_file(&b->report_fd, "report", NULL, REPORT_BYTES_MAX);
	r = r ? r : make_file(&b->traps_fd, "traps", NULL, TRAPS_BYTES_MAX);
	r = r ? r : make_file(&b->back_fd, "back", "", 0);
	r = r ? r : buf_add(&hook, "{ ");
	r = r ? r : report_script(b, &hook, "", true);
	r = r ? r : buf_add(&hook, "} >/dev/null 2>&1\n" HOOK_END);
	r = r ? r : make_file(&b->hook_fd, "hook", buf_str(&hook), hook.bytes);
	/*
	 * Name our process as $PPID, not by its id: `trap` shows this text to the user, and in a
	 * replay the id would be a different one.
	 */
	snprintf(b->exit_hook, sizeof b->exit_hook, "'" COLLECT "\\. \"/proc/$PPID/fd/%d\";'",
		b->hook_fd);
	if (r < 0)
		close_files(b);
	return r;
}

int bash_init(struct bash *b, int signal_fd, int channel_fd)
{
	*b = (struct bash){.pipe_fds = {-1, -1},
		.code_fd = -1,
		.script_fd = -1,
		.report_fd = -1,
		.traps_fd = -1,
		.back_fd = -1,
		.hook_fd = -1,
		.stdin_fd = -1,
		.signal_fd = signal_fd,
		.channel_fd = channel_fd};
	state_init(&b->state);
	b->limits = BUF_INIT(LINE_BYTES_MAX);
	b->home = getcwd(NULL, 0);
	return b->home ? 0 : -ENOMEM;
}

void bash_child(void)
{
	sigset_t none;
	(void)sigemptyset(&none);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/*
	 * Give the shell a session of its own. Its process group is then orphaned from the start,
	 * which means that the kernel sends no SIGHUP to background jobs when the shell is killed
	 * (see kill_marked() of init).
	 */
	(void)setsid();
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* ---- interrupts ---- */

/*
 * Return a numeric field of /proc/PID/stat, or -1 if it cannot be read. @index counts the fields
 * after the process's name: 0 is its state.
 */
static long stat_field(const char *pid, int index)
{
	char path[64], text[1024];
	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	text[MAX(n, 0)] = '\0';
	const char *at = strrchr(text, ')');
	for (int i = 0; at && i <= index; i++)
		at = strchr(at + 1, ' ');
	return at ? strtol(at, NULL, 10) : -1;
}

static bool is_newer(const char *pid, const struct moment *since)
{
	return !since ||
		moment_is_newer((uint64_t)stat_field(pid, 19), (pid_t)strtol(pid, NULL, 10), since);
}

void bash_interrupt(pid_t group, const struct moment *since)
{
	/*
	 * Interrupt the shell before its children. If the shell waits for a child and the child got
	 * SIGINT first, the shell would handle its own SIGINT only later, while it writes its
	 * report.
	 */
	(void)kill(-group, SIGINT);
	DIR *dir = opendir("/proc");
	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9' || stat_field(e->d_name, 1) != group ||
			!is_newer(e->d_name, since))
			continue;
		pid_t theirs = (pid_t)stat_field(e->d_name, 2);
		if (theirs > 1 && theirs != group && theirs != getpgrp())
			(void)kill(-theirs, SIGINT);
	}
	if (dir)
		(void)closedir(dir);
}

bool bash_is_child(const struct bash *b, pid_t pid)
{
	char name[16];
	snprintf(name, sizeof name, "%d", (int)pid);
	return stat_field(name, 1) == b->pid;
}

/* ---- waiting ---- */

static int64_t now_ms(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void look(struct bash *b)
{
	process_look(&b->process, b->pid);
	buf_clear(&b->limits);
	(void)process_limits(&b->limits, b->pid);
}

/*
 * Handle the signals that have arrived: pass on SIGINT and reap the shell. Returns: whether the
 * shell has ended.
 */
static bool take_signals(struct bash *b)
{
	struct signalfd_siginfo info;
	while (read(b->signal_fd, &info, sizeof info) == sizeof info)
		if (info.ssi_signo == SIGINT) {
			b->was_interrupted = true;
			if (b->is_step && b->pid > 0)
				bash_interrupt(b->pid, &b->begin);
		}
	siginfo_t end = {0};
	int status;
	if (b->pid > 0 && waitid(P_PID, (id_t)b->pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		end.si_pid == b->pid) {
		/* Inspect the shell before waitpid(), while /proc still shows the process. */
		look(b);
		if (waitpid(b->pid, &status, WNOHANG) == b->pid) {
			b->wait_status = status;
			b->pid = 0;
		}
	}
	return b->pid == 0;
}

void bash_drop_signals(struct bash *b)
{
	(void)take_signals(b);
	b->was_interrupted = false;
}

static int read_file(int fd, struct buf *out, size_t max)
{
	size_t at = 0;
	for (ssize_t n = 1; n > 0 && at < max; at += (size_t)MAX(n, 0)) {
		off_t data = lseek(fd, (off_t)at, SEEK_DATA);
		if (data != (off_t)at)
			break; /* the rest of the file is a hole: nothing was written there */
		char *to = buf_reserve(out, MIN(max - at, (size_t)(64 << 10)));
		n = to ? pread(fd, to, MIN(max - at, (size_t)(64 << 10)), (off_t)at) : -1;
		if (n > 0)
			buf_grown(out, (size_t)n);
	}
	return 0;
}

int bash_report(const struct bash *b, struct buf *out)
{
	return read_file(b->report_fd, out, REPORT_BYTES_MAX);
}

static int take_report(struct bash *b)
{
	cleanup_buf struct buf report = BUF_INIT(REPORT_BYTES_MAX + (64 << 10));
	cleanup_buf struct buf traps = BUF_INIT(TRAPS_BYTES_MAX + (64 << 10));
	(void)bash_report(b, &report);
	(void)read_file(b->traps_fd, &traps, TRAPS_BYTES_MAX);
	traps.bytes = strlen(buf_str(&traps));
	return state_take(&b->state, &report, &traps, &b->limits, b->exit_hook);
}

static enum bash_end wait_line(struct bash *b, int limit_ms, bool has_report)
{
	int64_t end_ms = limit_ms < 0 ? 0 : now_ms() + limit_ms;
	for (;;) {
		struct pollfd polls[] = {{.fd = b->pipe_fds[1], .events = POLLOUT},
			{.fd = b->signal_fd, .events = POLLIN},
			{.fd = b->channel_fd, .events = POLLRDHUP}};
		bool has_input = b->is_step && b->stdin_fd >= 0 && b->waits;
		int left = limit_ms >= 0 ? (int)MAX(end_ms - now_ms(), 0)
			: has_input	 ? STDIN_LOOK_MS
					 : -1;
		int n = poll(polls, 3, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 && limit_ms >= 0)
			return BASH_LATE;
		if (n == 0 && stdin_is_awaited(b->pid, b->stdin_fd))
			b->waits(b->waits_arg);
		if (polls[2].revents)
			return BASH_GONE;
		if ((polls[1].revents & POLLIN) && take_signals(b))
			return take_report(b) == 0 ? BASH_EXITED : BASH_DIED;
		if (!(polls[0].revents & POLLOUT))
			continue;
		if (has_report)
			look(b);
		int r = has_report ? take_report(b) : 0;
		return r == 0 ? BASH_RAN : r == -EMSGSIZE ? BASH_LARGE : BASH_LOST;
	}
}

/*
 * Write one line into the pipe. The pipe's single slot holds one write of at most a page. It is
 * free again only when bash has read the last byte.
 */
static int write_line(struct bash *b, const char *line, size_t bytes)
{
	return bytes > LINE_BYTES_MAX				       ? -E2BIG
		: write(b->pipe_fds[1], line, bytes) == (ssize_t)bytes ? 0
								       : -EIO;
}

/* ---- lines ---- */

/* Convert the negative errno @r into the result of a line that could not be started. */
static enum bash_end end_of(int r)
{
	return r == -ENOSPC ? BASH_FULL : BASH_LOST;
}

static enum bash_end run_line(struct bash *b, const char *begin, int limit_ms)
{
	cleanup_buf struct buf line = BUF_INIT(LINE_BYTES_MAX);
	int r = buf_addf(&line, "%s{ " COLLECT, begin);
	r = r ? r : report_script(b, &line, PARAMS, b->env);
	r = r ? r : buf_add(&line, END_POSIX "} >/dev/null 2>&1 " FIRST_LINE "\n ");
	clear_files(b);
	if (r < 0 || write_line(b, buf_str(&line), line.bytes) < 0)
		return BASH_LOST;
	return wait_line(b, limit_ms, true);
}

/*
 * Write the script that sets the step's variables back, and append to @script the commands that set
 * them. Variables that the step has declared itself lose that, too.
 */
static int set_variables(const struct bash *b, struct buf *script)
{
	cleanup_buf struct buf back = BUF_INIT(b->state.text.bytes + 2 * REPORT_BYTES_MAX);
	const char *name;
	json_t *value;
	int r = 0;
	json_object_foreach((json_t *)(uintptr_t)b->env, name, value)
	{
		r = r ? r : buf_addf(&back, "\\builtin unset -v %s\n", name);
		/* Without unset, an array would stay one, which is not exported. */
		r = r ? r
		      : buf_addf(script, "\\builtin unset -v %1$s && \\builtin export %1$s=", name);
		r = r ? r
		      : state_quote(script, json_string_value(value), json_string_length(value));
		r = r ? r : buf_add(script, "\n");
	}
	r = r ? r : state_declare(&back, &b->state, b->env);
	return r ? r : memory_file_set(b->back_fd, buf_str(&back), back.bytes);
}

/*
 * Write the script that runs before the step's code. It sets the step's standard input and restores
 * what was set aside between steps.
 */
static int set_resume(struct bash *b)
{
	const struct buf *resume = &b->state.resume;
	cleanup_buf struct buf script = BUF_INIT(resume->bytes + VARIABLES_BYTES_MAX);
	int r = 0;
	if (b->stdin_fd >= 0)
		r = buf_addf(&script, "\\exec </proc/%d/fd/%d\n", (int)getpid(), b->stdin_fd);
	else if (b->had_stdin)
		r = buf_add(&script, "\\exec </dev/null\n");
	if (r == 0 && b->env)
		r = set_variables(b, &script);
	r = r ? r : buf_append(&script, buf_str(resume), resume->bytes);
	r = r ? r : memory_file_set(b->script_fd, buf_str(&script), script.bytes);
	if (r == 0)
		b->had_stdin = b->stdin_fd >= 0;
	return r;
}

enum bash_end bash_run(struct bash *b, const char *code, size_t bytes)
{
	cleanup_buf struct buf text = BUF_INIT(bytes + 9 * TRAPS_BYTES_MAX);
	char line[256];
	snprintf(line, sizeof line,
		"\\builtin mapfile -d '' -t -n 1 BASH_EXECUTION_STRING </proc/%d/fd/%d;"
		"%s\\builtin eval \"${BASH_EXECUTION_STRING?}\";",
		(int)getpid(), b->code_fd,
		b->state.has_aliases ? "\\builtin shopt -s expand_aliases;" : "");
	/*
	 * Put this command on a line before the code. When the first line of the code is a syntax
	 * error, the command has then already run, and the error message does not show it.
	 */
	int r = buf_addf(&text, "\\. \"/proc/$PPID/fd/%d\" 2>/dev/null;", b->script_fd);
	r = r ? r : buf_append(&text, buf_str(&b->state.prefix), b->state.prefix.bytes);
	r = r ? r : buf_add(&text, "\n");
	r = r ? r : buf_append(&text, code, bytes);
	r = r ? r : buf_append(&text, "", 1);
	r = r ? r : memory_file_set(b->code_fd, text.data, text.bytes);
	r = r ? r : set_resume(b);
	moment_set(&b->begin);
	b->is_step = r == 0;
	enum bash_end end = r == 0 ? run_line(b, line, -1) : end_of(r);
	b->is_step = false;
	/* Release the memory: the code may have been up to 10 MB. */
	(void)memory_file_set(b->code_fd, "", 0);
	if (b->env)
		(void)memory_file_set(b->back_fd, "", 0);
	b->env = NULL;
	return end;
}

enum bash_end bash_ask(struct bash *b, const char *commands, int limit_ms)
{
	cleanup_buf struct buf line = BUF_INIT(LINE_BYTES_MAX);
	clear_files(b);
	if (commands[0] && buf_addf(&line, "{ %s;} " FIRST_LINE "\n ", commands) < 0)
		return BASH_LOST;
	if (write_line(b, buf_str(&line), line.bytes) < 0)
		return BASH_LOST;
	return wait_line(b, limit_ms, false);
}

/* ---- start and end ---- */

void bash_kill(struct bash *b)
{
	if (b->pid > 0) {
		(void)kill(b->pid, SIGKILL);
		(void)waitpid(b->pid, &b->wait_status, 0);
	}
	b->pid = 0;
	fd_close(&b->pipe_fds[0]);
	fd_close(&b->pipe_fds[1]);
}

void bash_finish(struct bash *b, int limit_ms)
{
	struct pollfd signals = {.fd = b->signal_fd, .events = POLLIN};
	fd_close(&b->pipe_fds[1]);
	if (b->pid > 0 && !take_signals(b) && poll(&signals, 1, limit_ms) > 0)
		(void)take_signals(b);
	bash_kill(b);
}

static int open_pipe(struct bash *b)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) {
		b->pipe_fds[i] = fcntl(ends[i], F_DUPFD_CLOEXEC, FD_MIN);
		(void)close(ends[i]);
	}
	if (b->pipe_fds[0] < 0 || b->pipe_fds[1] < 0 ||
		fcntl(b->pipe_fds[1], F_SETPIPE_SZ, LINE_BYTES_MAX) != LINE_BYTES_MAX)
		return -EIO;
	return 0;
}

static void first_script(const struct bash *b, struct buf *out)
{
	buf_add(out, "builtin cd -- ");
	(void)state_quote(out, b->home, strlen(b->home));
	buf_add(out, "\nbuiltin unset OLDPWD\nbuiltin shopt -s expand_aliases\nbuiltin return 0\n");
}

enum bash_end bash_start(struct bash *b, const struct buf *script)
{
	static const char *const argv[] = {"bash", "--", "bash", NULL};
	static char *const empty[] = {NULL};
	cleanup_buf struct buf first = BUF_INIT(2 * PATH_MAX * 4);
	cleanup_buf struct buf line = BUF_INIT(LINE_BYTES_MAX);
	struct script_name name;
	bash_kill(b);
	if (!script) {
		first_script(b, &first);
		script = &first;
	}
	int r = have_files(b);
	r = r ? r : open_pipe(b);
	r = r ? r : memory_file_set(b->script_fd, buf_str(script), script->bytes);
	r = r ? r : script_name_make(&name, "bash", b->pipe_fds[0]);
	if (r < 0)
		return end_of(r);
	pid_t pid = fork();
	if (pid == 0) {
		bash_child();
		if (chdir(name.dir) == 0)
			(void)execve("/bin/bash", (char **)(uintptr_t)argv,
				script == &first ? environ : empty);
		_exit(127);
	}
	b->pid = MAX(pid, 0);
	/*
	 * Change to @home first. The script changes to the directory of the restored state, and if
	 * that no longer exists, the shell stays in @home.
	 */
	r = buf_add(&line, "\\builtin cd -- ");
	r = r ? r : state_quote(&line, b->home, strlen(b->home));
	r = r ? r
	      : buf_addf(
			&line, ";\\. /proc/%d/fd/%d >/dev/null 2>&1;", (int)getpid(), b->script_fd);
	enum bash_end end = pid < 0 || r < 0 ? BASH_LOST : run_line(b, buf_str(&line), START_MS);
	b->n_own = b->process.n_descriptors;
	script_name_remove(&name);
	return end;
}
