/* The compiled programs against the table they come from. SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/filter_build.h"

#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define X32_BIT UINT32_C(0x40000000)

static const uint32_t absent = SECCOMP_RET_ERRNO | ENOSYS;
static const uint32_t denied = SECCOMP_RET_ERRNO | EPERM;
static const uint32_t nothing_done = SECCOMP_RET_ERRNO;

/* What the table must refuse whatever its authors do to it; EPERM with all arguments zero. */
static const char *const must_deny[] = {
	"setns",
	"mount",
	"umount2",
	"fsopen",
	"fsconfig",
	"fsmount",
	"fspick",
	"move_mount",
	"open_tree",
	"open_tree_attr",
	"mount_setattr",
	"pivot_root",
	"chroot",
	"ptrace",
	"process_vm_readv",
	"process_vm_writev",
	"kcmp",
	"pidfd_getfd",
	"process_madvise",
	"process_mrelease",
	"bpf",
	"perf_event_open",
	"userfaultfd",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
	"keyctl",
	"add_key",
	"request_key",
	"kexec_load",
	"kexec_file_load",
	"init_module",
	"finit_module",
	"delete_module",
	"reboot",
	"swapon",
	"swapoff",
	"acct",
	"quotactl",
	"quotactl_fd",
	"sethostname",
	"setdomainname",
	"settimeofday",
	"clock_settime",
	"adjtimex",
	"clock_adjtime",
	"ioperm",
	"iopl",
	"modify_ldt",
	"open_by_handle_at",
	"name_to_handle_at",
	"fanotify_init",
	"fanotify_mark",
	"syslog",
	"lookup_dcookie",
	"nfsservctl",
	"vhangup",
	"setgroups",
	"mbind",
	"move_pages",
	"migrate_pages",
	"set_mempolicy",
	"set_mempolicy_home_node",
	"remap_file_pages",
};
static const char *const must_be_absent[] = {
	"clone3",
	"seccomp",
	"statmount",
	"listmount",
	"memfd_secret",
	"uselib",
	"_sysctl",
};

/* The kernel's interpreter, as far as the programs use it. Returns: SECCOMP_RET_…, or 0. */
static uint32_t run(const struct filter_program *program, const struct seccomp_data *data)
{
	uint32_t a = 0;
	for (size_t at = 0; at < program->n; at++) {
		const struct sock_filter *op = &program->code[at];
		switch (op->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (op->k > sizeof *data - sizeof a)
				return 0;
			memcpy(&a, (const char *)data + op->k, sizeof a);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= op->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += a == op->k ? op->jt : op->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			at += a >= op->k ? op->jt : op->jf;
			break;
		case BPF_JMP | BPF_JA:
			at += op->k;
			break;
		case BPF_RET | BPF_K:
			return op->k;
		default:
			return 0;
		}
	}
	return 0;
}

static uint32_t half(const struct seccomp_data *data, unsigned arg)
{
	return (uint32_t)(data->args[arg % FILTER_HIGH] >> (arg < FILTER_HIGH ? 0 : 32));
}

static bool has_value(const struct filter_row *row, const struct seccomp_data *data)
{
	for (unsigned i = 0; i < row->n_values; i++)
		if ((half(data, row->arg) & row->mask) == row->values[i])
			return true;
	return false;
}

static bool has_condition(const struct filter_row *row, const struct seccomp_data *data)
{
	return ((uint32_t)data->args[row->when_arg] & row->when_mask) == row->when_value;
}

