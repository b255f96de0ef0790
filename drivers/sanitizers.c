/*
 * The options of AddressSanitizer and UBSan in a driver. They are compiled in, because a box passes
 * no environment variables such as ASAN_OPTIONS to the driver.
 *
 * AddressSanitizer must not set the limit of core files, because a box hides that limit. It must
 * not check that it was loaded first, because drivers/still is preloaded before it. It must not
 * look for leaks, because that needs ptrace, which a box forbids.
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
