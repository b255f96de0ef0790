/* SPDX-License-Identifier: Apache-2.0 */
#include "session/record.h"

#include "base/utf8.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const status_words[RECORD_STATUS_END_] = {
	"ok", "error", "timeout", "oom", "killed", "denied"};
static const char *const outcome_words[RECORD_OUTCOME_END_] = {"committed", "rolled_back", "lost"};
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

void record_done(struct record *r)
{
	for (int i = 0; i < 2; i++)
		capture_done(&r->out[i]);
	json_decref(r->value);
	json_decref(r->displays);
	json_decref(r->error);
	json_decref(r->files);
	for (size_t i = 0; i < r->n_paths; i++)
		free(r->paths[i]);
	free(r->paths);
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
	(void)vsnprintf(message, sizeof message, fmt, ap);
	va_end(ap);
	/* It may quote a driver, and may have been cut inside a character. */
	(void)utf8_repair(&text, message, strlen(message), NULL);
	json_t *error = json_pack("{s:s, s:s}", "name", name, "message", buf_str(&text));
	json_t *line = json_object_get(r->error, "line");
	json_t *traceback = json_object_get(r->error, "traceback");
	if (line)
		(void)json_object_set(error, "line", line);
	if (traceback)
		(void)json_object_set(error, "traceback", traceback);
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
		(void)json_object_set_new(limits, is_cpus ? "cpus" : limit_names[i], row);
	}
	return limits;
}

static double round_ms(double ms)
{
	return (double)(int64_t)(ms * 1000 + 0.5) / 1000;
}

static json_t *usage_json(const struct record *r)
{
	return json_pack("{s:f, s:f, s:I, s:f, s:I}", "wall_ms", round_ms(r->wall_ms), "cpu_ms",
		round_ms((double)r->usage.cpu_us / 1000), "memory_peak_bytes",
		(json_int_t)r->usage.memory_peak_bytes, "queued_ms", round_ms(r->queued_ms),
		"oom_kills", (json_int_t)r->usage.n_oom_kills);
}

static void set_outputs(const struct record *r, json_t *out)
{
	static const char *const streams[] = {"stdout", "stderr"};
	static const char *const cut[] = {"stdout_bytes", "stderr_bytes"};
	bool invalid = false;
	json_t *truncated = json_object();
	for (int i = 0; i < 2; i++) {
		(void)json_object_set_new(out, streams[i], output_json(&r->out[i], &invalid));
		(void)json_object_set_new(
			truncated, cut[i], json_integer((json_int_t)capture_cut_bytes(&r->out[i])));
	}
	if (invalid)
		(void)json_object_set_new(truncated, "invalid_utf8", json_true());
	if (r->n_displays_cut > 0)
		(void)json_object_set_new(
			truncated, "displays", json_integer((json_int_t)r->n_displays_cut));
	if (r->files_cut)
		(void)json_object_set_new(truncated, "files", json_true());
	(void)json_object_set_new(out, "truncated", truncated);
}

json_t *record_json(const struct record *r)
{
	json_t *out = json_pack("{s:i, s:s, s:n, s:s, s:s, s:s}", "schema", 1, "step", r->step,
		"parent", "session", r->session, "runtime", r->runtime, "status",
		status_words[r->status]);
	if (!out)
		return NULL;
	if (r->value)
		(void)json_object_set(out, "value", r->value);
	(void)json_object_set(out, "displays", r->displays);
	set_outputs(r, out);
	if (r->error)
		(void)json_object_set(out, "error", r->error);
	(void)json_object_set_new(
		out, "exit_code", r->exit_code >= 0 ? json_integer(r->exit_code) : json_null());
	(void)json_object_set_new(out, "signal", r->signal ? json_integer(r->signal) : json_null());
	(void)json_object_set_new(out, "state",
		json_pack(
			"{s:s, s:s?}", "outcome", outcome_words[r->outcome], "reason", r->reason));
	(void)json_object_set(out, "files", r->files);
	(void)json_object_set_new(out, "tools", json_array());
	(void)json_object_set_new(out, "usage", usage_json(r));
	(void)json_object_set_new(out, "limits", limits_json(r));
	return out;
}

static void hash_part(crypto_hash_sha256_state *state, const char *data, size_t bytes)
{
	unsigned char length[8];
	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char)((uint64_t)bytes >> (56 - 8 * i));
	(void)crypto_hash_sha256_update(state, length, sizeof length);
	(void)crypto_hash_sha256_update(state, (const unsigned char *)data, bytes);
}

static void hash_json(crypto_hash_sha256_state *state, const json_t *json)
{
	char *text =
		json ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY) : NULL;
	hash_part(state, text ? text : "", text ? strlen(text) : 0);
	free(text);
}

/* In order: where the ring starts depends on the pieces in which the output came. */
static void hash_tail(crypto_hash_sha256_state *state, const struct capture *c)
{
	cleanup_buf struct buf tail = BUF_INIT(c->tail.max_bytes);
	(void)capture_tail(c, &tail);
	hash_part(state, buf_str(&tail), tail.bytes);
}

void record_name(struct record *r, const char *parent, const char *code, size_t bytes,
	const char *const *argv)
{
	unsigned char digest[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state state;
	(void)crypto_hash_sha256_init(&state);
	hash_part(&state, parent, strlen(parent));
	hash_part(&state, r->runtime, strlen(r->runtime));
	hash_part(&state, code, bytes);
	for (size_t i = 0; argv && argv[i]; i++)
		hash_part(&state, argv[i], strlen(argv[i]));
	hash_part(&state, status_words[r->status], strlen(status_words[r->status]));
	for (int i = 0; i < 2; i++) {
		hash_part(&state, buf_str(&r->out[i].head), r->out[i].head.bytes);
		hash_tail(&state, &r->out[i]);
	}
	hash_json(&state, r->value);
	hash_json(&state, r->displays);
	hash_json(&state, r->error);
	(void)crypto_hash_sha256_final(&state, digest);
	(void)sodium_bin2hex(r->step, sizeof r->step, digest, sizeof digest);
}
