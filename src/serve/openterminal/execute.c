/*
 * Commands of the front "open-terminal": operations `process.*`.
 *
 * A command runs in a terminal, as with Open Terminal, so that keys such as Ctrl-C work. The box
 * remembers which chat has started which process; the commands of other chats do not exist for a
 * chat. An offset, which clients get and send back, is a number of bytes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/openterminal/inside.h"

#include "base/base64.h"

#include <stdio.h>
#include <string.h>

/* ID_BYTES: of a process. KILL_MS: how long the end of a process is waited for. */
enum {
	OUTPUT_BYTES = 1 << 20,
	ID_BYTES = 64,
	WAIT_MAX = 300,
	KILL_MS = 10000,
	COMMAND_BYTES = 65536,
	ENV_MAX = 1024
};

#define OFFSET_MAX 9007199254740992.0 /* up to it, a double has all whole numbers */

/* ---- the processes of a chat ---- */

/* Return what the box knows of a process of the caller's chat; NULL: there is none. */
static json_t *find_row(const struct front_call *c, const char *id)
{
	const struct ot_box *b = ot_find(c);
	json_t *row = b ? json_object_get(b->processes, id) : NULL;
	bool is_own = strcmp(json_get_text(row, "chat"), json_get_text(c->kept, "chat")) == 0;
	return row && is_own ? row : NULL;
}

static void add_row(const struct front_call *c, const char *id)
{
	struct ot_box *b = ot_find(c);
	if (!b)
		return;
	/* The engine has forgotten the oldest ones, except those that run. */
	if (json_object_size(b->processes) >= OT_PROCESSES_MAX)
		(void)json_object_del(
			b->processes, json_object_iter_key(json_object_iter(b->processes)));
	json_put_new(b->processes, id,
		json_pack("{s:O, s:O}", "chat", json_object_get(c->kept, "chat"), "command",
			json_object_get(c->kept, "command")));
}

static json_t *params_of(const struct front_call *c)
{
	json_t *params = ot_params(c);
	json_put_shared(params, "process", json_object_get(c->kept, "process"));
	return params;
}

/* Answer that an operation on a process has failed. */
static void fail(struct front_call *c, const struct err *err)
{
	const struct ot_box *b = ot_find(c);
	if (err->code != ERR_NOT_FOUND && err->code != ERR_GONE) {
		front_fail(c, err);
		return;
	}
	if (b)
		(void)json_object_del(b->processes, json_get_text(c->kept, "process"));
	ot_refuse(c, 404, "Process not found");
}

/* Put how the process @about stands: "status" and "exit_code". */
static void put_state(const struct front_call *c, json_t *out, const json_t *about)
{
	bool is_running = strcmp(json_get_text(about, "state"), "running") == 0;
	const json_t *row = find_row(c, json_get_text(about, "process"));
	const json_t *code = json_object_get(about, "exit_code");
	bool is_killed = json_get_bool(row, "killed");
	json_put_text(out, "status", is_running ? "running" : is_killed ? "killed" : "done");
	if (is_running)
		json_put_new(out, "exit_code", json_null());
	else if (code)
		json_put_shared(out, "exit_code", code);
	else
		json_put_int(out, "exit_code", -json_get_int(about, "signal"));
	json_put_new(out, "log_path", json_null());
}

/* ---- what a process has printed ---- */

static void on_output(struct front_call *c, const json_t *result, const struct err *err)
{
	const json_t *data = json_object_get(result, "data");
	size_t tail = (size_t)json_get_int(c->kept, "tail");
	cleanup_buf struct buf raw = BUF_INIT(2 * OUTPUT_BYTES);
	struct err wrong;
	bool is_cut;
	if (!result) {
		fail(c, err);
		return;
	}
	if (strcmp(json_get_text(result, "encoding"), "base64") != 0)
		(void)buf_append(&raw, json_string_value(data), json_string_length(data));
	else
		(void)base64_read(&raw, json_string_value(data), json_string_length(data), &wrong);
	json_t *out = json_need(json_copy(json_object_get(c->kept, "answer")));
	json_t *entries = ot_entries(buf_str(&raw), raw.bytes, tail > 0, tail, &is_cut);
	is_cut |= json_get_int(result, "cut_bytes") > 0 || json_get_bool(c->kept, "is_skipped") ||
		json_get_int(result, "next") < json_get_int(result, "total_bytes");
	json_put_new(out, "output", entries);
	json_put_bool(out, "truncated", is_cut);
	json_put_shared(out, "next_offset", json_object_get(result, "next"));
	front_answer(c, 200, out);
}

