/* What the warden makes of the byte that asks for a branch. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "sandbox/warden/branching.h"

#include "base/fd.h"
#include "sandbox/warden/census.h"
#include "t.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Send the byte @word from a child process to @b, and let @b hear it while the child waits or
 * after the child has ended. */
static enum err_code hear(struct branching *b, char word, bool has_ended)
{
	const int on = 1;
	int ends[2];
	struct err err = {0};
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	CHECK(setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0);
	(void)fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		(void)!write(ends[1], &word, 1);
		while (!has_ended)
			(void)pause();
		_exit(0);
	}
	if (has_ended)
		CHECK_INT(waitpid(pid, NULL, 0), pid);
	char byte;
	CHECK_INT(recv(ends[0], &byte, 1, MSG_PEEK), 1); /* it has arrived */
	b->ends.sync = ends[0];
	int r = branching_hear(b, &(struct boxes){0}, &err);
	CHECK_INT(r, -err_errno(err.code));
	CHECK_INT(b->stem, r == 0 ? pid : 0);
	if (!has_ended) {
		(void)kill(pid, SIGKILL);
		CHECK_INT(waitpid(pid, NULL, 0), pid);
	}
	fd_close(&ends[0]);
	fd_close(&ends[1]);
	return err.code;
}

TEST(who_asks)
{
	struct box here = {.user_ns = census_user_ns(getpid())}, elsewhere = {.user_ns = 1};
	CHECK(here.user_ns > 1);
	struct branching b = {.state = BRANCHING_HELLO, .parent = &elsewhere};
	CHECK_INT(hear(&b, 'P', false), ERR_BOX);
	b = (struct branching){.state = BRANCHING_HELLO, .parent = &here};
	CHECK_INT(hear(&b, 'Q', false), ERR_PROTOCOL);
	CHECK_INT(hear(&b, 'P', false), ERR_NONE);
}

/* Whatever is found wrong with a process that has ended: that it has ended is the reason. With
 * another error, nobody would make another template. */
TEST(who_asks_has_ended)
{
	struct box here = {.user_ns = census_user_ns(getpid())};
	struct branching b = {.state = BRANCHING_HELLO, .parent = &here};
	CHECK_INT(hear(&b, 'P', true), ERR_GONE);
	b = (struct branching){.state = BRANCHING_CLONE, .parent = &here, .c1_fd = -1};
	CHECK_INT(hear(&b, 'C', true), ERR_GONE);
}
