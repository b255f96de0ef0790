/* The table of operations over a registry without boxes: what is checked, what is told.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/operation/operation.h"
#include "api/run/runs.h"

#include "unit/registry/fake_registry.h"
#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct heard {
	int n_done, n_events;
	json_t *result, *events;
	struct err err;
};

static void on_event(void *arg, const json_t *event)
{
	struct heard *h = arg;
	h->n_events++;
	(void)json_array_append(h->events, (json_t *)(uintptr_t)event);
}

static void on_done(void *arg, const json_t *result, const struct err *err)
{
	struct heard *h = arg;
	h->n_done++;
	CHECK((result == NULL) == (err != NULL));
	h->result = json_incref((json_t *)(uintptr_t)result);
	if (err)
		h->err = *err;
}

static void heard_done(struct heard *h)
{
	json_decref(h->result);
	json_decref(h->events);
}
#define HEARD cleanup(heard_done) struct heard

/* Call @method with @params, as JSON text, to its end. */
static struct heard call(struct registry *r, const char *method, const char *params)
{
	struct heard h = {.events = json_array()};
	struct runs *runs;
	runs = runs_open(NULL);
	const struct operation_context context = {.registry = r, .runs = runs, .version = "1.2.3"};
	const struct operation_listener listener = {.arg = &h, .event = on_event, .done = on_done};
	struct operation_call *slot = (struct operation_call *)&h;
	json_t *json = params ? json_loads(params, JSON_ALLOW_NUL, NULL) : NULL;
	const struct operation *op = operation_find(method);
	CHECK(op != NULL && (!params || json));
	operation_start(&context, op, json, &listener, &slot);
	CHECK(slot == NULL);
	CHECK_INT(h.n_done, 1);
	json_decref(json);
	runs_close(runs);
	return h;
}

static void registry_gone(struct registry **r)
{
	fake_registry_free(*r);
}
#define REGISTRY cleanup(registry_gone) struct registry

TEST(every_row_is_whole)
{
	const struct operation *op;
	for (size_t i = 0; (op = operation_at(i)); i++) {
		CHECK(op->name && strchr(op->name, '.') && op->summary && op->start);
		CHECK(op->summary[strlen(op->summary) - 1] != '.');
		CHECK(operation_find(op->name) == op);
		for (size_t j = 0; j < op->n_params; j++) {
			const struct param *p = &op->params[j];
			CHECK(p->name && p->help);
			CHECK((p->type == PARAM_CHOICE) == (p->choices != NULL));
			/* An object without fields is anybody's. */
			CHECK(p->type == PARAM_OBJECT || p->type == PARAM_OBJECTS || !p->fields);
			for (size_t k = 0; k < j; k++)
				CHECK(strcmp(op->params[k].name, p->name) != 0);
		}
	}
}

TEST(wrong_parameters_are_named)
{
	static const struct {
		const char *method, *params, *message, *hint;
	} rows[] = {
		{"session.get", "{}", "session: missing", "give it (id of the session"},
		{"session.get", "[1]", "the parameters are not an object", "by name"},
		{"session.get", "{\"session\": null}", "session: missing", "id"},
		{"session.get", "{\"sesion\": \"a\"}", "sesion: unknown parameter",
			"did you mean session?"},
		{"session.get", "{\"session\": 1}", "session: not of the right type",
			"give a text"},
		{"session.get", "{\"session\": \"\"}", "session: empty", "id"},
		{"session.get", "{\"session\": \"a\\u0000b\"}", "session: holds a NUL", "leave"},
		{"session.graph", "{\"x\": 1}", "x: unknown parameter", "has no parameters"},
		{"session.create", "{\"limits\": {\"pids\": 0}}", "limits: pids: 0 is out of range",
			"give 1 to 4194304"},
		{"session.create", "{\"limits\": {\"pids\": -1}}", "limits: pids: -1", "give 1"},
		{"session.create", "{\"limits\": {\"pids\": 1.5}}", "limits: pids: not of",
			"whole"},
		{"session.create", "{\"limits\": {\"cpus\": 0}}", "limits: cpus: 0 is",
			"give 0.01"},
		{"session.create", "{\"limits\": {\"memory\": 5}}", "limits: memory: unknown",
			"memory_bytes"},
		{"session.create", "{\"limits\": 5}", "limits: not of", "give an object"},
		{"session.create", "{\"volumes\": [{\"src\": \"x\", \"dst\": \"y\"}]}",
			"volumes[0]: src: \"x\" is not an absolute path", "begin it with /"},
		{"session.create", "{\"volumes\": [{\"src\": \"/x\"}]}", "volumes[0]: dst: missing",
			"path in the box"},
		{"session.create",
			"{\"volumes\": [{\"src\": \"/x\", \"dst\": \"y\", \"mode\": \"rww\"}]}",
			"volumes[0]: mode: \"rww\" is not allowed", "did you mean rw?"},
		{"session.create", "{\"volumes\": [7]}", "volumes[0]: not of",
			"give an object with src, dst, mode"},
		{"session.create", "{\"env\": {\"A\": 1}}", "env.A: not of", "text"},
		{"session.create", "{\"env\": {\"A=B\": \"1\"}}",
			"env: \"A=B\" is not a valid name", "="},
		{"session.create", "{\"preload\": [1]}", "preload[0]: not of", "text"},
		{"session.create", "{\"fresh\": \"yes\"}", "fresh: not of", "true or false"},
		{"session.create", "{\"seed\": 4294967295}", "seed: 4294967295 is out",
			"give 0 to"},
		{"session.undo", "{\"session\": \"s-1\", \"count\": 2, \"to\": \"1\"}",
			"count: given together with to", "one of them"},
		{"file.write",
			"{\"session\": \"s-1\", \"path\": \"a\", \"content\": \"!\", "
			"\"encoding\": \"base64\"}",
			"content: 1 bytes that are not base64", ""},
		{"file.read", "{\"session\": \"s-1\", \"path\": \"a\", \"limit\": 0}",
			"limit: 0 is", "give 1 to"},
	};
	REGISTRY *r = fake_registry_new(NULL);
	HEARD made = call(r, "session.create", NULL);
	CHECK(made.result != NULL);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		HEARD h = call(r, rows[i].method, rows[i].params);
		CHECK_INT(h.err.code, ERR_USAGE);
		CHECK_HAS(h.err.msg, rows[i].message);
		CHECK_HAS(h.err.hint, rows[i].hint);
	}
}

