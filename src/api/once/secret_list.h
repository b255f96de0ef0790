/* The secrets of an order, as they are given. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/start/order.h"

struct secret_list {
	struct secrets secrets; /* with their values */
	/* What secret_list_extend() adds. */
	const char **env, **net;
	char *own[2 * SECRETS_MAX];
	size_t n_own;
};

/*
 * Add a secret. @to: where it may go, HOST[:PORT][,query][,body][,like=PREFIX]; see secret.h. It
 * gets a placeholder, which is the same for the same secret as long as this process lives, so that
 * orders with it are alike. Errors: ERR_USAGE, ERR_LIMIT (more than SECRETS_MAX). No message shows
 * the value.
 */
int secret_list_add(struct secret_list *l, const char *name, const char *to, const char *value,
	size_t value_bytes, struct err *err);
/*
 * Extend @order by the secrets: by an environment variable each, which has the placeholder; and,
 * for those whose host has no rule for requests, by a rule that allows all requests to it. Owns:
 * the order's arrays belong to @l from then on. Errors: ERR_USAGE: a variable of the order has the
 * name of a secret, or a rule is none.
 */
int secret_list_extend(struct secret_list *l, struct order *order, struct err *err);
/* Wipe and free all. */
void secret_list_done(struct secret_list *l);
