/* Where the numbers of an answer come from; and what helps after an error.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/answer/answer.h"

#include "agent/answer/hint.h"
#include "runtime/package.h"
#include "t.h"

#include <stdlib.h>
#include <string.h>

static json_t *read(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);
	CHECK(json != NULL);
	return json;
}

static const char record_text[] =
	"{\"status\": \"ok\", \"stdout\": \"total 12.5\\n\", \"stderr\": \"77 warnings\", "
	"\"value\": {\"text/plain\": \"short\", \"application/json\": [301, 302.75]}, "
	"\"displays\": [{\"text/plain\": \"row 4711\"}, "
	"{\"text/plain\": \"first 9001\", \"application/vnd.retort.answer+json\": {}}, "
	"{\"text/plain\": \"last 9002\", \"application/vnd.retort.answer+json\": {}}, "
	"{\"text/plain\": \"row 4712\"}]}";

TEST(the_last_one_counts)
{
	json_t *record = read(record_text), *none = read("{\"displays\": []}");
	char *words = answer_words(answer_find(record));
	CHECK_STR(words, "last 9002");
	free(words);
	CHECK(answer_find(none) == NULL);
	words = answer_words(answer_find(none));
	CHECK_STR(words, "");
	free(words);
	json_decref(record);
	json_decref(none);
}

static size_t misses(const char *text, const char *code)
{
	struct grounding *g = grounding_new();
	json_t *record = read(record_text);
	CHECK_INT(answer_remember(g, record), 0);
	json_t *out = answer_misses(g, text, code);
	size_t n = json_array_size(out);
	json_decref(out);
	json_decref(record);
	grounding_free(g);
	return n;
}

TEST(numbers_come_from_everything_but_answers)
{
	CHECK_INT(misses("12.5, 77, 301, 302.75, 4711 and 4712", NULL), 0);
	CHECK_INT(misses("9002", NULL), 1);
	CHECK_INT(misses("9001 or 9003", NULL), 2);
	CHECK_INT(misses("none", NULL), 0);
}

TEST(digits_of_the_code_are_not_computed)
{
	CHECK_INT(misses("9002", "final_answer(x + 1)"), 0);
	CHECK_INT(misses("9002", "final_answer(9002)"), 1);
	CHECK_INT(misses("9,002.00", "y = 9002\nfinal_answer(y)"), 1);
	CHECK_INT(misses("12.5", "final_answer(12.5)"), 0);
}

TEST(misses_are_bounded)
{
	CHECK_INT(
		misses("211, 212, 213, 214, 215, 216, 217, 218, 219, 220, 221, 222, 223, 224, 225, 226, 227, 228, 229, 230, 231, 232, 233, 234",
			NULL),
		ANSWER_MISSES_MAX);
}

TEST(a_missing_module_and_what_was_meant)
{
	static const struct {
		const char *module, *near;
	} rows[] = {{"panda", "pandas"}, {"Pandas", "pandas"}, {"scikit_learn", "sklearn"},
		{"scikit-learn", "sklearn"}, {"skleran", "sklearn"}, {"requests", NULL},
		{"pandas", NULL}, {"nothing_like_it", NULL}, {"PIL", NULL}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *near = package_near("pandas 1.5.3, sklearn 1.2.2", rows[i].module);
		CHECK_STR(near ? near : "", rows[i].near ? rows[i].near : "");
	}
	const struct hint_about about = {.packages = "pandas 1.5.3"};
	cleanup_buf struct buf hint = BUF_INIT(HINT_BYTES);
	json_t *record = json_pack("{s:s, s:{s:s, s:s, s:s}}", "status", "error", "error", "name",
		"ModuleNotFoundError", "message", "No module named 'panda'", "near", "pandas");
	CHECK(hint_find(&hint, record, &about));
	CHECK_HAS(buf_str(&hint), " There is pandas 1.5.3. Did you mean pandas? ");
	json_decref(record);
}

TEST(a_module_that_its_package_does_not_have)
{
	static const struct {
		const char *message, *begin;
	} rows[] = {{"No module named 'PIL.Imag'", "PIL is there, but it has no Imag. See "},
		{"No module named 'a.b.c'; 'a.b' is not a package",
			"a.b is there, but it has no c. "},
		{"No module named 'a'", "Nothing can be installed without a network."},
		{"No module named '.'", " is there"}, {"No module named 'a.b", "a is there"}};
	const struct hint_about about = {.reader = HINT_AGENT};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_buf struct buf hint = BUF_INIT(HINT_BYTES);
		json_t *record = json_pack("{s:s, s:{s:s, s:s}}", "status", "error", "error",
			"name", "ModuleNotFoundError", "message", rows[i].message);
		CHECK(hint_find(&hint, record, &about));
		CHECK_HAS(buf_str(&hint), rows[i].begin);
		json_decref(record);
	}
}

TEST(hints)
{
	static const struct {
		const char *record, *part; /* NULL: no hint */
		bool was_lost;
	} rows[] = {
		{"{\"status\":\"ok\",\"stderr\":\"URLError\"}", NULL},
		{"{\"status\":\"error\",\"error\":{\"name\":\"ValueError\",\"message\":\"x\"}}",
			NULL},
		{"{\"status\":\"error\",\"error\":{\"name\":\"ModuleNotFoundError\",\"message\":\"No "
		 "module\"}}",
			"Nothing can be installed"},
		/* It may have been a server in the box. */
		{"{\"status\":\"error\",\"error\":{\"name\":\"URLError\",\"message\":\"[Errno "
		 "111] Connection refused\"}}",
			NULL},
		/* What was caught is on stderr, and ended nothing. */
		{"{\"status\":\"error\",\"runtime\":\"python\",\"stderr\":\"Network is "
		 "unreachable\",\"error\":{\"name\":\"ValueError\",\"message\":\"x\"}}",
			NULL},
		{"{\"status\":\"error\",\"error\":{\"name\":\"ConnectionError\",\"message\":\"HTTP: "
		 "Temporary failure in name resolution\"}}",
			"no network"},
		{"{\"status\":\"error\",\"runtime\":\"shell\",\"stderr\":\"curl: (6) Could not resolve host: x\"}",
			"no network"},
		{"{\"status\":\"error\",\"error\":{\"name\":\"SyntaxError\",\"message\":\"x\"}}",
			"not run at all"},
		{"{\"status\":\"error\",\"error\":{\"name\":\"NameError\",\"message\":\"x\"}}",
			"Each language"},
		{"{\"status\":\"error\",\"error\":{\"name\":\"NameError\",\"message\":\"x\"}}",
			"may differ", true},
		{"{\"status\":\"error\",\"error\":{\"name\":\"FileNotFoundError\",\"message\":\"[Errno "
		 "2] No such file or directory: 'python'\"}}",
			"python3"},
		{"{\"status\":\"ok\",\"stderr\":\"sh: 1: python: not found\"}", "sys.executable"},
		{"{\"status\":\"timeout\"}", "Do less"},
		{"{\"status\":\"oom\"}", "in parts"},
		{"{}", NULL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *record = read(rows[i].record);
		const struct hint_about about = {.was_lost = rows[i].was_lost};
		cleanup_buf struct buf hint = BUF_INIT(HINT_BYTES);
		CHECK_INT(hint_find(&hint, record, &about), rows[i].part != NULL);
		if (rows[i].part)
			CHECK_HAS(buf_str(&hint), rows[i].part);
		json_decref(record);
	}
}
