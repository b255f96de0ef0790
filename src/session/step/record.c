/*
 * Builds the record of a step as JSON, and computes the step's name.
 *
 * The name is a SHA-256 of four texts: the name of the step before it, the runtime, the code, and
 * one JSON object. The object is canonical (sorted keys, no white space) and has the other inputs,
 * the status, value, output and files of the step, and digests of its tool calls. Times, usage and
 * limits differ from run to run, so they are not part of the name. If a step runs again and gets
 * the same name, it had the same effect. A replay compares names.
 *
 * Output can be large, so record_name() makes its JSON once, for the name and for the caller. The
 * JSON of the limits is the same for most steps of a session, so it is reused for the next record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/step/record.h"

#include "base/json.h"
#include "base/utf8.h"
#include "session/box/json_dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const status_words[RECORD_STATUS_END_] = {
	"ok", "error", "timeout", "oom", "killed", "denied"};
static const char *const outcome_words[RECORD_OUTCOME_END_] = {
	"committed", "rolled_back", "replayed", "diverged", "lost"};
static const char *const limit_names[LIMIT_END_] = {
#define X(name, value, what) #name,
	LIMITS(X)
#undef X
};

void record_init(struct record *r, const struct limits *limits)
{
	*r = (struct record){.limits = *limits,
		.displays = json_array(),
		.files = json_array(),
		.exit_code = -1};
	for (int i = 0; i < 2; i++)
		capture_init(&r->out[i], limits->value[LIMIT_output_bytes]);
}

static void said_done(struct record_limits *said)
{
	json_decref(said->json);
	free(said->text);
}

void record_done(struct record *r)
{
	said_done(&r->said);
	for (int i = 0; i < 2; i++)
		capture_done(&r->out[i]);
	json_decref(r->value);
	json_decref(r->displays);
	json_decref(r->error);
	json_decref(r->files);
	json_decref(r->variables);
	json_decref(r->processes);
	json_decref(r->network);
	tool_log_done(&r->tools);
	free(r->canonical);
	json_decref(r->outputs);
	for (size_t i = 0; i < r->n_paths; i++)
		free(r->paths[i]);
	free(r->paths);
}

void record_renew(struct record *r, const struct limits *limits)
{
	struct record_limits said = r->said;
	r->said = (struct record_limits){0};
	record_done(r);
	record_init(r, limits);
	r->said = said;
}

int record_add_path(struct record *r, const char *path)
{
	char *copy = path ? strdup(path) : NULL;
	char **paths = realloc(r->paths, (r->n_paths + 1) * sizeof *paths);
	if (paths)
		r->paths = paths;
	if (!paths || (path && !copy)) {
		free(copy);
		return -ENOMEM;
	}
	paths[r->n_paths++] = copy;
	return 0;
}

const char *record_status_word(enum record_status status)
{
	return status_words[status];
}

const char *record_by_word(uint32_t by)
{
	static const char *const words[LIMIT_BY_END_] = {
		NULL, "cgroup v2", "cgroup v1", "rlimit", "engine", "affinity", "mount"};
	return by < LIMIT_BY_END_ ? words[by] : NULL;
}

void record_set_error(struct record *r, const char *name, const char *fmt, ...)
{
	char message[ERR_MSG_BYTES];
	cleanup_buf struct buf text = BUF_INIT(3 * sizeof message);
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(message, sizeof message, fmt, ap);
	va_end(ap);
	/* The message may contain a driver's text, and vsnprintf() may have cut it within a
	 * character. */
	(void)utf8_repair(&text, message, strlen(message), NULL);
	json_t *error = json_pack("{s:s, s:s}", "name", name, "message", buf_str(&text));
	json_t *line = json_object_get(r->error, "line");
	json_t *traceback = json_object_get(r->error, "traceback");
	json_put_shared(error, "line", line);
	json_put_shared(error, "traceback", traceback);
	json_decref(r->error);
	r->error = error;
}

