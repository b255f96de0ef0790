/* What drivers report, honest and hostile. SPDX-License-Identifier: Apache-2.0 */
#include "session/step/report.h"

#include "base/json.h"
#include "t.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct limits some = {.value = {[LIMIT_output_bytes] = 1000}};

struct took {
	struct record record;
	struct step_end end;
	struct err err;
	int r;
};

static struct took take_result(const char *text, size_t bytes)
{
	struct took t = {.end = {.exit_code = 77}};
	record_init(&t.record, &some);
	t.r = report_result(text, bytes, 3, &t.record, &t.end, &t.err);
	return t;
}

static void took_done(struct took *t)
{
	record_done(&t->record);
}
#define TOOK cleanup(took_done) struct took

#define OK "\"id\":\"3\",\"status\":\"ok\",\"exit_code\":0"

TEST(good_results)
{
	static const struct {
		const char *text;
		int is_error, exit_code, has_value, has_error;
	} rows[] = {
		{"{" OK "}", 0, 0, 0, 0},
		{"{\"id\":\"3\",\"exit_code\":255,\"status\":\"error\"}", 1, 255, 0, 0},
		{"{" OK ",\"value\":{}}", 0, 0, 1, 0},
		{"{" OK ",\"value\":{\"text/plain\":\"1\",\"image/png\":\"\"}}", 0, 0, 1, 0},
		{"{" OK ",\"value\":{\"application/json\":[1,{\"a\":null}]}}", 0, 0, 1, 0},
		{"{" OK ",\"more\":[true]}", 0, 0, 0, 0},
		{"{" OK ",\"error\":{\"name\":\"E\",\"message\":\"m\"}}", 0, 0, 0, 1},
		{"{" OK
		 ",\"error\":{\"name\":\"E\",\"message\":\"m\",\"line\":-3,\"traceback\":[]}}",
			0, 0, 0, 1},
		{"{" OK
		 ",\"error\":{\"name\":\"\",\"message\":\"a\\u0000b\",\"traceback\":[\"x\"]}}",
			0, 0, 0, 1},
		{" \n{" OK "}\n", 0, 0, 0, 0},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		TOOK t = take_result(rows[i].text, strlen(rows[i].text));
		int good = CHECK_INT(t.r, 1) & CHECK(t.end.has_result) &
			CHECK_INT(t.end.is_error, rows[i].is_error) &
			CHECK_INT(t.end.exit_code, rows[i].exit_code) &
			CHECK_INT(t.record.value != NULL, rows[i].has_value) &
			CHECK_INT(t.record.error != NULL, rows[i].has_error);
		if (!good)
			printf("# in %s\n", rows[i].text);
	}
}

static void check_refused(const char *text, size_t bytes)
{
	TOOK t = take_result(text, bytes);
	int good = CHECK_INT(t.r, -EPROTO) & CHECK_INT(t.err.code, ERR_PROTOCOL) &
		CHECK(!t.end.has_result && !t.end.is_error && t.end.exit_code == 77) &
		CHECK(t.record.value == NULL && t.record.error == NULL);
	if (!good)
		printf("# in %.*s\n", (int)MIN(bytes, 80), text);
}