/* What the table says, read row by row. Returns: false when @rows leave it open. */
static bool decide(const struct filter_row *rows, size_t n, const int *numbers,
	const struct seccomp_data *data, uint32_t *out)
{
	for (size_t i = 0; i < n; i++) {
		if (numbers[i] != data->nr || !has_condition(&rows[i], data))
			continue;
		bool is_refused = rows[i].kind == FILTER_REFUSE;
		if (rows[i].kind == FILTER_NOTIFY && has_value(&rows[i], data)) {
			*out = SECCOMP_RET_USER_NOTIF;
			return true;
		}
		if (rows[i].kind == FILTER_ONLY)
			is_refused = !has_value(&rows[i], data);
		if (rows[i].kind == FILTER_EXCEPT)
			is_refused = has_value(&rows[i], data);
		if (!is_refused && rows[i].kind != FILTER_ALLOW)
			continue;
		*out = is_refused ? SECCOMP_RET_ERRNO | (uint32_t)rows[i].error : SECCOMP_RET_ALLOW;
		return true;
	}
	return false;
}

struct oracle {
	const struct filter_row *rows[2];
	size_t n[2];
	int numbers[2][1024];
};

static void oracle_init(struct oracle *o, enum filter_variant variant)
{
	o->rows[0] = filter_variant_rows(variant, &o->n[0]);
	o->rows[1] = filter_rows(&o->n[1]);
	for (int part = 0; part < 2; part++)
		for (size_t i = 0; i < o->n[part] && i < ARRAY_LEN(o->numbers[0]); i++)
			o->numbers[part][i] =
				filter_number(seccomp_arch_native(), o->rows[part][i].syscall);
}

static uint32_t oracle_ask(const struct oracle *o, const struct seccomp_data *data)
{
	uint32_t answer = absent;
	if (!decide(o->rows[0], o->n[0], o->numbers[0], data, &answer))
		(void)decide(o->rows[1], o->n[1], o->numbers[1], data, &answer);
	return answer;
}

static int n_differences(const struct oracle *o, const struct filter_program *program,
	const struct seccomp_data *data)
{
	uint32_t want = oracle_ask(o, data), got = run(program, data);
	if (want == got)
		return 0;
	printf("# call %d (%#llx, %#llx, %#llx): %#x, want %#x\n", data->nr,
		(unsigned long long)data->args[0], (unsigned long long)data->args[1],
		(unsigned long long)data->args[2], got, want);
	return 1;
}

TEST(every_row_has_a_name_a_reason_and_a_number)
{
	size_t n;
	const struct filter_row *rows = filter_rows(&n);
	CHECK(n > 300);
	for (size_t i = 0; i < n; i++) {
		bool is_guard = rows[i].kind == FILTER_ONLY || rows[i].kind == FILTER_EXCEPT;
		int ok = CHECK(rows[i].syscall && rows[i].reason && rows[i].reason[0] != '\0');
		ok &= CHECK(filter_number(seccomp_arch_native(), rows[i].syscall) != -ENOENT);
		ok &= CHECK(is_guard == (rows[i].n_values > 0) && rows[i].arg < 2 * FILTER_HIGH);
		ok &= CHECK(is_guard || (rows[i].kind == FILTER_ALLOW) == (rows[i].error == 0));
		for (unsigned v = 0; v < rows[i].n_values; v++)
			ok &= CHECK((rows[i].values[v] & ~rows[i].mask) == 0);
		if (!ok)
			printf("# in row %zu: %s\n", i, rows[i].syscall ? rows[i].syscall : "?");
	}
}

TEST(the_linked_program_is_the_one_the_table_compiles_to)
{
	static struct filter_code code;
	struct err err;
	for (int v = 0; v < FILTER_VARIANT_END_; v++) {
		const struct filter_program *p = filter_program((enum filter_variant)v);
		CHECK(filter_variant_name((enum filter_variant)v) != NULL);
		if (!CHECK_INT(filter_build(
				       &code, seccomp_arch_native(), (enum filter_variant)v, &err),
			    0) ||
			!CHECK_INT(p->n, code.n))
			continue;
		CHECK_INT(memcmp(p->code, code.code, code.n * sizeof code.code[0]), 0);
		printf("# %s: %u instructions\n", filter_variant_name((enum filter_variant)v),
			p->n);
	}
	CHECK(filter_program(FILTER_VARIANT_END_) == NULL);
	CHECK(filter_variant_name(FILTER_VARIANT_END_) == NULL);
}

