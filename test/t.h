/* Unit tests: a registry, checks that go on after a failure, TAP out. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stdint.h>

struct t_test {
	const char *name;
	void (*run)(void);
};

/* Register a test. The section holds pointers, so no padding can stand between two of them. */
#define TEST(id)                                                                                   \
	static void id(void);                                                                      \
	static const struct t_test id##_test = {#id, id};                                          \
	__attribute__((used, section("t_tests"))) static const struct t_test *const id##_ptr =     \
		&id##_test;                                                                        \
	static void id(void)

#define CHECK(cond)	   t_check(!!(cond), __FILE__, __LINE__, #cond)
#define CHECK_INT(a, b)	   t_check_int((intmax_t)(a), (intmax_t)(b), __FILE__, __LINE__, #a)
#define CHECK_STR(a, b)	   t_check_str((a), (b), __FILE__, __LINE__, #a)
#define CHECK_HAS(text, s) t_check_has((text), (s), __FILE__, __LINE__)

int t_check(int ok, const char *file, int line, const char *what);
int t_check_int(intmax_t got, intmax_t want, const char *file, int line, const char *what);
int t_check_str(const char *got, const char *want, const char *file, int line, const char *what);
int t_check_has(const char *text, const char *part, const char *file, int line);

/* Leave the running test as skipped; the summary counts it and the reason is printed. */
void t_skip(const char *why);