/* The process is as @about says: read what it has printed. */
static void on_state(struct front_call *c, const json_t *about, const struct err *err)
{
	if (ot_is_left(c))
		return;
	if (!about) {
		fail(c, err);
		return;
	}
	json_t *out = json_need(json_object()), *params = params_of(c);
	int64_t offset = json_get_int(c->kept, "offset");
	int64_t late = json_get_int(about, "stdout_bytes") - OUTPUT_BYTES;
	json_put_shared(out, "id", json_object_get(c->kept, "process"));
	json_put_shared(out, "command", json_object_get(c->kept, "command"));
	json_put_shared(out, "cwd", json_object_get(c->kept, "in"));
	put_state(c, out, about);
	json_put_new(c->kept, "answer", out);
	if (json_get_int(c->kept, "tail") > 0 && late > offset) {
		offset = late;
		json_put_bool(c->kept, "is_skipped", true);
	}
	json_put_int(params, "offset", offset);
	json_put_int(params, "limit", OUTPUT_BYTES);
	front_operate(c, "process.read", params, on_output);
}

/* Answer about the process c->kept.process, after c->kept.wait ms. */
static void report(struct front_call *c)
{
	json_t *params = params_of(c);
	int64_t wait_ms = json_get_int(c->kept, "wait");
	if (wait_ms <= 0) {
		front_operate(c, "process.get", params, on_state);
		return;
	}
	json_put_int(params, "timeout_ms", wait_ms);
	front_operate(c, "process.wait", params, on_state);
}

/* Read the values of the query that all requests for output have. */
static bool read_report(struct front_call *c)
{
	double wait = 0, tail = 0, offset = 0;
	if (!ot_query_number(c, "wait", 0, WAIT_MAX, &wait) ||
		!ot_query_number(c, "tail", 1, INT32_MAX, &tail) ||
		!ot_query_number(c, "offset", 0, OFFSET_MAX, &offset))
		return false;
	json_put_int(c->kept, "wait", (int64_t)(wait * 1000));
	json_put_int(c->kept, "tail", (int64_t)tail);
	json_put_int(c->kept, "offset", (int64_t)offset);
	return true;
}

/* ---- POST /execute ---- */

static void on_started(struct front_call *c, const json_t *about, const struct err *err)
{
	if (!about) {
		if (err->code == ERR_NOT_FOUND || err->code == ERR_USAGE)
			ot_refuse(c, 400, "%s", err->msg);
		else
			front_fail(c, err);
		return;
	}
	json_put_shared(c->kept, "process", json_object_get(about, "process"));
	add_row(c, json_get_text(about, "process"));
	if (!ot_is_left(c))
		report(c);
}

/* Is @value an object of texts, null or missing? */
static bool is_map(const json_t *value)
{
	const char *key;
	json_t *text;
	if (!value || json_is_null(value))
		return true;
	if (!json_is_object(value) || json_object_size(value) > ENV_MAX)
		return false;
	json_object_foreach(json_unconst(value), key, text) if (!json_is_string(text)) return false;
	return true;
}

static void execute(struct front_call *c)
{
	const json_t *command = json_object_get(c->body, "command");
	const json_t *cwd = json_object_get(c->body, "cwd");
	const json_t *env = json_object_get(c->body, "env");
	char path[OT_PATH_BYTES];
	bool has_cwd =
		cwd && !json_is_null(cwd) && !(json_is_string(cwd) && json_string_length(cwd) == 0);
	if (!read_report(c) || !ot_body_text(c, "command"))
		return;
	if (json_string_length(command) == 0 || json_string_length(command) > COMMAND_BYTES) {
		ot_invalid(c, "body", "command", "Input should have 1 to 65536 bytes");
		return;
	}
	if (has_cwd && !ot_body_path(c, "cwd", path))
		return;
	if (!is_map(env)) {
		ot_invalid(c, "body", "env", "Input should be an object of strings");
		return;
	}
	json_t *params = ot_params(c);
	if (has_cwd)
		json_put_text(c->kept, "cwd", path);
	json_put_shared(c->kept, "command", command);
	json_put_shared(c->kept, "in", json_object_get(c->kept, "cwd"));
	json_put_shared(params, "command", command);
	json_put_shared(params, "cwd", json_object_get(c->kept, "cwd"));
	if (json_is_object(env))
		json_put_shared(params, "env", env);
	json_put_bool(params, "terminal", true);
	json_put_bool(params, "keep_alive", true);
	json_put_int(params, "output_bytes", OUTPUT_BYTES);
	front_operate(c, "process.start", params, on_started);
}

void ot_start_execute(struct front_call *c)
{
	ot_enter(c, execute);
}

