/*
 * The service process.Process of the front "e2b": programs in a sandbox.
 *
 * Each request becomes an operation `process.*`. Clients name a process by its number in the box,
 * or by a tag that they have given it, so the front remembers those that its clients have started,
 * until their end is 30 s past.
 *
 * A process does not end with the request that has started it, but when its time is over, with
 * which the client began.
 *
 * Source: e2b-dev/infra, packages/envd/spec/process/process.proto, and its services.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/inside.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/num.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEPALIVE "{\"event\":{\"keepalive\":{}}}"
#define HOME	  "/home/user"

enum { OUTPUT_BYTES = 256 << 10, TIMEOUT_MAX_MS = 1 << 30, SIDE_MAX = 4096, ENDED_MS = 30000 };
enum { TAG_BYTES = 256, KNOWN_MAX = 150 };

/* ---- processes by their number or tag ---- */

/* Forget those whose end is long past. */
static void drop_ended(struct e2b_sandbox *s)
{
	struct e2b_process *next;
	uint64_t now_ms = e2b_now();
	for (struct e2b_process *p = s->processes; p; p = next) {
		next = p->next;
		if (p->ended_ms > 0 && now_ms > p->ended_ms + ENDED_MS)
			e2b_drop_process(s, p->id);
	}
}

/* Note that a process has ended, if the sandbox is still there. */
static void note_end(const struct front_call *c, const json_t *about)
{
	struct e2b_sandbox *s = e2b_find(c->state->own, json_get_text(c->kept, "sandbox"));
	const char *id = json_get_text(about, "process");
	for (struct e2b_process *p = s ? s->processes : NULL; p; p = p->next)
		if (strcmp(p->id, id) == 0 && p->ended_ms == 0)
			p->ended_ms = e2b_now();
}

struct e2b_process *e2b_find_process(struct e2b_sandbox *s, const json_t *selector, struct err *err)
{
	const char *tag = json_get_text(selector, "tag");
	json_int_t pid = json_get_int(selector, "pid");
	drop_ended(s);
	for (struct e2b_process *p = s->processes; p; p = p->next)
		if (tag[0] ? p->tag && strcmp(json_string_value(p->tag), tag) == 0 : p->pid == pid)
			return p;
	if (tag[0])
		(void)err_set(err, ERR_NOT_FOUND, "process with tag %.100s not found", tag);
	else
		(void)err_set(
			err, ERR_NOT_FOUND, "process with pid %lld not found", (long long)pid);
	return NULL;
}

/* ---- what a process prints, as a stream ---- */

static json_t *event_json(const char *kind, json_t *event)
{
	return json_pack("{s:{s:o}}", "event", kind, event);
}

/* Return the output of an event in base64. Owns: the caller decrefs. */
static json_t *output_base64(const json_t *event)
{
	const json_t *data = json_object_get(event, "data");
	size_t bytes = json_string_length(data);
	cleanup_buf struct buf text = BUF_INIT(base64_bytes(bytes));
	if (strcmp(json_get_text(event, "encoding"), "base64") == 0)
		return json_incref(json_unconst(data));
	if (base64_write(&text, json_string_value(data), bytes) < 0)
		return NULL;
	return json_stringn(buf_str(&text), text.bytes);
}

static void on_event(struct front_call *c, const json_t *event)
{
	struct e2b_stream *s = c->own;
	bool is_output = strcmp(json_get_text(event, "event"), "output") == 0;
	const char *name = json_get_text(event, "stream");
	if (!is_output || json_string_length(json_object_get(event, "data")) == 0)
		return;
	if (json_get_bool(c->kept, "pty"))
		name = "pty";
	json_t *data = output_base64(event);
	if (data && !e2b_stream_send(s, event_json("data", json_pack("{s:o}", name, data))))
		front_cancel(c);
}

static const struct front_events output_events = {.event = on_event};

/* Describe the end as Go does. Source: os.ProcessState.String(). */
static json_t *end_json(const json_t *about)
{
	json_int_t code = json_get_int(about, "exit_code");
	int number = (int)json_get_int(about, "signal");
	const char *word = number ? sigdescr_np(number) : NULL;
	char text[64];
	json_t *out = json_need(json_object());
	if (number == SIGKILL || number == SIGTERM || !word)
		word = number == SIGKILL ? "killed" : number == SIGTERM ? "terminated" : "unknown";
	if (number)
		snprintf(text, sizeof text, "signal: %s", word);
	else
		snprintf(text, sizeof text, "exit status %lld", (long long)code);
	if (number || code != 0)
		json_put_int(out, "exitCode", number ? -1 : code);
	json_put_bool(out, "exited", number == 0);
	json_put_text(out, "status", text);
	if (number || code != 0)
		json_put_text(out, "error", text);
	return out;
}

