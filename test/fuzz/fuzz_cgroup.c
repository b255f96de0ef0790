/*
 * What /proc/self and the files of cgroups say: /proc/self/cgroup, mountinfo, cgroup.controllers
 * and a file of numbers, apart by NUL. SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include "sandbox/cgroup.h"
#include "sandbox/cgroup_file.h"

#include <stdlib.h>
#include <string.h>

/* No path may lead out of the directory that stands for "/": the code under test makes directories.
 */
static void tame(char *text)
{
	static const char *const ways[] = {"..", "\\056"}; /* the second as mountinfo writes it */
	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
		for (char *at = text; (at = strstr(at, ways[i]));)
			*at = '_';
}

static void put_part(const char *path, const uint8_t **data, size_t *bytes)
{
	const uint8_t *part;
	size_t n = fuzz_part(data, bytes, &part);
	char *text = fuzz_text(part, n);
	tame(text);
	fuzz_put(path, (const uint8_t *)text, strlen(text));
	free(text);
}

static void check_host(const struct cgroup_host *host)
{
	MUST(host->kind == CGROUP_NONE || host->kind == CGROUP_V1 || host->kind == CGROUP_V2);
	MUST(memchr(host->why, '\0', sizeof host->why));
	for (size_t i = 0; i < CGROUP_CONTROLLER_END_; i++) {
		MUST(memchr(host->base[i], '\0', sizeof host->base[i]));
		MUST(!host->base[i][0] ||
			strncmp(host->base[i], fuzz_dir(), strlen(fuzz_dir())) == 0);
	}
}

static void check_numbers(const uint8_t *data, size_t bytes)
{
	static const char *const keys[] = {NULL, "usage_usec", "oom_kill", "Cpus_allowed"};
	char *text = fuzz_text(data, bytes);
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		uint64_t value = 77;
		int r = cgroup_file_number(text, keys[i], &value);
		MUST(r <= 0 && (r == 0 || value == 77));
	}
	(void)cgroup_file_has_word(text, "memory", " \n");
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const char *const dirs[] = {"proc", "proc/self", "sys", "sys/fs", "sys/fs/cgroup",
		"sys/fs/cgroup/box", "sys/fs/cgroup/memory", "sys/fs/cgroup/pids"};
	struct cgroup_host host;
	for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++)
		fuzz_mkdir(dirs[i]);
	put_part("proc/self/cgroup", &data, &bytes);
	put_part("proc/self/mountinfo", &data, &bytes);
	put_part("sys/fs/cgroup/cgroup.controllers", &data, &bytes);
	check_numbers(data, bytes);
	for (int force = -1; force <= CGROUP_V2; force++) {
		cgroup_host_open(&host, fuzz_dir(), force);
		check_host(&host);
	}
	return 0;
}
