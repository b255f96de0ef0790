/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/answer/block.h"
#include "agent/answer/extract.h"
#include "t.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct reply said(const char *text)
{
	struct reply r = {0};
	if (text[0]) {
		CHECK_INT(reply_add(&r, PART_TEXT, NULL, NULL), 0);
		CHECK_INT(reply_append(&r, 0, text, strlen(text)), 0);
	}
	return r;
}

static void add_call(struct reply *r, const char *name, const char *arguments)
{
	int part = reply_add(r, PART_TOOL_CALL, "call_1", name);
	CHECK(part >= 0);
	CHECK_INT(reply_append(r, (size_t)part, arguments, strlen(arguments)), 0);
}

/* What the loop would run: "runtime|code"; "" for nothing. */
static char *run_of(const struct reply *r, bool *is_other)
{
	struct extract e;
	struct buf code = BUF_INIT(1 << 20);
	char *out = NULL, *text = block_text(r, is_other);
	extract_code(text, strlen(text), &e);
	if (e.kind == EXTRACT_CODE) {
		CHECK_INT(extract_write(&code, text, &e), 0);
		CHECK(asprintf(&out, "%s|%s", e.runtime ? e.runtime : "-", buf_str(&code)) > 0);
	}
	buf_done(&code);
	free(text);
	return out ? out : strdup("");
}

static void check(struct reply *r, const char *want, bool wants_other)
{
	bool is_other = false;
	char *got = run_of(r, &is_other);
	if (!CHECK_STR(got, want))
		printf("# of %s\n", r->n_parts > 0 ? r->parts[0].text : "");
	CHECK_INT(is_other, wants_other);
	free(got);
	reply_done(r);
}

TEST(calls_in_a_text)
{
	static const struct {
		const char *text, *run;
	} rows[] = {
		{"{\"language\": \"python\", \"code\": \"print(1)\\nx = 2\"}",
			"python|print(1)\nx = 2"},
		{"I do.\n{\"language\": \"sh\", \"code\": \"ls\"}\nOutput: a", "shell|ls"},
		{"{\n  \"thought\": \"hm\",\n  \"code\": \"1 + 1\"\n}", "-|1 + 1"},
		{"functions.run_code({\"code\": \"f()\"})", "-|f()"},
		{"functions.execute({\"language\": \"JavaScript\", \"code\": \"g()\"}) and so on",
			"javascript|g()"},
		{"functions.python {\"code\": \"h()\"}", "python|h()"},
		{"  run_code( {\"code\": \"h()\"} )", "-|h()"},
		{"{\"name\": \"run_code\", \"arguments\": {\"code\": \"x\", \"language\": \"sql\"}}",
			"sql|x"},
		{"{\"name\": \"python\", \"parameters\": {\"code\": \"x\"}}", "python|x"},
		{"functions.run_code({\"language\": \"python\", \"code\": \"a = '```'\\n```\"})",
			"python|a = '```'\n```"},
		/* an answer that is JSON is an answer */
		{"{\"code\": \"DE\"}", ""},
		{"{\"language\": \"German\", \"code\": \"DE\"}", ""},
		{"{\"name\": \"Ann\", \"arguments\": {\"code\": \"x\"}}", ""},
		{"{\"language\": \"python\", \"code\": 5}", ""},
		{"{\"language\": \"python\", \"code\": \" \"}", ""},
		{"You call functions.run_code({\"code\": \"x\"}) for that.", ""},
		/* half of a call is nothing, not Python */
		{"functions.run_code({\"code\": \"f(", ""},
		{"functions.run_code({\"code\": \"f()\"", ""},
		/* a block is what is asked for */
		{"```python\nx = 1\n```\nfunctions.run_code({\"code\": \"y\"})", "python|x = 1"},
		{"```python\nfunctions.run_code({\"language\": \"sh\", \"code\": \"y\"})\n```",
			"python|functions.run_code({\"language\": \"sh\", \"code\": \"y\"})"},
		{"```python\nx = \"\"\"\n{\"language\": \"sh\", \"code\": \"ls\"}\n\"\"\"\n```",
			"python|x = \"\"\"\n{\"language\": \"sh\", \"code\": \"ls\"}\n\"\"\""},
		{"import os\nos.run_code({\"code\": 1})",
			"-|import os\nos.run_code({\"code\": 1})"},
		{"", ""},
		{"{", ""},
		{"{{{{", ""},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct reply r = said(rows[i].text);
		check(&r, rows[i].run, false);
	}
}

TEST(calls_of_tools)
{
	static const struct {
		const char *name, *arguments, *run;
	} rows[] = {
		{"run_code", "{\"code\": \"f()\"}", "-|f()"},
		{"run_code", "{\"language\": \"python\", \"code\": \"f()\"}", "python|f()"},
		{"python", "{\"code\": \"f()\"}", "python|f()"},
		{"python", "f()\ng()", "python|f()\ng()"},
		{"python", "\"f()\"", "python|f()"},
		{"bash", "{\"command\": \"ls\"}", "shell|ls"},
		{"execute", "{\"lang\": \"js\", \"source\": \"f()\"}", "javascript|f()"},
		{"sql", "{\"query\": \"select 1\"}", "sql|select 1"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct reply r = said("I take a step.");
		add_call(&r, rows[i].name, rows[i].arguments);
		check(&r, rows[i].run, false);
	}
	static const char *const others[][2] = {{"search", "{\"query\": \"x\"}"},
		{"run_code", "{}"}, {"run_code", ""}, {"run_code", "[1]"},
		{"run_code", "{\"language\": \"cobol\", \"code\": \"x\"}"}, {"", "x"}};
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
		struct reply r = said("");
		add_call(&r, others[i][0], others[i][1]);
		check(&r, "", true);
	}
}

TEST(the_first_call_that_is_code_counts)
{
	struct reply r = said("");
	add_call(&r, "search", "{}");
	add_call(&r, "python", "a()");
	add_call(&r, "python", "b()");
	check(&r, "python|a()", false);
	r = said("```python\nc()\n```");
	add_call(&r, "python", "a()");
	check(&r, "python|c()", false);
}
