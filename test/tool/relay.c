/*
 * Stands between a client and a program: passes a line on, and the answer back, and does nothing
 * else. For the benchmarks: what a step would take if an engine and its journal took no time.
 *
 * usage: relay PROGRAM [ARGUMENT…]
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_BYTES = 64 << 10 };

/* Until a line is over. Returns: whether there was one. */
static int pass(int from, int to)
{
	char text[LINE_BYTES];
	ssize_t n;
	do {
		n = read(from, text, sizeof text);
		if (n <= 0 || write(to, text, (size_t)n) != n)
			return 0;
	} while (text[n - 1] != '\n');
	return 1;
}

int main(int argc, char **argv)
{
	int in[2], out[2], status;
	pid_t pid;
	posix_spawn_file_actions_t actions;
	if (argc < 2) {
		fprintf(stderr, "usage: relay PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return 1;
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	int r = posix_spawn(&pid, argv[1], &actions, NULL, argv + 1, environ);
	if (r != 0) {
		fprintf(stderr, "relay: %s: %s\n", argv[1], strerror(r));
		return 1;
	}
	(void)close(in[0]);
	(void)close(out[1]);
	while (pass(STDIN_FILENO, in[1]) && pass(out[0], STDOUT_FILENO))
		;
	(void)close(in[1]);
	(void)waitpid(pid, &status, 0);
	return 0;
}
