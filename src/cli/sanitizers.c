/* Suppressions for LeakSanitizer. Texts of the configuration are never freed, because options
 * borrow them (cli/host/config.h); libedit leaks some memory. SPDX-License-Identifier: Apache-2.0
 */
#define HOOK __attribute__((visibility("default")))

HOOK const char *__lsan_default_suppressions(void);
HOOK const char *__lsan_default_suppressions(void)
{
	return "leak:as_text\nleak:wcsdup\n";
}

HOOK const char *__lsan_default_options(void);
HOOK const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}
