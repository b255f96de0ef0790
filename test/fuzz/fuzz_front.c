/* Requests of the fronts as a hostile client writes them, and values as a program in a box makes
 * them. The input: a byte that chooses the route, one that chooses how the operation ends, the
 * body, NUL, and the value in the record. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "api/operation/operation.h"
#include "base/attr.h"
#include "serve/front/inside.h"

#include <stdlib.h>
#include <string.h>

static const struct front_wire *const wires[] = {
	&front_dify, &front_piston, &front_sandboxfusion, &front_nemo, &front_librechat};

static const char *const records[] = {
	"{'status': 'ok', 'exit_code': 0, 'signal': null, 'stdout': 'a\\n', 'stderr': ''}",
	"{'status': 'error', 'exit_code': 3, 'signal': null, 'stdout': '', 'stderr': 'b'}",
	"{'status': 'timeout', 'exit_code': null, 'signal': null, 'stdout': '', 'stderr': ''}",
	"{'status': 'oom', 'exit_code': null, 'signal': 9, 'stdout': '', 'stderr': ''}",
	"{'status': 'killed', 'exit_code': null, 'signal': 11, 'stdout': '', 'stderr': ''}",
};

static json_t *value;	    /* of the record; NULL: it has none */
static uint8_t choice;	    /* how the operation ends */
static unsigned n_ends;	    /* answers to the request at hand */
static const json_t *asked; /* the body of the request at hand; "target" and "form" in it are its
			     * target and the fields of its form */

/* ---- what front.c and the HTTP server do for a wire ---- */

void front_answer(struct front_call *c, unsigned status, json_t *body)
{
	MUST(status >= 200 && status < 600);
	MUST(body != NULL);
	(void)c;
	n_ends++;
	json_decref(body);
}

void front_answer_file(struct front_call *c, const char *type, const json_t *file)
{
	MUST(type && json_is_object(file));
	(void)c;
	n_ends++;
}

void front_fail(struct front_call *c, const struct err *err)
{
	c->wire->fail(c, (unsigned)err_http(err->code), err);
}

void front_nothing(struct front_call *c)
{
	struct err err;
	(void)err_set(&err, ERR_NOT_FOUND, "not found");
	c->wire->fail(c, 404, &err);
}

static json_t *read_json(const char *text)
{
	char *copy = strdup(text);
	for (char *at = copy; *at; at++)
		*at = (char)(*at == '\'' ? '"' : *at);
	json_t *json = json_loads(copy, 0, NULL);
	free(copy);
	return json_need(json);
}

static json_t *make_record(void)
{
	json_t *record = read_json(records[choice % ARRAY_LEN(records)]);
	json_put_text(record, "runtime", choice & 0x40 ? "sql" : "python");
	if (choice & 4)
		json_put_new(record, "truncated", json_pack("{s:i}", "stdout_bytes", 7));
	json_put_new(record, "usage", json_pack("{s:f, s:f}", "wall_ms", 1.5, "cpu_ms", 1.0));
	json_put_shared(record, "value", value);
	json_put_shared(record, "error", value);
	return record;
}

/* The results of cases: none, if the program was not compiled. */
static json_t *make_judged(void)
{
	static const char *const verdicts[] = {
		"passed", "wrong", "failed", "late", "memory", "skipped", "unjudged"};
	json_t *row = json_pack("{s:s, s:o, s:s}", "verdict",
		verdicts[choice % ARRAY_LEN(verdicts)], "run", make_record(), "message", "why");
	if (choice & 0x40)
		json_put_new(row, "check", make_record());
	if (!(choice & 0x20))
		return json_pack("[o]", row);
	json_decref(row);
	return json_array();
}

