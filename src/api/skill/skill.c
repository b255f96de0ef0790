/*
 * A proposed skill is tested in a session of its own, which runs the code and its test as one step.
 * If the test passes, the code is stored unchanged, and its origin is stored in NAME.json.
 *
 *   MAKING → TESTING → ENDING
 *
 * MAKING: the session of the test is made. TESTING: the test runs. ENDING: the session ends. The
 * call that proposed the skill is answered before ENDING. If the call is cancelled earlier, nothing
 * is stored.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/skill/skill.h"

#include "api/row/param.h"
#include "api/skill/skill_store.h"
#include "base/json.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/digest.h"
#include "registry/history.h"
#include "registry/registry.h"
#include "tool/catalog_search.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	SESSION_BYTES = 80,
	STEP_BYTES = 80,
	TIME_BYTES = 32,
	/* Rank of a good match. skills_find() treats all higher ranks like this one. */
	SKILL_RANK_MAX = 64,
};

/* The value of the step if the test has passed. This value is the last line of the step's code,
 * which is not reached if the test exits early. */
#define PASSED "retort: the test passed"

#define TAINTED "the session has read data that others wrote"

enum proposal_state { PROPOSAL_MAKING, PROPOSAL_TESTING, PROPOSAL_ENDING };

struct proposal {
	struct proposal *next, **link;
	struct skills *skills;
	enum proposal_state state;
	struct gate_call *call; /* the call that proposes the skill; NULL: answered or cancelled */
	json_t *arguments;
	/* from: id of the session that proposes the skill. after: the head of that session when
	 * the skill was proposed. */
	char from[SESSION_BYTES], after[STEP_BYTES];
	char session[SESSION_BYTES]; /* id of the session of the test */
};

struct skills {
	struct skill_store store;
	struct gate_handler handler;
	struct registry *registry;
	struct proposal *proposals;
};

static const struct param rows[] = {
	{"name", PARAM_TEXT, true, 1, SKILL_STORE_NAME_BYTES - 1},
	{"source", PARAM_TEXT, true, 1, SKILL_STORE_CODE_BYTES},
	{"test", PARAM_TEXT, true, 1, SKILL_STORE_CODE_BYTES},
	{"signature", PARAM_TEXT, false, 0, SKILL_STORE_DOC_BYTES},
	{"doc", PARAM_TEXT, false, 0, SKILL_STORE_DOC_BYTES},
	{"runtime", PARAM_CHOICE, .choices = "python|javascript", .fallback = "python"},
};

static const char *text_of(const struct proposal *p, const char *key)
{
	return param_text(p->arguments, key, "");
}

static const char *runtime_of(const struct proposal *p)
{
	return param_text(p->arguments, "runtime", "python");
}

/* ---- refusing a proposed skill ---- */

static void refuse(struct gate_call *call, const char *name, const char *message, const char *hint)
{
	gate_answer(call, tool_call_error(name, message, hint));
}

static void refuse_err(struct gate_call *call, const char *name, const struct err *err)
{
	char message[ERR_MSG_BYTES + 32];
	snprintf(message, sizeof message, "retort.skills.save: %s", err->msg);
	refuse(call, name, message, err->hint[0] ? err->hint : NULL);
}

/* ---- the end of a proposal ---- */

static void free_proposal(struct proposal *p)
{
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	json_decref(p->arguments);
	free(p);
}

static void on_ended(void *arg, const json_t *result, const struct err *err)
{
	(void)result;
	(void)err;
	free_proposal(arg);
}

static void end(struct proposal *p)
{
	p->state = PROPOSAL_ENDING;
	if (p->session[0])
		registry_end(p->skills->registry, p->session, on_ended, p);
	else
		free_proposal(p);
}

static void fail(struct proposal *p, const char *name, const struct err *err)
{
	struct gate_call *call = p->call;
	p->call = NULL;
	if (call)
		refuse_err(call, name, err);
	end(p);
}

/* ---- storing a skill that has passed its test ---- */

/* Describe where a skill comes from, for NAME.json. Owns: the caller decrefs the result. */
static json_t *describe(const struct proposal *p, const char *test_step)
{
	char digest[DIGEST_BYTES], when[TIME_BYTES];
	time_t now = time(NULL);
	struct tm utc;
	digest_text(digest, text_of(p, "source"), strlen(text_of(p, "source")));
	(void)strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s}, s:s, s:s, s:s}", "name",
		text_of(p, "name"), "sha256", digest, "kept", when, "session", p->from, "after",
		p->after, "test", text_of(p, "test"), "tested", "session", p->session, "step",
		test_step, "signature", text_of(p, "signature"), "doc", text_of(p, "doc"),
		"runtime", runtime_of(p));
}

