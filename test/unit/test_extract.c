/* What a model wants to have run, however it writes it. SPDX-License-Identifier: Apache-2.0 */
#include "agent/extract.h"

#include "t.h"

#include <stdio.h>
#include <string.h>

static void make_reply(struct reply *r, const char *text)
{
	*r = (struct reply){0};
	CHECK_INT(reply_add(r, PART_TEXT, NULL, NULL), 0);
	CHECK_INT(reply_append(r, 0, text, strlen(text)), 0);
}

static const struct {
	const char *text, *runtime, *code; /* runtime NULL: text; "": nothing */
	bool has_more;
} rows[] = {
	{"Thought: try.\n```python\nprint(1)\n```", "python", "print(1)", false},
	{"```py\nx = 1\n\n    y\n\n```\n", "python", "x = 1\n\n    y", false},
	{"a\n```javascript\nlet x\n```\n", "javascript", "let x", false},
	{"~~~sql\nselect 1\n~~~\nSo.", "sql", "select 1", true},
	{"```BASH\nls\n```", "shell", "ls", false},
	{"```Python title=a.py\r\nprint(1)\r\nx\r\n```\r\n", "python", "print(1)\nx", false},
	{"1. Do:\n   ```py\n   if x:\n       y()\n   ```\n", "python", "if x:\n    y()", false},
	/* One block; what follows is invented. */
	{"```python\na()\n```\nOutput: 7\n```python\nb()\n```\n", "python", "a()", true},
	{"```python\na()\nObservation: 7\nThe answer is 7.", "python", "a()", true},
	{"```python\na()\nOutput:\n7\n```", "python", "a()\nOutput:\n7", false},
	/* What is no code comes before. */
	{"```json\n{\"a\": 1}\n```\n```python\na()\n```\n", "python", "a()", false},
	{"```\nplain text here\n```\n```py\na()\n```\n", "python", "a()", false},
	/* Tags. */
	{"Thought: a\n<code>\nprint(1)\n</code>", "python", "print(1)", false},
	{"<execute>print(1)</execute>", "python", "print(1)", false},
	{"<execute_ipython>\n1\n</execute_ipython>\nmore", "python", "1", true},
	{"<execute_python>1 < 2</execute_python>", "python", "1 < 2", false},
	{"<execute_bash>\nls\n</execute_bash>", "shell", "ls", false},
	{"<code>\n```py\nprint(1)\n```\n</code>", "python", "print(1)", false},
	{"<code>\n```\nprint(1)\n```\n</code>", "python", "print(1)", false},
	{"```py\nprint(1)\n```<end_code>", "python", "print(1)\n```", false},
	{"```py\nprint(1)\n<end_code>", "python", "print(1)", false},
	/* Cut off in the middle of the end. */
	{"<code>\nprint(1)\n</cod", "python", "print(1)", false},
	{"<code>\nprint(1 <", "python", "print(1 <", false},
	{"```python\nprint(1)\n``", "python", "print(1)", false},
	{"```python\nprint('``", "python", "print('``", false},
	{"```python\nprint(1)", "python", "print(1)", false},
	/* Calls written as text. */
	{"{\"language\": \"bash\", \"code\": \"ls\"}", "shell", "ls", false},
	{"functions.run_code({\"code\": \"a()\\nb()\"})", "python", "a()\nb()", false},
	{"The config is {\"code\": \"x\"}", NULL, "The config is {\"code\": \"x\"}", false},
	/* No marks at all. */
	{"import math\nprint(math.sqrt(2))", "python", "import math\nprint(math.sqrt(2))", false},
	{"x = 1\nfor i in range(3):\n    x += i\nprint(x)", "python",
		"x = 1\nfor i in range(3):\n    x += i\nprint(x)", false},
	{"```\nx = 1\nprint(x)\n```", "python", "x = 1\nprint(x)", false},
	{"```\njust words here\n```", NULL, "```\njust words here\n```", false},
	{"The answer is 42.", NULL, "The answer is 42.", false},
	{"If you want it, x = 4 is a solution.", NULL, "If you want it, x = 4 is a solution.",
		false},
	{"import duties are high.", NULL, "import duties are high.", false},
	{"for a while it rained", NULL, "for a while it rained", false},
	{"Total = 42", "python", "Total = 42", false},
	{"Use <code>print</code> for that.", NULL, "Use <code>print</code> for that.", false},
	{"I ran it.\nObservation: 42\nSo it is 42.", NULL, "I ran it.", true},
	{"", "", "", false},
	{" \n\t ", "", "", false},
	/* Reasoning in the text. */
	{"<think>\n```py\nno()\n```\n</think>\n```py\nyes()\n```", "python", "yes()", false},
	{"<think>It is 42, I think.</think>42", NULL, "42", false},
	{"<think>\n```py\nno()\n```\n", "", "", false},
};

