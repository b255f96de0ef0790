/*
 * The front "dify": the wire of dify-sandbox, the code executor of Dify.
 * Source: github.com/langgenius/dify-sandbox, internal/controller and internal/service.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/front/inside.h"

#include "api/row/param.h"

#include <stdio.h>
#include <string.h>

/* Codes in the answers. The HTTP status is 200 nevertheless, except for an unknown language. */
enum { BAD_REQUEST = -400, TOO_MANY = -429, BROKEN = -500 };

static void fail_with(struct front_call *c, unsigned status, int code, const char *message)
{
	json_t *text = json_new_text(message, strlen(message));
	front_answer(
		c, status, json_pack("{s:i, s:o, s:n}", "code", code, "message", text, "data"));
}

static void fail(struct front_call *c, unsigned status, const struct err *err)
{
	bool is_caller = status >= 400 && status < 500;
	int code = err->code == ERR_QUOTA || err->code == ERR_LIMIT ? TOO_MANY
		: is_caller					    ? BAD_REQUEST
								    : BROKEN;
	fail_with(c, status == 404 || status == 415 ? status : 200, code, err->msg);
}

static void succeed(struct front_call *c, json_t *data)
{
	front_answer(c, 200,
		data ? json_pack("{s:i, s:s, s:o}", "code", 0, "message", "success", "data", data)
		     : NULL);
}

static void start_health(struct front_call *c)
{
	front_answer(c, 200, json_string("ok"));
}

/* ---- run ---- */

/* What went wrong with the program: "" if nothing did. */
static json_t *error_text(const struct front_end *end, const json_t *record)
{
	const char *why = end->how == FRONT_LATE ? "error: timeout\n"
		: end->how == FRONT_NO_MEMORY	 ? "error: out of memory\n"
						 : "";
	if (end->how == FRONT_EXITED && end->code == 0)
		return json_string("");
	char head[80];
	snprintf(head, sizeof head, "process exited with code %d\n%s",
		end->how == FRONT_EXITED ? end->code : -1, why);
	return front_joined(head, NULL, json_object_get(record, "stderr"));
}

static void on_ran(struct front_call *c, const json_t *result, const struct err *err)
{
	const json_t *record = json_object_get(result, "run");
	if (!result) {
		front_fail(c, err);
		return;
	}
	const struct front_end end = front_read_end(record);
	succeed(c,
		json_pack("{s:o, s:O, s:o, s:i}", "stdout", printed_stdout(record), "stderr",
			json_object_get(record, "stderr"), "error", error_text(&end, record),
			"exit_code", end.how == FRONT_EXITED ? end.code : -1));
}

static const char *language_of(const char *name)
{
	return strcmp(name, "python3") == 0   ? "python"
		: strcmp(name, "nodejs") == 0 ? "javascript"
					      : NULL;
}

/* Return the program: the code, behind the text that Dify wants to have before it. */
static json_t *program(const struct front_call *c)
{
	json_t *code = json_object_get(c->body, "code");
	const json_t *preload = json_object_get(c->body, "preload");
	if (json_string_length(preload) == 0)
		return json_incref(code);
	json_t *line = json_string("\n"), *first = front_joined("", preload, line);
	json_t *all = front_joined("", first, code);
	json_decref(line);
	json_decref(first);
	return all;
}

static void start_run(struct front_call *c)
{
	const json_t *code = json_object_get(c->body, "code");
	const json_t *preload = json_object_get(c->body, "preload");
	bool is_wrong = preload && !json_is_null(preload) && !json_is_string(preload);
	const char *name = front_text(c, "language", "", &is_wrong);
	const char *language = language_of(name);
	if (is_wrong || (code && !json_is_string(code))) {
		fail_with(c, 200, BAD_REQUEST, "language, code and preload must be texts");
	} else if (!name[0] || json_string_length(code) == 0) {
		fail_with(
			c, 200, BAD_REQUEST, name[0] ? "code is required" : "language is required");
	} else if (!language) {
		fail_with(c, 400, BAD_REQUEST, "unsupported language");
	} else {
		json_t *params = json_need(json_pack("{s:s}", "language", language));
		json_put_new(params, "code", program(c));
		front_run(c, params, json_is_true(json_object_get(c->body, "enable_network")),
			on_ran);
	}
}

/* ---- dependencies: the Python packages that programs can import ---- */

static const char list_packages[] =
	"import importlib.metadata as m, json\n"
	"found = {d.metadata['Name']: d.version for d in m.distributions() if d.metadata['Name']}\n"
	"print(json.dumps([{'name': n, 'version': v} for n, v in sorted(found.items())]))\n";

static void on_listed(struct front_call *c, const json_t *result, const struct err *err)
{
	const json_t *text = json_object_get(json_object_get(result, "run"), "stdout");
	json_t *list = json_loadb(json_string_value(text), json_string_length(text), 0, NULL);
	if (!result)
		front_fail(c, err);
	else if (!json_is_array(list))
		fail_with(c, 200, BROKEN, "the list of packages could not be made");
	else
		succeed(c, json_pack("{s:O}", "dependencies", list));
	json_decref(list);
}

static void start_list(struct front_call *c)
{
	const char *language = c->x ? http_query(c->x, "language") : NULL;
	if (!language || !language[0])
		fail_with(c, 200, BAD_REQUEST, "language is required");
	else if (strcmp(language, "python3") != 0)
		fail_with(c, 400, BAD_REQUEST, "unsupported language");
	else
		front_run(c, json_pack("{s:s, s:s}", "language", "python", "code", list_packages),
			false, on_listed);
}

static void start_update(struct front_call *c)
{
	fail_with(c, 200, BAD_REQUEST,
		"packages are those of the host, where its operator installs them");
}

static const struct front_row rows[] = {
	{"GET", "/health", start_health, .is_open = true},
	{"POST", "/v1/sandbox/run", start_run},
	{"GET", "/v1/sandbox/dependencies", start_list},
	{"GET", "/v1/sandbox/dependencies/refresh", start_list},
	{"POST", "/v1/sandbox/dependencies/update", start_update},
	{NULL, "/v1/sandbox/", front_nothing},
	{NULL, "/", front_nothing},
};

const struct front_wire front_dify = {
	.name = "dify", .rows = rows, .n_rows = ARRAY_LEN(rows), .fail = fail};
