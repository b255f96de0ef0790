/* Recordings that answer. SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/recording.h"

#include "t.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse(struct recording *rec, const char *text, struct err *err)
{
	*err = (struct err){0};
	return recorded_parse(rec, text, strlen(text), err);
}

/* The text of the next answer, or the failure's message. */
static const char *ask(struct recording *rec, const char *asked, const char *last)
{
	static char out[300];
	struct reduction r;
	struct failure why = {0};
	reduction_init(&r, NULL, NULL, NULL, NULL);
	if (recorded_answer(rec, asked, last, &r, &why) < 0) {
		snprintf(out, sizeof out, "%s", why.err.msg);
	} else {
		char *text = reply_text(&r.reply);
		snprintf(out, sizeof out, "%s", text);
		free(text);
	}
	reduction_done(&r);
	return out;
}

TEST(lines_are_served_in_turn)
{
	struct recording rec;
	struct err err;
	CHECK_INT(parse(&rec,
			  "# a comment\n\n{\"reply\": {\"text\": \"one\"}}\n"
			  "{\"times\": 2, \"reply\": {\"text\": \"two\"}}\n"
			  "{\"times\": 0, \"reply\": {\"text\": \"three\"}}",
			  &err),
		0);
	static const char *const want[] = {"one", "two", "two", "three", "three", "three"};
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		CHECK_STR(ask(&rec, "", ""), want[i]);
	recorded_done(&rec);
	CHECK_INT(parse(&rec, "{\"reply\": {\"text\": \"one\"}}\n", &err), 0);
	CHECK_STR(ask(&rec, "", ""), "one");
	CHECK_HAS(ask(&rec, "", ""), "all 1 answers are used up");
	recorded_done(&rec);
}

TEST(what_it_is_asked_is_checked)
{
	struct recording rec;
	struct err err;
	CHECK_INT(parse(&rec,
			  "\n{\"times\": 0, \"expect\": [\"a\", \"b\"], \"expect_last\": [\"b\"], "
			  "\"reject\": [\"key\"], \"reply\": {\"text\": \"ok\"}}",
			  &err),
		0);
	CHECK_STR(ask(&rec, "a b", "b"), "ok");
	CHECK_HAS(ask(&rec, "b", "b"), "line 2 expects 'a'");
	CHECK_HAS(ask(&rec, "a b", "a"), "line 2 expects 'b'");
	CHECK_HAS(ask(&rec, "a b key", "b"), "line 2 does not want 'key'");
	recorded_done(&rec);
}

TEST(a_reply_is_all_that_was_recorded)
{
	struct recording rec;
	struct err err;
	static const char reply[] =
		"{\"text\":\"hi\",\"reasoning\":\"hm\",\"tool_calls\":[{\"id\":\"x\",\"name\":\"f\","
		"\"arguments\":\"{}\"}],\"stop\":\"tool\",\"usage\":{\"input\":1,\"output\":2,"
		"\"cached\":3,\"reasoning\":4}}";
	cleanup_buf struct buf line = BUF_INIT(1000);
	CHECK_INT(buf_addf(&line, "{\"chunk\": 1, \"reply\": %s}", reply), 0);
	CHECK_INT(parse(&rec, buf_str(&line), &err), 0);
	struct reduction r;
	struct failure why;
	reduction_init(&r, NULL, NULL, NULL, NULL);
	CHECK_INT(recorded_answer(&rec, "", "", &r, &why), 0);
	CHECK_INT(reduction_finish(&r, 4), 0);
	json_t *json = reply_json(&r.reply);
	char *got = json_dumps(json, JSON_COMPACT);
	CHECK_STR(got, reply);
	free(got);
	json_decref(json);
	reduction_done(&r);
	recorded_done(&rec);
}

TEST(a_failure_can_be_recorded)
{
	struct recording rec;
	struct err err;
	CHECK_INT(parse(&rec,
			  "{\"failure\": {\"class\": \"rate\", \"message\": \"slowly\", "
			  "\"wait_ms\": 5}}",
			  &err),
		0);
	struct reduction r;
	struct failure why;
	reduction_init(&r, NULL, NULL, NULL, NULL);
	CHECK_INT(recorded_answer(&rec, "", "", &r, &why), -1);
	CHECK_INT(why.class, FAILURE_RATE);
	CHECK_INT(why.wait_ms, 5);
	CHECK_HAS(why.err.msg, "slowly");
	reduction_done(&r);
	recorded_done(&rec);
}

TEST(what_is_no_recording_is_refused)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"{}", "line 1 of the recording has neither"},
		{"\n[]", "line 2 of the recording is not a JSON object"},
		{"{\"reply\": {}, \"failure\": {\"class\": \"rate\"}}", "both"},
		{"{\"reply\": {\"txt\": \"a\"}}", "'reply' is wrong"},
		{"{\"reply\": {\"stop\": \"x\"}}", "'reply' is wrong"},
		{"{\"reply\": {\"tool_calls\": [{}]}}", "'reply' is wrong"},
		{"{\"reply\": {\"usage\": {\"input\": -1}}}", "'reply' is wrong"},
		{"{\"failure\": {}}", "'failure' is wrong"},
		{"{\"failure\": {\"class\": \"none\"}}", "'failure' is wrong"},
		{"{\"expect\": \"a\", \"reply\": {}}", "'expect' is wrong"},
		{"{\"expect\": [1], \"reply\": {}}", "'expect' is wrong"},
		{"{\"other\": 1, \"reply\": {}}", "'other' is wrong"},
		{"{\"reply\": {}", "not a JSON object"},
		{"{\"reply\": {}, \"reply\": {}}", "not a JSON object"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct recording rec;
		struct err err;
		CHECK_INT(parse(&rec, rows[i].text, &err), -EINVAL);
		CHECK_HAS(err.msg, rows[i].message);
		CHECK_HAS(err.hint, "reply");
	}
}