TEST(bad_results)
{
	static const char *const rows[] = {
		"",
		"{",
		"null",
		"[]",
		"\"ok\"",
		"{}",
		"{\"status\":\"ok\"}",
		"{\"exit_code\":0}",
		"{\"status\":\"fine\",\"exit_code\":0}",
		"{\"status\":1,\"exit_code\":0}",
		"{\"status\":\"ok\",\"exit_code\":-1}",
		"{\"status\":\"ok\",\"exit_code\":256}",
		"{\"status\":\"ok\",\"exit_code\":4294967296}",
		"{\"status\":\"ok\",\"exit_code\":1e2}",
		"{\"status\":\"ok\",\"exit_code\":\"0\"}",
		"{\"status\":\"ok\",\"exit_code\":true}",
		"{\"status\":\"ok\",\"exit_code\":99999999999999999999}",
		"{" OK "} {}",
		"{" OK ",\"status\":\"error\"}",
		"{" OK ",\"value\":null}",
		"{" OK ",\"value\":[]}",
		"{" OK ",\"value\":\"text\"}",
		"{" OK ",\"error\":null}",
		"{" OK ",\"error\":{}}",
		"{" OK ",\"error\":[\"name\"]}",
		"{" OK ",\"error\":{\"name\":\"E\"}}",
		"{" OK ",\"error\":{\"message\":\"E\"}}",
		"{" OK ",\"error\":{\"name\":1,\"message\":\"m\"}}",
		"{" OK ",\"error\":{\"name\":\"E\",\"message\":\"m\",\"line\":\"4\"}}",
		"{" OK ",\"error\":{\"name\":\"E\",\"message\":\"m\",\"line\":4.5}}",
		"{" OK ",\"error\":{\"name\":\"E\",\"message\":\"m\",\"traceback\":\"x\"}}",
		"{" OK ",\"error\":{\"name\":\"E\",\"message\":\"m\",\"traceback\":[1]}}",
		"{" OK ",\"error\":{\"name\":\"E\",\"message\":\"m\",\"traceback\":[\"x\",null]}}",
		"{" OK ",\"x\":\"\xff\"}",
		"{" OK ",\"x\":\"\xed\xa0\x80\"}",
		"{" OK ",\"x\":\"\\ud800\"}",
		"{" OK ",\"x\":NaN}",
		"{" OK ",\"x\":1e999}",
		"{" OK ",\"x\":01}",
		"{" OK ",\"a\\u0000b\":1}",
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_refused(rows[i], strlen(rows[i]));
	check_refused("{" OK "}\0", sizeof "{" OK "}");
	check_refused("\0", 1);
}

/* Nothing a driver adds to an error reaches the record. */
TEST(only_known_members_of_an_error_are_kept)
{
	static const char text[] =
		"{" OK ",\"error\":{\"name\":\"E\",\"message\":\"m\",\"status\":\"ok\","
		"\"line\":2,\"html\":\"<script>\"}}";
	TOOK t = take_result(text, sizeof text - 1);
	CHECK_INT(t.r, 1);
	CHECK_INT(json_object_size(t.record.error), 3);
	CHECK(json_object_get(t.record.error, "html") == NULL);
	CHECK_INT(json_integer_value(json_object_get(t.record.error, "line")), 2);
}

/* @head, @part @n times, @foot. Owns: the caller frees. */
static char *repeat(const char *head, const char *part, size_t n, const char *foot, size_t *bytes)
{
	struct buf b = BUF_INIT(64 << 20);
	CHECK_INT(buf_add(&b, head), 0);
	for (size_t i = 0; i < n; i++)
		CHECK_INT(buf_add(&b, part), 0);
	CHECK_INT(buf_add(&b, foot), 0);
	*bytes = b.bytes;
	return buf_take(&b);
}

static int result_of_repeat(const char *head, const char *part, size_t n, const char *foot)
{
	size_t bytes;
	char *text = repeat(head, part, n, foot, &bytes);
	TOOK t = take_result(text, bytes);
	CHECK_INT(t.end.has_result, t.r == 1);
	free(text);
	return t.r;
}

/* Each text of an error, and all lines of a traceback together. */
TEST(texts_of_an_error_are_cut)
{
	enum { LONG = 200 << 10, LINES = 30 };
	cleanup_buf struct buf text = BUF_INIT(64 << 20), word = BUF_INIT(LONG + 1);
	for (int i = 0; i < LONG; i += 2)
		(void)buf_add(&word, "\xc3\xa9");
	(void)buf_addf(&text,
		"{" OK ",\"error\":{\"name\":\"%s\",\"message\":\"%s\",\"traceback\":[",
		buf_str(&word), buf_str(&word));
	for (int i = 0; i < LINES; i++)
		(void)buf_addf(&text, "%s\"%s\"", i ? "," : "", buf_str(&word));
	(void)buf_add(&text, "]}}");
	TOOK t = take_result(text.data, text.bytes);
	CHECK_INT(t.r, 1);
	const json_t *lines = json_object_get(t.record.error, "traceback");
	const char *name = json_string_value(json_object_get(t.record.error, "name"));
	CHECK(name && strstr(name, "\xc3\xa9 [... 203776 bytes cut ...]"));
	CHECK(json_string_length(json_object_get(t.record.error, "name")) < 1100);
	CHECK(json_string_length(json_object_get(t.record.error, "message")) < (65 << 10));
	CHECK(json_string_length(json_array_get(lines, 0)) < (65 << 10));
	CHECK_INT(json_array_size(lines), 17);
	CHECK_STR(json_string_value(json_array_get(lines, 8)), "[... 14 lines cut ...]");
}

/* The first and the last of the lines are kept. */
TEST(lines_of_a_traceback_are_cut)
{
	static const int counts[] = {0, 1, 999, 1000, 1001, 5000};
	for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
		cleanup_buf struct buf text = BUF_INIT(1 << 20);
		int n = counts[k], n_cut = n > 1000 ? n - 1000 : 0;
		(void)buf_add(&text,
			"{" OK ",\"error\":{\"name\":\"E\",\"message\":\"m\",\"traceback\":[");
		for (int i = 0; i < n; i++)
			(void)buf_addf(&text, "%s\"%d\"", i ? "," : "", i);
		(void)buf_add(&text, "]}}");
		TOOK t = take_result(text.data, text.bytes);
		CHECK_INT(t.r, 1);
		const json_t *lines = json_object_get(t.record.error, "traceback");
		CHECK_INT(json_array_size(lines), n_cut ? 1001 : n);
		for (int i = 0; i < (int)json_array_size(lines); i++) {
			char want[64];
			snprintf(want, sizeof want, "%d", n_cut && i > 500 ? i - 1 + n_cut : i);
			if (n_cut && i == 500)
				snprintf(want, sizeof want, "[... %d lines cut ...]", n_cut);
			if (!CHECK_STR(json_string_value(json_array_get(lines, (size_t)i)), want))
				break;
		}
	}
}

