/* The runner behind t.h: `test-x [SUBSTRING]` runs the tests whose name has it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include <stdio.h>
#include <string.h>

extern const struct t_test *const __start_t_tests[];
extern const struct t_test *const __stop_t_tests[];

static struct {
	int failed;
	const char *skipped;
} now;

static int fail(const char *file, int line)
{
	now.failed++;
	printf("# %s:%d: ", file, line);
	return 0;
}

int t_check(int ok, const char *file, int line, const char *what)
{
	if (ok)
		return 1;
	fail(file, line);
	printf("%s\n", what);
	return 0;
}

int t_check_int(intmax_t got, intmax_t want, const char *file, int line, const char *what)
{
	if (got == want)
		return 1;
	fail(file, line);
	printf("%s is %jd, want %jd\n", what, got, want);
	return 0;
}

int t_check_str(const char *got, const char *want, const char *file, int line, const char *what)
{
	if (got && want && strcmp(got, want) == 0)
		return 1;
	fail(file, line);
	printf("%s is \"%s\", want \"%s\"\n", what, got ? got : "(null)", want ? want : "(null)");
	return 0;
}

int t_check_has(const char *text, const char *part, const char *file, int line)
{
	if (text && strstr(text, part))
		return 1;
	fail(file, line);
	printf("\"%s\" is not in \"%s\"\n", part, text ? text : "(null)");
	return 0;
}

void t_skip(const char *why)
{
	now.skipped = why;
}

int main(int argc, char **argv)
{
	int n = 0, n_failed = 0;
	for (const struct t_test *const *t = __start_t_tests; t < __stop_t_tests; t++) {
		if (argc > 1 && !strstr((*t)->name, argv[1]))
			continue;
		now.failed = 0;
		now.skipped = NULL;
		(*t)->run();
		n++;
		n_failed += now.failed > 0;
		printf("%s %d - %s", now.failed ? "not ok" : "ok", n, (*t)->name);
		if (now.skipped)
			printf(" # SKIP %s", now.skipped);
		printf("\n");
		(void)fflush(stdout);
	}
	printf("1..%d\n", n);
	return n_failed > 0 || n == 0;
}
