/*
 * The settings of a run with --seed or --time: its random stream and the clock that the box shares.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "still.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

enum { PRELOAD_BYTES = 4200, SHARED_KEY = 0x7374696c };

/* glibc has only the first of these for a library that is not linked to it, musl the second. */
typedef void hook_fn(void);
extern int __register_atfork(hook_fn *before, hook_fn *parent, hook_fn *child, void *library)
	__attribute__((weak));
#pragma weak pthread_atfork

#define SHARED_FILE "/dev/shm/.retort-still"

static struct {
	bool has_time, has_seed;
	uint64_t key;
	int64_t start_ns;
	_Atomic uint64_t n_words; /* words drawn from the random stream so far */
	/*
	 * Number of children so far. The random stream of a child is derived from the child's
	 * number
	 */
	_Atomic uint64_t n_children;
	_Atomic int64_t own_slept_ns;
	/* The clock that the box shares, or &own_slept_ns if no memory could be shared */
	_Atomic int64_t *slept_ns;
	/* the text "RETORT_STILL=…" in environ: the settings for the next child */
	char variable[STILL_TEXT_BYTES];
	char preload[PRELOAD_BYTES]; /* "LD_PRELOAD=PATH", where PATH is this library */
} still;

static void start(void);

/*
 * Constructors of other libraries may call this function before start(), which is the constructor
 * of this library. So start() is called here.
 */
bool still_has_time(void)
{
	start();
	return still.has_time;
}

bool still_has_seed(void)
{
	start();
	return still.has_seed;
}

int64_t still_start_ns(void)
{
	return still.start_ns;
}

/* ---- random stream ---- */

/* Source: the output function of SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/*
 * Word number N depends only on the key and on N. So no lock is needed, and a fork in the middle
 * does no harm.
 */
void still_fill(void *out, size_t bytes)
{
	uint64_t n = bytes / 8 + (bytes % 8 != 0);
	uint64_t at = atomic_fetch_add(&still.n_words, n);
	for (size_t done = 0; done < bytes; done += 8) {
		uint64_t word = mix(still.key ^ mix(at++));
		memcpy((char *)out + done, &word, bytes - done < 8 ? bytes - done : 8);
	}
}

static uint64_t child_key(uint64_t number)
{
	return mix(mix(still.key) + number);
}

/* ---- the clock that the programs of a box share ---- */

int64_t still_slept_ns(void)
{
	return atomic_load(still.slept_ns);
}

void still_advance_to(int64_t slept_ns)
{
	int64_t now = atomic_load(still.slept_ns);
	while (now < slept_ns && !atomic_compare_exchange_weak(still.slept_ns, &now, slept_ns))
		;
}

/*
 * Map the box's clock in a System V memory segment. Such a segment has no name in a directory and
 * no descriptor that a program could close, and the kernel removes it with the box's IPC namespace.
 * Returns: NULL on failure.
 */
static void *share_segment(void)
{
	int id = shmget(SHARED_KEY, sizeof *still.slept_ns, IPC_CREAT | 0600);
	void *page = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
	return page == (void *)-1 ? NULL : page;
}

/*
 * Map the box's clock in a file. On a host without a memory controller for cgroups, a box cannot
 * create System V segments. Returns: NULL on failure.
 */
