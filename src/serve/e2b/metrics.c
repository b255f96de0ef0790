/*
 * Metrics of sandboxes.
 *
 * A sample is taken when a client asks, not by a clock, and the last ones are kept. The memory is
 * what the processes of the box have resident. The CPU time since the sample before is the sum of
 * what each process has used since; for the first sample, since the sandbox was made. The disk is
 * the file system of the home directory, as a program in the box sees it, since only there all
 * that counts towards its limit is seen.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/inside.h"

#include "base/num.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_MAX = 500, EACH_MS = 1000, IDS_MAX = 100, IDS_BYTES = 4096, DISK_MS = 2000 };

static void next(struct front_call *c);

/* ---- one sample ---- */

/* Add up the rows of process.list. @before, @now: CPU time by number of the process, in ms. */
static void add_up(const json_t *list, const json_t *before, json_t *now, int64_t *cpu_ms,
	int64_t *memory_bytes)
{
	char pid[24];
	size_t i;
	json_t *row;
	json_array_foreach(json_object_get(list, "processes"), i, row)
	{
		int64_t used_ms = json_get_int(row, "cpu_ms");
		snprintf(pid, sizeof pid, "%lld", (long long)json_get_int(row, "pid"));
		int64_t known_ms = json_get_int(before, pid);
		/* A smaller number is of another process that has the same pid. */
		*cpu_ms += used_ms >= known_ms ? used_ms - known_ms : used_ms;
		*memory_bytes += json_get_int(row, "memory_bytes");
		json_put_int(now, pid, used_ms);
	}
}

/* Read what `stat -f` has printed: bytes of a block, blocks, blocks that are free. */
static void put_disk(json_t *sample, const char *printed, int64_t total_bytes)
{
	long long block, blocks, left;
	int64_t used_bytes = 0;
	if (sscanf(printed, "%lld %lld %lld", &block, &blocks, &left) == 3 && blocks >= left)
		used_bytes = (blocks - left) * block;
	json_put_int(sample, "diskUsed", MIN(used_bytes, total_bytes));
	json_put_int(sample, "diskTotal", total_bytes);
}

static void take(struct front_call *c, struct e2b_sandbox *s)
{
	const struct front_state *state = c->state;
	char date[E2B_DATE_BYTES];
	int64_t cpu_ms = 0, memory_bytes = 0, limit_bytes;
	uint64_t now_ms = e2b_now();
	double cpus = e2b_limit(state, "cpus");
	if (!s->samples)
		s->samples = json_need(json_pack(
			"{s:[], s:{}, s:I}", "rows", "cpu", "at", (json_int_t)s->started_ms));
	json_t *rows = json_object_get(s->samples, "rows"), *cpu = json_need(json_object());
	int64_t wall_ms = (int64_t)now_ms - json_get_int(s->samples, "at");
	add_up(json_object_get(c->kept, "list"), json_object_get(s->samples, "cpu"), cpu, &cpu_ms,
		&memory_bytes);
	json_put_new(s->samples, "cpu", cpu);
	json_put_int(s->samples, "at", (int64_t)now_ms);
	limit_bytes = (int64_t)e2b_limit(state, "memory_bytes");
	double percent = 100.0 * (double)cpu_ms / (double)MAX(wall_ms, 1) / (cpus > 0 ? cpus : 1);
	e2b_date(date, now_ms);
	json_t *sample = json_need(json_pack("{s:s, s:I, s:f, s:I, s:I, s:i}", "timestamp", date,
		"timestampUnix", (json_int_t)(now_ms / 1000), "cpuUsedPct", MIN(percent, 100.0),
		"memUsed", (json_int_t)MIN(memory_bytes, limit_bytes), "memTotal",
		(json_int_t)limit_bytes, "memCache", 0));
	put_disk(sample, json_get_text(c->kept, "disk"), (int64_t)e2b_limit(state, "disk_bytes"));
	e2b_put_limits(state, sample);
	(void)json_object_del(sample, "memoryMB");
	(void)json_object_del(sample, "diskSizeMB");
	if (json_array_size(rows) >= SAMPLES_MAX)
		(void)json_array_remove(rows, 0);
	json_add_new(rows, sample);
}

/* ---- what is asked in the box ---- */

static struct e2b_sandbox *at(const struct front_call *c)
{
	const json_t *ids = json_object_get(c->kept, "ids");
	const json_t *id = json_array_get(ids, (size_t)json_get_int(c->kept, "at"));
	return id ? e2b_find_own(c, json_string_value(id)) : NULL;
}

static void go_on(struct front_call *c)
{
	json_put_int(c->kept, "at", json_get_int(c->kept, "at") + 1);
	next(c);
}

static void on_output(struct front_call *c, const json_t *event)
{
	if (strcmp(json_get_text(event, "stream"), "stdout") == 0)
		json_put_text(c->kept, "disk", json_get_text(event, "data"));
}

static const struct front_events disk_events = {.event = on_output};

