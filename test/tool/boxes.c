/*
 * The engine's end of warden and init, by lines: for tests of the sandbox without a session.
 *
 *   create [branchable] [KEY=VALUE…]   a box with the probe as its driver
 *   branch BOX [KEY=VALUE…]            a branch of it; `hostile NAME` in front: by a driver that…
 *   say BOX TEXT                       to the driver; its answer
 *   hear BOX                           the driver's next message
 *   out-of-turn BOX                    two branches at once, the second one first; what came of it
 *   open BOX DOOR                      a door of it; its number. DOOR: terminal, socket, listeners,
 *                                      socket6, listeners6
 *   open-many BOX DOOR N               N at once, closed again; how many ended how. With `destroy`
 *                                      after N: and the box
 *   network BOX [WORD…]                the door of its network; for each socket its number or "-".
 *                                      WORD: resolver, ADDRESS:PORT, ADDRESS/BITS, listeners=N,
 *                                      networks=N (which claims that there are N)
 *   door N write TEXT · door N read · door N peer · door N connect PORT · door N close
 *   door N name · door N accept        its own address; an accepted connection, which is a door too
 *   usage BOX · destroy BOX · kill BOX · rollback BOX GUARD · events BOX · pid BOX
 *
 * KEY: a limit; workspace=DIR; rw=SRC:DST. Answers: one line, "ok …" or "error CODE: message".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/fd.h"
#include "sandbox/cgroup.h"
#include "sandbox/door_check.h"
#include "sandbox/init.h"
#include "sandbox/rollback.h"
#include "sandbox/warden.h"
#include "tool/boxes_doors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

enum { BOXES_MAX = 2048, TEXT_BYTES = 64 << 10, BINDS_MAX = 8 };

struct box {
	struct init_link init;
	uint32_t id;
	int channel, workspace, pid;
	char events[512];
	bool is_open;
};

/* What the warden was asked for, and has answered. */
struct asked {
	struct warden_call call;
	bool is_done, is_prepared;
	struct warden_reply reply;
	int made_fds[WARDEN_FDS_MAX], prepared_fds[WARDEN_PREPARED_END_];
	size_t n_prepared;
};

static struct box boxes[BOXES_MAX];
static uv_loop_t *loop;
static struct warden *warden;
static const char *probe;
static struct warden_bind binds[BINDS_MAX];
static size_t n_binds;
static char text[TEXT_BYTES];

static const struct limits defaults = {{
#define X(name, value, what) value,
	LIMITS(X)
#undef X
}};
static const char *const limit_names[] = {
#define X(name, value, what) #name,
	LIMITS(X)
#undef X
};

static void on_done(struct warden_call *call, const struct warden_reply *r, const int *fds)
{
	struct asked *a = container_of(call, struct asked, call);
	a->reply = *r;
	a->is_done = true;
	for (int i = 0; i < WARDEN_FDS_MAX; i++)
		a->made_fds[i] = fds && (i < WARDEN_FD_END_ || r->op == WARDEN_OPEN) ? fds[i] : -1;
	for (int i = 0; fds && i < cgroup_books_count((enum cgroup_kind)r->books); i++)
		(void)close(fds[WARDEN_FD_END_ + i]);
}

static void on_prepared(struct warden_call *call, const int *fds, size_t n)
{
	struct asked *a = container_of(call, struct asked, call);
	memcpy(a->prepared_fds, fds, n * sizeof *fds);
	a->n_prepared = n;
	a->is_prepared = true;
}

static void on_event(struct init_link *link, const struct init_event *event)
{
	static const char *const words[] = {
		"?", "ready", "failed", "exited", "rolled-back", "filed", "cleared", "marked"};
	struct box *box = container_of(link, struct box, init);
	size_t n = strlen(box->events);
	snprintf(
		box->events + n, sizeof box->events - n, "%s ", event ? words[event->kind] : "end");
	n = strlen(box->events);
	if (event && event->kind != INIT_READY)
		snprintf(box->events + n, sizeof box->events - n, "%" PRIu64 " %d %s ", event->id,
			event->status, event->kind == INIT_FAILED ? event->err.msg : "");
	if (!event)
		(void)uv_poll_stop(&link->poll);
}

