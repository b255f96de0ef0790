/*
 * Routes of the front "sandboxfusion" that score what a model has written, by test cases in the
 * request: /submit of SandboxFusion, for its data sets of the type CommonOJDataset; and
 * /common_evaluate and /common_evaluate_batch of ScaleBox. All are program.judge.
 *
 * The wires give test cases in four shapes: pairs of input and output, as objects of streams or as
 * two lists; arguments and results of a function; and code with assertions. A function is called by
 * some lines behind the program, which get the arguments as input and print the result, so the
 * expected one is compared outside of the box. Assertions are part of the program, as they are in
 * these wires.
 *
 * Source: github.com/bytedance/SandboxFusion, sandbox/datasets/common_oj.py and
 * sandbox/utils/testing.py; github.com/icip-cas/ScaleBox, sandbox/server/online_judge_api.py.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/front/sandboxfusion.h"

#include "api/call/program.h"
#include "api/row/param.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "serve/front/completion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COMPILED_MS = 10000,
	OTHER_MS = 20000,
	TOTAL_MS = 1000000,
	CODE_MAX = 16 << 20,
	TOLD_BYTES = 1000,
	PARTS_MAX = 1000000
};

/* What the request is about. Texts and JSON are borrowed from the body. */
struct scoring {
	const json_t *config, *extra, *data, *cases;
	const char *language; /* as program.languages names it */
	const char *type;     /* of the cases */
	const char *code;     /* in the completion */
	size_t code_bytes;
	bool is_compiled;
	bool is_batch; /* the cases are an object of lists, not a list of objects */
};

static const char *text_of(const json_t *object, const char *name, const char *fallback)
{
	const char *text = json_string_value(json_object_get(object, name));
	return text ? text : fallback;
}

static bool is_set(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);
	return value && !json_is_null(value);
}

static void refuse(struct front_call *c, const char *detail)
{
	front_answer(c, 400, json_pack("{s:s}", "detail", detail));
}

/* The cases of the request: ScaleBox takes those of SandboxFusion, too. */
static const json_t *cases_in(const json_t *data, bool is_scalebox)
{
	return json_object_get(
		data, is_scalebox && is_set(data, "test_cases") ? "test_cases" : "test");
}

/* ---- the program ---- */

/* Lines behind a program that call one of its functions. */
static const struct {
	const char *language, *before, *call;
} calls[] = {
	{"python",
		"import string, re, datetime, collections, heapq, bisect, copy, math, random, "
		"statistics, itertools, functools, operator, io, sys, json\n"
		"from collections import *\nfrom heapq import *\nfrom bisect import *\n"
		"from math import *\nfrom itertools import *\nfrom functools import *\n"
		"from typing import *\n",
		"\n\n__import__('sys').stdout.write('\\x1e' + __import__('json').dumps((lambda g, f, "
		"b: (b.getattr(g['Solution'](), f) if b.isinstance(g.get('Solution'), b.type) and "
		"b.hasattr(g['Solution'], f) else g[f]))(__import__('sys').modules['__main__']."
		"__dict__, '%s', __import__('builtins'))(*__import__('json').load(__import__("
		"'sys').stdin))))\n"},
	{"javascript", "",
		"\n;process.stdout.write('\\x1e' + JSON.stringify(%s("
		"...JSON.parse(require('fs').readFileSync(0, 'utf8')))));\n"},
};

/* What programs of a data set may use without saying so. */
static const struct {
	const char *language, *lines;
} imports[] = {
	{"python",
		"import math\nimport re\nimport sys\nimport copy\nimport datetime\n"
		"import itertools\nimport collections\nimport heapq\nimport statistics\n"
		"import functools\nimport hashlib\nimport string\nfrom typing import *\n"
		"from collections import *\ntry:\n    import numpy\n    import numpy as np\n"
		"except ImportError:\n    pass\n"},
	{"cpp", "#include <bits/stdc++.h>\nusing namespace std;\n"},
};

static bool is_function_name(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$");
	return n > 0 && n == strlen(name) && n < 256 && !strchr("0123456789", name[0]);
}

/* The function that the cases name. */
static const char *function_of(const struct scoring *s)
{
	const json_t *row = s->is_batch ? s->cases : json_array_get(s->cases, 0);
	return text_of(row, "fn_name", "");
}

