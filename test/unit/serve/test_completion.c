/* The code in what a model has written. SPDX-License-Identifier: Apache-2.0 */
#include "serve/front/completion.h"

#include "base/attr.h"
#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct row {
	const char *text, *language, *code;
} rows[] = {
	{"```python\nprint(1)\n```", "python", "print(1)"},
	{"Here:\n```python\nprint(1)\n```\nThat is it.", "python", "print(1)"},
	{"```py\na\n\nb\n   ```", "python", "a\n\nb"},
	{"```\nx\n```", "python", "x"},
	{"```cpp\nx\n```\n```python\ny\n```", "python", "y"},
	{"```cpp\nx\n```\n```python\ny\n```", "cpp", "x"},
	{"```c++\nx\n```", "cpp", "x"},
	{"```cpp\nx\n```\n```python\ny\n```", "rust", "x"},
	{"```python\nx\n```\n```python\ny\n```", "python", "x"},
	{"```python \r\nx\n```", "python", "x"},
	{"```python\nx = 1\ny = 2", "python", "x = 1\ny = 2"},
	{"```python\nx\n```\n```python\nopen", "python", "x"},
	{"print(1)", "python", "print(1)"},
	{"", "python", ""},
	{"```", "python", "```"},
	{"```python", "python", "```python"},
	{"```python\n", "python", ""},
	{"```python\n```", "python", "```"},
	{"a ``` b", "python", "a ``` b"},
	{"```python\ns = '''```'''\n```", "python", "s = '''```'''"},
	{"```text\n1 2\n```\n```cpp\nint main(){}\n```", "cpp", "int main(){}"},
	{"```\n\n\n\n```", "python", ""},
	{"```a-name-of-a-language-that-is-much-too-long\nx\n```", "python", "x"},
};

TEST(code_of_completions)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = 12345, want = strlen(rows[i].code);
		/* exactly as long, so that reading too far is seen by a sanitizer */
		size_t bytes = strlen(rows[i].text);
		char *text = malloc(bytes + 1);
		memcpy(text, rows[i].text, bytes);
		const char *code = completion_code(text, bytes, rows[i].language, &n);
		if (!CHECK(n == want && memcmp(code, rows[i].code, n) == 0))
			printf("# \"%s\" in %s: \"%.*s\"\n", rows[i].text, rows[i].language, (int)n,
				code);
		free(text);
	}
}

/* Many lines without an end take no time that grows with their square. */
TEST(many_lines)
{
	size_t bytes = 8 << 20, n;
	char *text = malloc(bytes);
	memset(text, '\n', bytes);
	memcpy(text, "```\nx", 5);
	(void)completion_code(text, bytes, "python", &n);
	CHECK(n == bytes - 4);
	for (size_t i = 0; i + 4 < bytes; i += 4)
		memcpy(text + i, "```\n", 4);
	(void)completion_code(text, bytes, "python", &n);
	CHECK(n < bytes);
	free(text);
}
