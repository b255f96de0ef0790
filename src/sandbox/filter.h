/*
 * The syscall filter of everything that runs in a box: an allow-list with one row per syscall.
 *
 * Theory of operation. filter.def is the table; filter_table.c makes it an array; at build time
 * filter_gen compiles the array, once per variant, into a BPF program that the generated file holds
 * as a constant. So a box is locked without a library, a cache or a parser. What no row names
 * answers ENOSYS, so that libc and programs fall back as on an older kernel; a call through another
 * architecture's table (i386, x32) kills the process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

enum filter_variant {
	FILTER_DEFAULT,
	FILTER_PINNED,	  /* CPU share is enforced by affinity, so affinity cannot be changed */
	FILTER_UNCOUNTED, /* besides, the engine measures memory: none that it cannot see */
	FILTER_VARIANT_END_
};

/* What prctl(PR_SET_SECCOMP) and seccomp(2) take: a `struct sock_fprog`, but constant. */
struct filter_program {
	const struct sock_filter *code;
	unsigned short n;
};

/* In the generated file. Owns: static. Returns: NULL for a variant out of range. */
const struct filter_program *filter_program(enum filter_variant variant);

/*
 * The rows of one syscall are tried in the order of the table. ALLOW and REFUSE end it; ONLY and
 * EXCEPT are guards that refuse or let the next row decide. Guards look at the low 32 bits of one
 * argument, because every argument named in the table is a 32-bit one for the kernel, which ignores
 * the rest of the register.
 */
enum filter_kind {
	FILTER_ALLOW,
	FILTER_REFUSE, /* with `error` */
	FILTER_ONLY,   /* refuse with `error` unless (arg & mask) is one of `values` */
	FILTER_EXCEPT, /* refuse with `error` when (arg & mask) is one of `values` */
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
};

/* The table. Owns: static. */
const struct filter_row *filter_rows(size_t *n);

/* Rows that one variant tries before the table; there may be none. Owns: static. */
const struct filter_row *filter_variant_rows(enum filter_variant variant, size_t *n);

/* "default", "pinned". Owns: static. Returns: NULL out of range. */
const char *filter_variant_name(enum filter_variant variant);

/* One word for documentation: "allow", "refuse", "only", "except". Owns: static. */
const char *filter_kind_word(enum filter_kind kind);
