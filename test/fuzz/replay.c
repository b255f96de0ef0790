/* Without libFuzzer a target runs each file of the directories given. SPDX-License-Identifier:
 * Apache-2.0 */
#include "fuzz.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_MAX_BYTES = 1 << 20 };

/* In storage of its very size, so that a byte read behind the end is seen. */
static int run_file(int dir, const char *name)
{
	static uint8_t data[INPUT_MAX_BYTES];
	cleanup_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -errno : fd_read_all(fd, data, sizeof data);
	if (n < 0) {
		fprintf(stderr, "%s: %s\n", name, strerror((int)-n));
		return -1;
	}
	uint8_t *exact = malloc((size_t)n + (n == 0));
	memcpy(exact, data, (size_t)n);
	fprintf(stderr, "%s\n", name);
	(void)LLVMFuzzerTestOneInput(exact, (size_t)n);
	free(exact);
	return 0;
}

int main(int argc, char **argv)
{
	int n_passed = 0, n_failed = 0;
	for (int i = 1; i < argc; i++) {
		struct dirent *entry;
		DIR *dir = opendir(argv[i]);
		if (!dir) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
			n_failed++;
			continue;
		}
		while ((entry = readdir(dir))) {
			if (entry->d_name[0] == '.')
				continue;
			int r = run_file(dirfd(dir), entry->d_name);
			n_passed += r == 0;
			n_failed += r < 0;
		}
		(void)closedir(dir);
	}
	printf("%d passed, %d failed, 0 skipped\n", n_passed, n_failed);
	return n_failed > 0 || n_passed == 0;
}