static json_t *value_of(const char *text)
{
	TOOK t = take_result(text, strlen(text));
	CHECK_INT(t.r, 1);
	return json_incref(t.record.value);
}

/* They are the program's: no reason to end it. */
TEST(types_that_are_none_are_left_out)
{
	static const struct {
		const char *value, *kept;
	} rows[] = {
		{"{\"\":1}", "{\"text/plain\":\"[... 1 types cut ...]\"}"},
		{"{\"text plain\":1,\"x/y\":2}",
			"{\"text/plain\":\"[... 1 types cut ...]\",\"x/y\":2}"},
		{"{\"text/plain\\n\":1,\"text/plain\":\"a\"}",
			"{\"text/plain\":\"a\\n[... 1 types cut ...]\"}"},
		{"{\"text/pl\xc3\xa4in\":1,\"\":2}", "{\"text/plain\":\"[... 2 types cut ...]\"}"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[200];
		snprintf(text, sizeof text, "{" OK ",\"value\":%s}", rows[i].value);
		json_t *value = value_of(text);
		char *got = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
		CHECK_STR(got, rows[i].kept);
		free(got);
		json_decref(value);
	}
}

TEST(counts_are_bounded)
{
	char mimes[32 * 40] = "{" OK ",\"value\":{", one[32];
	for (int i = 0; i < REPORT_MIMES_MAX + 3; i++) {
		snprintf(one, sizeof one, "%s\"x/%d\":0", i ? "," : "", i);
		strcat(mimes, one);
		char whole[sizeof mimes + 4];
		snprintf(whole, sizeof whole, "%s}}", mimes);
		json_t *value = value_of(whole);
		int n_cut = MAX(0, i + 1 - REPORT_MIMES_MAX);
		const char *note = json_string_value(json_object_get(value, "text/plain"));
		CHECK_INT(json_object_size(value), MIN(i + 1, REPORT_MIMES_MAX) + (n_cut > 0));
		CHECK((note != NULL) == (n_cut > 0));
		json_decref(value);
	}
	CHECK_INT(result_of_repeat("{" OK ",\"value\":{\"", "x", 128, "\":0}}"), 1);
	CHECK_INT(result_of_repeat("{" OK ",\"value\":{\"", "x", 129, "\":0}}"), 1);
}

TEST(results_of_other_steps)
{
	static const struct {
		const char *id;
		int r;
	} rows[] = {{"\"3\"", 1}, {"\"2\"", 0}, {"\"1\"", 0}, {"\"4\"", -EPROTO},
		{"\"0\"", -EPROTO}, {"\"\"", -EPROTO}, {"\"-1\"", -EPROTO}, {"\"3x\"", -EPROTO},
		{"3", -EPROTO}, {"null", -EPROTO}, {"\"99999999999999999999\"", -EPROTO}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[100];
		int n = snprintf(text, sizeof text,
			"{\"id\":%s,\"status\":\"ok\",\"exit_code\":0,\"value\":{}}", rows[i].id);
		TOOK t = take_result(text, (size_t)n);
		int good = CHECK_INT(t.r, rows[i].r) & CHECK(t.end.has_result == (rows[i].r == 1)) &
			CHECK((t.record.value != NULL) == (rows[i].r == 1));
		if (!good)
			printf("# %s\n", rows[i].id);
	}
}

/* A long text is one part; a million little ones are refused before they are parsed. */
TEST(bombs)
{
	CHECK_INT(result_of_repeat("{" OK ",\"x\":[0", ",0", 240000, "]}"), 1);
	CHECK_INT(result_of_repeat("{" OK ",\"x\":[0", ",0", 1000000, "]}"), -EPROTO);
	CHECK_INT(result_of_repeat("{" OK ",\"x\":[[]", ",[]", 500000, "]}"), -EPROTO);
	CHECK_INT(result_of_repeat("{" OK ",\"x\":\"", ",[{", 1000000, "\"}"), 1);
	CHECK_INT(result_of_repeat("{" OK ",\"x\":\"", "\\\",", 1000000, "\"}"), 1);
	CHECK_INT(
		result_of_repeat("{" OK ",\"x\":\"\\\\\",\"y\":[0", ",0", 1000000, "]}"), -EPROTO);
	CHECK_INT(
		result_of_repeat("{" OK ",\"x\":\"\\\"\",\"y\":[0", ",0", 1000000, "]}"), -EPROTO);
	CHECK_INT(result_of_repeat("", "[", 900000, ""), -EPROTO);
	CHECK_INT(result_of_repeat("{" OK ",\"x\":", "[", 100000, ""), -EPROTO);
	CHECK_INT(result_of_repeat("", "{\"a\":", 100000, ""), -EPROTO);
}

TEST(displays)
{
	struct record record;
	struct err err = {0};
	const json_t *out = NULL;
	json_t *about = NULL;
	const char *good = "{\"data\":{\"text/plain\":\"x\"},\"metadata\":{}}";
	static const char *const bad[] = {"", "{}", "[]", "{\"data\":1}", "{\"data\":null}",
		"{\"metadata\":{}}", "{\"data\":{}"};
	record_init(&record, &some);
	CHECK_INT(report_display(good, strlen(good), &record, &out, &about, &err), 1);
	CHECK_INT(record.displays_bytes, strlen(good));
	CHECK_STR(json_string_value(json_object_get(out, "text/plain")), "x");
	CHECK(out == json_array_get(record.displays, 0));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		out = NULL;
		CHECK_INT(report_display(bad[i], strlen(bad[i]), &record, &out, &about, &err),
			-EPROTO);
		CHECK_INT(err.code, ERR_PROTOCOL);
		CHECK(out == NULL);
	}
	CHECK_INT(json_array_size(record.displays), 1);
	CHECK_INT(record.displays_bytes, strlen(good));
	CHECK_INT(record.n_displays_cut, 0);
	record_done(&record);
}

