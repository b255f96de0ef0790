/* Plans in line. SPDX-License-Identifier: Apache-2.0 */
#include "planner/plan_line.h"

#include "t.h"

struct one {
	struct plan_turn turn;
	uv_sem_t go;
	bool is_done;
	enum err_code why;
};

static void work(struct plan_turn *turn)
{
	uv_sem_wait(&container_of(turn, struct one, turn)->go);
}

static void done(struct plan_turn *turn, const struct err *why)
{
	struct one *o = container_of(turn, struct one, turn);
	o->is_done = true;
	o->why = why ? why->code : ERR_NONE;
}

static int take(struct plan_line *line, struct one *o, const char *caller, struct err *err)
{
	*o = (struct one){.turn = {.work = work, .done = done}};
	CHECK_INT(uv_sem_init(&o->go, 0), 0);
	return plan_line_take(line, &o->turn, caller, err);
}

static size_t n_running(const struct one *all, size_t n)
{
	size_t running = 0;
	for (size_t i = 0; i < n; i++)
		running += all[i].turn.turn.is_running && !all[i].is_done;
	return running;
}

static void end(uv_loop_t *loop, struct one *o)
{
	uv_sem_post(&o->go);
	while (!o->is_done)
		(void)uv_run(loop, UV_RUN_ONCE);
}

TEST(each_caller_has_a_turn)
{
	static const char *const callers[] = {"a", "b", "c", "d"};
	enum { N = 40, MORE = 6 };
	static struct one all[N], later;
	struct plan_line *line;
	struct err err;
	uv_loop_t loop;
	CHECK_INT(uv_loop_init(&loop), 0);
	CHECK_INT(plan_line_open(&line, &loop, &err), 0);
	size_t n = 0;
	for (; n < PLANS_EACH + MORE; n++)
		CHECK_INT(take(line, &all[n], callers[0], &err), 0);
	CHECK_INT(n_running(all, n), PLANS_EACH);
	for (size_t c = 1; c < ARRAY_LEN(callers); c++)
		for (int i = 0; i < PLANS_EACH; i++)
			CHECK_INT(take(line, &all[n++], callers[c], &err), 0);
	CHECK_INT(n_running(all, n), PLANS_MAX);
	/* The first has waited longer, the last has none that runs. */
	CHECK_INT(take(line, &later, "e", &err), 0);
	CHECK(!later.turn.turn.is_running);
	end(&loop, &all[PLANS_EACH + MORE]);
	CHECK(later.turn.turn.is_running);
	/* One that has left is not begun. */
	plan_line_leave(&all[PLANS_EACH].turn);
	CHECK(all[PLANS_EACH].is_done);
	CHECK_INT(all[PLANS_EACH].why, ERR_INTERRUPTED);
	plan_line_leave(&all[0].turn);
	CHECK(!all[0].is_done);
	end(&loop, &all[0]);
	CHECK_INT(all[0].why, ERR_NONE);
	CHECK(!all[PLANS_EACH].turn.turn.is_running);
	CHECK(all[PLANS_EACH + 1].turn.turn.is_running);
	for (size_t i = 0; i < n; i++)
		uv_sem_post(&all[i].go);
	uv_sem_post(&later.go);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	for (size_t i = 0; i < n; i++) {
		CHECK(all[i].is_done);
		uv_sem_destroy(&all[i].go);
	}
	CHECK(later.is_done);
	uv_sem_destroy(&later.go);
	plan_line_close(line);
	CHECK_INT(uv_loop_close(&loop), 0);
}

TEST(a_line_is_bounded)
{
	static struct one all[PLANS_EACH + PLANS_IN_LINE + 1];
	struct plan_line *line;
	struct err err;
	uv_loop_t loop;
	size_t n = ARRAY_LEN(all) - 1;
	CHECK_INT(uv_loop_init(&loop), 0);
	CHECK_INT(plan_line_open(&line, &loop, &err), 0);
	for (size_t i = 0; i < n; i++)
		CHECK_INT(take(line, &all[i], "a", &err), 0);
	CHECK(take(line, &all[n], "a", &err) < 0);
	CHECK_INT(err.code, ERR_QUOTA);
	CHECK_INT(take(line, &all[n], "b", &err), 0);
	CHECK(all[n].turn.turn.is_running);
	for (size_t i = 0; i <= n; i++)
		uv_sem_post(&all[i].go);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	for (size_t i = 0; i <= n; i++)
		CHECK(all[i].is_done);
	plan_line_close(line);
	CHECK_INT(uv_loop_close(&loop), 0);
}