static void run_until(const bool *flag)
{
	while (!*flag && uv_run(loop, UV_RUN_ONCE))
		;
}

static void drain(int ms)
{
	for (int i = 0; i < ms; i++) {
		struct timespec nap = {.tv_nsec = 1000000};
		(void)nanosleep(&nap, NULL);
		(void)uv_run(loop, UV_RUN_NOWAIT);
	}
}

static struct box *free_box(void)
{
	for (size_t i = 0; i < BOXES_MAX; i++)
		if (!boxes[i].is_open)
			return &boxes[i];
	abort();
}

static struct box *find(const char *word)
{
	uint32_t id = word ? (uint32_t)strtoul(word, NULL, 10) : UINT32_MAX;
	for (size_t i = 0; i < BOXES_MAX; i++)
		if (boxes[i].is_open && boxes[i].id == id)
			return &boxes[i];
	return NULL;
}

static void add_bind(enum bind_kind kind, const char *src, const char *dst)
{
	struct stat st = {0};
	struct warden_bind *b = &binds[n_binds++];
	*b = (struct warden_bind){.kind = kind};
	(void)stat(src, &st);
	b->dev = st.st_dev;
	b->ino = st.st_ino;
	snprintf(b->src, sizeof b->src, "%s", src);
	snprintf(b->dst, sizeof b->dst, "%s", dst);
}

/* Words KEY=VALUE. */
static void take_options(struct limits *limits, char *rest, uint32_t *flags)
{
	*limits = defaults;
	limits->value[LIMIT_memory_bytes] = 512 << 20;
	for (char *word; (word = strsep(&rest, " "));) {
		char *value = strchr(word, '=');
		if (strcmp(word, "branchable") == 0)
			*flags = WARDEN_BRANCHABLE;
		if (!value)
			continue;
		*value++ = '\0';
		char *colon = strchr(value, ':');
		if (strcmp(word, "workspace") == 0)
			add_bind(BIND_WORKSPACE, value, "");
		if (strcmp(word, "rw") == 0 && colon) {
			*colon = '\0';
			add_bind(BIND_VOLUME_RW, value, colon + 1);
		}
		for (int i = 0; i < LIMIT_END_; i++)
			if (strcmp(word, limit_names[i]) == 0)
				limits->value[i] = strtoull(value, NULL, 10);
	}
	limits_settle(limits);
}

static void print_error(const struct err *err)
{
	printf("error %s: %s%s%s\n", err_word(err->code), err->msg, *err->hint ? "; " : "",
		err->hint);
}

static void create(char *rest)
{
	struct limits limits;
	struct err err = {0};
	uint32_t flags = 0;
	int pair[2];
	struct asked a = {.call = {.done = on_done}};
	struct box *box = free_box();
	n_binds = 0;
	add_bind(BIND_DRIVER, probe, "/retort/probe");
	take_options(&limits, rest, &flags);
	warden_create(warden, &a.call, flags,
		&(struct warden_box){.limits = &limits,
			.binds = binds,
			.n_binds = n_binds,
			.uid = 1000,
			.gid = 1000});
	run_until(&a.is_done);
	if (a.reply.status < 0) {
		print_error(&a.reply.err);
		return;
	}
	static const char *const argv[] = {"/retort/probe", NULL};
	static const char *const envp[] = {"PATH=/usr/bin:/bin", "HOME=/home/user", NULL};
	*box = (struct box){.id = a.reply.box,
		.pid = a.reply.pid,
		.workspace = a.made_fds[1],
		.is_open = true,
		.init.on_event = on_event};
	(void)socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	box->channel = pair[0];
	const struct spawn spawn = {.id = 1,
		.argv = argv,
		.envp = envp,
		.limits = &limits,
		.is_session = flags != 0,
		.fds = {null, null, null, pair[1]}};
	int r = init_link_open(&box->init, loop, a.made_fds[0], &err);
	if (r == 0)
		r = init_spawn(&box->init, &spawn, &err);
	(void)close(null);
	(void)close(pair[1]);
	if (r < 0)
		print_error(&err);
	else
		printf("ok %u\n", box->id);
}