/* The process is over, or the client does not follow it any more. */
static void on_ended(struct front_call *c, const json_t *about, const struct err *err)
{
	struct e2b_stream *s = c->own;
	const char *state = json_get_text(about, "state");
	(void)err; /* the session is gone */
	if (!about || json_get_text(about, "ended")[0] || strcmp(state, "exited") != 0) {
		if (json_get_bool(c->kept, "late"))
			e2b_stream_end(s, "deadline_exceeded", "context deadline exceeded");
		else
			e2b_stream_cut(s);
		return;
	}
	note_end(c, about);
	if (json_get_bool(about, "timed_out")) {
		e2b_stream_end(s, "deadline_exceeded", "context deadline exceeded");
		return;
	}
	(void)e2b_stream_send(s, event_json("end", end_json(about)));
	e2b_stream_end(s, NULL, NULL);
}

/* The time of the request is over: follow the process no more. */
static void on_late(struct front_call *c, struct e2b_stream *s)
{
	(void)s;
	json_put_bool(c->kept, "late", true);
	front_cancel(c); /* on_ended() follows */
}

/* Send what the process prints from now on, or from its beginning. @about: of the process. */
static void follow(struct front_call *c, const json_t *about, bool is_new)
{
	json_t *params = json_pack("{s:s, s:O, s:b}", "session", json_get_text(c->kept, "sandbox"),
		"process", json_object_get(about, "process"), "stream", 1);
	if (!is_new) {
		json_put_int(params, "stdout_offset", json_get_int(about, "stdout_bytes"));
		json_put_int(params, "stderr_offset", json_get_int(about, "stderr_bytes"));
	}
	json_put_bool(c->kept, "pty", json_get_bool(about, "terminal"));
	c->own = e2b_stream_open(c, KEEPALIVE, on_late);
	(void)e2b_stream_send(
		c->own, event_json("start", json_pack("{s:I}", "pid", json_get_int(about, "pid"))));
	front_follow(c, "process.attach", params, &output_events, on_ended);
}

static void fail_stream(struct front_call *c, const struct err *err)
{
	e2b_stream_refuse(c, e2b_rpc_word(err->code), err->msg);
}

/* Forget those that do not run any more. @processes: rows of process.list. */
static void keep_running(struct e2b_sandbox *s, const json_t *processes)
{
	const json_t *row;
	struct e2b_process *next;
	size_t i;
	for (struct e2b_process *p = s->processes; p; p = next) {
		bool is_running = false;
		next = p->next;
		json_array_foreach(processes, i, row) is_running |=
			strcmp(json_get_text(row, "process"), p->id) == 0 &&
			strcmp(json_get_text(row, "state"), "running") == 0;
		if (!is_running)
			e2b_drop_process(s, p->id);
	}
}

static unsigned n_known(const struct e2b_sandbox *s)
{
	unsigned n = 0;
	for (const struct e2b_process *p = s->processes; p; p = p->next)
		n++;
	return n;
}

/* ---- Start ---- */

/* Copy what is told of a process. Owns: the caller decrefs. */
static json_t *copy_config(const json_t *config)
{
	static const char *const members[] = {"cmd", "args", "envs", "cwd"};
	json_t *out = json_need(json_object());
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		json_put_shared(out, members[i], json_object_get(config, members[i]));
	return out;
}

