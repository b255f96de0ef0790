/* The record that is printed and kept. SPDX-License-Identifier: Apache-2.0 */
#include "session/step/record.h"

#include "t.h"

#include <stdlib.h>
#include <string.h>

static const struct limits some = {
	.value = {[LIMIT_output_bytes] = 16, [LIMIT_memory_bytes] = 1 << 20}};

static struct record new_record(void)
{
	struct record r;
	record_init(&r, &some);
	r.runtime = "python";
	strcpy(r.session, "s-test");
	strcpy(r.step, "abc");
	return r;
}
#define RECORD cleanup(record_done) struct record

static void json_done(json_t **json)
{
	json_decref(*json);
}
#define JSON cleanup(json_done) json_t *

/* Follow "a.b.c". */
static json_t *at(json_t *json, const char *path)
{
	char part[64];
	while (*path) {
		size_t n = strcspn(path, ".");
		memcpy(part, path, n);
		part[n] = '\0';
		json = json_object_get(json, part);
		path += n + (path[n] == '.');
	}
	return json;
}

TEST(shape_of_an_uneventful_step)
{
	static const char *const members[] = {"schema", "step", "parent", "session", "runtime",
		"status", "displays", "stdout", "stderr", "truncated", "exit_code", "signal",
		"state", "files", "tools", "usage", "limits"};
	RECORD r = new_record();
	r.exit_code = 0;
	JSON json = record_json(&r);
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		CHECK(t_check(at(json, members[i]) != NULL, __FILE__, __LINE__, members[i]));
	CHECK_INT(json_object_size(json), ARRAY_LEN(members));
	CHECK_INT(json_integer_value(at(json, "schema")), 1);
	CHECK(json_is_null(at(json, "parent")));
	CHECK(json_is_null(at(json, "signal")));
	CHECK(json_is_null(at(json, "state.reason")));
	CHECK_INT(json_integer_value(at(json, "exit_code")), 0);
	CHECK_STR(json_string_value(at(json, "status")), "ok");
	CHECK_STR(json_string_value(at(json, "state.outcome")), "committed");
	CHECK_STR(json_string_value(at(json, "session")), "s-test");
	CHECK_INT(json_object_size(at(json, "truncated")), 2);
	CHECK_INT(json_object_size(at(json, "usage")), 5);
	CHECK(at(json, "value") == NULL && at(json, "error") == NULL);
}

TEST(words)
{
	static const char *const statuses[] = {"ok", "error", "timeout", "oom", "killed", "denied"};
	static const char *const outcomes[] = {
		"committed", "rolled_back", "replayed", "diverged", "lost"};
	static const char *const bys[] = {
		NULL, "cgroup v2", "cgroup v1", "rlimit", "engine", "affinity", "mount"};
	CHECK_INT(ARRAY_LEN(statuses), RECORD_STATUS_END_);
	CHECK_INT(ARRAY_LEN(outcomes), RECORD_OUTCOME_END_);
	CHECK_INT(ARRAY_LEN(bys), LIMIT_BY_END_);
	for (int i = 0; i < RECORD_STATUS_END_; i++)
		CHECK_STR(record_status_word((enum record_status)i), statuses[i]);
	for (int i = 0; i < RECORD_OUTCOME_END_; i++) {
		RECORD r = new_record();
		r.outcome = (enum record_outcome)i;
		r.reason = "because";
		JSON json = record_json(&r);
		CHECK_STR(json_string_value(at(json, "state.outcome")), outcomes[i]);
		CHECK_STR(json_string_value(at(json, "state.reason")), "because");
	}
	CHECK(record_by_word(LIMIT_BY_NONE) == NULL);
	for (uint32_t i = 1; i < LIMIT_BY_END_; i++)
		CHECK_STR(record_by_word(i), bys[i]);
	CHECK(record_by_word(LIMIT_BY_END_) == NULL); /* the warden's word is not trusted */
	CHECK(record_by_word(UINT32_MAX) == NULL);
}

TEST(limits_say_who_enforces)
{
	RECORD r = new_record();
	r.by[LIMIT_memory_bytes] = LIMIT_BY_CGROUP_V1;
	r.by[LIMIT_pids] = 1000;
	JSON json = record_json(&r);
	CHECK_INT(json_object_size(at(json, "limits")), LIMIT_END_);
	CHECK_INT(json_integer_value(at(json, "limits.memory_bytes.value")), 1 << 20);
	CHECK(json_is_true(at(json, "limits.memory_bytes.enforced")));
	CHECK_STR(json_string_value(at(json, "limits.memory_bytes.by")), "cgroup v1");
	CHECK(json_is_false(at(json, "limits.pids.enforced")));
	CHECK(at(json, "limits.pids.by") == NULL);
}

