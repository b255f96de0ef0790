/*
 * Replacements for the sources of random numbers: of the kernel, of libc and of OpenSSL. In a run
 * with --seed, the numbers come from the program's own random stream (still.c) and are predictable.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "still.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { MEMORY_DEVICES = 1, RANDOM_MINOR = 8, URANDOM_MINOR = 9 };

/* Some libcs do not declare these functions in their headers. */
uint32_t arc4random(void);
void arc4random_buf(void *out, size_t bytes);
uint32_t arc4random_uniform(uint32_t bound);
ssize_t __read_chk(int fd, void *out, size_t bytes, size_t room);
int RAND_bytes(unsigned char *out, int bytes);
int RAND_priv_bytes(unsigned char *out, int bytes);
int RAND_bytes_ex(void *context, unsigned char *out, size_t bytes, unsigned strength);
int RAND_priv_bytes_ex(void *context, unsigned char *out, size_t bytes, unsigned strength);

STAND_IN ssize_t getrandom(void *out, size_t bytes, unsigned flags)
{
	if (!still_has_seed())
		return REAL(getrandom)(out, bytes, flags);
	still_fill(out, bytes);
	return (ssize_t)bytes;
}

STAND_IN int getentropy(void *out, size_t bytes)
{
	if (!still_has_seed() || bytes > 256)
		return REAL(getentropy)(out, bytes);
	still_fill(out, bytes);
	return 0;
}

STAND_IN void arc4random_buf(void *out, size_t bytes)
{
	if (still_has_seed())
		still_fill(out, bytes);
	else
		REAL(arc4random_buf)(out, bytes);
}

STAND_IN uint32_t arc4random(void)
{
	uint32_t word;
	arc4random_buf(&word, sizeof word);
	return word;
}

STAND_IN uint32_t arc4random_uniform(uint32_t bound)
{
	if (bound < 2)
		return 0;
	/*
	 * word % bound alone would favour small results when 2^32 is not a multiple of @bound.
	 * Reject the first 2^32 % bound words to make all results equally likely.
	 */
	uint32_t least = -bound % bound;
	uint32_t word = arc4random();
	while (word < least)
		word = arc4random();
	return word % bound;
}

/* ---- OpenSSL: its numbers also depend on the processor's time stamp counter ---- */

STAND_IN int RAND_bytes(unsigned char *out, int bytes)
{
	if (!still_has_seed() || bytes < 0)
		return REAL(RAND_bytes)(out, bytes);
	still_fill(out, (size_t)bytes);
	return 1;
}

STAND_IN int RAND_priv_bytes(unsigned char *out, int bytes)
{
	if (!still_has_seed() || bytes < 0)
		return REAL(RAND_priv_bytes)(out, bytes);
	still_fill(out, (size_t)bytes);
	return 1;
}

STAND_IN int RAND_bytes_ex(void *context, unsigned char *out, size_t bytes, unsigned strength)
{
	if (!still_has_seed())
		return REAL(RAND_bytes_ex)(context, out, bytes, strength);
	still_fill(out, bytes);
	return 1;
}

STAND_IN int RAND_priv_bytes_ex(void *context, unsigned char *out, size_t bytes, unsigned strength)
{
	if (!still_has_seed())
		return REAL(RAND_priv_bytes_ex)(context, out, bytes, strength);
	still_fill(out, bytes);
	return 1;
}

/* ---- /dev/random and /dev/urandom ---- */

/*
 * Return whether @fd is /dev/random or /dev/urandom. The descriptor is examined on each call,
 * because not every one was opened in this process: it may be inherited or a duplicate.
 */
static bool is_random_device(int fd)
{
	struct stat st;
	int saved = errno;
	bool is_it = still_has_seed() && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
		major(st.st_rdev) == MEMORY_DEVICES &&
		(minor(st.st_rdev) == RANDOM_MINOR || minor(st.st_rdev) == URANDOM_MINOR);
	errno = saved;
	return is_it;
}

STAND_IN ssize_t read(int fd, void *out, size_t bytes)
{
	ssize_t n = REAL(read)(fd, out, bytes);
	/* The kernel has checked @fd and @out. Now overwrite the random bytes it stored. */
	if (n > 0 && is_random_device(fd))
		still_fill(out, (size_t)n);
	return n;
}

STAND_IN ssize_t __read_chk(int fd, void *out, size_t bytes, size_t room)
{
	return bytes > room ? REAL(__read_chk)(fd, out, bytes, room) : read(fd, out, bytes);
}

static ssize_t fill_file(void *cookie, char *out, size_t bytes)
{
	(void)cookie;
	still_fill(out, bytes);
	return (ssize_t)bytes;
}

/*
 * Open /dev/random or /dev/urandom as a FILE that reads from our random stream: stdio reads without
 * calling the read() above. Returns: NULL if @path or @mode asks for something else.
 */
static FILE *open_random_file(const char *path, const char *mode)
{
	bool is_random =
		path && (strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/random") == 0);
	if (!still_has_seed() || !is_random || mode[0] != 'r')
		return NULL;
	return fopencookie(NULL, "r", (cookie_io_functions_t){.read = fill_file});
}

STAND_IN FILE *fopen(const char *path, const char *mode)
{
	FILE *file = open_random_file(path, mode);
	return file ? file : REAL(fopen)(path, mode);
}

STAND_IN FILE *fopen64(const char *path, const char *mode)
{
	FILE *file = open_random_file(path, mode);
	return file ? file : REAL(fopen64)(path, mode);
}
