/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/failure.h"

#include "base/json.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* SECRET_BYTES_MIN: a key shorter than this is not hidden. Such a key is only a placeholder, and
 * may occur in ordinary words. */
enum { JSON_PARTS_MAX = 10000, DAY_MS = 86400000, SECRET_BYTES_MIN = 4 };

static const struct {
	const char *word, *what;
	enum err_code err;
	bool is_retried;
} classes[FAILURE_END_] = {
#define X(symbol, word, err, is_retried, what) {word, what, err, is_retried},
#include "agent/wire/failure.def"
#undef X
};

/* Words that servers send as `code` or `type` of an error, each with the class of failures that
 * the word stands for. */
static const struct {
	const char *word;
	enum failure_class class;
} words[] = {
	{"overloaded_error", FAILURE_OVERLOADED},
	{"rate_limit_error", FAILURE_RATE},
	{"rate_limit_exceeded", FAILURE_RATE},
	{"insufficient_quota", FAILURE_BILLING},
	{"billing_error", FAILURE_BILLING},
	{"billing_hard_limit_reached", FAILURE_BILLING},
	{"billing_not_active", FAILURE_BILLING},
	{"context_length_exceeded", FAILURE_CONTEXT},
	{"exceed_context_size_error", FAILURE_CONTEXT},
	{"model_context_window_exceeded", FAILURE_CONTEXT},
	{"authentication_error", FAILURE_AUTH},
	{"invalid_api_key", FAILURE_AUTH},
	{"permission_error", FAILURE_PERMISSION},
	{"model_not_found", FAILURE_MODEL},
	{"not_found_error", FAILURE_MODEL},
	{"request_too_large", FAILURE_SIZE},
	{"api_error", FAILURE_SERVER},
	{"server_error", FAILURE_SERVER},
	{"timeout_error", FAILURE_TIMEOUT},
};

/* Phrases in the messages of errors, each with the class of failures that the phrase stands for.
 * A message is searched for them only if neither `code` nor `type` of the error is one of
 * `words`. */
static const struct {
	const char *phrase;
	enum failure_class class;
} phrases[] = {
	{"prompt is too long", FAILURE_CONTEXT},
	{"maximum context length", FAILURE_CONTEXT},
	{"context length exceeded", FAILURE_CONTEXT},
	{"exceeds the context window", FAILURE_CONTEXT},
	{"exceeds the available context size", FAILURE_CONTEXT},
	{"exceed context limit", FAILURE_CONTEXT},
	{"loading model", FAILURE_LOADING},
};

static const struct {
	int first, last;
	enum failure_class class;
} statuses[] = {
	{401, 401, FAILURE_AUTH},
	{402, 402, FAILURE_BILLING},
	{403, 403, FAILURE_PERMISSION},
	{404, 404, FAILURE_MODEL},
	{407, 407, FAILURE_AUTH},
	{408, 408, FAILURE_TIMEOUT},
	{409, 409, FAILURE_CONFLICT},
	{413, 413, FAILURE_SIZE},
	{429, 429, FAILURE_RATE},
	{300, 499, FAILURE_REQUEST},
	{503, 503, FAILURE_OVERLOADED},
	{504, 504, FAILURE_TIMEOUT},
	{529, 529, FAILURE_OVERLOADED},
	{500, 999, FAILURE_SERVER},
};

static const char *const hints[FAILURE_END_] = {
	[FAILURE_AUTH] = "set the key in the environment, or name a file that contains it",
	[FAILURE_BILLING] = "check your account at the provider; asking again does not help",
	[FAILURE_MODEL] = "check the name; for ollama, get the model with `ollama pull`",
	[FAILURE_CONTEXT] = "give the model less to read, or use a model with a longer context",
	[FAILURE_RATE] = "try again later, or ask for less at a time",
	[FAILURE_CONNECTION] = "check that the server runs, and that the address is right",
};

const char *failure_word(enum failure_class class)
{
	return classes[class].word;
}

const char *failure_what(enum failure_class class)
{
	return classes[class].what;
}

int failure_find(const char *word)
{
	for (int i = 0; i < FAILURE_END_; i++)
		if (strcmp(word, classes[i].word) == 0)
			return i;
	return -1;
}

bool failure_is_retried(const struct failure *f)
{
	return f->should_retry >= 0 ? f->should_retry > 0 : classes[f->class].is_retried;
}

/* Append @text with "[key]" in place of every @secret. */
static int hide(struct buf *out, const char *text, size_t bytes, const char *secret)
{
	size_t n = secret ? strlen(secret) : 0;
	while (n >= SECRET_BYTES_MIN && bytes >= n) {
		const char *found = memmem(text, bytes, secret, n);
		if (!found)
			break;
		if (buf_append(out, text, (size_t)(found - text)) < 0 || buf_add(out, "[key]") < 0)
			return -1;
		bytes -= (size_t)(found + n - text);
		text = found + n;
	}
	return buf_append(out, text, bytes);
}

void failure_said(char out[FAILURE_SAID_BYTES], const char *text, size_t bytes, const char *secret)
{
	cleanup_buf struct buf hidden = BUF_INIT((size_t)2 * FAILURE_BODY_BYTES);
	cleanup_buf struct buf escaped = BUF_INIT((size_t)8 * FAILURE_SAID_BYTES);
	out[0] = '\0';
	if (hide(&hidden, text, MIN(bytes, FAILURE_BODY_BYTES), secret) < 0)
		return;
	size_t n = utf8_cut(buf_str(&hidden), hidden.bytes, FAILURE_SAID_BYTES - 1);
	if (utf8_escape_terminal(&escaped, buf_str(&hidden), n, UTF8_ONE_LINE) < 0)
		return;
	n = utf8_cut(buf_str(&escaped), escaped.bytes, FAILURE_SAID_BYTES - 1);
	memcpy(out, buf_str(&escaped), n);
	out[n] = '\0';
}

