/* What a model is told first is short, and says all that is promised. SPDX-License-Identifier:
 * Apache-2.0 */
#include "agent/loop/prompt.h"

#include "agent/answer/extract.h"
#include "t.h"

#include <stdio.h>
#include <string.h>

TEST(it_fits_with_the_longest_of_everything)
{
	char limits[401];
	memset(limits, 'x', 400);
	limits[400] = '\0';
	const struct prompt p = {.runtime = "javascript",
		.limits = limits,
		.is_grounded = true,
		.servers = limits,
		.n_queries = UINT64_MAX,
		.query_bytes = UINT64_MAX};
	cleanup_buf struct buf out = BUF_INIT(1 << 20);
	CHECK_INT(prompt_write(&p, &out), 0);
	CHECK(out.bytes / 4 <= PROMPT_TOKENS_MAX);
	printf("# %zu tokens\n", out.bytes / 4);
}

TEST(it_says_how)
{
	static const char *const parts[] = {"```python", "javascript", "sql", "bash",
		"final_answer(", "no network", "/home/user", "30 s for each step",
		"Code without a tag is shell"};
	struct prompt p = {.runtime = "shell", .limits = "30 s for each step", .is_grounded = true};
	struct extract e;
	cleanup_buf struct buf out = BUF_INIT(1 << 20);
	CHECK_INT(prompt_write(&p, &out), 0);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		CHECK_HAS(buf_str(&out), parts[i]);
	CHECK_HAS(buf_str(&out), "numbers are compared");
	/* Its own example is what it asks for. */
	extract_code(buf_str(&out), out.bytes, &e);
	CHECK_INT(e.kind, EXTRACT_CODE);
	CHECK(e.is_closed);
	buf_clear(&out);
	p.is_grounded = false;
	CHECK_INT(prompt_write(&p, &out), 0);
	CHECK(!strstr(buf_str(&out), "numbers are compared"));
}

/* Of what is not there nothing is said. */
TEST(it_speaks_of_queries_when_there_are_some)
{
	struct prompt p = {.runtime = "python"};
	cleanup_buf struct buf out = BUF_INIT(1 << 20);
	CHECK_INT(prompt_write(&p, &out), 0);
	CHECK(!strstr(buf_str(&out), "llm_query"));
	buf_clear(&out);
	p.n_queries = 17;
	p.query_bytes = 400000;
	CHECK_INT(prompt_write(&p, &out), 0);
	CHECK_HAS(buf_str(&out), "llm_query(prompt, context=None, schema=None)");
	CHECK_HAS(buf_str(&out), "400000 bytes");
	CHECK_HAS(buf_str(&out), "17 in all");
	buf_clear(&out);
	p.runtime = "javascript";
	CHECK_INT(prompt_write(&p, &out), 0);
	CHECK_HAS(buf_str(&out), "await llm_query(prompt, {context, schema})");
}

TEST(it_speaks_of_tools_when_there_are_some)
{
	struct prompt p = {.runtime = "python"};
	cleanup_buf struct buf out = BUF_INIT(1 << 20);
	CHECK_INT(prompt_write(&p, &out), 0);
	CHECK(!strstr(buf_str(&out), "tools."));
	buf_clear(&out);
	p.servers = "crm, files";
	CHECK_INT(prompt_write(&p, &out), 0);
	CHECK_HAS(buf_str(&out), "tools.SERVER.TOOL(name=value)");
	CHECK_HAS(buf_str(&out), "Servers: crm, files.");
	buf_clear(&out);
	p.runtime = "javascript";
	CHECK_INT(prompt_write(&p, &out), 0);
	CHECK_HAS(buf_str(&out), "await tools.SERVER.TOOL({name: value})");
}
