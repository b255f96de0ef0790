/*
 * init: process 1 of a box, and the only code that runs in a box before the user's.
 *
 * Theory of operation. The warden has made the namespaces and the root, and executes this static
 * program with a socket as descriptor 3. Before init reads a single request, it gives up its
 * capabilities and the chance of new privileges, and enters a Landlock domain and the syscall
 * filter. Processes that it spawns inherit all of that. Init then does three things: it spawns what
 * the engine asks for, reaps processes, and reports the ends of those that it spawned. When the
 * socket closes, init exits, and the kernel kills the rest of the box.
 *
 * Init is not dumpable, so that nothing in the box can look into it through /proc/1.
 *
 * In a box that can be branched, the filter is loaded before init starts, and init inherits it.
 *
 * The init of a branch was a process of the parent's box a moment ago (drivers/python/branch.c). So
 * it has the filter and the Landlock domain of that box, finds the driver already running, and
 * waits until the warden has completed the root.
 *
 * In a box that may have branches, init stays when its socket closes, since its exit would end the
 * branches. The warden kills it later.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/init/file.h"
#include "sandbox/init/lock.h"
#include "sandbox/init/minder.h"
#include "sandbox/init/rollback.h"
#include "sandbox/init/spawn.h"
#include "sandbox/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* INIT_CLEAR only stops the guards. Init kills them later: when it has been idle for
 * CLEAR_PAUSE_MS, or at the first event after CLEAR_LATEST_MS. */
enum { INIT_CHILDREN_MAX = 64 + WIRE_PROGRAMS_MAX, CLEAR_PAUSE_MS = 50, CLEAR_LATEST_MS = 1000 };
enum { ENDING_MINDERS_MAX = 32 };

struct child {
	pid_t pid; /* 0: this entry is free */
	uint64_t id;
	bool is_program; /* it is the minder of a program that a client started, no driver */
	pid_t program;	 /* the pid of this program */
};

struct init {
	int signal_fd;
	bool has_branches; /* the box has branches or may get some */
	struct rollback_mark marks[ROLLBACK_MARKS_MAX];
	uint64_t n_marks;
	bool is_alone; /* the engine has closed its end of the socket */
	/* INIT_CLEAR has stopped guards, and init must still kill them */
	bool is_clearing;
	/* after this time, init kills the stopped guards even if it is busy */
	int64_t clear_by_ms;
	uint64_t cleared_for; /* id of the driver that survives the INIT_CLEAR */
	struct child children[INIT_CHILDREN_MAX];
};

static void send_event(struct init *in, const struct init_event *event)
{
	/* The engine never waits for init, so init may wait for it. */
	if (in->is_alone || fd_send_waiting(WIRE_SOCK_FD, event, sizeof *event, NULL, 0) >= 0)
		return;
	if (!in->has_branches)
		_exit(1); /* the engine is gone, so the box ends */
	in->is_alone = true;
}

static void report(struct init *in, uint32_t kind, uint64_t id, int status, const struct err *err)
{
	struct init_event event = {
		.version = WIRE_VERSION, .kind = kind, .id = id, .status = status};
	if (err)
		event.err = *err;
	send_event(in, &event);
}

static void report_exit(struct init *in, uint64_t id, int status, uint32_t cpu_ms)
{
	const struct init_event event = {.version = WIRE_VERSION,
		.kind = INIT_EXITED,
		.id = id,
		.status = status,
		.cpu_ms = cpu_ms};
	send_event(in, &event);
}

static struct child *child_of_pid(struct init *in, pid_t pid)
{
	for (size_t i = 0; i < ARRAY_LEN(in->children); i++)
		if (in->children[i].pid == pid)
			return &in->children[i];
	return NULL;
}

static struct child *child_of_id(struct init *in, uint64_t id)
{
	for (size_t i = 0; i < ARRAY_LEN(in->children); i++)
		if (in->children[i].pid > 0 && in->children[i].id == id)
			return &in->children[i];
	return NULL;
}

/* Report the end of a child. A minder has reported the end of its program itself, unless it was
 * killed. */
