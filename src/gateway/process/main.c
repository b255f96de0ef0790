/*
 * The gateway: a process that answers the questions of boxes for names, and connects their programs
 * to what the rules of each box allow.
 *
 * The engine starts it with one channel, and the name of a file of certificate authorities if it
 * does not use the host's. It first gives up what it does not need (lock.h). A box is
 * given to it as rules and sockets, which were made in the network namespace of the box: a resolver
 * and listeners. All addresses of a network that no server has (names.h) are local there, so what
 * a program connects to arrives at a listener, and getsockname() tells which name was meant.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/helper/helper.h"
#include "base/json.h"
#include "base/relay.h"
#include "gateway/process/inside.h"
#include "gateway/process/lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* libuv looks up names in half of its threads, so that many names of slow servers do not hold up
 * those of other boxes. */
static char threads[] = "UV_THREADPOOL_SIZE=64";

static void close_all(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fd_close(&fds[i]);
}

static struct net_box *find(const struct service *s, uint32_t id)
{
	struct net_box *b = s->boxes;
	while (b && b->id != id)
		b = b->next;
	return b;
}

static void say_error(struct service *s, uint32_t id, const struct err *err)
{
	json_t *message = frame_new("say", "ready", id);
	(void)json_object_set_new(message, "error", frame_error(err));
	channel_send(s->channel, message, NULL, 0);
}

/* A message of the engine. @b: the box, NULL if it is not there. */
struct order {
	struct service *service;
	struct net_box *box;
	uint32_t id;
	const json_t *message;
	int *fds;
	size_t n_fds;
};

static void set_rules(const struct order *o)
{
	struct err err = {0};
	struct net_box *b = o->box;
	struct rules *rules = xnew(struct rules);
	struct secrets secrets = {.n = 0};
	int r = frame_read_rules(rules, json_object_get(o->message, "rules"), &err);
	if (r == 0)
		r = frame_read_secrets(&secrets, json_object_get(o->message, "secrets"), &err);
	if (r == 0 && rules_have_http(rules))
		r = web_open(o->service, json_get_text(o->message, "certificate"),
			json_get_text(o->message, "key"), &err);
	if (r == 0) {
		net_box_set_rules(b, rules, &secrets);
		net_box_take(b, o->fds, o->n_fds, json_get_bool(o->message, "has_resolver"));
		b->is_ready_due = true;
		net_box_say_ready(b);
	} else {
		say_error(o->service, o->id, &err);
	}
	secrets_done(&secrets);
	free(rules);
}

static void do_open(struct order *o)
{
	struct err err = {0};
	o->box = o->box ? NULL : net_box_new(o->service, o->id);
	if (o->box) {
		set_rules(o);
		return;
	}
	(void)err_set(&err, ERR_NO_MEMORY, "network: the gateway has no memory for a box");
	say_error(o->service, o->id, &err);
}

static void do_rules(struct order *o)
{
	if (o->box)
		set_rules(o);
}

static void do_socket(struct order *o)
{
	int fd = o->n_fds > 0 ? take_fd(o->fds[0]) : -1;
	if (o->box)
		sockets_take(o->box, fd);
	else
		fd_close(&fd);
}

static void do_answer(struct order *o)
{
	char name[RULE_HOST_BYTES];
	uint16_t port;
	if (o->box && frame_read_place(name, &port, o->message))
		consent_answer(o->box, name, port,
			json_get_bool(o->message, "is_allowed")
				? NULL
				: json_get_text(o->message, "reason"));
}

static void do_forget(struct order *o)
{
	if (o->box)
		consents_forget(o->box);
}

static void do_report(struct order *o)
{
	if (o->box)
		net_box_report(o->box);
}

static void do_close(struct order *o)
{
	if (!o->box)
		return;
	net_box_report(o->box);
	net_box_close(o->box);
}

static const struct {
	const char *word;
	void (*perform)(struct order *o);
} words[] = {
	{"open", do_open},
	{"rules", do_rules},
	{"socket", do_socket},
	{"answer", do_answer},
	{"forget", do_forget},
	{"report", do_report},
	{"close", do_close},
};

static int on_message(void *arg, const json_t *message, int *fds, size_t n_fds)
{
	struct order o = {.service = arg, .message = message, .fds = fds, .n_fds = n_fds};
	const char *word = json_get_text(message, "do");
	int r = -EPROTO;
	if (frame_box(message, &o.id)) {
		o.box = find(o.service, o.id);
		for (size_t i = 0; i < ARRAY_LEN(words); i++) {
			if (strcmp(word, words[i].word) != 0)
				continue;
			words[i].perform(&o);
			r = 0;
		}
	}
	close_all(fds, n_fds);
	return r;
}

/* The engine has ended, or wants this process to end. The kernel closes the sockets. */
static void on_ended(void *arg, bool is_fault)
{
	(void)arg;
	_exit(is_fault);
}

int main(int argc, char **argv)
{
	const char *authorities = argc > 1 ? argv[1] : NULL;
	uv_loop_t loop;
	struct service s = {.loop = &loop};
	const struct channel_events events = {
		.message = on_message, .ended = on_ended, .takes_fds = true, .arg = &s};
	if (putenv(threads) != 0 || (authorities && setenv("SSL_CERT_FILE", authorities, 1) != 0) ||
		gateway_lock(authorities, &s.max_fds) < 0 || uv_loop_init(&loop) < 0)
		return 125;
	s.scratch = xcalloc(1, RELAY_BYTES);
	s.channel = channel_open(&loop, HELPER_FD, &events);
	if (!s.channel)
		return 125;
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	return 1;
}