int failure_set(struct failure *out, enum failure_class class, const char *fmt, ...)
{
	char said[ERR_MSG_BYTES];
	va_list args;
	va_start(args, fmt);
	vsnprintf(said, sizeof said, fmt, args);
	va_end(args);
	*out = (struct failure){.class = class, .should_retry = -1, .wait_ms = -1};
	int r = err_set(&out->err, classes[class].err, "%s%s%s", classes[class].what,
		said[0] ? ": " : "", said);
	return hints[class] ? err_hint(&out->err, "%s", hints[class]) : r;
}

/* Return the error object of a response. Gemini wraps the response in an array. Some versions of
 * vLLM send the error object alone. */
static const json_t *unwrap(const json_t *root)
{
	if (json_is_array(root))
		root = json_array_get(root, 0);
	const json_t *error = json_object_get(root, "error");
	return error && !json_is_null(error) ? error : root;
}

static const char *text_of(const json_t *error)
{
	if (json_is_string(error))
		return json_string_value(error);
	const char *text = json_string_value(json_object_get(error, "message"));
	return text ? text : json_string_value(json_object_get(error, "detail"));
}

static enum failure_class find_word(const json_t *error)
{
	static const char *const names[] = {"code", "type"};
	for (size_t k = 0; k < ARRAY_LEN(names); k++) {
		const char *word = json_string_value(json_object_get(error, names[k]));
		for (size_t i = 0; word && i < ARRAY_LEN(words); i++)
			if (strcmp(word, words[i].word) == 0)
				return words[i].class;
	}
	return FAILURE_NONE;
}

static enum failure_class find_phrase(const char *text)
{
	for (size_t i = 0; text && i < ARRAY_LEN(phrases); i++)
		if (strcasestr(text, phrases[i].phrase))
			return phrases[i].class;
	return FAILURE_NONE;
}

static enum failure_class find_status(int status)
{
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
		if (status >= statuses[i].first && status <= statuses[i].last)
			return statuses[i].class;
	return FAILURE_NONE;
}

/* Find the class of an error. @status is the HTTP status, or 0 if the error came within a
 * stream. In a stream, llama.cpp and vLLM send the status as the member `code` of the error. */
static enum failure_class classify(const json_t *error, const char *text, int status)
{
	if (status == 0)
		status = (int)json_integer_value(json_object_get(error, "code"));
	enum failure_class class = find_word(error);
	/* An error with status 429 is about a limit per minute. Its message may mention tokens,
	 * and so resemble an error about the context. Therefore the message is not searched for
	 * phrases. */
	if (class == FAILURE_NONE && status != 429)
		class = find_phrase(text);
	if (class == FAILURE_NONE)
		class = find_status(status);
	return class == FAILURE_NONE ? FAILURE_SERVER : class;
}

static void put(struct failure *out, const json_t *error, const char *raw, size_t bytes, int status,
	const char *secret)
{
	char said[FAILURE_SAID_BYTES];
	const char *text = text_of(error);
	if (!text && !raw)
		raw = "", bytes = 0;
	enum failure_class class = classify(error, text ? text : raw, status);
	failure_said(said, text ? text : raw, text ? strlen(text) : bytes, secret);
	if (said[0])
		(void)failure_set(out, class, "%s", said);
	else
		(void)failure_set(out, class, "HTTP status %d without a reason", status);
	json_int_t n = json_integer_value(json_object_get(error, "n_ctx"));
	out->context_tokens = n > 0 ? n : 0;
	out->status = status;
}

/* Return the wait that the server asks for, in milliseconds. The header gives it as a number
 * such as "1.5", or as a date. Returns: -1 if the server asks for none, or if it is not between
 * 0 and one day. */
static int64_t read_wait(const struct failure_headers *h)
{
	char *end;
	double ms = strtod(h->retry_after_ms, &end);
	if (end == h->retry_after_ms || *end) {
		ms = strtod(h->retry_after, &end) * 1000;
		if (end == h->retry_after || *end) {
			struct tm tm = {0};
			const char *rest =
				strptime(h->retry_after, "%a, %d %b %Y %H:%M:%S GMT", &tm);
			if (!rest || *rest)
				return -1;
			ms = difftime(timegm(&tm), h->now) * 1000;
		}
	}
	return isfinite(ms) && ms > 0 && ms <= DAY_MS ? (int64_t)ceil(ms) : -1;
}

void failure_read(struct failure *out, int status, const struct failure_headers *headers,
	const char *body, size_t bytes, const char *secret)
{
	bytes = MIN(bytes, FAILURE_BODY_BYTES);
	json_t *root = json_parts(body, bytes) > JSON_PARTS_MAX
		? NULL
		: json_loadb(body, bytes, JSON_DECODE_ANY, NULL);
	char *raw = strndup(body, bytes);
	put(out, root ? unwrap(root) : NULL, raw, raw ? strlen(raw) : 0, status, secret);
	if (strcasecmp(headers->should_retry, "true") == 0)
		out->should_retry = 1;
	else if (strcasecmp(headers->should_retry, "false") == 0)
		out->should_retry = 0;
	out->wait_ms = read_wait(headers);
	failure_said(out->request_id, headers->request_id,
		MIN(strlen(headers->request_id), sizeof out->request_id - 1), secret);
	free(raw);
	json_decref(root);
}

void failure_read_json(struct failure *out, const json_t *error, const char *secret)
{
	put(out, unwrap(error), NULL, 0, 0, secret);
}
