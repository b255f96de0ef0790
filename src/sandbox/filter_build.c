/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/filter_build.h"

#include "base/attr.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <string.h>

#define X32_BIT UINT32_C(0x40000000)

static const uint32_t answer_absent = SECCOMP_RET_ERRNO | ENOSYS;

/* The syscall numbers from `first` up to the next segment's `first`. A call gets `answer` unless
 * one of `guards` decides on it before. */
struct segment {
	uint32_t first;
	uint32_t answer;
	const struct filter_row *guards[FILTER_GUARD_MAX];
	size_t n_guards;
};

struct segments {
	struct segment v[FILTER_NUMBER_MAX + 8];
	size_t n;
};

/* Syscalls that libseccomp 2.5.4 does not know. From number 424 on, a syscall has the same number
 * on all architectures. */
static const struct {
	const char *name;
	int number;
} young_calls[] = {
	{"cachestat", 451},
	{"fchmodat2", 452},
	{"map_shadow_stack", 453},
	{"futex_wake", 454},
	{"futex_wait", 455},
	{"futex_requeue", 456},
	{"statmount", 457},
	{"listmount", 458},
	{"mseal", 462},
	{"setxattrat", 463},
	{"getxattrat", 464},
	{"listxattrat", 465},
	{"removexattrat", 466},
	{"open_tree_attr", 467},
	{"file_getattr", 468},
	{"file_setattr", 469},
};

int filter_number(uint32_t arch, const char *name)
{
	int number = seccomp_syscall_resolve_name_arch(arch, name);
	if (number >= 0)
		return number;
	if (number != __NR_SCMP_ERROR)
		return -ENOSYS;
	for (size_t i = 0; i < ARRAY_LEN(young_calls); i++)
		if (strcmp(young_calls[i].name, name) == 0)
			return young_calls[i].number;
	return -ENOENT;
}

static bool is_final(const struct filter_row *row)
{
	return row->kind == FILTER_ALLOW || row->kind == FILTER_REFUSE;
}

/* Check that each syscall has exactly one final row (ALLOW or REFUSE), and that no row of the
 * same syscall comes after the final row. */
static int check_table(const struct filter_row *rows, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		size_t n_final = 0;
		bool is_last_final = false;
		for (size_t j = 0; j < n; j++) {
			if (strcmp(rows[i].syscall, rows[j].syscall) != 0)
				continue;
			is_last_final = is_final(&rows[j]);
			n_final += is_last_final;
		}
		if (n_final != 1 || !is_last_final)
			return err_set(err, ERR_INTERNAL,
				"%s: rows must end in one ALLOW, DENY or ABSENT", rows[i].syscall);
	}
	return 0;
}

/*
 * Fill @seg from the rows of the syscall whose number is seg->first. The rows before the final row
 * (ALLOW or REFUSE) become seg->guards. The final row determines seg->answer.
 * Returns: 1; 0 if @rows has no final row of this syscall, and seg->answer is therefore unchanged;
 * or negative errno.
 */
static int decide(struct segment *seg, uint32_t arch, const struct filter_row *rows, size_t n,
	struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		if (filter_number(arch, rows[i].syscall) != (int)seg->first)
			continue;
		if (is_final(&rows[i])) {
			seg->answer = rows[i].kind == FILTER_ALLOW
				? SECCOMP_RET_ALLOW
				: SECCOMP_RET_ERRNO | (uint32_t)rows[i].error;
			return 1;
		}
		if (seg->n_guards == FILTER_GUARD_MAX)
			return err_set(err, ERR_INTERNAL, "%s: more than %d guards",
				rows[i].syscall, FILTER_GUARD_MAX);
		seg->guards[seg->n_guards++] = &rows[i];
	}
	return 0;
}

/* Append @seg to @segs, unless @seg is superfluous. It is superfluous if @seg and the last
 * segment in @segs have the same answer, and neither of the two has guards. Then the last
 * segment answers for the syscall numbers of @seg too, since a segment reaches up to the
 * beginning of the next one. */
static void add_segment(struct segments *segs, const struct segment *seg)
{
	const struct segment *last = segs->n > 0 ? &segs->v[segs->n - 1] : NULL;
	if (last && last->n_guards == 0 && seg->n_guards == 0 && last->answer == seg->answer)
		return;
	segs->v[segs->n++] = *seg;
}

static int fill_segments(
	struct segments *segs, uint32_t arch, enum filter_variant variant, struct err *err)
{
	size_t n_extra, n_rows;
	const struct filter_row *extra = filter_variant_rows(variant, &n_extra);
	const struct filter_row *rows = filter_rows(&n_rows);
	for (uint32_t nr = 0; nr <= FILTER_NUMBER_MAX; nr++) {
		struct segment seg = {.first = nr, .answer = answer_absent};
		int r = decide(&seg, arch, extra, n_extra, err);
		if (r == 0)
			r = decide(&seg, arch, rows, n_rows, err);
		if (r < 0)
			return r;
		add_segment(segs, &seg);
	}
	add_segment(
		segs, &(struct segment){.first = FILTER_NUMBER_MAX + 1, .answer = answer_absent});
	if (arch != AUDIT_ARCH_X86_64)
		return 0;
	add_segment(segs, &(struct segment){.first = X32_BIT, .answer = SECCOMP_RET_KILL_PROCESS});
	/* A tracer skips a call by replacing its number with -1. Such a call must not kill the
	 * process. */
	add_segment(segs, &(struct segment){.first = UINT32_MAX, .answer = answer_absent});
	return 0;
}