static const char *add_call(struct buf *out, const struct scoring *s)
{
	const char *function = function_of(s);
	const json_t *row;
	size_t k;
	if (!is_function_name(function))
		return "fn_name: not the name of a function";
	json_array_foreach(s->cases, k, row) if (strcmp(text_of(row, "fn_name", ""), function) !=
		0) return "fn_name: not the same in all test cases";
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		if (strcmp(calls[i].language, s->language) != 0)
			continue;
		const char *at = strstr(calls[i].call, "%s");
		if (memmem(s->code, s->code_bytes, "class Solution", strlen("class Solution")))
			buf_add(out, calls[i].before);
		buf_append(out, s->code, s->code_bytes);
		buf_append(out, calls[i].call, (size_t)(at - calls[i].call));
		buf_add(out, function);
		buf_add(out, at + 2);
		return NULL;
	}
	return "test cases of type function_call: only in python and javascript";
}

/* Return how much of the code is before the first of the stop tokens. */
static size_t before_stop(const struct scoring *s)
{
	const json_t *tokens = json_object_get(s->cases, "stop_tokens"), *token;
	size_t i, n = s->code_bytes;
	json_array_foreach(tokens, i, token)
	{
		const char *text = json_string_value(token);
		size_t bytes = json_string_length(token);
		if (!text || bytes == 0 || strcmp(text, "\n\n") == 0)
			continue;
		const char *at = memmem(s->code, n, text, bytes);
		n = at ? (size_t)(at - s->code) : n;
	}
	return n;
}

static const char *add_assertions(struct buf *out, const struct scoring *s)
{
	const json_t *tests =
		json_object_get(s->cases, is_set(s->cases, "tests") ? "tests" : "test");
	const char *entry = text_of(s->cases, "entry_point", NULL);
	if (!json_is_string(tests))
		return "test_cases: neither test nor tests";
	for (size_t i = 0; i < ARRAY_LEN(imports); i++)
		if (strcmp(imports[i].language, s->language) == 0)
			buf_add(out, imports[i].lines);
	buf_append(out, s->code, before_stop(s));
	buf_add(out, "\n");
	buf_append(out, json_string_value(tests), json_string_length(tests));
	if (entry && is_function_name(entry) && strcmp(s->language, "python") == 0)
		buf_addf(out, "\ncheck(%s)\n", entry);
	return NULL;
}

/* Make the program that is run. @why: why there is none. */
static json_t *program_of(const struct scoring *s, const char **why)
{
	cleanup_buf struct buf out = BUF_INIT(CODE_MAX);
	if (strcmp(s->type, "function_call") == 0)
		*why = add_call(&out, s);
	else if (strcmp(s->type, "assert") == 0)
		*why = add_assertions(&out, s);
	else
		buf_append(&out, s->code, s->code_bytes);
	if (!*why && buf_error(&out) < 0)
		*why = "the program is too long";
	return *why ? NULL : json_new_text(buf_str(&out), out.bytes);
}

/* ---- the cases ---- */

static json_t *encoded(const json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	json_t *out = text ? json_string(text) : NULL;
	free(text);
	return out;
}

/* Lines of JSON as a list, if json_input says so; otherwise @given. Owns: the caller decrefs. */
static json_t *arguments_of(const struct scoring *s, json_t *given)
{
	const char *at = json_string_value(given);
	if (!at || !json_get_bool(s->cases, "json_input"))
		return json_incref(given);
	json_t *out = json_need(json_array());
	for (const char *end; at; at = *end ? end + 1 : NULL) {
		end = strchrnul(at, '\n');
		json_t *value = json_loadb(at, (size_t)(end - at), JSON_DECODE_ANY, NULL);
		if (!value) {
			json_decref(out);
			return json_incref(given);
		}
		json_add_new(out, value);
	}
	return out;
}

/* Make a case of program.judge from a call's arguments and results. */
static json_t *call_row(const struct scoring *s, json_t *input, json_t *output)
{
	json_t *args = arguments_of(s, input), *row = NULL;
	json_t *results = json_is_string(output) ? arguments_of(s, output) : json_incref(output);
	const json_t *result = json_is_array(results) ? json_array_get(results, 0) : results;
	if (json_is_array(args) && result)
		row = json_pack("{s:o, s:o}", "stdin", encoded(args), "expected", encoded(result));
	json_decref(args);
	json_decref(results);
	return row;
}

