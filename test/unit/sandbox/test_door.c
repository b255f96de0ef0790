/* What is not taken for a door; what waits for a helper. SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"
#include "sandbox/door_check.h"
#include "sandbox/warden/door.h"

#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

static enum err_code check_all(
	enum warden_door what, const struct warden_net *net, const int fds[WARDEN_FDS_MAX])
{
	struct err err = {0};
	int r = door_check(what, net, fds, &err);
	CHECK_INT(r, -err_errno(err.code));
	return err.code;
}

static void set_fds(int fds[WARDEN_FDS_MAX], int fd)
{
	for (size_t i = 0; i < WARDEN_FDS_MAX; i++)
		fds[i] = -1;
	fds[0] = fd;
}

/* With @fd as the one descriptor; of a network, as its one listener. */
static enum err_code check(enum warden_door what, int fd)
{
	static const struct warden_net net = {.n_listeners = 1, .listeners = {{0, 80}}};
	int fds[WARDEN_FDS_MAX];
	set_fds(fds, fd);
	return check_all(what, &net, fds);
}

/* For every kind of door. */
static void check_refused(int fd)
{
	/* a network may lack a socket */
	for (int what = 0; what < WARDEN_DOOR_END_; what++)
		CHECK_INT(check((enum warden_door)what, fd),
			what == WARDEN_DOOR_NET && fd < 0 ? ERR_NONE : ERR_PROTOCOL);
}