TEST(displays_over_the_output_limit_are_counted)
{
	struct record record;
	struct err err;
	const json_t *out = NULL;
	json_t *about = NULL;
	char text[2000];
	record_init(&record, &some);
	for (int over = 0; over < 2; over++) {
		record.displays_bytes = 500;
		int n = snprintf(
			text, sizeof text, "{\"data\":{\"t\":\"%0*d\"}}", 500 - 17 + over, 0);
		CHECK_INT(n, 500 + over);
		CHECK_INT(report_display(text, (size_t)n, &record, &out, &about, &err), !over);
		CHECK_INT(record.displays_bytes, over ? 500 : 1000);
	}
	CHECK_INT(record.n_displays_cut, 1);
	CHECK_INT(json_array_size(record.displays), 1);
	record_done(&record);
}

/* What a page does with a display comes beside it; clearing a page is no display. */
TEST(displays_of_a_page)
{
	struct record record;
	struct err err = {0};
	const json_t *out = NULL;
	json_t *about = NULL;
	const char *named = "{\"data\":{},\"display_id\":\"a\",\"update\":true}";
	const char *clear = "{\"data\":{},\"clear\":true,\"wait\":true}";
	record_init(&record, &some);
	CHECK_INT(report_display(named, strlen(named), &record, &out, &about, &err), 1);
	CHECK(out == json_array_get(record.displays, 0));
	CHECK_STR(json_get_text(about, "display_id"), "a");
	CHECK(json_get_bool(about, "update"));
	json_decref(about);
	for (int i = 0; i <= REPORT_CLEARS_MAX; i++) {
		int r = report_display(clear, strlen(clear), &record, &out, &about, &err);
		if (r != (i < REPORT_CLEARS_MAX))
			CHECK_INT(i, -1);
		if (r == 1 && (out || !json_get_bool(about, "wait")))
			CHECK_INT(i, -1);
		json_decref(about);
	}
	CHECK_INT(json_array_size(record.displays), 1);
	record_done(&record);
}

