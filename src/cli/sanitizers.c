/* Suppressions for LeakSanitizer. Two leaks are accepted: texts of the configuration file, which
 * live as long as the process because options point to them (cli/host/config.h), and memory of
 * libedit. SPDX-License-Identifier: Apache-2.0 */
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
