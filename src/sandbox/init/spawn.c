/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/init/spawn.h"

#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/init/minder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SPAWN_STRINGS_MAX = 16384, SPAWN_STACK_BYTES = 8 << 20 };
/* START_MS: how long a process may take to be executed. LOOK_MS: how often it is looked after. */
enum { START_MS = 10000, LOOK_MS = 100 };

static unsigned count_strings(const char *text, size_t bytes)
{
	unsigned n = 0;
	for (size_t i = 0; i < bytes; i++)
		n += text[i] == '\0';
	return n;
}

static int check_spawn(const struct init_request *req, size_t n_fds, struct err *err)
{
	size_t want_fds = req->is_program ? WIRE_PROGRAM_FDS : WIRE_SPAWN_FDS;
	if (n_fds != want_fds)
		return err_set(err, ERR_PROTOCOL, "%zu descriptors, want %zu", n_fds, want_fds);
	if (req->argc == 0 || req->argc > SPAWN_STRINGS_MAX || req->envc > SPAWN_STRINGS_MAX)
		return err_set(err, ERR_LIMIT, "%u arguments, %u variables: at most %d each",
			req->argc, req->envc, SPAWN_STRINGS_MAX);
	if (req->is_fixed > 1 || req->is_program > 1 || req->is_terminal > req->is_program ||
		req->has_directory > 2 * req->is_program)
		return err_set(err, ERR_PROTOCOL, "a flag that is not 0 or 1");
	if (req->text_bytes == 0 || req->text_bytes > sizeof req->text ||
		req->text[req->text_bytes - 1] != '\0' ||
		count_strings(req->text, req->text_bytes) !=
			req->argc + req->envc + (req->has_directory > 0))
		return err_set(err, ERR_PROTOCOL, "arguments and variables do not add up");
	return 0;
}

int spawn_check(const struct init_request *req, size_t n_fds, struct err *err)
{
	if (req->version != WIRE_VERSION)
		return err_set(
			err, ERR_PROTOCOL, "version %u, want %d", req->version, WIRE_VERSION);
	if (req->op == INIT_KILL_ALL || req->op == INIT_MARK || req->op == INIT_CLEAR ||
		req->op == INIT_SWEEP)
		return 0;
	if (req->op == INIT_FILE) /* file_change() checks the rest of the request */
		return req->text_bytes <= sizeof req->text && n_fds <= 1
			? 0
			: err_set(err, ERR_PROTOCOL, "a file with too much of a name");
	if (req->op == INIT_ROLLBACK)
		return req->guard_pid > 1 || req->guard_pid == 0
			? 0
			: err_set(err, ERR_PROTOCOL, "guard %d is not a process of a box",
				  req->guard_pid);
	if (req->op == INIT_SIGNAL)
		return req->signal > 0 && req->signal <= SIGRTMAX
			? 0
			: err_set(err, ERR_PROTOCOL, "no signal %d", req->signal);
	if (req->op == INIT_LIST)
		return n_fds == 1 ? 0 : err_set(err, ERR_PROTOCOL, "a list without a descriptor");
	if (req->op != INIT_SPAWN)
		return err_set(err, ERR_PROTOCOL, "unknown operation %u", req->op);
	return check_spawn(req, n_fds, err);
}

/* Split `text` into its strings. Returns: the working directory. */
static const char *split_text(const struct init_request *req, char **argv, char **envp)
{
	char *at = (char *)(uintptr_t)req->text;
	for (unsigned i = 0; i < req->argc; i++, at += strlen(at) + 1)
		argv[i] = at;
	argv[req->argc] = NULL;
	for (unsigned i = 0; i < req->envc; i++, at += strlen(at) + 1)
		envp[i] = at;
	envp[req->envc] = NULL;
	return req->has_directory ? at : "/home/user";
}

/* Lower the soft and the hard limit. A limit that is lower already stays. */
static int set_limit(int resource, uint64_t soft, uint64_t hard)
{
	struct rlimit now;
	if (getrlimit(resource, &now) < 0)
		return -errno;
	struct rlimit want = {
		.rlim_cur = MIN(soft, now.rlim_max), .rlim_max = MIN(hard, now.rlim_max)};
	return setrlimit(resource, &want) < 0 ? -errno : 0;
}

