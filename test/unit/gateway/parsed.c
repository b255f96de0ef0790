/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/gateway/parsed.h"

#include "t.h"

#include <stdio.h>

struct rules parsed_rules(size_t n, const char *const *texts)
{
	struct err err = {0};
	struct rules r = {.n = 0};
	if (!CHECK_INT(rules_parse(&r, texts, n, &err), 0))
		printf("# %s\n", err.msg);
	return r;
}

const char *parsed_text(const struct rule *r)
{
	static char text[RULE_TEXT_BYTES];
	if (!r)
		return "";
	rule_write(r, text);
	return text;
}
