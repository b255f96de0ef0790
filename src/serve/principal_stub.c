/* Until api/principal.c is there: names without limits. SPDX-License-Identifier: Apache-2.0 */
#include "api/principal.h"

#include <stdio.h>
#include <stdlib.h>

struct principal {
	char name[PRINCIPAL_NAME_BYTES];
};

int principal_new(struct principal **out, const char *name, const struct principal_limits *limits,
	struct err *err)
{
	struct principal *p = calloc(1, sizeof *p);
	(void)limits;
	if (!p)
		return err_set(err, ERR_NO_MEMORY, "no memory for a caller");
	(void)snprintf(p->name, sizeof p->name, "%s", name);
	*out = p;
	return 0;
}

void principal_free(struct principal *p)
{
	free(p);
}

const char *principal_name(const struct principal *p)
{
	return p->name;
}
