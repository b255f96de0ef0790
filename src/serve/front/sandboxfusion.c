/*
 * The front "sandboxfusion": the wire of SandboxFusion, with which programs of models are scored.
 * Source: github.com/bytedance/SandboxFusion, sandbox/server and sandbox/runners.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/front/inside.h"

#include "api/row/param.h"

#include <string.h>

enum { TIMEOUT_MS = 10000 };

static void fail(struct front_call *c, unsigned status, const struct err *err)
{
	if (status == 404)
		front_answer(c, 404, json_pack("{s:s}", "detail", "Not Found"));
	else
		front_answer(c, status,
			json_pack("{s:o}", "detail", json_new_text(err->msg, strlen(err->msg))));
}

/* Refuse the member @name of the body, as FastAPI does. */
static void refuse(struct front_call *c, const char *name, const char *type, const char *message)
{
	front_answer(c, 422,
		json_pack("{s:[{s:s, s:[s, s], s:s, s:O}]}", "detail", "type", type, "loc", "body",
			name, "msg", message, "input", c->body));
}

static void start_ping(struct front_call *c)
{
	front_answer(c, 200, json_string("pong"));
}

/* ---- run_code: the request ---- */

/* Make the list of files from {path: base64}. Files without content are left out. Returns: NULL if
 * @files is no such object. */
static json_t *files_of(const json_t *files)
{
	json_t *out = json_need(json_array()), *content;
	const char *path;
	json_object_foreach(json_unconst(files), path, content)
	{
		if (json_is_null(content) || strstr(path, "IGNORE_THIS_FILE"))
			continue;
		json_t *row = json_is_string(content)
			? json_pack("{s:s, s:O, s:s}", "path", path, "content", content, "encoding",
				  "base64")
			: NULL;
		if (!row) {
			json_decref(out);
			return NULL;
		}
		json_add_new(out, row);
	}
	return out;
}

static bool are_texts(const json_t *list)
{
	size_t i;
	const json_t *item;
	json_array_foreach(list, i, item) if (!json_is_string(item)) return false;
	return !list || json_is_null(list) || json_is_array(list);
}

static bool are_files(const json_t *files)
{
	const char *path;
	json_t *content;
	json_object_foreach(json_unconst(files), path,
		content) if (!json_is_string(content) && !json_is_null(content)) return false;
	return !files || json_is_null(files) || json_is_object(files);
}

static json_t *params_of(struct front_call *c)
{
	const json_t *body = c->body;
	const json_t *files = json_object_get(body, "files");
	double megabytes = json_number_value(json_object_get(body, "memory_limit_MB"));
	json_t *params = json_need(json_object());
	json_put_shared(params, "language", json_object_get(body, "language"));
	json_put_shared(params, "code", json_object_get(body, "code"));
	if (json_is_string(json_object_get(body, "stdin")))
		json_put_shared(params, "stdin", json_object_get(body, "stdin"));
	json_put_int(
		params, "compile_timeout_ms", front_time(body, "compile_timeout", 1, TIMEOUT_MS));
	json_put_int(params, "timeout_ms", front_time(body, "run_timeout", 1, TIMEOUT_MS));
	json_put_new(params, "files", files_of(files));
	if (json_is_array(json_object_get(body, "fetch_files")))
		json_put_shared(params, "collect", json_object_get(body, "fetch_files"));
	if (megabytes > 0)
		front_limit(params, "memory_bytes", megabytes * (1 << 20));
	return params;
}

/* ---- run_code: the answer ---- */

static json_t *phase(const json_t *record)
{
	if (!record)
		return json_null();
	const struct front_end end = front_read_end(record);
	bool is_late = end.how == FRONT_LATE;
	json_t *code = is_late ? json_null()
			       : json_integer(end.how == FRONT_EXITED ? end.code : -end.signal);
	return json_pack("{s:s, s:f, s:o, s:o, s:O}", "status",
		is_late ? "TimeLimitExceeded" : "Finished", "execution_time", end.wall_ms / 1000,
		"return_code", code, "stdout", front_stdout(record), "stderr",
		json_object_get(record, "stderr"));
}

static json_t *files_back(const json_t *files)
{
	json_t *out = json_need(json_object()), *file;
	size_t i;
	json_array_foreach(files, i, file)
		json_put_new(out, json_get_text(file, "path"), front_base64(file));
	return out;
}

static json_t *answer(const char *status, const char *message, const json_t *result)
{
	const json_t *compile = json_object_get(result, "compile");
	const json_t *run = json_object_get(result, "run");
	return json_pack("{s:s, s:o, s:o, s:o, s:n, s:o}", "status", status, "message",
		json_new_text(message, strlen(message)), "compile_result", phase(compile),
		"run_result", phase(run), "executor_pod_name", "files",
		files_back(json_object_get(result, "files")));
}

static bool is_well(const json_t *record)
{
	const struct front_end end = front_read_end(record);
	return !record || (end.how == FRONT_EXITED && end.code == 0);
}

static void on_ran(struct front_call *c, const json_t *result, const struct err *err)
{
	if (!result) {
		/* What has failed is the engine, not the program: no program may get the blame. */
		front_answer(c, 200, answer("SandboxError", err->msg, NULL));
		return;
	}
	bool is_good = is_well(json_object_get(result, "compile")) &&
		is_well(json_object_get(result, "run"));
	front_answer(c, 200, answer(is_good ? "Success" : "Failed", "", result));
}

static void start_run_code(struct front_call *c)
{
	const json_t *files = json_object_get(c->body, "files");
	if (!json_is_string(json_object_get(c->body, "code")))
		refuse(c, "code", "missing", "Field required");
	else if (!json_is_string(json_object_get(c->body, "language")))
		refuse(c, "language", "missing", "Field required");
	else if (!are_files(files))
		refuse(c, "files", "dict_type", "Input should be a valid dictionary");
	else if (!are_texts(json_object_get(c->body, "fetch_files")))
		refuse(c, "fetch_files", "list_type", "Input should be a valid list");
	else
		front_operate(c, "program.run", params_of(c), on_ran);
}

static const struct front_row rows[] = {
	{"GET", "/v1/ping", start_ping, .is_open = true},
	{"POST", "/run_code", start_run_code},
	{NULL, "/", front_nothing},
};

const struct front_wire front_sandboxfusion = {
	.name = "sandboxfusion", .rows = rows, .n_rows = ARRAY_LEN(rows), .fail = fail};
