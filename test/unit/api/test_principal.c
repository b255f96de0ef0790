/* Principals: their names, their rate, and what operations tell them of others.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/operation/principal.h"

#include "api/operation/operation.h"
#include "api/run/runs.h"
#include "unit/registry/fake_registry.h"
#include "registry/owner.h"
#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct principal *principal(const char *name)
{
	const struct principal_limits limits = {0};
	struct principal *p = NULL;
	struct err err;
	CHECK_INT(principal_new(&p, name, &limits, &err), 0);
	return p;
}

TEST(names_are_words)
{
	static const char *const bad[] = {"", "a b", "a/b", "\xc3\xa4", "a\n",
		"0123456789012345678901234567890123456789012345678901234567890123"};
	const struct principal_limits limits = {0};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct principal *p = NULL;
		struct err err;
		CHECK(principal_new(&p, bad[i], &limits, &err) < 0);
		CHECK_INT(err.code, ERR_USAGE);
		CHECK(p == NULL && err.hint[0]);
	}
	struct principal *p = principal("Ann-1.b_c");
	CHECK_STR(principal_name(p), "Ann-1.b_c");
	CHECK(!principal_may_see_metrics(p));
	CHECK(principal_may_see_metrics(NULL));
	CHECK(principal_owner(NULL) == NULL);
	principal_free(p);
}

TEST(a_minutes_steps_come_back_over_a_minute)
{
	enum { SECOND = 1000000000 };
	const uint64_t start = 5 * UINT64_C(1000000000);
	struct owner o = {.name = "ann", .limits = {.steps_per_minute = 60}};
	struct err err = {0};
	for (int i = 0; i < 60; i++)
		CHECK_INT(owner_take_steps(&o, 1, start, &err), 0);
	CHECK(owner_take_steps(&o, 1, start, &err) < 0);
	CHECK_INT(err.code, ERR_QUOTA);
	CHECK_STR(err.hint, "ask again in 1 s");
	CHECK(owner_take_steps(&o, 1, start + SECOND / 2, &err) < 0);
	/* Being refused costs nothing. */
	CHECK_INT(owner_take_steps(&o, 1, start + SECOND, &err), 0);
	CHECK(owner_take_steps(&o, 1, start + SECOND, &err) < 0);
	CHECK_INT(owner_take_steps(&o, 30, start + 31 * UINT64_C(1000000000), &err), 0);
	CHECK(owner_take_steps(&o, 1, start + 31 * UINT64_C(1000000000), &err) < 0);
	/* It never holds more than a minute's; more at once than that takes all. */
	const uint64_t later = start + 3600 * UINT64_C(1000000000);
	CHECK_INT(owner_take_steps(&o, 1000, later, &err), 0);
	CHECK(owner_take_steps(&o, 1, later, &err) < 0);
	/* A clock that stands or goes back gives nothing. */
	CHECK(owner_take_steps(&o, 1, start, &err) < 0);
	o.limits.steps_per_minute = 0;
	CHECK_INT(owner_take_steps(&o, 1000000, later, &err), 0);
}

/* ---- every operation ---- */

struct heard {
	int n_done;
	char *text; /* of the answer, or of the error */
	enum err_code code;
};

static void on_done(void *arg, const json_t *result, const struct err *err)
{
	struct heard *h = arg;
	h->n_done++;
	h->code = err ? err->code : ERR_NONE;
	if (result)
		h->text = json_dumps(result, JSON_COMPACT | JSON_SORT_KEYS);
	else if (asprintf(&h->text, "%s|%s", err->msg, err->hint) < 0)
		abort();
}

struct scene {
	struct registry *registry;
	struct runs *runs;
	struct principal *ann, *bob;
	char run[64], no_run[64]; /* bob's, and one that nobody has */
};

static struct heard call(
	const struct scene *s, struct principal *p, const char *method, json_t *params)
{
	struct heard h = {0};
	const struct operation_context context = {
		.registry = s->registry, .runs = s->runs, .version = "1.2.3", .principal = p};
	const struct operation_listener listener = {.arg = &h, .done = on_done};
	struct operation_call *slot;
	operation_start(&context, operation_find(method), params, &listener, &slot);
	CHECK_INT(h.n_done, 1);
	json_decref(params);
	return h;
}

/* Texts that name nothing of anybody's. Whatever is not here is taken for the id of something: a
 * new parameter of an operation is tried with another principal's ids, unless it is added. */
static bool is_plain(const struct param *p)
{
	static const char *const names[] = {"name", "runtime", "scope", "python", "filename",
		"text", "path", "dialect", "query", "tool", "grep", "stdin", "preload", "rootfs",
		"image", "workspace", "task", "model", "plan", "policy", "request", "listen"};
	if (p->type != PARAM_TEXT)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(p->name, names[i]) == 0)
			return true;
	return false;
}

static json_t *sample(const struct param *p)
{
	switch (p->type) {
	case PARAM_FLAG:
		return json_true();
	case PARAM_COUNT:
	case PARAM_NUMBER:
		return json_integer((json_int_t)p->min);
	case PARAM_CHOICE:
		return json_stringn(p->choices, strcspn(p->choices, "|"));
	case PARAM_TEXTS:
	case PARAM_OBJECTS:
		return json_array();
	case PARAM_MAP:
	case PARAM_OBJECT:
		return json_object();
	case PARAM_PATH:
		return json_string("/nowhere");
	case PARAM_TEXT:
	case PARAM_DATA:
	case PARAM_ANY:
		break;
	}
	return json_string("x = 1");
}

