/*
 * The front "nemo": the wire of the sandbox of NeMo-Skills, with which NVIDIA's recipes evaluate
 * models. Source: github.com/NVIDIA-NeMo/Skills,
 * nemo_skills/code_execution/local_sandbox/local_sandbox_server.py.
 *
 * The language "ipython" has a session for each X-Session-ID of a caller. The session is made when
 * the first cell does not find it, and "new_session_created" says so, whereupon the client runs its
 * earlier cells again. All other languages are programs with boxes of their own.
 *
 * The client does not look at the HTTP status, except that it takes 502 for a program that was too
 * slow. So an answer has a "process_status" only if the program has run; otherwise it has an
 * "error", which no reader of the client can take for a result.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/front/inside.h"

#include "api/row/param.h"
#include "serve/front/nemo.h"

#include <string.h>

enum { OUTPUT_CHARACTERS = 1000 };

static void refuse(struct front_call *c, unsigned status, const char *message)
{
	front_answer(
		c, status, json_pack("{s:o}", "error", json_new_text(message, strlen(message))));
}

static void fail(struct front_call *c, unsigned status, const struct err *err)
{
	refuse(c, status == 502 ? 500 : status, err->msg);
}

void nemo_nothing(struct front_call *c)
{
	refuse(c, 404, "Not Found");
}

static void start_health(struct front_call *c)
{
	front_answer(c, 200, json_pack("{s:s, s:s}", "status", "healthy", "worker", "unknown"));
}

/* ---- execute: the answer ---- */

/* Answer with the streams of a program. Owns: takes @out and @error, either of which may be NULL if
 * memory is exhausted. @is_new: NULL for a program without a session. */
static void give(
	struct front_call *c, const char *status, json_t *out, json_t *error, const bool *is_new)
{
	const json_t *max = json_object_get(c->body, "max_output_characters");
	size_t n = json_is_integer(max) ? (size_t)json_integer_value(max) : OUTPUT_CHARACTERS;
	json_t *body = json_pack("{s:s, s:o, s:o}", "process_status", status, "stdout",
		nemo_cut(out, n), "stderr", nemo_cut(error, n));
	if (body && is_new)
		json_put_bool(body, "new_session_created", *is_new);
	front_answer(c, 200, body);
}

/* The original says "completed" of each Python program that has ended by itself, also if it has
 * failed: its clients read stderr. */
static void on_ran(struct front_call *c, const json_t *result, const struct err *err)
{
	const json_t *record = json_object_get(result, "run");
	const struct front_end end = front_read_end(record);
	bool is_shell = strcmp(json_get_text(c->body, "language"), "shell") == 0;
	const char *why = json_get_text(json_object_get(record, "error"), "message");
	char late[NEMO_LATE_BYTES];
	if (!result) {
		front_fail(c, err);
	} else if (end.how == FRONT_LATE) {
		nemo_late(late, json_object_get(c->body, "timeout"));
		give(c, "timeout", json_string(""), json_string(late), NULL);
	} else if (end.how == FRONT_EXITED) {
		give(c, is_shell && end.code != 0 ? "error" : "completed", printed_stdout(record),
			json_incref(json_object_get(record, "stderr")), NULL);
	} else {
		give(c, "error", printed_stdout(record),
			json_sprintf("%s%s\n", json_get_text(record, "stderr"), why), NULL);
	}
}

static void give_cell(struct front_call *c, const json_t *record)
{
	enum nemo_verbosity verbosity =
		nemo_verbosity_of(param_text(c->body, "traceback_verbosity", "Plain"));
	const char *status = json_get_text(record, "status");
	const json_t *timeout = json_object_get(c->body, "timeout");
	bool is_new = json_is_true(c->kept);
	give(c,
		strcmp(status, "ok") == 0		 ? "completed"
			: strcmp(status, "timeout") == 0 ? "timeout"
							 : "error",
		nemo_cell_stdout(record, verbosity), nemo_cell_stderr(record, timeout, verbosity),
		&is_new);
}

/* ---- execute: the request ---- */

/* Read the name of the cell's session. Returns: false if the request has no X-Session-ID, or if the
 * client has disconnected. */
static bool read_name(const struct front_call *c, char name[NEMO_NAME_BYTES])
{
	const char *id = c->x ? http_header(c->x, "X-Session-ID") : NULL;
	if (id)
		nemo_name_session(name, id);
	return id != NULL;
}

static void run_cell(struct front_call *c);

static void on_created(struct front_call *c, const json_t *session, const struct err *err)
{
	/* ERR_USAGE: another request has made the session in the meantime. */
	if (!session && err->code != ERR_USAGE) {
		front_fail(c, err);
		return;
	}
	c->kept = json_boolean(session != NULL);
	run_cell(c);
}

