/*
 * Run a stem, which is a process that has been branched at least once.
 *
 * branch() clones the process into the new box (branch.c). In the clone, which is the branch, the
 * call returns to Python. In the original it does not return: the original becomes a *stem*, which
 * reads BRANCH frames from its channel in C, makes a branch for each, and exits at the end of the
 * channel.
 *
 * The reason is security. The stem's user id owns the user namespaces of its branches, and so it
 * has every capability in them. If its program continued to run, even in a hook or a signal
 * handler, that program could read and stop the branches. So signals stay blocked and no Python
 * code runs. The session itself continues as one of the branches.
 *
 * The exception is a process that the engine borrows for one branch (BRANCH_LENDS), because the
 * session has other processes and must stay with them. There branch() returns in the original too,
 * and the program runs on above the branch. Only a caller who accepts that gets such a branch.
 *
 * Speed is the second reason for C. Work that is the same for all branches is done once before the
 * first one (be_forked(), find_shared()), because pages written in the stem are shared by all
 * branches, while pages written in a branch are copied in each. A branch sends READY as soon as its
 * box is set up, and does the rest (generators, streams) while the engine handles READY.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "branch.h"
#include "ext.h"
#include "frame.h"
#include "private.h"
#include "shared.h"
#include "sockets.h"
#include "sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	ID_BYTES = 256,
	PAYLOAD_BYTES = 4096,
	KEEP_MAX = 8,
	KNOWN_MAX = 16,
	ANSWER_BYTES = 1024,
	READY_BYTES = 512,
	WORDS_MAX = 4
};

static int has_sqlite; /* whether SQLite was loaded when this process became a stem */

/* The content of a BRANCH frame. */
struct order {
	char id[ID_BYTES]; /* id of the frame, a JSON string with its quotes */
	int flags;
	struct branch_fds fds;
};

static const char *explain(int r)
{
	if (r == -EPERM)
		return "no box was prepared for it";
	if (r == -ECONNABORTED)
		return "the setup of its box was aborted";
	if (r == -EPROTO)
		return "wrong number of descriptors for a branch";
	if (r == -EAGAIN)
		return "it and its branches have too many processes: close some";
	return strerror(-r);
}

/*
 * Report to the engine why a branch failed. After a success, the branch sends READY itself.
 * Returns: as frame_write().
 */
static int refuse(int channel, const struct order *order, int r)
{
	char text[ANSWER_BYTES];
	int n = snprintf(text, sizeof(text), "{\"id\":%s,\"error\":\"%s\"}", order->id, explain(r));

	return frame_write(channel, FRAME_BRANCHED, text, (size_t)n);
}

/*
 * Find the id in a payload without parsing JSON: the engine always writes {"id": "…"}. Returns: 0,
 * or -1 if the id is missing.
 */
static int find_id(const char *payload, char out[ID_BYTES])
{
	const char *start = strstr(payload, "\"id\"");
	const char *end;

	start = start ? strchr(start + 4, '"') : NULL;
	end = start ? start + 1 : NULL;
	while (end && *end && *end != '"')
		end += *end == '\\' && end[1] ? 2 : 1;
	if (!end || *end != '"' || end - start + 2 > ID_BYTES)
		return -1;
	memcpy(out, start, (size_t)(end - start + 1));
	out[end - start + 1] = '\0';
	return 0;
}

/*
 * Read the next BRANCH frame. Returns: 0; 1 if the frame was refused; -1 if the stem must exit
 * because of end-of-file or another frame.
 */
static int next_order(int channel, struct order *order)
{
	unsigned char head[FRAME_HEAD_BYTES];
	char payload[PAYLOAD_BYTES];
	struct frame_fds fds = {.n = 0};
	uint32_t length;

	if (frame_read(channel, head, sizeof(head), &fds) < 0)
		return -1;
	length = frame_length(head);
	if (head[4] != FRAME_BRANCH || length < 1 || length > sizeof(payload) ||
		frame_read(channel, payload, length - 1, NULL) < 0)
		return -1;
	payload[length - 1] = '\0';
	order->flags = (strstr(payload, "\"reseed\":false") ? BRANCH_KEEPS : 0) |
		(strstr(payload, "\"warm\":true") ? BRANCH_WARMS : 0);
	if (find_id(payload, order->id) < 0)
		return -1;
	if (branch_fds_parse(&order->fds, fds.fds, (size_t)fds.n) == 0)
		return 0;
	frame_fds_close(&fds);
	return refuse(channel, order, -EPROTO) < 0 ? -1 : 1;
}

/* Run the loop of a stem. The function returns only in a branch. */
static void be_stem(int channel, struct order *order)
{
	for (;;) {
		int r = next_order(channel, order);

		if (r < 0)
			_exit(0);
		if (r > 0)
			continue;
		r = branch_clone(&order->fds);
		if (r == 0)
			return;
		if (r < 0 && refuse(channel, order, r) < 0)
			_exit(0);
		branch_fds_close(&order->fds); /* the warden notices that its socket is closed */
	}
}

/* Data that all branches of a stem share. */
struct home {
	int channel;
	int keep[KEEP_MAX];
	int n_keep; /* number of descriptors in @keep, which begins with stdout and stderr */
	struct ext_words words[WORDS_MAX];
	int n_words;
	const char *ready; /* start of the READY frame, up to the process id */
};

/*
 * Send READY as soon as the box is set up. The branch completes its setup while the engine and its
 * client react. A frame that arrives before the setup is complete waits in the socket.
 */
