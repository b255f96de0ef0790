/* Rules as texts, for tests of them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gateway/rule/rule.h"

/* Parse rules that are right. */
struct rules parsed_rules(size_t n, const char *const *texts);
#define PARSE(...)                                                                                 \
	parsed_rules(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),                       \
		(const char *[]){__VA_ARGS__})

/* Return the text of a rule, valid until the next call; "" for NULL. */
const char *parsed_text(const struct rule *r);
