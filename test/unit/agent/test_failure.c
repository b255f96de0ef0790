/* Errors of servers, and what is tried again when. SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/retry.h"

#include "t.h"

#include <stdio.h>
#include <string.h>

static const time_t now = 1700000000; /* Tue, 14 Nov 2023 22:13:20 GMT */

static const struct {
	int status;
	const char *body;
	enum failure_class class;
	bool is_retried;
	const char *message;
} rows[] = {
	{400, "{\"error\":{\"message\":\"bad\",\"type\":\"invalid_request_error\",\"code\":null}}",
		FAILURE_REQUEST, false, "bad"},
	{401,
		"{\"error\":{\"message\":\"no\",\"type\":\"invalid_request_error\",\"code\":"
		"\"invalid_api_key\"}}",
		FAILURE_AUTH, false, "no"},
	{401, "", FAILURE_AUTH, false, "401"},
	{402, "{}", FAILURE_BILLING, false, "{}"},
	{403, "x", FAILURE_PERMISSION, false, "x"},
	{404, "{\"error\":\"model 'x' not found\"}", FAILURE_MODEL, false, "model 'x' not found"},
	{408, "", FAILURE_TIMEOUT, true, "408"},
	{409, "", FAILURE_CONFLICT, true, "409"},
	{413, "", FAILURE_SIZE, false, "413"},
	{422, "{\"detail\":\"field\"}", FAILURE_REQUEST, false, "field"},
	{429, "{\"error\":{\"message\":\"Rate limit reached for tokens; maximum context length\"}}",
		FAILURE_RATE, true, "Rate limit"},
	{429, "{\"error\":{\"message\":\"pay\",\"code\":\"insufficient_quota\"}}", FAILURE_BILLING,
		false, "pay"},
	{429, "{\"error\":{\"message\":\"pay\",\"type\":\"insufficient_quota\"}}", FAILURE_BILLING,
		false, "pay"},
	{400, "{\"error\":{\"message\":\"m\",\"code\":\"context_length_exceeded\"}}",
		FAILURE_CONTEXT, false, "m"},
	{400,
		"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":"
		"\"prompt is too long: 210000 tokens > 200000 maximum\"},\"request_id\":\"r\"}",
		FAILURE_CONTEXT, false, "too long"},
	{413, "{\"error\":{\"message\":\"Prompt is too long\"}}", FAILURE_CONTEXT, false, "Prompt"},
	{400,
		"{\"error\":{\"code\":400,\"message\":\"m\",\"type\":\"exceed_context_size_error\","
		"\"n_prompt_tokens\":5000,\"n_ctx\":4096}}",
		FAILURE_CONTEXT, false, "m"},
	{500, "{\"error\":{\"type\":\"api_error\",\"message\":\"m\"}}", FAILURE_SERVER, true, "m"},
	{502, "<html>Bad Gateway</html>", FAILURE_SERVER, true, "<html>"},
	{503,
		"{\"error\":{\"code\":503,\"message\":\"Loading model\",\"type\":"
		"\"unavailable_error\"}}",
		FAILURE_LOADING, true, "Loading model"},
	{503, "", FAILURE_OVERLOADED, true, "503"},
	{504, "{\"error\":{\"type\":\"timeout_error\",\"message\":\"m\"}}", FAILURE_TIMEOUT, true,
		"m"},
	{529, "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}",
		FAILURE_OVERLOADED, true, "m"},
	{429, "[{\"error\":{\"code\":429,\"message\":\"gemini\"}}]", FAILURE_RATE, true, "gemini"},
	{400, "{\"object\":\"error\",\"message\":\"old vllm\",\"code\":40303}", FAILURE_REQUEST,
		false, "old vllm"},
	{500, "{\"error\":", FAILURE_SERVER, true, "{\"error\":"},
	{307, "", FAILURE_REQUEST, false, "307"},
	{599, "\x1b[31mred\n", FAILURE_SERVER, true, "\\x1b[31mred"},
};

TEST(servers_say_it_in_their_ways)
{
	const struct failure_headers none = {.now = now};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct failure f;
		failure_read(&f, rows[i].status, &none, rows[i].body, strlen(rows[i].body), NULL);
		CHECK_INT(f.class, rows[i].class);
		CHECK_INT(failure_is_retried(&f), rows[i].is_retried);
		CHECK_INT(f.status, rows[i].status);
		CHECK_HAS(f.err.msg, rows[i].message);
		CHECK(!strpbrk(f.err.msg, "\n\x1b"));
	}
	struct failure f;
	failure_read(&f, 400, &none, rows[16].body, strlen(rows[16].body), NULL);
	CHECK_INT(f.context_tokens, 4096);
}