TEST(number_of_displays_is_bounded)
{
	const struct limits limits = {.value = {[LIMIT_output_bytes] = 1 << 20}};
	struct record record;
	struct err err;
	const json_t *out;
	json_t *about = NULL;
	record_init(&record, &limits);
	for (int i = 0; i < REPORT_DISPLAYS_MAX; i++)
		CHECK_INT(report_display("{\"data\":{}}", 11, &record, &out, &about, &err), 1);
	for (int i = 0; i < 3; i++)
		CHECK_INT(report_display("{\"data\":{}}", 11, &record, &out, &about, &err), 0);
	CHECK_INT(record.n_displays_cut, 3);
	CHECK_INT(json_array_size(record.displays), REPORT_DISPLAYS_MAX);
	record_done(&record);
}

/* Three bytes of a text are some 80 of memory. */
TEST(parts_of_all_displays_together_are_bounded)
{
	enum { EACH = REPORT_PARTS_MAX / 4 };
	const struct limits limits = {.value = {[LIMIT_output_bytes] = 10 << 20}};
	struct record record;
	struct err err;
	const json_t *out;
	json_t *about = NULL;
	cleanup_buf struct buf text = BUF_INIT(4 << 20);
	record_init(&record, &limits);
	CHECK_INT(buf_add(&text, "{\"data\":{\"application/json\":[{}"), 0);
	for (int i = 0; i < EACH; i++)
		CHECK_INT(buf_add(&text, ",1"), 0);
	CHECK_INT(buf_add(&text, "]}}"), 0);
	for (int i = 0; i < 6; i++)
		CHECK_INT(report_display(buf_str(&text), text.bytes, &record, &out, &about, &err),
			i < 3);
	CHECK_INT(record.n_displays_cut, 3);
	CHECK_INT(json_array_size(record.displays), 3);
	CHECK_INT(report_display("{\"data\":{}}", 11, &record, &out, &about, &err), 1);
	record_done(&record);
}