static void forget_child(struct init *in, struct child *child, int status, uint32_t cpu_ms)
{
	child->pid = 0;
	if (child->is_program && WIFEXITED(status) && WEXITSTATUS(status) == MINDER_TOLD)
		return;
	if (child->is_program)
		(void)kill(-child->program, SIGKILL); /* nobody minds it any more */
	report_exit(in, child->id, status, cpu_ms);
}

static void reap(void *arg)
{
	struct init *in = arg;
	int status;
	pid_t pid;
	struct rusage used;
	while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED, &used)) > 0) {
		struct child *child = child_of_pid(in, pid);
		if (!child)
			continue; /* a process of the box that init did not spawn */
		if (WIFSTOPPED(status) && child->is_program)
			(void)kill(pid, SIGCONT); /* a program has stopped its minder */
		if (WIFSTOPPED(status))
			continue;
		forget_child(in, child, status, minder_cpu_ms(&used));
	}
}

/* List the pids of the children of one kind. Returns: how many. */
static size_t list_children(const struct init *in, bool is_program, pid_t pids[INIT_CHILDREN_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_LEN(in->children); i++)
		if (in->children[i].pid > 0 && in->children[i].is_program == is_program)
			pids[n++] = in->children[i].pid;
	return n;
}

/* A minder whose program has ended may need a moment to end, too. So at the limit, only those count
 * that have a process to mind. */
static bool has_room_for_program(const struct init *in)
{
	pid_t minders[INIT_CHILDREN_MAX];
	size_t n = list_children(in, true, minders);
	return n < WIRE_PROGRAMS_MAX ||
		(n < WIRE_PROGRAMS_MAX + ENDING_MINDERS_MAX &&
			rollback_count_minding(minders, n) < WIRE_PROGRAMS_MAX);
}

static void do_spawn(struct init *in, const struct init_request *req, int *fds)
{
	struct err err = {0};
	struct spawned spawned;
	struct child *child = child_of_pid(in, 0);
	/* The other places are for drivers. */
	if (req->is_program && !has_room_for_program(in))
		child = NULL;
	int r = child ? spawn(req, fds, &spawned, &err)
		      : err_fail(&err, ERR_LIMIT, "end some of them",
				"the box has %d programs that run, or have left others running",
				req->is_program ? WIRE_PROGRAMS_MAX : INIT_CHILDREN_MAX);
	if (r < 0 || !child) {
		report(in, INIT_FAILED, req->id, 0, &err);
		return;
	}
	*child = (struct child){.pid = spawned.child,
		.id = req->id,
		.is_program = req->is_program != 0,
		.program = spawned.program};
	if (child->is_program)
		report(in, INIT_STARTED, req->id, spawned.program, NULL);
	fd_close(&spawned.go_fd);
}

/* Called for a child that ended during a rollback. As in reap(), report its end only if init
 * spawned it. */
static void reap_one(void *arg, pid_t pid, int status)
{
	struct child *child = child_of_pid(arg, pid);
	if (!child)
		return;
	forget_child(arg, child, status, UINT32_MAX);
}

static void add_mark(struct init *in, uint32_t name)
{
	struct rollback_mark *mark = &in->marks[in->n_marks++ % ROLLBACK_MARKS_MAX];
	moment_set(&mark->at);
	mark->name = name;
}

/*
 * Return the moment to which @req rolls back. The first of these cases that applies decides:
 * - @req names a mark that init still remembers: return the moment of this mark.
 * - @req has a guard: return NULL, which stands for the start of the guard.
 * - Init has marks: return the moment of the newest mark.
 * - Otherwise return NULL, which stands for the start of the box.
 */
static const struct moment *find_mark(const struct init *in, const struct init_request *req)
{
	for (size_t i = 0; req->mark && i < ROLLBACK_MARKS_MAX; i++)
		if (in->marks[i].name == req->mark)
			return &in->marks[i].at;
	return req->guard_pid || !in->n_marks
		? NULL
		: &in->marks[(in->n_marks - 1) % ROLLBACK_MARKS_MAX].at;
}