static void send_ready(const struct home *home, const struct branch_report *report)
{
	char text[READY_BYTES];
	int n = snprintf(text, sizeof(text),
		"%s%d,\"closed\":{\"sockets\":%u,\"pipes\":%u,\"others\":%u},\"unread\":%u}",
		home->ready, (int)getpid(), report->n_sockets, report->n_pipes, report->n_others,
		report->n_unread);

	if (n < 0 || (size_t)n >= sizeof(text) ||
		frame_write(home->channel, FRAME_READY, text, (size_t)n) < 0)
		_exit(1);
	/* The engine may need this CPU to read the frame. */
	(void)sched_yield();
}

/* Give the branch its own standard streams and random numbers. */
static int renew(const struct home *home, int flags)
{
	ext_new_box();
	for (int i = 0; i < 2 && i < home->n_keep; i++)
		if (dup3(STDOUT_FILENO + i, home->keep[i], O_CLOEXEC) < 0)
			return -1;
	for (int i = 0; i < home->n_words && !(flags & BRANCH_KEEPS); i++)
		if (ext_draw(&home->words[i]) < 0)
			return -1;
	return 0;
}

/* Adapt a branch to the new box. Returns: the flags of the branch. */
static PyObject *be_branch(struct order *order, const struct home *home, const sigset_t *mask)
{
	struct branch_report report = {.reopened = has_sqlite ? sqlite_renumber : NULL};

	if (branch_settle(&order->fds, home->channel, home->keep, (size_t)home->n_keep, &report) <
		0)
		_exit(1);
	send_ready(home, &report);
	if (renew(home, order->flags) < 0)
		_exit(1);
	sqlite_settle();
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	return PyLong_FromLong(order->flags);
}

/*
 * Run Python's fork hooks for a child once, before the first branch. So all branches share the
 * pages that the hooks write, and no branch spends time on the hooks.
 */
PyObject *be_forked(PyObject *self, PyObject *args)
{
	(void)self;
	(void)args;
	PyOS_BeforeFork();
	PyOS_AfterFork_Child();
	Py_RETURN_NONE;
}

PyObject *find_shared(PyObject *self, PyObject *args)
{
	int own[KEEP_MAX + FRAME_FDS_MAX], known[KNOWN_MAX], n, n_known = 0, r;
	PyObject *list, *known_list;

	(void)self;
	if (!PyArg_ParseTuple(args, "OO:find_shared", &list, &known_list))
		return NULL;
	n = ext_numbers(list, own, KEEP_MAX + FRAME_FDS_MAX);
	if (known_list != Py_None)
		n_known = ext_numbers(known_list, known, KNOWN_MAX);
	if (n < 0 || n_known < 0)
		return NULL;
	r = shared_find();
	/*
	 * Copy the written pages of private mappings. Otherwise they would be lost when other
	 * processes truncate the files.
	 */
	if (private_find() == 0)
		private_keep(UINT64_MAX);
	sockets_find(own, (size_t)n, known_list == Py_None ? NULL : known, (size_t)n_known);
	has_sqlite = sqlite_is_loaded();
	if (r < 0)
		return PyErr_Format(PyExc_OSError, "its shared mappings: %s",
			r == -E2BIG ? "too many" : strerror(-r));
	Py_RETURN_NONE;
}

/*
 * Reap children that have ended, because they count for the limit of processes until they are
 * reaped. A branch inherits no children, so it need not reap any.
 */
static void forget_children(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Continue in the process that was branched. */
static void go_on(const sigset_t *mask)
{
	shared_done();
	private_done();
	sockets_done();
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
}

PyObject *branch(PyObject *self, PyObject *args)
{
	struct order order;
	struct home home;
	int fds[FRAME_FDS_MAX], n_fds, r;
	PyObject *fd_list, *keep_list, *words;
	const char *id;
	sigset_t all, mask;

	(void)self;
	if (!PyArg_ParseTuple(args, "siiOOOs:branch", &id, &order.flags, &home.channel, &fd_list,
		    &keep_list, &words, &home.ready))
		return NULL;
	n_fds = ext_numbers(fd_list, fds, FRAME_FDS_MAX);
	home.n_keep = ext_numbers(keep_list, home.keep, KEEP_MAX);
	home.n_words = ext_words_list(words, home.words, WORDS_MAX);
	if (n_fds < 0 || home.n_keep < 0 || home.n_words < 0)
		return NULL;
	if (strlen(id) >= sizeof(order.id))
		return PyErr_Format(PyExc_ValueError, "id of %d bytes", (int)strlen(id));
	snprintf(order.id, sizeof(order.id), "%s", id);
	r = branch_fds_parse(&order.fds, fds, (size_t)n_fds);
	if (r < 0)
		return PyErr_Format(PyExc_OSError, "%s", explain(r));
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &mask);
	if (!(order.flags & BRANCH_LENDS))
		forget_children();
	r = branch_clone(&order.fds);
	if (r == 0)
		return be_branch(&order, &home, &mask);
	if (r > 0)
		branch_fds_close(&order.fds);
	if (r > 0 && !(order.flags & BRANCH_LENDS)) {
		be_stem(home.channel, &order);
		return be_branch(&order, &home, &mask);
	}
	go_on(&mask);
	if (r > 0)
		Py_RETURN_NONE;
	return PyErr_Format(PyExc_OSError, "%s", explain(r));
}