TEST(too_much_is_refused)
{
	REGISTRY *r = fake_registry_new(NULL);
	char name[400], params[512];
	memset(name, 'n', sizeof name);
	name[200] = '\0';
	snprintf(params, sizeof params, "{\"session\": \"%s\"}", name);
	HEARD h = call(r, "session.get", params);
	CHECK_STR(h.err.msg, "session: 200 bytes, limit 128");
	snprintf(params, sizeof params, "{\"%s\": 1}", name);
	HEARD unknown = call(r, "session.get", params);
	CHECK_HAS(unknown.err.msg, "unknown parameter");
}

TEST(a_step_tells_events_in_order_and_its_record)
{
	REGISTRY *r = fake_registry_new(NULL);
	HEARD made = call(r, "session.create", "{\"name\": \"main\"}");
	CHECK_STR(json_string_value(json_object_get(made.result, "session")), "s-1");
	HEARD h = call(r, "step.run",
		"{\"session\": \"main\", \"code\": \"split\\nwarn w\\nshow\\nx = 4\\nx\"}");
	static const char *const names[] = {
		"step.started", "stdout", "stderr", "display", "step.finished"};
	CHECK_INT(h.n_events, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		CHECK_STR(json_string_value(json_object_get(json_array_get(h.events, i), "event")),
			names[i]);
	/* The character came in two pieces. */
	CHECK_STR(json_string_value(json_object_get(json_array_get(h.events, 1), "text")), "é\n");
	CHECK(json_equal(json_object_get(json_array_get(h.events, 4), "result"), h.result));
	CHECK_STR(json_string_value(
			  json_object_get(json_object_get(h.result, "value"), "text/plain")),
		"4");
}

TEST(files_go_both_ways)
{
	REGISTRY *r = fake_registry_new(NULL);
	HEARD made = call(r, "session.create", NULL);
	HEARD wrote = call(r, "file.write",
		"{\"session\": \"s-1\", \"path\": \"a\", \"content\": \"YQBi\", \"encoding\": "
		"\"base64\"}");
	CHECK_INT(json_integer_value(json_object_get(wrote.result, "size")), 3);
	HEARD got = call(r, "file.read", "{\"session\": \"s-1\", \"path\": \"a\", \"offset\": 1}");
	const json_t *content = json_object_get(got.result, "content");
	CHECK_INT(json_string_length(content), 2);
	HEARD gone = call(r, "file.remove", "{\"session\": \"s-1\", \"path\": \"a\"}");
	HEARD list = call(r, "file.list", "{\"session\": \"s-1\"}");
	CHECK_INT(json_array_size(json_object_get(list.result, "files")), 0);
	CHECK(made.result && gone.result);
}

TEST(what_the_registry_says_comes_through)
{
	REGISTRY *r = fake_registry_new(NULL);
	HEARD none = call(r, "session.undo", "{\"session\": \"zz\"}");
	CHECK_INT(none.err.code, ERR_NOT_FOUND);
	HEARD made = call(r, "session.create", NULL), info = call(r, "engine.info", NULL);
	HEARD record = call(r, "session.export", "{\"session\": \"s-1\"}");
	CHECK_STR(json_string_value(json_object_get(record.result, "record")), "same record\n");
	CHECK_STR(json_string_value(json_object_get(info.result, "version")), "1.2.3");
	size_t n = operation_count();
	CHECK_INT(json_array_size(json_object_get(info.result, "operations")), n);
	CHECK(made.result != NULL);
}

TEST(a_cancelled_step_is_interrupted)
{
	REGISTRY *r = fake_registry_new(NULL);
	HEARD made = call(r, "session.create", NULL);
	HEARD h = {.events = json_array()};
	struct runs *runs;
	runs = runs_open(NULL);
	const struct operation_context context = {.registry = r, .runs = runs};
	const struct operation_listener listener = {.arg = &h, .event = on_event, .done = on_done};
	struct operation_call *slot = NULL;
	json_t *params = json_pack("{s:s, s:s}", "session", "s-1", "code", "wait");
	operation_start(&context, operation_find("step.run"), params, &listener, &slot);
	json_decref(params);
	CHECK(slot != NULL);
	CHECK_INT(h.n_done, 0);
	operation_cancel(slot);
	CHECK(slot == NULL);
	CHECK_INT(h.n_done, 1);
	CHECK_STR(json_string_value(json_object_get(h.result, "status")), "killed");
	runs_close(runs);
	CHECK(made.result != NULL);
}

TEST(an_unknown_operation_names_the_nearest)
{
	struct err err;
	CHECK(operation_find("session.lst") == NULL);
	CHECK(operation_unknown("session.lst", &err) < 0);
	CHECK_HAS(err.hint, "session.list");
}