static json_t *output_json(const struct capture *c, bool *invalid)
{
	cleanup_buf struct buf text = BUF_INIT(c->limit_bytes * 3 + 256);
	if (capture_text(c, &text, invalid) < 0)
		return NULL;
	return json_stringn_nocheck(buf_str(&text), text.bytes);
}

static json_t *limits_json(const struct record *r)
{
	json_t *limits = json_object();
	for (int i = 0; i < LIMIT_END_; i++) {
		const char *by = record_by_word(r->by[i]);
		json_t *value = json_integer((json_int_t)r->limits.value[i]);
		bool is_cpus = i == LIMIT_cpu_milli;
		if (is_cpus) {
			json_decref(value);
			value = json_real((double)r->limits.value[i] / 1000);
		}
		json_t *row = json_pack(
			"{s:o, s:b, s:s*}", "value", value, "enforced", by != NULL, "by", by);
		json_put_new(limits, is_cpus ? "cpus" : limit_names[i], row);
	}
	return limits;
}

static bool is_said(const struct record *r)
{
	return r->said.text && memcmp(&r->said.limits, &r->limits, sizeof r->limits) == 0 &&
		memcmp(r->said.by, r->by, sizeof r->by) == 0;
}

void record_say_limits(struct record *r)
{
	struct record_limits *said = &r->said;
	if (is_said(r))
		return;
	said_done(said);
	*said = (struct record_limits){.limits = r->limits, .json = limits_json(r)};
	memcpy(said->by, r->by, sizeof said->by);
	said->text = json_dumps(said->json, JSON_COMPACT);
}

static double round_ms(double ms)
{
	return (double)(int64_t)(ms * 1000 + 0.5) / 1000;
}

static json_t *usage_json(const struct record *r)
{
	json_t *usage = json_need(json_pack("{s:f, s:f, s:I, s:f, s:I}", "wall_ms",
		round_ms(r->wall_ms), "cpu_ms", round_ms((double)r->usage.cpu_us / 1000),
		"memory_peak_bytes", (json_int_t)r->usage.memory_peak_bytes, "queued_ms",
		round_ms(r->queued_ms), "oom_kills", (json_int_t)r->usage.n_oom_kills));
	if (r->tools.calls || r->waited_ms > 0)
		json_put_new(usage, "waited_ms", json_real(round_ms(r->waited_ms)));
	return usage;
}

static json_t *outputs_json(const struct record *r)
{
	static const char *const streams[] = {"stdout", "stderr"};
	static const char *const cut[] = {"stdout_bytes", "stderr_bytes"};
	bool invalid = false;
	json_t *out = json_need(json_object());
	json_t *truncated = json_need(json_object());
	for (int i = 0; i < 2; i++) {
		json_put_new(out, streams[i], output_json(&r->out[i], &invalid));
		json_put_int(truncated, cut[i], (int64_t)capture_cut_bytes(&r->out[i]));
	}
	if (invalid)
		json_put_bool(truncated, "invalid_utf8", true);
	if (r->n_displays_cut > 0)
		json_put_int(truncated, "displays", (int64_t)r->n_displays_cut);
	if (r->files_cut)
		json_put_bool(truncated, "files", true);
	if (r->tools.n_cut > 0)
		json_put_int(truncated, "tools", (int64_t)r->tools.n_cut);
	json_put_new(out, "truncated", truncated);
	return out;
}

char *record_usage_text(struct record *r)
{
	cleanup_json json_t *rest = json_need(json_object());
	json_put_new(rest, "usage", usage_json(r));
	json_put_shared(rest, "processes", r->processes);
	json_put_shared(rest, "network", r->network);
	json_put_shared(rest, "image", r->image);
	char *text = NULL, *dumped = json_dumps(rest, JSON_COMPACT);
	record_say_limits(r);
	/* The limits are text already. They come first, in place of the brace that begins @rest. */
	if (dumped && r->said.text &&
		asprintf(&text, "{\"limits\":%s,%s", r->said.text, dumped + 1) < 0)
		text = NULL;
	free(dumped);
	return text;
}

const char *record_outcome_word(enum record_outcome outcome)
{
	return outcome_words[outcome];
}

