/* SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

#include "base/fd.h"
#include "bash.h"
#include "memory_file.h"
#include "script_name.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHECK_MS = 3000, PATH_BYTES = 64, FD_MIN = 64 };

/*
 * Make a file of the script, preceded by a line of ours.
 *
 * bash starts in a temporary directory in which the script has the right name (script_name.h). Our
 * line first changes back to the current directory. Then it writes a byte to @ready_fd, by which
 * the driver learns that bash has opened the script. Then it reads @gone_fd, and so waits until the
 * driver has removed the temporary name and closed its end. The user's script follows, with lines
 * numbered from 1.
 */
static int make_script(const struct script *o, const char *name, int ready_fd, int gone_fd)
{
	cleanup_buf struct buf text = BUF_INIT(o->code_bytes + 64 * 1024);
	char *home = getcwd(NULL, 0);
	int r = buf_add(&text, "{ \\builtin cd -- ");
	r = r ? r : state_quote(&text, home ? home : "/", home ? strlen(home) : 1);
	r = r ? r : buf_add(&text, ";\\builtin unset OLDPWD;BASH_ARGV0=");
	r = r ? r : state_quote(&text, name, strlen(name));
	r = r ? r
	      : buf_addf(&text,
			";\\builtin echo >/proc/%1$d/fd/%2$d;\\builtin . /proc/%1$d/fd/%3$d;} " BASH_NEXT_LINE(
				"0") "\n",
			(int)getpid(), ready_fd, gone_fd);
	r = r ? r : buf_append(&text, o->code, o->code_bytes);
	free(home);
	return r < 0 ? r : memory_file_new("script", buf_str(&text), text.bytes);
}

static attr_noreturn void child(const struct script *o, const struct script_name *name)
{
	size_t n = json_array_size(o->argv);
	char **argv = calloc(n + 4, sizeof *argv);
	const char *variable;
	json_t *value;
	bash_child();
	json_object_foreach((json_t *)(uintptr_t)o->env, variable, value)(void)
		setenv(variable, json_string_value(value), 1);
	if (o->stdin_fd >= 0)
		(void)dup2(o->stdin_fd, STDIN_FILENO);
	if (argv && chdir(name->dir) == 0) {
		char **at = argv;
		*at++ = (char *)(uintptr_t) "bash";
		*at++ = (char *)(uintptr_t) "--";
		*at++ = (char *)(uintptr_t)name->path;
		for (size_t i = 1; i < n; i++) {
			const char *arg = json_string_value(json_array_get(o->argv, i));
			*at++ = (char *)(uintptr_t)(arg ? arg : "");
		}
		(void)execv("/bin/bash", argv);
	}
	_exit(127);
}

static int wait_script(const struct script *o, pid_t pid, int ready_fd, int *gone_fd,
	const struct script_name *name)
{
	int status = 0;
	for (;;) {
		struct pollfd polls[] = {{.fd = ready_fd, .events = POLLIN},
			{.fd = o->signal_fd, .events = POLLIN},
			{.fd = o->channel_fd, .events = POLLRDHUP}};
		if (poll(polls, 3, -1) < 0 && errno != EINTR)
			return -1;
		if (polls[0].revents && ready_fd >= 0) {
			script_name_remove(name);
			fd_close(gone_fd);
			ready_fd = -1;
		}
		if (polls[2].revents) {
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, &status, 0);
			return -1;
		}
		struct signalfd_siginfo info;
		while (read(o->signal_fd, &info, sizeof info) == sizeof info)
			if (info.ssi_signo == SIGINT)
				bash_interrupt(pid, NULL);
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
	}
}

static int make_pipe(int *reader, int *writer)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	*reader = fcntl(ends[0], F_DUPFD_CLOEXEC, FD_MIN);
	*writer = fcntl(ends[1], F_DUPFD_CLOEXEC, FD_MIN);
	(void)close(ends[0]);
	(void)close(ends[1]);
	return *reader < 0 || *writer < 0 ? -EMFILE : 0;
}

int script_run(const struct script *o)
{
	struct script_name name;
	cleanup_fd int ready = -1;
	cleanup_fd int ready_writer = -1;
	cleanup_fd int gone = -1;
	cleanup_fd int gone_writer = -1;
	int r = make_pipe(&ready, &ready_writer);
	r = r ? r : make_pipe(&gone, &gone_writer);
	cleanup_fd int script = r ? -1 : make_script(o, o->name, ready_writer, gone);
	r = r ? r : MIN(script, 0);
	r = r ? r : script_name_make(&name, o->name, script);
	if (r < 0)
		return r;
	pid_t pid = fork();
	if (pid == 0)
		child(o, &name);
	int status = pid < 0 ? -1 : wait_script(o, pid, ready, &gone_writer, &name);
	script_name_remove(&name);
	return status;
}

/*
 * Parse bash's message "NAME: line 3: syntax error near …". Returns: the line number, with the text
 * after it in @message; 0 if @text has another form.
 */
static long parse_error(const char *text, char *message, size_t message_bytes)
{
	const char *at = strstr(text, ": line ");
	char *end;
	long line = at ? strtol(at + 7, &end, 10) : 0;
	if (line <= 0 || strncmp(end, ": ", 2) != 0)
		return 0;
	snprintf(message, message_bytes, "%.*s", (int)strcspn(end + 2, "\n"), end + 2);
	return line;
}

long script_check(const char *code, size_t code_bytes, char *message, size_t message_bytes)
{
	cleanup_fd int script = memory_file_new("check", code, code_bytes);
	char path[PATH_BYTES], text[2048] = "";
	int ends[2], status;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), script);
	if (script < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return 0;
	pid_t pid = fork();
	if (pid == 0) {
		static char *const env[] = {NULL};
		const char *const argv[] = {"bash", "-n", "-O", "extglob", path, NULL};
		bash_child();
		(void)dup2(ends[1], 2);
		(void)execve("/bin/bash", (char **)(uintptr_t)argv, env);
		_exit(127);
	}
	(void)close(ends[1]);
	struct pollfd ready = {.fd = ends[0], .events = POLLIN};
	ssize_t n =
		pid > 0 && poll(&ready, 1, CHECK_MS) > 0 ? read(ends[0], text, sizeof text - 1) : 0;
	text[MAX(n, 0)] = '\0';
	(void)close(ends[0]);
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, &status, 0);
	}
	return parse_error(text, message, message_bytes);
}
