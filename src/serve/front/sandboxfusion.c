/*
 * The front "sandboxfusion": the wire of SandboxFusion, with which programs of models are scored.
 * Source: github.com/bytedance/SandboxFusion, sandbox/server and sandbox/runners.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/front/sandboxfusion.h"

#include "api/row/param.h"
#include "base/buf.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TIMEOUT_MS = 10000, CELLS_MS = 45000, STDERR_BYTES = 16 << 20 };

static void fail(struct front_call *c, unsigned status, const struct err *err)
{
	if (status == 404)
		front_answer(c, 404, json_pack("{s:s}", "detail", "Not Found"));
	else
		front_answer(c, status,
			json_pack("{s:o}", "detail", json_new_text(err->msg, strlen(err->msg))));
}

void fusion_refuse(struct front_call *c, const char *name, const char *type, const char *message)
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

/* Make the list of files from {path: base64}. Files without content are left out. */
static json_t *files_of(const json_t *files)
{
	json_t *out = json_need(json_array()), *content;
	const char *path;
	json_object_foreach(json_unconst(files), path, content)
	{
		if (json_is_null(content) || strstr(path, "IGNORE_THIS_FILE"))
			continue;
		json_add_new(out,
			json_need(json_pack("{s:s, s:O, s:s}", "path", path, "content", content,
				"encoding", "base64")));
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
	const json_t *content;
	json_object_foreach(json_unconst(files), path,
		content) if (!json_is_string(content) && !json_is_null(content)) return false;
	return !files || json_is_null(files) || json_is_object(files);
}

/* Return whether the fields of the request are of the right types; if not, the call is over. */
static bool check_fields(struct front_call *c)
{
	static const char *const numbers[] = {"compile_timeout", "run_timeout", "cell_timeout",
		"total_timeout", "memory_limit_MB"};
	const json_t *files = json_object_get(c->body, "files");
	const json_t *input = json_object_get(c->body, "stdin");
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		const json_t *number = json_object_get(c->body, numbers[i]);
		if (!number || json_is_number(number))
			continue;
		fusion_refuse(c, numbers[i], "float_type", "Input should be a valid number");
		return false;
	}
	if (input && !json_is_null(input) && !json_is_string(input))
		fusion_refuse(c, "stdin", "string_type", "Input should be a valid string");
	else if (!are_files(files))
		fusion_refuse(c, "files", "dict_type", "Input should be a valid dictionary");
	else if (!are_texts(json_object_get(c->body, "fetch_files")))
		fusion_refuse(c, "fetch_files", "list_type", "Input should be a valid list");
	else
		return true;
	return false;
}

/* Make the parameters that both ways to run something have in common. */
static json_t *common_params(struct front_call *c)
{
	double megabytes = json_number_value(json_object_get(c->body, "memory_limit_MB"));
	json_t *params = json_need(json_object());
	json_put_new(params, "files", files_of(json_object_get(c->body, "files")));
	if (json_is_array(json_object_get(c->body, "fetch_files")))
		json_put_shared(params, "collect", json_object_get(c->body, "fetch_files"));
	if (megabytes > 0)
		front_limit(params, "memory_bytes", megabytes * (1 << 20));
	return params;
}

static json_t *params_of(struct front_call *c)
{
	const json_t *body = c->body;
	json_t *params = common_params(c);
	json_put_shared(params, "language", json_object_get(body, "language"));
	json_put_shared(params, "code", json_object_get(body, "code"));
	if (json_is_string(json_object_get(body, "stdin")))
		json_put_shared(params, "stdin", json_object_get(body, "stdin"));
	json_put_int(
		params, "compile_timeout_ms", front_time(body, "compile_timeout", 1, TIMEOUT_MS));
	json_put_int(params, "timeout_ms", front_time(body, "run_timeout", 1, TIMEOUT_MS));
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
		is_late ? "TimeLimitExceeded" : "Finished", "execution_time",
		round(end.wall_ms * 1000) / 1e6, "return_code", code, "stdout",
		printed_stdout(record), "stderr", json_object_get(record, "stderr"));
}

static json_t *files_back(const json_t *files)
{
	json_t *out = json_need(json_object()), *file;
	size_t i;
	json_array_foreach(files, i, file)
		json_put_new(out, json_get_text(file, "path"), front_base64(file));
	return out;
}

json_t *fusion_answer(const char *status, const char *message, const json_t *result)
{
	const json_t *compile = json_object_get(result, "compile");
	const json_t *run = json_object_get(result, "run");
	return json_pack("{s:s, s:o, s:o, s:o, s:n, s:o}", "status", status, "message",
		json_new_text(message, strlen(message)), "compile_result", phase(compile),
		"run_result", phase(run), "executor_pod_name", "files",
		files_back(json_object_get(result, "files")));
}

static void say_cut(struct buf *out, const json_t *record, const char *stream)
{
	char name[32];
	snprintf(name, sizeof name, "%s_bytes", stream);
	int64_t bytes = json_get_int(json_object_get(record, "truncated"), name);
	if (bytes > 0)
		buf_addf(out, "%" PRId64 " bytes of %s are left out; ", bytes, stream);
}

/* Say what the answer lacks: output over the limit, and files that exist but could not be given
 * back. */
static const char *say_lacks(struct buf *out, const json_t *result)
{
	static const char *const phases[] = {"compile", "run"};
	const json_t *row;
	size_t i;
	for (i = 0; i < ARRAY_LEN(phases); i++) {
		say_cut(out, json_object_get(result, phases[i]), "stdout");
		say_cut(out, json_object_get(result, phases[i]), "stderr");
	}
	json_array_foreach(json_object_get(result, "unread"), i,
		row) if (strcmp(json_get_text(row, "code"), "not_found") != 0)
		buf_addf(out, "%s is not given back: %s; ", json_get_text(row, "path"),
			json_get_text(row, "message"));
	if (out->bytes > 2)
		buf_cut(out, out->bytes - 2);
	return buf_str(out);
}