static void do_rollback(struct init *in, const struct init_request *req)
{
	struct err err = {0};
	struct child *child = child_of_id(in, req->id);
	struct child *free_child = child ? child : child_of_pid(in, 0);
	pid_t minders[INIT_CHILDREN_MAX];
	struct rollback back = {.driver = child ? child->pid : 0,
		.minders = minders,
		.n_minders = list_children(in, true, minders),
		.guard = req->guard_pid,
		.mark = find_mark(in, req),
		.others = req->guards,
		.n_others = MIN(req->n_guards, (uint32_t)WIRE_PIDS_MAX),
		.reaped = reap_one,
		.arg = in};
	if (!free_child) {
		err_set(&err, ERR_LIMIT, "more than %d processes", INIT_CHILDREN_MAX);
		report(in, INIT_FAILED, req->id, 0, &err);
		return;
	}
	int r = rollback_check(&back, &err);
	if (r == 0 && req->guard_pid == 0) {
		r = rollback(&back, &err);
	} else if (r == 0) {
		*free_child = (struct child){.pid = req->guard_pid, .id = req->id};
		r = rollback(&back, &err);
	}
	if (r < 0)
		report(in, INIT_FAILED, req->id, 0, &err);
	else
		report(in, INIT_ROLLED_BACK, req->id, r, NULL);
}

static pid_t pid_of(struct init *in, uint64_t id)
{
	const struct child *child = child_of_id(in, id);
	return child ? child->pid : 0;
}

static int clear(struct init *in, const struct init_request *req)
{
	pid_t drivers[INIT_CHILDREN_MAX], minders[INIT_CHILDREN_MAX];
	struct rollback_clearing clearing = {.driver = pid_of(in, req->id),
		.drivers = drivers,
		.n_drivers = list_children(in, false, drivers),
		.minders = minders,
		.n_minders = list_children(in, true, minders),
		.guards = req->guards,
		.n_guards = MIN(req->n_guards, (uint32_t)WIRE_PIDS_MAX),
		.is_sweep = req->op == INIT_SWEEP,
		.is_forced = req->clearing == CLEAR_ALL || req->op == INIT_SWEEP,
		.is_quick = req->clearing == CLEAR_QUICK,
		.spares_programs = req->op == INIT_SWEEP && !req->is_forced,
		.reap = reap,
		.arg = in};
	return rollback_clear(&clearing);
}

static void do_clear(struct init *in, const struct init_request *req)
{
	int r = clear(in, req);
	report(in, INIT_CLEARED, 0, r, NULL);
	in->is_clearing = r == 0;
	in->clear_by_ms = clock_now_ms() + CLEAR_LATEST_MS;
	in->cleared_for = req->id;
}

/* Kill every process of this pid namespace except init and the process @driver. */
static void kill_own(struct init *in, pid_t driver)
{
	(void)rollback_clear(&(struct rollback_clearing){
		.driver = driver, .is_forced = true, .reap = reap, .arg = in});
}

/* Kill the guards that INIT_CLEAR has only stopped. */
static void finish_clear(struct init *in)
{
	in->is_clearing = false;
	kill_own(in, pid_of(in, in->cleared_for));
}

static const struct child *child_of_program(const struct init *in, pid_t pid)
{
	for (size_t i = 0; pid > 0 && i < ARRAY_LEN(in->children); i++)
		if (in->children[i].pid > 0 && in->children[i].program == pid)
			return &in->children[i];
	return NULL;
}

/* Add to the entry of a process what only init knows: whether init spawned it, and which program
 * its minder, if it has one, minds. */
static void complete_entry(struct init *in, struct init_process *entry)
{
	const struct child *child = child_of_pid(in, entry->pid);
	/* A place of the table that is free has the pid 0. */
	const struct child *minder = entry->program > 0 ? child_of_pid(in, entry->program) : NULL;
	const struct child *program = child_of_program(in, entry->pid);
	entry->program = minder ? minder->program : 0;
	entry->id = child ? child->id : 0;
	if (program || child)
		entry->kind = program ? INIT_KIND_PROGRAM : INIT_KIND_OWN;
}

