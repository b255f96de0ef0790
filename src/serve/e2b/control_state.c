/*
 * Changes of a sandbox: its time, pause and resume, its end.
 *
 * A paused sandbox has no time: it is kept until somebody makes it run again, or ends it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/inside.h"

#include "base/num.h"

#include <string.h>

enum { REFRESH_MAX_S = 3600 };

static void refuse_paused(struct front_call *c, const struct e2b_sandbox *s, unsigned status)
{
	e2b_refuse(c, status, "sandbox '%s' is paused: connect to it first", s->id);
}

/* Return a member that is a number; @usual if there is none. */
static uint64_t count_of(const struct front_call *c, const char *name, uint64_t usual)
{
	const json_t *value = json_object_get(c->body, name);
	return value ? (uint64_t)json_integer_value(value) : usual;
}

static void set_timeout(struct front_call *c, struct e2b_sandbox *s)
{
	static const struct e2b_member members[] = {
		{"timeout", E2B_COUNT, .is_needed = true, .max = E2B_TIMEOUT_MAX_S}};
	if (!e2b_check(c, c->body, members, ARRAY_LEN(members)))
		return;
	if (s->phase == E2B_PAUSED) {
		refuse_paused(c, s, 404); /* SDKs 2.0 resume it then */
		return;
	}
	e2b_set_time(s, count_of(c, "timeout", 0));
	front_answer_empty(c);
}

/* Move the end to @seconds from now, if it is earlier. */
static void extend(struct e2b_sandbox *s, uint64_t seconds)
{
	uint64_t end_ms = s->end_ms;
	e2b_set_time(s, seconds);
	s->end_ms = MAX(s->end_ms, end_ms);
}

static void refresh(struct front_call *c, struct e2b_sandbox *s)
{
	static const struct e2b_member members[] = {{"duration", E2B_COUNT, .max = REFRESH_MAX_S}};
	if (!e2b_check(c, c->body, members, ARRAY_LEN(members)))
		return;
	if (s->phase == E2B_PAUSED) {
		refuse_paused(c, s, 404);
		return;
	}
	extend(s, count_of(c, "duration", E2B_OLD_TIMEOUT_S));
	front_answer_empty(c);
}

static void pause_it(struct front_call *c, struct e2b_sandbox *s)
{
	static const struct e2b_member members[] = {{"memory", E2B_BOOL}};
	if (!e2b_check(c, c->body, members, ARRAY_LEN(members)))
		return;
	if (s->phase == E2B_PAUSED) {
		e2b_refuse(c, 409, "Error pausing sandbox - sandbox '%s' is already paused", s->id);
		return;
	}
	e2b_pause(s, json_is_false(json_object_get(c->body, "memory")));
	front_answer_empty(c);
}

static void wake(struct front_call *c, struct e2b_sandbox *s)
{
	if (json_is_false(json_object_get(c->body, "memory")))
		e2b_kill_processes(s);
	e2b_resume(s);
	e2b_set_time(s, count_of(c, "timeout", E2B_TIMEOUT_S));
	front_answer(c, 201, e2b_sandbox_json(s));
}

static void connect_to(struct front_call *c, struct e2b_sandbox *s)
{
	static const struct e2b_member members[] = {
		{"timeout", E2B_COUNT, .max = E2B_TIMEOUT_MAX_S}, {"memory", E2B_BOOL}};
	if (!e2b_check(c, c->body, members, ARRAY_LEN(members)))
		return;
	if (s->phase == E2B_PAUSED) {
		wake(c, s);
		return;
	}
	extend(s, count_of(c, "timeout", E2B_TIMEOUT_S));
	front_answer(c, 200, e2b_sandbox_json(s));
}

/* As SDKs 2.0 do. */
static void resume(struct front_call *c, struct e2b_sandbox *s)
{
	static const struct e2b_member members[] = {
		{"timeout", E2B_COUNT, .max = E2B_TIMEOUT_MAX_S}, {"autoPause", E2B_BOOL}};
	if (!e2b_check(c, c->body, members, ARRAY_LEN(members)))
		return;
	if (s->phase != E2B_PAUSED) {
		e2b_refuse(c, 409, "sandbox '%s' is already running", s->id);
		return;
	}
	if (json_object_get(c->body, "autoPause"))
		s->is_paused_late = json_get_bool(c->body, "autoPause");
	wake(c, s);
}

/* What needs a session that runs. */
static void snapshot(struct front_call *c, struct e2b_sandbox *s)
{
	if (s->phase == E2B_PAUSED)
		refuse_paused(c, s, 409);
	else
		e2b_start_snapshot(c, s);
}

static void fork_it(struct front_call *c, struct e2b_sandbox *s)
{
	if (s->phase == E2B_PAUSED)
		refuse_paused(c, s, 409);
	else
		e2b_start_fork(c, s);
}

static const struct action {
	const char *word;
	void (*start)(struct front_call *c, struct e2b_sandbox *s);
} actions[] = {
	{"timeout", set_timeout},
	{"refreshes", refresh},
	{"pause", pause_it},
	{"connect", connect_to},
	{"resume", resume},
	{"snapshots", snapshot},
	{"fork", fork_it},
};

void e2b_start_sandbox_action(struct front_call *c)
{
	char path[E2B_PATH_BYTES];
	const char *word;
	struct e2b_sandbox *s = e2b_read_sandbox(c, path, &word);
	for (size_t i = 0; i < ARRAY_LEN(actions) && s; i++) {
		if (strcmp(actions[i].word, word) != 0)
			continue;
		actions[i].start(c, s);
		return;
	}
	if (s)
		e2b_refuse(c, 404, "there is no such route");
}

void e2b_start_sandbox_put(struct front_call *c)
{
	char path[E2B_PATH_BYTES];
	const char *word;
	struct e2b_sandbox *s = e2b_read_sandbox(c, path, &word);
	if (s && strcmp(word, "network") != 0)
		e2b_refuse(c, 404, "there is no such route");
	else if (s && s->phase == E2B_PAUSED)
		refuse_paused(c, s, 409);
	else if (s)
		e2b_start_network(c, s);
}

void e2b_start_sandbox_end(struct front_call *c)
{
	char path[E2B_PATH_BYTES];
	const char *word;
	struct e2b_sandbox *s = e2b_read_sandbox(c, path, &word);
	if (s && word[0])
		e2b_refuse(c, 404, "there is no such route");
	else if (s)
		e2b_end(s, c);
}