static int emit(
	struct filter_code *out, uint16_t op, size_t jt, size_t jf, uint32_t k, struct err *err)
{
	if (out->n == BPF_MAXINSNS || jt > UINT8_MAX || jf > UINT8_MAX)
		return err_set(err, ERR_INTERNAL, "the program is too long at %zu", out->n);
	out->code[out->n++] = (struct sock_filter){op, (uint8_t)jt, (uint8_t)jf, k};
	return 0;
}

static int emit_load(struct filter_code *out, unsigned arg, uint32_t mask, struct err *err)
{
	bool is_high = arg >= FILTER_HIGH;
	uint32_t at = (uint32_t)(offsetof(struct seccomp_data, args) +
		(arg % FILTER_HIGH) * sizeof(uint64_t) + is_high * sizeof(uint32_t));
	int r = emit(out, BPF_LD | BPF_W | BPF_ABS, 0, 0, at, err);
	if (r == 0 && mask != UINT32_MAX)
		r = emit(out, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask, err);
	return r;
}

/* Emit the condition of @row, which consists of when_arg, when_mask and when_value. A call that
 * does not meet this condition jumps over the next @n instructions. */
static int emit_when(
	struct filter_code *out, const struct filter_row *row, size_t n, struct err *err)
{
	int r = emit_load(out, row->when_arg, row->when_mask, err);
	return r < 0 ? r : emit(out, BPF_JMP | BPF_JEQ | BPF_K, 0, n, row->when_value, err);
}

static int emit_guard(struct filter_code *out, const struct filter_row *row, struct err *err)
{
	bool is_only = row->kind == FILTER_ONLY;
	size_t n_load = row->mask == UINT32_MAX ? 1 : 2;
	int r = row->when_mask == 0 ? 0 : emit_when(out, row, n_load + row->n_values + 1, err);
	if (r == 0)
		r = emit_load(out, row->arg, row->mask, err);
	for (unsigned i = 0; r == 0 && i < row->n_values; i++) {
		size_t to_refusal = row->n_values - 1 - i;
		bool is_last = to_refusal == 0;
		r = emit(out, BPF_JMP | BPF_JEQ | BPF_K, to_refusal + is_only, !is_only && is_last,
			row->values[i], err);
	}
	uint32_t answer = row->kind == FILTER_NOTIFY ? SECCOMP_RET_USER_NOTIF
						     : SECCOMP_RET_ERRNO | (uint32_t)row->error;
	return r < 0 ? r : emit(out, BPF_RET | BPF_K, 0, 0, answer, err);
}

static int emit_segment(struct filter_code *out, const struct segment *seg, struct err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < seg->n_guards; i++)
		r = emit_guard(out, seg->guards[i], err);
	return r < 0 ? r : emit(out, BPF_RET | BPF_K, 0, 0, seg->answer, err);
}

/* Emit a binary search for the segment that contains the syscall's number. Jumps are relative and
 * stay inside a subtree, so a finished subtree can be moved. The recursion is log2(@n) deep. */
static int emit_search(
	struct filter_code *out, const struct segment *segs, size_t n, struct err *err)
{
	if (n == 1)
		return emit_segment(out, segs, err);
	size_t half = n / 2, at = out->n;
	int r = emit(out, BPF_JMP | BPF_JGE | BPF_K, 0, 0, segs[half].first, err);
	if (r == 0)
		r = emit_search(out, segs, half, err);
	if (r < 0)
		return r;
	size_t left = out->n - at - 1;
	if (left <= UINT8_MAX) {
		out->code[at].jt = (uint8_t)left;
	} else {
		r = emit(out, BPF_JMP | BPF_JA, 0, 0, 0, err);
		if (r < 0)
			return r;
		memmove(&out->code[at + 2], &out->code[at + 1], left * sizeof out->code[0]);
		out->code[at].jf = 1;
		out->code[at + 1] = (struct sock_filter){BPF_JMP | BPF_JA, 0, 0, (uint32_t)left};
	}
	return emit_search(out, segs + half, n - half, err);
}

int filter_build(
	struct filter_code *out, uint32_t arch, enum filter_variant variant, struct err *err)
{
	static const uint32_t supported[] = {
		AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64, AUDIT_ARCH_RISCV64};
	struct segments segs = {.n = 0};
	size_t n_rows, i = 0;
	const struct filter_row *rows = filter_rows(&n_rows);
	while (i < ARRAY_LEN(supported) && supported[i] != arch)
		i++;
	if (i == ARRAY_LEN(supported))
		return err_set(err, ERR_USAGE, "architecture %#x is not supported", arch);
	int r = check_table(rows, n_rows, err);
	if (r == 0)
		r = fill_segments(&segs, arch, variant, err);
	out->n = 0;
	uint16_t load = BPF_LD | BPF_W | BPF_ABS;
	if (r == 0)
		r = emit(out, load, 0, 0, offsetof(struct seccomp_data, arch), err);
	if (r == 0)
		r = emit(out, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, arch, err);
	if (r == 0)
		r = emit(out, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS, err);
	if (r == 0)
		r = emit(out, load, 0, 0, offsetof(struct seccomp_data, nr), err);
	return r < 0 ? r : emit_search(out, segs.v, segs.n, err);
}
