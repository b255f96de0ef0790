/* A recording: written, read, and refused when a byte is wrong. SPDX-License-Identifier: Apache-2.0
 */
#include "store/recording.h"

#include "shelf.h"

static char *record_some(const char *dir, size_t *bytes, char last[DIGEST_BYTES])
{
	struct err err = {0};
	char at[DIGEST_BYTES] = "";
	char *text = NULL;
	JOURNAL j = shelf_open(dir);
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	CHECK_INT(shelf_step(j, "s-a", "", "a = 1", at), 0);
	CHECK_INT(shelf_step(j, "s-a", at, "\xff\xfe no UTF-8", at), 0);
	CHECK_INT(shelf_file(j, "s-a", at, "a/b", "\0\xff", 2, at), 0);
	CHECK_INT(shelf_step(j, "s-a", at, "caf\xc3\xa9 \"\n\t", at), 0);
	CHECK_INT(shelf_calls(j, "s-a", at, "{\"value\":\"\303\251\"}", at), 0);
	memcpy(last, at, DIGEST_BYTES);
	CHECK_INT(shelf_step(j, "s-a", at, "beyond", at), 0);
	FILE *f = open_memstream(&text, bytes);
	CHECK_INT(shelf_export(j, "s-a", last, f, &err), 0);
	(void)fclose(f);
	return text;
}

TEST(what_is_exported_is_read)
{
	SHELF;
	char last[DIGEST_BYTES], path[128];
	size_t bytes = 0;
	char *text = record_some(dir, &bytes, last);
	struct recording r;
	CHECK_INT(recording_parse(&r, text, bytes, &err), 0);
	CHECK_INT(r.n_steps, 5);
	CHECK_STR(r.order, "{\"order\":1}");
	CHECK_STR(r.steps[0].code, "a = 1");
	CHECK_STR(r.steps[1].code, "\xff\xfe no UTF-8");
	CHECK_STR(r.steps[2].runtime, "file");
	CHECK_STR(r.steps[2].code, "write a/b");
	CHECK_INT(r.steps[2].extra_bytes, 2);
	CHECK_INT(memcmp(r.steps[2].extra, "\0\xff", 3), 0);
	CHECK_STR(r.steps[3].code, "caf\xc3\xa9 \"\n\t");
	CHECK_STR(r.steps[4].digest, last);
	CHECK_HAS(r.steps[4].extra, "\":\"{\\\"value\\\":\\\"\303\251\\\"}\"}");
	CHECK_STR(r.steps[3].parent, r.steps[2].digest);
	CHECK_HAS(r.steps[3].record, "stdout");
	recording_done(&r);
	snprintf(path, sizeof path, "%s/rec", dir);
	FILE *f = fopen(path, "w");
	CHECK_INT(fwrite(text, 1, bytes, f), bytes);
	(void)fclose(f);
	CHECK_INT(recording_load(&r, path, &err), 0);
	CHECK_INT(r.n_steps, 5);
	recording_done(&r);
	CHECK(recording_load(&r, "/nowhere/at/all", &err) < 0);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	CHECK(recording_load(&r, dir, &err) < 0);
	CHECK_INT(err.code, ERR_USAGE);
	free(text);
}

/* What is chance stays out of it. */
TEST(two_sessions_with_the_same_steps_are_the_same_bytes)
{
	SHELF;
	char *text[2] = {NULL, NULL};
	size_t bytes[2] = {0, 0};
	JOURNAL j = shelf_open(dir);
	for (int i = 0; i < 2; i++) {
		const char *id = i ? "s-b" : "s-a";
		char at[DIGEST_BYTES] = "";
		CHECK_INT(shelf_session(j, id, ""), 0);
		CHECK_INT(shelf_step(j, id, "", "a = 1", at), i);
		CHECK_INT(shelf_step(j, id, at, "a", at), i);
		FILE *f = open_memstream(&text[i], &bytes[i]);
		CHECK_INT(shelf_export(j, id, NULL, f, &err), 0);
		(void)fclose(f);
	}
	CHECK_INT(bytes[0], bytes[1]);
	CHECK_STR(text[0], text[1]);
	free(text[0]);
	free(text[1]);
}

/* Any bit of it, and any cut: refused, with the line; or the same is read as before. */
TEST(every_change_and_cut_is_refused)
{
	SHELF;
	char last[DIGEST_BYTES], line[32];
	size_t bytes = 0;
	char *text = record_some(dir, &bytes, last);
	struct recording r;
	int n_same = 0, number = 1;
	for (size_t at = 0; at < bytes; at++) {
		snprintf(line, sizeof line, "line %d", number);
		number += text[at] == '\n';
		for (int bit = 0; bit < 8; bit++) {
			text[at] ^= (char)(1 << bit);
			if (recording_parse(&r, text, bytes, &err) == 0) {
				n_same++; /* hexadecimal case in an escape: the text is the same */
				CHECK_STR(r.steps[r.n_steps - 1].digest, last);
				recording_done(&r);
			} else {
				/* a changed "retort_record" or its number is none of ours, or newer
				 */
				CHECK(at < 20 || err.code == ERR_DAMAGED);
				CHECK(at < 20 || strstr(err.msg, line));
			}
			text[at] ^= (char)(1 << bit);
		}
		CHECK(recording_parse(&r, text, at, &err) < 0);
	}
	printf("# %d of %zu changes read the same\n", n_same, 8 * bytes);
	CHECK(n_same < 20);
	free(text);
}