/* Remember the process, whatever has become of the client. */
static void on_started(struct front_call *c, const json_t *about, const struct err *err)
{
	struct e2b_sandbox *s = e2b_find(c->state->own, json_get_text(c->kept, "sandbox"));
	const json_t *config = json_object_get(c->kept, "config");
	const json_t *tag = json_object_get(c->kept, "tag");
	char text[ERR_MSG_BYTES + ERR_HINT_BYTES];
	if (!about) {
		const char *cwd = json_get_text(config, "cwd");
		if (err->code == ERR_NOT_FOUND && cwd[0] && strstr(err->msg, "directory"))
			snprintf(text, sizeof text, "cwd '%.200s' does not exist", cwd);
		else
			snprintf(text, sizeof text, "%s%s%s", err->msg, err->hint[0] ? ": " : "",
				err->hint);
		e2b_stream_refuse(c,
			err->code == ERR_NOT_FOUND ? "invalid_argument" : e2b_rpc_word(err->code),
			text);
		return;
	}
	if (s) {
		struct e2b_process *p = xnew(struct e2b_process);
		snprintf(p->id, sizeof p->id, "%s", json_get_text(about, "process"));
		p->pid = json_get_int(about, "pid");
		p->config = copy_config(config);
		p->tag = json_is_string(tag) ? json_incref(json_unconst(tag)) : NULL;
		e2b_add_process(s, p);
		if (s->phase == E2B_PAUSED)
			e2b_pause(s, false);
	}
	if (c->x)
		follow(c, about, true);
	else
		(void)front_take(c);
}

static json_t *absolute(const char *path)
{
	char text[E2B_PATH_BYTES];
	if (path[0] == '~' && (path[1] == '/' || path[1] == '\0'))
		path += 1 + strspn(path + 1, "/");
	snprintf(text, sizeof text, "%s%s", path[0] == '/' ? "" : HOME "/", path);
	return json_new_text(text, strlen(text));
}

/* Is @value an object of texts, or missing? */
static bool is_map(const json_t *value)
{
	const char *key;
	json_t *text;
	if (value && !json_is_object(value))
		return false;
	json_object_foreach(json_unconst(value), key, text) if (!json_is_string(text)) return false;
	return true;
}

static bool is_list(const json_t *value)
{
	size_t i;
	json_t *text;
	if (value && !json_is_array(value))
		return false;
	json_array_foreach(value, i, text) if (!json_is_string(text)) return false;
	return true;
}

/* Return what is wrong with the request; NULL: nothing. */
static const char *wrong_start(const json_t *body)
{
	const json_t *config = json_object_get(body, "process");
	const json_t *tag = json_object_get(body, "tag");
	const json_t *input = json_object_get(body, "stdin");
	if (!json_get_text(config, "cmd")[0])
		return "process.cmd is missing";
	if (!is_list(json_object_get(config, "args")))
		return "process.args is not a list of texts";
	if (!is_map(json_object_get(config, "envs")))
		return "process.envs is not an object of texts";
	if (tag && !json_is_null(tag) && !json_is_string(tag))
		return "tag is not a text";
	if (json_string_length(tag) > TAG_BYTES)
		return "tag is longer than 256 bytes";
	if (input && !json_is_null(input) && !json_is_boolean(input))
		return "stdin is not a boolean";
	return NULL;
}

static void put_size(json_t *params, const json_t *pty)
{
	const json_t *size = json_object_get(pty, "size");
	json_int_t cols = json_get_int(size, "cols"), rows = json_get_int(size, "rows");
	if (cols > 0)
		json_put_int(params, "cols", MIN(cols, SIDE_MAX));
	if (rows > 0)
		json_put_int(params, "rows", MIN(rows, SIDE_MAX));
}

/* Return the time in ms after which the process is to end; 0: never. */
static int64_t read_time(const struct front_call *c)
{
	uint64_t ms;
	struct err err;
	const char *text = http_header(c->x, "Connect-Timeout-Ms");
	if (!text || num_parse_count(text, (struct num_range){1, TIMEOUT_MAX_MS}, &ms, &err) < 0)
		return 0;
	return (int64_t)ms;
}

static json_t *start_params(const struct front_call *c, const struct e2b_sandbox *s)
{
	const json_t *config = json_object_get(c->body, "process");
	const json_t *pty = json_object_get(c->body, "pty");
	const json_t *input = json_object_get(c->body, "stdin");
	json_t *args = json_object_get(config, "args"), *argv = json_need(json_array());
	json_t *env = e2b_call_env(s);
	json_t *params = json_need(json_object());
	json_add_shared(argv, json_object_get(config, "cmd"));
	if (args)
		(void)json_array_extend(argv, args);
	(void)json_object_update(env, json_object_get(config, "envs"));
	if (json_is_object(pty)) {
		json_put_bool(params, "terminal", true);
		put_size(params, pty);
		json_put_shared(params, "term", json_object_get(env, "TERM"));
	} else {
		json_put_bool(params, "input", !json_is_false(input));
	}
	json_put_text(params, "session", s->id);
	json_put_new(params, "argv", argv);
	json_put_new(params, "env", env);
	json_put_new(params, "cwd", absolute(json_get_text(config, "cwd")));
	json_put_bool(params, "hold", true);
	json_put_int(params, "output_bytes", OUTPUT_BYTES);
	if (read_time(c) > 0)
		json_put_int(params, "timeout_ms", read_time(c));
	return params;
}

