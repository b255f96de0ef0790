/*
 * Principals: callers with a token, their limits and rights.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/operation/principal.h"

#include "api/operation/outstanding.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "registry/owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct principal {
	struct owner owner;
	struct outstanding outstanding;
	bool may_see_metrics;
};

_Static_assert((int)PRINCIPAL_NAME_BYTES == (int)OWNER_NAME_BYTES, "one name");

static int check_name(const char *name, struct err *err)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789._-";
	size_t n = strlen(name);
	if (n > 0 && n < PRINCIPAL_NAME_BYTES && strspn(name, allowed) == n)
		return 0;
	(void)err_set(err, ERR_USAGE, "\"%.*s\" is not a valid name of a principal",
		(int)utf8_cut(name, n, 80), name);
	return err_hint(err, "1 to %d letters, digits, dots, underscores and dashes",
		PRINCIPAL_NAME_BYTES - 1);
}

int principal_new(struct principal **out, const char *name, const struct principal_limits *limits,
	struct err *err)
{
	int r = check_name(name, err);
	if (r < 0)
		return r;
	struct principal *p = xnew(struct principal);
	principal_set_limits(p, limits);
	snprintf(p->owner.name, sizeof p->owner.name, "%s", name);
	*out = p;
	return 0;
}

void principal_set_limits(struct principal *p, const struct principal_limits *limits)
{
	p->owner.limits.n_sessions = limits->n_sessions;
	p->owner.limits.n_steps = limits->n_steps;
	p->owner.limits.memory_bytes = limits->memory_bytes;
	p->owner.limits.steps_per_minute = limits->steps_per_minute;
	p->owner.limits.disk_bytes = limits->disk_bytes;
	p->owner.may_name_host_paths = limits->may_name_host_paths;
	p->owner.may_use_tools = limits->may_use_tools;
	p->owner.net = (enum owner_net)limits->net;
	p->may_see_metrics = limits->may_see_metrics;
}

void principal_free(struct principal *p)
{
	free(p);
}

const char *principal_name(const struct principal *p)
{
	return p->owner.name;
}

bool principal_may_see_metrics(const struct principal *p)
{
	return !p || p->may_see_metrics;
}

bool principal_may_use_tools(const struct principal *p)
{
	return !p || p->owner.may_use_tools;
}

bool principal_may_have_net(const struct principal *p)
{
	return !p || p->owner.net != OWNER_NET_NONE;
}

struct outstanding *principal_outstanding(struct principal *p)
{
	return &p->outstanding;
}

struct owner *principal_owner(struct principal *p)
{
	return p ? &p->owner : NULL;
}