/* Write an entry for each process of the box to @fd. */
static void do_list(struct init *in, const struct init_request *req, int fd)
{
	static struct init_process list[WIRE_LIST_MAX];
	pid_t minders[INIT_CHILDREN_MAX];
	ssize_t n = rollback_list(list, ARRAY_LEN(list), minders, list_children(in, true, minders));
	for (ssize_t i = 0; i < n; i++)
		complete_entry(in, &list[i]);
	int r = n > 0 ? fd_write_all(fd, list, (size_t)n * sizeof *list) : 0;
	report(in, INIT_LISTED, req->id, r < 0 ? r : (int)n, NULL);
}

static void do_signal(struct init *in, const struct init_request *req)
{
	const struct child *child = child_of_id(in, req->id);
	if (!child)
		return;
	if (child->is_program && req->is_forced)
		rollback_signal_program(child->pid, req->signal);
	else
		(void)kill(child->is_program ? -child->program : child->pid, req->signal);
}

static void do_request(struct init *in, const struct init_request *req, int *fds, size_t n_fds)
{
	struct err err = {0};
	if (spawn_check(req, n_fds, &err) < 0) {
		report(in, INIT_FAILED, req->id, 0, &err);
		return;
	}
	switch ((enum init_op)req->op) {
	case INIT_SPAWN:
		do_spawn(in, req, fds);
		break;
	case INIT_SIGNAL:
		do_signal(in, req);
		break;
	case INIT_KILL_ALL:
		if (in->has_branches)
			kill_own(in, 0);
		else
			(void)kill(-1, SIGKILL);
		break;
	case INIT_ROLLBACK:
		do_rollback(in, req);
		break;
	case INIT_MARK:
		add_mark(in, req->mark);
		report(in, INIT_MARKED, req->mark, 0, NULL);
		break;
	case INIT_FILE:
		report(in, INIT_FILE_DONE, req->id, file_change(req, n_fds > 0 ? fds[0] : -1),
			NULL);
		break;
	case INIT_CLEAR:
		do_clear(in, req);
		break;
	case INIT_SWEEP:
		(void)clear(in, req);
		break;
	case INIT_LIST:
		do_list(in, req, fds[0]);
		break;
	case INIT_OP_END_:
		break;
	}
}

static int serve_one(struct init *in)
{
	static struct init_request req;
	int fds[WIRE_SPAWN_FDS];
	size_t n_fds = 0;
	memset(&req, 0, offsetof(struct init_request, text));
	ssize_t n = fd_recv(WIRE_SOCK_FD, &req, sizeof req, fds, ARRAY_LEN(fds), &n_fds);
	if (n == -EAGAIN)
		return 0;
	if (n <= 0)
		return -1;
	if ((size_t)n == offsetof(struct init_request, text) + req.text_bytes)
		do_request(in, &req, fds, n_fds);
	for (size_t i = 0; i < n_fds; i++)
		(void)close(fds[i]);
	return 0;
}

static int take_signals(struct init *in, struct err *err)
{
	sigset_t mask;
	(void)sigfillset(&mask);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
		return err_sys(err, ERR_BOX, errno, "block signals");
	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGCHLD);
	in->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return in->signal_fd < 0 ? err_sys(err, ERR_BOX, errno, "signalfd") : 0;
}

static bool is_branch(char **argv)
{
	return argv[0] && argv[1] && strcmp(argv[1], "branch") == 0 && argv[2];
}

/*
 * Return the lock, which says how init restricts itself and all processes that it starts. The
 * arguments with which init was executed determine the lock:
 * - No argument: the normal lock.
 * - "pinned": the box is pinned to CPUs, since no cgroup enforces its CPU limit.
 * - "uncounted": no cgroup counts the box's memory.
 * - "branchable": the box can be branched, and its syscall filter was loaded before init was
 *   executed.
 * - One of these, or "plain", and "image" or "own": the box has an image; "own": and can write to
 *   no file of the host.
 * - "branch" and a pid: the box is a branch, and its driver has this pid.
 * The init of a branch is executed by C1, the first process of the branch. C1 may be hostile and
 * pass wrong arguments. But C1 gains nothing by that, because it could as well not execute init at
 * all.
 */