TEST(a_newer_recording_and_nonsense)
{
	static const struct {
		const char *text;
		enum err_code code;
	} bad[] = {{"", ERR_USAGE}, {"\n", ERR_USAGE}, {"{}\n", ERR_USAGE}, {"[1]\n", ERR_USAGE},
		{"{\"retort_record\": 4}\n", ERR_USAGE}, {"{\"retort_record\": 1}\n", ERR_DAMAGED},
		{"{\"retort_record\": 0}\n", ERR_DAMAGED},
		{"{\"retort_record\": \"1\"}\n", ERR_USAGE},
		{"{\"retort_record\":1,\"order\":\"\",\"steps\":100001,\"head\":\"\","
		 "\"check\":\"\"}\n",
			ERR_LIMIT},
		{"{\"retort_record\":1,\"order\":\"\",\"steps\":0,\"head\":\"\","
		 "\"check\":\"\"}\n",
			ERR_DAMAGED}};
	struct recording r;
	struct err err = {0};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CHECK(recording_parse(&r, bad[i].text, strlen(bad[i].text), &err) < 0);
		CHECK_INT(err.code, bad[i].code);
	}
	CHECK(recording_parse(&r, "", (size_t)RECORDING_MAX + 1, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
}

/* A reader that does not know files must not take such a step for one of a runtime. */
TEST(a_file_needs_the_version_that_has_files)
{
	SHELF;
	char last[DIGEST_BYTES];
	size_t bytes = 0;
	char *text = record_some(dir, &bytes, last);
	struct recording r;
	CHECK_INT(strncmp(text, "{\"retort_record\":3,", 19), 0);
	text[17] = '1';
	CHECK(recording_parse(&r, text, bytes, &err) < 0);
	CHECK_INT(err.code, ERR_DAMAGED);
	CHECK_HAS(err.msg, "line 4");
	text[17] = '2'; /* and this one nothing of calls */
	CHECK(recording_parse(&r, text, bytes, &err) < 0);
	CHECK_INT(err.code, ERR_DAMAGED);
	CHECK_HAS(err.msg, "line 6");
	free(text);
}

/* A step is written as the oldest version that can say it. */
TEST(the_version_is_that_of_the_newest_thing_in_it)
{
	SHELF;
	char at[DIGEST_BYTES] = "";
	JOURNAL j = shelf_open(dir);
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	for (int version = 1; version <= 4; version++) {
		size_t bytes = 0;
		char *text = NULL;
		CHECK_INT(version == 2	       ? shelf_file(j, "s-a", at, "a", "", 0, at)
				: version == 3 ? shelf_calls(j, "s-a", at, "{\"value\":1}", at)
					       : shelf_step(j, "s-a", at, "1", at),
			0);
		FILE *f = open_memstream(&text, &bytes);
		CHECK_INT(shelf_export(j, "s-a", NULL, f, &err), 0);
		(void)fclose(f);
		CHECK_INT(text[17] - '0', MIN(version, 3));
		free(text);
	}
}

/* The answers of a step's calls: each of them, no other. */
TEST(answers_that_do_not_fit_are_refused)
{
	static const char *const bad[][2] = {{"\"answers\":{", "\"answers\":{\"00\":\"\","},
		{"\"answers\":{", "\"answer\":{"}, {"{\\\"value\\\":", "{\\\"error\\\":"},
		{",\"answers\":", ",\"answers\":[],\"x\":"}};
	SHELF;
	char last[DIGEST_BYTES];
	size_t bytes = 0;
	struct recording r;
	char *text = record_some(dir, &bytes, last);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char changed[8192], *at = strstr(text, bad[i][0]);
		CHECK(at != NULL);
		int n = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text,
			bad[i][1], at + strlen(bad[i][0]));
		CHECK(recording_parse(&r, changed, (size_t)n, &err) < 0);
		CHECK_INT(err.code, ERR_DAMAGED);
		CHECK_HAS(err.msg, "line 6");
	}
	free(text);
}

/* For test/fuzz/corpus/recording: RETORT_TEST_RECORDING=FILE writes one. */
TEST(a_session_without_steps)
{
	SHELF;
	char last[DIGEST_BYTES];
	const char *to = getenv("RETORT_TEST_RECORDING");
	size_t bytes = 0;
	char *text = NULL;
	struct recording r;
	JOURNAL j = shelf_open(dir);
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	FILE *f = open_memstream(&text, &bytes);
	CHECK_INT(shelf_export(j, "s-a", NULL, f, &err), 0);
	CHECK(shelf_export(j, "s-b", NULL, f, &err) < 0);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	(void)fclose(f);
	CHECK_INT(recording_parse(&r, text, bytes, &err), 0);
	CHECK_INT(r.n_steps, 0);
	recording_done(&r);
	free(text);
	if (to) {
		char sub[96];
		snprintf(sub, sizeof sub, "%s/other", dir);
		text = record_some(sub, &bytes, last);
		f = fopen(to, "w");
		CHECK_INT(fwrite(text, 1, bytes, f), bytes);
		(void)fclose(f);
		free(text);
	}
}
