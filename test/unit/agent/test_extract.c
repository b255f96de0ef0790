/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/answer/extract.h"
#include "base/buf.h"
#include "t.h"

#include <stdio.h>
#include <string.h>

static const struct row {
	const char *text;
	enum extract_kind kind;
	const char *runtime; /* NULL: not said */
	const char *code;    /* NULL: none */
	bool is_open;	     /* the block does not end */
	unsigned n_more;
} rows[] = {
	/* fences */
	{"Try:\n```python\nx = 1\nprint(x)\n```\n", EXTRACT_CODE, "python", "x = 1\nprint(x)"},
	{"```py\nx\n```", EXTRACT_CODE, "python", "x"},
	{"```Python3 title=\"a\"\nx\n```", EXTRACT_CODE, "python", "x"},
	{"```{python}\nx\n```", EXTRACT_CODE, "python", "x"},
	{"~~~js\nlet x = '```'\n~~~", EXTRACT_CODE, "javascript", "let x = '```'"},
	{"````python\ns = '''\n```\n'''\n````", EXTRACT_CODE, "python", "s = '''\n```\n'''"},
	{"   ```sql\nselect 1;\n   ```", EXTRACT_CODE, "sql", "select 1;"},
	{"```bash\nls -la\n```\r\n", EXTRACT_CODE, "shell", "ls -la"},
	{"```python\r\nx = 1\r\n```\r\n", EXTRACT_CODE, "python", "x = 1"},
	{"```\nimport os\nos.getcwd()\n```", EXTRACT_CODE, NULL, "import os\nos.getcwd()"},
	{"```python\n\n    x = 1\n```", EXTRACT_CODE, "python", "    x = 1"},
	{"    ```python\n    x\n    ```", EXTRACT_TEXT},
	{"Use ```python x``` like this.", EXTRACT_TEXT},
	{"```json\n{\"a\": 1}\n```\nIt is 1.", EXTRACT_TEXT},
	{"```\na table of words\n```", EXTRACT_TEXT},
	{"```text\n```python\nx\n```\n", EXTRACT_TEXT},
	{"```output\n42\n```\n```python\nx\n```", EXTRACT_CODE, "python", "x"},
	{"```python\n```", EXTRACT_NOTHING},
	/* one block per turn, and nothing that was made up */
	{"```python\nx\n```\nObservation: 7\n```python\ny\n```", EXTRACT_CODE, "python", "x",
		.n_more = 1},
	{"```python\nx = 1\nObservation: 1\nSo it is 1.", EXTRACT_CODE, "python", "x = 1",
		.is_open = true},
	{"```python\nx = 1\n```output\n1\n", EXTRACT_CODE, "python", "x = 1", .is_open = true},
	{"```python\nx = 1\n``", EXTRACT_CODE, "python", "x = 1", .is_open = true},
	{"```python\nx = 1", EXTRACT_CODE, "python", "x = 1", .is_open = true},
	/* tags */
	{"<execute_python>\nx = 1\n</execute_python> done", EXTRACT_CODE, "python", "x = 1"},
	{"<execute_ipython>x</execute_ipython>", EXTRACT_CODE, "python", "x"},
	{"<execute_bash>\nls\n</execute_bash>", EXTRACT_CODE, "shell", "ls"},
	{"<execute>x = 1</execute>", EXTRACT_CODE, NULL, "x = 1"},
	{"Thought: x\n<code>\nx = 1\n</code>", EXTRACT_CODE, NULL, "x = 1"},
	{"<code>\n```py\nx = 1\n```\n</code>", EXTRACT_CODE, "python", "x = 1"},
	{"<code>\n```py\nx = 1\n```<end_code>", EXTRACT_CODE, "python", "x = 1"},
	{"<code>\nx = 1\n</cod", EXTRACT_CODE, NULL, "x = 1", .is_open = true},
	{"<code>\nx = 1\nExecution logs:\n1", EXTRACT_CODE, NULL, "x = 1", .is_open = true},
	{"The <code>x</code> of it.", EXTRACT_TEXT},
	/* nothing but code */
	{"import math\nprint(math.pi)", EXTRACT_CODE, NULL, "import math\nprint(math.pi)",
		.is_open = true},
	{"final_answer(42)", EXTRACT_CODE, NULL, "final_answer(42)", .is_open = true},
	{"for i in range(3):\n    print(i)", EXTRACT_CODE, NULL, "for i in range(3):\n    print(i)",
		.is_open = true},
	{"x, y = 1, 2\nx += y", EXTRACT_CODE, NULL, "x, y = 1, 2\nx += y", .is_open = true},
	{"from os import path as p\np.join('a', 'b')", EXTRACT_CODE, NULL,
		"from os import path as p\np.join('a', 'b')", .is_open = true},
	/* prose */
	{"The answer is 42.", EXTRACT_TEXT},
	{"import the data first, then plot", EXTRACT_TEXT},
	{"for example: 42", EXTRACT_TEXT},
	{"if you want, I can go on:\nprint(x)", EXTRACT_TEXT},
	{"The mean (of 3) is 7", EXTRACT_TEXT},
	{"If you want it, x = 4 is a solution.", EXTRACT_TEXT},
	{"42", EXTRACT_TEXT},
	{"Revenue = 383.33 for all of it.", EXTRACT_CODE, NULL, "Revenue = 383.33 for all of it.",
		.is_open = true},
	{"", EXTRACT_NOTHING},
	{" \n\t", EXTRACT_NOTHING},
	/* thoughts */
	{"<think>\n```python\nbad()\n```\n</think>\n```python\nx\n```", EXTRACT_CODE, "python",
		"x"},
	{"<think>I wonder", EXTRACT_NOTHING},
	{"<thinking>a</thinking> It is 7.", EXTRACT_TEXT},
};