void front_operate(struct front_call *c, const char *operation, json_t *params,
	void (*answered)(struct front_call *c, const json_t *result, const struct err *err))
{
	const struct operation *op = operation_find(operation);
	struct err err;
	MUST(op && json_is_object(params));
	if (param_check(op->params, op->n_params, params, &err) == 0)
		(void)err_set(&err,
			choice & 0x10	     ? ERR_QUOTA
				: choice & 8 ? ERR_NOT_FOUND
					     : ERR_BOX,
			"no box");
	json_t *result = NULL;
	if (!(choice & 0x80)) {
		result = json_pack(
			"{s:o, s:[{s:s, s:s, s:s}], s:[{s:s, s:[], s:s, s:b, s:s}], s:[{s:s}]}",
			"run", make_record(), "files", "path", "a", "content", "b", "encoding",
			"utf-8", "languages", "name", "python", "aliases", "source", "main.py",
			"available", 1, "version", "3.11.2", "sessions", "name", "nemo-a");
		json_t *record = make_record(); /* as step.run gives it */
		(void)json_object_update(result, record);
		json_decref(record);
	} else if (strcmp(operation, "session.create") == 0) {
		result = json_object();
	}
	json_t *file = json_array_get(json_object_get(result, "files"), 0);
	if (json_is_string(value))
		json_put_shared(file, "path", value);
	if (result) {
		json_put_text(result, "content", "b"); /* as file.read gives it */
		json_put_text(result, "encoding", "utf-8");
	}
	if (file)
		json_put_text(file, "mime", "text/plain");
	if (result && choice & 0x20)
		json_put_new(result, "compile", make_record());
	if (result && json_object_get(params, "cells"))
		json_put_new(result, "cells", json_pack("[o]", make_record()));
	if (result && strcmp(operation, "program.judge") == 0) {
		json_put_new(result, "cases", make_judged());
		json_put_bool(result, "accepted", choice & 1);
	}
	json_decref(params);
	answered(c, result, &err);
	json_decref(result);
}

void front_run(struct front_call *c, json_t *params, bool has_net,
	void (*answered)(struct front_call *c, const json_t *result, const struct err *err))
{
	(void)has_net;
	front_operate(c, "program.run", params, answered);
}

void front_box(const struct front_call *c, json_t *params, bool has_net)
{
	(void)c;
	(void)params;
	(void)has_net;
}

const char *http_header(const struct http_exchange *x, const char *name)
{
	(void)x;
	return name;
}

const char *http_target(const struct http_exchange *x)
{
	const char *target = json_string_value(json_object_get(asked, "target"));
	(void)x;
	if (target)
		return target;
	return choice & 1 ? "/nemo/sessions/a%20%2" : "/sessions/%00a?b";
}

const char *http_query(const struct http_exchange *x, const char *name)
{
	(void)x;
	return strcmp(name, "language") == 0 ? "python3" : NULL;
}

int http_set_header(struct http_exchange *x, const char *name, const char *text)
{
	(void)x;
	MUST(name[0] && !strpbrk(text, "\r\n"));
	return 0;
}

int http_read_form(struct http_exchange *x, bool (*each)(void *arg, const struct http_piece *piece),
	void *arg, struct err *err)
{
	const json_t *row;
	size_t i;
	(void)x;
	json_array_foreach(json_object_get(asked, "form"), i, row)
	{
		const json_t *data = json_object_get(row, "data");
		const struct http_piece piece = {json_get_text(row, "name"),
			json_string_value(json_object_get(row, "filename")),
			json_string_value(data), json_string_length(data),
			(uint64_t)json_get_int(row, "offset")};
		if (piece.data && !each(arg, &piece))
			return 0;
	}
	return choice & 4 ? err_set(err, ERR_USAGE, "not whole") : 0;
}

/* ---- one request ---- */

static void request(const struct front_wire *wire, const struct front_row *row, json_t *body)
{
	struct front_state state = {0};
	struct http_exchange *x = (void *)&state; /* only the functions above get it */
	struct front_call c = {.wire = wire, .state = &state, .x = x, .body = body};
	n_ends = 0;
	asked = body;
	row->start(&c);
	MUST(n_ends == 1);
	json_decref(c.kept);
	json_decref(state.languages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const uint8_t *part;
	if (bytes < 2)
		return 0;
	const struct front_wire *wire = wires[data[0] % ARRAY_LEN(wires)];
	const struct front_row *row = &wire->rows[data[0] / ARRAY_LEN(wires) % wire->n_rows];
	choice = data[1];
	data += 2;
	bytes -= 2;
	size_t n = fuzz_part(&data, &bytes, &part);
	json_t *body = json_loadb((const char *)part, n, JSON_ALLOW_NUL, NULL);
	value = json_loadb((const char *)data, bytes, 0, NULL);
	if (json_is_object(body))
		request(wire, row, body);
	json_decref(body);
	json_decref(value);
	return 0;
}
