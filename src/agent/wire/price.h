/* What models cost, by a table of the user's: nobody else's is up to date. No system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/reply.h"
#include "base/err.h"

#include <jansson.h>

/* USD for a million tokens. */
struct price {
	double input, cached, output;
};

/*
 * Is @table one of prices?
 * Shape:   {"openai:gpt-5.5": {"input": 1.25, "cached": 0.125, "output": 10}, "ollama:*": …}: names
 *          as wire_name() says them, or without the wire; a "*" at the end stands for anything.
 *          "cached" may be missing: then it is "input".
 * Errors:  ERR_USAGE: which model, and what is wrong.
 */
int price_check(const json_t *table, struct err *err);

/* The price of @model: of its name, of its name without the wire, or of the longest beginning of
 * it. @table was checked, or is NULL. Returns: whether there is one. */
bool price_find(struct price *out, const json_t *table, const char *model);

/* USD. */
double price_of(const struct price *p, const struct wire_usage *usage);
