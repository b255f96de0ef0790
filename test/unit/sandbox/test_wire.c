/* Messages of fixed size: their shape, and that a socket carries them whole.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/wire.h"

#include "base/fd.h"
#include "sandbox/cgroup.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define FIELD(s, f) offsetof(struct s, f), sizeof(((struct s *)0)->f)

/* Offsets that every build of engine, warden and init must agree on; no bytes between fields. */
static const struct {
	const char *name;
	size_t offset, bytes;
	size_t want;
} fields[] = {
	{"warden_request.version", FIELD(warden_request, version), 0},
	{"warden_request.op", FIELD(warden_request, op), 4},
	{"warden_request.id", FIELD(warden_request, id), 8},
	{"warden_request.box", FIELD(warden_request, box), 16},
	{"warden_request.flags", FIELD(warden_request, flags), 20},
	{"warden_request.door", FIELD(warden_request, door), 24},
	{"warden_request.reserved", FIELD(warden_request, reserved), 28},
	{"warden_request.uid", FIELD(warden_request, uid), 32},
	{"warden_request.gid", FIELD(warden_request, gid), 36},
	{"warden_request.limits", FIELD(warden_request, limits), 40},
	{"warden_request.bind", FIELD(warden_request, bind), 40 + 8 * LIMIT_END_},
	{"warden_request.net", FIELD(warden_request, net),
		64 + 8 * LIMIT_END_ + 2 * WIRE_PATH_BYTES},
	{"warden_net.has_resolver", FIELD(warden_net, has_resolver), 0},
	{"warden_net.n_listeners", FIELD(warden_net, n_listeners), 4},
	{"warden_net.n_networks", FIELD(warden_net, n_networks), 8},
	{"warden_net.reserved", FIELD(warden_net, reserved), 12},
	{"warden_net.listeners", FIELD(warden_net, listeners), 16},
	{"warden_net.networks", FIELD(warden_net, networks), 16 + 8 * WARDEN_LISTENERS_MAX},
	{"warden_bind.kind", FIELD(warden_bind, kind), 0},
	{"warden_bind.reserved", FIELD(warden_bind, reserved), 4},
	{"warden_bind.dev", FIELD(warden_bind, dev), 8},
	{"warden_bind.ino", FIELD(warden_bind, ino), 16},
	{"warden_bind.src", FIELD(warden_bind, src), 24},
	{"warden_bind.dst", FIELD(warden_bind, dst), 24 + WIRE_PATH_BYTES},
	{"warden_reply.version", FIELD(warden_reply, version), 0},
	{"warden_reply.op", FIELD(warden_reply, op), 4},
	{"warden_reply.id", FIELD(warden_reply, id), 8},
	{"warden_reply.box", FIELD(warden_reply, box), 16},
	{"warden_reply.status", FIELD(warden_reply, status), 20},
	{"warden_reply.pid", FIELD(warden_reply, pid), 24},
	{"warden_reply.by", FIELD(warden_reply, by), 28},
	{"warden_reply.books", FIELD(warden_reply, books), 28 + 4 * LIMIT_END_},
	{"warden_reply.opened", FIELD(warden_reply, opened), 32 + 4 * LIMIT_END_},
	{"warden_reply.reserved", FIELD(warden_reply, reserved), 36 + 4 * LIMIT_END_},
	{"warden_reply.usage", FIELD(warden_reply, usage), 40 + 4 * LIMIT_END_},
	{"init_request.version", FIELD(init_request, version), 0},
	{"init_request.op", FIELD(init_request, op), 4},
	{"init_request.id", FIELD(init_request, id), 8},
	{"init_request.signal", FIELD(init_request, signal), 16},
	{"init_request.argc", FIELD(init_request, argc), 20},
	{"init_request.envc", FIELD(init_request, envc), 24},
	{"init_request.text_bytes", FIELD(init_request, text_bytes), 28},
	{"init_request.memory_bytes", FIELD(init_request, memory_bytes), 32},
	{"init_request.cpu_ms", FIELD(init_request, cpu_ms), 40},
	{"init_request.pids", FIELD(init_request, pids), 48},
	{"init_request.file_bytes", FIELD(init_request, file_bytes), 56},
	{"init_request.open_files", FIELD(init_request, open_files), 64},
	{"init_request.is_session", FIELD(init_request, is_session), 72},
	{"init_request.guard_pid", FIELD(init_request, guard_pid), 76},
	{"init_request.is_fixed", FIELD(init_request, is_fixed), 80},
	{"init_request.act", FIELD(init_request, act), 84},
	{"init_request.root", FIELD(init_request, root), 88},
	{"init_request.mode", FIELD(init_request, mode), 92},
	{"init_request.is_timed", FIELD(init_request, is_timed), 96},
	{"init_request.modified_ns", FIELD(init_request, modified_ns), 100},
	{"init_request.modified_s", FIELD(init_request, modified_s), 104},
	{"init_request.clearing", FIELD(init_request, clearing), 112},
	{"init_request.is_forced", FIELD(init_request, is_forced), 116},
	{"init_request.n_guards", FIELD(init_request, n_guards), 120},
	{"init_request.guards", FIELD(init_request, guards), 124},
	{"init_request.mark", FIELD(init_request, mark), 124 + 4 * WIRE_PIDS_MAX},
	{"init_request.is_program", FIELD(init_request, is_program), 128 + 4 * WIRE_PIDS_MAX},
	{"init_request.is_terminal", FIELD(init_request, is_terminal), 132 + 4 * WIRE_PIDS_MAX},
	{"init_request.has_directory", FIELD(init_request, has_directory), 136 + 4 * WIRE_PIDS_MAX},
	{"init_request.text", FIELD(init_request, text), 140 + 4 * WIRE_PIDS_MAX},
	{"init_process.pid", FIELD(init_process, pid), 0},
	{"init_process.ppid", FIELD(init_process, ppid), 4},
	{"init_process.program", FIELD(init_process, program), 8},
	{"init_process.kind", FIELD(init_process, kind), 12},
	{"init_process.id", FIELD(init_process, id), 16},
	{"init_process.start_ms", FIELD(init_process, start_ms), 24},
	{"init_process.cpu_ms", FIELD(init_process, cpu_ms), 32},
	{"init_process.memory_bytes", FIELD(init_process, memory_bytes), 40},
	{"init_process.command", FIELD(init_process, command), 48},
	{"init_event.version", FIELD(init_event, version), 0},
	{"init_event.kind", FIELD(init_event, kind), 4},
	{"init_event.id", FIELD(init_event, id), 8},
	{"init_event.status", FIELD(init_event, status), 16},
	{"init_event.cpu_ms", FIELD(init_event, cpu_ms), 20},
	{"init_event.err", FIELD(init_event, err), 24},
};

