/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/alloc.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct thing {
	int a;
	const char *b;
};

TEST(what_is_allocated_is_zero)
{
	struct thing *one = xnew(struct thing);
	int *many = xcalloc(100, sizeof *many), sum = 0;
	CHECK_INT(one->a, 0);
	CHECK(!one->b);
	for (int i = 0; i < 100; i++)
		sum |= many[i];
	CHECK_INT(sum, 0);
	free(one);
	free(many);
	free(xcalloc(0, 8));
}

TEST(names_are_copied)
{
	char name[] = "name", *copy = xstrdup(name);
	name[0] = 'x';
	CHECK_STR(copy, "name");
	free(copy);
}

/* What it writes and how it ends. */
TEST(no_memory_ends_the_process_with_a_line)
{
	char said[100] = "";
	int ends[2], status = 0;
	CHECK_INT(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)dup2(ends[1], STDERR_FILENO);
		(void)signal(SIGABRT, SIG_DFL);
		xdie("a test");
	}
	(void)close(ends[1]);
	CHECK(read(ends[0], said, sizeof said - 1) > 0);
	(void)close(ends[0]);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_STR(said, "retort: no memory for a test\n");
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
