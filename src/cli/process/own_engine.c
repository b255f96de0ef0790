/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/process/own_engine.h"

#include "base/fd.h"
#include "serve/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_closed(void *arg, struct connection *c)
{
	bool *is_closed = arg;
	(void)c;
	*is_closed = true;
}

/* Write how the start went: the parent waits for it. */
static void tell(int fd, const struct err *err)
{
	(void)fd_write_all(fd, err, sizeof *err);
	(void)close(fd);
}

/* Let go of what belongs to the parent: its streams and its terminal. */
static void leave(void)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	(void)setsid();
	(void)signal(SIGINT, SIG_IGN);
	if (null_fd < 0)
		return;
	(void)dup2(null_fd, STDIN_FILENO);
	(void)dup2(null_fd, STDOUT_FILENO);
	(void)close(null_fd);
}

static void serve(const struct service_config *config, int fd, int told_fd)
{
	struct service *service;
	struct err err = {0};
	bool is_closed = false;
	leave();
	int r = service_open(&service, config, &err);
	tell(told_fd, &err);
	if (r < 0)
		return;
	const struct connection_config of = {.loop = service_loop(service),
		.context = service_context(service),
		.arg = &is_closed,
		.closed = on_closed};
	struct connection *c = connection_open(fd, &of);
	while (c && !is_closed && !service_is_ended(service))
		service_turn(service);
	if (c && !is_closed)
		connection_close(c);
	while (c && !is_closed)
		service_turn(service);
	service_close(service);
}

/* Wait for the child's report. */
static int hear(int fd, struct err *err)
{
	struct err told;
	if (fd_read_all(fd, &told, sizeof told) != (ssize_t)sizeof told)
		return err_set(err, ERR_GONE, "the engine has ended at its start");
	if (told.code == ERR_NONE)
		return 0;
	err_check(&told);
	*err = told;
	return -err_errno(told.code);
}

pid_t own_engine_start(const struct service_config *config, struct client *client, struct err *err)
{
	int pair[2], told[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, ERR_IO, errno, "socket");
	cleanup_fd int ours = pair[0], theirs = pair[1];
	if (pipe2(told, O_CLOEXEC) < 0)
		return err_sys(err, ERR_IO, errno, "pipe");
	cleanup_fd int hear_fd = told[0], tell_fd = told[1];
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(err, ERR_IO, errno, "fork");
	if (pid == 0) {
		fd_close(&ours);
		fd_close(&hear_fd);
		serve(config, take_fd(theirs), take_fd(tell_fd));
		_exit(0);
	}
	fd_close(&tell_fd);
	*client = client_of(take_fd(ours));
	int r = hear(hear_fd, err);
	if (r == 0)
		return pid;
	own_engine_end(pid, client);
	return r;
}

void own_engine_end(pid_t pid, struct client *client)
{
	client_done(client);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