/* What @op must have, and @id as the parameter @named. */
static json_t *params_of(const struct operation *op, const struct param *named, const char *id)
{
	json_t *params = json_object();
	for (size_t i = 0; i < op->n_params; i++) {
		const struct param *p = &op->params[i];
		if (p == named)
			(void)json_object_set_new(params, p->name, json_string(id));
		else if (p->is_required && !is_plain(p))
			(void)json_object_set_new(params, p->name, json_string("own"));
		else if (p->is_required)
			(void)json_object_set_new(params, p->name, sample(p));
	}
	return params;
}

/* The answer without the id that was asked with. */
static char *blank(char *text, const char *id)
{
	size_t n = strlen(id);
	for (char *at = text; (at = strstr(at, id)); at += n)
		memset(at, '*', n);
	return text;
}

static void scene_open(struct scene *s)
{
	s->registry = fake_registry_new(NULL);
	s->runs = runs_open(NULL);
	s->ann = principal("ann");
	s->bob = principal("bob");
	free(call(s, s->ann, "session.create", json_pack("{s:s}", "name", "own")).text);
	free(call(s, s->bob, "session.create", json_pack("{s:s}", "name", "vault")).text);
	free(call(s, s->bob, "file.write",
		json_pack("{s:s, s:s, s:s}", "session", "vault", "path", "a", "content", "bob's"))
			.text);
	struct heard ran = call(s, s->bob, "step.run",
		json_pack("{s:s, s:s}", "session", "vault", "code", "x = 1"));
	json_t *record = json_loads(ran.text, 0, NULL);
	const char *run = json_string_value(json_object_get(record, "run"));
	CHECK(run && strlen(run) > 8);
	snprintf(s->run, sizeof s->run, "%s", run);
	memcpy(s->no_run, s->run, sizeof s->run);
	s->no_run[strlen(run) - 1] ^= 1;
	json_decref(record);
	free(ran.text);
}

static void scene_close(struct scene *s)
{
	fake_registry_free(s->registry);
	runs_close(s->runs);
	principal_free(s->ann);
	principal_free(s->bob);
}
#define SCENE                                                                                      \
	cleanup(scene_close) struct scene s;                                                       \
	scene_open(&s)

/* "s-2" and "vault" are bob's; nobody has "s-7" and "vaulx". */
TEST(anothers_ids_are_answered_as_those_of_nobody)
{
	SCENE;
	const char *const ids[][2] = {{"s-2", "s-7"}, {"vault", "vaulx"}, {s.run, s.no_run}};
	int n_tried = 0;
	const struct operation *op;
	for (size_t i = 0; (op = operation_at(i)); i++)
		for (size_t k = 0; k < op->n_params; k++) {
			const struct param *p = &op->params[k];
			for (size_t m = 0; m < ARRAY_LEN(ids) && !is_plain(p); m++, n_tried++) {
				struct heard his =
					call(&s, s.ann, op->name, params_of(op, p, ids[m][0]));
				struct heard no =
					call(&s, s.ann, op->name, params_of(op, p, ids[m][1]));
				if (his.code == ERR_NONE)
					printf("# %s: %s of another is answered\n", op->name,
						p->name);
				CHECK(his.code != ERR_NONE);
				CHECK_INT(his.code, no.code);
				CHECK_STR(blank(his.text, ids[m][0]), blank(no.text, ids[m][1]));
				free(his.text);
				free(no.text);
			}
		}
	CHECK(n_tried >= 3 * 18);
	struct heard file = call(
		&s, s.bob, "file.read", json_pack("{s:s, s:s}", "session", "vault", "path", "a"));
	CHECK_HAS(file.text, "bob's");
	free(file.text);
}

/* What names nothing tells nothing of others: not their ids, and not that they are there. */
TEST(lists_have_ones_own)
{
	SCENE;
	const struct operation *op;
	for (size_t i = 0; (op = operation_at(i)); i++) {
		if (op->n_params > 0)
			continue;
		struct heard h = call(&s, s.ann, op->name, NULL);
		CHECK(strstr(h.text, "s-2") == NULL && strstr(h.text, "vault") == NULL);
		CHECK(op->is_for_operator == (h.code == ERR_DENIED));
		free(h.text);
	}
	struct heard all = call(&s, NULL, "session.list", NULL);
	CHECK_HAS(all.text, "s-2");
	CHECK_HAS(all.text, "s-1");
	free(all.text);
}

TEST(names_need_not_differ_from_those_of_others)
{
	SCENE;
	struct heard h = call(&s, s.ann, "session.create", json_pack("{s:s}", "name", "vault"));
	CHECK_INT(h.code, ERR_NONE);
	free(h.text);
	h = call(&s, s.ann, "session.create", json_pack("{s:s}", "name", "vault"));
	CHECK_INT(h.code, ERR_USAGE);
	free(h.text);
}
