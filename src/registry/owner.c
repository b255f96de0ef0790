/* SPDX-License-Identifier: Apache-2.0 */
#include "registry/owner.h"

#include "base/attr.h"

static const double minute_ns = 60e9;

static void fill(struct owner *o, uint64_t now_ns)
{
	double most = (double)o->limits.steps_per_minute;
	double since_ns = now_ns > o->filled_ns ? (double)(now_ns - o->filled_ns) : 0;
	double more = since_ns * most / minute_ns;
	o->steps_left = o->filled_ns ? MIN(most, o->steps_left + more) : most;
	o->filled_ns = MAX(now_ns, 1U);
}

int owner_take_steps(struct owner *o, uint64_t n, uint64_t now_ns, struct err *err)
{
	if (o->limits.steps_per_minute == 0 || n == 0)
		return 0;
	fill(o, now_ns);
	double most = (double)o->limits.steps_per_minute, wanted = MIN((double)n, most);
	if (o->steps_left >= wanted) {
		o->steps_left -= wanted;
		return 0;
	}
	double wait_s = (wanted - o->steps_left) * minute_ns / most / 1e9;
	err_set(err, ERR_QUOTA, "steps per minute: %s may run %llu", o->name,
		(unsigned long long)o->limits.steps_per_minute);
	unsigned long long whole_s = (unsigned long long)wait_s;
	return err_hint(err, "ask again in %llu s", whole_s + (wait_s > (double)whole_s));
}