static void keep(struct proposal *p, const char *test_step)
{
	struct err err;
	if (gate_call_is_tainted(p->call)) { /* the session was tainted during the test */
		(void)err_set(&err, ERR_DENIED, TAINTED);
		fail(p, "ToolDenied", &err);
		return;
	}
	json_t *about = describe(p, test_step);
	const struct skill_store_row skill = {.name = text_of(p, "name"),
		.runtime = runtime_of(p),
		.code = text_of(p, "source"),
		.about = about};
	int r = about ? skill_store_keep(&p->skills->store, &skill, &err)
		      : err_set(&err, ERR_NO_MEMORY, "no memory for a skill");
	if (r < 0) {
		fail(p, "ToolError", &err);
	} else {
		struct gate_call *call = p->call;
		p->call = NULL;
		gate_answer(call, json_pack("{s:O}", "value", about));
		end(p);
	}
	json_decref(about);
}

/* ---- testing a proposed skill ---- */

static bool has_passed(const json_t *record)
{
	const json_t *value = json_object_get(json_object_get(record, "value"), "application/json");
	const char *status = json_string_value(json_object_get(record, "status"));
	return status && strcmp(status, "ok") == 0 && json_is_string(value) &&
		strcmp(json_string_value(value), PASSED) == 0;
}

/* Explain why the test did not pass. */
static int explain(const struct proposal *p, const json_t *record, struct err *err)
{
	const json_t *error = json_object_get(record, "error");
	const char *status = json_string_value(json_object_get(record, "status"));
	const char *name = json_string_value(json_object_get(error, "name"));
	const char *message = json_string_value(json_object_get(error, "message"));
	if (name)
		(void)err_set(err, ERR_USAGE, "%s is not saved, its test failed: %.60s%s%.100s",
			text_of(p, "name"), name, message && *message ? ": " : "",
			message ? message : "");
	else
		(void)err_set(err, ERR_USAGE, "%s is not saved, its test did not finish (%.20s)",
			text_of(p, "name"), status ? status : "?");
	return err_hint(
		err, "the test runs in a new box that has only the source: import what it needs");
}

static void on_tested(void *arg, const json_t *record, const struct err *failed)
{
	struct proposal *p = arg;
	struct err err;
	const char *step = json_string_value(json_object_get(record, "step"));
	if (!p->call) {
		end(p);
	} else if (!record) {
		fail(p, "ToolLost", failed);
	} else if (!has_passed(record) || !step) {
		(void)explain(p, record, &err);
		fail(p, "ToolError", &err);
	} else {
		keep(p, step);
	}
}

static void run_test(struct proposal *p)
{
	cleanup_buf struct buf code = BUF_INIT((size_t)2 * SKILL_STORE_CODE_BYTES + 1024);
	char name[SKILL_STORE_NAME_BYTES + 16];
	struct err err = {0};
	snprintf(name, sizeof name, "<skill %s>", text_of(p, "name"));
	if (buf_addf(&code, "%s\n\n%s\n\n\"%s\"\n", text_of(p, "source"), text_of(p, "test"),
		    PASSED) < 0) {
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for a test");
		fail(p, "ToolLost", &err);
		return;
	}
	struct step_order *order = step_order_new(&(struct step_order){.code = buf_str(&code),
							  .code_bytes = code.bytes,
							  .filename = name,
							  .stdin_fd = -1},
		&err);
	p->state = PROPOSAL_TESTING;
	registry_run(p->skills->registry, p->session, order, NULL, on_tested, p);
	step_order_let_go(order);
}

static void on_made(void *arg, const json_t *result, const struct err *failed)
{
	struct proposal *p = arg;
	const char *session = json_string_value(json_object_get(result, "session"));
	if (session)
		snprintf(p->session, sizeof p->session, "%s", session);
	if (!session)
		fail(p, "ToolLost", failed);
	else if (!p->call)
		end(p);
	else
		run_test(p);
}

static void make_session(struct proposal *p)
{
	struct registry_create create = {
		.order = {.runtime = runtime_of(p), .limits = order_default_limits()},
		.is_fresh = true,
		.ttl_ms = 4 * SKILL_TEST_MS};
	create.order.limits.value[LIMIT_timeout_ms] = SKILL_TEST_MS;
	registry_create(p->skills->registry, &create, on_made, p);
}

/* ---- the call that proposes a skill ---- */

static bool is_of_test(const struct skills *s, const char *session)
{
	for (const struct proposal *p = s->proposals; p; p = p->next)
		if (strcmp(p->session, session) == 0)
			return true;
	return false;
}

/* Check that the session of @call may propose skills. Returns: false if it may not; the call has
 * then been refused. */
static bool may_propose(struct skills *s, struct gate_call *call)
{
	const char *why = !s->store.is_writable ? "retort.skills.save: skills are read-only here"
		: gate_call_owner(call)[0]
		? "retort.skills.save: skills belong to the operator of the engine"
		: gate_call_is_tainted(call) ? "retort.skills.save: " TAINTED
		: gate_call_is_trial(call)
		? "retort.skills.save: a candidate cannot save skills, because it may be discarded"
		: is_of_test(s, gate_call_session(call))
		? "retort.skills.save: a test cannot save skills"
		: NULL;
	const char *hint = !s->store.is_writable ? "--skills DIR:rw allows skills to be saved"
		: gate_call_is_tainted(call)	 ? "save it from a session that has not"
						 : NULL;
	if (!why)
		return true;
	refuse(call, "ToolDenied", why, hint);
	return false;
}

