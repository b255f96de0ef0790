/*
 * Makes guards: checkpoints that are clones of the process.
 *
 * The process P clones itself with copy-on-write memory. P continues. The clone, the *guard*, waits
 * on a socket and serves as the checkpoint. To roll back, the engine ends P and sends RESUME to the
 * guard, which continues from the same Python call as if no time had passed. While it waits, a
 * guard costs only the pages that P has changed since.
 *
 * The program must not notice. SYS_clone is called directly, so no at-fork hook of libc or Python
 * runs. CLONE_PARENT makes the guard a sibling and not a child of P: P gets no SIGCHLD and wait()
 * does not see it. Two things that libc's fork() does in the child are done here: libc gets to know
 * the new thread id (thread_id.h), and the robust futex list is registered again. P has only one
 * thread, so no other thread can hold a lock.
 *
 * The order matters. First P lists its mappings and descriptors, because it may still allocate
 * memory (prepare()). Then P clones itself. The guard then replaces everything that both would
 * share: it makes its own descriptors (handoff.c), and copies shared memory (shared.c) and written
 * private mappings (private.c). Then it reports its losses to P. Only then does P continue, because
 * from then on it may close or change anything. A resumed guard restores process group, attributes,
 * files, locks and mappings, discards the signals that arrived while it waited, and returns to
 * Python.
 *
 * The guard makes only async-signal-safe calls, which neither allocate nor lock.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ext.h"
#include "frame.h"
#include "handoff.h"
#include "private.h"
#include "shared.h"
#include "clone_attrs.h"
#include "thread_id.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	RESUME_BYTES_MAX = 4096,
	TEXT_BYTES = 512,
	PAIRS_MAX = 16,
	NAP_NS = 50000,
	NAPS_MAX = 40,
	SCORE_BYTES = 16,
	NAME_BYTES = 16, /* with its NUL */
	GUARDS_MAX = 32
};

static const char score_path[] = "/proc/self/oom_score_adj";

/*
 * What a guard has lost: bytes of shared memory (unkept), bytes of mappings that no clone gets
 * because of MADV_DONTFORK (uncopied), and descriptors (closed).
 */
struct loss {
	uint64_t unkept_bytes, uncopied_bytes;
	int n_closed;
};

/* Data that P prepares for the guard, and counts that the guard reports. */
struct clone {
	struct handoff handoff;
	/* The list of mappings is incomplete. The guard reports this as one unkept byte. */
	int has_unknown;
	int channel;
	int guard_fd; /* the guard's end of the socket to the engine */
	/* Socketpair. Through it, the guard reports that it no longer shares anything with P. */
	int said[2];
	struct thread_id tid;
	void *robust;
	size_t robust_bytes;
	struct clone_attrs attrs;
	char name[NAME_BYTES]; /* of the process, as ps shows it */
	pid_t group;
	sigset_t mask;	       /* signal mask before guard() was called */
	uint64_t mapped_bytes; /* size of P's address space */
	/* bytes of private mappings that P had written and the guard has lost */
	uint64_t gone_bytes;
};

/* Return the number of threads, or -1. The link count of /proc/self/task is two more than that. */
static long count_threads(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) == 0 ? (long)st.st_nlink - 2 : -1;
}

/*
 * Return whether this is the only thread. A thread that was joined may still exist for a moment, so
 * with @is_patient wait for its end.
 */
static int is_alone(int is_patient)
{
	static const struct timespec nap = {.tv_nsec = NAP_NS};

	for (int i = 0; count_threads() != 1; i++) {
		if (i == (is_patient ? NAPS_MAX : 0))
			return 0;
		(void)nanosleep(&nap, NULL);
	}
	return 1;
}

PyObject *alone(PyObject *self, PyObject *args)
{
	int is_patient;

	(void)self;
	if (!PyArg_ParseTuple(args, "p:alone", &is_patient))
		return NULL;
	return PyBool_FromLong(is_alone(is_patient));
}

PyObject *count_others(PyObject *self, PyObject *args)
{
	long n = count_threads();

	(void)self;
	(void)args;
	return PyLong_FromLong(n < 0 ? -1 : n - 1);
}

/*
 * Return the private resident memory of the process in bytes, or 0 if the kernel does not tell it.
 * *@mapped_bytes is the size of the address space.
 */
static uint64_t measure(uint64_t *mapped_bytes)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long long mapped, resident, shared;
	char text[128];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		(void)close(fd);
	text[n < 0 ? 0 : n] = '\0';
	*mapped_bytes = 0;
	if (sscanf(text, "%llu %llu %llu", &mapped, &resident, &shared) != 3 || resident < shared)
		return 0;
	*mapped_bytes = mapped * page;
	return (resident - shared) * page;
}

/*
 * Return the size of the mappings that this clone lacks because the program marked them with
 * MADV_DONTFORK. Access to them would crash the clone.
 */
