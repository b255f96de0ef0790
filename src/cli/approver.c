/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/approver.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/screen/term.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { TEXT_BYTES = 256 << 10, LINE_BYTES = 256 };

static void ask_next(struct approver *a);

static void put(const struct approver *a, const char *text, size_t bytes)
{
	cleanup_buf struct buf safe = BUF_INIT(TEXT_BYTES);
	(void)utf8_escape_terminal(&safe, text, bytes, UTF8_KEEP_LINES);
	for (size_t at = 0; at < safe.bytes;) {
		ssize_t n = write(a->fd, safe.data + at, safe.bytes - at);
		if (n <= 0)
			return;
		at += (size_t)n;
	}
}

static void put_text(const struct approver *a, const char *text)
{
	put(a, text, strlen(text));
}

/* Stop waiting for the person's answer, and restore the terminal. */
static void let_go(struct approver *a)
{
	if (!a->ear)
		return;
	ear_close(take_ptr(a->ear));
	if (a->hold)
		a->hold(a->screen, false);
	(void)tcsetattr(a->fd, TCSANOW, &a->before);
}

enum reply { REPLY_NO, REPLY_YES, REPLY_SESSION, REPLY_UNCLEAR };

/* Read a line that the person has typed: a whole word, since a slip must not allow anything. What
 * does not end with a line end was cut short by Ctrl-D. Connections can be allowed for the session,
 * too. */
static enum reply reply_of(const char *line, size_t bytes, bool is_connection)
{
	static const struct {
		const char *word;
		enum reply reply;
	} words[] = {{"", REPLY_NO}, {"n", REPLY_NO}, {"no", REPLY_NO}, {"y", REPLY_YES},
		{"yes", REPLY_YES}, {"s", REPLY_SESSION}, {"session", REPLY_SESSION}};
	if (bytes == 0 || line[bytes - 1] != '\n')
		return REPLY_NO;
	while (bytes > 0 && strchr(" \t\r\n", line[bytes - 1]))
		bytes--;
	while (bytes > 0 && strchr(" \t", *line)) {
		line++;
		bytes--;
	}
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i].word) == bytes &&
			strncasecmp(line, words[i].word, bytes) == 0 &&
			(words[i].reply != REPLY_SESSION || is_connection))
			return words[i].reply;
	return REPLY_UNCLEAR;
}

static void answer(struct approver *a, enum reply reply)
{
	json_t *event = json_incref(json_array_get(a->waiting, 0));
	let_go(a);
	(void)json_array_remove(a->waiting, 0);
	a->decide(a->arg, json_get_text(event, "approval"), reply != REPLY_NO,
		reply == REPLY_SESSION);
	json_decref(event);
	ask_next(a);
}

static void on_typed(void *arg)
{
	struct approver *a = arg;
	char line[LINE_BYTES];
	ssize_t n = read(a->fd, line, sizeof line);
	if (n < 0)
		return;
	bool is_connection = json_object_get(json_array_get(a->waiting, 0), "connection") != NULL;
	enum reply reply = reply_of(line, (size_t)n, is_connection);
	if (reply == REPLY_UNCLEAR)
		put_text(a, is_connection ? "Type y, s or n: " : "Type y or n: ");
	else
		answer(a, reply);
}

/* Put the terminal into line mode and wait for an answer. Drop what was typed before: it cannot
 * be meant for this question. Returns: whether the terminal could be taken. */
static bool take_terminal(struct approver *a)
{
	struct err err;
	if (!term_take_lines(a->fd, TCSAFLUSH, &a->before))
		return false;
	if (ear_open(&a->ear, a->loop, a->fd, on_typed, a, &err) < 0) {
		(void)tcsetattr(a->fd, TCSANOW, &a->before);
		return false;
	}
	return true;
}

/* Show what was held back. */
static void release(struct approver *a)
{
	size_t i;
	const json_t *event;
	cleanup_json json_t *held = take_ptr(a->held);
	a->held = json_need(json_array());
	json_array_foreach(held, i, event)
	{
		if (a->show)
			a->show(a->screen, event);
	}
}

static void ask_next(struct approver *a)
{
	const json_t *event = json_array_get(a->waiting, 0);
	if (a->ear)
		return;
	if (!event) {
		release(a);
		return;
	}
	if (!take_terminal(a)) {
		answer(a, REPLY_NO);
		return;
	}
	if (a->hold)
		a->hold(a->screen, true);
	put_text(a, "\n");
	put_text(a, json_get_text(event, "text"));
	put_text(a,
		json_object_get(event, "connection") ? " [y]es, once / for this [s]ession / [N]o "
						     : " [y/N] ");
}

/* Remove an approval that was decided elsewhere or is no longer needed. Then ask the next
 * question. */
static void drop(struct approver *a, const char *approval)
{
	size_t i;
	const json_t *event;
	json_array_foreach(a->waiting, i, event)
	{
		if (strcmp(json_get_text(event, "approval"), approval) != 0)
			continue;
		if (i == 0 && a->ear)
			put_text(a, "\n");
		if (i == 0)
			let_go(a);
		(void)json_array_remove(a->waiting, i);
		break;
	}
	ask_next(a);
}

bool approver_takes(struct approver *a, const json_t *event)
{
	bool is_ours = strcmp(json_get_text(event, "event"), "tool.approval") == 0;
	if (a->fd < 0 || (!is_ours && !a->ear))
		return false;
	if (!is_ours) {
		json_add_shared(a->held, event);
	} else if (strcmp(json_get_text(event, "state"), "asked") != 0) {
		drop(a, json_get_text(event, "approval"));
	} else {
		json_add_shared(a->waiting, event);
		ask_next(a);
	}
	return true;
}

static void tell_engine(void *arg, const char *approval, bool is_allowed, bool is_for_session)
{
	operation_tell(service_context(arg), "tool.approve",
		json_pack("{s:s, s:b, s:s}", "approval", approval, "allow", is_allowed, "scope",
			is_for_session ? "session" : "once"));
}

bool approver_open(struct approver *a, struct service *service)
{
	return approver_open_on(a, service_loop(service), tell_engine, service);
}

bool approver_open_on(struct approver *a, uv_loop_t *loop,
	void (*decide)(void *arg, const char *approval, bool is_allowed, bool is_for_session),
	void *arg)
{
	*a = (struct approver){.loop = loop,
		.decide = decide,
		.arg = arg,
		.fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY),
		.waiting = json_need(json_array()),
		.held = json_need(json_array())};
	return a->fd >= 0;
}

void approver_close(struct approver *a)
{
	let_go(a);
	json_decref(a->waiting);
	json_decref(a->held);
	if (a->fd >= 0)
		(void)close(a->fd);
	*a = APPROVER_NONE;
}