TEST(code_is_found_however_it_is_written)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct reply r;
		struct extract e;
		make_reply(&r, rows[i].text);
		CHECK_INT(extract_reply(&e, &r), 0);
		const char *want = rows[i].runtime;
		enum extract_kind kind = !want ? EXTRACT_TEXT : *want ? EXTRACT_CODE : EXTRACT_NONE;
		if (!CHECK_INT(e.kind, kind))
			(void)printf("# %s\n", rows[i].text);
		CHECK_STR(buf_str(&e.text), rows[i].code);
		if (kind == EXTRACT_CODE)
			CHECK_STR(e.runtime, want);
		if (!CHECK_INT(e.has_more, rows[i].has_more))
			(void)printf("# %s\n", rows[i].text);
		CHECK(e.kept_bytes <= strlen(rows[i].text));
		extract_done(&e);
		reply_done(&r);
	}
}

/* What is remembered of an answer leads to the same code, and to nothing more. */
TEST(what_is_kept_is_the_same_without_the_rest)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct reply r, kept;
		struct extract e, again;
		char text[400];
		make_reply(&r, rows[i].text);
		CHECK_INT(extract_reply(&e, &r), 0);
		memcpy(text, rows[i].text, e.kept_bytes);
		text[e.kept_bytes] = '\0';
		make_reply(&kept, text);
		CHECK_INT(extract_reply(&again, &kept), 0);
		CHECK_INT(again.kind, e.kind);
		CHECK_STR(buf_str(&again.text), buf_str(&e.text));
		CHECK(!again.has_more);
		extract_done(&e);
		extract_done(&again);
		reply_done(&r);
		reply_done(&kept);
	}
}

TEST(tool_calls_come_first)
{
	static const struct {
		const char *arguments, *runtime, *code;
	} calls[] = {
		{"{\"code\":\"a()\"}", "python", "a()"},
		{"{\"code\":\"a()\",\"runtime\":\"sql\"}", "sql", "a()"},
		{"{\"language\":\"js\",\"code\":\"```js\\na()\\n```\"}", "javascript", "a()"},
		{"print(1)", "python", "print(1)"},
		{"{\"path\":\"x\"}", NULL, NULL},
		{"", NULL, NULL},
	};
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		struct reply r;
		struct extract e;
		make_reply(&r, "I do.\n```py\ntext()\n```\n");
		CHECK_INT(reply_add(&r, PART_TOOL_CALL, "c1", "run_code"), 1);
		CHECK_INT(reply_append(&r, 1, calls[i].arguments, strlen(calls[i].arguments)), 0);
		CHECK_INT(extract_reply(&e, &r), 0);
		CHECK_INT(e.kind, EXTRACT_CODE);
		CHECK_STR(e.runtime, calls[i].code ? calls[i].runtime : "python");
		CHECK_STR(buf_str(&e.text), calls[i].code ? calls[i].code : "text()");
		CHECK_STR(e.call_id ? e.call_id : "none", calls[i].code ? "c1" : "none");
		extract_done(&e);
		reply_done(&r);
	}
}