/* Return whether the code @test mentions the skill @name, as a whole word. */
static bool is_named(const char *test, const char *name)
{
	size_t n = strlen(name);
	static const char word[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	for (const char *at = strstr(test, name); at; at = strstr(at + 1, name))
		if ((at == test || !strchr(word, at[-1])) && (!at[n] || !strchr(word, at[n])))
			return true;
	return false;
}

static int check(const struct skills *s, const json_t *arguments, struct err *err)
{
	const char *name = param_text(arguments, "name", "");
	int r = param_check(rows, ARRAY_LEN(rows), arguments, err);
	if (r == 0)
		r = skill_store_check_name(name, err);
	if (r < 0)
		return r;
	if (skill_store_has(&s->store, name))
		return err_fail(err, ERR_BUSY,
			"choose another name; only people replace saved skills",
			"skill %s exists already", name);
	if (is_named(param_text(arguments, "test", ""), name))
		return 0;
	return err_fail(err, ERR_USAGE, "call the skill, and assert its result",
		"test: it does not use %s", name);
}

static size_t count(const struct skills *s)
{
	size_t n = 0;
	for (const struct proposal *p = s->proposals; p; p = p->next)
		n++;
	return n;
}

static struct proposal *new_proposal(struct skills *s, struct gate_call *call)
{
	struct proposal *p = xnew(struct proposal);
	struct err err;
	*p = (struct proposal){.next = s->proposals,
		.link = &s->proposals,
		.skills = s,
		.call = call,
		.arguments = json_incref(json_unconst(gate_call_arguments(call)))};
	json_t *from = registry_get(s->registry, gate_call_session(call), &err);
	const char *head = json_string_value(json_object_get(from, "head"));
	snprintf(p->from, sizeof p->from, "%s", gate_call_session(call));
	snprintf(p->after, sizeof p->after, "%s", head ? head : "");
	json_decref(from);
	if (p->next)
		p->next->link = &p->next;
	s->proposals = p;
	return p;
}

static bool on_call(void *arg, struct gate_call *call)
{
	struct skills *s = arg;
	struct err err = {0};
	if (strcmp(gate_call_name(call), "retort.skill_save") != 0)
		return false;
	if (!may_propose(s, call))
		return true;
	if (check(s, gate_call_arguments(call), &err) < 0) {
		refuse_err(call, "ToolArgumentError", &err);
		return true;
	}
	if (count(s) >= SKILL_PROPOSALS_MAX) {
		refuse(call, "ToolLimit", "retort.skills.save: other skills are being tested",
			"save it again later");
		return true;
	}
	make_session(new_proposal(s, call));
	return true;
}

/* Called when @call, by which a step proposes a skill, is cancelled because the step has ended
 * before the answer. Stop the test of the skill. The skill is not stored. */
static void on_cancel(void *arg, struct gate_call *call)
{
	struct skills *s = arg;
	for (struct proposal *p = s->proposals; p; p = p->next)
		if (p->call == call) {
			p->call = NULL;
			if (p->state == PROPOSAL_TESTING) {
				struct err err;
				(void)registry_interrupt(s->registry, p->session, &err);
			}
			return;
		}
}

/* ---- opening, searching and closing the skills ---- */

int skills_open(struct skills **out, const char *spec, struct err *err)
{
	struct skills *s = xnew(struct skills);
	*out = NULL;
	int r = skill_store_open(&s->store, spec, err);
	if (r < 0) {
		skill_store_close(&s->store);
		free(s);
		return r;
	}
	*out = s;
	return 0;
}

const char *skills_dir(const struct skills *s)
{
	return s->store.path;
}

void skills_attach(struct skills *s, struct gate *gate, struct registry *registry)
{
	s->registry = registry;
	s->handler = (struct gate_handler){.arg = s, .call = on_call, .cancel = on_cancel};
	gate_attach(gate, "", &s->handler);
}

json_t *skills_find(struct skills *s, const char *query)
{
	const struct tool_server config = {.name = "skills"};
	const struct catalog_server server = {.config = &config};
	json_t *out = json_array(), *row;
	const json_t *all = skill_store_list(&s->store);
	for (int best = SKILL_RANK_MAX; best > 0 && json_array_size(out) < SKILLS_FOUND_MAX;
		best--) {
		size_t i;
		json_array_foreach(json_unconst(all), i, row)
		{
			const struct catalog_tool tool = {.server = &server,
				.tool = param_text(row, "name", "") + strlen("skills."),
				.text = param_text(row, "doc", "")};
			int rank = catalog_rank(&tool, query);
			if ((rank < SKILL_RANK_MAX ? rank : SKILL_RANK_MAX) == best &&
				json_array_size(out) < SKILLS_FOUND_MAX)
				(void)json_array_append(out, row);
		}
	}
	return out;
}

void skills_close(struct skills *s)
{
	if (!s)
		return;
	gate_detach(&s->handler);
	while (s->proposals)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is freed has left the list */
		free_proposal(s->proposals);
	skill_store_close(&s->store);
	free(s);
}
