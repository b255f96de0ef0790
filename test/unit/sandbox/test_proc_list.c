/* What /proc says of processes. SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/proc_list.h"

#include "t.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static const char STAT[] =
	"7 (a b) (R) 9) S 3 7 7 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 1 0 4242 1 2 3\n";

TEST(numbers_of_nested_namespaces)
{
	static const struct {
		const char *text;
		unsigned n;
		uint64_t last;
	} cases[] = {
		{"Name:\tx\nNSpid:\t7\n", 1, 7},
		{"Name:\tx\nNSpid:\t700\t32\t1\nNSpgid:\t4\n", 3, 1},
		{"Name:\tNSpid: 5\nTgid:\t5\n", 0, 0},
		{"NSpid:\t5\n", 0, 0}, /* never the first line */
		{"Name:\tx\nNSpid:\t\n", 0, 0},
		{"", 0, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		unsigned n = 99;
		uint64_t last = 0;
		CHECK_INT(proc_nspid(cases[i].text, &n, &last), cases[i].n > 0);
		CHECK_INT(n, cases[i].n);
		CHECK(cases[i].n == 0 || last == cases[i].last);
	}
}

static void put(struct tree *t, const char *name, const char *stat, const char *status)
{
	char path[64];
	snprintf(path, sizeof path, "/%s/stat", name);
	tree_put(t, path, stat);
	snprintf(path, sizeof path, "/%s/status", name);
	tree_put(t, path, status);
}

TEST(a_name_may_hold_anything)
{
	struct proc_entry e = {0};
	TREE t = tree_new();
	put(&t, "7", STAT, "Name:\ta b\nNSpid:\t7\t1\n");
	CHECK_INT(proc_entry_read(&e, t.fd, 7), 0);
	CHECK_INT(e.pid, 7);
	CHECK_INT(e.ppid, 3);
	CHECK_INT(e.state, 'S');
	CHECK_INT(e.start_ticks, 4242);
	CHECK(e.is_nested && e.is_child_ns && e.is_first);
}

TEST(a_process_is_over_when_its_last_thread_is)
{
	static const struct {
		char state;
		unsigned flags, n_threads;
		bool is_over;
	} cases[] = {
		{'S', 0x400100, 1, false}, {'Z', 0x40800c, 1, true}, {'R', 0x400104, 1, true},
		{'Z', 0x40800c, 2, false}, /* the first thread has ended, another runs on */
		{'R', 0x400104, 2, false},
		{'Z', 0x40800c, 0, false}, /* the kernel does not say how many there are */
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct proc_entry e = {0};
		char stat[128];
		TREE t = tree_new();
		snprintf(stat, sizeof stat,
			"7 (x) %c 3 7 7 0 -1 %u 1 0 0 0 5 6 0 0 20 0 %u 0 4242 1 2 3\n",
			cases[i].state, cases[i].flags, cases[i].n_threads);
		put(&t, "7", stat, "Name:\tx\nNSpid:\t7\n");
		CHECK_INT(proc_entry_read(&e, t.fd, 7), 0);
		CHECK_INT(e.is_over, cases[i].is_over);
	}
}

TEST(what_is_cut_or_missing_is_no_process)
{
	static const char *const bad[] = {
		"", "7", "7 (x", "7 (x)", "7 (x) S", "7 (x) S 3 7 7 0 -1"};
	struct proc_entry e;
	TREE t = tree_new();
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		put(&t, "7", bad[i], "Name:\tx\nNSpid:\t7\n");
		CHECK(proc_entry_read(&e, t.fd, 7) < 0);
	}
	put(&t, "7", STAT, "Name:\tx\n");
	CHECK(proc_entry_read(&e, t.fd, 7) < 0);
	CHECK(proc_entry_read(&e, t.fd, 8) < 0);
}

static bool add_up(void *arg, const struct proc_entry *e)
{
	int *sum = arg;
	*sum += e->pid;
	return true;
}

TEST(only_numbers_are_processes)
{
	static const char *const names[] = {"7", "8", "x", "9x", "0", "1", "99999999"};
	int sum = 0;
	TREE t = tree_new();
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		put(&t, names[i], STAT, "Name:\tx\nNSpid:\t7\n");
	CHECK_INT(proc_list(t.fd, add_up, &sum), 0);
	CHECK_INT(sum, 15);
}

TEST(what_cannot_be_read_is_told_after_the_others)
{
	int sum = 0;
	TREE t = tree_new();
	put(&t, "7", STAT, "Name:\tx\nNSpid:\t7\n");
	tree_put(&t, "/8/stat/not-a-file", "");
	tree_put(&t, "/9/ended", "");
	put(&t, "10", STAT, "Name:\tx\nNSpid:\t7\n");
	CHECK_INT(proc_list(t.fd, add_up, &sum), -EISDIR);
	CHECK_INT(sum, 17);
}

TEST(those_that_have_ended_when_they_are_read_are_counted)
{
	static const char zombie[] =
		"8 (x) Z 3 7 7 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 1 0 4242 1 2 3\n";
	int sum = 0;
	TREE t = tree_new();
	put(&t, "7", STAT, "Name:\tx\nNSpid:\t7\n");
	put(&t, "8", zombie, "Name:\tx\nNSpid:\t8\n");
	tree_put(&t, "/9/ended", "");
	CHECK_INT(proc_list(t.fd, add_up, &sum), 2);
	CHECK_INT(sum, 15);
}

TEST(two_readings_prove_that_nobody_is_left)
{
	static const struct proc_reading full = {.before = 7, .after = 7, .n = 1},
					 moving = {.before = 6, .after = 7},
					 empty = {.before = 7, .after = 7},
					 unsure = {.before = 7, .after = 7, .has_ended = true},
					 later = {.before = 8, .after = 8, .has_ended = true};
	static const struct {
		const struct proc_reading *last, *now;
		bool is_deserted;
	} rows[] = {
		{&full, &full, false},
		{&full, &moving, false},
		{&full, &empty, true},
		{&full, &unsure, false},
		{&unsure, &full, false},
		{&unsure, &moving, false},
		{&unsure, &unsure, true},
		{&unsure, &later, false},
		{&moving, &unsure, false},
		{&empty, &unsure, true},
		{&empty, &later, false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		CHECK_INT(proc_is_deserted(rows[i].now, rows[i].last), rows[i].is_deserted);
}

TEST(the_kernel_shows_ourselves)
{
	struct proc_entry e = {0};
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_INT(proc_entry_read(&e, proc, getpid()), 0);
	CHECK_INT(e.ppid, getppid());
	CHECK(e.start_ticks > 0 && e.state == 'R');
	(void)close(proc);
}