TEST(fields_stand_where_they_should)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		t_check_int((intmax_t)fields[i].offset, (intmax_t)fields[i].want, __FILE__,
			__LINE__, fields[i].name);
}

/* A field ends where the next begins: a gap would carry bytes of whatever lay in memory before. */
TEST(no_gaps_in_what_is_sent)
{
	for (size_t i = 0; i + 1 < ARRAY_LEN(fields); i++)
		if (fields[i + 1].want > fields[i].want)
			t_check_int((intmax_t)(fields[i].offset + fields[i].bytes),
				(intmax_t)fields[i + 1].offset, __FILE__, __LINE__, fields[i].name);
	CHECK_INT(sizeof(struct warden_request),
		offsetof(struct warden_request, net) + sizeof(struct warden_net));
	CHECK_INT(sizeof(struct warden_net), 16 + 8 * (WARDEN_LISTENERS_MAX + WARDEN_NETWORKS_MAX));
	CHECK_INT(sizeof(struct warden_bind), 24 + 2 * WIRE_PATH_BYTES);
	CHECK_INT(sizeof(struct init_event), offsetof(struct init_event, err) + sizeof(struct err));
	CHECK_INT(sizeof(struct limits), 8 * LIMIT_END_);
	CHECK_INT(sizeof(struct box_usage), 6 * 8);
}

/* The longest message of each kind goes through a socket with its descriptors, in one piece. */
static void check_carried(size_t bytes, size_t n_fds)
{
	int pair[2], got[FD_PASS_MAX], null[FD_PASS_MAX];
	size_t n_got = 99;
	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	char *out = malloc(bytes), *in = calloc(1, bytes);
	memset(out, 0x5a, bytes);
	for (size_t i = 0; i < n_fds; i++)
		null[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK_INT(fd_send(pair[0], out, bytes, null, n_fds), bytes);
	CHECK_INT(fd_recv(pair[1], in, bytes, got, ARRAY_LEN(got), &n_got), bytes);
	CHECK(memcmp(in, out, bytes) == 0);
	CHECK_INT(n_got, n_fds);
	for (size_t i = 0; i < n_got; i++)
		fd_close(&got[i]);
	for (size_t i = 0; i < n_fds; i++)
		fd_close(&null[i]);
	fd_close(&pair[0]);
	fd_close(&pair[1]);
	free(out);
	free(in);
}

TEST(messages_fit_a_packet)
{
	check_carried(sizeof(struct warden_request), 0);
	check_carried(sizeof(struct warden_reply), WARDEN_FDS_MAX);
	check_carried(sizeof(struct init_request), WIRE_SPAWN_FDS);
	check_carried(offsetof(struct init_request, text), 0);
	check_carried(sizeof(struct init_event), 0);
}

TEST(descriptors_fit_a_message)
{
	const int spawn_fds = WIRE_SPAWN_FDS, warden_fds = WARDEN_FDS_MAX, most = FD_PASS_MAX;
	const int made_fds = WARDEN_FD_END_ + CGROUP_BOOKS_MAX;
	CHECK(spawn_fds <= most && warden_fds <= most && made_fds <= warden_fds);
}