static int64_t now_us(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

/* The frame to the driver, and the new box's own channel. */
static int hand_to_driver(const struct asked *a, const struct box *parent, const char *word)
{
	int fds[FD_PASS_MAX], pair[2], n = 0;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	(void)socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
	for (int i = WARDEN_PREPARED_SYNC; i < WARDEN_PREPARED_END_; i++)
		fds[n++] = a->prepared_fds[i];
	for (int i = 0; i < 3; i++)
		fds[n++] = null;
	fds[n++] = pair[1];
	(void)fd_send(parent->channel, word, strlen(word), fds, (size_t)n);
	for (size_t i = WARDEN_PREPARED_SYNC; i < a->n_prepared; i++)
		(void)close(a->prepared_fds[i]);
	(void)close(null);
	(void)close(pair[1]);
	return pair[0];
}

static void keep_branch(struct box *box, const struct asked *a, int channel)
{
	struct err err;
	*box = (struct box){.id = a->reply.box,
		.pid = a->reply.pid,
		.workspace = a->made_fds[1],
		.channel = channel,
		.is_open = true,
		.init.on_event = on_event};
	(void)init_link_open(&box->init, loop, a->prepared_fds[0], &err);
}

static void branch(char *rest, const char *word)
{
	struct limits limits;
	uint32_t flags = 0;
	struct asked a = {.call = {.done = on_done, .prepared = on_prepared}};
	struct box *parent = find(strsep(&rest, " ")), *box = free_box();
	int channel = -1;
	n_binds = 0;
	take_options(&limits, rest, &flags);
	int64_t start = now_us();
	warden_branch(warden, &a.call, parent ? parent->id : 4000, &limits, binds, n_binds);
	while (!a.is_prepared && !a.is_done)
		(void)uv_run(loop, UV_RUN_ONCE);
	int64_t prepared = now_us() - start;
	if (a.is_prepared)
		channel = hand_to_driver(&a, parent, word);
	run_until(&a.is_done);
	int64_t took = now_us() - start;
	if (a.reply.status < 0) {
		if (channel >= 0) {
			(void)close(channel);
			(void)close(a.prepared_fds[0]);
		}
		print_error(&a.reply.err);
		return;
	}
	keep_branch(box, &a, channel);
	printf("ok %u us %" PRId64 " prepared_us=%" PRId64, box->id, took, prepared);
	for (int i = 0; i < LIMIT_END_; i++)
		printf(" %s=%u", limit_names[i], a.reply.by[i]);
	printf("\n");
}

/* Three branches of one box are asked for; the driver begins with the second. */
static void out_of_turn(struct box *parent)
{
	struct limits limits = defaults;
	struct asked v[3];
	char said[2][128] = {"", ""};
	limits_settle(&limits);
	int channels[2] = {-1, -1};
	for (size_t i = 0; i < 3; i++) {
		v[i] = (struct asked){.call = {.done = on_done, .prepared = on_prepared}};
		warden_branch(warden, &v[i].call, parent->id, &limits, NULL, 0);
		while (!v[i].is_prepared && !v[i].is_done)
			(void)uv_run(loop, UV_RUN_ONCE);
	}
	for (int i = 1; i >= 0 && v[0].is_prepared && v[1].is_prepared; i--) {
		channels[i] = hand_to_driver(&v[i], parent, "branch");
		(void)fd_wait(parent->channel, POLLIN);
		ssize_t n = fd_recv(parent->channel, said[i], sizeof said[i] - 1, NULL, 0, NULL);
		said[i][MAX(n, 0)] = '\0';
	}
	run_until(&v[0].is_done);
	run_until(&v[1].is_done);
	if (v[0].reply.status == 0)
		keep_branch(free_box(), &v[0], channels[0]);
	printf("ok %u first %s: %s; second %s: %s; third: %s\n", v[0].reply.box, said[0],
		v[0].reply.err.msg, said[1], v[1].reply.err.msg, v[2].reply.err.msg);
	fd_close(&v[1].prepared_fds[0]);
	fd_close(&channels[1]);
}

static void hear(struct box *box)
{
	struct pollfd p = {.fd = box->channel, .events = POLLIN};
	int r = poll(&p, 1, 10000);
	ssize_t n = r > 0 ? fd_recv(box->channel, text, sizeof text - 1, NULL, 0, NULL) : -1;
	if (n <= 0) {
		printf("error gone: %s\n", r > 0 ? "the driver is gone" : "no answer");
		return;
	}
	text[n] = '\0';
	for (ssize_t i = 0; i < n; i++)
		text[i] = text[i] == '\n' ? '|' : text[i];
	printf("ok %s\n", text);
}

static void closed(uv_handle_t *handle)
{
	struct box *box = container_of((uv_poll_t *)handle, struct box, init.poll);
	*box = (struct box){0};
}

static void destroy(struct box *box)
{
	struct asked a = {.call = {.done = on_done}};
	int64_t start = now_us();
	warden_destroy(warden, &a.call, box->id);
	run_until(&a.is_done);
	(void)close(box->channel);
	(void)close(box->workspace);
	init_link_close(&box->init, closed);
	(void)uv_run(loop, UV_RUN_NOWAIT);
	printf("ok us %" PRId64 "\n", now_us() - start);
}

static void usage(const struct box *box)
{
	struct asked a = {.call = {.done = on_done}};
	warden_usage(warden, &a.call, box->id);
	run_until(&a.is_done);
	printf("ok memory %" PRIu64 " cpu_us %" PRIu64 " pids %" PRIu64 "\n",
		a.reply.usage.memory_bytes, a.reply.usage.cpu_us, a.reply.usage.n_pids);
}

/* Open @what and check it. Returns: false if that failed, which was printed. */
static bool ask_door(
	struct asked *a, const struct box *box, enum warden_door what, const struct warden_net *net)
{
	*a = (struct asked){.call = {.done = on_done}};
	warden_open(warden, &a->call, box->id, what, net);
	run_until(&a->is_done);
	if (a->reply.status == 0 && door_check(what, net, a->made_fds, &a->reply.err) < 0)
		a->reply.status = -1;
	if (a->reply.status < 0)
		print_error(&a->reply.err);
	return a->reply.status == 0;
}

static void open_door(const struct box *box, const char *word)
{
	struct asked a;
	if (ask_door(&a, box, door_named(word), NULL))
		printf("ok %d\n", keep_door(a.made_fds[0]));
}

static void open_network(const struct box *box, char *rest)
{
	struct asked a;
	struct warden_net net;
	take_network(rest, &net);
	int64_t start = now_us();
	if (!ask_door(&a, box, WARDEN_DOOR_NET, &net))
		return;
	printf("ok us %" PRId64, now_us() - start);
	for (uint32_t i = 0; i < net.has_resolver + net.n_listeners; i++)
		if (a.made_fds[i] < 0)
			printf(" -");
		else
			printf(" %d", keep_door(a.made_fds[i]));
	printf("\n");
}

/* Many doors at once. If @is_destroyed, ask to destroy the box before the answers have come. */
static void open_many(struct box *box, const char *word, int n, bool is_destroyed)
{
	static struct asked v[OPENED_MAX];
	int n_of[ERR_END_] = {0};
	struct asked end = {.call = {.done = on_done}};
	for (int i = 0; i < n; i++) {
		v[i] = (struct asked){.call = {.done = on_done}};
		warden_open(warden, &v[i].call, box->id, door_named(word), NULL);
	}
	if (is_destroyed) {
		warden_destroy(warden, &end.call, box->id);
		run_until(&end.is_done);
	}
	for (int i = 0; i < n; i++) {
		run_until(&v[i].is_done);
		n_of[v[i].reply.err.code]++;
	}
	for (int i = 0; i < n; i++)
		fd_close(&v[i].made_fds[0]);
	printf("ok");
	for (int i = 0; i < ERR_END_; i++)
		if (n_of[i] > 0)
			printf(" %s=%d", err_word((enum err_code)i), n_of[i]);
	printf("\n");
}

static void with_box(const char *op, char *rest)
{
	struct box *box = find(strsep(&rest, " "));
	if (!box) {
		printf("error gone: no such box\n");
	} else if (strcmp(op, "say") == 0) {
		(void)fd_send(box->channel, rest ? rest : "", rest ? strlen(rest) : 0, NULL, 0);
		hear(box);
	} else if (strcmp(op, "send") == 0) {
		(void)fd_send(box->channel, rest ? rest : "", rest ? strlen(rest) : 0, NULL, 0);
		printf("ok\n");
	} else if (strcmp(op, "hear") == 0) {
		hear(box);
	} else if (strcmp(op, "open") == 0) {
		open_door(box, strsep(&rest, " "));
	} else if (strcmp(op, "network") == 0) {
		open_network(box, rest);
	} else if (strcmp(op, "open-many") == 0) {
		const char *word = strsep(&rest, " "), *n = strsep(&rest, " ");
		open_many(box, word, atoi(n), rest != NULL);
	} else if (strcmp(op, "destroy") == 0) {
		destroy(box);
	} else if (strcmp(op, "out-of-turn") == 0) {
		out_of_turn(box);
	} else if (strcmp(op, "usage") == 0) {
		usage(box);
	} else if (strcmp(op, "kill") == 0) {
		init_kill_all(&box->init);
		printf("ok\n");
	} else if (strcmp(op, "rollback") == 0) {
		init_rollback(&box->init,
			&(struct init_back){.id = 1, .guard_pid = rest ? atoi(rest) : 0});
		printf("ok\n");
	} else if (strcmp(op, "clear") == 0) { /* of all but the driver, and this guard */
		const int32_t guard = rest ? atoi(rest) : 0;
		init_clear(&box->init, 1, &guard, 1, false);
		printf("ok\n");
	} else if (strcmp(op, "mark") == 0) {
		init_mark(&box->init, 1);
		printf("ok\n");
	} else if (strcmp(op, "pid") == 0) {
		printf("ok %d\n", box->pid);
	} else if (strcmp(op, "events") == 0) {
		drain(rest ? atoi(rest) : 50);
		printf("ok %s\n", box->events);
		box->events[0] = '\0';
	} else {
		printf("error usage: %s\n", op);
	}
}

static void serve(char *line)
{
	char word[128];
	char *rest = line, *op = strsep(&rest, " ");
	(void)uv_run(loop, UV_RUN_NOWAIT);
	if (strcmp(op, "create") == 0) {
		create(rest);
	} else if (strcmp(op, "branch") == 0) {
		branch(rest, "branch");
	} else if (strcmp(op, "hostile") == 0) {
		snprintf(word, sizeof word, "hostile %s", strsep(&rest, " "));
		branch(rest, word);
	} else if (strcmp(op, "door") == 0) {
		with_door(rest);
	} else {
		with_box(op, rest);
	}
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	static char line[TEXT_BYTES];
	struct err err = {0};
	if (argc != 3) {
		fprintf(stderr, "usage: boxes WARDEN PROBE\n");
		return 2;
	}
	loop = uv_default_loop();
	probe = argv[2];
	if (warden_start(&warden, argv[1], &err) < 0 || warden_attach(warden, loop, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = '\0';
		serve(line);
	}
	warden_stop(warden);
	return 0;
}
