/* The end of the first block of code, however the text comes. SPDX-License-Identifier: Apache-2.0
 */
#include "agent/fence.h"

#include "base/attr.h"
#include "t.h"

#include <string.h>

/* How many bytes of @text belong to what ends with the block; -1: it goes on. */
static ssize_t find(const char *text, size_t step)
{
	struct fence f = FENCE_INIT;
	for (size_t at = 0, bytes = strlen(text); at < bytes; at += step) {
		ssize_t n = fence_feed(&f, text + at, MIN(step, bytes - at));
		if (n >= 0)
			return (ssize_t)at + n;
	}
	return -1;
}

TEST(the_first_block_ends_where_it_ends)
{
	static const struct {
		const char *before, *after;
	} rows[] = {
		{"Thought.\n```python\nprint(1)\n```\n", "Output: 1\n```\n"},
		{"```sql\n```\n", "x"},
		{"~~~sh\n```\nls\n```\n~~~\n", "x"},
		{"````py\n```\na\n```\n````\n", "```"},
		{"   ```py\nx = '''\n       ```'''\n  ```  \n", "rest"},
		{"        ```{.Python title=x}\n        1\n        ```\n", "rest"},
		{"```js\r\n1\r\n```\r\n", "rest"},
		{"inline ``` is none\n```py\n`` ` ``\n```\n", ""},
		{"```a`b``` is none\n```py\n1\n`````\n", "z"},
		/* What is no code is passed over. */
		{"```json\n{}\n```\n```\n<code>\n```\n```text\n~~~\n```\n```bash\nls\n```\n", "z"},
		{"Thought: a < b\n<code>\n1 </code <</code>", "z"},
		{"  <execute_python>print(\"</cod\")</execute_python>", "Output"},
		{"not at <code>the</code> beginning\n<execute_bash>\nls <<x\n</execute_bash>", "z"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[200];
		strcpy(text, rows[i].before);
		strcat(text, rows[i].after);
		for (size_t step = 1; step < 50; step++)
			CHECK_INT(find(text, step), strlen(rows[i].before));
	}
}

TEST(what_is_no_whole_block_goes_on)
{
	static const char *const rows[] = {"", "no code\n", "```py\nprint(1)\n", "```py\n1\n```",
		"``\n``\n", "```py\n~~~\n", "````py\n```\n", "```py\n``` x\n", "```\n1\n```\n",
		"```json\n{}\n```\n", "x <code>1</code>", "<code>1</cod"};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t step = 1; step < 20; step++)
			CHECK_INT(find(rows[i], step), -1);
}

TEST(long_lines_are_no_fences)
{
	char text[300] = "```py\n";
	memset(text + 6, '`', 200);
	strcpy(text + 206, "\n1\n```\n");
	CHECK_INT(find(text, 7), strlen(text));
}