static uint64_t find_uncopied(uint64_t mapped_bytes)
{
	uint64_t mine;

	(void)measure(&mine);
	return mine > 0 && mine < mapped_bytes ? mapped_bytes - mine : 0;
}

/* The name of guards, which init knows (src/sandbox/wire.h). */
static const char guard_name[] = "retort-guard";

/*
 * Set the score by which the kernel's OOM killer chooses its victim. A guard that waits sets it to
 * 0, so that the guard is not killed first. Returns: the previous score, or -1 if it is unknown.
 */
static int set_score(int score)
{
	char text[SCORE_BYTES];
	int fd = open(score_path, O_RDWR | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
	int before = -1;

	if (n > 0) {
		text[n] = '\0';
		before = atoi(text);
		n = snprintf(text, sizeof(text), "%d", score);
		if (before > 0 || score > 0)
			(void)!pwrite(fd, text, (size_t)n, 0);
	}
	if (fd >= 0)
		(void)close(fd);
	return before;
}

/*
 * Wait for a RESUME frame. At end-of-file, or after any other frame, exit: the guard is no longer
 * needed.
 */
static void wait_for_resume(int fd)
{
	unsigned char head[FRAME_HEAD_BYTES], payload[RESUME_BYTES_MAX];
	uint32_t bytes;

	if (frame_read(fd, head, sizeof(head), NULL) < 0)
		_exit(0);
	bytes = frame_length(head);
	if (head[4] != FRAME_RESUME || bytes < 1 || bytes - 1 > sizeof(payload) ||
		frame_read(fd, payload, bytes - 1, NULL) < 0)
		_exit(0);
}

/*
 * Discard the signals that the guard got while it waited: they were meant for the process that was
 * live at that time.
 */
static void drop_signals(void)
{
	static const struct timespec now = {0};
	sigset_t all;

	sigfillset(&all);
	while (sigtimedwait(&all, NULL, &now) > 0)
		continue;
}

/*
 * Run the guard from the clone to the RESUME frame. The guard leaves the program's process group,
 * so that signals to the group do not reach it, and keeps all signals blocked. The function returns
 * after RESUME, in the process that is now the live one.
 */
static void be_guard(struct clone *clone)
{
	struct loss loss = {.uncopied_bytes = find_uncopied(clone->mapped_bytes)};
	int score;

	if (loss.uncopied_bytes > 0) {
		(void)!send(clone->said[1], &loss, sizeof(loss), MSG_NOSIGNAL);
		_exit(0);
	}
	(void)syscall(SYS_set_robust_list, clone->robust, clone->robust_bytes);
	(void)setpgid(0, 0);
	loss.n_closed = handoff_carry_out(&clone->handoff);
	shared_keep();
	private_keep(PRIVATE_KEPT_MAX);
	loss.unkept_bytes = shared_left_out() + (uint64_t)clone->has_unknown;
	if (dup3(clone->guard_fd, clone->channel, O_CLOEXEC) < 0)
		_exit(1);
	(void)close(clone->guard_fd);
	if (send(clone->said[1], &loss, sizeof(loss), MSG_NOSIGNAL) != sizeof(loss))
		_exit(0);
	(void)close(clone->said[0]);
	(void)close(clone->said[1]);
	score = set_score(0);
	wait_for_resume(clone->channel);
	if (score > 0)
		(void)set_score(score);
	if (clone->group != getpid())
		(void)setpgid(0, clone->group);
	clone_attrs_restore(&clone->attrs);
	(void)prctl(PR_SET_NAME, clone->name, 0, 0, 0);
	handoff_put_back(&clone->handoff);
	clone->handoff.n_astray += shared_put_back() + private_put_back(&clone->gone_bytes);
	drop_signals();
}

/*
 * Process ids of guards that may still exist. When the list is full, the oldest entry is removed.
 */
static pid_t guards[GUARDS_MAX];
static int n_guards;

static void forget_guards(void)
{
	int n = 0;

	for (int i = 0; i < n_guards; i++)
		if (kill(guards[i], 0) == 0)
			guards[n++] = guards[i];
	n_guards = n;
}

static void note_guard(pid_t pid)
{
	if (n_guards == GUARDS_MAX)
		memmove(guards, guards + 1, (size_t)--n_guards * sizeof(*guards));
	guards[n_guards++] = pid;
}

static const char *prepare(struct clone *clone, const struct handoff_order *order)
{
	int r;

	clone->channel = order->channel;
	if (thread_id_find(&clone->tid) < 0)
		return "the kernel does not say where libc keeps a thread's id";
	if (syscall(SYS_get_robust_list, 0, &clone->robust, &clone->robust_bytes) < 0)
		return "the kernel does not say which robust locks there are";
	forget_guards();
	clone->has_unknown = shared_find() < 0 || shared_find_others(guards, n_guards) < 0 ||
		/* These calls fail when a list of mappings is full. */
		private_find() < 0;
	r = handoff_make(&clone->handoff, order);
	if (r < 0)
		return r == -E2BIG ? "descriptors" : strerror(-r);
	if (clone->guard_fd < 0)
		/*
		 * The engine sent the socket, but this process had no free descriptor number for
		 * it.
		 */
		return strerror(EMFILE);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, clone->said) < 0)
		return strerror(errno);
	return NULL;
}

