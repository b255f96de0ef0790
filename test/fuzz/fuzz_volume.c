/* Destinations of volumes. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "sandbox/warden/root.h"

#include <stdlib.h>
#include <string.h>

static void check_accepted(const char *dst)
{
	static const char *const taken[] = {"/", "/proc", "/dev", "/sys", "/etc", "/usr", "/bin",
		"/lib", "/home", "/home/user", "/tmp", "/retort"};
	MUST(dst[0] == '/');
	for (const char *at = dst; *at;) {
		size_t n = strcspn(++at, "/");
		MUST(n > 0 && n <= 255);
		MUST(!(n == 1 && at[0] == '.'));
		MUST(!(n == 2 && at[0] == '.' && at[1] == '.'));
		at += n;
	}
	for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
		MUST(strcmp(dst, taken[i]) != 0);
	MUST(strncmp(dst, "/proc/", 6) != 0 && strncmp(dst, "/dev/", 5) != 0);
	MUST(strncmp(dst, "/sys/", 5) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct err err = {0};
	char *dst = fuzz_text(data, bytes);
	if (root_check_dst(dst, &err) == 0)
		check_accepted(dst);
	else
		MUST(err.code == ERR_USAGE && err.hint[0]);
	free(dst);
	return 0;
}
