/*
 * The syscall filter of everything that runs in a box: an allow-list with one row per syscall.
 *
 * Theory of operation. filter.def is the table; filter_table.c makes it an array; at build time
 * filter_gen compiles the array, once per variant, into a BPF program that the generated file
 * holds as a constant. So a box is locked without a library, a cache or a parser. A call without
 * a row answers ENOSYS, so that libc and programs fall back as on an older kernel; a call through
 * another architecture's table (i386, x32) kills the process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

enum filter_variant {
	FILTER_DEFAULT,
	FILTER_PINNED, /* CPU share is enforced by affinity, so affinity cannot be changed */
	/* As before; besides, the engine measures memory, so memory that it cannot see is
	 * refused */
	FILTER_UNCOUNTED,
	/* The same filters with one kind of clone() that the warden decides on. */
	FILTER_DEFAULT_NOTIFY,
	FILTER_PINNED_NOTIFY,
	FILTER_UNCOUNTED_NOTIFY,
	FILTER_VARIANT_END_,
	FILTER_NOTIFY_OFFSET = FILTER_DEFAULT_NOTIFY - FILTER_DEFAULT
};

/* The clone that makes a branch: VM, VFORK, PARENT, SIGCHLD, and NEW NS, UTS, IPC, USER, PID, NET.
 */
#define FILTER_BRANCH_FLAGS UINT32_C(0x7c02c111)

/* What prctl(PR_SET_SECCOMP) and seccomp(2) take: a `struct sock_fprog`, but constant. */
struct filter_program {
	const struct sock_filter *code;
	unsigned short n;
};

/* In the generated file. Owns: static. Returns: NULL out of range. */
const struct filter_program *filter_program(enum filter_variant variant);

/*
 * The rows of one syscall are tried in the order of the table. ALLOW and REFUSE end the search.
 * ONLY and EXCEPT are guards: they refuse, or let the next row decide. NOTIFY asks the warden, or
 * lets the next row decide. Guards look at the low 32 bits of one argument, because every
 * argument named in the table is a 32-bit one for the kernel, or at the upper half of pointer N:
 * argument FILTER_HIGH + N. A guard may hold only when another argument has a value:
 * (args[when_arg] & when_mask) == when_value.
 */
enum { FILTER_HIGH = 6 };
enum filter_kind {
	FILTER_ALLOW,
	FILTER_REFUSE, /* with `error`; 0: the call does nothing and returns 0 */
	FILTER_ONLY,   /* refuse with `error` unless (arg & mask) is one of `values` */
	FILTER_EXCEPT, /* refuse with `error` when (arg & mask) is one of `values` */
	FILTER_NOTIFY, /* the warden answers when (arg & mask) is one of `values` */
};

struct filter_row {
	const char *syscall;
	const char *reason;
	const uint32_t *values;
	unsigned n_values;
	uint32_t mask;
	enum filter_kind kind;
	int error;
	unsigned arg;
	unsigned when_arg;
	uint32_t when_mask, when_value; /* mask 0: always */
};

/* The table, and rows that a variant tries before it, if any. Owns: static. */
const struct filter_row *filter_rows(size_t *n);
const struct filter_row *filter_variant_rows(enum filter_variant variant, size_t *n);

/* "default", "pinned_notify". Owns: static. Returns: NULL out of range. */
const char *filter_variant_name(enum filter_variant variant);

/* One word for documentation: "allow", "refuse", "only", "except", "notify". Owns: static. */
const char *filter_kind_word(enum filter_kind kind);
