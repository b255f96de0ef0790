/* What a session was made with, as text and back. SPDX-License-Identifier: Apache-2.0 */
#include "registry/start/order_text.h"

#include "t.h"

#include <stdlib.h>
#include <string.h>

static const char *const preload[] = {"json", "numpy", NULL};
static const char *const env[] = {"A=1", "B=ä=2"};

static char *full_text(void)
{
	static const struct volume volumes[] = {
		{"/usr", "data", false}, {"/nowhere/at/all", "/x", true}};
	struct order order = {.runtime = "python",
		.interpreter = "/usr/bin/python3",
		.workspace = "/usr/../usr",
		.rootfs = "/",
		.volumes = volumes,
		.n_volumes = 2,
		.env = env,
		.n_env = 2,
		.limits = order_default_limits(),
		.has_seed = true,
		.seed = 7,
		.has_time = true,
		.time_ns = 12345678901};
	order.limits.value[LIMIT_memory_bytes] = 123456789;
	return order_text(&order, preload, true);
}

TEST(everything_comes_back)
{
	struct order_kept k;
	struct err err = {0};
	char *text = full_text();
	CHECK_INT(order_parse(&k, text, strlen(text), &err), 0);
	const struct order *o = &k.order;
	CHECK_STR(o->runtime, "python");
	CHECK_STR(o->interpreter, "/usr/bin/python3");
	CHECK_STR(o->workspace, "/usr");
	CHECK_STR(o->rootfs, "/");
	CHECK_INT(o->n_volumes, 2);
	CHECK_STR(o->volumes[0].src, "/usr");
	CHECK_STR(o->volumes[1].src, "/nowhere/at/all");
	CHECK_STR(o->volumes[1].dst, "/x");
	CHECK(!o->volumes[0].is_writable && o->volumes[1].is_writable);
	CHECK_INT(o->n_env, 2);
	CHECK_STR(o->env[1], "B=ä=2");
	CHECK_STR(k.preload[1], "numpy");
	CHECK(!k.preload[2] && k.is_fresh && o->has_seed && o->has_time && o->is_session);
	CHECK_INT(o->seed, 7);
	CHECK_INT(o->time_ns, 12345678901);
	CHECK_INT(o->limits.value[LIMIT_memory_bytes], 123456789);
	CHECK_INT(o->limits.value[LIMIT_pids], order_default_limits().value[LIMIT_pids]);
	char *again = order_text(o, (const char *const *)k.preload, k.is_fresh);
	CHECK_STR(again, text);
	order_kept_done(&k);
	free(again);
	free(text);
}

TEST(nothing_given_is_nothing)
{
	struct order order = {.limits = order_default_limits()};
	struct order_kept k;
	struct err err = {0};
	char *text = order_text(&order, NULL, false);
	CHECK_INT(order_parse(&k, text, strlen(text), &err), 0);
	CHECK(!k.order.runtime && !k.order.workspace && !k.order.rootfs && !k.order.interpreter);
	CHECK(!k.order.has_seed && !k.order.has_time && !k.is_fresh && !k.preload[0]);
	CHECK_INT(k.order.n_volumes + k.order.n_env, 0);
	order_kept_done(&k);
	free(text);
}

/* Left out silently, a name would make another session. */
TEST(what_is_no_utf8_is_refused)
{
	static const char *const bad[] = {"\xff", NULL};
	static const struct volume volume = {"/\xff", "x", false}, target = {"/usr", "\xff", false};
	const struct order orders[] = {{.runtime = "\xff"}, {.interpreter = "\xff"},
		{.workspace = "/\xff"}, {.rootfs = "/\xff"}, {.env = bad, .n_env = 1},
		{.volumes = &volume, .n_volumes = 1}, {.volumes = &target, .n_volumes = 1}};
	for (size_t i = 0; i < ARRAY_LEN(orders); i++)
		CHECK(order_text(&orders[i], NULL, false) == NULL);
	CHECK(order_text(&(struct order){0}, bad, false) == NULL);
}

TEST(damaged_text_is_refused)
{
	static const char *const bad[] = {"", "{", "[]", "null", "7", "{}", "{\"limits\":{}}",
		"{\"limits\":{},\"env\":[],\"preload\":[1],\"volumes\":[]}",
		"{\"limits\":{},\"env\":[null],\"preload\":[],\"volumes\":[]}",
		"{\"limits\":{},\"env\":{},\"preload\":[],\"volumes\":[]}",
		"{\"limits\":[],\"env\":[],\"preload\":[],\"volumes\":[]}",
		"{\"limits\":{\"pids\":-1},\"env\":[],\"preload\":[],\"volumes\":[]}",
		"{\"limits\":{\"pids\":\"1\"},\"env\":[],\"preload\":[],\"volumes\":[]}",
		"{\"limits\":{},\"env\":[],\"preload\":[],\"volumes\":[{}]}",
		"{\"limits\":{},\"env\":[],\"preload\":[],\"volumes\":[{\"src\":\"/\"}]}",
		"{\"limits\":{},\"env\":[],\"preload\":[],\"volumes\":[],\"runtime\":1}",
		"{\"limits\":{},\"env\":[],\"preload\":[],\"volumes\":[],\"seed\":\"1\"}",
		"{\"limits\":{},\"env\":[],\"preload\":[],\"volumes\":[],\"workspace\":[]}"};
	struct order_kept k;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = {0};
		CHECK(order_parse(&k, bad[i], strlen(bad[i]), &err) < 0);
		CHECK_INT(err.code, ERR_DAMAGED);
	}
}

/* No change of a byte and no cut may do more than be refused, or be another order. */
TEST(any_change_is_survived)
{
	struct order_kept k;
	struct err err = {0};
	char *text = full_text();
	size_t bytes = strlen(text);
	for (size_t at = 0; at < bytes; at++) {
		for (int bit = 0; bit < 8; bit++) {
			text[at] ^= (char)(1 << bit);
			if (order_parse(&k, text, bytes, &err) == 0)
				order_kept_done(&k);
			text[at] ^= (char)(1 << bit);
		}
		CHECK(order_parse(&k, text, at, &err) < 0);
	}
	free(text);
}