/* Make a case of program.judge. Returns: NULL if the case has another shape than its type. */
static json_t *case_row(const struct scoring *s, size_t i)
{
	const json_t *row = s->is_batch ? s->cases : json_array_get(s->cases, i);
	json_t *input = json_object_get(row, "input"), *output = json_object_get(row, "output");
	if (s->is_batch) {
		input = json_array_get(input, i);
		output = json_array_get(output, i);
	}
	if (strcmp(s->type, "function_call") == 0)
		return call_row(s, input, output);
	if (json_is_object(input) && json_is_object(output)) {
		input = json_object_get(input, "stdin");
		output = json_object_get(output, "stdout");
	}
	return json_is_string(input) && json_is_string(output)
		? json_pack("{s:O, s:O}", "stdin", input, "expected", output)
		: NULL;
}

static size_t count_cases(const struct scoring *s)
{
	if (strcmp(s->type, "assert") == 0)
		return 1;
	if (!s->is_batch)
		return json_array_size(s->cases);
	size_t n = json_array_size(json_object_get(s->cases, "input"));
	return n == json_array_size(json_object_get(s->cases, "output")) ? n : 0;
}

static json_t *cases_of(const struct scoring *s)
{
	if (strcmp(s->type, "assert") == 0)
		return json_pack("[{}]");
	json_t *out = json_need(json_array());
	for (size_t i = 0; i < count_cases(s); i++) {
		json_t *row = case_row(s, i);
		if (!row) {
			json_decref(out);
			return NULL;
		}
		json_add_new(out, row);
	}
	return out;
}

/* ---- the answer ---- */

/* A text, or its two ends if it is long. */
static json_t *told(const json_t *text, bool is_whole)
{
	const char *at = json_string_value(text);
	size_t bytes = json_string_length(text), half = TOLD_BYTES / 2;
	if (!at || is_whole || bytes <= TOLD_BYTES)
		return json_incref(json_unconst(text));
	cleanup_buf struct buf out = BUF_INIT(2 * TOLD_BYTES);
	size_t tail = bytes - half;
	while (tail < bytes && ((unsigned char)at[tail] & 0xc0) == 0x80)
		tail++;
	buf_append(&out, at, utf8_cut(at, bytes, half));
	buf_add(&out, "...");
	buf_append(&out, at + tail, bytes - tail);
	return json_new_text(buf_str(&out), out.bytes);
}

static json_t *test_info(const struct scoring *s, size_t i, const json_t *row, bool is_whole)
{
	if (strcmp(s->type, "assert") == 0)
		return json_null();
	if (strcmp(s->type, "function_call") != 0)
		return json_pack("{s:{s:o}, s:{s:o}}", "input", "stdin",
			told(json_object_get(row, "stdin"), is_whole), "output", "stdout",
			told(json_object_get(row, "expected"), is_whole));
	if (!s->is_batch)
		return json_incref(json_array_get(s->cases, i));
	return json_pack("{s:s, s:s, s:O, s:O}", "type", s->type, "fn_name", function_of(s),
		"input", json_array_get(json_object_get(s->cases, "input"), i), "output",
		json_array_get(json_object_get(s->cases, "output"), i));
}

/* Cut off the result of a function, which the lines behind the program have printed. */
static void cut_mark(const json_t *info)
{
	json_t *run = json_object_get(info, "run_result");
	const json_t *text = json_object_get(run, "stdout");
	const char *at = json_string_value(text), *mark = NULL;
	if (at)
		mark = memrchr(at, 0x1e, json_string_length(text));
	if (mark)
		json_put_textn(run, "stdout", at, (size_t)(mark - at));
}

/* Make the answer of run_code for a case. */
static json_t *exec_info(const json_t *judged, const json_t *compile)
{
	const json_t *run = json_object_get(judged, "run");
	const char *message = json_get_text(judged, "message");
	const char *verdict = json_get_text(judged, "verdict");
	if (strcmp(verdict, "skipped") == 0)
		return fusion_answer("SandboxError", "Total Timeout", NULL);
	if (strcmp(verdict, "unjudged") == 0)
		return fusion_answer("SandboxError", message, NULL);
	json_t *result = json_need(json_object());
	json_put_shared(result, "compile", compile);
	json_put_shared(result, "run", run);
	json_t *info = fusion_ended(result);
	json_decref(result);
	return info;
}