TEST(headers_say_when)
{
	static const struct {
		struct failure_headers h;
		int64_t wait_ms;
		int should;
	} cases[] = {
		{{.now = now}, -1, -1},
		{{.now = now, .retry_after = "2"}, 2000, -1},
		{{.now = now, .retry_after = "0.5"}, 500, -1},
		{{.now = now, .retry_after = "9", .retry_after_ms = "30"}, 30, -1},
		{{.now = now, .retry_after = "Tue, 14 Nov 2023 22:13:25 GMT"}, 5000, -1},
		{{.now = now, .retry_after = "Tue, 14 Nov 2023 22:13:15 GMT"}, -1, -1},
		{{.now = now, .retry_after = "-1"}, -1, -1},
		{{.now = now, .retry_after = "0"}, -1, -1},
		{{.now = now, .retry_after = "nan"}, -1, -1},
		{{.now = now, .retry_after = "1e300"}, -1, -1},
		{{.now = now, .retry_after = "soon"}, -1, -1},
		{{.now = now, .should_retry = "true"}, -1, 1},
		{{.now = now, .should_retry = "false"}, -1, 0},
		{{.now = now, .should_retry = "maybe"}, -1, -1},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct failure f;
		failure_read(&f, 429, &cases[i].h, "", 0, NULL);
		CHECK_INT(f.wait_ms, cases[i].wait_ms);
		CHECK_INT(f.should_retry, cases[i].should);
		CHECK_INT(failure_is_retried(&f), cases[i].should != 0);
	}
}

TEST(a_key_is_not_repeated)
{
	static const char key[] = "sk-secret/1234567890";
	static const char *const bodies[] = {
		"{\"error\":{\"message\":\"Incorrect key sk-secret/1234567890, you know\"}}",
		"{\"error\":{\"message\":\"sk-secret\\/1234567890\"}}",
		"key sk-secret/1234567890sk-secret/1234567890",
	};
	struct failure_headers h = {.now = now, .request_id = "r-sk-secret/1234567890"};
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		struct failure f;
		failure_read(&f, 401, &h, bodies[i], strlen(bodies[i]), key);
		CHECK_HAS(f.err.msg, "[key]");
		CHECK(!strstr(f.err.msg, "secret"));
		CHECK_STR(f.request_id, "r-[key]");
	}
	/* Where a message is cut, a key must not begin. */
	for (size_t pad = 100; pad < 260; pad++) {
		char body[400];
		struct failure f;
		memset(body, 'x', pad);
		snprintf(body + pad, sizeof body - pad, "%s tail", key);
		failure_read(&f, 401, &h, body, strlen(body), key);
		CHECK(!strstr(f.err.msg, "sk-s"));
	}
}

static struct failure make(enum failure_class class)
{
	struct failure f;
	(void)failure_set(&f, class, "x");
	return f;
}

TEST(waiting_grows_and_ends)
{
	struct retry r = RETRY_INIT(7), same = RETRY_INIT(7), other = RETRY_INIT(8);
	struct failure f = make(FAILURE_SERVER);
	int64_t want_ms = 500;
	bool is_other = false;
	for (int i = 0; i < RETRY_TRIES_MAX; i++, want_ms *= 2) {
		int64_t ms = retry_next(&r, &f);
		CHECK(ms <= want_ms && ms >= want_ms * 3 / 4);
		CHECK_INT(retry_next(&same, &f), ms);
		is_other |= retry_next(&other, &f) != ms;
	}
	CHECK(is_other);
	CHECK_INT(retry_next(&r, &f), -1);
}

TEST(waiting_has_a_budget)
{
	struct retry r = RETRY_INIT(7);
	struct failure f = make(FAILURE_RATE);
	f.wait_ms = RETRY_WAIT_MS - 1000;
	CHECK_INT(retry_next(&r, &f), RETRY_WAIT_MS - 1000);
	/* What the server asks for is more than is left: no sense in asking before. */
	CHECK_INT(retry_next(&r, &f), -1);
	f.wait_ms = 900;
	CHECK_INT(retry_next(&r, &f), 900);
	f.wait_ms = RETRY_WAIT_MS + 1;
	r = RETRY_INIT(7);
	CHECK_INT(retry_next(&r, &f), -1);
}

TEST(a_model_that_loads_is_waited_for)
{
	struct retry r = RETRY_INIT(7);
	struct failure f = make(FAILURE_LOADING);
	int n = 0;
	while (retry_next(&r, &f) >= 0 && n < 10000)
		n++;
	CHECK_INT(n, RETRY_LOADING_MS / 2000);
	/* It has cost nothing of the other budget. */
	f = make(FAILURE_SERVER);
	CHECK(retry_next(&r, &f) > 0);
}

TEST(what_does_not_pass_is_not_tried_again)
{
	for (int class = FAILURE_NONE + 1; class < FAILURE_END_; class ++) {
		struct retry r = RETRY_INIT(7);
		struct failure f = make((enum failure_class) class);
		bool is_retried = failure_is_retried(&f);
		CHECK_INT(retry_next(&r, &f) >= 0, is_retried);
		f.should_retry = !is_retried;
		r = RETRY_INIT(7);
		CHECK_INT(retry_next(&r, &f) >= 0, !is_retried);
		CHECK_INT(failure_find(failure_word((enum failure_class) class)), class);
		CHECK(f.err.code != ERR_NONE && f.err.msg[0]);
	}
	CHECK_INT(failure_find("nonsense"), -1);
}