static struct lock lock_of(struct init *in, char **argv)
{
	struct lock lock = {.filter = FILTER_DEFAULT, .has_landlock = true};
	const char *word = argv[0] && argv[1] ? argv[1] : "";
	const char *image = word[0] && argv[2] && !is_branch(argv) ? argv[2] : "";
	if (strcmp(word, "uncounted") == 0)
		lock.filter = FILTER_UNCOUNTED;
	else if (strcmp(word, "pinned") == 0)
		lock.filter = FILTER_PINNED;
	lock.filter += filter_user_offset(geteuid(), strcmp(image, "own") == 0);
	in->has_branches = is_branch(argv) || strcmp(word, "branchable") == 0;
	lock.is_filter_inherited = in->has_branches;
	/* Landlock domains nest at most 16 deep, so a branch must not enter one more. */
	lock.has_landlock = !is_branch(argv);
	lock.has_image = image[0] != '\0';
	if (is_branch(argv)) {
		in->children[0].pid = (pid_t)strtol(argv[2], NULL, 10);
		in->children[0].id = INIT_BRANCH_ID;
	}
	return lock;
}

/* Set the oom_score_adj of this process to 0. This process is the init of a branch. Before it
 * executed init, it was made by a driver, and has inherited the driver's oom_score_adj, which is
 * the highest one. With this value, the kernel would kill init first when memory runs out. */
static void resign_from_oom(void)
{
	cleanup_fd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)fd_write_all(fd, "0", 1);
}

/* Wait until the warden has completed the branch's namespaces, which it does while init starts. */
static int await_go(struct err *err)
{
	cleanup_fd int fd = WIRE_SYNC_FD;
	char word;
	ssize_t n;
	do
		n = recv(fd, &word, 1, 0);
	while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : err_set(err, ERR_GONE, "the making of the box was given up");
}

static int start(struct init *in, char **argv, struct err *err)
{
	const struct lock lock = lock_of(in, argv);
	if (is_branch(argv))
		resign_from_oom();
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(err, ERR_BOX, errno, "become not dumpable");
	(void)prctl(PR_SET_NAME, "retort-init");
	(void)fcntl(WIRE_SOCK_FD, F_SETFD, FD_CLOEXEC);
	unsigned first = is_branch(argv) ? WIRE_SYNC_FD + 1 : WIRE_SOCK_FD + 1;
	(void)syscall(SYS_close_range, first, ~0u, 0); /* musl 1.2 does not declare close_range() */
	int r = take_signals(in, err);
	if (r == 0)
		r = lock_process(&lock, err);
	return r == 0 && is_branch(argv) ? await_go(err) : r;
}

int main(int argc attr_unused, char **argv)
{
	static struct init in;
	struct err err = {0};
	if (start(&in, argv, &err) < 0) {
		report(&in, INIT_FAILED, 0, 0, &err);
		return 1;
	}
	report(&in, INIT_READY, 0, 0, NULL);
	struct pollfd polls[] = {
		{.fd = WIRE_SOCK_FD, .events = POLLIN}, {.fd = in.signal_fd, .events = POLLIN}};
	for (;;) {
		struct signalfd_siginfo info;
		int n = poll(polls, ARRAY_LEN(polls), in.is_clearing ? CLEAR_PAUSE_MS : -1);
		if (n < 0 && errno != EINTR)
			return 1;
		if (in.is_clearing && (n == 0 || clock_now_ms() >= in.clear_by_ms))
			finish_clear(&in);
		if (polls[1].revents) {
			while (read(in.signal_fd, &info, sizeof info) > 0)
				;
			reap(&in);
		}
		if (polls[0].revents && serve_one(&in) < 0) {
			if (!in.has_branches)
				return 0;
			in.is_alone = true;
			polls[0].fd = -1;
		}
	}
}
