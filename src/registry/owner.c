/* SPDX-License-Identifier: Apache-2.0 */
#include "registry/owner.h"

int owner_take_steps(struct owner *o, uint64_t n, uint64_t now_ns, struct err *err)
{
	uint64_t wait_s = rate_take(&o->rate, o->limits.steps_per_minute, n, now_ns);
	if (wait_s == 0)
		return 0;
	err_set(err, ERR_QUOTA, "steps per minute: the limit of %s is %llu", o->name,
		(unsigned long long)o->limits.steps_per_minute);
	return err_hint(err, "ask again in %llu s", (unsigned long long)wait_s);
}