static bool is_well(const json_t *record)
{
	const struct front_end end = front_read_end(record);
	return !record || (end.how == FRONT_EXITED && end.code == 0);
}

json_t *fusion_ended(const json_t *result)
{
	bool is_good = is_well(json_object_get(result, "compile")) &&
		is_well(json_object_get(result, "run"));
	cleanup_buf struct buf lacks = BUF_INIT(STDERR_BYTES);
	return fusion_answer(is_good ? "Success" : "Failed", say_lacks(&lacks, result), result);
}

static void on_ran(struct front_call *c, const json_t *result, const struct err *err)
{
	/* If the engine has failed, no program may get the blame. */
	front_answer(c, 200,
		result ? fusion_ended(result) : fusion_answer("SandboxError", err->msg, NULL));
}

static void start_run_code(struct front_call *c)
{
	if (!json_is_string(json_object_get(c->body, "code")))
		fusion_refuse(c, "code", "missing", "Field required");
	else if (!json_is_string(json_object_get(c->body, "language")))
		fusion_refuse(c, "language", "missing", "Field required");
	else if (check_fields(c))
		front_run(c, params_of(c), true, on_ran);
}

/* ---- run_jupyter ---- */

static json_t *cells_params(struct front_call *c)
{
	json_t *params = common_params(c);
	json_put_text(params, "language", "python");
	json_put_shared(params, "cells", json_object_get(c->body, "cells"));
	int64_t cell_ms = front_time(c->body, "cell_timeout", 1, 0);
	int64_t total_ms = front_time(c->body, "total_timeout", 1, CELLS_MS);
	json_put_int(params, "timeout_ms", cell_ms > 0 ? cell_ms : total_ms);
	json_put_int(params, "total_timeout_ms", total_ms);
	return params;
}

static json_t *cell(const json_t *record)
{
	const json_t *error = json_object_get(record, "error"), *value;
	const json_t *traceback = json_object_get(error, "traceback");
	json_t *errors = json_need(json_array()), *lines = json_need(json_array());
	(void)json_array_extend(lines, json_unconst(traceback));
	json_t *shown = json_need(json_array());
	(void)json_array_extend(shown, json_object_get(record, "displays"));
	value = json_object_get(record, "value");
	if (json_is_object(value))
		json_add_shared(shown, value);
	if (json_is_object(error))
		json_add_new(errors,
			json_pack("{s:s, s:s, s:O}", "ename", json_get_text(error, "name"),
				"evalue", json_get_text(error, "message"), "traceback", lines));
	json_decref(lines);
	return json_pack("{s:O, s:o, s:o, s:o}", "stdout", json_object_get(record, "stdout"),
		"stderr", json_stringn(json_get_text(record, "stderr"), front_stderr_bytes(record)),
		"display", shown, "error", errors);
}

static void on_cells(struct front_call *c, const json_t *result, const struct err *err)
{
	const json_t *records = json_object_get(result, "cells"), *record;
	size_t i, n = json_array_size(json_object_get(c->body, "cells"));
	double ms = 0;
	if (!result) {
		front_answer(c, 200,
			json_pack("{s:s, s:o, s:n, s:[], s:n, s:{}}", "status", "SandboxError",
				"message", json_new_text(err->msg, strlen(err->msg)), "driver",
				"cells", "executor_pod_name", "files"));
		return;
	}
	json_t *cells = json_need(json_array());
	bool is_late = json_array_size(records) < n;
	json_array_foreach(records, i, record)
	{
		const struct front_end end = front_read_end(record);
		ms += end.wall_ms;
		is_late = is_late || (end.how == FRONT_LATE && i + 1 == n);
		json_add_new(cells, cell(record));
	}
	json_t *driver = json_pack("{s:s, s:f, s:o, s:s, s:s}", "status",
		is_late ? "TimeLimitExceeded" : "Finished", "execution_time",
		round(ms * 1000) / 1e6, "return_code", is_late ? json_null() : json_integer(0),
		"stdout", "", "stderr", "");
	front_answer(c, 200,
		json_pack("{s:s, s:s, s:o, s:o, s:n, s:o}", "status",
			is_late ? "Failed" : "Success", "message", "", "driver", driver, "cells",
			cells, "executor_pod_name", "files",
			files_back(json_object_get(result, "files"))));
}

static void start_run_jupyter(struct front_call *c)
{
	const json_t *kernel = json_object_get(c->body, "kernel");
	const json_t *cells = json_object_get(c->body, "cells");
	if (!json_is_array(cells) || !are_texts(cells))
		fusion_refuse(c, "cells", "list_type", "Input should be a valid list");
	else if (kernel &&
		strcmp(json_is_string(kernel) ? json_string_value(kernel) : "", "python3") != 0)
		fusion_refuse(c, "kernel", "literal_error", "Input should be 'python3'");
	else if (check_fields(c))
		front_run(c, cells_params(c), true, on_cells);
}

static const struct front_row rows[] = {
	{"GET", "/v1/ping", start_ping, .is_open = true},
	{"POST", "/run_code", start_run_code},
	{"POST", "/run_jupyter", start_run_jupyter},
	{"POST", "/submit", fusion_submit},
	{"POST", "/common_evaluate", fusion_evaluate},
	{"POST", "/common_evaluate_batch", fusion_evaluate},
	{NULL, "/", front_nothing},
};

const struct front_wire front_sandboxfusion = {
	.name = "sandboxfusion", .rows = rows, .n_rows = ARRAY_LEN(rows), .fail = fail};
