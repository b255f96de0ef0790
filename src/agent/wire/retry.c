/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/retry.h"

enum { FIRST_MS = 500, MOST_MS = 8000, LOADING_STEP_MS = 2000 };

/* Return the next pseudo-random number. Source: splitmix64, Steele, Lea and Flood 2014. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static int64_t back_off(struct retry *r)
{
	int64_t ms = FIRST_MS;
	for (int i = 0; i < r->n_tries && ms < MOST_MS; i++)
		ms *= 2;
	return ms - (int64_t)(next_random(&r->random) % (uint64_t)(ms / 4 + 1));
}

static int64_t wait_loading(struct retry *r, const struct failure *f)
{
	int64_t ms = f->wait_ms > 0 ? f->wait_ms : LOADING_STEP_MS;
	if (ms > r->loading_max_ms - r->loading_ms)
		return -1;
	r->loading_ms += ms;
	return ms;
}

int64_t retry_next(struct retry *r, const struct failure *f)
{
	if (!failure_is_retried(f))
		return -1;
	if (f->class == FAILURE_LOADING)
		return wait_loading(r, f);
	if (r->n_tries >= r->tries_max)
		return -1;
	int64_t ms = f->wait_ms > 0 ? f->wait_ms : back_off(r);
	if (ms > r->wait_max_ms - r->waited_ms)
		return -1;
	r->n_tries++;
	r->waited_ms += ms;
	return ms;
}