/* Check whom the program is to run as. */
static bool is_user(const struct front_call *c, char name[64])
{
	(void)e2b_rpc_user(c, name);
	return !name[0] || strcmp(name, "user") == 0;
}

static void on_looked(struct front_call *c, const json_t *result, const struct err *err)
{
	struct e2b_sandbox *s = e2b_find(c->state->own, json_get_text(c->kept, "sandbox"));
	if (!result || !s || !c->x) {
		e2b_stream_refuse(c, err ? e2b_rpc_word(err->code) : "unavailable",
			err ? err->msg : "the sandbox is gone");
		return;
	}
	keep_running(s, json_object_get(result, "processes"));
	front_operate(c, "process.start", start_params(c, s), on_started);
}

static void start_start(struct front_call *c, struct e2b_sandbox *s)
{
	char name[64], text[128];
	const char *wrong = wrong_start(c->body);
	if (wrong) {
		e2b_stream_refuse(c, "invalid_argument", wrong);
		return;
	}
	if (!is_user(c, name)) {
		snprintf(text, sizeof text, "invalid username: '%.32s': a sandbox only has 'user'",
			name);
		e2b_stream_refuse(c, "unauthenticated", text);
		return;
	}
	c->kept = json_need(json_object());
	json_put_text(c->kept, "sandbox", s->id);
	json_put_shared(c->kept, "config", json_object_get(c->body, "process"));
	json_put_shared(c->kept, "tag", json_object_get(c->body, "tag"));
	drop_ended(s);
	/* The end of programs that nobody follows is seen here. */
	if (n_known(s) >= KNOWN_MAX)
		front_operate(c, "process.list", json_pack("{s:s}", "session", s->id), on_looked);
	else
		front_operate(c, "process.start", start_params(c, s), on_started);
}

/* ---- Connect ---- */

static void on_found(struct front_call *c, const json_t *about, const struct err *err)
{
	if (about && c->x)
		follow(c, about, false);
	else if (about)
		(void)front_take(c);
	else
		fail_stream(c, err);
}

static void start_connect(struct front_call *c, struct e2b_sandbox *s)
{
	struct err err;
	const struct e2b_process *p =
		e2b_find_process(s, json_object_get(c->body, "process"), &err);
	if (!p) {
		fail_stream(c, &err);
		return;
	}
	c->kept = json_need(json_object());
	json_put_text(c->kept, "sandbox", s->id);
	front_operate(c, "process.get", json_pack("{s:s, s:s}", "session", s->id, "process", p->id),
		on_found);
}

/* ---- List ---- */

static void on_listed(struct front_call *c, const json_t *result, const struct err *err)
{
	const struct e2b_sandbox *s = e2b_find(c->state->own, json_get_text(c->kept, "sandbox"));
	json_t *all = json_need(json_array()), *row;
	size_t i;
	if (!result || !s) {
		json_decref(all);
		if (err)
			e2b_rpc_fail(c, err);
		else
			e2b_answer_lost(c, json_get_text(c->kept, "sandbox"));
		return;
	}
	json_array_foreach(json_object_get(result, "processes"), i, row)
	{
		const char *id = json_get_text(row, "process");
		bool is_running = strcmp(json_get_text(row, "state"), "running") == 0;
		for (const struct e2b_process *p = s->processes; p && is_running; p = p->next) {
			if (strcmp(p->id, id) != 0)
				continue;
			json_t *found = json_pack("{s:O, s:I}", "config", p->config, "pid", p->pid);
			json_put_shared(found, "tag", p->tag);
			json_add_new(all, found);
		}
	}
	front_answer(c, 200, json_pack("{s:o}", "processes", all));
}