static int set_limits(const struct init_request *req, struct err *err)
{
	uint64_t cpu_s = (req->cpu_ms + 999) / 1000;
	uint64_t n_pids = req->pids + 1;
	/* RLIMIT_NPROC also counts the processes of branches, because their user namespaces are
	 * below this one. */
	if (req->is_session == 1)
		n_pids += SPAWN_ROOM;
	else if (req->is_session)
		n_pids *= SPAWN_FAMILY;
	const struct {
		const char *name;
		int resource;
		uint64_t soft, hard;
	} rows[] = {
		/* The engine ends the step at its CPU limit. If that fails, the kernel does so two
		 * seconds later. */
		{"CPU time", RLIMIT_CPU, req->is_session ? RLIM_INFINITY : cpu_s + 2,
			req->is_session ? RLIM_INFINITY : cpu_s + 3},
		{"file size", RLIMIT_FSIZE, req->file_bytes, req->file_bytes},
		{"open files", RLIMIT_NOFILE, req->open_files, req->open_files},
		{"processes", RLIMIT_NPROC, n_pids, n_pids},
		{"data", RLIMIT_DATA, req->memory_bytes ? req->memory_bytes : RLIM_INFINITY,
			req->memory_bytes ? req->memory_bytes : RLIM_INFINITY},
		{"stack", RLIMIT_STACK, SPAWN_STACK_BYTES, RLIM_INFINITY},
		/* The kernel counts the following resources per user: all boxes and the user's
		 * programs on the host share them. So the box gets only a part. */
		{"pending signals", RLIMIT_SIGPENDING, 1024, 1024},
		{"message queues", RLIMIT_MSGQUEUE, 819200, 819200},
		{"locked memory", RLIMIT_MEMLOCK, 8 << 20, 8 << 20},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int r = set_limit(rows[i].resource, rows[i].soft, rows[i].hard);
		if (r < 0)
			return err_sys(err, ERR_BOX, -r, "limit of %s", rows[i].name);
	}
	return 0;
}

/* When memory runs out, the kernel is to kill the box's programs, never init. */
static void volunteer_for_oom(void)
{
	cleanup_fd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)fd_write_all(fd, "1000", 4);
}