/*
 * Clone the process. P waits until the guard shares nothing with it. Otherwise a file that the
 * program closes soon after could stay open in the guard.
 * Returns: the guard's pid; 0 in a resumed guard; -1 with the reason in *@reason.
 */
static pid_t make_guard(struct clone *clone, struct loss *loss, const char **reason)
{
	sigset_t all;
	pid_t pid;

	sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &clone->mask);
	clone->group = getpgrp();
	clone_attrs_save(&clone->attrs);
	(void)measure(&clone->mapped_bytes);
	/* The guard must have its name from the beginning: a list of processes leaves it out. */
	(void)prctl(PR_GET_NAME, clone->name, 0, 0, 0);
	(void)prctl(PR_SET_NAME, guard_name, 0, 0, 0);
	pid = thread_id_clone(&clone->tid, CLONE_PARENT | SIGCHLD);
	if (pid != 0)
		(void)prctl(PR_SET_NAME, clone->name, 0, 0, 0);
	if (pid == 0)
		be_guard(clone);
	else if (pid < 0)
		*reason = errno == EAGAIN ? "processes" : strerror(errno);
	(void)sigprocmask(SIG_SETMASK, &clone->mask, NULL);
	if (pid <= 0)
		return pid;
	(void)close(clone->said[1]);
	clone->said[1] = -1;
	*reason = "the guard was killed";
	if (frame_read(clone->said[0], loss, sizeof(*loss), NULL) < 0)
		return -1;
	*reason = loss->uncopied_bytes > 0 ? "uncopied" : NULL;
	return *reason ? -1 : pid;
}

/*
 * Send the GUARD frame. This is written in C because each page that P writes from now on is no
 * longer shared with the guard, and Python code writes to many pages.
 */
static const char *announce(const struct clone *clone, const char *id, pid_t pid,
	const struct loss *loss, const char *barred)
{
	char text[TEXT_BYTES];
	int n = snprintf(text, sizeof(text),
		"{\"id\":%s,\"pid\":%d,\"lost\":%d,\"closed\":{\"sockets\":%u,\"pipes\":%u},\"unkept\":%llu,\"barred\":%s}",
		id, (int)pid, loss->n_closed, clone->handoff.n_sockets, clone->handoff.n_pipes,
		(unsigned long long)loss->unkept_bytes, barred);

	if (n >= (int)sizeof(text))
		return "its name is too long";
	(void)frame_write(clone->channel, FRAME_GUARD, text, (size_t)n);
	return NULL;
}

PyObject *guard(PyObject *self, PyObject *args)
{
	struct clone clone = {.guard_fd = -1, .said = {-1, -1}};
	struct handoff_order order = {0};
	struct loss loss = {0};
	int pairs[PAIRS_MAX], is_patient;
	const char *id, *barred;
	unsigned long long bytes;
	uint64_t mapped_bytes;
	const char *reason = NULL;
	PyObject *list;
	pid_t pid = -1;

	(void)self;
	if (!PyArg_ParseTuple(args, "siiiiOKps:guard", &id, &order.channel, &order.guard,
		    &order.out, &order.err, &list, &bytes, &is_patient, &barred))
		return NULL;
	clone.guard_fd = order.guard;
	order.pairs = pairs;
	order.n_pairs = ext_numbers(list, pairs, PAIRS_MAX);
	if (order.n_pairs < 0)
		return NULL;
	if (!is_alone(is_patient))
		reason = "threads";
	else if (bytes > 0 && measure(&mapped_bytes) > bytes)
		reason = "memory";
	else
		reason = prepare(&clone, &order);
	if (!reason)
		pid = make_guard(&clone, &loss, &reason);
	if (pid > 0)
		note_guard(pid);
	if (pid > 0)
		reason = announce(&clone, id, pid, &loss, barred);
	unsigned n_locks = clone.handoff.n_locks, n_astray = clone.handoff.n_astray;
	handoff_done(&clone.handoff);
	shared_done();
	private_done();
	if (pid == 0)
		return Py_BuildValue(
			"(IIK)", n_locks, n_astray, (unsigned long long)clone.gone_bytes);
	for (int i = 0; i < 2; i++)
		if (clone.said[i] >= 0)
			(void)close(clone.said[i]);
	if (clone.guard_fd >= 0)
		(void)close(clone.guard_fd);
	return PyUnicode_FromString(reason ? reason : "");
}