TEST(other_descriptors_are_refused)
{
	enum { STREAM = SOCK_STREAM | SOCK_NONBLOCK, DATAGRAM = SOCK_DGRAM | SOCK_NONBLOCK };
	cleanup_fd int null = open("/dev/null", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	cleanup_fd int here = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	cleanup_fd int path = open("/proc/self/net/tcp", O_PATH | O_CLOEXEC);
	cleanup_fd int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	cleanup_fd int dir = open("/proc/self", O_RDONLY | O_CLOEXEC);
	cleanup_fd int own = socket(AF_INET, STREAM, 0), own6 = socket(AF_INET6, STREAM, 0);
	cleanup_fd int udp = socket(AF_INET, DATAGRAM, 0), local = socket(AF_UNIX, STREAM, 0);
	const int fds[] = {-1, null, here, path, file, dir, own, own6, udp, local};
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		check_refused(fds[i]);
}

TEST(list_of_listeners)
{
	cleanup_fd int file = open("/proc/self/net/tcp", O_RDONLY | O_CLOEXEC);
	CHECK_INT(check(WARDEN_DOOR_LISTENERS, file), ERR_NONE);
	CHECK_INT(check(WARDEN_DOOR_LISTENERS6, file), ERR_NONE);
	CHECK_INT(check(WARDEN_DOOR_TERMINAL, file), ERR_PROTOCOL);
	CHECK_INT(check(WARDEN_DOOR_SOCKET, file), ERR_PROTOCOL);
}

/* Of another network namespace, if this host lets us make one: a socket is a door, but not if it
 * was used, blocks, or is of another family. */
TEST(sockets_of_another_network)
{
	cleanup_fd int before = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return;
	cleanup_fd int inside = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	CHECK_INT(check(WARDEN_DOOR_SOCKET, before), ERR_NONE);
	CHECK_INT(check(WARDEN_DOOR_SOCKET6, before), ERR_PROTOCOL);
	CHECK_INT(check(WARDEN_DOOR_SOCKET, inside), ERR_PROTOCOL);
	CHECK_INT(fd_set_nonblock(before, false), 0);
	CHECK_INT(check(WARDEN_DOOR_SOCKET, before), ERR_PROTOCOL);
	CHECK_INT(fd_set_nonblock(before, true), 0);
	CHECK_INT(listen(before, 1), 0);
	CHECK_INT(check(WARDEN_DOOR_SOCKET, before), ERR_PROTOCOL);
}

TEST(descriptors_at_their_places)
{
	int fds[WARDEN_FDS_MAX] = {5, 6, 7};
	CHECK(!door_spread(fds, 3, 3) && !door_spread(fds, 1, 3) && !door_spread(fds, 0, 1));
	CHECK(!door_spread(fds, 1, UINT32_C(1) << WARDEN_FDS_MAX));
	CHECK(!door_spread(fds, 1, UINT32_C(1) << 31));
	CHECK_INT(fds[0], 5);
	CHECK(door_spread(fds, 3, 1 | 1 << 4 | 1 << (WARDEN_FDS_MAX - 1)));
	for (int i = 0; i < WARDEN_FDS_MAX; i++)
		CHECK_INT(fds[i], i == 0 ? 5 : i == 4 ? 6 : i == WARDEN_FDS_MAX - 1 ? 7 : -1);
	CHECK(door_spread(fds, 0, 0));
	CHECK_INT(fds[0], -1);
}

enum { LISTENS = 1, CONNECTS = 2, BLOCKS = 4, SHARES = 8 };

/* A socket of 127.0.0.1 or of any address, at a port that the kernel chooses. */
static int socket_at(int type, uint32_t ip, int how, uint32_t *port)
{
	const int on = 1;
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(ip)};
	socklen_t bytes = sizeof at;
	int fd = socket(AF_INET, type | (how & BLOCKS ? 0 : SOCK_NONBLOCK) | SOCK_CLOEXEC, 0);
	if (how & SHARES)
		CHECK_INT(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
	CHECK_INT(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	CHECK_INT(getsockname(fd, (struct sockaddr *)&at, &bytes), 0);
	*port = ntohs(at.sin_port);
	if (how & LISTENS)
		CHECK_INT(listen(fd, 1), 0);
	if (how & CONNECTS)
		CHECK_INT(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
	return fd;
}

/* A listener of another network namespace, if this host lets us make one, is a door only at the
 * address that was asked for. */
TEST(listeners_of_a_network)
{
	const uint32_t here = INADDR_LOOPBACK;
	static const struct {
		int type, how;
		enum err_code want;
	} rows[] = {{SOCK_STREAM, LISTENS, ERR_NONE}, {SOCK_STREAM, 0, ERR_PROTOCOL},
		{SOCK_STREAM, LISTENS | BLOCKS, ERR_PROTOCOL},
		{SOCK_STREAM, LISTENS | SHARES, ERR_PROTOCOL}, {SOCK_DGRAM, 0, ERR_PROTOCOL},
		{SOCK_DGRAM, CONNECTS, ERR_PROTOCOL}};
	int made[ARRAY_LEN(rows)], fds[WARDEN_FDS_MAX];
	uint32_t ports[ARRAY_LEN(rows)];
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		made[i] = socket_at(rows[i].type, here, rows[i].how, &ports[i]);
	set_fds(fds, made[0]);
	struct warden_net net = {.n_listeners = 1, .listeners = {{here, ports[0]}}};
	CHECK_INT(check_all(WARDEN_DOOR_NET, &net, fds), ERR_PROTOCOL);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		net.listeners[0] = (struct warden_listener){here, ports[i]};
		fds[0] = made[i];
		CHECK_INT(check_all(WARDEN_DOOR_NET, &net, fds), rows[i].want);
	}
	fds[0] = made[0];
	net.listeners[0] = (struct warden_listener){here, ports[0] ^ 1};
	CHECK_INT(check_all(WARDEN_DOOR_NET, &net, fds), ERR_PROTOCOL);
	net.listeners[0] = (struct warden_listener){0, ports[0]};
	CHECK_INT(check_all(WARDEN_DOOR_NET, &net, fds), ERR_PROTOCOL);
	/* in the place of the resolver, of the second one, of none */
	net.listeners[0] = (struct warden_listener){here, ports[0]};
	net.has_resolver = 1;
	CHECK_INT(check_all(WARDEN_DOOR_NET, &net, fds), ERR_PROTOCOL);
	fds[0] = -1;
	fds[1] = made[0];
	CHECK_INT(check_all(WARDEN_DOOR_NET, &net, fds), ERR_NONE);
	net.has_resolver = 0;
	CHECK_INT(check_all(WARDEN_DOOR_NET, &net, fds), ERR_PROTOCOL);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		fd_close(&made[i]);
}

TEST(requests_wait_in_order)
{
	static struct doors all;
	struct box box = {.pid_fd = -1, .slot = 3};
	struct err err = {0};
	CHECK(!door_next(&all));
	for (uint64_t i = 0; i < WIRE_DOORS_MAX; i++)
		CHECK_INT(door_add(&all, 2000 - i, &box, WARDEN_DOOR_SOCKET, NULL, &err), 0);
	CHECK_INT(door_add(&all, 1, &box, WARDEN_DOOR_SOCKET, NULL, &err), -EBUSY);
	for (uint64_t i = WIRE_DOORS_MAX; i > 0; i--) {
		struct door *d = door_next(&all);
		CHECK_INT(d->id, 2001 - i);
		CHECK_INT(d->state, DOOR_WAITS);
		door_end(&all, d);
	}
	CHECK(!door_next(&all));
	CHECK_INT(all.n_used, 0);
}

TEST(no_more_helpers_than_may_run)
{
	static struct doors all;
	struct box box = {.pid_fd = -1};
	struct err err;
	CHECK_INT(door_add(&all, 1, &box, WARDEN_DOOR_SOCKET, NULL, &err), 0);
	all.n_used += DOORS_AT_ONCE;
	all.n_running = DOORS_AT_ONCE;
	CHECK(!door_next(&all));
	all.n_running--;
	CHECK(door_next(&all));
}

TEST(a_process_that_is_gone)
{
	static struct doors all;
	struct box box = {.pid_fd = -1, .pid = 1 << 30, .state = BOX_LIVE};
	struct err err;
	CHECK_INT(door_add(&all, 1, &box, WARDEN_DOOR_SOCKET, NULL, &err), 0);
	struct door *d = door_next(&all);
	CHECK(door_begin(&all, d, &err) < 0);
	CHECK_INT(err.code, ERR_GONE);
	door_end(&all, d);
	CHECK_INT(all.n_used, 0);
}

/* A request is not carried out in a box that has got the slot of its own. */
TEST(another_box_in_the_same_slot)
{
	static const struct box others[] = {{.pid_fd = -1, .pid = 2, .state = BOX_LIVE},
		{.pid_fd = -1, .pid = 1, .state = BOX_ANCHOR},
		{.pid_fd = -1, .pid = 1, .state = BOX_FREE}};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		static struct doors all;
		struct box box = {.pid_fd = -1, .pid = 1, .state = BOX_LIVE};
		struct err err = {0};
		CHECK_INT(door_add(&all, 1, &box, WARDEN_DOOR_SOCKET, NULL, &err), 0);
		box = others[i];
		CHECK_INT(door_begin(&all, door_next(&all), &err), -EPIPE);
		CHECK_STR(err.msg, "the box has ended");
		door_end(&all, door_next(&all));
	}
}
