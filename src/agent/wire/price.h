/* What models cost, by a table that the user provides: a built-in one would be out of date. No
 * system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/reply.h"
#include "base/err.h"

#include <jansson.h>

/* USD for a million tokens. */
struct price {
	double input, cached, output;
};

/*
 * Check that @table is a table of prices.
 * Shape:   {"openai:gpt-5.5": {"input": 1.25, "cached": 0.125, "output": 10}, "ollama:*": …}: the
 * names are those of wire_name(), or without the wire; a "*" at the end matches any rest. The
 * default of "cached" is "input". Errors:  ERR_USAGE: it names the model, and the mistake.
 */
int price_check(const json_t *table, struct err *err);

/* Find the price of @model by its name, by its name without the wire, or by the longest matching
 * pattern. @table was checked, or is NULL. Returns: whether it has a price. */
bool price_find(struct price *out, const json_t *table, const char *model);

/* USD. */
double price_of(const struct price *p, const struct wire_usage *usage);