static void default_signals(void)
{
	sigset_t none;
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		(void)signal(sig, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int place_descriptors(int n, const int *fds, int *error_fd, struct err *err)
{
	/* First duplicate the descriptors to high numbers, so that no dup2() overwrites one that is
	 * still needed. */
	int high[WIRE_SPAWN_FDS];
	for (int i = 0; i < n; i++) {
		high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 16);
		if (high[i] < 0)
			return err_sys(err, ERR_BOX, errno, "place descriptor %d", i);
	}
	*error_fd = fcntl(*error_fd, F_DUPFD_CLOEXEC, 16);
	for (int i = 0; i < n; i++)
		if (dup2(high[i], i) < 0)
			return err_sys(err, ERR_BOX, errno, "place descriptor %d", i);
	return 0;
}

/* Make a directory and its parents. Whether it worked shows when it is entered. */
static void make_directories(const char *path)
{
	char part[PATH_MAX];
	for (const char *end = path; *end;) {
		end += strspn(end, "/");
		end += strcspn(end, "/");
		int n = snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
		if (n <= 0 || (size_t)n >= sizeof part ||
			(mkdir(part, 0755) < 0 && errno != EEXIST))
			return;
	}
}

static int enter_directory(const struct init_request *req, const char *directory, struct err *err)
{
	if (chdir("/home/user") < 0)
		return err_sys(err, ERR_BOX, errno, "enter the workspace");
	if (!req->has_directory || chdir(directory) == 0)
		return 0;
	if (req->has_directory == 2 && errno == ENOENT) {
		make_directories(directory);
		if (chdir(directory) == 0)
			return 0;
	}
	err_sys(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_ACCESS, errno,
		"working directory %.200s", directory);
	err_hint(err, "a directory of the box, absolute or relative to the workspace /home/user");
	return -err->sys;
}

static int child_prepare(const struct init_request *req, const int *fds, const char *directory,
	int *error_fd, struct err *err)
{
	int r = place_descriptors(
		req->is_program ? WIRE_PROGRAM_FDS : WIRE_SPAWN_FDS, fds, error_fd, err);
	if (r < 0)
		return r;
	volunteer_for_oom();
	if (setsid() < 0)
		return err_sys(err, ERR_BOX, errno, "new session");
	if (req->is_terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0)
		return err_sys(err, ERR_BOX, errno, "take the terminal");
	(void)umask(022);
	r = enter_directory(req, directory, err);
	if (r < 0)
		return r;
	default_signals();
	/* The addresses are fixed in this process and all that it starts later, but not in init. */
	if (req->is_fixed && personality(ADDR_NO_RANDOMIZE) < 0)
		return err_sys(err, ERR_BOX, errno, "fix the addresses of memory");
	return set_limits(req, err);
}

/*
 * Execute argv[0], which is searched for in the PATH of @envp unless it contains a slash. Returns
 * only after a failure: the error of the first file that exists but cannot be executed, else
 * ENOENT. Source: exec(3).
 */
static int execute_in_path(char **argv, char **envp)
{
	const char *path = "/usr/local/bin:/usr/bin:/bin";
	char file[PATH_MAX];
	int sys = ENOENT;
	if (strchr(argv[0], '/') || !argv[0][0]) {
		(void)execve(argv[0], argv, envp);
		return errno;
	}
	for (size_t i = 0; envp[i]; i++)
		if (strncmp(envp[i], "PATH=", 5) == 0)
			path = envp[i] + 5;
	for (const char *at = path; at; at = *at ? at + 1 : NULL) {
		size_t bytes = strcspn(at, ":");
		int n = snprintf(file, sizeof file, "%.*s%s%s", (int)MIN(bytes, sizeof file), at,
			bytes > 0 ? "/" : "./", argv[0]);
		at += bytes;
		if (n < 0 || (size_t)n >= sizeof file)
			continue;
		(void)execve(file, argv, envp);
		if (errno != ENOENT && errno != ENOTDIR && sys == ENOENT)
			sys = errno;
	}
	return sys;
}

static void fail_execute(const char *program, int sys, struct err *err)
{
	struct stat st;
	bool is_dir = sys == EACCES && stat(program, &st) == 0 && S_ISDIR(st.st_mode);
	if (sys == ENOENT)
		err_set(err, ERR_RUNTIME, "program %.200s not found in the box", program);
	else
		err_set(err, ERR_RUNTIME, "program %.200s cannot be executed: %s", program,
			strerror(sys));
	err->sys = sys;
	bool has_image = access(WIRE_CHANGES_DIR, F_OK) == 0;
	const char *where = has_image ? "programs of the image are there, and those of volumes"
		: strchr(program, '/')
		? "a path is one in the box, which has its workspace, volumes and the host's /usr"
		: "programs of the host's /usr are there, and those of volumes";
	err_hint(err, "%s",
		sys == ENOENT		 ? where
			: is_dir	 ? "it is a directory: name a program in it"
			: sys == EACCES	 ? "make it executable: chmod +x"
			: sys == ENOEXEC ? "a script needs a first line such as #!/bin/sh"
					 : "check the file, and the limits of the session");
}

static void fail_driver(const char *program, int sys, struct err *err)
{
	if (strchr(program, '/') && sys == ENOENT && access(program, F_OK) == 0) {
		/* The kernel says this of the program's ELF interpreter, or of the one in `#!`. */
		err_set(err, ERR_RUNTIME, "the image has no loader for %.200s", program);
		err->sys = sys;
		return;
	}
	if (strchr(program, '/') || sys != ENOENT) {
		err_sys(err, ERR_RUNTIME, sys, "execute %s", program);
		return;
	}
	err_set(err, ERR_RUNTIME, "no %.60s in the image", program);
	err->sys = sys;
	err_hint(err,
		"its PATH leads to none: choose another image or runtime, or name it with "
		"--python; `retort run --image NAME -- PROGRAM` needs none");
}

static attr_noreturn void child_main(const struct init_request *req, const int *fds, int error_fd)
{
	static char *argv[SPAWN_STRINGS_MAX + 1], *envp[SPAWN_STRINGS_MAX + 1];
	struct err err = {0};
	const char *directory = split_text(req, argv, envp);
	if (child_prepare(req, fds, directory, &error_fd, &err) == 0 && argv[0]) {
		if (req->is_program) {
			fail_execute(argv[0], execute_in_path(argv, envp), &err);
		} else {
			fail_driver(argv[0], execute_in_path(argv, envp), &err);
		}
	}
	(void)fd_write_all(error_fd, &err, sizeof err);
	_exit(127);
}

/* The pipes between init and the child that it starts. The child tells an error through @error, and
 * a minder the pid of its program, or a negative errno, through @pid. A minder waits for the end of
 * @go. */
enum { ERROR, PID, GO, PIPES };

struct pipes {
	int ends[PIPES][2];
};

static void pipes_close(struct pipes *p)
{
	for (int i = 0; i < PIPES; i++) {
		fd_close(&p->ends[i][0]);
		fd_close(&p->ends[i][1]);
	}
}

static int pipes_open(struct pipes *p, struct err *err)
{
	int r = 0;
	for (int i = 0; i < PIPES; i++)
		p->ends[i][0] = p->ends[i][1] = -1;
	for (int i = 0; r == 0 && i < PIPES; i++)
		r = pipe2(p->ends[i], O_CLOEXEC) < 0 ? err_sys(err, ERR_BOX, errno, "pipe") : 0;
	return r;
}

/* In init's child: start the program, and become its minder. */
static attr_noreturn void minder_main(
	const struct init_request *req, const int *fds, struct pipes *pipes)
{
	char none;
	int r = minder_adopt();
	int32_t pid = r < 0 ? r : fork();
	if (pid == 0)
		child_main(req, fds, pipes->ends[ERROR][1]);
	if (pid < 0 && r == 0)
		pid = -errno;
	(void)fd_write_all(pipes->ends[PID][1], &pid, sizeof pid);
	if (pid < 0)
		_exit(MINDER_FAILED);
	/* Keep nothing that belongs to the program, nor the pipe whose end says that the program
	 * has been executed. */
	int go_fd = dup2(pipes->ends[GO][0], STDIN_FILENO);
	(void)syscall(SYS_close_range, STDOUT_FILENO, STDERR_FILENO, 0);
	(void)syscall(SYS_close_range, WIRE_SOCK_FD + 1, ~0u, 0);
	while (read(go_fd, &none, 1) < 0 && errno == EINTR)
		;
	(void)close(go_fd);
	minder_run(req->id, pid);
}

static int fail_fork(const struct init_request *req, int sys, struct err *err)
{
	if (sys != EAGAIN)
		return err_sys(err, ERR_BOX, sys, "fork");
	err_set(err, ERR_LIMIT, "no process is left for %s: the box has as many as --pids allows",
		req->is_program ? "a program" : "an interpreter");
	return err_hint(err, "end some of the session's processes, or allow more with --pids");
}

/* End the child, which has failed or is the minder of a program that has. */
static void drop_child(const struct spawned *spawned)
{
	if (spawned->program > 0)
		(void)kill(spawned->program, SIGKILL);
	(void)kill(spawned->child, SIGKILL);
	while (waitpid(spawned->child, NULL, 0) < 0 && errno == EINTR)
		;
}

static bool has_come(int fd, int wait_ms)
{
	struct pollfd at = {.fd = fd, .events = POLLIN};
	return poll(&at, 1, wait_ms) == 1;
}

/* Take the number of the program from its minder, if it has come. */
static void take_program(const struct pipes *pipes, struct spawned *out)
{
	int32_t pid;
	/* One read(): the end of the pipe may be long in coming, if the program is stopped. */
	if (out->program == 0 && has_come(pipes->ends[PID][0], 0))
		out->program = read(pipes->ends[PID][0], &pid, sizeof pid) == (ssize_t)sizeof pid
			? pid
			: -ESRCH;
}

/*
 * Wait until the child has executed its program or has told an error, at most START_MS. Another
 * process of the box may stop the child or its program in this time, so continue them again and
 * again. Returns: whether the wait has ended in time.
 */
static bool await_child(const struct pipes *pipes, struct spawned *out)
{
	int64_t end_ms = clock_now_ms() + START_MS;
	while (!has_come(pipes->ends[ERROR][0], LOOK_MS)) {
		if (clock_now_ms() >= end_ms)
			return false;
		take_program(pipes, out);
		(void)kill(out->child, SIGCONT);
		if (out->program > 0)
			(void)kill(out->program, SIGCONT);
	}
	return true;
}

/* Wait until the child has executed its program, or has told an error. */
static int await_program(
	const struct init_request *req, struct pipes *pipes, struct spawned *out, struct err *err)
{
	struct err said;
	fd_close(&pipes->ends[ERROR][1]);
	fd_close(&pipes->ends[PID][1]);
	if (!await_child(pipes, out))
		return err_fail(err, ERR_BOX, "end the processes that disturb it",
			"the process did not start within %d s", START_MS / 1000);
	/* A successful execve() closes the pipe. */
	if (fd_read_all(pipes->ends[ERROR][0], &said, sizeof said) == (ssize_t)sizeof said) {
		err_check(&said);
		*err = said;
		return said.sys ? -said.sys : -err_errno(said.code);
	}
	if (req->is_program)
		take_program(pipes, out);
	return out->program < 0 ? fail_fork(req, -out->program, err) : 0;
}

int spawn(const struct init_request *req, const int fds[WIRE_SPAWN_FDS], struct spawned *out,
	struct err *err)
{
	struct pipes pipes;
	int r = pipes_open(&pipes, err);
	pid_t pid = r < 0 ? r : fork();
	if (r == 0 && pid < 0)
		r = fail_fork(req, errno, err);
	if (pid == 0 && req->is_program)
		minder_main(req, fds, &pipes);
	if (pid == 0)
		child_main(req, fds, pipes.ends[ERROR][1]);
	*out = (struct spawned){.child = pid, .go_fd = -1};
	if (r == 0) {
		r = await_program(req, &pipes, out, err);
		if (r < 0)
			drop_child(out);
	}
	if (r == 0 && req->is_program)
		out->go_fd = take_fd(pipes.ends[GO][1]);
	pipes_close(&pipes);
	return r;
}
