/*
 * A process that is branched becomes a stem: from its first branch on it answers BRANCH frames and
 * does nothing else. It owns the namespaces of its branches and so all capabilities over them; a
 * program that ran on in it, if only in a hook or a signal handler, could read and stop them. So it
 * does not return to Python: only the branches do.
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
	ANSWER_BYTES = 1024,
	READY_BYTES = 512,
	WORDS_MAX = 4
};

static int has_sqlite; /* when it became a stem */

/* One BRANCH, and what there is to say of it. */
struct order {
	char id[ID_BYTES]; /* a JSON string, with its quotes */
	int flags;
	struct branch_fds fds;
};

static const char *explain(int r)
{
	if (r == -EPERM)
		return "nobody has prepared a box for it";
	if (r == -ECONNABORTED)
		return "the making of its box was given up";
	if (r == -EPROTO)
		return "not the descriptors of a branch";
	if (r == -EAGAIN)
		return "it and its branches have too many processes: close some";
	return strerror(-r);
}

/* Why there is no branch. One that is there speaks for itself. */
static int refuse(int channel, const struct order *order, int r)
{
	char text[ANSWER_BYTES];
	int n = snprintf(text, sizeof(text), "{\"id\":%s,\"error\":\"%s\"}", order->id, explain(r));

	return frame_write(channel, FRAME_BRANCHED, text, (size_t)n);
}

/*
 * The id in a payload, as it stands there. The engine writes {"id": "…"}.
 * Returns: 0, or -1 when there is none.
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

/* The next BRANCH on the channel; what comes else ends a stem. */
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

/* Returns in a branch only. */
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
		branch_fds_close(&order->fds); /* by which the warden learns of it */
	}
}

/* What is the same in all branches of a stem. */
struct home {
	int channel;
	int keep[KEEP_MAX];
	int n_keep; /* the first two are copies of standard output and error */
	struct ext_words words[WORDS_MAX];
	int n_words;
	const char *ready; /* READY up to the process id, which comes last */
};

/*
 * As soon as the box is ready. What else a branch does at first goes on while the engine and its
 * client speak to each other; a frame that comes early waits.
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
	(void)sched_yield(); /* the engine may have to read it on this CPU */
}

/* Streams and numbers of its own. */
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

/* In the branch: at home there. Returns: its flags. */
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
	pthread_sigmask(SIG_SETMASK, mask, NULL);
	return PyLong_FromLong(order->flags);
}

/*
 * What Python does in a process that was forked, done before there is one: each page that this
 * writes is then shared by all branches, and none of them spends time on it.
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
	int own[KEEP_MAX + FRAME_FDS_MAX], n, r;
	PyObject *list;

	(void)self;
	if (!PyArg_ParseTuple(args, "O:find_shared", &list))
		return NULL;
	n = ext_numbers(list, own, KEEP_MAX + FRAME_FDS_MAX);
	if (n < 0)
		return NULL;
	r = shared_find();
	if (private_find() == 0)	  /* who has the files as well may cut them short */
		private_keep(UINT64_MAX); /* in the place of what they are copies of */
	sockets_find(own, (size_t)n);
	has_sqlite = sqlite_is_loaded();
	if (r < 0)
		return PyErr_Format(PyExc_OSError, "its shared mappings: %s",
			r == -E2BIG ? "too many" : strerror(-r));
	Py_RETURN_NONE;
}

/* Its processes have been ended. Until somebody hears of that they count as processes still; a
 * branch has no children. */
static void forget_children(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
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
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	forget_children();
	r = branch_clone(&order.fds);
	if (r == 0)
		return be_branch(&order, &home, &mask);
	if (r > 0) {
		branch_fds_close(&order.fds);
		be_stem(home.channel, &order);
		return be_branch(&order, &home, &mask);
	}
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return PyErr_Format(PyExc_OSError, "%s", explain(r));
}
