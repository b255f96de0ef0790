/*
 * What AddressSanitizer and UBSan do in a driver, which hears of no option: a box hands no
 * environment on. A box does not tell the limit of core files, which AddressSanitizer would set; it
 * loads our clock and random numbers before all else (drivers/still), of which AddressSanitizer is
 * suspicious; and it has no ptrace, by which leaks are found.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define HOOK __attribute__((visibility("default")))

HOOK const char *__asan_default_options(void);
HOOK const char *__asan_default_options(void)
{
	return "disable_coredump=0:verify_asan_link_order=0:detect_leaks=0:"
	       "allocator_may_return_null=1";
}

HOOK const char *__ubsan_default_options(void);
HOOK const char *__ubsan_default_options(void)
{
	return "halt_on_error=1:print_stacktrace=1";
}
