/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/serve_places.h"

#include "base/fd.h"
#include "cli/host/client.h"
#include "cli/host/xdg.h"

#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static int exclude(const char *a, const char *b, struct err *err)
{
	return err_fail(err, ERR_USAGE, "leave one out", "--%s and --%s exclude each other", a, b);
}

static int find_socket(const struct serve_args *args, struct places *p, struct err *err)
{
	p->has_socket = !args->no_socket && p->unix_fd < 0;
	if (args->no_socket && args->socket)
		return exclude("socket", "no-socket", err);
	if (args->no_socket && p->n_inet == 0)
		return err_fail(err, ERR_USAGE, "--listen 127.0.0.1:8765",
			"--no-socket without --listen: nobody could call");
	if (!p->has_socket)
		return 0;
	if (!args->socket)
		return client_usual_path(p->socket, sizeof p->socket, err);
	snprintf(p->socket, sizeof p->socket, "%s", args->socket);
	return 0;
}

/* Note the directory of the unix socket, ours or the service manager's. */
static void note_socket_dir(struct places *p)
{
	struct sockaddr_un at = {0};
	socklen_t bytes = sizeof at - 1;
	const char *path = p->socket;
	char copy[PATH_MAX];
	if (p->unix_fd >= 0)
		path = getsockname(p->unix_fd, (struct sockaddr *)&at, &bytes) == 0 ? at.sun_path
										    : "";
	snprintf(copy, sizeof copy, "%s", path);
	if (copy[0])
		snprintf(p->socket_dir, sizeof p->socket_dir, "%s", dirname(copy));
}

/* Without tokens, refuse an address that other hosts can reach: anyone there could run code
 * here. */
static int check_address(const struct serve_args *args, const struct address *a, struct err *err)
{
	if (args->token_file || address_is_loopback(a))
		return 0;
	const struct address_text text = address_format(a);
	return err_fail(err, ERR_USAGE,
		"--token-file FILE says who may call; 127.0.0.1 is this host only",
		"%s is not a loopback address, and --token-file is not given", text.text);
}

/* Add the listening socket @fd, and check its address. Owns: @fd is taken, also after an error. */
static int add_address(const struct serve_args *args, struct places *p, int fd, struct err *err)
{
	struct address a;
	size_t i = p->n_inet++;
	p->inet_fd[i] = fd;
	int r = address_of(fd, &a);
	if (r < 0)
		return err_sys(err, ERR_IO, -r, "address of a socket");
	p->inet[i] = address_format(&a);
	return check_address(args, &a, err);
}

static int take_given(const struct serve_args *args, struct places *p, struct notify_sockets *given,
	struct err *err)
{
	int r = 0;
	p->unix_fd = given->unix_fd;
	p->n_given = given->n_inet;
	for (size_t i = 0; i < given->n_inet; i++) {
		struct err inner;
		int added = add_address(args, p, given->inet_fd[i], r == 0 ? err : &inner);
		r = r == 0 ? added : r;
	}
	return r;
}

/* Open the listening sockets before anything is started, so that an error is reported at once. */
static int listen_to_addresses(const struct serve_args *args, struct places *p, struct err *err)
{
	struct address a;
	int r = 0;
	for (size_t i = 0; r >= 0 && i < args->listen.n; i++) {
		r = address_parse(args->listen.item[i], &a, err);
		if (r == 0)
			r = check_address(args, &a, err);
		if (r == 0)
			r = address_listen(&a, err);
		if (r >= 0)
			r = add_address(args, p, r, err);
	}
	return MIN(r, 0);
}

static int find_state(const struct serve_args *args, struct places *p, struct err *err)
{
	p->has_state = !args->no_journal;
	if (args->no_journal && args->state)
		return exclude("state", "no-journal", err);
	if (!p->has_state)
		return 0;
	if (!args->state)
		return xdg_state_dir(p->state, err);
	snprintf(p->state, sizeof p->state, "%s", args->state);
	return xdg_make_dir(p->state, err);
}

int places_find(const struct serve_args *args, struct places *p, struct err *err)
{
	struct notify_sockets given = {.unix_fd = -1};
	int r = notify_take_sockets(&given, err);
	if (r == 0)
		r = take_given(args, p, &given, err);
	if (r == 0)
		r = listen_to_addresses(args, p, err);
	if (r == 0)
		r = find_socket(args, p, err);
	note_socket_dir(p);
	struct err ignored; /* an engine can do without that directory */
	p->has_runtime = xdg_runtime_dir(p->runtime, &ignored) == 0;
	return r < 0 ? r : find_state(args, p, err);
}

int places_read_box(
	const struct serve_args *args, const struct opt_set *set, struct places *p, struct err *err)
{
	int r = box_check(&args->box, err);
	if (r == 0 && !(p->front_box = box_params(&args->box, set, err)))
		r = -err_errno(err->code);
	return r < 0 ? err_wrap(err, "fronts") : 0;
}

void places_close(struct places *p)
{
	fd_close(&p->unix_fd);
	for (size_t i = 0; i < p->n_inet; i++)
		fd_close(&p->inet_fd[i]);
	json_decref(p->prices);
	json_decref(p->front_box);
}
