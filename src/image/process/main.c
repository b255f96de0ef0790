/*
 * retort-unpack: unpack one layer of an image, in a process that has nothing but the archive and
 * the directory it goes to. The engine starts it with one channel, and sends one request with two
 * descriptors. Before the process reads a byte of the archive it gives up all else (lock.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/fd.h"
#include "base/helper/helper.h"
#include "image/process/lock.h"
#include "image/process/stream.h"
#include "image/process/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { NICE = 5 };

static int receive(struct unpack_request *request, int fds[UNPACK_FD_END_], struct err *err)
{
	size_t n_fds = 0;
	ssize_t n;
	while ((n = fd_recv(HELPER_FD, request, sizeof *request, fds, UNPACK_FD_END_, &n_fds)) ==
		-EAGAIN)
		(void)fd_wait(HELPER_FD, POLLIN);
	if (n == 0)
		exit(0); /* the engine is gone */
	if (n == sizeof *request && n_fds == UNPACK_FD_END_ && request->version == UNPACK_VERSION)
		return 0;
	return err_set(err, ERR_PROTOCOL, "unpack: the engine sent no request");
}

/* Reports may be lost when the engine is slow: the next one says more. */
static void on_report(void *arg, const struct unpack_counts *counts)
{
	struct unpack_reply reply = {.kind = UNPACK_REPORT, .counts = *counts};
	(void)arg;
	if (fd_send(HELPER_FD, &reply, sizeof reply, NULL, 0) == -EPIPE)
		exit(0);
}

static int work(struct unpack_reply *reply, struct err *err)
{
	struct unpack_request request;
	int fds[UNPACK_FD_END_] = {-1, -1};
	struct tree *tree = NULL;
	struct libarchive lib;
	int r = receive(&request, fds, err);
	r = r < 0 ? r : libarchive_load(&lib, err);
	if (r < 0)
		return r;
	(void)umask(0);
	r = unpack_lock(fds[UNPACK_FD_TREE], fds[UNPACK_FD_SOURCE]);
	if (r < 0)
		return err_sys(err, ERR_BOX, -r, "unpack: cannot give up privileges");
	r = tree_open(&tree, fds[UNPACK_FD_TREE], &request, err);
	const struct stream_order order = {.lib = &lib,
		.fd = fds[UNPACK_FD_SOURCE],
		.tree = tree,
		.request = &request,
		.report = on_report};
	if (r == 0)
		r = stream_unpack(&order, reply, err);
	tree_close(tree);
	return r;
}

int main(void)
{
	struct unpack_reply reply = {.kind = UNPACK_RESULT};
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	reply.status = work(&reply, &reply.err);
	if (reply.status > 0)
		reply.status = 0;
	(void)fd_send_waiting(HELPER_FD, &reply, sizeof reply, NULL, 0);
	return 0;
}
