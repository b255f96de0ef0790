/* Addresses that clients are configured with. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "gateway/rule/rule.h"
#include "package/answer.h"

#include <stdlib.h>
#include <string.h>

/* No address of @value has a user name. */
static void check_value(const char *value)
{
	for (const char *at = value; (at = strstr(at, "://")); at += 3)
		if ((at - value >= 4 && memcmp(at - 4, "http", 4) == 0) ||
			(at - value >= 5 && memcmp(at - 5, "https", 5) == 0))
			MUST(at[3 + strcspn(at + 3, "@/#, \t\r\n|")] != '@');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct package_answer a = {.set = "s", .trusts = bytes % 2 ? "T" : NULL};
	struct err err = {0};
	char *text = calloc(1, bytes + 1);
	MUST(text);
	memcpy(text, data, bytes);
	int r = package_answer_add(&a, "U", text, &err);
	MUST(r == 0 || err.msg[0]);
	MUST(a.n_rules <= PACKAGE_ITEMS_MAX && a.n_env <= 2);
	for (size_t i = 0; i < a.n_rules; i++) {
		struct rule rule;
		MUST(rule_parse(&rule, a.rules[i], &err) == 0);
		MUST(!rule.may_be_private && !rule.is_http && rule.port > 0);
		MUST(rule.kind == RULE_NAME || (rule.kind == RULE_NETWORK && rule.bits == 32));
	}
	for (size_t i = 0; r == 0 && i < a.n_env; i++)
		check_value(strchr(a.env[i], '=') + 1);
	package_answer_done(&a);
	free(text);
	return 0;
}
