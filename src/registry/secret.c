/* SPDX-License-Identifier: Apache-2.0 */
#include "registry/secret.h"

#include "base/alloc.h"
#include "registry/start/order_text.h"

#include <stdlib.h>
#include <string.h>

void entry_keep_secrets(struct entry *e, const struct secrets *secrets, bool has_values)
{
	if (!secrets || secrets->n == 0)
		return;
	e->secrets = xnew(struct secrets);
	secrets_copy(e->secrets, secrets, has_values);
}

void entry_drop_secrets(struct entry *e)
{
	if (e->secrets)
		secrets_done(e->secrets);
	free(take_ptr(e->secrets));
}

int entry_check_values(struct entry *e, const struct secrets *values, struct err *err)
{
	struct order_kept kept;
	if (values->n == 0)
		return 0;
	int r = order_parse(&kept, e->order_text, strlen(e->order_text), err);
	if (r < 0)
		return r;
	if (!e->secrets)
		entry_keep_secrets(e, kept.secrets, false);
	order_kept_done(&kept);
	for (size_t i = 0; i < values->n; i++)
		if (!e->secrets || !secrets_find(e->secrets, values->v[i].name))
			return err_fail(err, ERR_USAGE,
				"a session has the secrets that it was made with",
				"the session has no secret %s", values->v[i].name);
	return 0;
}

void entry_take_values(struct entry *e, const struct secrets *values)
{
	if (values->n == 0 || !e->secrets)
		return;
	for (size_t i = 0; i < values->n; i++)
		secret_set_value(secrets_find(e->secrets, values->v[i].name), values->v[i].value);
	if (e->session)
		session_set_secrets(e->session, e->secrets);
}
