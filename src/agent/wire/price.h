/* Prices of models, from a table of the user. A built-in table would soon be out of date. Makes
 * no system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/reply.h"
#include "base/err.h"

#include <jansson.h>

/* Prices in US dollars per million tokens. */
struct price {
	double input, cached, output;
};

/*
 * Check that @table is a table of prices.
 * Shape:   {"openai:gpt-5.5": {"input": 1.25, "cached": 0.125, "output": 10}, "ollama:*": …}. A key
 * is a name that wire_name() returns, or such a name without the part up to the colon. A key that
 * ends in "*" is a pattern: it matches every name that begins with the text before the "*". If
 * "cached" is missing, the price of "input" is used for cached tokens.
 * Errors:  ERR_USAGE: the message names the model and the mistake.
 */
int price_check(const json_t *table, struct err *err);

/* Find the price of @model by its name, by its name without the provider, or by the longest
 * pattern that matches it. @table must have passed price_check(), or be NULL. Returns: whether a
 * price was found. */
bool price_find(struct price *out, const json_t *table, const char *model);

/* Return the cost of @usage in US dollars. */
double price_of(const struct price *p, const struct wire_usage *usage);