/* Return whether the effects of the step were undone or lost. */
static bool is_back(const struct record *r)
{
	return r->outcome == RECORD_ROLLED_BACK || r->outcome == RECORD_LOST;
}

static json_t *state_json(const struct record *r)
{
	json_t *state = json_need(json_object());
	json_put_text(state, "outcome", outcome_words[r->outcome]);
	json_put_text(state, "undone", is_back(r) ? NULL : r->undone);
	json_put_text(state, "checkpoint", r->checkpoint);
	json_put_new(state, "reason",
		r->reason ? json_new_text(r->reason, strlen(r->reason)) : json_null());
	json_put_text(state, "notice", r->notice);
	return state;
}

json_t *record_json(const struct record *r)
{
	json_t *out = json_need(json_pack("{s:i, s:s, s:s?, s:s, s:s, s:s}", "schema", 1, "step",
		r->step, "parent", r->parent[0] ? r->parent : NULL, "session", r->session,
		"runtime", r->runtime, "status", status_words[r->status]));
	json_put_shared(out, "value", r->value);
	json_put_shared(out, "displays", r->displays);
	json_t *outputs = r->outputs ? json_incref(r->outputs) : outputs_json(r);
	(void)json_object_update_new(out, outputs);
	json_put_shared(out, "error", r->error);
	json_put_new(
		out, "exit_code", r->exit_code >= 0 ? json_integer(r->exit_code) : json_null());
	json_put_new(out, "signal", r->signal ? json_integer(r->signal) : json_null());
	if (r->has_exited)
		json_put_bool(out, "exited", true);
	json_put_new(out, "state", state_json(r));
	json_put_shared(out, "files", r->files);
	json_put_shared(out, "files_lost", r->files_lost);
	json_put_shared(out, "processes", r->processes);
	json_put_shared(out, "network", r->network);
	json_put_shared(out, "image", r->image);
	if (r->variables && !is_back(r))
		json_put_shared(out, "variables", r->variables);
	json_put_new(out, "tools", r->tools.tools ? json_incref(r->tools.tools) : json_array());
	json_put_new(out, "usage", usage_json(r));
	json_put_new(out, "limits", is_said(r) ? json_incref(r->said.json) : limits_json(r));
	return out;
}

/* Return the result of the step as JSON, without the parts that differ from run to run. */
static json_t *output_object(const struct record *r)
{
	json_t *out = json_need(json_pack("{s:s, s:O, s:O}", "status", status_words[r->status],
		"displays", r->displays, "files", r->files));
	json_put_shared(out, "value", r->value);
	(void)json_object_update(out, r->outputs);
	json_put_shared(out, "error", r->error);
	json_put_new(
		out, "exit_code", r->exit_code >= 0 ? json_integer(r->exit_code) : json_null());
	json_put_new(out, "signal", r->signal ? json_integer(r->signal) : json_null());
	return out;
}

void record_name(struct record *r, const char *parent, const char *code, size_t bytes,
	const char *const *argv, const json_t *inputs)
{
	json_decref(r->outputs);
	r->outputs = outputs_json(r);
	cleanup_json json_t *out = output_object(r);
	if (argv) {
		json_t *list = json_need(json_array());
		for (size_t i = 0; argv[i]; i++)
			(void)json_array_append_new(list, json_string(argv[i]));
		json_put_new(out, "argv", list);
	}
	json_put_shared(out, "calls", r->tools.calls);
	if (inputs)
		(void)json_object_update(out, json_unconst(inputs));
	free(r->canonical);
	r->canonical = json_dump_text(out, JSON_COMPACT | JSON_SORT_KEYS);
	const struct step_texts texts = {.parent = parent,
		.runtime = r->runtime,
		.code = {code, bytes},
		.record = {r->canonical, r->canonical ? strlen(r->canonical) : 0}};
	step_name(&r->name, &texts);
	snprintf(r->step, sizeof r->step, "%s", r->name.digest);
	snprintf(r->parent, sizeof r->parent, "%s", parent);
}
