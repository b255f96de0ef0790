/*
 * The syscall filter of everything that runs in a box: an allow-list with one or more rows per
 * syscall.
 *
 * Theory of operation. filter.def is the table, which filter_table.c turns into an array. At build
 * time filter_gen compiles the array into one BPF program per variant, and writes the programs as
 * constants to a C file. So locking a box takes no library, cache or parser. A call without a row
 * fails with ENOSYS, so that libc and programs fall back as on an older kernel. A call through
 * another architecture's table (i386, x32) kills the process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum filter_variant {
	FILTER_DEFAULT,
	FILTER_PINNED, /* processes cannot change the CPU affinity: it enforces the CPU limit */
	/* As FILTER_PINNED, for boxes whose memory limit the engine enforces. It also refuses
	 * the calls that make memory which the engine could not measure. */
	FILTER_UNCOUNTED,
	/* The three filters above for boxes that can write to no file of the host. They differ in
	 * the forms for boxes that can be branched: there the others refuse extended attributes. */
	FILTER_DEFAULT_OWN,
	FILTER_PINNED_OWN,
	FILTER_UNCOUNTED_OWN,
	/* The three filters above for boxes whose user is root (FILTER_…_ROOT): changes of owners
	 * and ids succeed without doing anything, so that package managers work, although there is
	 * only one id. Or whose user is another one of an image (FILTER_…_OTHER): the kernel
	 * refuses what it does not map. */
	FILTER_DEFAULT_ROOT,
	FILTER_PINNED_ROOT,
	FILTER_UNCOUNTED_ROOT,
	/* as FILTER_…_ROOT, and set-id bits of files may be set: no file of the host can get them
	 */
	FILTER_DEFAULT_SETID,
	FILTER_PINNED_SETID,
	FILTER_UNCOUNTED_SETID,
	FILTER_DEFAULT_OTHER,
	FILTER_PINNED_OTHER,
	FILTER_UNCOUNTED_OTHER,
	FILTER_DEFAULT_OTHER_OWN,
	FILTER_PINNED_OTHER_OWN,
	FILTER_UNCOUNTED_OTHER_OWN,
	/* The filters above for boxes that can be branched: the warden decides on each clone() with
	 * FILTER_BRANCH_FLAGS, and netlink sockets are refused. */
	FILTER_DEFAULT_NOTIFY,
	FILTER_PINNED_NOTIFY,
	FILTER_UNCOUNTED_NOTIFY,
	FILTER_DEFAULT_OWN_NOTIFY,
	FILTER_PINNED_OWN_NOTIFY,
	FILTER_UNCOUNTED_OWN_NOTIFY,
	FILTER_DEFAULT_ROOT_NOTIFY,
	FILTER_PINNED_ROOT_NOTIFY,
	FILTER_UNCOUNTED_ROOT_NOTIFY,
	FILTER_DEFAULT_SETID_NOTIFY,
	FILTER_PINNED_SETID_NOTIFY,
	FILTER_UNCOUNTED_SETID_NOTIFY,
	FILTER_DEFAULT_OTHER_NOTIFY,
	FILTER_PINNED_OTHER_NOTIFY,
	FILTER_UNCOUNTED_OTHER_NOTIFY,
	FILTER_DEFAULT_OTHER_OWN_NOTIFY,
	FILTER_PINNED_OTHER_OWN_NOTIFY,
	FILTER_UNCOUNTED_OTHER_OWN_NOTIFY,
	FILTER_VARIANT_END_,
	FILTER_OWN_OFFSET = FILTER_DEFAULT_OWN - FILTER_DEFAULT,
	FILTER_ROOT_OFFSET = FILTER_DEFAULT_ROOT - FILTER_DEFAULT,
	FILTER_SETID_OFFSET = FILTER_DEFAULT_SETID - FILTER_DEFAULT,
	FILTER_OTHER_OFFSET = FILTER_DEFAULT_OTHER - FILTER_DEFAULT,
	FILTER_OTHER_OWN_OFFSET = FILTER_DEFAULT_OTHER_OWN - FILTER_DEFAULT,
	FILTER_NOTIFY_OFFSET = FILTER_DEFAULT_NOTIFY - FILTER_DEFAULT
};