static void *share_file(void)
{
	size_t bytes = sizeof *still.slept_ns;
	int fd = open(SHARED_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	/*
	 * Allocate the block now: otherwise writing to the page on a full disk would cause a
	 * SIGBUS.
	 */
	void *page = fd < 0 || posix_fallocate(fd, 0, (off_t)bytes) != 0
		? MAP_FAILED
		: mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		(void)close(fd);
	return page == MAP_FAILED ? NULL : page;
}

static void share_clock(void)
{
	void *page = share_segment();
	if (!page)
		page = share_file();
	still.slept_ns = page ? page : &still.own_slept_ns;
}

/*
 * Give this process, which now runs in another box, the clock of that box. It continues at the time
 * of the old clock.
 */
void retort_still_branch(void)
{
	int64_t slept_ns;
	void *old = still.slept_ns;
	if (!still_has_time())
		return;
	slept_ns = still_slept_ns();
	atomic_store(&still.own_slept_ns, slept_ns);
	still.slept_ns = &still.own_slept_ns;
	if (old != (void *)&still.own_slept_ns && shmdt(old) < 0)
		(void)munmap(old, sizeof *still.slept_ns);
	share_clock();
	still_advance_to(slept_ns);
}

/* ---- settings ---- */

void still_write_orders(char text[STILL_TEXT_BYTES])
{
	uint64_t number = atomic_fetch_add(&still.n_children, 1) + 1;
	int n = still.has_seed ? snprintf(text, STILL_TEXT_BYTES, STILL_VARIABLE "%016" PRIx64 ":",
					 child_key(number))
			       : snprintf(text, STILL_TEXT_BYTES, STILL_VARIABLE "-:");
	snprintf(text + n, (size_t)(STILL_TEXT_BYTES - n), "%" PRId64 ":%" PRId64, still.start_ns,
		still_slept_ns());
}

/* Parse @text, which has the form KEY:START:SLEPT. Returns: false if it has another form. */
static bool read_orders(const char *text, int64_t *slept_ns)
{
	char *end = NULL;
	if (text[0] == '-') {
		end = (char *)(uintptr_t)text + 1;
	} else {
		still.key = strtoull(text, &end, 16);
		still.has_seed = end == text + 16;
	}
	if (*end != ':' || (!still.has_seed && text[0] != '-'))
		return false;
	still.start_ns = strtoll(end + 1, &end, 10);
	if (*end != ':')
		return false;
	*slept_ns = strtoll(end + 1, &end, 10);
	return *end == '\0' && still.start_ns >= 0 && *slept_ns >= 0;
}

static _Atomic bool is_started;
static _Atomic uint64_t fork_number;

/*
 * Choose the number of the next child before the fork; in_child() derives the child's random stream
 * from it.
 */
static void before_fork(void)
{
	atomic_store(&fork_number, atomic_fetch_add(&still.n_children, 1) + 1);
}

static void in_child(void)
{
	still.key = child_key(atomic_load(&fork_number));
	atomic_store(&still.n_words, 0);
	atomic_store(&still.n_children, 0);
	still_write_orders(still.variable);
}

void still_renew_orders(void)
{
	if (still_has_time())
		still_write_orders(still.variable);
}

char *still_preload(void)
{
	return still.preload;
}

static void take_preload(const char *value)
{
	size_t n = strcspn(value, ": ");
	snprintf(still.preload, sizeof still.preload, STILL_PRELOAD "%.*s",
		(int)(n < PATH_MAX ? n : PATH_MAX), value);
}

static void read_environment(void)
{
	int64_t slept_ns = 0;
	size_t at = 0;
	for (size_t i = 0; environ && environ[i]; i++) {
		if (strncmp(environ[i], STILL_PRELOAD, sizeof STILL_PRELOAD - 1) == 0)
			take_preload(environ[i] + sizeof STILL_PRELOAD - 1);
		else if (strncmp(environ[i], STILL_VARIABLE, sizeof STILL_VARIABLE - 1) == 0)
			at = i + 1;
	}
	still.slept_ns = &still.own_slept_ns;
	if (at == 0 || !read_orders(environ[at - 1] + sizeof STILL_VARIABLE - 1, &slept_ns)) {
		still.has_seed = false;
		return;
	}
	still.has_time = true;
	share_clock();
	still_advance_to(slept_ns);
	still_write_orders(still.variable);
	environ[at - 1] = still.variable;
	if (__register_atfork)
		(void)__register_atfork(before_fork, NULL, in_child, NULL);
	else if (pthread_atfork)
		(void)pthread_atfork(before_fork, NULL, in_child);
}

/*
 * pthread_once() cannot be used here. An allocator that reads a file on its first call would call
 * start() from within start(), and pthread_once() would then wait for itself.
 */
__attribute__((constructor(101))) static void start(void)
{
	if (atomic_load_explicit(&is_started, memory_order_relaxed) ||
		atomic_exchange(&is_started, true))
		return;
	int saved = errno;
	read_environment();
	errno = saved;
}
