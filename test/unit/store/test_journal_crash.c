/* kill -9 at any moment loses nothing that was acknowledged. SPDX-License-Identifier: Apache-2.0 */
#include "shelf.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { N_KILLS = 200, N_SPEED = 10000, SAID_BYTES = 64 };
static const char is_open[SAID_BYTES + 1] =
	"----------------------------------------------------------------";

static int64_t now_us(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Say when it is open; commit without end and say each digest when it is kept. */
static void work(const char *dir, int out)
{
	struct err err = {0};
	struct journal_session s;
	char at[DIGEST_BYTES], code[8192];
	struct journal *j = shelf_open(dir);
	if (!j)
		_exit(3);
	if (journal_session_get(j, "s-a", &s, &err) < 0) {
		if (shelf_session(j, "s-a", "") < 0 || journal_session_get(j, "s-a", &s, &err) < 0)
			_exit(4);
	}
	memcpy(at, s.head, sizeof at);
	if (write(out, is_open, SAID_BYTES) != SAID_BYTES)
		_exit(5);
	for (int i = 0;; i++) {
		size_t n = i % 16 == 15 ? sizeof code - 1 : 32;
		memset(code, 'a' + i % 26, n);
		code[n] = '\0';
		if (shelf_step(j, "s-a", at, code, at) < 0 ||
			write(out, at, SAID_BYTES) != SAID_BYTES)
			_exit(5);
		if (i % 40 == 39)
			(void)journal_idle(j, &err);
	}
}

/* @delay_us later than it began, or than it was open. Returns: how many steps were acknowledged;
 * the last one is in @last. */
static int run_and_kill(const char *dir, bool when_open, unsigned delay_us, char last[DIGEST_BYTES])
{
	char said[SAID_BYTES];
	int ends[2], n = 0, status = 0;
	CHECK_INT(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0)
		work(dir, ends[1]);
	(void)close(ends[1]);
	if (when_open)
		CHECK_INT(read(ends[0], said, SAID_BYTES), SAID_BYTES);
	(void)usleep(delay_us);
	(void)kill(child, SIGKILL);
	while (read(ends[0], said, SAID_BYTES) == SAID_BYTES) {
		if (memcmp(said, is_open, SAID_BYTES) == 0)
			continue;
		memcpy(last, said, SAID_BYTES);
		n++;
	}
	last[SAID_BYTES] = '\0';
	(void)close(ends[0]);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	return n;
}

static int count(void *user, const struct journal_node *node, struct err *err)
{
	(void)node, (void)err;
	++*(int64_t *)user;
	return 0;
}

static void print(void *user, const char *what, const char *why)
{
	(void)user;
	printf("# %s: %s\n", what, why);
}

/* The head is the last acknowledged step, or one step on, whose acknowledgement was under way; and
 * the next run goes on from there, acknowledged or not. */
static void check_after(const char *dir, char last[DIGEST_BYTES], int64_t n_acked, bool deep)
{
	struct err err = {0};
	struct journal_session s;
	struct journal_node n = {0};
	int64_t n_steps = 0;
	JOURNAL j = shelf_open(dir);
	if (!CHECK(j != NULL))
		return;
	if (last[0]) {
		CHECK_INT(journal_session_get(j, "s-a", &s, &err), 0);
		CHECK_INT(journal_node_get(j, s.head, &n, &err), 0);
		CHECK(strcmp(s.head, last) == 0 || strcmp(n.parent, last) == 0);
		if (deep)
			CHECK(journal_ancestors(j, s.head, 0, count, &n_steps, &err) >= n_acked);
		memcpy(last, s.head, DIGEST_BYTES);
		journal_node_done(&n);
		journal_session_done(&s);
	}
	if (deep)
		CHECK_INT(journal_verify(j, print, NULL, &err), 0);
}

TEST(killed_at_random_points)
{
	SHELF;
	char last[DIGEST_BYTES] = "";
	int64_t n_acked = 0;
	unsigned state = 5;
	for (int i = 0; i < N_KILLS; i++) {
		state = state * 1103515245 + 12345;
		n_acked += run_and_kill(dir, i % 2, state >> 16 & 0x1fff, last);
		check_after(dir, last, n_acked, i % 20 == 19);
	}
	printf("# %lld steps were acknowledged\n", (long long)n_acked);
	CHECK(n_acked > N_KILLS);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* No figure is asked for, as machines differ; it is told, and must not grow with what is there. */
TEST(commits_stay_cheap)
{
	SHELF;
	static int64_t us[N_SPEED];
	char at[DIGEST_BYTES] = "", code[64];
	const char *many = getenv("RETORT_TEST_STEPS"), *where = getenv("RETORT_TEST_DIR");
	char place[256];
	struct journal_size size;
	int64_t n = many ? atoll(many) : N_SPEED, first = 0, told = 0;
	snprintf(place, sizeof place, "%s/j", where ? where : dir);
	JOURNAL j = shelf_open(place);
	CHECK_INT(shelf_session(j, "s-a", ""), 0);
	for (int64_t i = 0; i < n; i++) {
		snprintf(code, sizeof code, "x = %lld; print(x * 2)", (long long)i);
		int64_t begin = now_us();
		CHECK_INT(shelf_step(j, "s-a", at, code, at), 0);
		us[i % N_SPEED] = now_us() - begin;
		if (i % N_SPEED != N_SPEED - 1)
			continue;
		qsort(us, N_SPEED, sizeof *us, compare);
		first = first ? first : us[N_SPEED / 2];
		printf("# to %lld: median %lld us, p95 %lld us, p99.9 %lld us, most %lld us\n",
			(long long)i + 1, (long long)us[N_SPEED / 2],
			(long long)us[N_SPEED * 95 / 100], (long long)us[N_SPEED * 999 / 1000],
			(long long)us[N_SPEED - 1]);
	}
	int64_t begin = now_us();
	CHECK_INT(journal_ancestors(j, at, 20, count, &told, &err), 20);
	printf("# last 20: %lld us\n", (long long)(now_us() - begin));
	begin = now_us();
	CHECK_INT(journal_idle(j, &err), 0);
	printf("# idle: %lld us\n", (long long)(now_us() - begin));
	begin = now_us();
	CHECK_INT(journal_verify(j, print, NULL, &err), 0);
	printf("# verify: %lld us\n", (long long)(now_us() - begin));
	CHECK_INT(journal_size(j, &size, &err), 0);
	printf("# %lld bytes per step\n", (long long)(size.file_bytes / n));
	CHECK(us[N_SPEED / 2] <= 5 * first + 100);
	CHECK(size.file_bytes / n < 1500);
}