/* ---- GET /execute ---- */

static void on_listed(struct front_call *c, const json_t *result, const struct err *err)
{
	json_t *all = json_need(json_array()), *about;
	size_t i;
	if (!result) {
		json_decref(all);
		front_fail(c, err);
		return;
	}
	const json_t *list = json_object_get(result, "processes"); /* newest first */
	for (i = json_array_size(list); i-- > 0;) {
		about = json_array_get(list, i);
		const char *id = json_get_text(about, "process");
		const json_t *row = find_row(c, id);
		if (!row)
			continue;
		json_t *out = json_need(json_object());
		json_put_text(out, "id", id);
		json_put_shared(out, "command", json_object_get(row, "command"));
		put_state(c, out, about);
		json_add_new(all, out);
	}
	front_answer(c, 200, all);
}

static void list(struct front_call *c)
{
	front_operate(c, "process.list", ot_params(c), on_listed);
}

void ot_start_processes(struct front_call *c)
{
	ot_enter(c, list);
}

/* ---- one process ---- */

/* Read "/execute/ID/WORD", and find the process. Returns: false, and the request was answered, if
 * there is none. @word NULL: the path ends with the id. */
static bool read_process(struct front_call *c, const char *word)
{
	char rest[OT_PATH_BYTES], id[ID_BYTES];
	bool is_read = ot_read_rest(http_target(c->x), "/execute/", rest);
	size_t n = strcspn(rest, "/");
	bool is_right = word ? rest[n] == '/' && strcmp(rest + n + 1, word) == 0 : !rest[n];
	if (!is_read || !is_right) {
		ot_refuse(c, 404, "Not Found");
		return false;
	}
	snprintf(id, sizeof id, "%.*s", (int)MIN(n, sizeof id - 1), rest);
	const json_t *row = n < sizeof id ? find_row(c, id) : NULL;
	if (!row) {
		ot_refuse(c, 404, "Process not found");
		return false;
	}
	json_put_text(c->kept, "process", id);
	json_put_shared(c->kept, "command", json_object_get(row, "command"));
	return true;
}

static void status(struct front_call *c)
{
	if (read_process(c, "status") && read_report(c))
		report(c);
}

void ot_start_process(struct front_call *c)
{
	ot_enter(c, status);
}

static void on_written(struct front_call *c, const json_t *result, const struct err *err)
{
	if (result)
		front_answer(c, 200, json_pack("{s:s}", "status", "ok"));
	else if (err->code == ERR_GONE || err->code == ERR_USAGE)
		ot_refuse(c, 400, "Process has already exited");
	else
		fail(c, err);
}

static void input(struct front_call *c)
{
	const json_t *given = json_object_get(c->body, "input");
	if (!read_process(c, "input") || !ot_body_text(c, "input"))
		return;
	cleanup_buf struct buf text = BUF_INIT(json_string_length(given) + 1);
	json_t *params = params_of(c);
	ot_unescape(&text, json_string_value(given), json_string_length(given));
	json_put_textn(params, "data", buf_str(&text), text.bytes);
	front_operate(c, "process.write", params, on_written);
}

void ot_start_input(struct front_call *c)
{
	ot_enter(c, input);
}

/* ---- DELETE /execute/ID ---- */

static void on_killed(struct front_call *c, const json_t *about, const struct err *err)
{
	if (!about)
		fail(c, err);
	else if (strcmp(json_get_text(about, "state"), "running") == 0)
		ot_refuse(c, 409,
			"The process runs on: it has not ended within %d s of SIGTERM. force=true "
			"sends SIGKILL",
			KILL_MS / 1000);
	else
		front_answer(c, 200, json_pack("{s:s}", "status", "killed"));
}

static void on_signalled(struct front_call *c, const json_t *result, const struct err *err)
{
	if (!result && err->code != ERR_GONE) {
		fail(c, err);
		return;
	}
	json_t *params = params_of(c);
	json_put_bool(find_row(c, json_get_text(c->kept, "process")), "killed", result != NULL);
	json_put_int(params, "timeout_ms", KILL_MS);
	front_operate(c, "process.wait", params, on_killed);
}

static void kill_process(struct front_call *c)
{
	bool is_forced = false;
	if (!read_process(c, NULL) || !ot_query_flag(c, "force", &is_forced))
		return;
	json_t *params = params_of(c);
	json_put_text(params, "signal", is_forced ? "KILL" : "TERM");
	front_operate(c, "process.signal", params, on_signalled);
}

void ot_start_kill(struct front_call *c)
{
	ot_enter(c, kill_process);
}
