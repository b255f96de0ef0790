/* The option --secret: values that are too long or wrong, and what stays of them in memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/secret.h"

#include "unit/gateway/wiped.h"
#include "unit/tree.h"
#include "t.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_MAX = 8192, TEXT_BYTES = 100000, N_SOURCES = 3 };

/* How often memory with a value grew, and may have left it behind. */
static size_t n_regrown;

void *__real_realloc(void *p, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);

void *__wrap_realloc(void *p, size_t bytes)
{
	bool has_value = p && memmem(p, malloc_usable_size(p), "hunter22", 8);
	void *to = __real_realloc(p, bytes);
	n_regrown += has_value;
	return to;
}

static char sources[N_SOURCES][320];

/* Put a value of @n bytes into a variable, a file, and what a command prints, with @after behind it
 * in the latter two. */
static void put(const struct tree *t, size_t n, const char *after)
{
	static char text[TEXT_BYTES];
	for (size_t i = 0; i < n; i++)
		text[i] = "hunter22"[i % 8];
	text[n] = '\0';
	(void)setenv("LONG", text, true);
	(void)snprintf(text + n, sizeof text - n, "%s", after);
	tree_put((struct tree *)t, "value", text);
	(void)snprintf(sources[0], sizeof sources[0], "env:LONG");
	(void)snprintf(sources[1], sizeof sources[1], "file:%s", tree_path(t, "value"));
	(void)snprintf(sources[2], sizeof sources[2], "command:cat %s", tree_path(t, "value"));
}

static int take_length(void *arg, const struct secret_given *s, struct err *err attr_unused)
{
	*(size_t *)arg = strlen(s->value);
	return 0;
}

/* Returns: the length of the value; -1 with @err. */
static long length_of(const char *source, struct err *err)
{
	char text[512];
	const struct opt_list list = {.item = {text}, .n = 1};
	size_t n = 0;
	(void)snprintf(text, sizeof text, "KEY=%s", source);
	*err = (struct err){0};
	return secret_each(&list, SECRET_GET_VALUE, take_length, &n, err) < 0 ? -1 : (long)n;
}

TEST(values_are_as_long_as_secrets_may_be)
{
	static const size_t too_long[] = {VALUE_MAX + 3, 70000, TEXT_BYTES - 1};
	struct err err;
	TREE t = tree_new();
	put(&t, VALUE_MAX, "\r\n");
	for (size_t i = 0; i < N_SOURCES; i++)
		CHECK_INT(length_of(sources[i], &err), VALUE_MAX);
	for (size_t k = 0; k < ARRAY_LEN(too_long); k++) {
		put(&t, too_long[k], "");
		for (size_t i = 0; i < N_SOURCES; i++) {
			CHECK_INT(length_of(sources[i], &err), -1);
			CHECK_INT(err.code, ERR_LIMIT);
			CHECK_STR(err.msg, "--secret KEY: the value is too long");
			CHECK_HAS(err.hint, "at most 8192 bytes");
		}
	}
}

TEST(a_command_that_never_ends_is_too_long)
{
	struct err err;
	CHECK_INT(length_of("command:yes", &err), -1);
	CHECK_HAS(err.msg, "too long");
}

TEST(values_are_wiped_whatever_fails)
{
	/* The text of the option is no value. */
	static const char *const bad[] = {"command:printf '%s%s\\0x' hunt er22",
		"command:printf %s%s hunt er22; exit 3",
		"command:printf %s%s hunt er22; kill -9 $$"};
	struct err err;
	size_t n_freed;
	TREE t = tree_new();
	put(&t, 70000, "");
	wiped_begin("hunter22");
	for (size_t i = 0; i < N_SOURCES; i++)
		CHECK_INT(length_of(sources[i], &err), -1);
	CHECK_INT(wiped_end(&n_freed), 0);
	CHECK(n_freed >= N_SOURCES);
	put(&t, 5000, "\n");
	n_regrown = 0;
	wiped_begin("hunter22");
	for (size_t i = 0; i < N_SOURCES; i++)
		CHECK_INT(length_of(sources[i], &err), 5000);
	CHECK_INT(wiped_end(&n_freed), 0);
	CHECK_INT(n_regrown, 0);
	CHECK(n_freed >= 2 * N_SOURCES);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		wiped_begin("hunter22");
		CHECK_INT(length_of(bad[i], &err), -1);
		CHECK_INT(wiped_end(&n_freed), 0);
		CHECK(n_freed > 0);
	}
}