static bool is_as_wanted(const struct row *row, const struct extract *found)
{
	size_t n = row->code ? strlen(row->code) : 0;
	bool has_runtime = !row->runtime == !found->runtime &&
		(!row->runtime || strcmp(row->runtime, found->runtime) == 0);
	return found->kind == row->kind && has_runtime && found->n_more == row->n_more &&
		(row->kind != EXTRACT_CODE ||
			(found->code_bytes == n && found->is_closed == !row->is_open &&
				memcmp(row->text + found->code_at, row->code, n) == 0));
}

TEST(what_models_write)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct extract found;
		extract_code(rows[i].text, strlen(rows[i].text), &found);
		if (!is_as_wanted(&rows[i], &found))
			printf("# %s\n# kind %d runtime %s code [%.*s] closed %d more %u\n",
				rows[i].text, found.kind, found.runtime ? found.runtime : "-",
				(int)found.code_bytes, rows[i].text + found.code_at,
				found.is_closed, found.n_more);
		CHECK(is_as_wanted(&rows[i], &found));
	}
}

TEST(what_counts_of_a_text_ends_with_its_code)
{
	static const char text[] = "So:\n```python\nx\n```\nOutput: 7, so the answer is 7.";
	struct extract found;
	extract_code(text, strlen(text), &found);
	CHECK_INT(found.end, strlen("So:\n```python\nx\n```\n"));
}

/* However a text is cut, its code is never longer than what has come, and once whole stays so. */
TEST(a_text_that_comes_in_pieces)
{
	static const char text[] =
		"Let me see.\n```python\nx = 1\nprint(x)\n```\nand so on\n```python\ny\n```\n";
	bool was_whole = false;
	for (size_t n = 0; n <= strlen(text); n++) {
		struct extract found;
		extract_code(text, n, &found);
		CHECK(found.code_at + found.code_bytes <= n && found.end <= n);
		bool is_whole = extract_is_whole(text, n);
		CHECK(is_whole || !was_whole);
		was_whole = is_whole;
	}
	CHECK(was_whole);
	CHECK(extract_is_whole(text, strlen("Let me see.\n```python\nx = 1\nprint(x)\n```\n")));
	CHECK(!extract_is_whole(text, strlen("Let me see.\n```python\nx = 1\nprint(x)\n```")));
	CHECK(!extract_is_whole(text, strlen("Let me see.\n```python\nx = 1\nprint(x)\n``")));
}

TEST(indented_code_is_written_without_its_indentation)
{
	static const char text[] = "1. Do\n   ```python\n   if x:\n       y()\n\n  z()\n   ```\n";
	cleanup_buf struct buf out = BUF_INIT(1000);
	struct extract found;
	extract_code(text, strlen(text), &found);
	CHECK_INT(extract_write(&out, text, &found), 0);
	CHECK_STR(buf_str(&out), "if x:\n    y()\n\nz()");
	out.max_bytes = 5;
	CHECK(extract_write(&out, text, &found) < 0);
}