static json_t *test_row(const struct scoring *s, const json_t *row, size_t i, const json_t *judged,
	const json_t *compile)
{
	bool is_passed = strcmp(json_get_text(judged, "verdict"), "passed") == 0;
	bool is_whole = !is_passed || json_get_bool(s->extra, "return_full_case");
	json_t *info = exec_info(judged, compile);
	if (strcmp(s->type, "function_call") == 0) {
		cut_mark(info);
		if (!is_passed && strcmp(json_get_text(info, "status"), "Success") == 0) {
			json_put_text(info, "status", "Failed");
			json_put_text(info, "message", "Wrong Answer");
		}
	}
	return json_pack("{s:b, s:o, s:o}", "passed", is_passed, "exec_info", info, "test_info",
		test_info(s, i, row, is_whole));
}

/* The tests of the answer. A program that does not compile fails all of them. */
static json_t *tests_of(const struct scoring *s, const json_t *rows, const json_t *result)
{
	const json_t *judged = json_object_get(result, "cases");
	const json_t *compile = json_object_get(result, "compile");
	bool is_all = json_get_bool(s->extra, "run_all_cases");
	size_t n = json_array_size(judged);
	json_t *tests = json_need(json_array());
	if (n == 0)
		n = is_all ? json_array_size(rows) : 1;
	for (size_t i = 0; i < n; i++)
		json_add_new(tests,
			test_row(
				s, json_array_get(rows, i), i, json_array_get(judged, i), compile));
	return tests;
}

static void read_scoring(struct scoring *s, const json_t *body, bool is_scalebox);

static void on_judged(struct front_call *c, const json_t *result, const struct err *err)
{
	struct scoring s;
	const json_t *rows = json_object_get(c->kept, "cases");
	bool is_scalebox = json_get_bool(c->kept, "is_scalebox");
	if (!result) {
		front_fail(c, err);
		return;
	}
	read_scoring(&s, c->body, is_scalebox);
	bool is_own = strcmp(s.type, "assert") != 0;
	const json_t *id = json_object_get(c->body, "id");
	front_answer(c, 200,
		json_pack("{s:o, s:O, s:o, s:o, s:n, s:o, s:n, s:n}", "id",
			id ? json_incref(json_unconst(id)) : json_integer(0), "accepted",
			json_object_get(result, "accepted"), "extracted_code",
			json_new_text(s.code, s.code_bytes), "full_code",
			is_own ? json_null() : json_incref(json_object_get(c->kept, "code")),
			"test_code", "tests", tests_of(&s, rows, result), "extracted_type",
			"extra"));
}

/* ---- the request ---- */

/* Read @body, whose types are checked by check_body(). */
static void read_scoring(struct scoring *s, const json_t *body, bool is_scalebox)
{
	const json_t *completion = json_object_get(body, "completion");
	const json_t *config = json_object_get(body, "config");
	const char *language = text_of(config, "language", "");
	*s = (struct scoring){.config = config,
		.extra = json_object_get(config, "extra"),
		.data = json_object_get(config, "provided_data"),
		.language = language};
	const char *known = program_language(language, &s->is_compiled);
	if (known)
		s->language = known;
	s->cases = cases_in(s->data, is_scalebox);
	s->is_batch = json_is_object(s->cases);
	const json_t *first = s->is_batch ? s->cases : json_array_get(s->cases, 0);
	s->type =
		text_of(first, "type", is_set(first, "fn_name") ? "function_call" : "stdin_stdout");
	if (!is_scalebox)
		s->type = "stdin_stdout";
	s->code = completion_code(json_string_value(completion), json_string_length(completion),
		s->language, &s->code_bytes);
}

/* Return why the body is refused, or NULL. */
static const char *check_body(const json_t *body, bool is_scalebox)
{
	static const char *const numbers[] = {"compile_timeout", "run_timeout", "memory_limit_mb"};
	const json_t *config = json_object_get(body, "config");
	const json_t *data = json_object_get(config, "provided_data");
	const json_t *extra = json_object_get(config, "extra");
	const json_t *cases = cases_in(data, is_scalebox);
	const char *type = text_of(config, "dataset_type", "");
	if (!json_is_string(json_object_get(body, "completion")) || !json_is_object(config))
		return "completion and config: Field required";
	if (!is_set(config, "language") || !json_is_string(json_object_get(config, "language")))
		return "config.language field must exist, got None";
	if (!is_scalebox && strcmp(type, "CommonOJDataset") != 0)
		return "config.dataset_type: only CommonOJDataset, with provided_data, is there";
	if (is_set(config, "custom_extract_logic"))
		return "config.custom_extract_logic is not supported";
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (is_set(config, numbers[i]) &&
			!json_is_number(json_object_get(config, numbers[i])))
			return "config: a timeout or limit is not a number";
	if (extra && !json_is_null(extra) && !json_is_object(extra))
		return "config.extra: not a dictionary";
	if (!json_is_array(cases) && !(is_scalebox && json_is_object(cases)))
		return is_scalebox ? "config.provided_data.test_cases is missing"
				   : "config.provided_data.test is missing";
	return NULL;
}

