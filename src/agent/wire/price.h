/* Prices of models, from a table of the user: a built-in table would be out of date. No system
 * call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/reply.h"
#include "base/err.h"

#include <jansson.h>

/* Prices in USD per million tokens. */
struct price {
	double input, cached, output;
};

/*
 * Check that @table is a table of prices.
 * Shape:   {"openai:gpt-5.5": {"input": 1.25, "cached": 0.125, "output": 10}, "ollama:*": …}: the
 *          names are those of wire_name(), or without the wire; a "*" at the end matches any rest.
 *          The default of "cached" is "input".
 * Errors:  ERR_USAGE: the message names the model and the mistake.
 */
int price_check(const json_t *table, struct err *err);

/* Find the price of @model by its name, by its name without the wire, or by the longest matching
 * pattern. @table was checked, or is NULL. Returns: whether a price was found. */
bool price_find(struct price *out, const json_t *table, const char *model);

/* Return the cost of @usage in USD. */
double price_of(const struct price *p, const struct wire_usage *usage);