TEST(program_and_table_agree_on_every_call)
{
	static struct oracle o;
	static const int more[] = {1024, 4095, 0x3fffffff};
	for (int v = 0; v < FILTER_VARIANT_END_; v++) {
		const struct filter_program *p = filter_program((enum filter_variant)v);
		struct seccomp_data data = {.arch = seccomp_arch_native()};
		int n = 0;
		oracle_init(&o, (enum filter_variant)v);
		for (data.nr = 0; data.nr <= FILTER_NUMBER_MAX; data.nr++)
			n += n_differences(&o, p, &data);
		for (size_t i = 0; i < ARRAY_LEN(more); i++) {
			data.nr = more[i];
			n += n_differences(&o, p, &data);
		}
		CHECK_INT(n, 0);
	}
}

/* Each argument a guard looks at takes each value of the row, its neighbours and each single bit.
 */
static int n_guard_differences(
	const struct oracle *o, const struct filter_program *p, const struct filter_row *row)
{
	struct seccomp_data data = {.arch = seccomp_arch_native()};
	int n = 0;
	data.nr = filter_number(data.arch, row->syscall);
	if (data.nr < 0)
		return 0;
	for (size_t other = 0; other < 5; other++) {
		for (size_t i = 0; i < ARRAY_LEN(data.args); i++)
			data.args[i] = other;
		if (other == 4)
			data.args[row->when_arg] = row->when_value;
		for (unsigned i = 0; i < row->n_values; i++) {
			for (uint64_t step = 0; step < 3; step++) {
				data.args[row->arg % FILTER_HIGH] = row->values[i] + step - 1;
				n += n_differences(o, p, &data);
				data.args[row->arg % FILTER_HIGH] |= UINT64_C(1) << 32;
				n += n_differences(o, p, &data);
			}
		}
		for (unsigned bit = 0; bit < 64; bit++) {
			data.args[row->arg % FILTER_HIGH] = UINT64_C(1) << bit;
			n += n_differences(o, p, &data);
		}
	}
	return n;
}

TEST(program_and_table_agree_on_guarded_arguments)
{
	static struct oracle o;
	size_t n_rows;
	const struct filter_row *rows = filter_rows(&n_rows);
	for (int v = 0; v < FILTER_VARIANT_END_; v++) {
		oracle_init(&o, (enum filter_variant)v);
		for (size_t i = 0; i < n_rows; i++)
			CHECK_INT(n_guard_differences(
					  &o, filter_program((enum filter_variant)v), &rows[i]),
				0);
	}
}

static uint32_t ask(enum filter_variant variant, const char *name, uint64_t arg0, uint64_t arg1)
{
	struct seccomp_data data = {.arch = seccomp_arch_native(), .args = {arg0, arg1}};
	data.nr = filter_number(data.arch, name);
	return data.nr == -ENOSYS ? absent : run(filter_program(variant), &data);
}