/* The id of the user of a box with the host's system. */
enum { FILTER_BOX_ID = 1000 };

/* Return the offset for a box whose user has the id @uid. @has_own_files: it can write to no file
 * of the host. */
static inline enum filter_variant filter_user_offset(uint32_t uid, bool has_own_files)
{
	if (uid == 0)
		return (enum filter_variant)(
			has_own_files ? FILTER_SETID_OFFSET : FILTER_ROOT_OFFSET);
	if (uid == FILTER_BOX_ID)
		return (enum filter_variant)(has_own_files ? FILTER_OWN_OFFSET : 0);
	return (enum filter_variant)(has_own_files ? FILTER_OTHER_OWN_OFFSET : FILTER_OTHER_OFFSET);
}

/* The flags of the clone() that makes a branch: CLONE_VM, CLONE_VFORK, CLONE_PARENT, SIGCHLD, and
 * CLONE_NEW… for the mount, UTS, IPC, user, pid and network namespaces. */
#define FILTER_BRANCH_FLAGS UINT32_C(0x7c02c111)

/* The argument of prctl(PR_SET_SECCOMP) and seccomp(2): a `struct sock_fprog` with
 * constant code. */
struct filter_program {
	const struct sock_filter *code;
	unsigned short n;
};

/* Return the compiled filter, or NULL if @variant is out of range. Defined in the generated file.
 * Owns: static. */
const struct filter_program *filter_program(enum filter_variant variant);

/*
 * The kinds of rows. The rows of one syscall are tried in the order of the table. A row of the kind
 * ALLOW or REFUSE decides the call. Rows of the kinds ONLY, EXCEPT and NOTIFY are guards: a guard
 * either answers the call or leaves it to the next row.
 *
 * A guard compares the argument with the number `arg`, from 0 to 5. It compares the low 32 bits,
 * since the kernel takes every argument that is named in the table as 32 bits. There is one
 * exception: if `arg` is FILTER_HIGH + N, argument N is a pointer, and the guard compares its upper
 * 32 bits.
 *
 * If when_mask is not 0, the guard has a condition: it applies only to calls with (args[when_arg] &
 * when_mask) == when_value, and leaves all other calls to the next row.
 */
enum { FILTER_HIGH = 6 };
enum filter_kind {
	FILTER_ALLOW,
	FILTER_REFUSE, /* fail with `error`; with error 0, return 0 without doing anything */
	FILTER_ONLY,   /* refuse with `error` unless (arg & mask) is one of `values` */
	FILTER_EXCEPT, /* refuse with `error` when (arg & mask) is one of `values` */
	FILTER_NOTIFY, /* let the warden decide when (arg & mask) is one of `values` */
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
	/* condition on another argument; always true if when_mask is 0 */
	uint32_t when_mask, when_value;
};

/* filter_rows() returns the table filter.def, whose rows are the same for all filter variants.
 * filter_variant_rows() returns the additional rows of the filter variant @variant, or NULL if
 * the variant has none. For each syscall, the additional rows are tried before the rows of the
 * table. *@n becomes the number of returned rows. Owns: static. */
const struct filter_row *filter_rows(size_t *n);
const struct filter_row *filter_variant_rows(enum filter_variant variant, size_t *n);

/* Return the variant's name, such as "pinned_notify", or NULL out of range. Owns: static. */
const char *filter_variant_name(enum filter_variant variant);

/* Return the kind's word in the documentation: "allow", "refuse", "only", "except" or "notify".
 * Owns: static. */
const char *filter_kind_word(enum filter_kind kind);