static void start_list(struct front_call *c, struct e2b_sandbox *s)
{
	c->kept = json_need(json_pack("{s:s}", "sandbox", s->id));
	front_operate(c, "process.list", json_pack("{s:s}", "session", s->id), on_listed);
}

/* ---- input, signals, size ---- */

const char *e2b_input_word(const struct err *err)
{
	return err->code == ERR_GONE	 ? "not_found"
		: err->code == ERR_USAGE ? "internal" /* the program has no input */
					 : e2b_rpc_word(err->code);
}

static void on_done(struct front_call *c, const json_t *result, const struct err *err)
{
	if (result)
		front_answer(c, 200, json_object());
	else
		e2b_rpc_refuse(c, e2b_input_word(err), "%s%s%s", err->msg, err->hint[0] ? ": " : "",
			err->hint);
}

static json_t *process_params(struct front_call *c, struct e2b_sandbox *s)
{
	struct err err;
	const struct e2b_process *p =
		e2b_find_process(s, json_object_get(c->body, "process"), &err);
	if (!p) {
		e2b_rpc_fail(c, &err);
		return NULL;
	}
	return json_need(json_pack("{s:s, s:s}", "session", s->id, "process", p->id));
}

bool e2b_put_input(json_t *params, const json_t *input)
{
	const json_t *data = json_object_get(input, "stdin");
	cleanup_buf struct buf raw = BUF_INIT(SIZE_MAX);
	struct err err;
	data = data ? data : json_object_get(input, "pty");
	const char *text = json_string_value(data);
	if (!text || base64_read(&raw, text, json_string_length(data), &err) < 0)
		return false;
	json_put_shared(params, "data", data);
	json_put_text(params, "encoding", "base64");
	return true;
}

static void start_input(struct front_call *c, struct e2b_sandbox *s)
{
	json_t *params = process_params(c, s);
	if (params && e2b_put_input(params, json_object_get(c->body, "input"))) {
		front_operate(c, "process.write", params, on_done);
	} else if (params) {
		json_decref(params);
		e2b_rpc_refuse(c, "invalid_argument", E2B_WRONG_INPUT);
	}
}

static void start_close_stdin(struct front_call *c, struct e2b_sandbox *s)
{
	json_t *params = process_params(c, s);
	if (!params)
		return;
	json_put_bool(params, "end", true);
	front_operate(c, "process.write", params, on_done);
}

static void start_signal(struct front_call *c, struct e2b_sandbox *s)
{
	static const char *const names[] = {"SIGNAL_SIGTERM", "SIGNAL_SIGKILL"};
	const json_t *value = json_object_get(c->body, "signal");
	const char *name = json_is_string(value)       ? json_string_value(value)
		: json_integer_value(value) == SIGKILL ? names[1]
		: json_integer_value(value) == SIGTERM ? names[0]
						       : "";
	bool is_kill = strcmp(name, names[1]) == 0;
	if (!is_kill && strcmp(name, names[0]) != 0) {
		e2b_rpc_refuse(c, "unimplemented", "signal: SIGNAL_SIGTERM or SIGNAL_SIGKILL");
		return;
	}
	json_t *params = process_params(c, s);
	if (!params)
		return;
	json_put_text(params, "signal", is_kill ? "KILL" : "TERM");
	front_operate(c, "process.signal", params, on_done);
}

static void start_update(struct front_call *c, struct e2b_sandbox *s)
{
	const json_t *pty = json_object_get(c->body, "pty");
	if (!json_is_object(json_object_get(pty, "size"))) {
		e2b_rpc_refuse(c, "invalid_argument", "pty.size is missing");
		return;
	}
	json_t *params = process_params(c, s);
	if (!params)
		return;
	put_size(params, pty);
	front_operate(c, "process.resize", params, on_done);
}

/* ---- the procedures ---- */

static const struct e2b_procedure procedures[] = {
	{"Start", true, start_start},
	{"Connect", true, start_connect},
	{"List", false, start_list},
	{"SendInput", false, start_input},
	{"CloseStdin", false, start_close_stdin},
	{"SendSignal", false, start_signal},
	{"Update", false, start_update},
};

void e2b_start_process(struct front_call *c)
{
	const struct e2b_procedure *found;
	struct e2b_sandbox *s = e2b_enter_procedure(
		c, "/process.Process/", procedures, ARRAY_LEN(procedures), &found);
	if (s)
		found->start(c, s);
}