TEST(dangerous_calls_are_refused_by_name)
{
	for (size_t i = 0; i < ARRAY_LEN(must_deny); i++) {
		int number = filter_number(seccomp_arch_native(), must_deny[i]);
		CHECK(number != -ENOENT);
		if (number >= 0 && !CHECK_INT(ask(FILTER_DEFAULT, must_deny[i], 0, 0), denied))
			printf("# call %s\n", must_deny[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(must_be_absent); i++)
		if (!CHECK_INT(ask(FILTER_DEFAULT, must_be_absent[i], 0, 0), absent))
			printf("# call %s\n", must_be_absent[i]);
}

/* What an option or a command is told by 32 bits; the kernel ignores the others. */
TEST(nothing_lingers_and_nothing_is_leased)
{
	static const uint64_t high[] = {0, UINT64_C(1) << 32, UINT64_C(0xffffffff00000000)};
	int set = filter_number(seccomp_arch_native(), "setsockopt");
	int control = filter_number(seccomp_arch_native(), "fcntl");
	for (int v = 0; v < FILTER_VARIANT_END_; v++)
		for (size_t i = 0; i < ARRAY_LEN(high); i++) {
			const struct filter_program *p = filter_program((enum filter_variant)v);
			struct seccomp_data data = {.arch = seccomp_arch_native(), .nr = set};
			data.args[1] = high[i] | SOL_SOCKET;
			data.args[2] = high[i] | SO_LINGER;
			CHECK_INT(run(p, &data), SECCOMP_RET_ERRNO);
			data.args[2] = high[i] | SO_REUSEADDR;
			CHECK_INT(run(p, &data), SECCOMP_RET_ALLOW);
			data.nr = control;
			data.args[1] = high[i] | F_SETLEASE;
			CHECK_INT(run(p, &data), SECCOMP_RET_ERRNO | EINVAL);
			data.args[1] = high[i] | F_SETLK;
			CHECK_INT(run(p, &data), SECCOMP_RET_ALLOW);
		}
}

TEST(no_namespace_flag_passes_alone_or_in_company)
{
	static const uint64_t flags[] = {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
		CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWTIME};
	static const uint64_t company[] = {
		0, 17, CLONE_VM | CLONE_VFORK, UINT64_C(1) << 32, CLONE_NEWUSER};
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		for (size_t j = 0; j < ARRAY_LEN(company); j++) {
			CHECK_INT(ask(FILTER_DEFAULT, "clone", flags[i] | company[j], 0), denied);
			CHECK_INT(ask(FILTER_DEFAULT, "unshare", flags[i] | company[j], 0), denied);
		}
	CHECK_INT(ask(FILTER_DEFAULT, "clone", 17, 0), SECCOMP_RET_ALLOW);
	/* pthread_create of glibc */
	CHECK_INT(ask(FILTER_DEFAULT, "clone", 0x3d0f00, 0), SECCOMP_RET_ALLOW);
}

static uint32_t ask_prlimit(uint32_t resource, uint64_t new)
{
	struct seccomp_data data = {.arch = seccomp_arch_native(), .args = {0, resource, new}};
	data.nr = filter_number(data.arch, "prlimit64");
	return run(filter_program(FILTER_DEFAULT), &data);
}

TEST(the_limit_of_core_files_is_read_and_never_set)
{
	CHECK_INT(ask_prlimit(RLIMIT_CORE, 0), SECCOMP_RET_ALLOW);
	CHECK_INT(ask_prlimit(RLIMIT_CORE, 0x1000), nothing_done);
	/* A pointer whose lower half is zero is one as well. */
	CHECK_INT(ask_prlimit(RLIMIT_CORE, UINT64_C(1) << 32), nothing_done);
	CHECK_INT(ask_prlimit(RLIMIT_NOFILE, 0x1000), SECCOMP_RET_ALLOW);
	CHECK_INT(ask(FILTER_DEFAULT, "setrlimit", RLIMIT_CORE, 0), nothing_done);
	CHECK_INT(
		ask(FILTER_DEFAULT, "setrlimit", RLIMIT_CORE | UINT64_C(1) << 32, 0), nothing_done);
}

static uint32_t ask_socket(
	enum filter_variant variant, uint32_t family, uint32_t type, uint32_t protocol)
{
	struct seccomp_data data = {
		.arch = seccomp_arch_native(), .args = {family, type, protocol}};
	data.nr = filter_number(data.arch, "socket");
	return run(filter_program(variant), &data);
}

static bool is_root(enum filter_variant v)
{
	enum filter_variant user = v % FILTER_NOTIFY_OFFSET;
	return user >= FILTER_DEFAULT_ROOT && user <= FILTER_UNCOUNTED_SETID;
}

static bool is_setid(enum filter_variant v)
{
	enum filter_variant user = v % FILTER_NOTIFY_OFFSET;
	return user >= FILTER_DEFAULT_SETID && user <= FILTER_UNCOUNTED_SETID;
}

static bool is_other(enum filter_variant v)
{
	return v % FILTER_NOTIFY_OFFSET >= FILTER_DEFAULT_OTHER;
}

static uint32_t ask_4(enum filter_variant v, const char *name, const uint64_t args[4])
{
	struct seccomp_data data = {.arch = seccomp_arch_native()};
	memcpy(data.args, args, 4 * sizeof *args);
	data.nr = filter_number(data.arch, name);
	return data.nr == -ENOSYS ? SECCOMP_RET_ERRNO | ENOSYS : run(filter_program(v), &data);
}

TEST(roots_changes_of_owners_and_ids_are_answered_as_done)
{
	const uint64_t to_33[4] = {33, 33, 33, 33}, at_33[4] = {0, 0, 33, 33};
	static const char *const calls[] = {"setuid", "setgid", "setreuid", "setregid", "setresuid",
		"setresgid", "fchown", "fchownat"};
	for (int i = 0; i < FILTER_VARIANT_END_; i++) {
		enum filter_variant v = (enum filter_variant)i;
		uint32_t want = is_root(v) ? nothing_done
			: is_other(v)	   ? SECCOMP_RET_ALLOW
					   : denied;
		for (size_t c = 0; c < ARRAY_LEN(calls); c++)
			CHECK_INT(ask_4(v, calls[c],
					  strcmp(calls[c], "fchownat") == 0 ? at_33 : to_33),
				want);
		CHECK_INT(ask_4(v, "setgroups", to_33), is_root(v) ? nothing_done : denied);
	}
}

TEST(set_id_bits_only_where_no_file_of_the_host_can_get_them)
{
	const uint64_t fchmod_[4] = {3, 04755}, fchmodat_[4] = {3, 0, 02755};
	const uint64_t open_[4] = {3, 0, 0, 04755}, plain[4] = {3, 0755};
	for (int i = 0; i < FILTER_VARIANT_END_; i++) {
		enum filter_variant v = (enum filter_variant)i;
		CHECK_INT(ask_4(v, "fchmod", fchmod_), is_setid(v) ? SECCOMP_RET_ALLOW : denied);
		CHECK_INT(
			ask_4(v, "fchmodat", fchmodat_), is_setid(v) ? SECCOMP_RET_ALLOW : denied);
		CHECK_INT(ask_4(v, "openat", open_), denied);
		CHECK_INT(ask_4(v, "fchmod", plain), SECCOMP_RET_ALLOW);
	}
}

TEST(no_attributes_where_a_branch_could_give_capabilities_to_files_of_the_host)
{
	static const char *const calls[] = {"setxattr", "lsetxattr", "fsetxattr"};
	static const enum filter_variant with_host[] = {
		FILTER_DEFAULT, FILTER_DEFAULT_ROOT, FILTER_DEFAULT_OTHER};
	const uint64_t args[4] = {0};
	for (int i = 0; i < FILTER_VARIANT_END_; i++) {
		bool is_refused = false;
		for (size_t h = 0; h < ARRAY_LEN(with_host); h++)
			is_refused |= i >= FILTER_NOTIFY_OFFSET &&
				i - FILTER_NOTIFY_OFFSET >= (int)with_host[h] &&
				i - FILTER_NOTIFY_OFFSET < (int)with_host[h] + 3;
		for (size_t c = 0; c < ARRAY_LEN(calls); c++)
			CHECK_INT(ask_4((enum filter_variant)i, calls[c], args),
				is_refused ? SECCOMP_RET_ERRNO | EOPNOTSUPP : SECCOMP_RET_ALLOW);
	}
}

TEST(the_variant_follows_the_user)
{
	CHECK_INT(filter_user_offset(FILTER_BOX_ID, false), 0);
	CHECK_INT(filter_user_offset(FILTER_BOX_ID, true), FILTER_OWN_OFFSET);
	CHECK_INT(filter_user_offset(0, false), FILTER_ROOT_OFFSET);
	CHECK_INT(filter_user_offset(0, true), FILTER_SETID_OFFSET);
	CHECK_INT(filter_user_offset(33, false), FILTER_OTHER_OFFSET);
	CHECK_INT(filter_user_offset(33, true), FILTER_OTHER_OWN_OFFSET);
}

TEST(netlink_lists_interfaces_where_nobody_can_configure_any)
{
	const uint32_t unsupported = SECCOMP_RET_ERRNO | EOPNOTSUPP;
	const uint32_t raw = SOCK_RAW | SOCK_CLOEXEC;
	for (uint32_t protocol = 0; protocol < 64; protocol++)
		for (int v = 0; v < FILTER_VARIANT_END_; v++) {
			bool is_let = protocol == 0 && v < FILTER_NOTIFY_OFFSET;
			/* programs that add users end if the kernel has an audit and refuses it */
			bool is_absent =
				protocol == NETLINK_AUDIT && is_root((enum filter_variant)v);
			CHECK_INT(ask_socket((enum filter_variant)v, AF_NETLINK, raw, protocol),
				is_let		    ? SECCOMP_RET_ALLOW
					: is_absent ? SECCOMP_RET_ERRNO | EPROTONOSUPPORT
						    : unsupported);
		}
	CHECK_INT(ask_socket(FILTER_DEFAULT, AF_INET, raw, 0), denied);
	CHECK_INT(ask_socket(FILTER_DEFAULT, AF_INET6, raw, 0), denied);
	CHECK_INT(ask_socket(FILTER_DEFAULT, AF_INET, SOCK_STREAM, IPPROTO_TCP), SECCOMP_RET_ALLOW);
}

TEST(variants_differ_in_affinity_only)
{
	CHECK_INT(ask(FILTER_DEFAULT, "sched_setaffinity", 0, 0), SECCOMP_RET_ALLOW);
	CHECK_INT(ask(FILTER_PINNED, "sched_setaffinity", 0, 0), denied);
	CHECK_INT(ask(FILTER_PINNED, "sched_getaffinity", 0, 0), SECCOMP_RET_ALLOW);
	CHECK_INT(ask(FILTER_PINNED, "read", 0, 0), SECCOMP_RET_ALLOW);
}

TEST(another_architecture_is_killed)
{
	const struct filter_program *p = filter_program(FILTER_DEFAULT);
	struct seccomp_data data = {.arch = AUDIT_ARCH_I386};
	for (data.nr = 0; data.nr < 512; data.nr++)
		CHECK_INT(run(p, &data), SECCOMP_RET_KILL_PROCESS);
	if (seccomp_arch_native() != AUDIT_ARCH_X86_64)
		return;
	data.arch = AUDIT_ARCH_X86_64;
	for (uint32_t nr = 0; nr < 600; nr++) {
		data.nr = (int)(X32_BIT | nr);
		CHECK_INT(run(p, &data), SECCOMP_RET_KILL_PROCESS);
	}
	data.nr = -1;
	CHECK_INT(run(p, &data), absent);
}

TEST(other_architectures_compile)
{
	static const uint32_t archs[] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64, AUDIT_ARCH_RISCV64};
	static struct filter_code code;
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(archs); i++) {
		struct filter_program p = {.code = code.code};
		struct seccomp_data data = {.arch = archs[i]};
		CHECK_INT(filter_build(&code, archs[i], FILTER_DEFAULT, &err), 0);
		p.n = (unsigned short)code.n;
		data.nr = filter_number(archs[i], "read");
		CHECK_INT(run(&p, &data), SECCOMP_RET_ALLOW);
		data.nr = filter_number(archs[i], "ptrace");
		CHECK_INT(run(&p, &data), denied);
		data.arch = AUDIT_ARCH_I386;
		CHECK_INT(run(&p, &data), SECCOMP_RET_KILL_PROCESS);
	}
	CHECK_INT(filter_number(AUDIT_ARCH_AARCH64, "fork"), -ENOSYS);
	CHECK_INT(filter_number(AUDIT_ARCH_X86_64, "no_such_call"), -ENOENT);
	CHECK_INT(filter_build(&code, AUDIT_ARCH_S390X, FILTER_DEFAULT, &err), -EINVAL);
	CHECK_HAS(err.msg, "not supported");
}
