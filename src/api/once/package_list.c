/* SPDX-License-Identifier: Apache-2.0 */
#include "api/once/package_list.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool has_requests(const struct order *order)
{
	for (size_t i = 0; i < order->n_net; i++)
		if (strchr(order->net[i], ' '))
			return true;
	return false;
}

/* Clients read some names in capitals as well as in small letters. */
static bool has_variable(const char *const *env, size_t n, const char *variable)
{
	size_t bytes = strcspn(variable, "=") + 1;
	for (size_t i = 0; i < n; i++)
		if (strncasecmp(env[i], variable, bytes) == 0)
			return true;
	return false;
}

int package_list_extend(struct package_list *l, struct order *order, struct err *err)
{
	struct package_expansion *e = &l->expansion;
	int r = package_expand(e, order->net, order->n_net, err);
	if (r < 0 || !e->has_set)
		return r;
	bool has_gateways_certificates = has_requests(order);
	size_t n = order->n_env;
	l->env = xcalloc(n + e->n_env + 1, sizeof *l->env);
	for (size_t i = 0; i < n; i++)
		l->env[i] = order->env[i];
	for (size_t i = 0; i < e->n_env; i++) {
		bool is_file = strchr(e->env[i], '=')[1] == '/';
		if (!(is_file && has_gateways_certificates) && !has_variable(l->env, n, e->env[i]))
			l->env[n++] = e->env[i];
	}
	order->env = l->env;
	order->n_env = n;
	order->net = (const char *const *)e->net;
	order->n_net = e->n_net;
	return 0;
}

void package_list_done(struct package_list *l)
{
	package_expansion_done(&l->expansion);
	free(l->env);
	l->env = NULL;
}