TEST(outputs_and_what_was_cut)
{
	RECORD r = new_record();
	CHECK(capture_add(&r.out[0], "0123456789abcdefXYZ", 19) >= 0);
	CHECK(capture_add(&r.out[1], "a\xff\0b", 4) >= 0);
	r.n_displays_cut = 2;
	r.files_cut = true;
	JSON json = record_json(&r);
	CHECK_STR(
		json_string_value(at(json, "stdout")), "01234567\n[... 3 bytes cut ...]\nbcdefXYZ");
	CHECK_INT(json_integer_value(at(json, "truncated.stdout_bytes")), 3);
	CHECK_INT(json_integer_value(at(json, "truncated.stderr_bytes")), 0);
	CHECK_INT(json_string_length(at(json, "stderr")), 6);
	CHECK(memcmp(json_string_value(at(json, "stderr")), "a\xef\xbf\xbd\0b", 6) == 0);
	CHECK(json_is_true(at(json, "truncated.invalid_utf8")));
	CHECK_INT(json_integer_value(at(json, "truncated.displays")), 2);
	CHECK(json_is_true(at(json, "truncated.files")));
}

TEST(ends)
{
	RECORD r = new_record();
	r.signal = 9;
	r.value = json_pack("{s:s}", "text/plain", "1");
	r.wall_ms = 1.23456789;
	r.usage.cpu_us = 1234567;
	record_set_error(&r, "E", "%d of %s", 3, "them");
	JSON json = record_json(&r);
	CHECK(json_is_null(at(json, "exit_code")));
	CHECK_INT(json_integer_value(at(json, "signal")), 9);
	CHECK_STR(json_string_value(json_object_get(at(json, "value"), "text/plain")), "1");
	CHECK_STR(json_string_value(at(json, "error.message")), "3 of them");
	CHECK(json_real_value(at(json, "usage.wall_ms")) == 1.235);
	CHECK(json_real_value(at(json, "usage.cpu_ms")) == 1234.567);
}

/* Messages carry what a driver or a path said: whatever bytes, however long, an error is told. */
TEST(errors_survive_any_bytes)
{
	static const char *const texts[] = {
		"plain", "\xff\xfe", "caf\xc3\xa9", "caf\xc3", "\x1b[31m"};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		RECORD r = new_record();
		record_set_error(&r, "E", "%s", texts[i]);
		CHECK(json_is_string(json_object_get(r.error, "message")));
	}
	for (size_t pad = ERR_MSG_BYTES - 4; pad < ERR_MSG_BYTES; pad++) {
		RECORD r = new_record();
		record_set_error(&r, "E", "%0*d\xe2\x82\xac", (int)pad, 0);
		const json_t *message = json_object_get(r.error, "message");
		CHECK(json_is_string(message));
		CHECK(json_string_length(message) >= ERR_MSG_BYTES - 4);
	}
}

static void name_of(
	char out[RECORD_ID_BYTES], const char *code, const char *stdout_text, size_t chunk)
{
	RECORD r = new_record();
	for (size_t i = 0, n = strlen(stdout_text); i < n; i += chunk)
		CHECK(capture_add(&r.out[0], stdout_text + i, MIN(chunk, n - i)) >= 0);
	record_name(&r, "", code, strlen(code), NULL, NULL);
	memcpy(out, r.step, RECORD_ID_BYTES);
}

TEST(names)
{
	char a[RECORD_ID_BYTES], b[RECORD_ID_BYTES];
	name_of(a, "print(1)", "1\n", 2);
	CHECK_INT(strlen(a), 64);
	CHECK_INT(strspn(a, "0123456789abcdef"), 64);
	name_of(b, "print(1)", "1\n", 2);
	CHECK_STR(a, b);
	name_of(b, "print(2)", "1\n", 2);
	CHECK(strcmp(a, b) != 0);
	name_of(b, "print(1)", "2\n", 2);
	CHECK(strcmp(a, b) != 0);
}

/* The same output is the same step, however the pipe cut it into pieces. */
TEST(name_does_not_depend_on_how_output_arrived)
{
	const char *text = "a line that is longer than what is kept of it: 0123456789";
	char a[RECORD_ID_BYTES], b[RECORD_ID_BYTES];
	name_of(a, "x", text, strlen(text));
	for (size_t chunk = 1; chunk < 20; chunk++) {
		name_of(b, "x", text, chunk);
		CHECK_STR(b, a);
	}
}

TEST(limits_are_said_once_and_never_wrong)
{
	RECORD r = new_record();
	record_say_limits(&r);
	const json_t *first = r.said.json;
	JSON json = record_json(&r);
	CHECK(at(json, "limits") == first);
	record_renew(&r, &some);
	r.runtime = "python";
	record_say_limits(&r);
	CHECK(r.said.json == first);
	r.limits.value[LIMIT_timeout_ms] = 1234;
	JSON other = record_json(&r);
	CHECK_INT(json_integer_value(at(other, "limits.timeout_ms.value")), 1234);
	CHECK_INT(json_integer_value(at(json, "limits.timeout_ms.value")), 0);
	record_say_limits(&r);
	r.by[LIMIT_timeout_ms] = LIMIT_BY_ENGINE;
	char *text = record_usage_text(&r);
	JSON both = json_loads(text, 0, NULL);
	CHECK_STR(json_string_value(at(both, "limits.timeout_ms.by")), "engine");
	CHECK_INT(json_integer_value(at(both, "limits.timeout_ms.value")), 1234);
	CHECK(json_is_real(at(both, "usage.wall_ms")));
	free(text);
}