/* Without a number for the disk, the sample has 0. */
static void on_disk(struct front_call *c, const json_t *result, const struct err *err)
{
	struct e2b_sandbox *s = at(c);
	(void)result;
	(void)err;
	if (s && c->x)
		take(c, s);
	go_on(c);
}

static void on_listed(struct front_call *c, const json_t *result, const struct err *err)
{
	struct e2b_sandbox *s = at(c);
	(void)err; /* a sandbox that has ended has no sample */
	if (!s || !result) {
		go_on(c);
		return;
	}
	json_put_shared(c->kept, "list", result);
	json_put_text(c->kept, "disk", "");
	front_follow(c, "process.start",
		json_pack("{s:s, s:[s, s, s, s, s], s:b, s:b, s:i}", "session", s->id, "argv",
			"stat", "-f", "-c", "%S %b %f", "/home/user", "attach", 1, "stream", 1,
			"timeout_ms", DISK_MS),
		&disk_events, on_disk);
}

/* ---- answers ---- */

/* Answer with the samples of one sandbox. */
static void answer_one(struct front_call *c)
{
	json_t *out = json_need(json_array()), *row;
	int64_t start_s = json_get_int(c->kept, "start"), end_s = json_get_int(c->kept, "end");
	size_t i;
	const char *id = json_string_value(json_array_get(json_object_get(c->kept, "ids"), 0));
	const struct e2b_sandbox *s = e2b_find_own(c, id);
	json_array_foreach(s ? json_object_get(s->samples, "rows") : NULL, i, row)
	{
		int64_t then_s = json_get_int(row, "timestampUnix");
		if (then_s >= start_s && (end_s == 0 || then_s <= end_s))
			json_add_shared(out, row);
	}
	if (s) {
		front_answer(c, 200, out);
		return;
	}
	json_decref(out);
	e2b_refuse_missing(c, id);
}

static void answer_all(struct front_call *c)
{
	json_t *all = json_need(json_object()), *id;
	size_t i;
	json_array_foreach(json_object_get(c->kept, "ids"), i, id)
	{
		const struct e2b_sandbox *s = e2b_find_own(c, json_string_value(id));
		const json_t *rows = s ? json_object_get(s->samples, "rows") : NULL;
		size_t n = json_array_size(rows);
		if (n > 0)
			json_put_shared(all, s->id, json_array_get(rows, n - 1));
	}
	front_answer(c, 200, json_pack("{s:o}", "sandboxes", all));
}

static bool is_due(const struct e2b_sandbox *s)
{
	return s && s->phase == E2B_RUNNING &&
		e2b_now() >= (uint64_t)json_get_int(s->samples, "at") + EACH_MS * !!s->samples;
}

/* Sample the next sandbox, or answer. */
static void next(struct front_call *c)
{
	int64_t n = (int64_t)json_array_size(json_object_get(c->kept, "ids"));
	int64_t i = json_get_int(c->kept, "at");
	while (i < n && !is_due(at(c)))
		json_put_int(c->kept, "at", ++i);
	if (!c->x)
		(void)front_take(c);
	else if (i < n)
		front_operate(
			c, "process.list", json_pack("{s:s}", "session", at(c)->id), on_listed);
	else if (json_get_bool(c->kept, "one"))
		answer_one(c);
	else
		answer_all(c);
}

/* Read a parameter in seconds since 1970. Returns: -1: it is wrong. */
static int64_t read_seconds(struct front_call *c, const char *name)
{
	const char *text = e2b_query(c, name);
	uint64_t value = 0;
	struct err err;
	if (text && num_parse_count(text, (struct num_range){0, INT32_MAX}, &value, &err) < 0)
		return -1;
	return (int64_t)value;
}

void e2b_start_metrics(struct front_call *c, struct e2b_sandbox *s)
{
	int64_t start_s = read_seconds(c, "start"), end_s = read_seconds(c, "end");
	if (start_s < 0 || end_s < 0) {
		e2b_refuse(c, 400, "start and end must be whole numbers: seconds since 1970");
		return;
	}
	c->kept = json_need(json_pack("{s:b, s:[s], s:I, s:I}", "one", 1, "ids", s->id, "start",
		(json_int_t)start_s, "end", (json_int_t)end_s));
	next(c);
}

void e2b_start_all_metrics(struct front_call *c)
{
	const char *given = e2b_query(c, "sandbox_ids");
	json_t *ids = json_need(json_array());
	if (!given || strlen(given) > IDS_BYTES) {
		json_decref(ids);
		e2b_refuse(c, 400, "sandbox_ids must be ids with commas between them");
		return;
	}
	for (const char *id = given; *id && json_array_size(ids) < IDS_MAX;) {
		size_t n = strcspn(id, ",");
		char text[E2B_ID_BYTES];
		snprintf(text, sizeof text, "%.*s", (int)n, id);
		if (e2b_find_own(c, text))
			json_add_text(ids, text);
		id += n + (id[n] == ',');
	}
	c->kept = json_need(json_pack("{s:o}", "ids", ids));
	next(c);
}
