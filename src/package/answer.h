/* What a client of this host says about its registries, as rules and variables of a box.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { PACKAGE_ITEMS_MAX = 64, PACKAGE_VALUE_BYTES = 8192 };

struct package_answer {
	const char *set;    /* its name, such as "pypi" */
	const char *trusts; /* the variable that names hosts without TLS, or NULL */
	char *rules[PACKAGE_ITEMS_MAX], *env[PACKAGE_ITEMS_MAX];
	size_t n_rules, n_env;
};

/*
 * Add the variable @name with the value @text, in which each http:// and https:// address becomes a
 * rule. Addresses end at blanks, "," and "|". @name is NULL for addresses that no variable has to
 * name. Errors: ERR_USAGE with a hint: an address that a box cannot have; ERR_LIMIT.
 */
int package_answer_add(
	struct package_answer *a, const char *name, const char *text, struct err *err);
/* Add a rule as it is. */
int package_answer_rule(struct package_answer *a, const char *rule, struct err *err);
void package_answer_done(struct package_answer *a);
