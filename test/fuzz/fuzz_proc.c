/* The books of a process: /proc/1/stat, status and smaps_rollup, apart by NUL.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/fd.h"
#include "sandbox/proc_usage.h"

#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const char *const files[] = {"1/stat", "1/status", "1/smaps_rollup"};
	struct box_usage usage = {.memory_peak_bytes = 5, .cpu_us = 7, .n_oom_kills = 3};
	fuzz_mkdir("1");
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		const uint8_t *part;
		size_t n = fuzz_part(&data, &bytes, &part);
		fuzz_put(files[i], part, n);
	}
	cleanup_fd int proc = open(fuzz_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = proc_usage_read(proc, &(struct proc_bounds){0, 3}, &usage);
	MUST(r <= 1);
	MUST(usage.n_oom_kills == 3 && usage.cpu_us >= 7 && usage.memory_peak_bytes >= 5);
	return 0;
}
