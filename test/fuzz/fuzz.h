/* One input at a time, from libFuzzer or from replay.c. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns: 0. Ends the process when the parser breaks a promise of its header. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* A promise, kept in every build. */
#define MUST(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fuzz_broken(#cond, __FILE__, __LINE__);                                    \
	} while (0)

_Noreturn void fuzz_broken(const char *what, const char *file, int line);

/* The input as text that ends at its first NUL. Owns: the caller frees. */
char *fuzz_text(const uint8_t *data, size_t bytes);

/* A directory below /dev/shm or /tmp that is gone when the process ends. */
const char *fuzz_dir(void);

/* Write a file below fuzz_dir(); its directories are there. */
void fuzz_put(const char *path, const uint8_t *data, size_t bytes);

/* Make a directory below fuzz_dir(). */
void fuzz_mkdir(const char *path);

/* The part of the input up to the next NUL; *@data and *@bytes go behind it. */
size_t fuzz_part(const uint8_t **data, size_t *bytes, const uint8_t **part);
