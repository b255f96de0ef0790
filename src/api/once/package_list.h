/* The named sets of rules of an order, replaced. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "package/package.h"
#include "session/start/order.h"

struct package_list {
	struct package_expansion expansion;
	const char **env; /* those of the order, and what package_list_extend() adds */
};

/*
 * Replace the named sets among the rules of @order, and add the variables that clients need, unless
 * the order has one of that name. Call it when the order has all its rules, so also those for
 * secrets: with rules for requests, clients keep the certificates of the gateway. Owns: the order's
 * arrays belong to @l from then on.
 * Blocks, errors: those of package_expand().
 */
int package_list_extend(struct package_list *l, struct order *order, struct err *err);
void package_list_done(struct package_list *l);