static void on_cell(struct front_call *c, const json_t *record, const struct err *err)
{
	char name[NEMO_NAME_BYTES];
	if (record) {
		give_cell(c, record);
		return;
	}
	if (err->code != ERR_NOT_FOUND || c->kept || !read_name(c, name)) {
		front_fail(c, err);
		return;
	}
	json_t *params = json_need(json_pack("{s:s, s:s}", "name", name, "runtime", "python"));
	front_box(c, params, true);
	front_operate(c, "session.create", params, on_created);
}

static void run_cell(struct front_call *c)
{
	char name[NEMO_NAME_BYTES];
	if (!read_name(c, name)) {
		refuse(c, 400, "X-Session-ID header required for ipython sessions");
		return;
	}
	json_t *params = json_need(json_pack("{s:s, s:s, s:I, s:O}", "session", name, "runtime",
		"python", "timeout_ms", (json_int_t)front_time(c->body, "timeout", 1, 1), "code",
		json_object_get(c->body, "generated_code")));
	front_operate(c, "step.run", params, on_cell);
}

/* A language, and what `run` needs to know to run it with program.run. */
struct language {
	const char *name;
	void (*run)(struct front_call *c, const struct language *l);
	const char *language, *filename;
	bool has_stdin;
};

static void start_cell(struct front_call *c, const struct language *l)
{
	(void)l;
	run_cell(c);
}

/* Answer as the original does where Lean is missing. Its verdict on a proof would be "completed" or
 * "failed". */
static void start_lean(struct front_call *c, const struct language *l)
{
	(void)l;
	give(c, "error", json_string(""),
		json_string("[Errno 2] No such file or directory: 'lake'\n"), NULL);
}

static void start_program(struct front_call *c, const struct language *l)
{
	json_t *params =
		json_need(json_pack("{s:s, s:s, s:I, s:O}", "language", l->language, "filename",
			l->filename, "timeout_ms", (json_int_t)front_time(c->body, "timeout", 1, 1),
			"code", json_object_get(c->body, "generated_code")));
	if (l->has_stdin && json_is_string(json_object_get(c->body, "std_input")))
		json_put_shared(params, "stdin", json_object_get(c->body, "std_input"));
	front_run(c, params, true, on_ran);
}

static const struct language languages[] = {
	{"ipython", start_cell},
	{"lean4", start_lean},
	/* The original starts "python -c", whose tracebacks have this file name. */
	{"python", start_program, "python", "<string>", true},
	{"python3", start_program, "python", "<string>", true},
	{"pypy3", start_program, "pypy", "main.py", true},
	{"shell", start_program, "shell", "main.sh", false},
};

static const struct language *find_language(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(languages); i++)
		if (strcmp(languages[i].name, name) == 0)
			return &languages[i];
	return NULL;
}

static bool is_text(const json_t *value)
{
	return !value || json_is_null(value) || json_is_string(value);
}

static bool is_count(const json_t *value)
{
	return !value || json_is_null(value) ||
		(json_is_integer(value) && json_integer_value(value) >= 0);
}

static void start_execute(struct front_call *c)
{
	bool is_wrong = false;
	const json_t *code = json_object_get(c->body, "generated_code");
	const json_t *input = json_object_get(c->body, "std_input");
	const char *name = front_text(c, "language", "ipython", &is_wrong);
	const char *verbosity = front_text(c, "traceback_verbosity", "Plain", &is_wrong);
	const struct language *language = find_language(name);
	if (is_wrong || !is_text(code) || !is_text(input))
		refuse(c, 400,
			"generated_code, language, std_input and traceback_verbosity must be texts");
	else if (!json_is_string(code))
		refuse(c, 400, "generated_code is required");
	else if (!(json_number_value(json_object_get(c->body, "timeout")) > 0))
		refuse(c, 400, "timeout must be a positive number of seconds");
	else if (!is_count(json_object_get(c->body, "max_output_characters")))
		refuse(c, 400, "max_output_characters must be an integer, at least 0");
	else if (nemo_verbosity_of(verbosity) == NEMO_VERBOSITY_UNKNOWN)
		refuse(c, 400, "traceback_verbosity is Minimal, Plain, Context or Verbose");
	else if (!language)
		refuse(c, 400, "language is ipython, python, python3, pypy3, lean4 or shell");
	else
		language->run(c, language);
}

static const struct front_row rows[] = {
	{"POST", "/execute", start_execute},
	{"GET", "/sessions", nemo_start_list},
	{"GET", "/health", start_health, .is_open = true},
	{"DELETE", "/sessions/", nemo_start_delete},
	{NULL, "/", nemo_nothing},
};

const struct front_wire front_nemo = {
	.name = "nemo", .rows = rows, .n_rows = ARRAY_LEN(rows), .fail = fail};