static void put_checker(json_t *params, const struct scoring *s)
{
	const json_t *program = json_object_get(s->extra, "special_judge_program");
	bool is_forced = json_get_bool(s->extra, "force_special_judge") && json_is_string(program);
	if (!is_forced)
		json_put_text(params, "compare",
			strcmp(s->type, "function_call") == 0 ? "json" : "lines");
	if (!json_is_string(program) || strcmp(s->type, "stdin_stdout") != 0)
		return;
	json_put_new(params, "checker",
		json_pack("{s:O, s:s, s:s, s:s, s:s}", "code", program, "language",
			text_of(s->extra, "special_judge_language", "python"), "input", "stdin.txt",
			"expected", "stdout.txt", "output", "answer.txt"));
}

static json_t *params_of(const struct scoring *s, json_t *cases, json_t *code, bool is_scalebox)
{
	double megabytes = json_number_value(json_object_get(s->config, "memory_limit_mb"));
	int64_t fallback_ms = is_scalebox || s->is_compiled ? COMPILED_MS : OTHER_MS;
	json_t *params = json_need(json_object());
	json_put_text(params, "language", s->language);
	json_put_shared(params, "code", code);
	json_put_shared(params, "cases", cases);
	json_put_bool(params, "all", json_get_bool(s->extra, "run_all_cases"));
	json_put_int(params, "compile_timeout_ms",
		front_time(s->config, "compile_timeout", 1, COMPILED_MS));
	json_put_int(params, "timeout_ms", front_time(s->config, "run_timeout", 1, fallback_ms));
	if (strcmp(s->type, "assert") != 0)
		json_put_int(params, "total_timeout_ms",
			front_time(s->extra, "total_timeout", 1, TOTAL_MS));
	if (megabytes > 0)
		front_limit(params, "memory_bytes", megabytes * (1 << 20));
	put_checker(params, s);
	return params;
}

static bool is_known_type(const char *type)
{
	static const char *const types[] = {"stdin_stdout", "function_call", "assert"};
	bool is_known = false;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		is_known = is_known || strcmp(types[i], type) == 0;
	return is_known;
}

/* Data sets have their cases as JSON in a text, too: put what it says in its place. */
static void read_text(const json_t *body)
{
	json_t *data = json_object_get(json_object_get(body, "config"), "provided_data");
	const json_t *test = json_object_get(data, "test");
	size_t n_parts = json_parts(json_string_value(test), json_string_length(test));
	if (json_is_string(test) && n_parts <= PARTS_MAX)
		json_put_new(data, "test",
			json_loadb(json_string_value(test), json_string_length(test),
				JSON_ALLOW_NUL, NULL));
}

static void start(struct front_call *c, bool is_scalebox)
{
	struct scoring s;
	read_text(c->body);
	const char *why = check_body(c->body, is_scalebox);
	if (why) {
		refuse(c, why);
		return;
	}
	read_scoring(&s, c->body, is_scalebox);
	if (!is_known_type(s.type)) {
		refuse(c, "test_cases: type: it is stdin_stdout, function_call or assert");
		return;
	}
	json_t *cases = cases_of(&s), *code = cases ? program_of(&s, &why) : NULL;
	if (!cases || json_array_size(cases) == 0)
		why = "the test cases are not of their type, or there are no pairs of input and "
		      "output";
	if (!why) {
		c->kept = json_pack("{s:O, s:O, s:b}", "cases", cases, "code", code, "is_scalebox",
			is_scalebox);
		json_t *params = params_of(&s, cases, code, is_scalebox);
		front_box(c, params, true);
		front_operate(c, "program.judge", params, on_judged);
	} else {
		refuse(c, why);
	}
	json_decref(cases);
	json_decref(code);
}

void fusion_submit(struct front_call *c)
{
	start(c, false);
}

void fusion_evaluate(struct front_call *c)
{
	start(c, true);
}
